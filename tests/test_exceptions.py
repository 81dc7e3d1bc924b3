"""Warnings are told apart by class, carry their numbers, and point at the user's line."""

import inspect
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sarlearn
from sarlearn import (
    CrossFitSARClassifier,
    KnownPropensityClassifier,
    MultiSCARClassifier,
    SAREMClassifier,
    SCARClassifier,
    exceptions,
)
from sarlearn.exceptions import (
    BoundaryWarning,
    EveryColumnWarning,
    FewerFoldsWarning,
    FewLabelsWarning,
    NoPropensityWarning,
    NotConvergedWarning,
    NotSeparatedWarning,
    OtherVersionWarning,
    SarlearnWarning,
    SelectionWarning,
    SparseStrataWarning,
    UnidentifiedWarning,
    UnlabelledStratumWarning,
)
from sarlearn.metrics import ipw_scores
from sarlearn.priors import BestBinEstimator

EXAMPLES = {
    "BoundaryWarning": BoundaryWarning("unlabelled_prior", 1.0, estimator="DEDPUL"),
    "DisagreementWarning": exceptions.DisagreementWarning(0.3, "They disagree."),
    "EveryColumnWarning": EveryColumnWarning(3),
    "FewLabelsWarning": FewLabelsWarning(n_labelled=12),
    "FewerFoldsWarning": FewerFoldsWarning(5, 3),
    "IdentifierColumnWarning": exceptions.IdentifierColumnWarning("name", 90, 100),
    "LeakageWarning": exceptions.LeakageWarning(["drug"], 0.99),
    "MisfitWarning": exceptions.MisfitWarning(4.2, 0.1, ["age", "amount"]),
    "NoPropensityWarning": NoPropensityWarning(),
    "NotConvergedWarning": NotConvergedWarning(3),
    "NotSeparatedWarning": NotSeparatedWarning(10, 90, 0.5, n_rows=1000),
    "OtherVersionWarning": OtherVersionWarning("model.skops", "scikit-learn", "1.0", "1.9"),
    "SarlearnWarning": SarlearnWarning("A sentence."),
    "SelectionWarning": SelectionWarning(["a", "b", "c"], []),
    "ShapeWarning": exceptions.ShapeWarning(0.5, 0.3, 0.9),
    "SwapWarning": exceptions.SwapWarning(0.1, 6.0),
    "SparseStrataWarning": SparseStrataWarning(4, 2, 1),
    "UnequalPropensityWarning": exceptions.UnequalPropensityWarning(40, 1.2),
    "UnidentifiedWarning": UnidentifiedWarning(0.5, 0.2, 0.8),
    "UnlabelledStratumWarning": UnlabelledStratumWarning(4, 1),
    "UnnamedDriverWarning": exceptions.UnnamedDriverWarning(["insurance"], 4.5),
}
CLASSES = [name for name in exceptions.__all__ if inspect.isclass(getattr(exceptions, name))]


@pytest.mark.parametrize("name", CLASSES)
def test_every_warning_is_a_user_warning_that_survives_pickling(name):
    warning = EXAMPLES[name]
    assert type(warning) is getattr(exceptions, name)
    assert isinstance(warning, SarlearnWarning)
    assert isinstance(warning, UserWarning)
    again = pickle.loads(pickle.dumps(warning))
    assert type(again) is type(warning)
    assert str(again) == str(warning)
    assert vars(again) == vars(warning)


@pytest.mark.parametrize("name", CLASSES)
def test_every_number_of_a_warning_is_a_documented_field(name):
    for field in vars(EXAMPLES[name]):
        assert field in inspect.getdoc(getattr(exceptions, name))


def test_a_fit_that_stops_early_warns_as_scikit_learn_does():
    assert issubclass(NotConvergedWarning, ConvergenceWarning)


def test_lists_of_names_read_as_sentences():
    text = str(SelectionWarning(["a", "b", "c"], []))
    assert "selects a, b and c, the flexible one none:" in text


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
        (lambda X, s: CrossFitSARClassifier([2], cv=10).fit(X, s), FewerFoldsWarning),
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
