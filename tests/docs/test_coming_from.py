"""The adapter of the documentation runs the published calls through the library."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from sarlearn import KnownPropensityClassifier, SAREMClassifier

PAGE = Path(__file__).parents[2] / "docs" / "coming_from.md"
pytestmark = pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")


@pytest.fixture(scope="module")
def code():
    """What the first block defines."""
    first, *_ = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    exec(compile(first, str(PAGE), "exec"), names)
    return names


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    y = rng.random(600) < expit(3 * X[:, 0])
    e = expit(1 + 2 * X[:, 2])
    return X, (y & (rng.random(600) < e)).astype(int), e, y


def test_the_example_of_the_page_runs(code, capsys):
    _, *examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names, shown = dict(code), []
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
        shown.append(dict(names))
    first, second, third = capsys.readouterr().out.splitlines()
    positive, propensity, iterations = map(float, first.split())
    assert 0.4 < positive < 0.6
    assert 0.4 < propensity < 0.7
    assert iterations > 10
    alpha, least, weighted, ratio, told = map(float, second.split())
    names = shown[1]
    y, s, group = names["y"], names["s"], names["group"]
    assert alpha == pytest.approx(y[~s].mean(), abs=0.15)
    assert least == 1
    # Weighting by propensities that were learned carries their error; the prior of two samples not.
    assert weighted == pytest.approx(y.mean(), abs=0.15)
    assert told == pytest.approx(y.mean(), abs=0.1)
    truth = y[group == 1].mean() / y[group == 0].mean()
    assert 0.8 < ratio / truth < 1.6
    at_once, by_cluster, truth = map(float, third.split())
    assert 0.15 < at_once / truth < 0.35
    assert 0.65 < by_cluster / truth < 0.9


def test_the_call_of_later_studies(code, rows):
    """``pu_learn_sar_em(X, s, range(d))``, and a class around it as they write it."""
    X, s, _, _ = rows

    class SAREM:
        def fit(self, X, s):
            model, _, _ = code["pu_learn_sar_em"](X, s, range(X.shape[1]))
            self.model = model

        def predict_proba(self, X):
            y_pred = self.model.predict_proba(X)
            return np.array(list(zip(1 - y_pred, y_pred, strict=True)))

    published = SAREM()
    published.fit(X, s)
    p = published.predict_proba(X)
    assert p.shape == (600, 2)
    e = SAREMClassifier([0, 1, 2], decay=1.0).fit(X, s).predict_propensity(X)
    ours = KnownPropensityClassifier("weighting").fit(X, s, propensity=e)
    np.testing.assert_allclose(p, ours.predict_proba(X), atol=1e-12)


def test_every_argument_counts(code, rows):
    X, s, _, _ = rows
    call = code["pu_learn_sar_em"]
    base = call(X, s, [2])[0].predict_proba(X)
    for change in (
        {"propensity_attributes": [1, 2]},
        {"classification_model": LogisticRegression(C=0.01)},
        {"propensity_model": LogisticRegression(C=0.01)},
        {"max_its": 3},
        {"slope_eps": 0.01},
        {"convergence_window": 40},
        {"refit_classifier": False},
        {"decay": 0.5},
    ):
        arguments = {"propensity_attributes": [2]} | change
        found = call(X, s, **arguments)[0].predict_proba(X)
        assert np.abs(found - base).max() > 1e-6, change
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    found = call(X, s, [2], classification_model=tree, refit_classifier=False, max_its=20)[0]
    assert len(np.unique(found.predict_proba(X))) <= 4
    mask = call(X, s, np.array([False, False, True]))[0].predict_proba(X)
    np.testing.assert_array_equal(mask, base)


def test_what_has_no_counterpart_is_refused(code, rows):
    X, s, _, _ = rows
    with pytest.raises(ValueError, match="Leave the columns"):
        code["pu_learn_sar_em"](X, s, [2], np.array([True, True, False]))
    with pytest.raises(ValueError, match="drop ll_eps"):
        code["pu_learn_sar_em"](X, s, [2], ll_eps=1e-4)


def test_a_class_model_that_would_be_dropped_is_refused(code, rows):
    """Weighting fits a logistic regression; another model would be ignored without a word."""
    X, s, e, _ = rows
    tree = DecisionTreeClassifier()
    with pytest.raises(ValueError, match="not DecisionTreeClassifier: pass refit_classifier=False"):
        code["pu_learn_sar_em"](X, s, [2], classification_model=tree)
    with pytest.raises(ValueError, match="not DecisionTreeClassifier: leave it out"):
        code["pu_learn_sar_e"](X, s, e, tree)
    with pytest.raises(ValueError, match="not DecisionTreeClassifier: leave it out"):
        code["pu_learn_scar_c"](X, s, 0.5, tree)


def test_the_relatives(code, rows, capsys):
    X, s, e, y = rows
    known, info = code["pu_learn_sar_e"](X, s, e)
    assert np.mean((known.predict_proba(X) > 0.5) == y) > 0.8
    assert info["time"] >= 0
    c = s.sum() / y.sum()
    by_c, _ = code["pu_learn_scar_c"](X, s, c)
    naive, _ = code["pu_learn_neg"](X, s)
    assert naive.predict_proba(X).mean() == pytest.approx(s.mean(), abs=1e-3)
    assert by_c.predict_proba(X).mean() > naive.predict_proba(X).mean()
    sparse_f = code["pu_learn_sar_em"](sparse.csr_array(X), s, [2], verbose=True, log_prefix="> ")
    assert capsys.readouterr().out.startswith("> ")
    dense_f = code["pu_learn_sar_em"](X, s, [2])
    np.testing.assert_allclose(sparse_f[0].predict_proba(X), dense_f[0].predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(dense_f[1].predict_proba(X), e, atol=0.25)
