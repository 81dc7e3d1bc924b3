"""The displays: their numbers against the model's own, and what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SARClassifier, SAREMClassifier
from sarlearn._view import style as _style
from sarlearn._view.parts import take_apart
from sarlearn.inspection import ProbabilityDisplay, PropensityDisplay
from table_data import patients, predicted, sarem_of_table


@pytest.fixture(scope="module")
def table():
    return patients(1200)[0]


@pytest.fixture(scope="module")
def model(table):
    pipeline = sarem_of_table(["age", "plan"], drop=["patient_id", "diagnosed"])
    return pipeline.fit(table, table["diagnosed"])


@pytest.fixture(scope="module")
def arrays():
    data = make_pu(800, 5)
    return data, SAREMClassifier([0, 1]).fit(data.X, data.s)


def test_a_curve_is_the_mean_propensity_with_one_column_set(arrays):
    data, model = arrays
    display = PropensityDisplay.from_estimator(model, data.X, "x1", n_points=7)
    assert display.share is None
    first, last = np.quantile(data.X[:, 1], [0.01, 0.99])
    np.testing.assert_allclose(display.values, np.linspace(first, last, 7))
    for value, mean, low in zip(display.values, display.propensity, display.low, strict=True):
        changed = data.X.copy()
        changed[:, 1] = value
        e = model.predict_propensity(changed)
        assert mean == pytest.approx(e.mean())
        assert low == pytest.approx(np.quantile(e, 0.1))
    assert display.ax_.get_xlabel() == "x1"
    assert display.ax_.get_ylim() == (0, 1)
    assert display.figure_ is display.ax_.figure


def test_bars_of_a_column_of_words(table, model):
    display = PropensityDisplay.from_estimator(model, table, "plan", max_rows=5000)
    assert display.values == ["none", "basic", "full"]
    assert display.share == pytest.approx([(table["plan"] == v).mean() for v in display.values])
    for value, mean in zip(display.values, display.propensity, strict=True):
        e = predicted(model, "predict_propensity", table.assign(plan=value))
        assert mean == pytest.approx(e.mean())
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == display.values
    assert display.ax_.get_title() == "plan"


def test_a_number_of_the_table_is_drawn_in_its_own_units(table, model):
    _, ax = plt.subplots()
    display = PropensityDisplay.from_estimator(model, table, "age", ax=ax, max_rows=5000)
    assert display.ax_ is ax
    assert display.feature == "age"
    assert 15 < display.values[0] < display.values[-1] < 90
    e = predicted(model, "predict_propensity", table.assign(age=display.values[3]))
    assert display.propensity[3] == pytest.approx(e.mean())


def test_all_propensity_attributes_as_a_grid(table, model):
    display = PropensityDisplay.from_estimator(model, table)
    drawn = [ax for ax in display.figure_.axes if ax.lines or ax.patches]
    assert len(drawn) == 2
    assert drawn[0] is display.ax_
    assert (display.feature, drawn[0].get_xlabel()) == ("age", "age")
    assert drawn[1].get_title() == "plan"
    assert drawn[0].get_legend().get_texts()[0].get_text() == "middle 80% of the rows"
    assert ProbabilityDisplay.from_estimator(model, table, "bmi").feature == "bmi"


def test_tables_of_the_user_may_hold_anything(table):
    strange = table.rename(columns={"plan": "$plan_1^$ <b>" + "x" * 100})
    name = strange.columns[2]
    model = sarem_of_table([name], drop=["patient_id", "diagnosed"])
    model.fit(strange, strange["diagnosed"])
    display = PropensityDisplay.from_estimator(model, strange)
    assert len(display.ax_.get_title()) == 40
    assert not display.ax_.title.get_parse_math()
    display.figure_.canvas.draw()


def test_a_feature_that_does_not_exist(table, model, arrays):
    with pytest.raises(ValueError, match=r"no column 'agee'\. Nearest names: age"):
        PropensityDisplay.from_estimator(model, table, "agee")
    data, plain = arrays
    with pytest.raises(ValueError, match="feature 7 is out of range; there are 5 columns"):
        PropensityDisplay.from_estimator(plain, data.X, feature=7)
    assert PropensityDisplay.from_estimator(plain, data.X, feature=1).feature == "x1"
    scar = SAREMClassifier().fit(data.X, data.s)
    with pytest.raises(ValueError, match="has no propensity attributes"):
        PropensityDisplay.from_estimator(scar, data.X)


def test_matrices_of_every_kind_give_the_same(arrays):
    data, model = arrays
    expected = PropensityDisplay.from_estimator(model, data.X).propensity
    for X in (sparse.csr_array(data.X), data.X.tolist()):
        found = PropensityDisplay.from_estimator(model, X).propensity
        np.testing.assert_allclose(found, expected)
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    named = SAREMClassifier(["a", "b"]).fit(frame, data.s)
    display = PropensityDisplay.from_estimator(named, frame)
    np.testing.assert_allclose(display.propensity, expected)
    assert display.feature == "a"
    piped = make_pipeline(StandardScaler(), SAREMClassifier([0, 1])).fit(data.X, data.s)
    assert len(PropensityDisplay.from_estimator(piped, data.X).values) == 40
    with pytest.raises(ValueError, match="feature_names has 2 names for 5 columns"):
        take_apart(model, data.X, ["a", "b"])


def test_models_without_a_propensity_are_refused(arrays):
    data, _ = arrays
    known = KnownPropensityClassifier().fit(data.X, data.s, propensity=data.e)
    with pytest.raises(TypeError, match="KnownPropensityClassifier has no propensity model"):
        PropensityDisplay.from_estimator(known, data.X)


def test_the_class_by_one_column_and_what_the_labels_rest_on():
    """The class has no monotone column; permutation importance by the learner's own score."""
    rng = np.random.default_rng(0)
    age, plan = rng.normal(50, 10, 1500), rng.choice(["none", "full"], 1500)
    y = rng.random(1500) < expit((np.abs(age - 50) - 7) / 1.5)
    s = y & (rng.random(1500) < np.where(plan == "none", 0.2, 0.8))
    X = pd.DataFrame({"age": age, "noise": rng.normal(size=1500), "plan": plan})
    model = SARClassifier(["plan"]).fit(X, s)
    curve = ProbabilityDisplay.from_estimator(model, X, feature="age")
    middle = int(np.argmin(np.abs(np.array(curve.values) - 50)))
    assert min(curve.probability[0], curve.probability[-1]) > curve.probability[middle] + 0.3
    bars = ProbabilityDisplay.from_estimator(model, X, feature="plan")
    assert bars.ax_.get_xlabel() == "probability of being positive"
    lost = permutation_importance(model, X, s, random_state=0).importances_mean
    assert X.columns[np.argsort(-lost)].tolist() == ["age", "plan", "noise"]
    assert lost[2] > 5 * lost[1]


def test_discrete_numbers_are_bars():
    data = make_pu(800, 4, discrete=True)
    model = SAREMClassifier([0, 1]).fit(data.X, data.s)
    display = PropensityDisplay.from_estimator(model, data.X)
    assert display.values == [0.0, 1.0]
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["0", "1"]


def test_labels_on_long_bars_stay_inside():
    display = PropensityDisplay("f", ["a", "b"], [1.0, 0.2], [0, 0], [1, 1], share=[0.5, 0.5])
    ax = display.plot().ax_
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == ["100%", "20%"]
    assert all(text.get_window_extent().x1 < ax.bbox.x1 for text in ax.texts)


def test_the_extra_is_named_where_matplotlib_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        _style.new_axes(None)
