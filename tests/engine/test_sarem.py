"""Joint maximum likelihood (``decay=1``, fixed point): several starts, and a warning at e = 1."""

import numpy as np
import pytest
from scipy.special import expit

from conftest import make_pu
from sarlearn import SAREMClassifier
from sarlearn._engine import sarem as _sarem


def joint(columns, C=10.0, **settings):
    return SAREMClassifier(columns, decay=1.0, C=C, stop="fixed_point", **settings)


def objective(model):
    return model.history_["penalized_log_likelihood"][-1]


@pytest.mark.parametrize("seed", range(6))
def test_more_starts_never_find_less(seed, monkeypatch):
    data = make_pu(400, p=10, seed=seed, discrete=True)
    many = joint(data.columns).fit(data.X, data.s)
    monkeypatch.setattr(_sarem, "JOINT_STARTS", ())
    alone = joint(data.columns).fit(data.X, data.s)
    assert objective(many) >= objective(alone) - 1e-6


@pytest.mark.filterwarnings("ignore:The label frequency was estimated", "ignore:No convergence")
@pytest.mark.filterwarnings("ignore:The class prior was estimated", "ignore:Only .* labelled rows")
def test_some_data_need_the_other_starts(monkeypatch):
    """Rare labels, weak classes: from the decayed solution EM ends in a lesser maximum."""
    gains = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((250, 12))
        s = rng.random(250) < 0.25 * expit(X @ rng.standard_normal(12))
        found = []
        for starts in ((0.25, 0.6), ()):
            monkeypatch.setattr(_sarem, "JOINT_STARTS", starts)
            found.append(objective(joint((), C=10.0).fit(X, s)))
        gains.append(found[0] - found[1])
    assert min(gains) > -1e-6
    assert max(gains) > 0.01


@pytest.mark.filterwarnings("ignore:No convergence")  # e = 1 is approached for ever
def test_it_warns_where_no_positive_is_hidden():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 3))
    s = rng.random(600) < expit(X[:, 0] - 0.5)  # nothing saturates below 1
    with pytest.warns(UserWarning, match="The label frequency was estimated at"):
        joint((), C=0.1).fit(X, s)
