"""Names of encoded columns, from which the column of the table can be told."""

import re


def output_name(column: str, category: str | None = None) -> str:
    """The name of an encoded column: ``age``, or ``insurance=private``.

    Backslashes escape ``=`` in the table's own names, so the origin can always be told.
    """
    escaped = column.replace("\\", "\\\\").replace("=", "\\=")
    return escaped if category is None else f"{escaped}={category}"


def origin(name: str) -> str:
    """The table column an encoded column came from; undoes :func:`output_name`."""
    column = re.match(r"(?:[^\\=]|\\.)*", name, re.DOTALL)
    return re.sub(r"\\(.)", r"\1", column.group() if column else name, flags=re.DOTALL)
