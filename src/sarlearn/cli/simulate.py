"""``sarlearn simulate``: a table with known classes becomes one with some positives labelled."""

from typing import Any

import numpy as np
from scipy.special import logit

from sarlearn.cli.common import (
    check_columns,
    check_roles,
    collected_warnings,
    print_json,
    print_text,
    split_names,
)
from sarlearn.cli.paths import STANDARD
from sarlearn.cli.progress import progress
from sarlearn.labelling import (
    ConstantLabelling,
    GeometricLabelling,
    LogisticLabelling,
    OneAttributeLabelling,
    ProductLabelling,
)
from sarlearn.labelling import (
    label as draw_labels,
)
from sarlearn.tables.columns import (
    as_frame,
    is_constant,
    numbers,
    read_column,
    values_of,
    words,
)
from sarlearn.tables.dates import refuse_dates
from sarlearn.tables.labels import parse_labels
from sarlearn.tables.read import read_table
from sarlearn.tables.write import write_table


def simulate(
    table: str,
    class_column: str,
    positive: str | None,
    propensity: tuple[str, ...],
    falling: tuple[str, ...],
    mechanism: str | None,
    low: float,
    high: float,
    label_frequency: float,
    label: str,
    propensity_column: str | None,
    keep_class: bool,
    seed: int,
    output: str,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Draw labels by a mechanism and write the table with them."""
    import narwhals as nw

    with collected_warnings(), progress(f"Reading {table}"):
        native = read_table(table, **reading)
    propensity, falling = split_names(native, propensity), split_names(native, falling)
    mechanism = _check_mechanism(mechanism, propensity, falling, low, high)
    check_columns(native, "--class", [class_column])
    check_columns(native, "--propensity", propensity)
    check_roles(**{"class": [class_column], "propensity": propensity})
    frame = as_frame(native)
    y = _classes(frame[class_column], class_column, positive)
    X = np.column_stack([_scaled(frame, name, name in falling) for name in propensity] or [y])
    rule = _mechanism(mechanism, len(propensity), low, high, label_frequency)
    s, e = draw_labels(X, y, rule, random_state=seed)
    new: dict[str, Any] = {label: s}
    if propensity_column is not None:
        new[propensity_column] = e
    kept = frame if keep_class else frame.drop(class_column)
    clash = sorted(set(kept.columns) & set(new))
    if clash or len(new) < 1 + (propensity_column is not None):
        raise ValueError(
            f"The table already has a column {(clash or [label])[0]!r}; choose another name with "
            "--label or --propensity-column."
        )
    backend = frame.implementation
    columns = [nw.new_series(name, values, backend=backend) for name, values in new.items()]
    write_table(kept.with_columns(*columns).to_native(), output)
    result: dict[str, Any] = {
        "rows": len(s),
        "positives": int(y.sum()),
        "labelled": int(s.sum()),
        "label_frequency": float(s.sum() / y.sum()),
        "mechanism": mechanism,
        "propensity": [float(e[y == 1].min()), float(e[y == 1].max())],
        "output": output,
    }
    if output == STANDARD:
        return
    if as_json:
        print_json(result)
        return
    print_text(
        f"Labelled {result['labelled']:,} of {result['positives']:,} positives "
        f"({result['label_frequency']:.1%}) in {result['rows']:,} rows; propensities of positives "
        f"run from {result['propensity'][0]:.2f} to {result['propensity'][1]:.2f}. Wrote {output}."
    )


def _check_mechanism(mechanism, propensity, falling, low: float, high: float) -> str:
    n_columns = len(propensity)
    if mechanism is None:
        mechanism = ("constant", "one")[n_columns] if n_columns < 2 else "logistic"
    if mechanism == "constant" and n_columns:
        raise ValueError("--mechanism constant takes no --propensity columns.")
    if mechanism == "one" and n_columns != 1:
        raise ValueError(f"--mechanism one takes one --propensity column, not {n_columns}.")
    if mechanism != "constant" and not n_columns:
        raise ValueError(f"--mechanism {mechanism} needs at least one --propensity column.")
    stray = [name for name in falling if name not in propensity]
    if stray:
        raise ValueError(f"--falling names {stray[0]!r}, which is no --propensity column.")
    if low > high:
        raise ValueError(f"--low ({low}) exceeds --high ({high}); use --falling to turn a column.")
    if mechanism == "logistic" and high == 1:
        raise ValueError("--mechanism logistic cannot reach a propensity of 1; lower --high.")
    return mechanism


def _mechanism(mechanism: str, n_columns: int, low: float, high: float, frequency: float):
    """All columns at 0 give ``low`` and all at 1 ``high``; for product each column's factor."""
    columns = list(range(n_columns))
    if mechanism == "constant":
        return ConstantLabelling(frequency)
    if mechanism == "one":
        return OneAttributeLabelling(0, mean=(low + high) / 2, difference=high - low)
    if mechanism == "product":
        return ProductLabelling(columns, high=high, low=low)
    if mechanism == "geometric":
        return GeometricLabelling(columns, low=low, high=high)
    coef = float(logit(high) - logit(low)) / n_columns
    return LogisticLabelling(columns, coef=coef, intercept=float(logit(low)))


def _classes(column, name: str, positive: str | None) -> np.ndarray:
    if positive is None:
        try:
            y = parse_labels(column, name).labelled
        except ValueError as error:
            shown = sorted({str(value) for value in values_of(column) if value is not None})[:5]
            raise ValueError(
                f"The class column {name!r} holds {', '.join(shown)}; say with --positive which "
                "of them is positive."
            ) from error
    else:
        y = parse_labels(column, name, positive=positive).labelled
    if y.all() or not y.any():
        raise ValueError(f"The class column {name!r} must hold positive and other rows.")
    return y.astype(int)


def _scaled(frame, name: str, falls: bool) -> np.ndarray:
    """A column in [0, 1]: numbers by range, words by alphabet, gaps in the middle."""
    if is_constant(frame[name]):
        raise ValueError(f"--propensity: the column {name!r} holds a single value.")
    kind = read_column(frame[name], name).kind
    refuse_dates([name] if kind in ("date", "time") else [], "refuse")
    if kind == "numeric":
        values = numbers(frame, [name])[:, 0]
        known = values[~np.isnan(values)]
        spread = np.ptp(known)
        scaled = (
            (values - known.min()) / spread if spread else np.where(np.isnan(values), np.nan, 1.0)
        )
    else:
        texts = words(frame, [name])[:, 0]
        gap = np.array([value is None for value in values_of(frame[name])])
        order = sorted(set(texts[~gap]))
        place = {word: index / max(1, len(order) - 1) for index, word in enumerate(order)}
        scaled = np.array([np.nan if g else place[t] for t, g in zip(texts, gap, strict=True)])
    scaled = np.where(np.isnan(scaled), 0.5, scaled)
    return 1 - scaled if falls else scaled
