"""``sarlearn prior``: several estimates of the class prior, side by side."""

import time
import warnings
from typing import Any

from ..tables import TableEncoder, TablePipeline, make_table_classifier
from .common import (
    collected_warnings,
    print_json,
    print_rows,
    print_text,
    progress,
    read_labelled,
)


def prior(
    table: str,
    label: str,
    propensity: tuple[str, ...],
    id_column: str | None,
    drop: tuple[str, ...],
    method: tuple[str, ...],
    as_json: bool,
) -> None:
    """Estimate the class prior of a table in several ways."""
    chosen = _choose(method)
    with progress(f"Reading {table}"):
        frame, labels = read_labelled(table, label, propensity, id_column, drop)
    s = labels.labelled.astype(int)
    left_out = [label, *([id_column] if id_column else []), *drop]
    with collected_warnings():
        matrix = TableEncoder(drop=left_out).fit_transform(frame)
    results = []
    for name, build in chosen.items():
        with progress(f"Estimating by {name}"):
            if build is None:
                model = make_table_classifier(propensity, drop=left_out)
                results.append(_estimate(name, model, frame, s))
            else:
                results.append(_estimate(name, build(), matrix, s))
    if as_json:
        print_json({"rows": len(s), "labelled": int(s.sum()), "estimates": results})
        return
    print_text(f"{int(s.sum()):,} of {len(s):,} rows are labelled.")
    rows = []
    for result in results:
        numbers = (result["class_prior"], result["unlabeled_prior"], result["label_frequency"])
        shown = [f"{number:.1%}" if number is not None else "-" for number in numbers]
        rows.append((result["method"], *shown, f"{result['seconds']:.1f} s"))
    header = ("method", "class prior", "among unlabelled", "label frequency", "time")
    print_rows(rows, header=header)
    for result in results:
        for message in result["messages"]:
            print_text(f"{result['method']}: {message}")
    if propensity:
        print_text(
            f"SAR-EM lets labelling depend on {', '.join(propensity)}; the other methods assume "
            "that all positives are labelled equally often."
        )
    else:
        print_text("All of these assume that all positives are labelled equally often (SCAR).")


def _choose(methods: tuple[str, ...]) -> dict[str, Any]:
    """Estimators by name; SAR-EM, which is a table classifier of its own, has None."""
    from .. import priors
    from ..priors._base import PriorEstimator

    known: dict[str, Any] = {"SAR-EM": None}
    for name in priors.__all__:
        found = getattr(priors, name)
        if isinstance(found, type) and issubclass(found, PriorEstimator):
            known[name.removesuffix("Estimator")] = found
    if not methods:
        return known
    by_key = {_key(name): name for name in known}
    chosen = {}
    for method in methods:
        if _key(method) not in by_key:
            raise ValueError(f"--method: there is no {method!r}; accepted are {', '.join(known)}.")
        name = by_key[_key(method)]
        chosen[name] = known[name]
    return chosen


def _key(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum()).removesuffix("estimator")


def _found(model, X, s) -> dict[str, float]:
    if isinstance(model, TablePipeline):  # counted row by row, as fit and the report do
        posterior = model.predict_posterior(X, s)
        return {
            "class_prior": float(posterior.mean()),
            "unlabeled_prior": float(posterior[s == 0].mean()),
            "label_frequency": float(s.sum() / posterior.sum()),
        }
    names = ("class_prior", "unlabeled_prior", "label_frequency")
    return {name: float(getattr(model, f"{name}_")) for name in names}


def _estimate(name: str, model, X, s) -> dict[str, Any]:
    started = time.perf_counter()
    result: dict[str, Any] = {"method": name}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, s)
        except ValueError as error:  # one method's demands are no reason to lose the others
            result |= {"class_prior": None, "unlabeled_prior": None, "label_frequency": None}
            caught_text = [f"no estimate: {error}"]
        else:
            result |= _found(model, X, s)
            caught_text = []
    texts = caught_text + [" ".join(str(w.message).split()) for w in caught]
    return result | {
        "seconds": time.perf_counter() - started,
        "messages": list(dict.fromkeys(texts)),
    }
