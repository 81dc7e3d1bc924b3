"""The design-based class prior: unbiased, its interval holds, and it is what theory says."""

import numpy as np
import pytest
from scipy import optimize, stats

from sarlearn._engine.survey import Strata, rows_needed, strata_of
from sarlearn.audit import allocate, class_prior_from_audit, draw, strata, suggest_audit


def wilson(x, n, level=0.95):
    low, high = stats.binomtest(x, n).proportion_ci(level, method="wilson")
    return low, high


@pytest.mark.parametrize("x", [0, 1, 7, 20])
def test_one_stratum_of_a_large_population_is_wilsons_interval(x):
    found = Strata(np.array([1.0]), np.array([1e12]), np.array([20.0]), np.array([float(x)]), 0.0)
    assert found.interval() == pytest.approx(wilson(x, 20), abs=1e-6)


@pytest.mark.parametrize("positive", [[0, 4, 7], [1, 5, 10], [0, 0, 0], [12, 9, 10]])
def test_the_score_interval_of_several_strata_against_a_solver(positive):
    """The ends by SciPy's constrained maximiser, on the formula of the module's text."""
    share, n = np.array([0.4, 0.2, 0.1]), np.array([12.0, 9.0, 10.0])
    size, x = np.array([300.0, 150.0, 75.0]), np.array(positive, dtype=float)
    found = Strata(share, size, n, x, 0.3)

    def surplus(P):
        def loss(p):
            p = np.clip(p, 1e-12, 1 - 1e-12)
            return -np.sum(x * np.log(p) + (n - x) * np.log1p(-p))

        def slope(p):
            p = np.clip(p, 1e-12, 1 - 1e-12)
            return -x / p + (n - x) / (1 - p)

        constraint = {"type": "eq", "fun": lambda p: share @ p - P, "jac": lambda p: share}
        start = np.full(3, P / share.sum())
        p = optimize.minimize(
            loss,
            start,
            jac=slope,
            bounds=[(0, 1)] * 3,
            constraints=constraint,
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        ).x
        variance = np.sum(share**2 * p * (1 - p) / n * (size - n) / (size - 1))
        return (share @ (x / n) - P) ** 2 - stats.norm.ppf(0.975) ** 2 * variance

    low, high = found.interval()
    for end, bound in ((low, 0.0), (high, share.sum())):
        inside = end - 0.3
        if abs(inside - bound) > 1e-9:
            assert surplus(inside) == pytest.approx(0, abs=2e-5)
            assert surplus(inside + 0.02 * (bound - inside)) > 0


def population(rng, n=4000):
    """Posteriors that mislead in part: the class follows another curve."""
    q = rng.beta(0.4, 1.0, n)
    y = rng.random(n) < 0.1 + 0.6 * q
    s = y & (rng.random(n) < 0.4)
    return q, y, s


def test_unbiased_and_covering_although_the_posteriors_mislead():
    rng = np.random.default_rng(0)
    q, y, s = population(rng)
    errors, held = [], []
    for _ in range(400):
        audited, probability = np.full(len(s), np.nan), np.full(len(s), np.nan)
        rows, _, chance = draw(q, np.flatnonzero(~s), 60, rng)
        audited[rows], probability[rows] = y[rows], chance
        estimate = class_prior_from_audit(s, audited, probability)
        errors.append(estimate.class_prior - y.mean())
        held.append(estimate.interval[0] <= y.mean() <= estimate.interval[1])
    assert abs(np.mean(errors)) < 4 * np.std(errors) / 20
    assert 0.92 < np.mean(held) < 0.99


def test_a_second_round_is_unbiased_although_it_depends_on_the_first():
    rng = np.random.default_rng(1)
    q, y, s = population(rng, 1500)
    errors, held = [], []
    for _ in range(300):
        audited, probability, rounds = (np.full(len(s), np.nan) for _ in range(3))
        rows, _, chance = draw(q, np.flatnonzero(~s), 30, rng)
        audited[rows], probability[rows] = y[rows], chance
        rounds[rows] = 1
        # The second round looks where the first found positives.
        near = np.exp(-((q[:, None] - q[rows][y[rows]]) ** 2) / 0.02).sum(axis=1)
        rest = np.flatnonzero(~s & np.isnan(audited))
        rows, _, chance = draw(near / (near.max() + 1), rest, 30, rng)
        audited[rows], probability[rows] = y[rows], chance
        rounds[rows] = 2
        estimate = class_prior_from_audit(s, audited, probability, audit_round=rounds)
        errors.append(estimate.class_prior - y.mean())
        held.append(estimate.interval[0] <= y.mean() <= estimate.interval[1])
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(300)
    assert 0.91 < np.mean(held) < 0.99


def test_any_beginning_of_the_order_reaches_every_stratum():
    rng = np.random.default_rng(2)
    q = rng.random(1000)
    rows, stratum, _ = draw(q, np.arange(1000), 60, rng)
    assert len(np.unique(rows)) == 60
    assert set(stratum[:6]) == set(range(6))
    counts = np.bincount(stratum[:30])
    assert counts.max() - counts.min() <= 1


