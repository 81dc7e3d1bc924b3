"""Audited rows in every learner, against a plain solver, and what follows from the draw."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB

from conftest import make_pu
from evidence_reference import Reference
from sarlearn import KnownPropensityClassifier, SARClassifier, SAREMClassifier
from sarlearn._engine import likelihood
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.em import ScarTargets
from sarlearn._engine.likelihood import evidence_of_labels
from sarlearn.audit import class_prior_from_audit, suggest_audit


@pytest.fixture(scope="module")
def data():
    found = make_pu(900, seed=3)
    rng = np.random.default_rng(4)
    found.audited = np.where(~found.s & (rng.random(900) < 0.15), found.y, np.nan).astype(float)
    found.weight = rng.uniform(0.5, 2.0, 900)
    return found


def parameters(model):
    return np.concatenate(
        [
            model.coef_[0],
            model.intercept_,
            model.propensity_coef_[0],
            model.propensity_intercept_,
        ]
    )


@pytest.mark.parametrize("form", ["dense", "sparse", "weighted"])
@pytest.mark.parametrize("discrete", [False, True])
def test_maximum_likelihood_is_that_of_a_plain_solver(form, discrete):
    data = make_pu(700, seed=5, discrete=discrete)
    rng = np.random.default_rng(6)
    audited = np.where(~data.s & (rng.random(700) < 0.2), data.y, np.nan)
    weight = rng.uniform(0.5, 2.0, 700) if form == "weighted" else None
    X = sparse.csr_array(data.X) if form == "sparse" else data.X
    model = SAREMClassifier(
        data.columns, decay=1, C=3.0, propensity_C=0.7, stop="fixed_point", tol=1e-10
    )
    model.fit(X, data.s, sample_weight=weight, audited=audited)
    reference = Reference(data.X, data.s, data.X[:, data.columns], audited, weight, C=3.0, C_e=0.7)
    found = reference.solve(parameters(model))
    np.testing.assert_allclose(parameters(model), found, atol=1e-6)
    assert model.class_prior_ == pytest.approx(reference.class_prior(found), abs=1e-7)
    assert model.n_audited_ == int(np.sum(~np.isnan(audited)))
    without = SAREMClassifier(
        data.columns, decay=1, C=3.0, propensity_C=0.7, stop="fixed_point", tol=1e-10
    ).fit(X, data.s, sample_weight=weight)
    assert np.abs(parameters(without) - found).max() > 1e-3


@pytest.mark.parametrize("stop", ["fixed_point", "slope"])
def test_known_propensity_with_audits(data, stop):
    model = KnownPropensityClassifier(C=2.0, stop=stop, tol=1e-9, max_iter=5000)
    model.fit(data.X, data.s, data.e, sample_weight=data.weight, audited=data.audited)
    theta = np.append(model.coef_[0], model.intercept_)
    zeta = np.log(data.e / (1 - data.e))
    reference = Reference(
        data.X, data.s, np.empty((900, 0)), data.audited, data.weight, C=2.0, offset_e=zeta[:, None]
    )
    # The propensity's intercept stays 0: its offset is the known logit.
    gradient = reference.gradient(np.append(theta, 0.0))[:-1]
    assert np.abs(gradient).max() < (1e-4 if stop == "fixed_point" else 0.5)


def test_derivatives_with_audits_are_those_of_the_value():
    rng = np.random.default_rng(0)
    eta, zeta = rng.normal(0, 4, 60), rng.normal(0, 4, 60)
    labelled = np.repeat([True, False], 30)
    audited = np.where(labelled, np.nan, rng.choice([0.0, 1.0, np.nan], 60))

    def value(eta, zeta):
        f, not_f = likelihood.sigmoids(eta)
        e, not_e = likelihood.sigmoids(zeta)
        seen = evidence_of_labels(e, not_e, labelled, 1.0, audited)
        return likelihood.terms(f, not_f, seen), e, not_e, f, not_f

    found, e, not_e, f, not_f = value(eta, zeta)
    h = 1e-6
    by_eta = -(np.log(value(eta + h, zeta)[0].chance) - np.log(value(eta - h, zeta)[0].chance))
    np.testing.assert_allclose(found.residual, by_eta / (2 * h), atol=1e-8)
    by_zeta = -(np.log(value(eta, zeta + h)[0].chance) - np.log(value(eta, zeta - h)[0].chance))
    residual = likelihood.propensity_residual(found.target, e, not_e, labelled)
    np.testing.assert_allclose(residual, by_zeta / (2 * h), atol=1e-8)
    curvature = likelihood.class_curvature(f, not_f, found, observed=True)
    twice = (value(eta + h, zeta)[0].residual - value(eta - h, zeta)[0].residual) / (2 * h)
    np.testing.assert_allclose(curvature, twice, atol=1e-8)


def weak(seed, n=4000):
    """A weak signal: from labels alone no method is reliable."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    y = rng.random(n) < expit(0.35 * X[:, :4].sum(axis=1))
    s = y & (rng.random(n) < expit(X[:, 4] - 0.5))
    return X, y, s, rng


