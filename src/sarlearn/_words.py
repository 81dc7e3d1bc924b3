"""Numbers and lists in plain words, as terminal, report, plots and ``summary()`` write them.

Below all rooms: it imports none of them.
"""

import difflib
import glob
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

# Cells of a table with fewer expected cases than this carry no ratio (Cochran, Biometrics 10,
# 417, 1954).
ENOUGH = 5
# A range of checked rows below this is narrow enough.
NARROW = 0.05
# A range so narrow is one number: the class prior was given.
EXACT = 1e-3
# By a learner's ``certainty_``.
VERDICTS = {
    "well": "Well determined",
    "roughly": "Rough",
    "not at all": "Not determined by these labels",
}
# What a value is compared with that has no natural other: all rows.
AVERAGE = "the average"


def listed(words: Sequence[str], most: int | None = None) -> str:
    """``a``, ``a and b``, ``a, b and c``; beyond ``most`` names, how many more there are."""
    words = [str(word) for word in words]
    if most is not None and len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quoted(values: Iterable, most: int | None = None) -> str:
    """The same of values as Python writes them: ``'a', 'b' and 3 more``."""
    return listed([repr(value) for value in values], most)


def number_text(value: float, digits: int = 4) -> str:
    """A number as people write it: no powers of ten, commas from 10,000 on, ``digits`` digits.

    Examples
    --------
    >>> [number_text(x) for x in (11853.27, 2019, 3.0, 0.00012345, 28.517)]
    ['11,853', '2019', '3', '0.0001234', '28.52']
    """
    value = float(value)
    if value != value:
        return "(missing)"
    text = f"{value:.{digits}g}"
    size = abs(float(text))
    if 10.0**digits <= size < 1e15:
        return f"{value:,.0f}"
    if size >= 1e-9 and "e-" in text:
        decimals = digits - 1 - int(text.partition("e")[2])
        return f"{value:.{decimals}f}".rstrip("0")
    return text


def about(number: float) -> str:
    """A count with no more digits than an estimate deserves: three."""
    digits = max(0, len(str(int(abs(number)))) - 3)
    return f"{round(number, -digits):,.0f}"


def counted(number: int, what: str, plural: str | None = None) -> str:
    """``1 row``, ``12 rows``."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def odds_sentence(row: dict) -> str:
    """An odds ratio in words: how the odds of being labelled compare.

    ``row`` has ``odds_ratio`` with ``low`` and ``high``; ``against`` and ``numeric`` (is that a
    number?); ``few``, ``rows`` and ``labelled``.
    """
    if row["few"]:
        return (
            f"Too few rows to say: {counted(row['rows'], 'row')}, "
            f"{row['labelled']:,} of them labelled."
        )
    ratio = row["odds_ratio"]
    others = f"those {'at' if row['numeric'] else 'of'} {row['against']}"
    if row["against"] == AVERAGE:
        others = AVERAGE
    if row["low"] <= 1 <= row["high"]:
        return f"The odds of being labelled are not clearly different from {others}."
    if 0.95 <= ratio <= 1.05:
        return f"The odds of being labelled are about {others}."
    if ratio > 1:
        return f"The odds of being labelled are {_factor(ratio)} times {others}."
    return (
        f"The odds of being labelled are lower than {others}, by a factor of {_factor(1 / ratio)}."
    )


def _factor(ratio: float) -> str:
    if ratio > 100:
        return "more than 100"
    return f"{ratio:.1f}" if ratio >= 0.95 else number_text(ratio, 2)


def range_sentence(low: float, high: float, word: str) -> str:
    """How well the labels determine the class prior; ``word`` is a learner's ``certainty_``."""
    return f"{VERDICTS[word]}: the data are compatible with {low:.1%} to {high:.1%}."


def known_sentence(low: float, high: float, labels_only: float) -> str:
    """Of a class prior that is known from elsewhere, wholly or in part."""
    where = f"is {low:.1%}" if high - low < EXACT else f"lies at {low:.1%} to {high:.1%}"
    return (
        f"With what was given about the class prior, it {where}; the labels alone would have said "
        f"{labels_only:.1%}."
    )


