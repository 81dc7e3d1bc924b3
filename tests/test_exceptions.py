"""Warnings are told apart by class and code, and point at the user's line."""

import copy
import inspect
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sarlearn
from sarlearn import (
    KnownPropensityClassifier,
    MultiSCARClassifier,
    SAREMClassifier,
    SCARClassifier,
    exceptions,
)
from sarlearn.exceptions import DataWarning, NotConvergedWarning, SarlearnWarning
from sarlearn.metrics import ipw_scores
from sarlearn.priors import BestBinEstimator

CLASSES = [
    thing for name in exceptions.__all__ if inspect.isclass(thing := getattr(exceptions, name))
]
ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("kind", CLASSES)
def test_every_warning_is_a_user_warning_that_survives_pickling_and_copying(kind):
    warning = kind("few-labels", "Only 12 rows are labelled.")
    assert isinstance(warning, SarlearnWarning)
    assert isinstance(warning, UserWarning)
    for again in (pickle.loads(pickle.dumps(warning)), copy.copy(warning), copy.deepcopy(warning)):
        assert type(again) is kind
        assert again.code == "few-labels"
        assert str(again) == "Only 12 rows are labelled."


def test_a_fit_that_stops_early_warns_as_scikit_learn_does():
    assert issubclass(NotConvergedWarning, ConvergenceWarning)


def test_every_code_issued_is_in_the_table_of_the_documentation_and_no_other():
    package = Path(sarlearn.__file__).parent
    sources = "".join(p.read_text() for p in package.rglob("*.py") if p.stem != "exceptions")
    issued = set(re.findall(r'warn\(\s*(\w+Warning)\(\s*"([a-z-]+)"', sources))
    assert len(issued) == len(re.findall(r"warn\((?!.*Undefined)\s*\w+Warning\(", sources)) > 20
    table = (ROOT / "docs/user_guide/warnings.md").read_text()
    assert issued == set(re.findall(r"^\| `(\w+)` \| `([a-z-]+)`", table, flags=re.M))


def test_no_text_is_compared_and_no_stack_level_counted_in_the_package():
    for path in Path(sarlearn.__file__).parent.rglob("*.py"):
        text = path.read_text()
        assert "stacklevel" not in text, path
        assert "warnings.warn(" not in text, path
        assert 'filterwarnings("ignore", message' not in text, path


def rows(n=60, n_labelled=8, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 3, n)])
    s = np.zeros(n, dtype=int)
    s[np.argsort(-X[:, 0])[:n_labelled]] = 1
    return X, s


def of_pipeline(X, s):
    make_pipeline(StandardScaler(), SAREMClassifier([2], max_iter=2)).fit(X, s)


def of_metric(X, s):
    ipw_scores(s, np.full(len(s), 0.5), np.where(np.cumsum(s) == 1, 1e-4, 0.9))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda X, s: SAREMClassifier([0, 1, 2], max_iter=2).fit(X, s), "every-column"),
        (lambda X, s: BestBinEstimator(cv=10).fit(X, s), "fewer-folds"),
        (lambda X, s: KnownPropensityClassifier().fit(X, s), "no-propensity"),
        (lambda X, s: MultiSCARClassifier([2]).fit(X, s), "sparse-strata"),
        (lambda X, s: SCARClassifier(random_state=0).fit(X, s), "few-labels"),
        (lambda X, s: BestBinEstimator(cv=2, random_state=0).fit(X, s), "few-labels"),
        (of_pipeline, "max-iter"),
        (of_metric, "unequal-propensities"),
    ],
)
def test_warnings_point_at_the_first_line_outside_of_libraries(make, expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(*rows())
    assert expected in {getattr(one.message, "code", "") for one in caught}
    for one in caught:
        if issubclass(one.category, SarlearnWarning):
            assert one.filename == __file__, one


def test_a_filter_by_class_silences_one_kind_alone():
    X, s = rows()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DataWarning)
        SAREMClassifier([2], max_iter=2).fit(X, s)
    kinds = {one.category for one in caught}
    assert DataWarning not in kinds
    assert NotConvergedWarning in kinds
