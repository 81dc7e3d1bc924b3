"""Tables with mixed columns: encoding, and the pipeline that learns from them."""

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import Pipeline

from sarlearn.exceptions import StrayCellsWarning
from sarlearn.tables import FromColumns, TableEncoder, make_table_classifier
from sarlearn.tables.names import origin, output_name
from table_data import patients

pytestmark = pytest.mark.usefixtures("fits_alone")

LEFT_OUT = ("patient_id", "diagnosed")


@pytest.fixture(scope="module")
def data():
    table, y, e = patients(2500)
    return table, y, e, table["diagnosed"].to_numpy()


@pytest.fixture(scope="module")
def model(data):
    table, _, _, s = data
    return make_table_classifier(["age", "plan"], drop=LEFT_OUT).fit(table, s)


def test_it_learns_class_and_propensity(data):
    table, y, e, s = data
    # Maximum likelihood, since the classes of this table overlap: no positive is a sure one.
    model = make_table_classifier(
        ["age", "plan"], drop=LEFT_OUT, C=10, decay=1.0, stop="fixed_point"
    ).fit(table, s)
    assert isinstance(model, Pipeline)
    assert np.abs(model.predict_propensity(table) - e)[y].mean() < 0.1
    assert abs(model[-1].class_prior_ - y.mean()) < 0.1
    hidden = s == 0
    posterior = model.predict_posterior(table, s)
    assert roc_auc_score(y[hidden], posterior[hidden]) > 0.8
    assert (posterior[s == 1] == 1).all()


def test_a_propensity_column_counts_with_all_its_encoded_columns(data, model):
    names = [model[0].feature_names_out_[i] for i in model[-1].propensity_features_]
    assert names == ["age", "plan=basic", "plan=full", "plan=none"]
    assert list(model[-1].feature_names_in_) == model[0].feature_names_out_


def test_the_library_of_the_table_makes_no_difference(data, model):
    table, _, _, s = data
    for convert in (pl.from_pandas, pa.Table.from_pandas):
        other = convert(table)
        again = clone(model).fit(other, s)
        for method in ("predict_proba", "predict_propensity"):
            np.testing.assert_allclose(
                getattr(again, method)(other), getattr(model, method)(table), atol=1e-10
            )


def test_columns_are_found_by_name(data, model):
    table = data[0]
    shuffled = table[list(table.columns[::-1])].assign(extra=1)
    np.testing.assert_array_equal(model.predict_proba(shuffled), model.predict_proba(table))
    shuffled.index = shuffled.index + 100
    assert model[0].transform(shuffled).index[0] == 100


def test_new_values_gaps_and_types_at_predict_time(data, model):
    table = data[0].head(4).copy()
    known = model.predict_proba(table)[:, 1]
    table["region"] = ["mars", "north", None, "venus"]
    table["bmi"] = np.nan
    table["smoker"] = [None, True, False, "maybe"]
    probability = model.predict_proba(table)[:, 1]
    assert np.isfinite(probability).all()
    assert (probability != known).any()
    assert model[0].unknown_values(table) == {
        "region": ["mars", "venus"],
        "smoker": ["(missing)", "maybe"],
    }
    assert model[0].unknown_values(data[0]) == {}
    text = table.assign(plan=["none", "full", "none", "gold"])
    encoded = model[0].transform(text)
    assert encoded.loc[3, ["plan=basic", "plan=full", "plan=none"]].sum() == 0


def test_a_column_of_gaps_at_predict_time_is_filled(data, model):
    table = pl.from_pandas(data[0].head(3)).with_columns(bmi=pl.lit(None, dtype=pl.String))
    encoded = model[0].transform(table)
    assert encoded["bmi"].to_list() == pytest.approx([encoded["bmi"][0]] * 3)
    assert encoded["bmi=(missing)"].to_list() == [1, 1, 1]


