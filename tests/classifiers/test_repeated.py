"""Several chances to be labelled, against a plain solver, on real visits and simulated ones."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, logit

from conftest import needs_data
from evidence_reference import Reference
from sarlearn import RepeatedSARClassifier
from sarlearn.exceptions import TrustWarning
from sarlearn.inspection import history_test


def parameters(model, used=slice(None)):
    return np.concatenate(
        [
            model.coef_[0][used],
            model.intercept_,
            model.propensity_coef_[0],
            model.propensity_intercept_,
        ]
    )


def simulate(seed, n=900, n_chances=4, *, gaps=0.3):
    """Rows, classes, labels with gaps, and attributes of chances."""
    rng = np.random.default_rng(seed)
    X, Z = rng.standard_normal((n, 3)), rng.standard_normal((n, n_chances, 2))
    eta = 0.3 + X @ [1.0, -0.5, 0.0]
    zeta = -0.6 + Z @ [0.8, 0.0] + 0.5 * X[:, [2]]
    y = rng.random(n) < expit(eta)
    s = (y[:, None] & (rng.random((n, n_chances)) < expit(zeta))).astype(float)
    s[rng.random(s.shape) < gaps] = np.nan
    return X, y, s, Z, rng


def everything(X, Z):
    """Attributes of chances with column 2 of the row in front, as the propensity has them."""
    return np.concatenate([np.repeat(X[:, None, [2]], Z.shape[1], axis=1), Z], axis=2)


@pytest.mark.parametrize("form", ["dense", "sparse", "weighted", "audited", "penalised"])
def test_the_maximum_is_that_of_a_plain_solver(form):
    X, y, s, Z, rng = simulate(1)
    n = len(X)
    weight = rng.uniform(0.5, 2, n) if form == "weighted" else None
    known = None
    if form == "audited":
        known = np.where((np.nansum(s, axis=1) == 0) & (rng.random(n) < 0.2), y, np.nan)
    C, C_e = (2.0, 0.5) if form == "penalised" else (np.inf, np.inf)
    model = RepeatedSARClassifier([2], C=C, propensity_C=C_e)
    model.fit(
        sparse.csr_array(X) if form == "sparse" else X,
        s,
        chances=Z,
        sample_weight=weight,
        audited=known,
    )
    reference = Reference(X, s, everything(X, Z), known, weight, C=C, C_e=C_e)
    found = reference.solve(parameters(model))
    np.testing.assert_allclose(parameters(model), found, atol=1e-6)
    assert model.class_prior_ == pytest.approx(reference.class_prior(found), abs=1e-7)
    assert model.converged_


def test_rows_of_weight_zero_are_absent():
    X, y, s, Z, rng = simulate(3, n=300)
    known = np.where((np.nansum(s, axis=1) == 0) & (rng.random(300) < 0.3), y, np.nan)
    weight = np.where(np.arange(300) % 3 == 1, 0.0, 1.0)
    kept = weight > 0
    found = RepeatedSARClassifier([2]).fit(X, s, Z, sample_weight=weight, audited=known)
    some = RepeatedSARClassifier([2]).fit(X[kept], s[kept], Z[kept], audited=known[kept])
    np.testing.assert_allclose(parameters(found), parameters(some), rtol=1e-6)
    assert found.n_audited_ == some.n_audited_


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@pytest.mark.parametrize("seed", range(6))
def test_labels_on_all_positives_are_not_more_than_all(seed):
    """Rounding made the label frequency greater than 1."""
    X = np.random.default_rng(seed).normal(size=(60, 1)).round()
    model = RepeatedSARClassifier().fit(X, X[:, 0] > 0)
    assert model.class_prior_ >= np.mean(X > 0)
    assert model.label_frequency_ == pytest.approx(1)
    assert model.label_frequency_ <= 1


def test_the_reference_has_the_right_derivatives():
    X, y, s, Z, rng = simulate(2, n=60)
    known = np.where((np.nansum(s, axis=1) == 0) & (rng.random(60) < 0.3), y, np.nan)
    reference = Reference(X, s, Z, known, C=2.0, C_e=3.0)
    at, steps = rng.normal(0, 0.5, 7), 1e-6 * np.eye(7)
    slopes = [(reference.value(at + h) - reference.value(at - h)) / 2e-6 for h in steps]
    np.testing.assert_allclose(reference.gradient(at), slopes, rtol=1e-5, atol=1e-6)


def occupancy(name):
    return pd.read_csv(Path(os.environ["SARLEARN_DATA"]) / "occupancy" / f"{name}.csv.gz")


@needs_data
@pytest.mark.parametrize(
    ("species", "class_prior"), [("coyote", 0.547), ("redfox", 0.206), ("bobcat", 0.563)]
)
def test_camera_traps(species, class_prior):
    """Three weeks at 1,437 sites.

    For bobcats the likelihood has three maxima; plain starts end at two that are lower by 8 nats.
    """
    table = occupancy("meso")
    X = table[["Dist_5km", "HDens_5km", "Latitude", "Longitude", "People_site", "Trail"]]
    X = (X - X.mean()) / X.std()
    s = table[[f"{species}{j}" for j in range(3)]]
    model = RepeatedSARClassifier(
        ["People_site", "Trail"], classifier_features=list(X.columns[:4]), C=np.inf
    )
    model.set_params(propensity_C=np.inf, tol=1e-16).fit(X, s)
    Z = np.repeat(X[["People_site", "Trail"]].to_numpy()[:, None, :], 3, axis=1)
    reference = Reference(X.iloc[:, :4].to_numpy(), s.to_numpy(), Z)
    found = reference.solve(parameters(model, slice(4)))
    np.testing.assert_allclose(parameters(model, slice(4)), found, rtol=1e-6, atol=1e-6)
    assert model.class_prior_ == pytest.approx(reference.class_prior(found), abs=1e-7)
    assert model.class_prior_ == pytest.approx(class_prior, abs=5e-4)
    rng = np.random.default_rng(0)
    elsewhere = [reference.climb(rng.normal(0, 1.5, len(found)))[0] for _ in range(12)]
    assert -model.log_likelihood_ <= min(elsewhere) + 1e-6


@needs_data
def test_crossbills():
    """The first three years of 267 sites, with gaps and dates that differ by visit."""
    table = occupancy("crossbill")
    visits = [name[3:] for name in table.columns if name.startswith("det")][:9]
    s = table[[f"det{visit}" for visit in visits]].to_numpy(dtype=float)
    dates = table[[f"date{visit}" for visit in visits]].to_numpy(dtype=float)
    s[np.isnan(dates)] = np.nan
    X = table[["ele", "forest"]].to_numpy(dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    dates = (dates - np.nanmean(dates)) / np.nanstd(dates)
    model = RepeatedSARClassifier(C=np.inf, propensity_C=np.inf).fit(X, s, chances=dates)
    reference = Reference(X, s, np.nan_to_num(dates)[:, :, None])
    found = reference.solve(parameters(model))
    np.testing.assert_allclose(parameters(model), found, atol=1e-6)
    assert np.isnan(s).any()


def test_posterior_and_propensity():
    X, _, s, Z, _ = simulate(3)
    model = RepeatedSARClassifier([2]).fit(X, s, chances=Z)
    f, e = model.predict_proba(X)[:, 1], model.predict_propensity(X, Z)
    labelled = np.nansum(s, axis=1) > 0
    missed = f * np.prod(np.where(np.isnan(s), 1.0, 1 - e), axis=1)
    expected = np.where(labelled, 1.0, missed / (missed + 1 - f))
    np.testing.assert_allclose(model.predict_posterior(X, s, Z), expected)
    assert set(model.predict(X)) <= {0, 1}
    low, high = model.class_prior_range_
    assert low < model.class_prior_ < high
    assert "of the rows are positive" in model.summary()


def test_the_range_covers_if_the_model_holds():
    held = []
    for seed in range(60):
        X, _, s, Z, _ = simulate(100 + seed, n=400)
        model = RepeatedSARClassifier([2]).fit(X, s, chances=Z)
        truth = 0.5608  # mean of sigmoid(0.3 + N(0, 1.25)), by quadrature
        held.append(model.class_prior_range_[0] <= truth <= model.class_prior_range_[1])
    assert np.mean(held) >= 0.87


def test_where_every_positive_is_seen_the_range_is_that_of_a_share():
    """Half of its variance is that of the parameters, half of which rows there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 1))
    y = rng.random(2000) < expit(1 + 3 * X[:, 0])
    model = RepeatedSARClassifier(C=1e3).fit(X, y[:, None] & (rng.random((2000, 5)) < 0.97))
    share = y.mean()
    assert model.class_prior_ == pytest.approx(share, abs=1e-4)
    low, high = logit(model.class_prior_range_)
    error = (high - low) / (2 * 1.96) * share * (1 - share)
    assert error == pytest.approx(np.sqrt(share * (1 - share) / 2000), rel=0.01)