def test_strata_are_finer_where_the_posterior_is_undecided():
    q = np.r_[np.full(800, 0.01), np.linspace(0.3, 0.7, 200)]
    cut = strata(q, 5)
    assert np.bincount(cut)[-1] < np.bincount(cut)[0] / 2
    assert np.all(np.diff(cut[np.argsort(q, kind="stable")]) >= 0)


def test_small_strata_give_what_they_have():
    assert allocate(50, np.array([5, 100, 100])).tolist() == [5, 23, 22]
    assert allocate(500, np.array([5, 10])).tolist() == [5, 10]


def test_rows_sure_to_be_drawn_stand_for_themselves():
    s = np.r_[np.ones(10), np.zeros(90)].astype(bool)
    audited, probability = np.full(100, np.nan), np.full(100, np.nan)
    audited[10:20], probability[10:20] = 1, 1.0  # ten known positives
    audited[20:40], probability[20:40] = [0, 1] * 10, 20 / 80
    found = strata_of(s, audited, probability)
    assert found.estimate == pytest.approx(0.1 + 0.1 + 0.8 / 2)
    everything = strata_of(s, np.where(s, np.nan, 1.0), np.where(s, np.nan, 1.0))
    assert everything.estimate == 1.0
    assert everything.interval() == (1.0, 1.0)


def test_answers_and_drawn_rows_without_one_are_counted():
    """A labelled row that was looked at is none of those drawn."""
    s = np.r_[np.ones(10), np.zeros(90)]
    audited, probability = np.full(100, np.nan), np.full(100, np.nan)
    audited[5:25], probability[5:30] = [1] * 5 + [0, 1, 0] * 5, 0.25
    found = class_prior_from_audit(s, audited, probability)
    assert (found.n_audited, found.n_unsure) == (15, 5)
    assert "based on 15 checked rows" in str(found)
    assert "5 drawn rows have no answer" in str(found)


def test_weights_count_as_rows():
    rng = np.random.default_rng(3)
    _, y, s = population(rng, 400)
    audited, probability = np.full(400, np.nan), np.full(400, np.nan)
    rows = np.flatnonzero(~s)[:100]
    audited[rows], probability[rows] = y[rows], 100 / (~s).sum()
    twice = class_prior_from_audit(s, audited, probability, sample_weight=np.full(400, 2.0))
    once = class_prior_from_audit(s, audited, probability)
    assert twice.class_prior == pytest.approx(once.class_prior)
    assert twice.interval == pytest.approx(once.interval)
    heavy = np.where(y, 3.0, 1.0)
    weighted = class_prior_from_audit(s, audited, probability, sample_weight=heavy)
    assert weighted.class_prior > once.class_prior + 0.05


def test_probabilities_of_their_own_are_pooled():
    """Rows drawn one by one with different chances (Poisson sampling)."""
    rng = np.random.default_rng(4)
    q, y, s = population(rng)
    chance = np.clip(0.01 + 0.05 * q, 0, 1)
    errors, held = [], []
    for _ in range(200):
        drawn = ~s & (rng.random(len(s)) < chance)
        audited, probability = np.where(drawn, y, np.nan), np.where(drawn, chance, np.nan)
        estimate = class_prior_from_audit(s, audited, probability)
        errors.append(estimate.class_prior - y.mean())
        held.append(estimate.interval[0] <= y.mean() <= estimate.interval[1])
    assert abs(np.mean(errors)) < 0.01
    assert np.mean(held) > 0.9


def test_rows_needed_brings_the_width():
    share, size = np.array([0.5, 0.3]), np.array([5000.0, 3000.0])
    found = Strata(share, size, np.array([25.0, 25.0]), np.array([5.0, 12.0]), 0.2)
    n = rows_needed(found, 0.05)
    factor = n / 50
    more = Strata(share, size, found.drawn * factor, found.positive * factor, 0.2)
    low, high = more.interval()
    assert high - low == pytest.approx(0.05, rel=0.01)
    assert rows_needed(found, 0.05) > rows_needed(found, 0.1) > 50


class Oracle:
    """A model that knows its posteriors."""

    classes_ = np.array([0, 1])

    def __init__(self, q):
        self.q = q

    def predict_posterior(self, X, s):
        return np.where(s, 1.0, self.q)


def test_suggestions_of_a_second_round_leave_out_the_first():
    rng = np.random.default_rng(5)
    q, y, s = population(rng, 600)
    X = q[:, None]
    first = suggest_audit(Oracle(q), X, s.astype(int), n=40, random_state=0)
    assert str(first).startswith(f"40 rows to check, in this order: {first.rows[0]}, ")
    assert f"about {first.rows_needed()} checked rows" in repr(first)
    answers = first.answers(y[first.rows])
    second = suggest_audit(Oracle(q), X, s.astype(int), n=40, random_state=1, **answers)
    assert second.round == 2
    assert not set(first.rows) & set(second.rows)
    both = second.answers(y[second.rows])
    assert np.nansum(~np.isnan(both["audited"])) == 80
    estimate = class_prior_from_audit(s, **both)
    assert estimate.n_audited == 80
    assert abs(estimate.class_prior - y.mean()) < 0.15
    assert "80 checked rows" in str(estimate)


