"""AlphaMax and its version for labelled sets that are not pure."""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import rankdata

from sarlearn.priors._base import Estimate
from sarlearn.priors._scores import ScorePriorEstimator

LOW, HIGH = 0.05, 0.85
NEAR, NEAR_STEP = 0.1, 0.004
DENSITY_FLOOR = 1e-14
EMPTY_MASS = 0.25
WINDOW = 10  # points on either side of a candidate elbow
LINEAR_GRID = np.arange(1, 100) / 100
LOW_END = np.geomspace(1e-3, 0.1, 100)
HALVINGS = 60  # what is left of [-1, 1] is then a rounding


class AlphaMax(ScorePriorEstimator):
    """AlphaMax: the largest share of positives that costs no likelihood.

    With histograms of the score, ``w_i`` and ``p_i`` the shares of unlabelled and labelled rows in
    bin i, split the unlabelled histogram into a part ``z`` of weight ``a`` and a rest [1]_::

        LL(a) = max over z of sum p_i log(z_i/a) + sum w_i log(w_i - z_i + a p_i),
                0 <= z_i <= w_i, sum z_i = a

    ``LL`` is flat up to kappa and then falls; the estimate is its elbow, found by lines that
    support the curve from below. ``a`` runs over a grid of step 0.01, with log-spaced points below
    0.1, and above 0.9 when the elbow is at 0.85 or higher; in between, a second search in steps of
    0.004 starts from the first. With fewer than 100 labelled rows the histogram is coarse and the
    estimate erratic.

    Parameters
    ----------
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    clipped_ : bool
        Whether the estimate is at the boundary of its range.

    See Also
    --------
    compare_priors : Several estimators side by side.
    AlphaMaxN : For noisy labels.

    References
    ----------
    .. [1] S. Jain, M. White, M. W. Trosset and P. Radivojac, "Nonparametric semi-supervised
       learning of class proportions", arXiv:1601.01944, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sarlearn.priors import AlphaMax
    >>> X, target = load_breast_cancer(return_X_y=True)
    >>> y = target == 0  # malignant: 0.37 of the rows
    >>> s = y & (np.random.default_rng(0).random(len(y)) < 0.5)
    >>> round(AlphaMax(random_state=0).fit(X, s).class_prior_, 1)
    0.3
    """

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        # Bins of ranks hold similar numbers of rows, and had a smaller error than bins of values.
        scores = rankdata(scores) / len(scores)
        return Estimate(*_mixture_share(scores[~labelled], scores[labelled]))


class AlphaMaxN(AlphaMax):
    """AlphaMax for noisy labels: some labelled rows are in fact negative.

    AlphaMax runs both ways on the same scores [1]_; with ``a_U`` the share of the labelled
    distribution in the unlabelled rows and ``1 - a_P`` that of the unlabelled distribution in the
    labelled rows::

        kappa = a_U a_P / (1 - a_U (1 - a_P))      purity = a_P / (1 - a_U (1 - a_P))

    It needs a region of positives only *and* one of negatives only. With clean labels use
    :class:`AlphaMax`: noise in the second run lowers kappa.

    Because labelled rows may be negative, ``alpha = q purity + (1 - q) kappa`` and ``c = q purity /
    alpha``: the class prior can be below the share ``q`` of labelled rows.

    Parameters
    ----------
    scorer : classifier with ``predict_proba``, default=None
        None is logistic regression on standardised columns.
    cv : int >= 2, splitter or iterable, default=5
        Folds of the held-out scores.
    single_sample : bool, default=True
        False for case-control data, the unlabelled rows drawn from the whole population: then
        `class_prior_` is the share of positives among them.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds.

    Attributes
    ----------
    class_prior_ : float
        ``P(y=1)``, in [P(s=1, y=1), 1].
    label_frequency_ : float
        ``P(s=1 | y=1)`` among the rows given.
    unlabelled_prior_ : float
        ``P(y=1 | s=0)``.
    labelled_purity_ : float
        ``P(y=1 | s=1)``, the share of the labelled rows that is positive.
    clipped_ : bool
        Whether the estimate is at the boundary of its range.

    See Also
    --------
    compare_priors : Several estimators side by side.
    AlphaMax : For labels without noise.

    References
    ----------
    .. [1] S. Jain, M. White and P. Radivojac, "Estimating the class prior and posterior from
       noisy positives and unlabeled data", NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sarlearn.priors import AlphaMaxN
    >>> rng = np.random.default_rng(0)
    >>> s = np.arange(4000) < 1000
    >>> y = rng.random(4000) < np.where(s, 0.8, 0.3)  # a fifth of the labels is wrong
    >>> X = rng.normal(size=(4000, 2)) + np.where(y, 2, -2)[:, None]
    >>> prior = AlphaMaxN(random_state=0).fit(X, s)
    >>> round(prior.labelled_purity_, 1), round(prior.unlabelled_prior_, 1)
    (0.8, 0.3)
    """

    def _estimate_from_scores(self, scores: np.ndarray, labelled: np.ndarray) -> Estimate:
        # Not their ranks: with wrong labels the values did better on simulated data.
        forward, at_boundary = _mixture_share(scores[~labelled], scores[labelled])
        backward, _ = _mixture_share(scores[labelled], scores[~labelled])
        pure = 1.0 - backward
        shared = 1.0 - forward * backward
        self.labelled_purity_ = pure / shared
        return Estimate(forward * pure / shared, at_boundary, self.labelled_purity_)

    def _read(self, scores: np.ndarray, labelled: np.ndarray, weight=None) -> Estimate:
        found = super()._read(scores, labelled, weight)
        self.labelled_purity_ = found.purity
        return found


