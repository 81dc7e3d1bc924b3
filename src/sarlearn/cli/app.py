"""Arguments and options of the ``sarlearn`` command. Click is imported here; work comes later."""

import glob
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from sarlearn import __version__
from sarlearn.cli import terminal

TABLE = click.argument("table", type=click.Path(dir_okay=True))
LABEL = click.option("--label", required=True, help="Column that says which rows are labelled.")
POSITIVE = click.option(
    "--positive",
    help="Value of the label column that means labelled, where it is not 1, true, yes, labelled "
    "or the only one beside empty cells.",
)
NEGATIVE = click.option(
    "--negative",
    multiple=True,
    help="Value of the label column for rows that were checked and are negative. May be repeated, "
    "or a list: a,b.",
)
UNLABELLED = click.option(
    "--unlabelled",
    multiple=True,
    help="Value of the label column for rows of which nothing is known. May be repeated, or a "
    "list: a,b.",
)
ID = click.option("--id", "id_column", help="Column that names the rows; not learned from.")
DROP = click.option(
    "--drop", multiple=True, help="Column to leave out. May be repeated, or a list: a,b."
)
PROPENSITY = click.option(
    "--propensity",
    multiple=True,
    help="Column that decides who among the positives gets labelled. May be repeated, or a list: "
    "a,b. Without any, or with 'auto', fits that name different columns are averaged: for where "
    "nobody can name them. With 'none', all positives are equally likely to be labelled (SCAR).",
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
    help="What was found by checking some rows: a column of the table with yes, no or empty cells, "
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
NOUN = click.option("--noun", help="What to call the rows, such as patients.")
POSITIVE_NOUN = click.option("--positive-noun", help="What to call positive ones, such as ill.")
OUTPUT = click.option("-o", "--output", required=True, type=click.Path(), help="File to write.")
FORCE = click.option("--force", is_flag=True, help="Replace output files that exist.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Seed of the random numbers.",
)
MAX_ITER = click.option(
    "--max-iter",
    type=click.IntRange(min=1),
    help="Largest number of rounds: of boosting, or of EM with --method sar-em.",
)
BATCHES = click.option(
    "--batches/--in-memory",
    default=None,
    help="Read a table of Parquet or Arrow files in batches, which takes little memory, or all at "
    "once. By default in batches where the table would not fit in memory.",
)
LABEL_AGAIN = click.option("--label", help="Label column, where it is not named as in the fit.")
ID_AGAIN = click.option("--id", "id_column", help="Identifier column, likewise.")

_READING = (
    click.option("--sep", help="Separator of a text file; by default found in its first line."),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal sign of a text file; by default each column shows its own.",
    ),
    click.option(
        "--encoding",
        help="Encoding of a text file; by default UTF-8, or else Latin-1, with a note.",
    ),
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


def taking(*options: Callable) -> Callable:
    """Several options as one decorator, in the order of the help."""

    def decorate(command: Callable) -> Callable:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _made(kind: Any, options: dict[str, Any]) -> Any:
    """An object of the options that belong to it, which are taken out."""
    mine = [name for name in kind.__dataclass_fields__ if name in options]
    return kind(**{name: options.pop(name) for name in mine})


def example(text: str) -> dict[str, str]:
    """The example at the end of a command's help."""
    lines = "\n".join(f"  {line}" for line in text.splitlines())
    return {"epilog": f"\b\nExample:\n{lines}"}


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sarlearn")
def app() -> None:
    """Learn from positive and unlabelled rows when the labels are a biased sample.

    Tables may be CSV (also gzipped), Parquet, Arrow/Feather or Excel (.xlsx); a folder, or a
    pattern such as 'data/*.parquet', is one table; - is standard input or output. The label column
    holds 0/1, true/false, yes/no or labelled/unlabelled; an empty cell is unlabelled.
    """


@app.command(
    **example(
        "sarlearn fit patients.csv --label diagnosed --propensity age,insurance \\\n"
        "    --id patient -o model.skops --report report.html"
    )
)
@taking(TABLE, LABEL, POSITIVE, NEGATIVE, UNLABELLED)
@taking(PROPENSITY, PROPENSITY_ONLY, ID, DROP, WEIGHT, GROUPS, reading)
@click.option(
    "--method",
    type=click.Choice(["sar", "sar-em"]),
    default="sar",
    show_default=True,
    help="sar is more accurate, and says how well the class prior is known; sar-em is the paper's "
    "method, with its defaults.",
)
@taking(MAX_ITER, AUDITED, AUDIT_PROBABILITY, CLASS_PRIOR, SEED, OUTPUT)
@click.option("--report", type=click.Path(), help="Also write a report to this HTML file.")
@click.option(
    "--dask",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Work on a Dask cluster: on this machine's cores, or that of the scheduler at ADDRESS "
    "(tcp://host:port).",
)
@taking(BATCHES, NOUN, POSITIVE_NOUN, FORCE)
@click.option("--verbose", is_flag=True, help="Print more, such as odds ratios.")
@JSON
def fit(**options) -> None:
    """Fit a model to TABLE and save it."""
    force = options.pop("force")
    options["noun"] = options["noun"] or "rows"
    options["positive_noun"] = options["positive_noun"] or "positive"
    if options["dask"] is None or not glob.glob(options["table"]):
        terminal.check_input(options["table"])
    inputs = [options["table"], options["audited"] or options["table"]]
    outputs = {"model": options["output"], "report": options["report"]}
    terminal.check_outputs(force=force, inputs=inputs, **outputs)
    from sarlearn.cli.fit import Learning, fit
    from sarlearn.cli.table import Roles

    fit(_made(Roles, options), _made(Learning, options), **options)


@app.command(**example("sarlearn inspect patients.csv"))
@taking(TABLE, DROP, reading, JSON)
def inspect(**options) -> None:
    """Show how each column of TABLE is read: its kind, gaps, values, and what stands out."""
    terminal.check_input(options["table"])
    from sarlearn.cli.small import inspect

    inspect(**options)


def _check_files(options: dict, kind: str) -> None:
    """Of a command that takes a model and a table, and writes one output of a kind."""
    terminal.check_input(options["model"], table=False)
    inputs = [options["table"], options.get("audited") or options["table"]]
    for table in inputs:
        terminal.check_input(table)
    inputs.append(options["model"])
    going_on = options.get("serve") and os.path.exists(options["output"])
    force = options["force"] or bool(going_on)
    terminal.check_outputs(force=force, inputs=inputs, **{kind: options["output"]})


@app.command(
    **example(
        "sarlearn predict model.skops patients.csv -o scored.csv\n"
        "sarlearn predict model.skops patients.csv --top 20 -o to_check.csv"
    )
)
@click.argument("model", type=click.Path())
@taking(TABLE, OUTPUT, LABEL_AGAIN, ID_AGAIN, reading)
@click.option("--keep-all", is_flag=True, help="Write all columns of the table, not only the id.")
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="Write only so many rows, the unlabelled ones to look at first, with all columns and one "
    "to note what was found.",
)
@taking(JSON, FORCE)
def predict(**options) -> None:
    """Score the rows of TABLE with a saved MODEL.

    Writes the probability of being positive and the propensity of every row, in the order of the
    table; where the label column is present, also the posterior.
    """
    _check_files(options, "table")
    from sarlearn.cli.predict import predict

    options.pop("force")
    predict(**options)


