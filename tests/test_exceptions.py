"""Warnings are told apart by class, carry their numbers, and point at the user's line."""

import inspect
import pickle
import re
import warnings
from dataclasses import fields, is_dataclass
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
from sarlearn.exceptions import (
    EveryColumnWarning,
    FewerFoldsWarning,
    FewLabelsWarning,
    NoPropensityWarning,
    NotConvergedWarning,
    SarlearnWarning,
    SparseStrataWarning,
)
from sarlearn.metrics import ipw_scores
from sarlearn.priors import BestBinEstimator

CLASSES = [
    thing for name in exceptions.__all__ if inspect.isclass(thing := getattr(exceptions, name))
]
VALUES = {"int": 12, "float": 0.5, "bool": False, "str": "a word", "Any": "x", "Mapping": {"a": 2}}


def example(warning: type):
    """One of these, with a value of the right kind in every field, by keyword."""
    if not is_dataclass(warning):
        return warning("A sentence.")
    return warning(**{field.name: _value(field.type) for field in fields(warning)})


def _value(kind):
    """Types are written as text, or as types; the first of several will do."""
    kind = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
    first = re.match(r"\w+", kind.rpartition(".")[2] if "[" not in kind else kind).group()
    return VALUES.get(first, ["a", "b"])


@pytest.mark.parametrize("kind", CLASSES)
def test_every_warning_is_a_user_warning_that_survives_pickling(kind):
    warning = example(kind)
    assert isinstance(warning, SarlearnWarning)
    assert isinstance(warning, UserWarning)
    assert str(warning).endswith((".", "word"))
    again = pickle.loads(pickle.dumps(warning))
    assert type(again) is kind
    assert str(again) == str(warning)
    assert vars(again) == vars(warning)


@pytest.mark.parametrize("kind", CLASSES)
def test_every_number_of_a_warning_is_a_documented_field(kind):
    for field in vars(example(kind)):
        assert field in inspect.getdoc(kind)


def test_a_fit_that_stops_early_warns_as_scikit_learn_does():
    assert issubclass(NotConvergedWarning, ConvergenceWarning)


def test_lists_of_names_read_as_sentences():
    for names, told in (("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")):
        assert f"{told} all but determine" in str(exceptions.LeakageWarning(names, 0.99))
    assert "a, b, c and 2 more all but" in str(exceptions.LeakageWarning("abcde", 0.99))


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
        (lambda X, s: SAREMClassifier([0, 1, 2], max_iter=2).fit(X, s), EveryColumnWarning),
        (lambda X, s: BestBinEstimator(cv=10).fit(X, s), FewerFoldsWarning),
        (lambda X, s: KnownPropensityClassifier().fit(X, s), NoPropensityWarning),
        (lambda X, s: MultiSCARClassifier([2]).fit(X, s), SparseStrataWarning),
        (lambda X, s: SCARClassifier(random_state=0).fit(X, s), FewLabelsWarning),
        (lambda X, s: BestBinEstimator(cv=2, random_state=0).fit(X, s), FewLabelsWarning),
        (of_pipeline, NotConvergedWarning),
        (of_metric, exceptions.UnequalPropensityWarning),
    ],
)
def test_warnings_point_at_the_first_line_outside_of_libraries(make, expected):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(*rows())
    assert any(issubclass(one.category, expected) for one in caught)
    for one in caught:
        if issubclass(one.category, SarlearnWarning):
            assert one.filename == __file__, one


def test_a_filter_by_class_silences_one_kind_alone():
    X, s = rows()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FewLabelsWarning)
        SAREMClassifier([2], max_iter=2).fit(X, s)
    kinds = {one.category for one in caught}
    assert FewLabelsWarning not in kinds
    assert NotConvergedWarning in kinds
