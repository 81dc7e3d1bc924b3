"""Run the benchmarks: ``python -m benchmarks.run [--quick] [--only PART ...]``.

Parts are the keys of the workloads (a to f, and the real ones where SARLEARN_DATA is set),
``learner``, ``scaling``, ``startup``, ``users`` and ``dask``. Every measurement is a
process of its own, one after the other. A full run renews the tracked results, the tables in
README.md and the figure; a quick one measures what limits are set for (workload c, the learner,
the start, the command line), goes to ``results/quick`` and only prints.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import report, startup, store, users
from benchmarks.dask_measure import ROW_BYTES
from benchmarks.learner import CASES, Case
from benchmarks.workloads import Workload, available

OTHER_PARTS = ["learner", "scaling", "startup", "users", "dask"]
# What a quick run has limits for.
QUICK_PARTS = ["c", "learner", "startup", "users"]
SCALING_ROWS = [5_000, 16_000, 50_000, 160_000, 500_000, 1_600_000, 5_000_000]
UNPACKED = {"a", "newsgroups"}  # sparse, and small enough for the naive way to unpack


@dataclass(frozen=True)
class Plan:
    """What is measured, and how much is spent on each measurement (seconds)."""

    quick: bool = False
    methods: tuple[str, ...] = (
        "slope", "slope_numpy", "fixed_point", "naive", "naive_csr", "pysarpu"
    )  # fmt: skip
    two_threads: bool = True
    naive_limit: float = 120.0
    peer_limit: float = 25.0
    repeat_seconds: float = 6.0
    scaling_rows: tuple[int, ...] = tuple(SCALING_ROWS)
    dtypes: tuple[str, ...] = ("float64", "float32")
    rounds: int = 9
    dask_rows: tuple[int, ...] = (1_000_000, 5_000_000, 20_000_000, 50_000_000)
    dask_rows_of_one: int = 20_000_000  # workers compared up to here: more only takes longer
    dask_block_rows: int = 250_000
    larger_gb: float = 10.0
    larger_limit: float = 1.0


FULL = Plan()
QUICK = Plan(
    quick=True,
    methods=("slope", "naive"),
    two_threads=False,
    naive_limit=3.0,
    peer_limit=2.0,
    repeat_seconds=0.5,
    scaling_rows=(5_000, 50_000, 250_000),
    dtypes=("float64",),
    rounds=2,
    dask_rows=(200_000,),
    dask_block_rows=50_000,
    larger_gb=0.0,
)


def job(
    threads: int = 1, timeout: float = 1800.0, module: str = "benchmarks.measure", **what
) -> dict:
    """Do one measurement in a fresh process; ``failed`` in the result says that it did not work."""
    count = str(threads)
    environment = os.environ | {
        "OMP_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
    }
    command = [sys.executable, "-m", module, json.dumps(what)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=timeout,
            env=environment,
            cwd=store.HERE.parent,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"no end within {timeout:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        said = lines[-1] if lines else f"ended with code {done.returncode}"
        return {"failed": said.removeprefix("benchmarks.contestants.DidNotFinish: ")}
    return json.loads(done.stdout.splitlines()[-1])


Step = Callable[[], None]


class Benchmark:
    """The steps of a run, and the rows they leave."""

    def __init__(self, plan: Plan, folder: Path, saved: Path):
        self.plan, self.folder, self.saved = plan, folder, saved

    def steps(self, parts: list[str]) -> list[tuple[str, Step]]:
        """What there is to do, in order, each with a title."""
        out: list[tuple[str, Step]] = [("machine", self.machine)]
        for workload in available():
            if workload.key in parts:
                out += self._workload_steps(workload)
        if "scaling" in parts:
            for rows in self.plan.scaling_rows:
                out.append((f"scaling, {rows:,} rows", lambda rows=rows: self.scaling(rows)))
        if "learner" in parts:
            cases = [case for case in CASES if case.quick or not self.plan.quick]
            out += [(f"a fit of {case.name}", partial(self.cost, case)) for case in cases]
            out.append(("bootstrap", partial(self.learner, "bootstrap", kind="bootstrap")))
            out.append(("first fit", partial(self.learner, "first fit", kind="first")))
        if "startup" in parts:
            out.append(("start-up", self.startup))
        if "users" in parts:
            for name in users.PARTS:
                step = partial(users.run, name, self.folder, quick=self.plan.quick)
                out.append((f"users, {name}", step))
        if "dask" in parts:
            out += self._dask_steps()
        return out

    def _workload_steps(self, workload: Workload) -> list[tuple[str, Step]]:
        rows: dict[str, dict] = {}
        title = f"workload {workload.key}: "
        methods = [
            method
            for method in self.plan.methods
            if method != "naive_csr" or workload.key in UNPACKED
        ]
        out = [
            (f"{title}{method}", lambda method=method: self.fit(workload, method, rows))
            for method in methods
        ]
        if "fixed_point" in methods:
            out.append((f"{title}distances", lambda: self.distances(workload, rows)))
        return out

    def fit(self, workload: Workload, method: str, rows: dict) -> None:
        """One contestant on one workload: with one thread, and with two where it ended soon."""
        plan = self.plan
        size = workload.quick_rows if plan.quick else workload.rows
        if method == "pysarpu" and workload.key == "f":
            self._keep(workload, method, rows, {"note": "takes dense arrays only: 16 GB of X"})
            return
        what = {
            "kind": "fit",
            "workload": workload.key,
            "method": method,
            "rows": size,
            "limit": plan.peer_limit if method == "pysarpu" else plan.naive_limit,
            "repeat_seconds": plan.repeat_seconds * (1 if plan.quick or method != "naive" else 4),
            "saved": str(self.saved),
        }
        load = os.getloadavg()[0]
        result = job(**what)
        if "failed" in result:
            self._keep(workload, method, rows, {"note": result["failed"]})
            return
        result |= {"wall_1": result.pop("wall"), "load": load}
        # liblinear knows one thread only: its second run would only cost time.
        if plan.two_threads and not method.startswith("naive") and not result["extrapolated"]:
            two = job(threads=2, record=False, **what)
            result["wall_2"] = two.get("wall", "")
        elif result["extrapolated"]:
            result["wall_1"] = ""
        self._keep(workload, method, rows, result)

    def _keep(self, workload: Workload, method: str, rows: dict, result: dict) -> None:
        """Put a contestant's row into the results, and where its distances will be added."""
        named = {"workload": workload.key, "method": method, "title": workload.title}
        rows[method] = result | named
        store.merge("workloads", [rows[method]], self.folder)

    def distances(self, workload: Workload, rows: dict) -> None:
        """Distances of all endpoints of a workload; its rows are then complete."""
        size = workload.quick_rows if self.plan.quick else workload.rows
        result = job(kind="distances", workload=workload.key, rows=size, saved=str(self.saved))
        for method, row in rows.items():
            row |= result.get(method, {})
        if "failed" not in result:
            tight = ("tight_iterations", "tight_converged", "residual_f", "residual_e")
            rows["fixed_point"] |= {name: result[name] for name in tight}
        store.merge("workloads", list(rows.values()), self.folder)

    def cost(self, case: Case) -> None:
        repeats = 1 if case.rows > 50_000 else max(self.plan.rounds, 2) if case.rows < 1000 else 2
        size = {"rows": case.rows, "columns": case.columns, "is_sparse": case.sparse}
        self.learner(case.name, kind="cost", repeats=repeats, **size)

    def learner(self, name: str, **what) -> None:
        """A measurement of the one learner."""
        found = job(module="benchmarks.learner", **what)
        store.merge("learner", [{"case": name, **found}], self.folder)

    def scaling(self, rows: int) -> None:
        made = []
        for method in ("slope", "fixed_point"):
            for dtype in self.plan.dtypes:
                seconds = self.plan.repeat_seconds
                result = job(
                    kind="scale", rows=rows, method=method, dtype=dtype, repeat_seconds=seconds
                )
                made.append({"rows": rows, "method": method, "dtype": dtype, **result})
        store.merge("scaling", made, self.folder)

    def _dask_steps(self) -> list[tuple[str, Step]]:
        plan = self.plan
        cases = [("tiny", 4000, 2)]
        for rows in plan.dask_rows:
            cases += [("rows", rows, 2), ("memory", rows, 2)]
            if rows <= plan.dask_rows_of_one:
                cases.append(("rows", rows, 1))
        if plan.larger_gb:
            cases.append(("larger", int(plan.larger_gb * 1e9 / ROW_BYTES), 2))
        return [
            (f"Dask, {name}, {rows:,} rows, {workers}", partial(self.dask, name, rows, workers))
            for name, rows, workers in cases
        ]

    def dask(self, case: str, rows: int, workers: int) -> None:
        """Rows held on workers; in memory; forty tiny partitions; more rows than memory."""
        plan, what = self.plan, {"rows": rows, "block_rows": self.plan.dask_block_rows}
        what |= {"max_iter": 10 if case == "larger" else 500, "module": "benchmarks.dask_measure"}
        if case == "memory":
            result = job(threads=2, timeout=3600, kind="memory", **what)
        else:
            what["block_rows"] = 100 if case == "tiny" else what["block_rows"]
            limit = plan.larger_limit if case == "larger" else None
            keep = case != "larger"
            what |= {"workers": workers, "memory_gb": limit, "keep": keep}
            result = job(timeout=7200, kind="dask", **what)
        row = {"case": case, "rows": rows, "workers": workers, **result}
        store.merge("dask", [row], self.folder)

    def startup(self) -> None:
        store.merge("startup", startup.measure(self.plan.rounds), self.folder)

    def machine(self) -> None:
        load = " ".join(f"{value:.1f}" for value in os.getloadavg())
        facts = job(kind="machine") | {"load before the run (1, 5, 15 min)": load}
        rows = [{"what": name, "value": value} for name, value in facts.items()]
        store.merge("machine", rows, self.folder)


def main(arguments: list[str] | None = None) -> None:
    known = [workload.key for workload in available()] + OTHER_PARTS
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, under three minutes")
    parser.add_argument(
        "--only", nargs="+", choices=known, metavar="PART", help=f"parts: {', '.join(known)}"
    )
    chosen = parser.parse_args(arguments)
    plan = QUICK if chosen.quick else FULL
    folder = store.RESULTS / "quick" if chosen.quick else store.RESULTS
    console = Console()
    columns = [
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    ]
    with tempfile.TemporaryDirectory() as saved, Progress(*columns, console=console) as progress:
        parts = chosen.only or (QUICK_PARTS if plan.quick else known)
        steps = Benchmark(plan, folder, Path(saved)).steps(parts)
        bar = progress.add_task("", total=len(steps))
        for title, step in steps:
            progress.update(bar, description=title)
            step()
            progress.advance(bar)
        progress.update(bar, description="done")
    report.show(folder, console)
    if not chosen.quick:
        report.write(folder)


if __name__ == "__main__":
    main()
