"""Two logistic models at once, by penalised maximum likelihood: what a test refits.

    P(s=1|x) = f e,   f = sigmoid(theta . x + theta_0),   e = sigmoid(phi . x_e + phi_0)

This is one chance to be labelled per row (``chances.py``). The maximum is that of SAR-EM with
``decay=1``. Newton's method reaches it in a handful of passes from a good start, which EM does not.
Parameters are kept as one vector: theta, theta_0, phi, phi_0, for columns as
``columns.conditioned`` makes them.
"""

from operator import attrgetter

import numpy as np
from scipy import sparse
from scipy.special import logit

from sarlearn._engine.blocks import RowBlocks
from sarlearn._engine.chances import ChanceProblem
from sarlearn._engine.columns import conditioned
from sarlearn._engine.kernels import logits
from sarlearn._engine.likelihood import mean_of_sigmoids, shift_for_mean, sigmoids
from sarlearn._engine.logistic import fit_logistic
from sarlearn._engine.newton import Climb, climb
from sarlearn._engine.rows import stack

# Label frequencies from which a fit starts that has nothing better.
STARTS = (0.15, 0.3, 0.6, 0.9)
# Label frequencies above which a nested climb starts again lower, and from where.
SATURATED, LOWERED = 0.9, 0.3
# No parameter moves by more than this in a step.
MAX_STEP = 10.0


class JointLogistic:
    """The likelihood of labels under two logistic models, on fixed rows.

    Labels are given to each call, so that one object serves all the refits of a test.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n_rows, n_columns)
    columns : ndarray of int
        Columns of the propensity attributes; none is SCAR.
    C : float
        Inverse penalty of both models, as in ``SAREMClassifier``.
    extra : ndarray of shape (n_rows, n_extra), default=None
        Further columns of the class model alone, a flexible score say, with no penalty.
    """

    def __init__(self, X, columns, *, C: float, extra: np.ndarray | None = None):
        n_rows, n_columns = X.shape
        if extra is not None:
            X = _append(X, extra)
        rows = conditioned(RowBlocks(X))
        if not rows.units.is_plain:
            X = stack(rows.each(attrgetter("X")))
        Xe = X[:, columns]
        Xe = np.asarray(Xe.toarray() if sparse.issparse(Xe) else Xe, dtype=np.float64)
        ridge = rows.units.ridge(C, float(n_rows))
        ridge[n_columns:-1] = 1e-6
        self.ridge = np.append(ridge, rows.units.of(columns).ridge(C, float(n_rows)))
        self._X, self._Xe, self._C, self.n_theta = X, Xe, C, X.shape[1] + 1
        self._rows = RowBlocks(X).attach(chances=Xe[:, None, :])

    def probabilities(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``f`` and ``e`` of every row."""
        theta, phi = np.split(parameters, [self.n_theta])
        return sigmoids(logits(self._X, theta))[0], sigmoids(logits(self._Xe, phi))[0]

    def problem(self, labelled: np.ndarray, tol: float = 1e-7) -> ChanceProblem:
        """To climb until one more step would add less than ``tol`` to the log-likelihood."""
        visits = np.asarray(labelled, dtype=np.float64)[:, None]
        return ChanceProblem(self._rows.attach(visits=visits), self.ridge, tol)

    def climb(self, start: np.ndarray, labelled: np.ndarray) -> Climb:
        """The maximum next to a start."""
        # There may be several maxima: steps follow the curvature closely, so as not to skip one.
        settings = {"max_iter": 200, "max_step": MAX_STEP, "refresh": 0.0}
        return climb(self.problem(labelled), start, **settings)  # type: ignore[arg-type]

    def naive(self, labelled: np.ndarray) -> np.ndarray:
        """Logistic regression of the labels: the class model of SCAR's starts."""
        return fit_logistic(self._rows, labelled.astype(float), None, self._C, tol=1e-3).theta

    def start(self, naive: np.ndarray, label_frequency: float, labelled: np.ndarray) -> np.ndarray:
        """The naive model with as many positives as a label frequency says."""
        prior = min(float(np.mean(labelled)) / label_frequency, 0.95)
        mean_at = mean_of_sigmoids(logits(self._X, naive))
        parameters = np.zeros(len(self.ridge))
        parameters[: self.n_theta] = naive
        parameters[self.n_theta - 1] += shift_for_mean(mean_at, prior, tol=1e-4, max_iter=30)
        parameters[-1] = logit(min(max(label_frequency, 1e-6), 1 - 1e-6))
        return parameters

    def fit(self, labelled: np.ndarray) -> Climb:
        """The best maximum from several label frequencies."""
        naive = self.naive(labelled)
        found = [self.climb(self.start(naive, c, labelled), labelled) for c in STARTS]
        return min(found, key=attrgetter("value"))

    def fit_from_scar(self, parameters: np.ndarray, labelled: np.ndarray) -> Climb:
        """The maximum, from that of the same model without propensity attributes.

        At ``e = 1`` nothing moves: the likelihood's slope in the propensity is proportional to
        ``1 - e``. So where SCAR says that (nearly) every positive is labelled, the climb also
        starts from a lower label frequency.
        """
        start = np.zeros(len(self.ridge))
        start[: self.n_theta], start[-1] = parameters[:-1], parameters[-1]
        best = self.climb(start, labelled)
        if sigmoids(parameters[-1:])[0][0] > SATURATED:
            low = self.start(parameters[:-1], LOWERED, labelled)
            best = min(best, self.climb(low, labelled), key=attrgetter("value"))
        return best


def _append(X, columns: np.ndarray):
    if sparse.issparse(X):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(columns)], format="csr"))
    return np.hstack([X, columns])
