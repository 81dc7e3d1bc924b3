"""The closed forms and solvers inside the class-prior estimators, against general ones."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.stats import mannwhitneyu
from sklearn.model_selection import PredefinedSplit

from prior_cases import CASES, case, mean_error, reference
from sarlearn.priors import alphamax, pearson
from sarlearn.priors._kernels import (
    scale_columns,
    squared_distances,
    subsample,
)
from sarlearn.priors._scores import EXACT, _few_drawn, _rank_sum
from sarlearn.priors.kernel_mean import KernelMean, _chance_distance, _Embedding
from sarlearn.priors.pearson import PearsonDivergence
from sarlearn.priors.penalized_l1 import exact_minimizer
from sarlearn.priors.tice import TIcE, bin_columns


@pytest.mark.parametrize("seed", range(50))
def test_exact_minimizer_of_penalized_l1_beats_a_dense_grid(seed):
    rng = np.random.default_rng(seed)
    m, u = rng.random(20) * rng.integers(0, 2, 20), rng.random(20)
    penalty = 10.0 ** rng.uniform(-4, 1)

    def value(theta):
        return np.sum(np.maximum(0, np.multiply.outer(theta, m) - u) ** 2, -1) / penalty - theta

    found = exact_minimizer(m, u, penalty)
    assert value(found) <= value(np.linspace(0, 3 * max(found, 1), 20_001)).min() + 1e-9


def test_exact_minimizer_without_a_basis_near_the_labelled_rows_is_one():
    assert exact_minimizer(np.zeros(3), np.ones(3), 1e-3) == 1.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stretch", [1.05, 1.5, 4.0])
def test_the_distance_to_the_hull_is_that_of_a_general_solver(seed, stretch):
    X, s = np.random.default_rng(seed).standard_normal((30, 2)), np.arange(30) < 10
    embedding = _Embedding(X, s)
    K = embedding.rows.T @ embedding.rows
    u = np.where(s, (1 - stretch) / 10, stretch / 20)
    general = minimize(
        lambda w: (u - w) @ K @ (u - w) / 2,
        np.full(30, 1 / 30),
        jac=lambda w: K @ (w - u),
        bounds=[(0, 1)] * 30,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(30)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    found = np.sum(embedding.difference(stretch) ** 2) / 2
    assert found == pytest.approx(general.fun, abs=1e-7)


def test_pearson_matches_all_rows_of_one_sample_and_the_unlabelled_of_two(monkeypatch):
    """In one sample theta is the share of positives among all rows."""
    shares, moments = [], pearson._FoldMoments

    def watched(*arguments):
        shares.append(arguments[-1])  # of the labelled rows in the density that is matched
        return moments(*arguments)

    monkeypatch.setattr(pearson, "_FoldMoments", watched)
    s = np.arange(300) < 80
    X = np.random.default_rng(0).standard_normal((300, 2)) + 3 * (np.arange(300) < 150)[:, None]
    one = PearsonDivergence(random_state=0).fit(X, s)
    assert one.class_prior_ == pytest.approx(0.5, abs=0.06)
    assert one.class_prior_ - one.unlabelled_prior_ > 0.1
    two = PearsonDivergence(random_state=0, single_sample=False).fit(X, s)
    assert two.class_prior_ == two.unlabelled_prior_ == pytest.approx(70 / 220, abs=0.06)
    assert shares == [s.mean(), 0.0]


def two_samples(share=0.4):
    """Forty labelled rows and eighty others, a share of which is like them."""
    rng = np.random.default_rng(0)
    s = np.arange(120) < 40
    y = s | (rng.random(120) < share)
    return rng.standard_normal((120, 2)) + 3 * y[:, None], s


def test_thresholds_are_those_of_the_paper():
    """KM1: 0.8 of the slope of the distance over [1, 1.05], and 0.2 R; KM2: by the sample size."""
    embedding = _Embedding(*two_samples(share=0.0))
    slope = np.linalg.norm(embedding.difference(1.05)) / 0.05
    assert embedding.threshold("KM1") == pytest.approx(0.8 * slope + 0.2 * embedding.R, rel=1e-3)
    assert slope > 0.2 * embedding.R  # not a small part of it
    assert embedding.threshold("KM2") == pytest.approx(40**-0.5)


def test_slopes_of_the_distance_are_its_differences():
    """The envelope theorem."""
    embedding, step = _Embedding(*two_samples()), 1e-4
    for lambda_ in (1.4, 2.0, 3.0):
        low, high = (np.linalg.norm(embedding.difference(lambda_ + h)) for h in (-step, step))
        assert embedding.slope(lambda_) == pytest.approx((high - low) / (2 * step), rel=1e-3)


def test_subsamples_with_a_third_labelled_are_nearer_the_truth():
    """A tenth of the rows labelled: 300 rows in proportion would hold 30 labelled ones."""
    errors = {"balanced": [], "proportional": []}
    for seed in range(6):
        rng = np.random.default_rng(seed)
        y = np.arange(6000) < 2000
        s = np.arange(6000) < 600
        X = rng.standard_normal((6000, 4)) + 1.5 * y[:, None]
        proportional = subsample(s, 300, np.random.RandomState(seed))
        for name, rows in (("balanced", slice(None)), ("proportional", proportional)):
            found = KernelMean("KM2", max_rows=300, random_state=seed).fit(X[rows], s[rows])
            errors[name].append(abs(found.unlabelled_prior_ - y[~s].mean()))
    assert np.mean(errors["balanced"]) < 0.6 * np.mean(errors["proportional"])


def test_chance_distance_is_exceeded_as_often_as_it_says():
    exceeded = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((80, 3))
        K = np.exp(-squared_distances(X, X) / 6)
        delta = np.where(np.arange(80) < 30, -1 / 30, 1 / 50)
        exceeded.append(delta @ K @ delta > _chance_distance(K, 50, 30))
    assert np.mean(exceeded) <= 0.03


def test_kernel_mean_sees_shares_above_the_authors_limit():
    rng = np.random.default_rng(0)
    s = np.arange(900) < 300
    y = s | (np.arange(900) < 300 + 558)  # 0.93 of the unlabelled
    X = 0.05 * rng.standard_normal((900, 2)) + np.where(y, 5, -5)[:, None]
    found = KernelMean("KM2").fit(X, s)
    assert found.unlabelled_prior_ == pytest.approx(0.93, abs=0.03)
    assert not found.clipped_


def random_histograms(seed):
    rng = np.random.default_rng(seed)
    w, p = rng.dirichlet(np.ones(6)), rng.dirichlet(np.full(6, 0.7))
    p[rng.integers(6)] = 0.0
    return w, p / p.sum(), rng.uniform(0.05, 0.9)


# Of older versions of SciPy, which say so and go on.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
@pytest.mark.parametrize("seed", range(20))
def test_alphamax_likelihood_is_the_maximum_of_a_general_solver(seed):
    w, p, a = random_histograms(seed)

    def negative(z):
        return -np.sum(p * np.log(np.maximum(z, 1e-14) / a)) - np.sum(
            w * np.log(np.maximum(w - z + a * p, 1e-14))
        )

    general = minimize(
        negative,
        a * w,
        bounds=[(1e-12, high) for high in w],
        constraints={"type": "eq", "fun": lambda z: z.sum() - a},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 2000},
    )
    found = alphamax.log_likelihood(w, p, 1.0, np.array([a]))[0]
    assert found >= -general.fun - 1e-6
    z = alphamax._mixture_part(w, p, np.array([a]))[0]
    assert z.sum() == pytest.approx(a, abs=1e-9)
    assert np.all((z >= 0) & (z <= w))
    assert found == pytest.approx(-negative(z), abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_supporting_slopes_are_those_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.random(40))
    f = np.maximum(0, x - 0.4) ** 2 + 0.02 * rng.random(40)
    f = (f - f.min()) / np.ptp(f)
    rows = np.arange(10) + rng.integers(0, 30, 3)[:, None]
    least = (f[-1] - f[0]) / (x[-1] - x[0]) / 100
    found = alphamax._supporting_slope(x, f, rows, least)
    for slope, window in zip(found, rows, strict=True):
        general = minimize(
            lambda v, window=window: np.sum((v[0] * x[window] + v[1] - f[window]) ** 2),
            [least, -1.0],
            constraints=[
                {"type": "ineq", "fun": lambda v: f - v[0] * x - v[1]},
                {"type": "ineq", "fun": lambda v: v[0] - least},
            ],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert slope == pytest.approx(general.x[0], abs=1e-4)


def test_elbow_of_a_bent_line_is_its_bend():
    priors = alphamax.LINEAR_GRID
    likelihood = -np.maximum(0, priors - 0.43)
    assert priors[alphamax.find_elbow(priors, likelihood)] == pytest.approx(0.43, abs=0.011)


def test_flat_likelihood_has_its_elbow_at_the_end():
    priors = alphamax.LINEAR_GRID
    assert alphamax.find_elbow(priors, np.zeros(99)) == 98


@pytest.mark.parametrize(
    ("width", "nice"), [(0.013, 0.01), (0.17, 0.2), (2.6, 3.0), (0.41, 0.5), (8.0, 10.0)]
)
def test_bin_widths_are_round_numbers(width, nice):
    assert alphamax._round_width(width) == pytest.approx(nice)


def test_unseen_share_is_a_cap_only_where_much_mass_is_unseen():
    w = np.array([0.9, 0.1, 0.0, 0.0])
    apart, near = np.array([0.0, 0.1, 0.5, 0.4]), np.array([0.1, 0.8, 0.1, 0.0])
    cap = alphamax.largest_unseen_share(w, apart, 1000)
    assert np.sum(apart * np.exp(-cap * 1000 * apart)) == pytest.approx(0.45)
    assert cap < 0.01
    assert alphamax.largest_unseen_share(w, near, 1000) == 1.0
    assert alphamax.largest_unseen_share(w, apart, 1) == 1.0


def test_bins_of_columns():
    X = np.array([[0.0, 5.0, -1.0], [1.0, 5.0, 1000.0], [2.0, 5.0, 1.0], [4.0, 5.0, 0.0]])
    equal = bin_columns(X)
    np.testing.assert_array_equal(equal[:, 0], [0, 1, 2, 3])
    np.testing.assert_array_equal(equal[:, 1], 0)
    np.testing.assert_array_equal(equal[:, 2], [0, 3, 0, 0])  # one outlier fills one bin
    np.testing.assert_array_equal(bin_columns(sp.csr_array(X)), equal)


def test_sparse_rows_have_the_distances_of_dense_ones():
    X = np.random.default_rng(0).standard_normal((30, 4)) * [1, 10, 0, 1e3]
    X[X < 0.5] = 0
    X[:, 2] = 3.0
    dense, thin = scale_columns(X), scale_columns(sp.csr_array(X))
    distances = squared_distances(dense, dense)
    np.testing.assert_allclose(distances, squared_distances(thin, thin), atol=1e-8)


@pytest.mark.parametrize(
    ("n_labelled", "taken"),
    [(100, 100), (250, 200), (400, 240), (850, 450)],
    ids=["few", "less", "many", "most"],
)
def test_balanced_subsample_is_a_third_labelled_where_there_are_rows(n_labelled, taken):
    s = np.arange(1000) < n_labelled
    rows = subsample(s, 600, np.random.RandomState(0), 1 / 3)
    assert len(np.unique(rows)) == 600
    assert s[rows].sum() == taken
    np.testing.assert_array_equal(subsample(s, 1000, None, 1 / 3), np.arange(1000))


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.DataWarning")
def test_bounds_from_the_tree_fold_are_those_of_the_published_program():
    """One value of the 20 differs by 0.016, all others by 0.003 at most."""
    known, found = reference("TIcE as published"), {}
    for key in CASES:
        X, s, _ = case(*key)
        folds = PredefinedSplit(np.random.RandomState(key[2]).randint(5, size=len(s)))
        found[key] = TIcE(bounds_from="tree_fold", cv=folds).fit(X, s).class_prior_
    differences = np.array([abs(found[key] - known[key]) for key in CASES])
    assert differences.max() < 0.02
    assert np.sort(differences)[-2] < 0.005
    assert mean_error(found) > 0.08  # held-out rows: 0.044


def test_subsample_keeps_the_labelled_share():
    s = np.arange(1000) < 100
    rows = subsample(s, 200, np.random.RandomState(0))
    assert len(np.unique(rows)) == 200
    assert s[rows].sum() == 20
    np.testing.assert_array_equal(subsample(s, 1000, None), np.arange(1000))
    rare = np.arange(1000) < 1
    assert rare[subsample(rare, 50, np.random.RandomState(0))].sum() == 1


def test_the_rank_sum_test_with_weights_is_that_of_repeated_rows():
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 12, 80) / 12
    labelled = rng.random(80) < 0.2 + 0.4 * scores
    weight = rng.integers(1, 4, 80)
    repeated = np.repeat(np.arange(80), weight)
    _, code = np.unique(scores, return_inverse=True)
    counts = (np.bincount(code, weights=rows * weight) for rows in (labelled, ~labelled))
    expected = mannwhitneyu(
        scores[repeated][labelled[repeated]],
        scores[repeated][~labelled[repeated]],
        alternative="greater",
        method="asymptotic",
    )
    assert _rank_sum(*counts) == pytest.approx(expected.pvalue, rel=1e-9)
    assert _rank_sum(np.array([0.2]), np.array([0.3])) == 1.0


@pytest.mark.parametrize("n_rows", [1e3, 2.0 * EXACT, 1e18])
def test_few_labelled_rows_among_those_drawn(n_rows):
    """SciPy's tail alone would take days for the weights of the last case."""
    found = _few_drawn(np.array([0.0, 1.0]), n_rows, 0.3 * n_rows, np.array([8.0, 20.0]))
    few = 0.1 if n_rows == 1e3 else 1e-6  # where few are drawn without replacement
    np.testing.assert_allclose(found, [0.7**8, 0.7**20 + 20 * 0.7**19 * 0.3], rtol=few)
    swapped = [_few_drawn(k, n_rows, n, 0.3 * n_rows) for k, n in ((0.0, 8.0), (1.0, 20.0))]
    np.testing.assert_allclose(swapped, found, rtol=1e-6)