def test_histories_tell_of_dependence():
    rng = np.random.default_rng(4)
    n = 1500
    X = rng.standard_normal((n, 1))
    y = rng.random(n) < 0.6
    shy = rng.random(n) < 0.5  # what no attribute holds
    e = np.where(shy, 0.08, 0.7)[:, None]
    s = y[:, None] & (rng.random((n, 4)) < e)
    model = RepeatedSARClassifier().fit(X, s)
    result = history_test(model, X, s, n_draws=19, random_state=0)
    assert result.p_value <= 0.05
    assert "do not fit" in str(result)
    assert result.overdispersion > 2
    many = y[:, None] & (rng.random((n, 7)) < e)
    model = RepeatedSARClassifier().fit(X, many)
    assert history_test(model, X, many, n_draws=19, random_state=0).p_value <= 0.05


def test_what_is_identified_is_said():
    X, _, s, Z, _ = simulate(5)
    with pytest.warns(TrustWarning, match="told apart by the shape"):
        RepeatedSARClassifier().fit(X, s[:, :1], chances=Z[:, :1])
    with pytest.warns(TrustWarning, match="2 chances per row without attributes"):
        RepeatedSARClassifier([2]).fit(X, np.nan_to_num(s[:, :2]))
    alike = RepeatedSARClassifier([2]).fit(X, s).summary()
    assert "a 95% interval that holds if the model does" in alike
    assert "one propensity is identified for all of them" in alike
    assert "for all of them" not in RepeatedSARClassifier([2]).fit(X, s, chances=Z).summary()