def checked_sentence(n_audited: int, low: float, high: float, labels_only: float | None) -> str:
    """Of a class prior that comes from rows which someone has checked."""
    text = (
        f"Based on {counted(n_audited, 'checked row')} alone, the class prior lies at {low:.1%} to "
        f"{high:.1%}: a 95% confidence interval that holds whatever the model, since the rows "
        "were drawn at random."
    )
    if labels_only is not None:
        text += f" The model, which uses the labels too, says {labels_only:.1%}."
    return text


def leak_sentence(columns: Sequence[str]) -> str:
    """Of columns that give the label away."""
    return (
        f"{listed(columns, 3)} {'gives' if len(columns) == 1 else 'give'} the label away. A column "
        "that follows from the label, such as a treatment of those diagnosed, hides all positives "
        "that have no label: leave it out."
    )


def model_summary(
    name: str,
    class_prior: float,
    label_frequency: float | None,
    sure: str | None,
    rounds: tuple[int, bool] | None,
    n_tree_rows: int | None = None,
) -> str:
    """What a fitted learner says, a sentence per line."""
    if class_prior != class_prior:  # NaN: labelled rows and background are two samples
        return (
            f"{name}: labelled rows and background are two samples, so the class prior is not "
            "known. The ranking of rows, and how groups compare, do not depend on it."
        )
    first = f"{name}: an estimated {class_prior:.1%} of the rows are positive (class prior)"
    if label_frequency is not None:
        first += f"; {label_frequency:.1%} of the positives are labelled (label frequency)"
    lines = [f"{first}."]
    if sure is not None:
        lines.append(sure)
    if rounds is not None:
        n_rounds, settled = rounds
        how = "settled" if settled else "had not settled"
        lines.append(f"The fit {how} after {counted(n_rounds, 'round')}.")
    return "\n".join([*lines, *filter(None, [sample_sentence(n_tree_rows)])])


def sample_sentence(n_tree_rows: int | None) -> str:
    """That trees have not seen every row, where it is so."""
    if n_tree_rows is None:
        return ""
    return f"The trees were grown on a sample of {n_tree_rows:,} rows; all else saw every row."


def nearest(names: str | Sequence[str], candidates: Iterable[str], most: int = 3) -> str:
    """A sentence with the names most like a name, or like several; or nothing."""
    folded = {str(candidate).casefold(): str(candidate) for candidate in candidates}
    near = [
        folded[key]
        for name in ([names] if isinstance(names, str) else names)
        for key in difflib.get_close_matches(str(name).casefold(), list(folded), most, cutoff=0.6)
    ]
    return f" Nearest names: {', '.join(dict.fromkeys(near))}." if near else ""


def no_column(names: Sequence[str], known: Iterable[str], whose: str = "X") -> str:
    """All names that a table lacks, with those most like them, or else its columns."""
    known = [str(name) for name in known]
    what = "column" if len(names) == 1 else "columns"
    hint = nearest(names, known, 3 if len(names) == 1 else 1)
    if not hint:
        hint = f" Columns: {', '.join(known[:10])}{', ...' if len(known) > 10 else ''}."
    return f"{whose} has no {what} {quoted(names, 8)}.{hint}"


def no_file(path: str | os.PathLike, what: str = "file") -> str:
    """That a file is not there, with the names most like it; or none that matches a pattern."""
    if glob.has_magic(str(path)):
        return f"No {what} matches {path}."
    beside = [other.name for other in Path(path).parent.glob("*")]
    return f"There is no {what} {path}.{nearest(Path(path).name, beside)}"


def output_name(column: str, category: str | None = None) -> str:
    """The name of a column made of another: ``age``, or ``insurance=private``.

    Backslashes escape ``=`` in the table's own names, so the origin can always be told.
    """
    escaped = column.replace("\\", "\\\\").replace("=", "\\=")
    return escaped if category is None else f"{escaped}={category}"


def origin(name: str) -> str:
    """The column that another was made of; undoes :func:`output_name`."""
    column = re.match(r"(?:[^\\=]|\\.)*", name, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", column.group() if column else name, flags=re.DOTALL)
