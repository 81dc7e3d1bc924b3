"""scikit-learn's own checks, of every public estimator as it comes, and of some settings."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import sarlearn
from sarlearn import KnownPropensityClassifier, SARClassifier, SAREMClassifier


def public_estimators() -> list[type[BaseEstimator]]:
    """Classes in the ``__all__`` of a public namespace that can be made without arguments."""
    found = {}
    namespaces = [sarlearn] + [
        importlib.import_module(f"sarlearn.{module.name}")
        for module in pkgutil.iter_modules(sarlearn.__path__)
        if not module.name.startswith("_")
    ]
    for namespace in namespaces:
        for name in getattr(namespace, "__all__", ()):
            thing = getattr(namespace, name)
            if inspect.isclass(thing) and issubclass(thing, BaseEstimator):
                found[thing.__name__] = thing
    return [found[name] for name in sorted(found) if _needs_nothing(found[name])]


def reads_arrays(estimator: type[BaseEstimator]) -> bool:
    """What its tags say: others, such as an encoder of data frames, get no array to check."""
    return get_tags(estimator()).input_tags.two_d_array


def _needs_nothing(estimator: type) -> bool:
    parameters = inspect.signature(estimator).parameters.values()
    return all(parameter.default is not parameter.empty for parameter in parameters)


def test_estimators_are_found_by_inspection():
    found = {estimator.__name__ for estimator in public_estimators()}
    assert {"SAREMClassifier", "SCARClassifier", "BestBinEstimator"} <= found
    assert len(found) >= 17


@pytest.fixture(autouse=True)
def labels_that_outlast_a_shuffle(monkeypatch):
    """Two classes of three, the same ones in every order of the rows.

    Before scikit-learn 1.7 the first row said which class stands alone, so that the check of
    weights, which shuffles, fitted its two estimators to different labels.
    """
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 7):
        return
    original = estimator_checks._enforce_estimator_tags_y

    def labels(estimator, y):
        kind = get_tags(estimator).classifier_tags
        if kind is None or kind.multi_class or not y.size:
            return original(estimator, y)
        return np.where(y == y.min(), y, y.min() + 1)

    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_y", labels)


# The data of the checks are small, fully labelled, mostly noise, and come without a propensity.
# The package may warn of that as it likes: what it warns of is tested elsewhere.
@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@parametrize_with_checks(
    [estimator() for estimator in public_estimators() if reads_arrays(estimator)]
)
def test_with_defaults(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "estimator", [estimator for estimator in public_estimators() if not reads_arrays(estimator)]
)
def test_the_interface_of_what_reads_no_arrays(estimator):
    done = check_estimator(estimator())
    assert any(one["status"] == "passed" for one in done)


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@parametrize_with_checks(
    [
        SAREMClassifier(stop="fixed_point"),
        KnownPropensityClassifier(method="weighting"),
        SARClassifier(class_models=[GaussianNB()], n_folds=2),
    ]
)
def test_with_other_settings(estimator, check):
    check(estimator)
