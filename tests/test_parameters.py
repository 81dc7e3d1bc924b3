"""Every public parameter changes the result: fails where one is accepted and ignored.

``parameter_cases.py`` lists values whose results must all differ, so that a value taken for another
one is noticed, too. A parameter that is not listed there fails.
"""

import importlib
import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from parameter_cases import LEARNERS, PRIORS, Case
from tool_cases import TOOLS

CASES = [*LEARNERS, *PRIORS, *TOOLS]

pytestmark = pytest.mark.filterwarnings(
    "ignore::sarlearn.exceptions.SarlearnWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)


def run(case: Case, settings: dict):
    """What a call gives."""
    if not hasattr(case.call, "fit"):
        return case.call(**settings)
    known = inspect.signature(case.call).parameters
    model = case.call(**{name: value for name, value in settings.items() if name in known})
    model.fit(**{name: value for name, value in settings.items() if name not in known})
    found = [getattr(model, name, None) for name in ("class_prior_", "n_iter_")]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(settings["X"])[:, 1])
    if hasattr(model, "predict_propensity") and "propensity" not in settings:
        chances = () if settings.get("chances") is None else (settings["chances"],)
        found.append(model.predict_propensity(settings["X"], *chances))
    return found


def flat(result, echo: str) -> list:
    """Numbers and words; a field of the parameter's own name only repeats what was given."""
    if is_dataclass(result):
        names = [part.name for part in fields(result) if part.name != echo]
        return flat([getattr(result, name) for name in names], echo)
    if isinstance(result, Mapping):
        return flat(list(result.items()), echo)
    if isinstance(result, np.ndarray | pd.DataFrame):
        return np.ravel(result).tolist()
    if isinstance(result, list | tuple):
        return [value for part in result for value in flat(part, echo)]
    return [result]


def differ(one: list, other: list) -> bool:
    if len(one) != len(other):
        return True
    for a, b in zip(one, other, strict=True):
        if isinstance(a, str) or isinstance(b, str) or a is None or b is None:
            if a != b:
                return True
        elif np.isnan(a) != np.isnan(b) or abs(a - b) > 1e-7 * (1 + abs(a)):
            return True
    return False


@cache
def as_it_was(case: Case):
    return run(case, case.base)


EVERY = [
    pytest.param(case, name, id="-".join([case.call.__name__, name, case.of][: 2 + bool(case.of)]))
    for case in CASES
    for name in case.changes
]


@pytest.mark.parametrize(("case", "name"), EVERY)
def test_values_of_a_parameter_give_different_results(case, name):
    base = case.base | case.beside.get(name, {})
    values = [*case.changes[name]]
    results = [("as it was", run(case, base) if name in case.beside else as_it_was(case))]
    results += [(value, run(case, base | {name: value})) for value in values]
    results = [(value, flat(found, name)) for value, found in results]
    if name == "pos_label":  # one of them is what is taken anyway
        results = results[1:]
    same = [(a, b) for (a, one), (b, other) in combinations(results, 2) if not differ(one, other)]
    assert not same, f"{case.call.__name__}: {name} gives the same for {same}"


# Names whose parameters are not looked at here, and why.
NOT_HERE = {
    "Batches": "where rows lie, tests/backends/test_batches.py",
    "load": "files, tests/test_saving.py",
    "save": "files, tests/test_saving.py",
    "to_sql": "text, tests/test_sql.py",
    "report": "text, tests/reporting",
    "ipw_scorer": "a scorer, tests/metrics/test_inverse_propensity.py",
}
# Parameters that must not change the result, or are scikit-learn's convention.
WITHOUT_EFFECT = {"n_jobs", "verbose"}
ELSEWHERE = {("TableEncoder", "y")}
ROOMS = ["", "audit", "datasets", "inspection", "labelling", "metrics"]
ROOMS += ["onnx", "priors", "reporting"]


def public():
    for room in ROOMS:
        module = importlib.import_module(f"sarlearn.{room}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            made_by_others = inspect.isclass(thing) and room in ("inspection", "audit")
            if callable(thing) and name not in NOT_HERE and not made_by_others:
                yield name, thing


def optional(function) -> set[str]:
    """Parameters that may be left out."""
    return {
        p.name
        for p in inspect.signature(function).parameters.values()
        if p.default is not p.empty and p.name not in WITHOUT_EFFECT
    }


@pytest.mark.parametrize(("name", "thing"), list(public()))
def test_every_parameter_is_listed(name, thing):
    if name.startswith(("Prior", "IPW")):
        pytest.skip("made by a function that is listed")
    wanted = optional(thing) | (optional(thing.fit) if hasattr(thing, "fit") else set())
    listed = {
        parameter
        for case in CASES
        if getattr(case.call, "wrapped", case.call) is thing
        for parameter in case.changes
    }
    assert {p for p in wanted if (name, p) not in ELSEWHERE} - listed == set()
