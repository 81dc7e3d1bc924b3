"""``sarlearn sql``: a saved model as a query."""

from sarlearn.cli.common import print_text
from sarlearn.saving import load_file
from sarlearn.sql import to_sql
from sarlearn.tables.write import write_atomically


def sql(model: str, table: str, dialect: str, labelled: str | None, output: str | None) -> None:
    """Print or write a query that scores every row of a table."""
    scores = to_sql(load_file(model).model, dialect, labelled=labelled)
    query = scores.select(table.split("."))
    if output is None:
        print_text(query)
        return
    with write_atomically(output) as unfinished:
        unfinished.write_text(query + "\n", encoding="utf-8")
    print_text(f"Wrote {output}.")
