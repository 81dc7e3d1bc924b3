"""``sarlearn fit --dask``: tables in many files, on a Dask cluster."""

import contextlib
import sys
from collections.abc import Iterator
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from sarlearn.cli import evidence, large
from sarlearn.cli.common import Roles, check_enough
from sarlearn.tables.audits import spread_answers
from sarlearn.tables.columns import as_frame, values_of
from sarlearn.tables.labels import parse_labels

ANSWER_WITHIN = "10s"  # a scheduler that is there


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address; ``local`` starts one with this machine's cores."""
    try:
        import dask.dataframe  # noqa: F401
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ImportError("--dask needs Dask: pip install 'sarlearn[dask]'") from error
    with contextlib.ExitStack() as stack:
        if address == "local":
            address = stack.enter_context(LocalCluster(dashboard_address=":0", silence_logs=50))
        try:
            client = stack.enter_context(Client(address, timeout=ANSWER_WITHIN))
        except OSError as error:
            raise ValueError(f"--dask: no scheduler answers at {address}.") from error
        print(f"Dask dashboard: {client.dashboard_link}", file=sys.stderr)
        yield client


def read_partitions(pattern: str, id_column: str | None):
    """The files that a pattern names, as one Dask DataFrame."""
    import dask.dataframe as dd

    files = sorted(glob(pattern)) or [pattern]
    endings = {Path(name).suffix for name in files}
    if not Path(files[0]).exists():
        raise FileNotFoundError(f"There is no file {pattern}.")
    if endings <= {".parquet", ".pq"} or Path(files[0]).is_dir():
        return dd.read_parquet(files if len(files) > 1 else files[0])
    if endings == {".csv"}:
        return dd.read_csv(files, dtype={id_column: str} if id_column else None)
    raise ValueError(
        f"--dask reads Parquet (.parquet) and CSV (.csv) files, all of one kind; {pattern} names "
        f"{', '.join(sorted(endings))}."
    )


def read_labelled(pattern: str, roles: Roles):
    """The table, labels 0 and 1 of its rows (lazy), how they are written, counts, and roles."""
    from sarlearn.backends.dask.read import each_partition

    table = read_partitions(pattern, roles.id_column)
    roles = roles.in_table(table)
    label = roles.label
    seen = each_partition(table[[label]], _distinct, label)
    different = _series(sorted(set().union(*seen), key=str))
    labels = parse_labels(different, label, positive=roles.positive)
    s = table[label].map_partitions(
        _labels, label, labels.word, roles.positive, meta=(label, np.int64)
    )
    counts = np.sum(each_partition(s.to_frame(), _counts, label), axis=0)
    check_enough(int(counts[1]), int(counts[0]), label)
    return table, s, labels, counts, roles


def read_audits(
    audited: str | None, probability: str | None, table, n_rows: int, id_column: str | None
) -> dict[str, np.ndarray]:
    """What ``fit`` takes about audits; of the table come the columns, or rows, with answers."""
    if audited is None:
        return {}
    if evidence.is_file(audited):
        filled = evidence.read_filled(audited, id_column)
        return spread_answers(filled, n_rows, lambda rows: take(table, rows), id_column)
    evidence.check_audit_columns(table, audited, probability)
    named = evidence.audit_columns(audited, probability)
    return evidence.read_audits(audited, probability, table[named].compute(), id_column)


def take(table, rows: np.ndarray):
    """Rows of the table, by their numbers, brought here in that order."""
    import dask
    import pandas as pd

    from sarlearn.backends.dask.read import each_partition

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


def sample(table, s, n_rows: int, label: str):
    """Evenly spaced rows of the table, brought here, and their labels."""
    import pandas as pd

    from sarlearn.backends.dask.read import each_partition

    every = -(-n_rows // large.SAMPLE_ROWS)
    both = table.assign(**{label: s})
    part = pd.concat(each_partition(both, _every, every), ignore_index=True)
    return part, part[label].to_numpy()


def _series(values):
    import pandas as pd

    return pd.Series(values, dtype=object)


def _distinct(part, label: str) -> set:
    return set(values_of(as_frame(part)[label]))


def _labels(part, label: str, word: str, positive: str | None):
    found = parse_labels(part, label, word=word, positive=positive, must_occur=False)
    labelled = found.labelled
    return part.__class__(labelled.astype(np.int64), index=part.index, name=label)


def _counts(part, label: str) -> np.ndarray:
    return np.array([len(part), int(part[label].sum())])


def _at(part, rows: np.ndarray):
    return part.iloc[rows]


def _every(part, every: int):
    return part.iloc[::every]
