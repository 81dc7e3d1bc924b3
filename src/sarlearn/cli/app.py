"""Arguments of the ``sarlearn`` command. Only click is imported here; the work comes later."""

import os

import click

from sarlearn import __version__
from sarlearn.cli import options as opt
from sarlearn.cli import paths


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="sarlearn")
def app() -> None:
    """Learn from positive and unlabelled rows when the labels are a biased sample.

    Tables may be CSV (also gzipped), Parquet, Arrow/Feather or Excel (.xlsx); a folder, or a
    pattern such as 'data/*.parquet', is one table; - is standard input or output. The label column
    holds 0/1, true/false, yes/no or labelled/unlabelled; an empty cell is unlabelled.
    """


@app.command(
    **opt.example(
        "sarlearn fit patients.csv --label diagnosed --propensity age,insurance \\\n"
        "    --id patient -o model.skops --report report.html"
    )
)
@opt.TABLE
@opt.LABEL
@opt.POSITIVE
@opt.PROPENSITY
@opt.PROPENSITY_ONLY
@opt.ID
@opt.DROP
@opt.WEIGHT
@opt.GROUPS
@opt.RAW
@opt.DATES
@opt.reading
@click.option(
    "--method",
    type=click.Choice(["cross-fit", "sar-em"]),
    show_default="cross-fit",
    help="sar-em is the paper's method; cross-fit takes out its bias, for about ten times the "
    "work, and says how sure the class prior is.",
)
@opt.MAX_ITER
@opt.AUDITED
@opt.AUDIT_PROBABILITY
@opt.CLASS_PRIOR
@opt.SEED
@opt.OUTPUT
@click.option("--report", type=click.Path(), help="Also write a report to this HTML file.")
@click.option(
    "--check",
    is_flag=True,
    help="Also test one label frequency for all, resample for intervals, and try other "
    "choices: some two hundred refits.",
)
@opt.JOBS
@click.option(
    "--dask",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Work on a Dask cluster: on this machine's cores, or that of the scheduler at ADDRESS "
    "(tcp://host:port).",
)
@opt.BATCHES
@opt.JSON
@opt.FORCE
def fit(**options) -> None:
    """Fit a model to TABLE and save it."""
    force = options.pop("force")
    if options["dask"] is None:
        paths.check_input(options["table"])
    else:
        paths.check_pattern(options["table"])
    outputs = (options["output"], options["report"])
    inputs = [options["table"], options["audited"] or options["table"]]
    paths.check_outputs(*outputs, force=force, inputs=inputs)
    paths.check_model_output(options["output"])
    paths.check_report_output(options["report"])
    from sarlearn.cli.fit import fit

    fit(**options)


@app.command(**opt.example("sarlearn inspect patients.csv"))
@opt.TABLE
@opt.DROP
@opt.RAW
@opt.reading
@opt.JSON
def inspect(**options) -> None:
    """Show how each column of TABLE is read: its kind, gaps, values, and what stands out."""
    paths.check_input(options["table"])
    from sarlearn.cli.inspect import inspect

    inspect(**options)


def _check_model_and_table(options: dict) -> None:
    paths.check_input(options["model"], table=False)
    paths.check_input(options["table"])
    inputs = [options["model"], options["table"]]
    paths.check_outputs(options["output"], force=options.pop("force"), inputs=inputs)


@app.command(**opt.example("sarlearn predict model.skops patients.csv -o scored.csv"))
@click.argument("model", type=click.Path())
@opt.TABLE
@opt.OUTPUT
@opt.TABLE_AGAIN[0]
@opt.TABLE_AGAIN[1]
@opt.reading
@click.option("--keep-all", is_flag=True, help="Write all columns of the table, not only the id.")
@opt.JSON
@opt.FORCE
def predict(**options) -> None:
    """Score the rows of TABLE with a saved MODEL.

    Writes the probability of being positive and the propensity of every row, in the order of the
    table; where the label column is present, also the posterior.
    """
    _check_model_and_table(options)
    paths.check_table_output(options["output"])
    from sarlearn.cli.predict import predict

    predict(**options)


