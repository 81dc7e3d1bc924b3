"""The average of what several class scores say of the class prior."""

from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.model_selection import StratifiedKFold

from conftest import make_pu
from sarlearn._engine.averaging import LabelModels, PriorEstimate, average_of, average_on_rows
from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.crossfit import LinearScorer, cross_fit, fit_labels
from sarlearn._engine.flexible import kernel_scores, standardised
from sarlearn._engine.folds import Folds
from sarlearn._engine.known_prior import PseudoCounts
from sarlearn._engine.label_model import NO_PSEUDO_COUNTS, LabelModel


def estimate(class_prior, half_width=0.1, log_likelihood=0.0, propensity=None):
    low, high = class_prior - half_width, class_prior + half_width
    return PriorEstimate("a score", class_prior, low, high, log_likelihood, propensity)


def test_mean_and_variance_of_a_mixture():
    """Two estimates that explain the labels alike, by hand."""
    found = average_of([estimate(0.3), estimate(0.5, 0.2)], unbiased=0.7, start=None)
    assert found.class_prior == pytest.approx(0.4)
    variance = np.mean([(0.2 / 3.92) ** 2, (0.4 / 3.92) ** 2]) + 0.1**2
    assert found.deviation**2 == pytest.approx(variance + 0.1 * 0.3**2)
    assert found.weights == pytest.approx([0.5, 0.5])


def test_an_estimate_counts_by_how_well_it_explains_the_labels():
    found = average_of([estimate(0.3), estimate(0.5, log_likelihood=-5.0)], 0.3, None)
    assert found.weights[1] / found.weights[0] == pytest.approx(np.exp(-1))
    found = average_of([estimate(0.3), estimate(0.5, log_likelihood=-100.0)], 0.3, None)
    assert found.class_prior == pytest.approx(0.3)
    assert found.deviation == pytest.approx(0.2 / 3.92)


def test_a_score_of_the_labels_counts_a_tenth_and_widens_the_range_in_full():
    """It holds what labelling follows, too."""
    of_labels = replace(estimate(0.2), of_class=False)
    found = average_of([estimate(0.5), of_labels], 0.5, None, 0.1)
    assert found.weights == pytest.approx([10 / 11, 1 / 11])
    assert found.class_prior == pytest.approx((10 * 0.5 + 0.2) / 11)
    off = np.array([0.5, 0.2]) - found.class_prior
    variance = (0.2 / 3.92) ** 2 + np.mean(off**2) + 0.1 * off[0] ** 2
    assert found.deviation**2 == pytest.approx(variance)


def test_a_range_to_one_side_moves_the_answer_there():
    lopsided = PriorEstimate("a score", 0.3, 0.3, 0.7, 0.0)
    assert average_of([lopsided], 0.4, None).class_prior == pytest.approx(0.4)


def test_sar_em_counts_where_the_labels_leave_much_open():
    for half_width, weight in ((0.392, 0.5), (0.0392, 0.01)):
        found = average_of([estimate(0.4, half_width)], 0.4, start=0.8)
        assert found.start_weight == pytest.approx(weight, abs=2e-3)
        assert found.class_prior == pytest.approx(0.4 + 0.4 * found.start_weight)
        assert found.weights.sum() == pytest.approx(1 - found.start_weight)
    near = average_of([estimate(0.4)], 0.4, start=0.4)
    assert average_of([estimate(0.4)], 0.4, start=0.8).deviation > near.deviation


def test_the_propensity_is_averaged_over_those_that_have_one():
    phis = np.array([[1.0, 0.0], [3.0, 1.0]])
    told = [estimate(0.4, propensity=phi) for phi in phis]
    found = average_of([told[0], estimate(0.4), told[1]], 0.4, start=0.4)
    start, share = np.array([10.0, 10.0]), found.start_weight
    expected = (1 - share) * phis.mean(axis=0) + share * start
    assert found.propensity(start) == pytest.approx(expected)