def test_errors_name_what_is_wrong():
    s = np.r_[np.ones(30), np.zeros(70)]
    audited, probability = np.full(100, np.nan), np.full(100, np.nan)
    audited[30:40], probability[30:40] = 0, 0.1
    with pytest.raises(ValueError, match="row 50 has 2"):
        class_prior_from_audit(s, np.where(np.arange(100) == 50, 2, audited), probability)
    with pytest.raises(ValueError, match="Row 3 is labelled and was audited as negative"):
        class_prior_from_audit(s, np.where(np.arange(100) == 3, 0, audited), probability)
    with pytest.raises(ValueError, match="No unlabelled row is audited"):
        class_prior_from_audit(s, np.where(s == 1, 1, np.nan), probability)
    with pytest.raises(ValueError, match=r"row 31 has 1\.5"):
        class_prior_from_audit(s, audited, np.where(np.arange(100) == 31, 1.5, probability))
    with pytest.raises(ValueError, match="Row 60 is audited and has no audit_probability"):
        class_prior_from_audit(s, np.where(np.arange(100) == 60, 1, audited), probability)
    with pytest.raises(ValueError, match="'maybe'"):
        class_prior_from_audit(s, ["maybe", *audited[1:]], probability)
    other = np.where((np.arange(100) >= 45) & (np.arange(100) < 50), 0.5, probability)
    with pytest.raises(ValueError, match="no answer yet"):
        class_prior_from_audit(s, audited, other)


def checked(n_rows, drawn):
    """Answers and probabilities: of each ``(first row, rows, positives, probability)``."""
    audited, probability = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
    for first, n, positive, chance in drawn:
        audited[first : first + n] = np.arange(n) < positive
        probability[first : first + n] = chance
    return audited, probability


def test_strata_are_told_apart_by_their_probability():
    """By hand: 100 of 500 rows labelled; a tenth of 300 rows and a fifth of 100 checked."""
    s = np.arange(500) < 100
    audited, probability = checked(500, [(100, 30, 3, 0.1), (400, 20, 15, 0.2)])
    found = strata_of(s, audited, probability)
    assert found.drawn.tolist() == [30, 20]
    assert found.positive == pytest.approx([3, 15])
    assert found.estimate == pytest.approx(0.2 + 0.6 * 0.1 + 0.2 * 0.75)


def test_rounds_count_by_the_rows_that_they_checked():
    """By hand: .36 of 10 rows, then .672 of 30 of those left."""
    s = np.arange(500) < 100
    audited, probability = checked(500, [(100, 10, 2, 10 / 400), (110, 30, 18, 30 / 390)])
    rounds = np.where(np.arange(500) < 110, 1.0, 2.0)
    found = class_prior_from_audit(s, audited, probability, audit_round=rounds)
    assert found.class_prior == pytest.approx((10 * 0.36 + 30 * 0.672) / 40)


def test_rows_of_unequal_weight_are_fewer_rows():
    """Kish: (sum w)^2 / sum w^2, here 20 * 2^2 / (10 * 1 + 10 * 9) of 20 answers."""
    s, weight = np.arange(500) < 100, np.where(np.arange(500) % 2, 3.0, 1.0)
    audited, probability = checked(500, [(100, 20, 10, 0.05)])
    found = strata_of(s, audited, probability, weight=weight)
    assert found.drawn == pytest.approx([40**2 / 100])
    assert found.positive / found.drawn == pytest.approx([0.5])
    low, high = found.interval()
    even_low, even_high = strata_of(s, audited, probability).interval()
    assert high - low > 1.05 * (even_high - even_low)


def test_rows_nobody_could_answer_are_not_drawn_again():
    rng = np.random.default_rng(6)
    q, _, s = population(rng, 200)
    first = suggest_audit(Oracle(q), q[:, None], s.astype(int), n=60, random_state=0)
    answers = first.answers(np.where(np.arange(60) < 20, 1.0, np.nan))
    rest = suggest_audit(Oracle(q), q[:, None], s.astype(int), n=200, random_state=0, **answers)
    assert not set(first.rows) & set(rest.rows)
    assert len(rest.rows) == np.sum(~s) - 60


def test_part_of_an_audit_is_uniform():
    """Nine tenths of the rows are sure negatives, and some strata are theirs all the same."""
    cut = strata(np.r_[np.full(900, 1e-6), np.full(100, 0.5)], 10)
    assert len(np.unique(cut[:900])) >= 4


def test_rows_nobody_could_answer_count_in_their_stratum():
    s = np.arange(500) < 100
    audited, probability = checked(500, [(100, 30, 3, 0.1), (400, 20, 15, 0.2)])
    audited[[129, *range(410, 420)]] = np.nan
    found = class_prior_from_audit(s, audited, probability)
    assert found.class_prior == pytest.approx(0.2 + 0.6 * 3 / 29 + 0.2 * 10 / 10)
