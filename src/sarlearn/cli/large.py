"""Tables of any size: Parquet or Arrow files chunk by chunk, or in parts on a Dask cluster."""

import contextlib
import os
import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn._words import no_file
from sarlearn.backends.batch_source import Batches, ahead, dataset_of, read_batches, rechunked
from sarlearn.backends.memory import free_memory
from sarlearn.cli.table import (
    Roles,
    audit_columns,
    check_audit_columns,
    check_enough,
    is_file,
    read_audits,
    read_filled,
    with_negatives,
)
from sarlearn.tables.audits import spread_answers
from sarlearn.tables.columns import as_frame, values_of
from sarlearn.tables.labels import Labels
from sarlearn.tables.read import (
    Source,
    find_dialect,
    is_several,
    padded_columns,
    read_parts,
    table_kind,
)

# Rows that are looked at for the report.
SAMPLE_ROWS = 50_000
# Memory that fit takes at most, in bytes per row and column: a column of words becomes several.
NUMBER_BYTES, WORD_BYTES = 120, 450
# Share of the free memory that it may take.
ENOUGH = 0.8
CHUNK_ROWS = 2**16
ANSWER_WITHIN = "10s"  # a scheduler that is there


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


class BatchTable:
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
        self.columns = self.roles.learned_from(self.columns)
        counts = self._count_labels()
        values = list(counts)
        column = nw.new_series(self.roles.label, values, backend="pyarrow")
        self.labels: Labels = self.roles.labels(column)
        self._meaning = dict(zip(values, self.labels.labelled.tolist(), strict=True))
        self.n_rows = sum(counts.values())
        self.n_labelled = sum(n for value, n in counts.items() if self._meaning[value])
        check_enough(self.n_labelled, self.n_rows, self.roles.label)

    def _count_labels(self) -> dict[Any, int]:
        """How often each value of the label column occurs; that many, as they come first."""
        import pyarrow as pa

        kind = self._data.schema.field(self.roles.label).type
        if pa.types.is_nested(kind):
            raise ValueError(f"The label column {self.roles.label!r} holds lists or records.")
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

    def learned_from(self) -> tuple[Batches, str]:
        """The columns in use with labels as 0 and 1 and the weight; and which one is the label."""
        beside = [self.roles.label, *([self.roles.weight] if self.roles.weight else [])]
        names = [*self.columns, *beside]
        parts = Batches(lambda: map(self._with_labels, read_batches(self._data, names)))
        return parts, self.roles.label

    def known(self) -> dict[str, Any]:
        """What ``fit`` is told beside the labels."""
        return {"sample_weight": self.roles.weight} if self.roles.weight else {}

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
        return some.to_pandas(), some.column(self.roles.label).to_numpy().astype(int)


def chunks(table: str, **reading) -> Iterator:
    """A table in data frames of some rows each, all columns; a workbook, or a pipe, at once."""
    if is_columnar(table):
        return ahead(rechunked(read_batches(dataset_of(table)), CHUNK_ROWS))
    return read_parts(table, CHUNK_ROWS, **reading)