def test_an_estimate_is_the_label_models():
    rng = np.random.default_rng(0)
    score, attributes = rng.normal(size=600), rng.normal(2.0, 3.0, size=(600, 1))
    e = expit((attributes[:, 0] - 2) / 3)
    labelled = rng.random(600) < expit(3 * score) * e
    # Rows that stand for four times as many have a quarter of the pseudo-counts of all of them.
    pseudo_counts = PseudoCounts(1.0, 1.0)
    model = LabelModel(
        score, attributes, labelled, propensity_ridge=1.0, pseudo_counts=pseudo_counts
    )
    fit = model.fit()
    profile = model.profile(fit)
    said, eta, zeta = LabelModels(attributes, labelled, None, 0.5).estimate("mine", score)
    assert said.class_prior == fit.class_prior
    assert said.high - said.class_prior == pytest.approx((profile.high - fit.class_prior) / 2)
    assert eta == pytest.approx(fit.slope * score + fit.intercept)
    assert zeta == pytest.approx(
        attributes @ fit.propensity_coef + fit.propensity_intercept, abs=1e-12
    )
    models = LabelModels(attributes, labelled, None)
    assert models.log_likelihood(eta, zeta) == pytest.approx(fit.log_likelihood)


def test_a_row_of_weight_two_is_two_rows():
    data = make_pu(300)
    counts = data.rng.integers(1, 4, 300)
    rows, score = np.repeat(np.arange(300), counts), data.X[:, 3]
    weighted = LabelModels(data.X[:, :1], data.s, counts.astype(float))
    repeated = LabelModels(data.X[rows, :1], data.s[rows], None)
    (one, eta, zeta), (other, *_) = (
        weighted.estimate("a score", score),
        repeated.estimate("a score", score[rows]),
    )
    for name in ("class_prior", "low", "high", "log_likelihood"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6)
    assert weighted.unbiased(score) == pytest.approx(repeated.unbiased(score[rows]), rel=1e-6)
    told = repeated.log_likelihood(eta[rows], zeta[rows])
    assert weighted.log_likelihood(eta, zeta) == pytest.approx(told)


def test_flexible_scores_are_those_of_weighted_rows():
    data = make_pu(300)
    weight, score = data.rng.uniform(0.5, 2.0, 300), data.X[:, 3]
    models = LabelModels(data.X[:, :1], data.s, weight)
    Z = standardised(data.X, weight)
    targets = [data.s.astype(float), data.s / np.maximum(data.e, 0.05)]
    scores = kernel_scores(Z, targets, weight, order=score)
    for said, column in zip(models.flexible(Z, score, data.e), scores.T, strict=True):
        told = models.estimate("a score", column)[0]
        assert (said.class_prior, said.low) == (told.class_prior, told.low)


def test_the_average_on_rows_takes_their_weights_and_pseudo_counts():
    """Put together by hand, with everything away from what it is by default."""
    data, columns = make_pu(300), np.array([0, 1])
    weight, score = data.rng.uniform(0.5, 2.0, 300), data.X[:, 3]
    rows = RowBlocks(data.X).attach(labelled=data.s, weight=weight, score=score)
    own = estimate(0.4, propensity=np.array([1.0, -1.0, 0.2]))
    line, start, pseudo_counts = (1.3, -0.2), 0.7, PseudoCounts(20.0, 20.0)
    found = average_on_rows(rows, columns, own, line, start, pseudo_counts)
    models = LabelModels(data.X[:, columns], data.s, weight, 1.0, pseudo_counts)
    zeta = data.X[:, columns] @ [1.0, -1.0] + 0.2
    value = models.log_likelihood(1.3 * score - 0.2, zeta)
    others = models.flexible(standardised(data.X, weight), score, expit(zeta))
    estimates = [replace(own, log_likelihood=value), *others]
    told = average_of(estimates, models.unbiased(score), start, 0.1)
    assert [one.class_prior for one in found.estimates] == pytest.approx(
        [one.class_prior for one in estimates]
    )
    assert found.weights == pytest.approx(told.weights)
    assert found.start_weight == pytest.approx(told.start_weight)
    assert found.class_prior == pytest.approx(told.class_prior)
    assert found.deviation == pytest.approx(told.deviation)


