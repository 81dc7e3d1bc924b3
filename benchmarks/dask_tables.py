"""Tables of the Dask part, and from its measurements what larger clusters would take."""

import math
from pathlib import Path

from benchmarks.store import load, number
from benchmarks.tables import Table, short

GOAL_OVERHEAD, GOAL_TINY = 1.3, 0.3
# The calculation: a cluster of machines with this many cores each, a network of so many bytes a
# second with so much delay per message, and sums added by eight.
FAR_ROWS, CORES = 10**10, 16
NETWORK_BYTES, LATENCY, FAN_IN = 1e9, 1e-3, 8
ROW_BYTES, ITERATIONS = 160, 60
# "The scheduler adds about one millisecond of overhead per task" (Dask, Best Practices).
SCHEDULER_TASK = 1e-3


def dask_tables(folder: Path) -> list[Table]:
    rows = load("dask", folder)
    return [measured(rows), calculated(rows)] if rows else []


def measured(rows: list[dict]) -> Table:
    header = ["case", "rows", "GB", "workers", "wall s", "iterations", "s per pass"]
    header += ["peak GB per worker", "against memory, two threads"]
    body = []
    memory = {row["rows"]: row for row in rows if row["case"] == "memory"}
    for row in rows:
        own, other = number(row, "wall"), number(memory.get(row["rows"]), "wall")
        ratio = ""
        if row["case"] == "rows" and own and other:
            ratio = f"{own / other:.2f}"
        body.append(
            [
                row["case"],
                f"{int(row['rows']):,}",
                short(number(row, "data_gb"), 2),
                row["workers"],
                short(number(row, "wall")),
                row.get("iterations", ""),
                short(number(row, "pass_seconds")),
                short(number(row, "peak_worker_gb"), 2),
                ratio,
            ]
        )
    note = (
        "LocalCluster, one thread per worker process, 20 columns, propensity from two of them. "
        "`rows`: held on the workers beforehand; `memory`: the same rows in this process on two "
        "threads; `tiny`: 40 partitions of 100 rows, which are worked on together; `larger`: "
        "rows made anew in every pass, because they do not fit the workers' memory. Goals: at "
        f"5,000,000 rows and two workers at most {GOAL_OVERHEAD} times the time in memory; `tiny` "
        f"at most {GOAL_TINY} s per iteration."
    )
    return Table("Dask", header, body, note)


def costs(rows: list[dict]) -> tuple[float, float, float] | None:
    """Seconds of a core per row and pass, seconds per pass beside that, bytes of an answer.

    From the largest fit with one worker, and from the tiny one, whose rows cost nothing.
    """
    single = [row for row in rows if row["case"] == "rows" and row["workers"] == "1"]
    tiny = [row for row in rows if row["case"] == "tiny"]
    if not single or not tiny or not all(number(row, "pass_seconds") for row in (*single, *tiny)):
        return None
    largest = max(single, key=lambda row: int(row["rows"]))
    fixed = number(tiny[0], "pass_seconds")
    a_row = (number(largest, "pass_seconds") - fixed) / int(largest["rows"])
    return a_row, fixed, number(largest, "received_bytes")


def calculated(rows: list[dict]) -> Table:
    from sarlearn.backends.dask_read import KEPT_BYTES, TASK_BYTES  # needs Dask

    header = ["workers", "cores used", "rows per core", "computing s", "scheduling s"]
    header += ["adding s", "s per pass"]
    header += [f"h for {ITERATIONS} passes", "GB per worker"]
    found = costs(rows)
    body = []
    for workers in (10, 100, 1000) if found else ():
        a_row, fixed, answer = found
        cores = min(workers * CORES, math.isqrt(FAR_ROWS * ROW_BYTES // TASK_BYTES))
        share = FAR_ROWS / cores
        tasks = cores * -(-share * ROW_BYTES // KEPT_BYTES)
        computing = share * a_row
        scheduling = tasks * (1 + 1 / (FAN_IN - 1)) * SCHEDULER_TASK
        levels = _levels(tasks)
        adding = levels * (LATENCY + FAN_IN * answer / NETWORK_BYTES)
        a_pass = max(computing, scheduling) + adding + fixed
        body.append(
            [
                f"{workers:,}",
                f"{cores:,}",
                f"{share:,.0f}",
                short(computing),
                short(scheduling),
                short(adding, 2),
                short(a_pass),
                short(a_pass * ITERATIONS / 3600, 2),
                short(FAR_ROWS * ROW_BYTES / workers / 1e9),
            ]
        )
    note = (
        f"Not measured: calculated for {FAR_ROWS:,} rows x 20 columns (1.6 TB), workers of {CORES} "
        f"cores, kept in memory where the last column fits; one task per core and pass, up to "
        f"{KEPT_BYTES / 1e9:.1f} GB, on as many cores as pay for their scheduling. Measured here: "
        + (
            f"{found[0] * 1e9:.0f} ns of a core per row and pass, {found[1] * 1e3:.0f} ms per pass "
            f"beside that, answers of {found[2] / 1e3:.1f} kB. "
            if found
            else "nothing yet. "
        )
        + f"Assumed: a scheduler that hands out a task in {SCHEDULER_TASK * 1e3:.0f} ms, "
        f"one after the other, while workers compute; a network of {NETWORK_BYTES / 1e9:.0f} GB/s "
        f"and {LATENCY * 1e3:.0f} ms per message; cores as fast as the one here, all of them at "
        "once; no failures. The scheduler is the limit: more cores than are used would wait for it."
    )
    return Table("Ten billion rows", header, body, note)


def _levels(tasks: float) -> int:
    levels = 0
    while tasks > 1:
        tasks, levels = -(-tasks // FAN_IN), levels + 1
    return levels