def _mixture_share(mixture: np.ndarray, component: np.ndarray) -> tuple[float, bool]:
    """The share of `component` in `mixture`, and whether it is at an end."""
    w, p, width = histogram_shares(mixture, component)
    priors = prior_grid()
    likelihood = log_likelihood(w, p, width, priors)
    elbow = find_elbow(priors, likelihood)
    share, at_boundary = float(priors[elbow]), elbow <= WINDOW
    if share >= HIGH:
        # Near one the likelihood plunges, and points there hide elbows further down: they come
        # in only now.
        priors = prior_grid(upper_end=True)
        likelihood = log_likelihood(w, p, width, priors)
        elbow = find_elbow(priors, likelihood)
        share = float(priors[elbow])
        at_boundary = elbow >= len(priors) - WINDOW - 1
    elif share >= LOW:
        # Ten steps of 0.01 on either side blur the elbow by some 0.015; look again from near.
        fine = np.arange(share - NEAR, share + NEAR, NEAR_STEP)
        fine = fine[(fine > 0) & (fine < 1)]
        elbow = find_elbow(fine, log_likelihood(w, p, width, fine))
        share = float(fine[elbow])
    cap = largest_unseen_share(w, p, len(mixture))
    return min(share, cap), at_boundary or cap < share


def prior_grid(upper_end: bool = False) -> np.ndarray:
    """Steps of 0.01, with log-spaced points towards zero and, if asked, towards one."""
    ends = [LINEAR_GRID, LOW_END] + ([1 - LOW_END] if upper_end else [])
    return np.unique(np.round(np.concatenate(ends), 12))


def histogram_shares(mixture: np.ndarray, component: np.ndarray):
    """Shares of both samples in common bins, and the width of a bin; empty bins are left out.

    Scott's rule on the component, ``3.5 sd n^(-1/3)``, rounded to 1, 2, 3 or 5 times a power of 10.
    """
    low = min(mixture.min(), component.min())
    high = max(mixture.max(), component.max())
    spread = (
        3.5 * np.std(component, ddof=1 if len(component) > 1 else 0) * len(component) ** (-1 / 3)
    )
    # At most 100,000 bins; all scores alike are one.
    width = _round_width(max(spread, (high - low) / 1e5) or 1.0)
    both = np.floor((np.concatenate([mixture, component]) - low) / width).astype(np.int64)
    _, place = np.unique(both, return_inverse=True)
    n_bins = place.max() + 1
    w = np.bincount(place[: len(mixture)], minlength=n_bins) / len(mixture)
    p = np.bincount(place[len(mixture) :], minlength=n_bins) / len(component)
    return w, p, width


def _round_width(width: float) -> float:
    power = 10.0 ** np.floor(np.log10(width))
    nice = np.array([1.0, 2.0, 3.0, 5.0, 10.0])
    return float(power * nice[np.argmin(np.abs(nice - width / power))])


def log_likelihood(w: np.ndarray, p: np.ndarray, width: float, priors: np.ndarray) -> np.ndarray:
    """The best likelihood of both samples given each prior a.

    Maximise ``sum p log z + sum w log(w - z + a p)`` over ``0 <= z <= w, sum z = a``. It is
    separable and concave: given the multiplier mu of the sum each z is the root of a quadratic,
    and mu is found by halving, for all priors at once.
    """
    z = _mixture_part(w, p, priors)
    a = priors[:, None]
    inside = np.maximum(z / (a * width), DENSITY_FLOOR)
    outside = np.maximum((w - z + a * p) / width, DENSITY_FLOOR)
    return np.log(inside) @ p + np.log(outside) @ w


