"""The AlphaMax curve: a separable closed form for the likelihood, and the search for its elbow."""

import numpy as np
from scipy.optimize import brentq

DENSITY_FLOOR = 1e-14
EMPTY_MASS = 0.25
WINDOW = 10  # points on either side of a candidate elbow
LINEAR_GRID = np.arange(1, 100) / 100
LOW_END = np.geomspace(1e-3, 0.1, 100)


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
    and mu is found by Newton's method in a bracket, for all priors at once.
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

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = _smooth_piece(z_at, w, p, priors)
        mu = np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
        for _ in range(100):
            z = z_at(mu)
            excess = z.sum(axis=1) - priors
            done = np.abs(excess) <= 1e-12
            if done.all():
                break
            low, high = np.where(excess > 0, mu, low), np.where(excess > 0, high, mu)
            # p/z - w/(A - z) = mu gives the slope of each z, hence Newton's step.
            fall = np.where((z > 0) & (z < w), 1 / (p / z**2 + w / (A - z) ** 2), 0.0)
            step = mu + excess / fall.sum(axis=1)
            step = np.where((step > low) & (step < high), step, _between(low, high))
            mu = np.where(done, mu, step)
    return z


def _smooth_piece(z_at, w, p, priors) -> tuple[np.ndarray, np.ndarray]:
    """Neighbouring breakpoints of ``sum z(mu)`` around the root, one pair per prior, by bisection.

    The sum falls in mu, with a breakpoint where a z reaches its bound w, at a mu known in closed
    form, and at -1 where bins without labelled rows begin to count; in between it is smooth.
    """
    breakpoints = np.where(p > 0, p / w - w / (priors[:, None] * p), -1.0)
    breakpoints = np.sort(np.where(w > 0, breakpoints, np.inf), axis=1)
    each = np.arange(len(priors))
    left, right = np.full(len(priors), -1), np.full(len(priors), breakpoints.shape[1])
    while np.any(right - left > 1):
        middle = np.clip((left + right) // 2, 0, breakpoints.shape[1] - 1)
        mu = breakpoints[each, middle]
        finite = np.isfinite(mu)
        above = (z_at(np.where(finite, mu, 0.0)).sum(axis=1) > priors) & finite
        open_ = right - left > 1
        left = np.where(open_ & above, middle, left)
        right = np.where(open_ & ~above, middle, right)
    low = np.where(left >= 0, breakpoints[each, np.maximum(left, 0)], -np.inf)
    high = np.where(
        right < breakpoints.shape[1],
        breakpoints[each, np.minimum(right, breakpoints.shape[1] - 1)],
        np.inf,
    )
    return low, high


def _between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A point inside a bracket that may be open to infinity on one side, or on both."""
    down, up = np.minimum(4 * high, -1.0), np.maximum(4 * low, 1.0)
    middle = (low + high) / 2
    middle = np.where(np.isinf(low), down, np.where(np.isinf(high), up, middle))
    return np.where(np.isinf(low) & np.isinf(high), 0.0, middle)


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
