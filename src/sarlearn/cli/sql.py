"""``sarlearn sql``: a saved model as a query."""

import os
from pathlib import Path

from sarlearn.cli.common import check_outputs, print_text
from sarlearn.saving import load_file
from sarlearn.sql import to_sql


def sql(
    model: str, table: str, dialect: str, labelled: str | None, output: str | None, force: bool
) -> None:
    """Print or write a query that scores every row of a table."""
    check_outputs(output, force=force, inputs=[model])
    scores = to_sql(load_file(model).model, dialect, labelled=labelled)
    query = scores.select(table.split("."))
    if output is None:
        print_text(query)
        return
    unfinished = Path(f"{output}.part")
    unfinished.write_text(query + "\n", encoding="utf-8")
    os.replace(unfinished, output)
    print_text(f"Wrote {output}.")