def test_clone_pickle_search_and_cross_validation(data, model):
    table, _, _, s = data
    assert clone(model)[-1].propensity_features == FromColumns(["age", "plan"])
    assert hash(clone(model)[-1].propensity_features) == hash(model[-1].propensity_features)
    assert "FromColumns(['age', 'plan'])" in repr(model)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.predict_proba(table), model.predict_proba(table))
    search = GridSearchCV(
        make_table_classifier(["age", "plan"], drop=LEFT_OUT, max_iter=30, tol=1e-2),
        {"sarem__C": [0.1, 10.0], "columns__max_categories": [3]},
        cv=2,
    ).fit(table, s)
    assert search.best_estimator_[0].max_categories == 3
    out = cross_val_predict(clone(search.best_estimator_), table, s, cv=2, method="predict_proba")
    assert out.shape == (len(s), 2)


def test_classifiers_by_name_and_by_hand(data):
    table, y, _, s = data
    small, labels = table.head(600), s[:600]
    boosted = make_table_classifier(["plan"], drop=LEFT_OUT, classifier="boosting", tol=2e-2).fit(
        small, labels
    )
    assert roc_auc_score(y[:600], boosted.predict_proba(small)[:, 1]) > 0.7
    forest = RandomForestClassifier(n_estimators=5, min_samples_leaf=20, random_state=0)
    by_hand = make_table_classifier("plan", drop=LEFT_OUT, classifier=forest, tol=0.1)
    assert by_hand[-1].classifier is forest
    assert by_hand.fit(small, labels).predict_propensity(small).max() <= 1
    with pytest.raises(ValueError, match="'logistic', 'boosting' or a scikit-learn classifier"):
        make_table_classifier(classifier="forest")
    with pytest.raises(ValueError, match="method must be 'sar-em' or 'cross-fit'; got 'em'"):
        make_table_classifier(method="em")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.to_datetime(["2020-01-01", "2021-05-05"]), "'when' holds dates or times"),
        ([datetime.date(2020, 1, 1), None], "holds dates or times.*--dates days.*--drop"),
        (["2020-01-01", "2021-12-31 10:00"], "holds dates or times.*into numbers"),
        (["31.12.2020", None], "holds dates"),
        (pd.to_timedelta([1, 2]), "holds dates or times"),
        ([[1], [2]], "holds lists or records"),
        (pa.array([[1], [2]]), "holds lists or records"),
    ],
)
def test_dates_and_lists_are_refused_with_advice(column, message):
    table = pa.table({"when": column}) if isinstance(column, pa.Array) else None
    if table is None:
        table = pd.DataFrame({"when": column, "x": [1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        TableEncoder().fit(table)


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (np.eye(3), TypeError, "needs a data frame of pandas, polars or pyarrow, and got ndarray"),
        (pd.DataFrame({0: [1, 2]}), ValueError, "Column names must be text; 0 is int"),
        (pd.DataFrame({"x": [1, 1]}), ValueError, "no column with more than one value"),
        (pd.DataFrame({"x": [1.0, np.inf]}), ValueError, "'x' holds an infinite number, in row 1"),
    ],
)
def test_tables_that_cannot_be_learned_from(table, error, message):
    with pytest.raises(error, match=message):
        TableEncoder().fit(table)


def test_tables_that_do_not_fit_the_model(data, model):
    table = data[0].head(3)
    with pytest.raises(ValueError, match=r"no column 'bmi', which the model uses\. Nearest.*bmii"):
        model.predict(table.rename(columns={"bmi": "bmii"}))
    with pytest.raises(ValueError, match=r"'age' held numbers when the model was fitted.*'old'"):
        model.predict(table.assign(age=["old", None, "old"]))
    with pytest.warns(StrayCellsWarning, match="'age' holds numbers, except in 1 of 3 rows.*'old'"):
        found = model.predict_proba(table.assign(age=["1", "2", "old"]))
    np.testing.assert_array_equal(found, model.predict_proba(table.assign(age=[1, 2, None])))


def test_propensity_columns_that_cannot_be_used(data):
    table, _, _, s = data
    with pytest.raises(ValueError, match=r"'agee' is not among.*Nearest names: age"):
        make_table_classifier(["agee"], drop=LEFT_OUT).fit(table, s)
    with pytest.raises(ValueError, match=r"'same' is not among.*holds a single value"):
        make_table_classifier(["same"], drop=LEFT_OUT).fit(table.assign(same="x"), s)


def test_constant_and_empty_columns_are_left_out():
    table = pd.DataFrame({"x": [1, 2, 3], "same": "a", "gone": [None] * 3, "gap": [1, None, 1]})
    assert list(TableEncoder().fit(table).get_feature_names_out()) == ["x"]
    encoder = TableEncoder(min_rows=1).fit(table)
    assert encoder.constant_ == ["same", "gone"]
    assert encoder.kinds_ == {"x": "numeric", "gap": "numeric"}
    assert list(encoder.get_feature_names_out()) == ["x", "gap", "gap=(missing)"]


def test_kinds_of_columns():
    table = pd.DataFrame(
        {
            "decimal": [Decimal("1.5"), None, Decimal("2")],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "truth": pd.array([True, None, False], dtype="boolean"),
            "mixed": [1, "x", 2.0],
            "category": pd.Categorical(["x", "y", None]),
        }
    )
    encoder = TableEncoder(min_rows=1).fit(table)
    assert list(encoder.kinds_.values()) == ["numeric"] * 2 + ["category"] * 3
    assert "mixed=2" in encoder.feature_names_out_
    encoded = encoder.transform(table)
    assert encoded["nullable=(missing)"].tolist() == [0, 1, 0]
    assert encoded["truth=(missing)"].tolist() == [0, 1, 0]
    # Decimals and nullable integers are numbers like any other.
    np.testing.assert_allclose(
        encoded["decimal"], encoder.encode_values("decimal", [1.5, 1.75, 2])[1][:, 0]
    )


def test_rare_values_share_a_column_and_names_stay_apart():
    words = ["a"] * 5 + ["b"] * 4 + ["(other)"] * 4 + ["c", "d"]
    for settings in ({"max_categories": 4, "min_rows": 1}, {"min_rows": 3}):
        encoder = TableEncoder(**settings).fit(pd.DataFrame({"w": words}))
        assert encoder.feature_names_out_ == ["w=a", "w=b", "w=(other)"]
        positions, block = encoder.encode_values("w", ["a", "d", "new"])
        assert positions.tolist() == [0, 1, 2]
        assert block.tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
        assert [encoder.category_of_output(i) for i in (2, 0)] == ["(other)", "a"]
        assert encoder.unknown_values(pd.DataFrame({"w": ["a", "c", "new"]})) == {"w": ["new"]}
        np.testing.assert_array_equal(
            encoder.transform(pd.DataFrame({"w": ["a", "c", "new"]})),
            [[1, 0, 0], [0, 0, 1], [0, 0, 1]],
        )


def test_a_single_rare_value_keeps_its_column():
    table = pd.DataFrame({"smoker": ["no"] * 200 + ["yes"] * 3})
    assert TableEncoder().fit(table).feature_names_out_ == ["smoker=yes"]


def test_identifiers_are_told_of():
    table = pd.DataFrame({"name": [f"n{i}" for i in range(100)], "x": range(100)})
    with pytest.warns(UserWarning, match="'name' has 100 different values in 100 rows"):
        encoder = TableEncoder().fit(table)
    assert encoder.feature_names_out_ == ["x"]  # no name has ten rows
    assert encoder.readings_[0].dropped == "no value has 10 rows"
    assert encoder.category_of_output(0) is None
    numbers_only = TableEncoder().fit(table[["x"]])
    assert numbers_only.unknown_values(table) == {}


@given(st.text(), st.text())
def test_the_origin_of_an_encoded_name_can_always_be_told(column, category):
    assert origin(output_name(column)) == column
    assert origin(output_name(column, category)) == column


def test_names_that_look_encoded_are_kept_apart():
    rng = np.random.default_rng(0)
    n = 1200
    table = pd.DataFrame(
        {"a": rng.choice(["b", "c", "d"], n), "a=b": rng.normal(size=n), "a\\": rng.normal(size=n)}
    )
    y = rng.random(n) < expit(2 * table["a\\"])
    s = y & (rng.random(n) < np.where(table["a"] == "b", 0.9, 0.3))
    model = make_table_classifier(["a"]).fit(table, s)
    chosen = [model[0].feature_names_out_[i] for i in model[-1].propensity_features_]
    assert chosen == ["a=b", "a=c", "a=d"]
