"""Long fits can be watched, and broken off."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftest import make_pu
from sarlearn import KnownPropensityClassifier, SAREMClassifier

ProgressBar = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9").ProgressBar


class Counter:
    """A callback that counts iterations, and may press Ctrl-C in one of them."""

    def __init__(self, interrupt_at=None):
        self.ends, self.torn_down, self.interrupt_at = 0, False, interrupt_at

    def setup(self, estimator, context):
        self.name = context.estimator_name

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.ends += 1
        if self.ends == self.interrupt_at:
            raise KeyboardInterrupt

    def teardown(self, estimator, context):
        self.torn_down = True


@pytest.mark.parametrize("stop", ["slope", "fixed_point"])
@pytest.mark.parametrize("classifier", [None, LogisticRegression()])
def test_every_iteration_is_reported(stop, classifier):
    data = make_pu(400)
    counter = Counter()
    model = SAREMClassifier(data.columns, stop=stop, tol=1e-4, classifier=classifier)
    model.set_callbacks(counter).fit(data.X, data.s)
    assert counter.ends == model.n_iter_
    assert counter.torn_down
    silent = SAREMClassifier(data.columns, stop=stop, tol=1e-4, classifier=classifier)
    silent.fit(data.X, data.s)
    np.testing.assert_array_equal(silent.predict_proba(data.X), model.predict_proba(data.X))


def test_known_propensity_reports_too():
    data = make_pu(400)
    counter = Counter()
    model = KnownPropensityClassifier().set_callbacks(counter)
    model.fit(data.X, data.s, propensity=data.e)
    assert counter.ends == model.n_iter_


def test_scikit_learns_progress_bar_shows_and_silence_is_the_default(capfd):
    data = make_pu(400)
    SAREMClassifier(data.columns).fit(data.X, data.s)
    assert capfd.readouterr().out == ""
    SAREMClassifier(data.columns).set_callbacks(ProgressBar()).fit(data.X, data.s)
    shown = "".join(capfd.readouterr())
    assert "SAREMClassifier" in shown


def test_an_interrupt_leaves_the_earlier_fit_whole():
    data = make_pu(400)
    model = SAREMClassifier(data.columns).fit(data.X, data.s)
    before = model.predict_proba(data.X)
    model.set_callbacks(Counter(interrupt_at=5))
    with pytest.raises(KeyboardInterrupt):
        model.fit(-data.X, data.s)
    np.testing.assert_array_equal(model.predict_proba(data.X), before)
    model.set_callbacks()
    np.testing.assert_array_equal(model.fit(data.X, data.s).predict_proba(data.X), before)