class DaskTable:
    """The files that a pattern names, on a cluster, with their labels (lazy) and audits."""

    def __init__(self, pattern: str, roles: Roles, audited: str | None, probability: str | None):
        from sarlearn.backends.dask_read import each_partition

        self.parts = read_partitions(pattern, roles.id_column)
        self.roles = roles.in_table(self.parts)
        self.columns = self.roles.learned_from(self.parts.columns)
        label = self.roles.label
        seen = each_partition(self.parts[[label]], _distinct, label)
        different = _series(sorted(set().union(*seen), key=str))
        self.labels = self.roles.labels(different)
        self.s = self.parts[label].map_partitions(
            _labels, self.roles, self.labels.word, meta=(label, np.int64)
        )
        counts = np.sum(each_partition(self.s.to_frame(), _counts, label), axis=0)
        self.n_rows, self.n_labelled = map(int, counts)
        check_enough(self.n_labelled, self.n_rows, label)
        self._audits = self._read_audits(audited, probability)
        if roles.negative:
            parts = each_partition(self.parts[[label]], _negative, self.roles, self.labels.word)
            self._audits = with_negatives(self._audits, np.concatenate(parts))

    def learned_from(self):
        """The columns to learn from and the labels, where they lie."""
        return self.parts[self.columns], self.s

    def known(self) -> dict[str, Any]:
        """What ``fit`` is told beside the labels."""
        return self._audits

    def sample(self) -> tuple[Any, np.ndarray]:
        """Evenly spaced rows of the table, brought here, and their labels."""
        import pandas as pd

        from sarlearn.backends.dask_read import each_partition

        label, every = self.roles.label, -(-self.n_rows // SAMPLE_ROWS)
        both = self.parts.assign(**{label: self.s})
        part = pd.concat(each_partition(both, _every, every), ignore_index=True)
        return part, part[label].to_numpy()

    def _read_audits(self, audited: str | None, probability: str | None) -> dict[str, np.ndarray]:
        """Of the table come only the columns, or the rows, with answers."""
        id_column = self.roles.id_column
        if audited is None:
            return {}
        if is_file(audited):
            filled = read_filled(audited, id_column)
            return spread_answers(
                filled, self.n_rows, lambda rows: take(self.parts, rows), id_column
            )
        check_audit_columns(self.parts, audited, probability)
        named = audit_columns(audited, probability)
        return read_audits(audited, probability, self.parts[named].compute(), id_column)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address; ``local`` starts one with this machine's cores."""
    try:
        import dask.dataframe  # noqa: F401
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--dask needs Dask: pip install 'dask[complete]'") from error
    with contextlib.ExitStack() as stack:
        if address == "local":
            address = stack.enter_context(LocalCluster(dashboard_address=":0", silence_logs=50))
        try:
            client = stack.enter_context(Client(address, timeout=ANSWER_WITHIN))
        except (OSError, ValueError) as error:  # the latter where it is no address
            raise ValueError(f"--dask: no scheduler answers at {address}.") from error
        print(f"Dask dashboard: {client.dashboard_link}", file=sys.stderr)
        yield client


def read_partitions(pattern: str, id_column: str | None):
    """The files that a pattern names, as one Dask DataFrame."""
    import dask.dataframe as dd

    files = sorted(glob(pattern)) or [pattern]
    endings = {Path(name).suffix for name in files}
    if not Path(files[0]).exists():
        raise FileNotFoundError(no_file(pattern))
    if endings <= {".parquet", ".pq"} or Path(files[0]).is_dir():
        return dd.read_parquet(files if len(files) > 1 else files[0])
    if endings == {".csv"}:
        source = Source(files[0], Path(files[0]))
        codes = padded_columns(source, find_dialect(source), CHUNK_ROWS)
        as_text = {*codes, id_column} - {None}
        return dd.read_csv(files, dtype=dict.fromkeys(as_text, str))
    raise ValueError(
        f"--dask reads Parquet (.parquet) and CSV (.csv) files, all of one kind; {pattern} names "
        f"{', '.join(sorted(endings))}."
    )


def take(table, rows: np.ndarray):
    """Rows of the table, by their numbers, brought here in that order."""
    import dask
    import pandas as pd

    from sarlearn.backends.dask_read import each_partition

    ends = np.cumsum(each_partition(table, len))
    order = np.argsort(rows)
    cuts = np.split(rows[order], np.searchsorted(rows[order], ends[:-1]))
    parts = [
        table.partitions[k].map_partitions(_at, cut - (ends[k - 1] if k else 0), meta=table._meta)
        for k, cut in enumerate(cuts)
        if len(cut)
    ]
    found = pd.concat(dask.compute(*parts), ignore_index=True)
    return found.iloc[np.argsort(order)]


def _series(values):
    import pandas as pd

    return pd.Series(values, dtype=object)


def _distinct(part, label: str) -> set:
    return set(values_of(as_frame(part)[label]))


def _labels(part, roles: Roles, word: str):
    labelled = roles.labels(part, word=word, must_occur=False).labelled
    return part.__class__(labelled.astype(np.int64), index=part.index, name=roles.label)


def _negative(part, roles: Roles, word: str) -> np.ndarray:
    return roles.labels(part[roles.label], word=word, must_occur=False).negative


def _counts(part, label: str) -> np.ndarray:
    return np.array([len(part), int(part[label].sum())])


def _at(part, rows: np.ndarray):
    return part.iloc[rows]


def _every(part, every: int):
    return part.iloc[::every]
