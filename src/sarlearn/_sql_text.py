"""SQL as text: how databases differ, and arithmetic with expressions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

# exp() of a larger number overflows a double, and some databases then stop with an error.
LIMIT = 700
# Terms per pair of brackets.
BRACKET = 50


@dataclass(frozen=True)
class Dialect:
    """How a database writes names, texts, types and the functions that are needed."""

    number: str
    text: str
    quote: str = '"'
    backslashes: bool = False  # whether a backslash in a text begins an escape
    least: str = "LEAST"
    greatest: str = "GREATEST"
    # What takes NaN for a gap, as Python does; empty where the database stores none.
    without_nan: str = "NULLIF({x}, CAST('NaN' AS {number}))"
    # What holds for a value that is a number; elsewhere the cast complains by itself.
    is_number: str = ""

    def name(self, name: str) -> str:
        """A column's name in quotes, whatever it contains."""
        if not name or "\0" in name:
            raise ValueError(f"A database cannot have a column called {name!r}.")
        return f"{self.quote}{name.replace(self.quote, 2 * self.quote)}{self.quote}"

    def literal(self, text: str) -> str:
        """A text in quotes, whatever it contains."""
        if "\0" in text:
            raise ValueError(f"A database cannot hold the value {text!r}.")
        if not self.backslashes:
            return "'" + text.replace("'", "''") + "'"
        for raw, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r")):
            text = text.replace(raw, escaped)
        return f"'{text}'"


DIALECTS = {
    "duckdb": Dialect("DOUBLE", "VARCHAR"),
    "postgres": Dialect("DOUBLE PRECISION", "TEXT"),
    "sqlite": Dialect(
        "REAL",
        "TEXT",
        least="MIN",
        greatest="MAX",
        without_nan="{x}",
        is_number="typeof({column}) IN ('integer', 'real', 'null')",
    ),
    "spark": Dialect("DOUBLE", "STRING", quote="`", backslashes=True),
    "snowflake": Dialect("DOUBLE", "VARCHAR", backslashes=True),
    "bigquery": Dialect(
        "FLOAT64", "STRING", quote="`", backslashes=True, without_nan="IF(IS_NAN({x}), NULL, {x})"
    ),
}


def number(value: Any) -> str:
    """A number with all its digits; with an exponent it is a double, not a decimal."""
    if not np.isfinite(value):
        raise ValueError(f"The model holds {value!r}, which cannot be written in SQL.")
    text = repr(float(value))
    text += "" if "e" in text else "e0"
    return f"({text})" if text.startswith("-") else text


def scaled(value: str, shift: float, divisor: float) -> str:
    moved = f"({value} - {number(shift)})" if shift else value
    return f"{moved} / {number(divisor)}" if divisor != 1 else moved


def term(weight: float, value: str) -> str:
    return f"{number(weight)} * ({value})"


def total(parts: list[str]) -> str:
    """In brackets of a few terms each: some databases nest expressions only so deep."""
    while len(parts) > BRACKET:
        groups = [parts[k : k + BRACKET] for k in range(0, len(parts), BRACKET)]
        parts = [f"({' + '.join(group)})" for group in groups]
    return " + ".join(parts)


def _exp(logit: str, dialect: Dialect) -> str:
    """``exp`` of a logit that neither overflows nor underflows."""
    return f"EXP({dialect.least}({dialect.greatest}({logit}, -{LIMIT}.0), {LIMIT}.0))"


def sigmoid(logit: str, dialect: Dialect) -> str:
    return f"(1.0 / (1.0 + {_exp(f'-({logit})', dialect)}))"


def posterior(eta: str, zeta: str, labelled: str | None, dialect: Dialect) -> str:
    """``f (1 - e) / (1 - f e)``, whose logit is ``eta - log(1 + exp(zeta))``."""
    softplus = f"{dialect.greatest}({zeta}, 0.0) + LN(1.0 + {_exp(f'-ABS({zeta})', dialect)})"
    hidden = sigmoid(f"({eta}) - ({softplus})", dialect)
    return hidden if labelled is None else f"CASE WHEN {labelled} THEN 1.0 ELSE {hidden} END"
