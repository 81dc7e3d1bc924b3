"""Options that commands share. Only click is imported here."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

TABLE = click.argument("table", type=click.Path(dir_okay=True))
LABEL = click.option("--label", required=True, help="Column that says which rows are labelled.")
POSITIVE = click.option(
    "--positive",
    help="Value of the label column that means labelled, where it is not 1, true, yes, labelled "
    "or the only one beside empty cells.",
)
ID = click.option("--id", "id_column", help="Column that names the rows; not learned from.")
DROP = click.option(
    "--drop", multiple=True, help="Column to leave out. May be repeated, or a list: a,b."
)
PROPENSITY = click.option(
    "--propensity",
    multiple=True,
    help="Column that decides who among the positives gets labelled. May be repeated, or a list: "
    "a,b. Without any, all positives count as equally likely to be labelled (SCAR).",
)
PROPENSITY_ONLY = click.option(
    "--propensity-only",
    multiple=True,
    help="The same, for a column that has no place in the class model, such as effort or clinic. "
    "May be repeated, or a list: a,b.",
)
AUDITED = click.option(
    "--audited",
    metavar="COLUMN|FILE",
    help="What someone found who checked some rows: a column of the table with yes, no or nothing, "
    "or the filled-in file of 'sarlearn audit'.",
)
AUDIT_PROBABILITY = click.option(
    "--audit-probability",
    metavar="COLUMN",
    help="Column with the probability with which each checked row was drawn.",
)
CLASS_PRIOR = click.option(
    "--class-prior",
    metavar="SHARE",
    help="Share of positives known from elsewhere: 0.12, bounds 0.08,0.15, or a mean and its "
    "standard error 0.12+-0.02.",
)
WEIGHT = click.option(
    "--weight", help="Column that says how many rows each row stands for; not learned from."
)
GROUPS = click.option(
    "--groups",
    help="Column of groups, such as patients or sites: rows of a group are held out and drawn "
    "together. Not learned from.",
)
OUTPUT = click.option("-o", "--output", required=True, type=click.Path(), help="File to write.")
FORCE = click.option("--force", is_flag=True, help="Replace output files that exist.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
SEED = click.option("--seed", type=int, default=0, show_default=True, help="Seed of what is drawn.")
JOBS = click.option(
    "--jobs",
    type=int,
    default=1,
    show_default=True,
    help="Processes for --check; -1 is one per core.",
)
MAX_ITER = click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    default=500,
    show_default=True,
    help="Rounds at most.",
)
BATCHES = click.option(
    "--batches/--in-memory",
    default=None,
    help="Read a table of Parquet or Arrow files in batches, in little memory, or all at once. By "
    "default in batches where memory would not do.",
)
RAW = click.option(
    "--raw",
    is_flag=True,
    help="Leave strongly skewed columns as they are; else they enter on a logarithmic scale.",
)
DATES = click.option(
    "--dates",
    type=click.Choice(["days"]),
    help="Turn columns of dates into days since the first, year and weekday; without it they are "
    "refused.",
)
TABLE_AGAIN = (
    click.option("--label", help="Label column, where it is not named as in the fit."),
    click.option("--id", "id_column", help="Identifier column, likewise."),
)

_READING = (
    click.option("--sep", help="Separator of a text file; by default found in its first line."),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal sign of a text file; by default found in its cells.",
    ),
    click.option("--encoding", help="Of a text file; by default UTF-8, else Latin-1 with a note."),
    click.option(
        "--na",
        multiple=True,
        help="Word that stands for a missing cell, besides NA, NaN, null. May be repeated.",
    ),
)


def reading(command: Callable) -> Callable:
    """Options on how a text file is written, handed on together as ``reading``."""

    @wraps(command)
    def with_reading(*, sep, decimal, encoding, na, **options: Any):
        given = {"separator": sep, "decimal": decimal, "encoding": encoding, "missing": list(na)}
        if sep is not None and len(sep.replace("\\t", "\t")) != 1:
            raise click.UsageError(f"--sep must be one character, such as ';'; got {sep!r}.")
        if sep is not None:
            given["separator"] = sep.replace("\\t", "\t")
        return command(reading={k: v for k, v in given.items() if v}, **options)

    for option in reversed(_READING):
        with_reading = option(with_reading)
    return with_reading


def example(text: str) -> dict[str, str]:
    """The example at the end of a command's help."""
    lines = "\n".join(f"  {line}" for line in text.splitlines())
    return {"epilog": f"\b\nExample:\n{lines}"}