def test_errors_name_the_value():
    X, _, s, Z, _ = simulate(6, n=100)
    fit = RepeatedSARClassifier().fit
    with pytest.raises(ValueError, match="No row is labelled at any of the 4 chances"):
        fit(X, np.zeros((100, 4)))
    other = s.copy()
    other[3, 1] = 5
    with pytest.raises(ValueError, match="row 3, chance 1 has 5"):
        fit(X, other)
    other = s.copy()
    other[:, 2] = np.nan
    with pytest.raises(ValueError, match="Chance 2 is missing in every row"):
        fit(X, other)
    with pytest.raises(ValueError, match=r"got shape \(100, 4, 2\)"):
        fit(X, Z)
    with pytest.raises(ValueError, match="only one class"):
        fit(X, np.ones(100))
    with pytest.raises(ValueError, match=r"chances must have the shape \(100, 4\)"):
        fit(X, s, chances=Z[:, :3])
    model = fit(X, s, chances=Z)
    with pytest.raises(ValueError, match="fitted with 2 attributes"):
        model.predict_propensity(X, Z[:, :, :1])


def test_other_maxima_are_in_the_range(monkeypatch):
    X, _, s, Z, _ = simulate(0, n=300)
    model = RepeatedSARClassifier([2])
    store = model._store
    ends = (0.05, 0.97)
    monkeypatch.setattr(
        model, "_store", lambda fit, *more: store(replace(fit, other_maxima=ends), *more)
    )
    assert model.fit(X, s, chances=Z).class_prior_range_ == pytest.approx(ends)