@pytest.mark.parametrize(
    "learner",
    [
        SAREMClassifier([4]),
        SARClassifier([4]),
        SAREMClassifier([4], classifier=GaussianNB(), tol=1e-2),
    ],
    ids=["sar-em", "ours", "naive Bayes"],
)
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.TrustWarning")
def test_a_known_draw_gives_the_class_prior_and_f_follows(learner):
    X, y, s, _ = weak(1, 1500)
    learner.fit(X, s)
    suggestion = suggest_audit(learner, X, s, n=80, random_state=0)
    answers = suggestion.answers(y[suggestion.rows])
    learner.fit(X, s, **answers)
    expected = class_prior_from_audit(s, **answers)
    assert learner.class_prior_by_design_
    assert learner.class_prior_ == pytest.approx(expected.class_prior)
    assert learner.class_prior_range_ == pytest.approx(expected.interval)
    assert learner.predict_proba(X)[:, 1].mean() == pytest.approx(expected.class_prior, abs=1e-6)
    assert learner.label_frequency_ == pytest.approx(s.mean() / expected.class_prior)
    assert "Based on 80 checked rows" in learner.summary()
    posterior = learner.predict_posterior(X, s, audited=answers["audited"])
    known = ~np.isnan(answers["audited"])
    np.testing.assert_array_equal(posterior[known], answers["audited"][known])
    np.testing.assert_allclose(posterior[s], 1.0)


def test_any_cut_of_the_rows_and_weights_as_repetition(data):
    from sarlearn._engine.blocks import RowBlocks
    from sarlearn._engine.sarem import fit_sar_em

    found = []
    for block_rows in (900, 70):
        rows = RowBlocks(data.X, block_rows=block_rows)
        rows = rows.attach(labelled=data.s, audited=data.audited)
        found.append(fit_sar_em(rows, data.columns, decay=0.9, C=1.0, propensity_C=1.0))
    np.testing.assert_allclose(found[0].theta, found[1].theta, rtol=1e-9)
    twice = np.where(np.arange(900) < 450, 2, 1)
    rows = np.repeat(np.arange(900), twice)
    a = SAREMClassifier(data.columns).fit(data.X, data.s, twice, audited=data.audited)
    b = SAREMClassifier(data.columns).fit(data.X[rows], data.s[rows], audited=data.audited[rows])
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-6)


def test_the_start_takes_audited_rows_as_they_are(data):
    rows = RowBlocks(data.X).attach(labelled=data.s, audited=data.audited)
    targets = np.concatenate(rows.each(ScarTargets(np.zeros(7), 1.0)))
    seen = ~np.isnan(data.audited)
    np.testing.assert_array_equal(targets[seen], data.audited[seen])
    np.testing.assert_array_equal(targets[data.s], 1.0)
    np.testing.assert_allclose(targets[~seen & ~data.s], np.exp(-1))


def test_rows_of_weight_zero_are_absent(data):
    weight = np.where(np.arange(900) % 3 == 1, 0.0, 1.0)
    a = SAREMClassifier(data.columns).fit(data.X, data.s, weight, audited=data.audited)
    part = weight > 0
    b = SAREMClassifier(data.columns).fit(data.X[part], data.s[part], audited=data.audited[part])
    np.testing.assert_allclose(a.coef_, b.coef_)
    assert a.n_audited_ == b.n_audited_


def test_metadata_is_routed(data):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = SAREMClassifier(data.columns).set_fit_request(audited=True)
        model.set_score_request()
        params = {"audited": data.audited}
        scores = cross_val_score(model, data.X, data.s.astype(int), cv=2, params=params)
    assert len(scores) == 2


def test_errors_name_the_value(data):
    model = SAREMClassifier(data.columns)
    other = data.audited.copy()
    other[7] = 2
    with pytest.raises(ValueError, match="row 7 has 2"):
        model.fit(data.X, data.s, audited=other)
    row = int(np.flatnonzero(data.s)[0])
    other = data.audited.copy()
    other[row] = 0
    with pytest.raises(ValueError, match=f"Row {row} is labelled and was audited as negative"):
        model.fit(data.X, data.s, audited=other)
    with pytest.raises(ValueError, match="No unlabelled row is audited"):
        model.fit(data.X, data.s, audited=np.where(data.s, 1.0, np.nan))
    with pytest.raises(ValueError, match="without audited"):
        model.fit(data.X, data.s, audit_probability=np.full(900, 0.1))
    with pytest.raises(ValueError, match="method='weighting'"):
        KnownPropensityClassifier(method="weighting").fit(
            data.X, data.s, data.e, audited=data.audited
        )


def test_known_negatives_alone_serve(data):
    negatives = np.where(data.audited == 0, 0.0, np.nan)
    model = SAREMClassifier(data.columns).fit(data.X, data.s, audited=negatives)
    assert model.n_audited_ == int(np.sum(negatives == 0))
    plain = SAREMClassifier(data.columns).fit(data.X, data.s)
    assert model.class_prior_ < plain.class_prior_


def test_dask_gives_the_same_answer(data, here):
    da = pytest.importorskip("dask.array")
    X = da.from_array(data.X, chunks=(250, 6))
    s = da.from_array(data.s.astype(int), chunks=250)
    lazily = SAREMClassifier(data.columns).fit(X, s, audited=da.from_array(data.audited))
    known = SAREMClassifier(data.columns).fit(data.X, data.s.astype(int), audited=data.audited)
    np.testing.assert_allclose(lazily.coef_, known.coef_, rtol=1e-6)
    assert lazily.n_audited_ == known.n_audited_
    plain = SAREMClassifier(data.columns).fit(X, s)
    assert not np.allclose(plain.coef_, lazily.coef_, rtol=1e-3)