@app.command(**example("sarlearn report model.skops patients.csv -o report.html"))
@click.argument("model", type=click.Path())
@taking(TABLE, OUTPUT, LABEL_AGAIN, ID_AGAIN)
@taking(reading, NOUN, POSITIVE_NOUN, JSON, FORCE)
def report(**options) -> None:
    """Write a report on a saved MODEL and a TABLE with labels."""
    _check_files(options, "report")
    from sarlearn.cli.report import report

    options.pop("force")
    report(**options)


@app.command(**example("sarlearn audit model.skops patients.csv -n 100 -o to_check.csv"))
@click.argument("model", type=click.Path())
@TABLE
@click.option(
    "-n",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Rows to suggest.",
)
@taking(OUTPUT, LABEL_AGAIN, ID_AGAIN)
@click.option(
    "--audited",
    type=click.Path(),
    help="File of an earlier audit, filled in: its rows are not suggested again, and its answers "
    "are taken over.",
)
@click.option("--serve", is_flag=True, help="Ask about the rows on a page in the browser.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@taking(SEED, JSON, FORCE)
def audit(**options) -> None:
    """Suggest rows of TABLE to check, so that the share of positives is known better.

    Rows are drawn at random, more often where the saved MODEL is uncertain. Fill in the column
    'audited' of the file, or answer on a page with --serve, which goes on where it was stopped.
    Then fit again with --audited.
    """
    _check_files(options, "audit")
    from sarlearn.cli.audit import audit

    audit(**options)


@app.command(
    **example("sarlearn check patients.csv --label diagnosed --candidates age,insurance,region")
)
@taking(TABLE, LABEL)
@click.option(
    "--candidates",
    "propensity",
    multiple=True,
    help="Column that may decide who among the positives gets labelled. May be repeated, or a "
    "list: a,b. By default every column is tried.",
)
@taking(POSITIVE, NEGATIVE, UNLABELLED, ID, DROP, reading)
@click.option(
    "--flexible", is_flag=True, help="Let boosted trees help the class model of the test."
)
@taking(SEED, JSON)
def check(**options) -> None:
    """Does labelling in TABLE depend on columns, and on which?

    Tests whether one label frequency for all positives is tenable, and suggests columns for
    --propensity among the candidates.
    """
    terminal.check_input(options["table"])
    from sarlearn.cli.check import check
    from sarlearn.cli.table import Roles

    options["propensity_option"] = "candidates"
    check(_made(Roles, options), **options)


@app.command(**example("sarlearn sql model.skops --table patients -o score.sql"))
@click.argument("model", type=click.Path())
@click.option("--table", required=True, help="Table to score in the database, as in schema.table.")
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "postgres", "sqlite", "spark", "snowflake", "bigquery"]),
    default="duckdb",
    show_default=True,
    help="The database.",
)
@click.option("--labelled", help="SQL condition that holds for labelled rows, as in 'sick = 1'.")
@click.option("-o", "--output", type=click.Path(), help="File to write instead of printing.")
@FORCE
def sql(**options) -> None:
    """Turn a saved MODEL into a query that scores rows where they are.

    The query gives probability, propensity and posterior beside the columns of the table; the
    posterior is that of unlabelled rows, unless --labelled says which rows are labelled.
    """
    terminal.check_input(options["model"], table=False)
    force = options.pop("force")
    terminal.check_outputs(force=force, inputs=[options["model"]], query=options["output"])
    from sarlearn.cli.small import sql

    sql(**options)


@app.command(**example("sarlearn demo --report demo.html"))
@click.option(
    "--report",
    "report_path",
    type=click.Path(),
    default="sarlearn-demo-report.html",
    show_default=True,
    help="Where to write the report; replaced if it exists.",
)
def demo(report_path: str) -> None:
    """Show on data that ships with scikit-learn why biased labels matter."""
    from sarlearn.cli.small import demo

    demo(report_path)
