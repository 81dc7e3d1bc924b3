"""What users wait for: the command line, batches, SQL.

    python -m benchmarks.users                                  # all, batches of a million rows
    python -m benchmarks.users --only batches --rows 20000000   # some 3 GB in TMPDIR

Parts: ``command`` (fit and score 100,000 rows of Adult, where SARLEARN_DATA names the data),
``batches`` (fit and score Parquet files through the command line), ``sql`` (scores by DuckDB).
Every measurement is a process of its own; the peak of memory is the resident set that the system
tells of it. Rows replace those of the same key in ``results/users.csv``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.special import expit

from benchmarks import store

ADULT_ROWS = 100_000
COLUMNS = 20
FILE_ROWS = 500_000


# A process counts the memory of the one that started it as its own first peak; so a small one
# starts what is measured, and says on its last line what it used.
LAUNCHER = """
import json, os, sys
running = os.posix_spawn(sys.executable, [sys.executable, *sys.argv[1:]], os.environ)
_, status, used = os.wait4(running, 0)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def process(arguments: list[str], **environment: str) -> dict:
    """Run this interpreter; CPU and wall seconds, peak memory in MB, and what was printed."""
    given = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | environment
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *arguments],
        capture_output=True,
        text=True,
        env=given,
        cwd=store.HERE.parent,
    )
    wall = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{arguments}: {done.stderr[-2000:]}")
    *printed, last = done.stdout.splitlines(keepends=True)
    cpu, peak = json.loads(last)
    return {"cpu": cpu, "wall": wall, "peak_mb": peak, "printed": "".join(printed)}


def sarlearn(*arguments: str) -> dict:
    found = process(["-m", "sarlearn", *arguments])
    found.pop("printed")
    return found


# -- the parts -----------------------------------------------------------------------------------


def command(folder: Path, rows: int, quick: bool) -> Iterator[dict]:
    """Fit and score a table of numbers and words, as it is typed."""
    if not os.environ.get("SARLEARN_DATA"):
        return
    table, model = folder / "adult.csv", folder / "adult.skops"
    n_columns = write_adult(table, ADULT_ROWS)
    named = ["--label", "labelled", "--propensity", "education,occupation", "--force"]
    fit = sarlearn("fit", str(table), *named, "-o", str(model))
    scored = folder / "scored.csv"
    score = sarlearn("predict", str(model), str(table), "-o", str(scored), "--force")
    for step, found in (("fit", fit), ("score", score)):
        yield {
            "case": "command line, Adult",
            "step": step,
            "rows": ADULT_ROWS,
            "columns": n_columns,
        } | found


def write_adult(path: Path, n_rows: int) -> int:
    """Rows of Adult, drawn again and again, with labels for some incomes above 50,000."""
    import pandas as pd

    source = Path(os.environ["SARLEARN_DATA"]) / "adult" / "adult.data.gz"
    names = "age workclass weight education years_of_education marital occupation relationship"
    names += " race sex gain loss hours country income"
    whole = pd.read_csv(source, names=names.split(), skipinitialspace=True, na_values="?")
    rng = np.random.default_rng(0)
    table = whole.iloc[rng.integers(len(whole), size=n_rows)].reset_index(drop=True)
    chance = expit((table["years_of_education"] - 10) / 2)
    s = (table.pop("income") == ">50K") & (rng.random(n_rows) < chance)
    table.assign(labelled=s.astype(int)).to_csv(path, index=False)
    return table.shape[1]


def batches(folder: Path, rows: int, quick: bool) -> Iterator[dict]:
    """Fit and score Parquet files in batches: float32, numbers only."""
    rows = 200_000 if quick else rows
    data, model = folder / "parts", folder / "parts.skops"
    write_parts(data, rows)
    pattern = str(data / "*.parquet")
    named = ["--label", "labelled", "--propensity", "x0,x1", "--force"]
    fit = sarlearn("fit", pattern, *named, "-o", str(model), "--batches")
    scored = folder / "scored.parquet"
    score = sarlearn("predict", str(model), pattern, "-o", str(scored), "--force")
    size = sum(path.stat().st_size for path in data.iterdir()) / 1e6
    for step, found in (("fit", fit), ("score", score)):
        yield {
            "case": "batches",
            "step": step,
            "rows": rows,
            "columns": COLUMNS,
            "file_mb": size,
        } | found


def write_parts(folder: Path, n_rows: int) -> None:
    """20 columns, two of which decide who gets labelled, in several files; a class for trees."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        n = min(FILE_ROWS, n_rows - first)
        X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
        y = rng.random(n) < expit(3 * (X[:, 0] * X[:, 2] + X[:, 3] ** 2 / 2 + X[:, 4] - 1))
        s = y & (rng.random(n) < expit(0.3 + X[:, 0] - 0.7 * X[:, 1]))
        columns = {f"x{j}": X[:, j] for j in range(COLUMNS)} | {"labelled": s.astype(np.int8)}
        path = folder / f"part{number:04d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=100_000)


SQL = """
import json, sys, time
import duckdb, numpy as np, pandas as pd
from sarlearn import SARClassifier, to_sql
rows = int(sys.argv[1])
rng = np.random.default_rng(0)
table = pd.DataFrame(rng.normal(size=(rows, 10)), columns=list("abcdefghij"))
table["word"] = rng.choice(["one", "two", "three"], rows)
s = (table["a"] > 0) & (rng.random(rows) < 0.5)
model = SARClassifier(["b", "word"]).fit(table[:20000], s[:20000])
query = to_sql(model, "duckdb").select("t")
database = duckdb.connect(config={"threads": 1})
database.register("t", table)
start = time.process_time()
scored = database.execute(query).df()
by_sql = time.process_time() - start
start = time.process_time()
expected = model.predict_proba(table)[:, 1]
apart = float(np.abs(scored["probability"] - expected).max())
print(json.dumps({"cpu": by_sql, "ratio": (time.process_time() - start) / by_sql, "apart": apart}))
"""


def sql(folder: Path, rows: int, quick: bool) -> Iterator[dict]:
    """Scores by DuckDB against those of Python."""
    if quick:
        return
    size = 1_000_000
    found = process(["-c", SQL, str(size)])
    measured = json.loads(found["printed"])
    yield {"case": "SQL, DuckDB", "step": "score", "rows": size, "columns": 11} | measured


PARTS = {
    "command": command,
    "batches": batches,
    "sql": sql,
}


def run(part: str, folder: Path, rows: int = 1_000_000, quick: bool = False) -> None:
    """One part; what it finds goes to the results as it comes."""
    with tempfile.TemporaryDirectory() as work:
        for row in PARTS[part](Path(work), rows, quick):
            row.pop("printed", None)
            store.merge("users", [row | {"load": os.getloadavg()[0]}], folder)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of batches")
    chosen = parser.parse_args(arguments)
    for part in chosen.only:
        run(part, store.RESULTS, chosen.rows)


if __name__ == "__main__":
    main()
