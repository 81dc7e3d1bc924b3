"""Bootstrap intervals: refits, BCa, words, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import make_pu
from sarlearn import SARClassifier, SAREMClassifier
from sarlearn._view.parts import take_apart
from sarlearn.inspection import _bootstrap as module
from sarlearn.inspection import bootstrap
from sarlearn.inspection._bootstrap import _Probe, _Refit
from table_data import patients, sarem_of_table

MAXIMUM = {"decay": 1, "C": 100, "propensity_C": 100, "stop": "fixed_point"}


def make(seed=0, n=700):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.random(n) < expit(3 * X[:, 0] + X[:, 1])
    return X, y, y & (rng.random(n) < expit(X[:, 2]))


@pytest.fixture(scope="module")
def result():
    X, _, s = make()
    model = SAREMClassifier([2], **MAXIMUM).fit(X, s)
    return bootstrap(model, X, s, n_resamples=100, rows=X[:4], random_state=0)


def test_intervals_hold_the_estimates_and_here_the_truth(result):
    _X, y, _ = make()
    for name, truth in (("class_prior", y.mean()), ("propensity_coef", np.array([1.0, 0.0]))):
        for method in ("bca", "percentile"):
            low, high = result.interval(name, level=0.99, method=method)
            assert np.all(low < result.estimates[name])
            assert np.all(result.estimates[name] < high)
            assert np.all((low < truth) & (truth < high))
    low, high = result.interval("probability")
    assert low.shape == (4,)
    assert np.all((low >= 0) & (high <= 1))
    narrow = result.interval("class_prior", level=0.5)
    wide = result.interval("class_prior", level=0.95)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_odds_ratios_and_curves_follow_from_the_coefficients(result):
    np.testing.assert_allclose(
        result.resamples["propensity_odds_ratio"], np.exp(result.resamples["propensity_coef"])
    )
    values = np.array([value for _, value in result.curve_points])
    assert {name for name, _ in result.curve_points} == {"x2"}
    slope, intercept = result.estimates["propensity_coef"]
    np.testing.assert_allclose(
        result.estimates["propensity_curve"], expit(slope * values + intercept)
    )
    # What is monotone in a coefficient has the percentiles of that coefficient.
    for low, high in zip(
        result.interval("propensity_odds_ratio", method="percentile"),
        np.exp(result.interval("propensity_coef", method="percentile")),
        strict=True,
    ):
        np.testing.assert_allclose(low, high, rtol=0.02)


def test_a_curve_has_the_other_columns_at_their_mean():
    X, _, s = make(n=300)
    X += [0.0, 3.0, -2.0]
    model = SAREMClassifier([1, 2]).fit(X, s)
    probe = _Probe(take_apart(model, X), None)
    assert {name for name, _ in probe.curve_points} == {"x1", "x2"}
    rows = np.tile(X.mean(axis=0), (len(probe.curve_points), 1))
    for row, (name, value) in zip(rows, probe.curve_points, strict=True):
        row[int(name[1])] = value
    curve = probe.quantities(model)["propensity_curve"]
    np.testing.assert_allclose(curve, model.predict_propensity(rows))


def test_bca_is_the_percentile_interval_without_bias_and_skewness(result):
    import copy

    plain = copy.deepcopy(result)
    drawn = np.sort(plain.resamples["class_prior"])
    plain.estimates["class_prior"] = np.median(drawn)
    plain._acceleration["class_prior"] = np.array(0.0)
    np.testing.assert_allclose(
        plain.interval("class_prior"), plain.interval("class_prior", method="percentile"), atol=1e-9
    )
    # scipy's formula, with the same bias and acceleration.
    plain._acceleration["class_prior"] = np.array(0.05)
    plain.estimates["class_prior"] = drawn[50] + 1e-12
    z0 = stats.norm.ppf(np.mean(drawn < plain.estimates["class_prior"]))
    z = z0 + stats.norm.ppf([0.025, 0.975])
    levels = stats.norm.cdf(z0 + z / (1 - 0.05 * z))
    np.testing.assert_allclose(plain.interval("class_prior"), np.quantile(drawn, levels))


def test_the_acceleration_of_a_mean_is_a_sixth_of_its_skewness():
    """Efron (1987): that of a mean is known, and has the sign of the skewness."""
    x = np.random.default_rng(0).exponential(size=400)
    left_out = (x.sum() - x) / 399
    assert stats.skew(x) > 1
    assert module._acceleration(left_out) == pytest.approx(stats.skew(x) / 6 / 20)


def test_rows_drawn_twice_count_as_two_rows(monkeypatch):
    X, _, s = make(n=500)
    model = SAREMClassifier([2]).fit(X, s)
    by_weight = bootstrap(model, X, s, n_resamples=20, random_state=0)
    monkeypatch.setattr(module, "SAREMClassifier", SARClassifier)  # as if not ours
    repeated = bootstrap(model, X, s, n_resamples=20, random_state=0)
    np.testing.assert_allclose(
        by_weight.resamples["coef"], repeated.resamples["coef"], rtol=1e-6, atol=1e-8
    )


def test_decayed_models_tables_and_pipelines():
    X, _, s = make(n=400)
    frame = pd.DataFrame(X, columns=["a", "b", "site"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), SAREMClassifier("site"))
    model.fit(frame, s)
    found = bootstrap(model, frame, s, n_resamples=20, rows=frame[:2], n_jobs=2, random_state=0)
    assert found.propensity_names == ["site"]
    assert found.n_resamples == 20
    assert "decay = 0.9 shifts the estimates" in str(found)
    again = bootstrap(model, frame, s, n_resamples=20, random_state=0)
    np.testing.assert_allclose(again.resamples["class_prior"], found.resamples["class_prior"])


def test_scar_has_no_curve_and_other_classifiers_no_coefficients():
    X, _, s = make(n=300)
    model = SAREMClassifier(classifier=LogisticRegression(), max_iter=30, tol=0.05).fit(X, s)
    found = bootstrap(model, X, s, n_resamples=20, random_state=0)
    assert "coef" not in found.estimates
    assert found.estimates["propensity_curve"].shape == (0,)
    assert "multiplies" not in str(found)
    with pytest.raises(ValueError, match="There is no estimate 'coef'; there are class_prior"):
        found.interval("coef")


def test_words_and_plot(result):
    text = str(result)
    assert text.startswith("Share of positives: ")
    assert "Chance that a positive is labelled, least where x2 is -" in text
    assert "100 resamples." in text
    result.n_not_converged = 3
    assert "3 not converged" in str(result)
    result.n_not_converged = 0
    shares, curve = result.plot()
    assert [text.get_text() for text in shares.get_yticklabels()] == [
        "share of positives",
        "positives that are labelled",
    ]
    assert (curve.get_xlabel(), curve.get_ylabel()) == ("x2", "chance of a label")


def test_a_table_has_its_own_units():
    table = patients(400)[0]
    model = sarem_of_table(["age", "plan"], drop=["patient_id", "diagnosed"], tol=1e-2)
    model.fit(table, table["diagnosed"])
    found = bootstrap(model, table, table["diagnosed"], n_resamples=20, random_state=0)
    ages = [value for feature, value in found.curve_points if feature == "age"]
    assert min(ages) > 15
    assert max(ages) < 90
    plans = {value for feature, value in found.curve_points if feature == "plan"}
    assert plans == {"none", "basic", "full"}
    panels = found.plot()
    assert [panel.get_xlabel() for panel in panels] == [
        "share, with its 95% interval",
        "age",
        "chance that a positive is labelled",
    ]
    assert "least where plan is" in repr(found)


def test_tables_of_polars():
    pl = pytest.importorskip("polars")
    data = make_pu(300, 3)
    table = pl.DataFrame(data.X, schema=["a", "b", "c"])
    settings = {"n_resamples": 20, "random_state": 0}
    columns = ["b"]
    found = [
        bootstrap(SAREMClassifier(columns).fit(X, data.s), X, data.s, **settings)
        for X in (table, table.to_pandas())
    ]
    first, second = (each.estimates["class_prior"] for each in found)
    np.testing.assert_allclose(first, second, rtol=1e-12)


def test_bad_input_is_named(result):
    X, _, s = make(n=300)
    model = SAREMClassifier([2], **MAXIMUM).fit(X, s)
    with pytest.raises(ValueError, match="n_resamples must be a whole number of at least 20"):
        bootstrap(model, X, s, n_resamples=3)
    with pytest.raises(ValueError, match="s has 10 rows"):
        bootstrap(model, X, s[:10])
    with pytest.raises(TypeError, match="predict_propensity"):
        bootstrap(LogisticRegression().fit(X, s), X, s)
    with pytest.raises(ValueError, match="level must lie between 0 and 1; got 95"):
        result.interval("class_prior", level=95)
    with pytest.raises(ValueError, match="'bca' or 'percentile'; got 'normal'"):
        result.interval("class_prior", method="normal")


def test_our_learner_keeps_rows_of_a_group_in_one_fold():
    X, _, s = make(n=400)
    groups = np.arange(400) // 2
    model = SARClassifier([2], max_iter=20).fit(X, s, groups=groups)
    counts = np.random.default_rng(0).multinomial(400, np.full(400, 1 / 400))
    parts = take_apart(model, X)
    refit, _ = _Refit(parts, s, groups)(counts)
    expected, alone = clone(model), clone(model)
    expected._chosen = alone._chosen = model.choices_
    expected.fit(X, s, sample_weight=counts, groups=groups)
    assert refit.class_prior_ == pytest.approx(expected.class_prior_, abs=1e-12)
    alone.fit(X, s, sample_weight=counts)
    assert refit.class_prior_ != alone.class_prior_
    found = bootstrap(model, X, s, n_resamples=20, groups=groups, random_state=0)
    low, high = found.interval("class_prior")
    assert low < model.class_prior_ < high
    assert found.propensity_names == ["x2"]
    assert "shifts the estimates" not in str(found)


def test_refits_of_our_learner_keep_what_the_fit_chose():
    """And are fits otherwise: to the rows of the fit they say about what it says."""
    X, _, s = make(n=600)
    for named, models in (([2], ("linear", "trees")), ([], ("linear",))):
        model = SARClassifier(named, class_models=models).fit(X, s)
        parts, once = take_apart(model, X), np.ones(600, np.int64)
        again, _ = _Refit(parts, s)(once)
        assert again.predict_proba(X)[:, 1].mean() == pytest.approx(again.class_prior_, abs=1e-9)
        bare, _ = _Refit(parts, s, for_rows=False)(once)  # not asked for probabilities of rows
        assert (bare.class_prior_, bare.posterior_shift_) == (again.class_prior_, 0.0)
        np.testing.assert_array_equal(bare.phi_, again.phi_)
        assert again.n_iter_ == model.n_iter_
        assert again.choices_.v == model.choices_.v
        assert again.choices_.shares == model.choices_.shares
        low, high = model.class_prior_range_
        near = (high - low) / 4
        assert again.class_prior_ == pytest.approx(model.class_prior_, abs=near)
        assert len(again.history_["round"]) <= 3
    auto = SARClassifier("auto").fit(X, s)
    assert _Refit(take_apart(auto, X), s)._chosen is None


def test_of_many_rows_no_groups_are_left_out(result, monkeypatch):
    """The acceleration falls with the root of the rows, and what groups tell of it does not."""
    assert not any(values.any() for values in result._acceleration.values())
    monkeypatch.setattr(module, "MOST_UNITS", 700)
    X, _, s = make()
    model = SAREMClassifier([2], **MAXIMUM).fit(X, s)
    some = bootstrap(model, X, s, n_resamples=20, random_state=0)
    assert all(values.all() for values in some._acceleration.values())
    assert max(abs(values).max() for values in some._acceleration.values()) < 0.3


def test_groups_are_drawn_together():
    """Rows that stand there eight times are one observation: the interval must say so."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    s = (2 * X[:, 0] > 0) & (rng.random(100) < 0.6)
    X, s, groups = np.repeat(X, 8, axis=0), np.repeat(s, 8), np.repeat(np.arange(100), 8)
    model = SAREMClassifier([2]).fit(X, s)
    widths = []
    for given in (None, groups):
        found = bootstrap(model, X, s, n_resamples=40, groups=given, random_state=0)
        low, high = found.interval("class_prior")
        widths.append(high - low)
    assert widths[1] > 1.5 * widths[0]
    with pytest.raises(ValueError, match="one value per row, 800; got"):
        bootstrap(model, X, s, groups=[1, 2, 3])
