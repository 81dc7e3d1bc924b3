"""Tables in Parquet or Arrow files, of any size: chunk by chunk, and whether they would fit."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from sarlearn.backends.batches import Batches
from sarlearn.backends.batches.source import ahead, dataset_of, read_batches, rechunked
from sarlearn.backends.memory import free_memory
from sarlearn.cli.common import Roles, check_enough
from sarlearn.tables.formats import is_several, table_kind
from sarlearn.tables.labels import Labels, parse_labels
from sarlearn.tables.read import table_backend

# Rows that are looked at for the report.
SAMPLE_ROWS = 50_000
# Memory that fit takes at most, in bytes per row and column: a column of words becomes several.
NUMBER_BYTES, WORD_BYTES = 120, 450
# Share of the free memory that it may take.
ENOUGH = 0.8
CHUNK_ROWS = 2**16


def is_columnar(table: str) -> bool:
    """Whether a table lies in Parquet or Arrow files, which are read in parts."""
    if is_several(table):
        return True
    return os.path.isfile(table) and table_kind(table) in ("parquet", "arrow")


def in_batches(table: str, wanted: bool | None) -> bool:
    """Whether to fit in batches: as the user says, else where memory would not do."""
    if wanted is False or (wanted is None and not is_columnar(table)):
        return False
    if not is_columnar(table):
        raise ValueError(
            f"--batches reads Parquet (.parquet) and Arrow (.arrow) files, a folder of them, or a "
            f"pattern such as 'data/*.parquet'; got {table}."
        )
    return bool(wanted) or needed_memory(table) > ENOUGH * free_memory()


def needed_memory(table: str) -> float:
    """About the bytes that fitting a table in memory takes."""
    import pyarrow as pa

    data = dataset_of(table)
    kinds = data.schema.types
    n_numbers = sum(pa.types.is_integer(k) or pa.types.is_floating(k) for k in kinds)
    per_row = NUMBER_BYTES * n_numbers + WORD_BYTES * (len(kinds) - n_numbers)
    return float(data.count_rows() * per_row)


class LargeTable:
    """A table whose labels are understood, to be read chunk by chunk.

    Parameters
    ----------
    table : str
        A file, a folder or a pattern.
    roles : Roles
        As the user gave them; those of the table are in ``roles``.
    """

    def __init__(self, table: str, roles: Roles):
        import narwhals as nw

        self._data = dataset_of(table)
        self.columns = list(self._data.schema.names)
        self.roles = roles.in_table(self)
        counts = self._count_labels()
        values = list(counts)
        column = nw.new_series(self.roles.label, values, backend="pyarrow")
        self.labels: Labels = parse_labels(column, self.roles.label, positive=self.roles.positive)
        self._meaning = dict(zip(values, self.labels.labelled.tolist(), strict=True))
        self.n_rows = sum(counts.values())
        self.n_labelled = sum(n for value, n in counts.items() if self._meaning[value])
        check_enough(self.n_labelled, self.n_rows, self.roles.label)

    def _count_labels(self) -> dict[Any, int]:
        """How often each value of the label column occurs; that many, as they come first."""
        counts: dict[Any, int] = {}
        for batch in read_batches(self._data, [self.roles.label]):
            for each in batch.column(0).value_counts().to_pylist():
                counts[each["values"]] = counts.get(each["values"], 0) + each["counts"]
            if len(counts) > 1000:
                raise ValueError(
                    f"The label column {self.roles.label!r} holds more than 1,000 values; name the "
                    "one that says which rows are labelled."
                )
        return counts

    def batches(self) -> Batches:
        """What to learn from: the columns in use, labels as 0 and 1, and the weight."""
        out = {*self.roles.left_out} - {self.roles.label, self.roles.weight}
        names = [name for name in self.columns if name not in out]
        return Batches(lambda: map(self._with_labels, read_batches(self._data, names)))

    def _with_labels(self, batch):
        import pyarrow as pa

        place = batch.schema.get_field_index(self.roles.label)
        labelled = pa.array(self._labelled(batch.column(place)).astype(np.int8))
        return batch.set_column(place, self.roles.label, labelled)

    def _labelled(self, column) -> np.ndarray:
        coded = column.dictionary_encode(null_encoding="encode")
        meanings = np.array([self._meaning[v] for v in coded.dictionary.to_pylist()], dtype=bool)
        return meanings[coded.indices.to_numpy(zero_copy_only=False)]

    def sample(self) -> tuple[Any, np.ndarray]:
        """Evenly spaced rows as a data frame, all columns, and their labels."""
        import pyarrow as pa

        every, first, parts = -(-self.n_rows // SAMPLE_ROWS), 0, []
        for batch in ahead(read_batches(self._data)):
            parts.append(batch.take(pa.array(range(-first % every, len(batch), every))))
            first += len(batch)
        some = pa.Table.from_batches([self._with_labels(part) for part in parts])
        return data_frame(some), some.column(self.roles.label).to_numpy().astype(int)


def chunks(table: str) -> Iterator:
    """A table of Parquet or Arrow files in Arrow tables of some rows each, all columns."""
    return ahead(rechunked(read_batches(dataset_of(table)), CHUNK_ROWS))


def data_frame(table):
    """An Arrow table in the library that tables are read with."""
    if table_backend() == "pandas":
        return table.to_pandas()
    import polars as pl

    return pl.from_arrow(table)