def test_unbiased_labelling_has_one_propensity():
    """Half of the positives are labelled; sure ones show it."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=3000)
    y = score > 0
    labelled = y & (rng.random(3000) < 0.5)
    found = LabelModels(rng.normal(size=(3000, 2)), labelled, None).unbiased(
        logit(expit(8 * score))
    )
    assert found == pytest.approx(y.mean(), abs=0.03)


def test_kernel_scores_follow_the_rows_wherever_they_stand():
    """Their order does not matter."""
    rng = np.random.default_rng(2)
    X, order = rng.normal(size=(400, 3)), rng.normal(size=400)
    target = (X[:, 0] * X[:, 1] > 0).astype(float)
    found = kernel_scores(X, [target], order=order)
    mixed = rng.permutation(400)
    moved = kernel_scores(X[mixed], [target[mixed]], order=order[mixed])
    assert moved == pytest.approx(found[mixed], abs=1e-6)


def test_the_cross_fit_tells_the_average():
    """Its propensity and its class prior; the label model of its own score stays what it was."""
    data = make_pu(400)
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.s)
    flags = Folds.of(list(splits), len(data.s)).flags
    rows = RowBlocks(data.X).attach(labelled=data.s, folds=flags)
    scorer = LinearScorer(3, [1.0], lambda: None)
    columns = np.array([0, 1])
    found, alone = (
        cross_fit(rows, columns, scorer, pseudo_counts=NO_PSEUDO_COUNTS, labels_alone=labels_alone)
        for labels_alone in (True, False)
    )
    average = found.average
    assert alone.average is None
    assert alone.class_prior == found.labels.class_prior == alone.labels.class_prior
    assert found.class_prior == found.labels_only == average.class_prior != alone.class_prior
    phi = average.propensity(found.start.em.propensity.theta)
    told = found.rows.units.of(columns).to_user(phi)
    assert found.propensity_theta == pytest.approx(told)
    e = found.rows.gather(attrgetter("e"))
    assert e == pytest.approx(expit(data.X[:, columns] @ told[:-1] + told[-1]))
    values = np.array([one.log_likelihood for one in average.estimates])
    counted = np.exp((values - values.max()) / 5) * [1, 0.1, 1]  # the second is of the labels
    assert average.weights / average.weights.sum() == pytest.approx(counted / counted.sum())
    assert average.estimates[0].class_prior == found.labels.class_prior
    assert average.estimates[0].log_likelihood == pytest.approx(found.labels.log_likelihood)


def test_pseudo_counts_are_for_labels_alone():
    """They draw the class prior of little data towards a half, and the propensity with it."""
    data = make_pu(400)
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.s)
    rows = RowBlocks(data.X).attach(labelled=data.s, folds=Folds.of(list(splits), 400).flags)

    def found(pseudo_counts, labels_alone=True, columns=(0, 1)):
        scorer = LinearScorer(3, [1.0], lambda: None)
        named = np.array(columns, dtype=np.intp)
        return cross_fit(
            rows, named, scorer, pseudo_counts=pseudo_counts, labels_alone=labels_alone
        )

    none, some, many = (found(PseudoCounts(k, k)) for k in (0.0, 4.0, 1000.0))
    away = [abs(one.labels.class_prior - 0.5) for one in (none, some, many)]
    assert away[0] > away[1] > away[2]
    assert abs(some.class_prior - 0.5) < abs(none.class_prior - 0.5)
    alone = [found(PseudoCounts(k, k), labels_alone=False) for k in (0.0, 1000.0)]
    assert alone[0].class_prior == alone[1].class_prior
    scar = [found(PseudoCounts(k, k), columns=()) for k in (0.0, 1000.0)]
    assert scar[0].class_prior == scar[1].class_prior


def test_the_range_of_few_rows_does_not_rest_on_pseudo_counts():
    data = make_pu(150)
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(data.X, data.s)
    rows = RowBlocks(data.X).attach(labelled=data.s, folds=Folds.of(list(splits), 150).flags)
    pseudo_counts = PseudoCounts(50.0, 50.0)
    scorer = LinearScorer(3, [1.0], lambda: None)
    found = cross_fit(rows, np.array([0, 1]), scorer, pseudo_counts=pseudo_counts)
    assert found.average is None
    model, drawn = fit_labels(found.rows, np.array([0, 1]), pseudo_counts, known=False)
    assert found.profile.width > 1.5 * model.profile(drawn).width
    assert found.profile.low <= found.labels.class_prior <= found.profile.high