@app.command(**opt.example("sarlearn report model.skops patients.csv -o report.html"))
@click.argument("model", type=click.Path())
@opt.TABLE
@opt.OUTPUT
@opt.TABLE_AGAIN[0]
@opt.TABLE_AGAIN[1]
@click.option(
    "--top",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="How many of the most probable hidden positives to list.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Also test, resample and try other choices, as fit --check does.",
)
@opt.JOBS
@opt.SEED
@opt.reading
@opt.JSON
@opt.FORCE
def report(**options) -> None:
    """Write a report on a saved MODEL and a TABLE with labels."""
    _check_model_and_table(options)
    paths.check_report_output(options["output"])
    from sarlearn.cli.report import report

    report(**options)


@app.command(**opt.example("sarlearn audit model.skops patients.csv -n 100 -o to_check.csv"))
@click.argument("model", type=click.Path())
@opt.TABLE
@click.option(
    "-n",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="Rows to suggest.",
)
@opt.OUTPUT
@opt.TABLE_AGAIN[0]
@opt.TABLE_AGAIN[1]
@click.option(
    "--audited",
    type=click.Path(),
    help="File of an earlier audit, filled in: its rows are not suggested again, and its answers "
    "are taken over.",
)
@click.option("--serve", is_flag=True, help="Ask about the rows on a page in the browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="any free one",
    help="Port of the page, on this machine only.",
)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@click.option(
    "--question",
    default="Is this row positive?",
    show_default=True,
    help="What the page asks about each row.",
)
@opt.SEED
@opt.JSON
@opt.FORCE
def audit(**options) -> None:
    """Suggest rows of TABLE to check, so that the share of positives gets surer.

    The rows are drawn by chance, more where the saved MODEL is undecided. Fill in the column
    'audited' of the file, or answer on a page with --serve, which goes on where it was stopped.
    Then fit again with --audited.
    """
    inputs = [options["model"], options["table"], options["audited"] or options["table"]]
    paths.check_audit_output(options["output"])
    paths.check_input(inputs[0], table=False)
    for table in inputs[1:]:
        paths.check_input(table)
    going_on = options["serve"] and os.path.exists(options["output"])
    paths.check_outputs(options["output"], force=options["force"] or going_on, inputs=inputs)
    from sarlearn.cli.audit import audit

    audit(**options)


@app.command(
    **opt.example("sarlearn check patients.csv --label diagnosed --candidates age,insurance,region")
)
@opt.TABLE
@opt.LABEL
@click.option(
    "--candidates",
    multiple=True,
    required=True,
    help="Column that may decide who among the positives gets labelled. May be repeated, or a "
    "list: a,b.",
)
@opt.POSITIVE
@opt.ID
@opt.DROP
@opt.RAW
@opt.DATES
@opt.reading
@click.option("--flexible", is_flag=True, help="Let boosted trees help the class model.")
@click.option(
    "--draws",
    type=click.IntRange(min=19),
    default=199,
    show_default=True,
    help="Data sets simulated for the test.",
)
@click.option(
    "--resamples",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Resamples that show how stable the choice is.",
)
@opt.SEED
@opt.JSON
def check(**options) -> None:
    """Does labelling in TABLE depend on columns, and on which?

    Tests whether one label frequency for all positives is tenable, and suggests columns for
    --propensity among the candidates.
    """
    paths.check_input(options["table"])
    from sarlearn.cli.check import check

    check(**options)


@app.command(**opt.example("sarlearn sql model.skops --table patients -o score.sql"))
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
@opt.FORCE
def sql(**options) -> None:
    """Turn a saved MODEL into a query that scores rows where they are.

    The query gives probability, propensity and posterior beside the columns of the table; the
    posterior is that of unlabelled rows, unless --labelled says which rows are labelled.
    """
    paths.check_input(options["model"], table=False)
    force = options.pop("force")
    paths.check_outputs(options["output"], force=force, inputs=[options["model"]])
    from sarlearn.cli.sql import sql

    sql(**options)


@app.command(**opt.example("sarlearn demo --report demo.html"))
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
    from sarlearn.cli.demo import demo

    demo(report_path)
