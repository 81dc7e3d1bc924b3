"""Tables that go straight into the learner."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline

from sarlearn import SARClassifier, SAREMClassifier, TableEncoder
from sarlearn._words import origin
from sarlearn.exceptions import DataWarning
from table_data import patients, sarem_of_table

pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
QUICK = {"class_models": ("linear",)}


def visits(n=1200):
    """Patients with a date, a skewed number as text, and who is labelled."""
    table, y, _ = patients(n)
    rng = np.random.default_rng(1)
    table["seen"] = pd.date_range("2020-01-01", periods=n, freq="7h").strftime("%d.%m.%Y")
    table["cost"] = [f"{v:.2f}".replace(".", ",") for v in np.exp(rng.normal(6, 2, n))]
    s = table.pop("diagnosed").to_numpy()
    return table.drop(columns="patient_id"), s, y


@pytest.fixture(scope="module")
def data():
    return visits()


@pytest.fixture(scope="module")
def model(data):
    X, s, _ = data
    return SARClassifier(["age", "plan", "cost"]).fit(X, s)


def test_words_dates_gaps_and_numbers_as_text_are_read(data, model):
    X, s, y = data
    kinds = ["numeric", "category", "category", "numeric", "numeric", "category", "date", "numeric"]
    assert list(model.reader_.kinds_.values()) == kinds
    assert list(model.feature_names_in_) == list(X.columns)
    unit = model.reader_.log_units_["cost"]
    assert model.propensity_terms_[:4] == ["age", "plan=basic", "plan=full", "plan=none"]
    assert model.propensity_terms_[4].startswith("log(1 + cost / ")
    assert unit == pytest.approx(np.median(X["cost"].str.replace(",", ".").astype(float)), rel=0.02)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(model.class_prior_, abs=1e-9)
    assert abs(model.class_prior_ - y.mean()) < 0.1
    assert (model.predict_posterior(X, s)[s == 1] == 1).all()


def test_read_by_hand_it_is_the_same_model(data, model):
    X, s, _ = data
    by_hand = TableEncoder().fit_transform(X).to_numpy()
    codes = [j for j, kind in enumerate(model.reader_.kinds_.values()) if kind == "category"]
    again = SARClassifier([0, 1, 7], categorical_features=codes).fit(by_hand, s)
    np.testing.assert_allclose(again.predict_proba(by_hand), model.predict_proba(X), atol=1e-12)
    assert again.class_prior_ == pytest.approx(model.class_prior_, abs=1e-12)


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas])
def test_the_library_of_the_table_makes_no_difference(convert, data, model):
    X, s, _ = data
    again = clone(model).fit(convert(X), s)
    for method in ("predict_proba", "predict_propensity"):
        np.testing.assert_allclose(
            getattr(again, method)(convert(X)), getattr(model, method)(X), atol=1e-12
        )


def test_names_are_checked_and_order_is_free(data, model):
    X, s, _ = data
    backwards = X[X.columns[::-1]]
    np.testing.assert_array_equal(model.predict_proba(backwards), model.predict_proba(X))
    for ask in (model.predict, lambda X: model.predict_posterior(X, s)):
        with pytest.raises(ValueError, match="yet now missing:\n- plan\n"):
            ask(X.drop(columns="plan"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- label\n"):
        model.predict(X.assign(label=1))
    with pytest.raises(ValueError, match="takes tables: a data frame with the columns age, plan"):
        model.predict(X.to_numpy())
    numbers = X[["bmi", "pressure"]]
    plain = SARClassifier(["bmi"], **QUICK).fit(numbers, s)
    with pytest.raises(ValueError, match="must be in the same order as they were in fit"):
        plain.predict(numbers[["pressure", "bmi"]])


def test_unknown_words_are_gaps_and_strays_are_told_of(data, model):
    X = data[0].head(6).copy()
    new, gaps = X.copy(), X.copy()
    new["region"], gaps["region"] = "mars", None
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gaps))
    assert model.reader_.unknown_values(new) == {"region": ["mars"]}
    with pytest.warns(DataWarning, match=r"'age' holds numbers, except in 1 of 6 rows.*'old'"):
        found = model.predict_proba(X.assign(age=["1", "2", "old", "3", "4", "5"]))
    expected = model.predict_proba(X.assign(age=[1, 2, None, 3, 4, 5]))
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"'age' held numbers when the model was fitted.*'old'"):
        model.predict(X.assign(age=["old", None, "old"] * 2))
    with pytest.raises(ValueError, match=r"'seen' held dates when the model was fitted.*'soon'"):
        model.predict(X.assign(seen="soon"))


def test_skewed_columns_mean_the_same_in_a_matrix(data):
    X, s, _ = data
    X = pd.DataFrame({"bmi": X["bmi"], "cost": X["cost"].str.replace(",", ".").astype(float)})
    model = SARClassifier(["bmi"], **QUICK).fit(X, s)
    assert list(model.reader_.log_units_) == ["cost"]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = model.predict_proba(X.to_numpy())
    np.testing.assert_array_equal(found, model.predict_proba(X))


def test_columns_that_are_named_as_categories(data):
    X, s, _ = data
    X = X.assign(ward=np.arange(len(X)) % 5)
    model = SARClassifier(["ward"], categorical_features=["ward"], **QUICK).fit(X, s)
    assert model.propensity_terms_ == [f"ward={k}" for k in range(5)]
    codes = np.column_stack([X["bmi"], X["ward"]])
    for bad, shown in ((-1.0, "-1"), (0.5, "0.5")):
        codes[3, 1] = bad
        with pytest.raises(ValueError, match=rf"codes of a matrix are.*column 1 holds {shown}\."):
            SARClassifier(categorical_features=[1]).fit(codes, s)


def test_class_columns_are_chosen_by_name(data):
    X, s, _ = data
    model = SARClassifier(["plan"], classifier_features=["bmi", "smoker"], **QUICK).fit(X, s)
    moved = X.assign(plan=X["plan"].to_numpy()[::-1], age=0)
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(X))
    assert (model.predict_propensity(moved) != model.predict_propensity(X)).any()


def test_searches_and_cross_validation(data):
    X, s, _ = data
    search = GridSearchCV(SARClassifier(["plan"], **QUICK), {"pseudo_counts": [0.0, 4.0]}, cv=2)
    search.fit(X.head(600), s[:600])
    assert search.best_estimator_.reader_.levels_["plan"] == ["basic", "full", "none"]
    found = cross_val_predict(SARClassifier(["plan"], **QUICK), X, s, cv=2, method="predict_proba")
    assert found.shape == (len(s), 2)


# -- the paper's learner ---------------------------------------------------------------------------


def test_a_column_s_name_means_all_columns_made_of_it(data):
    X, s, _ = data
    model = sarem_of_table(["age", "plan"]).fit(X, s)
    names = [model[0].feature_names_out_[i] for i in model[-1].propensity_features_]
    assert names == ["age", "plan=basic", "plan=full", "plan=none"]
    assert list(model[-1].feature_names_in_) == model[0].feature_names_out_
    alone = sarem_of_table("plan=full").fit(X, s)
    assert alone[-1].propensity_features_.tolist() == [names.index("plan=full") + 1 - 1]
    with pytest.raises(ValueError, match=r"X has no column 'plam'\. Nearest names: plan"):
        sarem_of_table(["plam"]).fit(X, s)
    with pytest.raises(ValueError, match=r"names a column twice: \['plan=full'\]"):
        sarem_of_table(["plan", "plan=full"]).fit(X, s)
    others = [name for name in X if name != "plan"]
    only = make_pipeline(
        TableEncoder(terms=True), SAREMClassifier("plan", classifier_features=others)
    ).fit(X, s)
    left = [only[0].feature_names_out_[i] for i in only[-1].classifier_features_]
    assert {origin(name) for name in left} == set(others)
