"""Tables with several chances to be labelled, wide and long."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from sarlearn import RepeatedSARClassifier
from sarlearn.tables import RepeatedTableClassifier, TableEncoder


def visits(n=700, seed=0):
    """A wide table of three months with gaps, and the long one with rain on each visit."""
    rng = np.random.default_rng(seed)
    forest, park = rng.normal(size=n), rng.choice(["yes", "no"], n)
    lives = rng.random(n) < expit(0.2 + forest)
    rain = rng.normal(size=(n, 3))
    seen = lives[:, None] & (rng.random((n, 3)) < expit([-0.5, 0.0, 0.8] - rain))
    there = rng.random((n, 3)) < 0.9
    there[:, 0] = True
    columns = {"site": [f"S{i}" for i in range(n)], "forest": forest, "park": park}
    wide, long = pd.DataFrame(columns), []
    for j, month in enumerate(["may", "june", "july"]):
        wide[month] = np.where(there[:, j], np.where(seen[:, j], "yes", "no"), None)
        rows = wide[["site", "forest", "park"]].assign(
            month=j, rain=rain[:, j], seen=np.where(seen[:, j], 1, 0)
        )
        long.append(rows[there[:, j]])
    return wide, pd.concat(long).sample(frac=1, random_state=1), lives, rain, seen, there


def test_a_column_per_chance_is_the_learner_on_the_encoded_table():
    wide, _, lives, _, seen, there = visits()
    model = RepeatedTableClassifier(["may", "june", "july"], id_column="site").fit(wide)
    X = TableEncoder().fit_transform(wide[["forest", "park"]])
    levels = np.repeat(np.eye(3)[None, :, 1:], len(wide), axis=0)
    learner = RepeatedSARClassifier().fit(X, np.where(there, seen, np.nan), chances=levels)
    assert model.learner_.class_prior_ == pytest.approx(learner.class_prior_, abs=1e-9)
    assert model.learner_.class_prior_ == pytest.approx(lives.mean(), abs=0.06)
    july = model.odds()[-1]
    assert july["odds_ratio"] > 1.5
    assert "A chance at july, against one at may" in model.summary()
    posterior = model.predict_posterior(wide)
    assert (posterior[(there & seen).any(axis=1)] == 1).all()
    e = model.predict_propensity(wide)
    assert e[there.all(axis=1)].mean() > e[there.sum(axis=1) == 1].mean()


def test_a_row_per_chance_has_attributes_that_change():
    _, long, lives, rain, seen, there = visits()
    model = RepeatedTableClassifier("seen", ["rain"], id_column="site", chance="month").fit(long)
    assert model.varying_ == ["rain"]
    sites = long["site"].drop_duplicates().str[1:].astype(int).to_numpy()
    X = TableEncoder().fit_transform(
        long.drop_duplicates("site")[["forest", "park"]].reset_index(drop=True)
    )
    Z = (rain - rain[there].mean()) / rain[there].std()
    learner = RepeatedSARClassifier().fit(
        X, np.where(there, seen, np.nan)[sites], chances=Z[sites][:, :, None]
    )
    assert model.learner_.class_prior_ == pytest.approx(learner.class_prior_, abs=1e-6)
    assert model.learner_.class_prior_ == pytest.approx(lives.mean(), abs=0.06)
    assert model.predict_proba(long).shape == (len(sites), 2)
    assert long["site"].to_numpy()[model.first_rows(long)].tolist() == [f"S{i}" for i in sites]
    assert model.odds()[0]["odds_ratio"] < 0.6


def test_of_a_long_table_the_first_of_each_rows_chances_gives_its_weight():
    _, long, *_ = visits()
    numbers = long["site"].str[1:].astype(int).to_numpy()
    weight = 1.0 + numbers % 3
    settings = {"label": "seen", "propensity_features": ["rain"], "id_column": "site"}
    model = RepeatedTableClassifier(chance="month", **settings)
    model.fit(long, sample_weight=weight)
    X, visited, chances = model.encoded(long)
    learner = RepeatedSARClassifier().fit(
        X, visited, chances=chances, sample_weight=weight[model.first_rows(long)]
    )
    assert model.learner_.class_prior_ == pytest.approx(learner.class_prior_, abs=1e-9)
    sites = long["site"].drop_duplicates().str[1:].astype(int).to_numpy()
    assert weight[model.first_rows(long)].tolist() == (1.0 + sites % 3).tolist()


def test_one_value_beside_empty_cells_means_labelled_or_not():
    wide, *_ = visits()
    marked = wide.assign(**{m: wide[m].where(wide[m] == "yes") for m in ("may", "june", "july")})
    model = RepeatedTableClassifier(["may", "june", "july"], id_column="site").fit(marked)
    assert not np.isnan(model.encoded(marked)[1]).any()


@pytest.mark.parametrize(
    ("settings", "change", "message"),
    [
        ({"label": "may"}, {}, "is one chance per row"),
        ({"label": ["may", "jun"]}, {}, "no column 'jun'. Nearest names: june"),
        ({"label": "seen", "chance": "month"}, {}, "which rows belong together"),
    ],
)
def test_bad_tables_are_named(settings, change, message):
    wide, *_ = visits(50)
    with pytest.raises(ValueError, match=message):
        RepeatedTableClassifier(**settings).fit(wide.assign(**change))


def test_bad_long_tables_are_named():
    _, long, *_ = visits(50)
    settings = {"id_column": "site", "chance": "month"}
    with pytest.raises(ValueError, match="'rain' changes between the chances of 'S"):
        RepeatedTableClassifier("seen", **settings).fit(long)
    twice = pd.concat([long, long.head(1)])
    with pytest.raises(ValueError, match=r"has the chance . twice, in rows 1 and"):
        RepeatedTableClassifier("seen", ["rain"], **settings).fit(twice)
    empty = long.assign(site=long["site"].where(long["site"] != "S3"))
    with pytest.raises(ValueError, match="'site' is empty in row"):
        RepeatedTableClassifier("seen", ["rain"], **settings).fit(empty)