def _mixture_part(w: np.ndarray, p: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """The best z for each prior, of shape (priors, bins)."""
    A = w + priors[:, None] * p
    shared = p * A

    def z_at(mu):
        mu = mu[:, None]
        B = p + w + mu * A
        root = np.sqrt(np.maximum(B * B - 4 * mu * shared, 0.0))
        # Two forms of one root; each cancels where the other does not.
        z = np.where(B >= 0, 2 * shared / (B + root), (B - root) / (2 * mu))
        return np.clip(np.where(p > 0, z, np.where(mu < -1, w * (1 + 1 / mu), 0.0)), 0.0, w)

    # The sum falls in mu, from 1 to 0; mu is t / (1 - |t|).
    low, high = -np.ones(len(priors)), np.ones(len(priors))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for _ in range(HALVINGS):
            t = (low + high) / 2
            z = z_at(t / (1 - np.abs(t)))
            above = z.sum(axis=1) > priors
            low, high = np.where(above, t, low), np.where(above, high, t)
    return z


def largest_unseen_share(w: np.ndarray, p: np.ndarray, n_mixture: int) -> float:
    """The share above which bins of the component would not all be empty of the mixture.

    In bins without a row of the mixture the likelihood is at its floor whatever the prior, so
    samples that lie apart have a flat curve, and any elbow is noise. A share k leaves bin i empty
    with probability ``exp(-k n p_i)``; the cap is the k for which half of the mass seen in empty
    bins is expected there. It is used only where that mass is a quarter or more: less can be
    chance.
    """
    empty = float(p[w == 0].sum())
    if empty < EMPTY_MASS:
        return 1.0

    def expected(share):
        return float(np.sum(p * np.exp(-share * n_mixture * p)))

    half = empty / 2
    return 1.0 if expected(1.0) > half else float(brentq(lambda k: expected(k) - half, 0.0, 1.0))


def find_elbow(priors: np.ndarray, likelihood: np.ndarray) -> int:
    """The grid point where the likelihood, flat up to the prior, begins to fall."""
    falling = np.maximum.accumulate(likelihood[::-1])[::-1]
    f = -falling
    padded = np.pad(f, 2, mode="edge")
    f = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    if np.ptp(f) <= 1e-12:
        return len(priors) - 1
    f = (f - f.min()) / np.ptp(f)
    candidates = np.arange(WINDOW, len(priors) - WINDOW)
    before = candidates[:, None] + np.arange(-WINDOW + 1, 1)
    after = candidates[:, None] + np.arange(1, WINDOW + 1)
    overall = (f[-1] - f[0]) / (priors[-1] - priors[0])
    slopes = [_supporting_slope(priors, f, rows, overall / 100) for rows in (after, before)]
    ratio = (slopes[0] - slopes[1]) / (np.median(f[before], axis=1) + 0.01)
    return int(candidates[np.argmax(ratio)])


def _supporting_slope(x, f, rows, least: float) -> np.ndarray:
    """Slopes of least-squares lines through windows, each below all points and not below `least`.

    A two-variable quadratic program for each window; its optimum is the free fit, the fit at the
    least slope, or a line that touches the lower hull in a vertex, so trying these solves it.
    """
    X, F = x[rows], f[rows]
    x_mean, f_mean = X.mean(axis=1), F.mean(axis=1)
    sxx = np.sum((X - x_mean[:, None]) ** 2, axis=1)
    sxf = np.sum((X - x_mean[:, None]) * (F - f_mean[:, None]), axis=1)
    hull = _lower_hull(x, f)
    edges = np.diff(f[hull]) / np.diff(x[hull])
    left = np.maximum(np.append(-np.inf, edges), least)
    right = np.append(edges, np.inf)
    # Lines through hull vertex v: the slope that fits best, cut to those that stay below the hull.
    # Sums of squares about the vertex are those about the mean plus that of the shift.
    dx, df = x_mean[:, None] - x[hull], f_mean[:, None] - f[hull]
    vxx = sxx[:, None] + WINDOW * dx * dx
    vxf = sxf[:, None] + WINDOW * dx * df
    sff = np.sum((F - f_mean[:, None]) ** 2, axis=1)
    vff = sff[:, None] + WINDOW * df * df
    through = np.clip(vxf / vxx, left, np.maximum(right, left))
    loss = vff - through * (2 * vxf - through * vxx)
    loss[:, right < least] = np.inf
    slopes = [through]
    losses = [loss]
    for slope in (sxf / sxx, np.full(len(X), least)):  # intercept free
        intercept = f_mean - slope * x_mean
        room = np.min(f[hull] - slope[:, None] * x[hull], axis=1)
        allowed = (intercept <= room + 1e-12) & (slope >= least)
        fit = np.sum((F - intercept[:, None] - slope[:, None] * X) ** 2, axis=1)
        slopes.append(slope[:, None])
        losses.append(np.where(allowed, fit, np.inf)[:, None])
    winner = np.argmin(np.hstack(losses), axis=1)
    return np.hstack(slopes)[np.arange(len(X)), winner]


def _lower_hull(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Row numbers of the vertices of the lower convex hull; x ascending."""
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            if (f[b] - f[a]) * (x[i] - x[a]) < (f[i] - f[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return np.array(hull)
