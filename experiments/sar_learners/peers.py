"""Learners of other packages, each called in its own way: the extra ``experiments``.

pulearn 0.2.0 and pu-toolbox 1.11.0 know no propensity attributes; pysarpu 0.1.0 is SAR-EM without
penalty or decay. All want dense rows. What they give beyond [0, 1] is cut off, and the class
prior is the mean of their probabilities on the training rows.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression

# Processor seconds after which a fit counts as failed.
TIME_LIMIT = 30.0


class Peer:
    """A fitted learner of another package, with the methods that the scores read."""

    def __init__(self, probability: Callable, X):
        self._probability = probability
        self.class_prior_ = float(self.predict_proba(X)[:, 1].mean())

    def predict_proba(self, X) -> np.ndarray:
        f = np.clip(np.asarray(self._probability(dense(X)), dtype=float), 0.0, 1.0)
        return np.column_stack([1 - f, f])


class SARPeer(Peer):
    """The same with a propensity."""

    def __init__(self, probability: Callable, propensity: Callable, X):
        super().__init__(probability, X)
        self._propensity = propensity

    def predict_propensity(self, X) -> np.ndarray:
        return np.clip(np.asarray(self._propensity(dense(X)), dtype=float), 0.0, 1.0)


def dense(X) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)


def pulearn_elkan_noto(X, s, columns, seed: int) -> Peer:
    from pulearn import ElkanotoPuClassifier

    model = ElkanotoPuClassifier(LogisticRegression(max_iter=1000), random_state=seed)
    model.fit(X, s)
    return Peer(lambda X: model.predict_proba(X)[:, 1], X)


def pulearn_bagging(X, s, columns, seed: int) -> Peer:
    from pulearn import BaggingPuClassifier

    model = BaggingPuClassifier(LogisticRegression(max_iter=1000), random_state=seed)
    model.fit(X, s)
    return Peer(lambda X: model.predict_proba(X)[:, 1], X)


def pulearn_nnpu(X, s, columns, seed: int) -> Peer:
    """With the class prior of its own estimator."""
    from pulearn import NNPUClassifier, ScarEMPriorEstimator

    prior = float(ScarEMPriorEstimator().estimate(X, s).pi)
    model = NNPUClassifier(min(max(prior, 0.01), 0.99), random_state=seed).fit(X, s)
    return Peer(lambda X: model.predict_proba(X)[:, 1], X)


def pu_toolbox_lbe(X, s, columns, seed: int) -> Peer:
    """Its propensity is of all attributes, whatever decides labelling."""
    from pu_toolbox import LBEClassifier

    model = LBEClassifier().fit(X, s)
    return SARPeer(
        lambda X: model.predict_proba(X)[:, 1],
        lambda X: model.propensity_model_.predict_proba(X)[:, 1],
        X,
    )


def pu_toolbox_pusb(X, s, columns, seed: int) -> Peer:
    from pu_toolbox import PUSBClassifier

    model = PUSBClassifier().fit(X, s)
    return Peer(lambda X: model.predict_proba(X)[:, 1], X)


def pysarpu(X, s, columns, seed: int) -> Peer:
    """Without attributes its propensity is given a column of zeros: one number for all."""
    from pysarpu import PUClassifier
    from pysarpu.classification import LinearLogisticRegression
    from pysarpu.propensity import LogisticPropensity

    np.random.seed(seed % 2**32)  # noqa: NPY002 - it draws its start from the global state
    model = PUClassifier(LinearLogisticRegression(), LogisticPropensity())

    def attributes(X):
        return X[:, columns] if len(columns) else np.zeros((len(X), 1))

    model.fit(X, attributes(X), s)
    return SARPeer(model.predict_cproba, lambda X: model.predict_eproba(attributes(X)), X)


PEERS: dict[str, Callable] = {
    "pulearn Elkan-Noto": pulearn_elkan_noto,
    "pulearn bagging": pulearn_bagging,
    "pulearn nnPU": pulearn_nnpu,
    "pu-toolbox LBE": pu_toolbox_lbe,
    "pu-toolbox PUSB": pu_toolbox_pusb,
    "pysarpu": pysarpu,
}


def fit_peer(method: str, X, s, columns, seed: int) -> Peer:
    """The fitted peer of a name; too slow a fit raises, and so counts as failed."""
    with time_limit(TIME_LIMIT):
        return PEERS[method](dense(X), np.asarray(s, dtype=int), columns, seed)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    def over(*_):
        raise TimeoutError(f"not finished in {seconds:g} s of processor time")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
