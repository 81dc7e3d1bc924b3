"""The tables of a run, from its CSVs: the same rows for the terminal and for README.md."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.learner import CASES, SAID
from benchmarks.store import load, number

# The workload that a limit is set for: times faster than the naive way at the paper's stop.
FASTER = {"c": 80}
STARTUP = {"import sarlearn": 0.35, "sarlearn --help": 0.25}
# CPU seconds to fit Adult's rows; million rows a CPU minute, and memory, to score from files.
COMMAND_CPU, SCORED, SCORE_MB = 12.0, 1.0, 1000.0
NAMES = {
    "slope": "sarlearn, slope",
    "slope_numpy": "sarlearn, slope, NumPy alone",
    "fixed_point": "sarlearn, fixed point",
    "naive": "naive",
    "naive_csr": "naive, kept sparse",
    "pysarpu": "pysarpu",
}


@dataclass
class Table:
    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""


def tables(folder: Path) -> list[Table]:
    """All that can be made of what was run."""
    made = [limits(folder), learner(folder), speed(folder), detail(folder), endpoints(folder)]
    made += [scaling(folder), startup(folder), users(folder), machine(folder)]
    return [table for table in made if table.rows]


def by_workload(folder: Path) -> dict[str, dict[str, dict]]:
    """Rows of each workload by method."""
    out: dict[str, dict[str, dict]] = {}
    for row in load("workloads", folder):
        out.setdefault(row["workload"], {})[row["method"]] = row
    return dict(sorted(out.items(), key=lambda item: (len(item[0]) > 1, item[0])))


def ratio(rows: dict[str, dict], slow: str, fast: str = "slope") -> float | None:
    """How many times the CPU seconds of one contestant another needs."""
    a, b = number(rows.get(slow), "cpu"), number(rows.get(fast), "cpu")
    return None if a is None or b is None else a / b


def shape(row: dict) -> str:
    """Rows and columns that were run."""
    rows, columns = number(row, "rows"), number(row, "columns")
    return f"{rows:,.0f} x {columns:,.0f}" if rows and columns else ""


def speed(folder: Path) -> Table:
    """CPU seconds, side by side, and the ratios."""
    rows = []
    for key, methods in by_workload(folder).items():
        first = methods["slope"]
        rows.append(
            [
                f"{key}: {shape(first)} {first['title']}".strip(),
                _seconds(methods.get("naive")),
                _seconds(methods.get("pysarpu")),
                _seconds(methods.get("slope")),
                _seconds(methods.get("slope_numpy")),
                _seconds(methods.get("fixed_point")),
                _whole(ratio(methods, "naive")),
                _whole(ratio(methods, "naive", "slope_numpy")),
            ]
        )
    header = ["workload", "naive", "pysarpu", "slope", "slope, NumPy alone", "fixed point"]
    header += ["naive / slope", "naive / NumPy alone"]
    note = (
        "CPU seconds on one thread, best of several (iterations in brackets). What is 'about' a "
        "number is extrapolated: the naive way from iterations timed at both ends of its path, "
        "times the iterations that the same path takes in sarlearn. pysarpu has a start and a "
        "stop of its own; cut off before its end it has no time, and no ratio is made of it."
    )
    checks = [number(m.get("naive"), "check") for m in by_workload(folder).values()]
    known = [check for check in checks if check]
    if known:
        note += (
            " Where the naive way ran to its end, the same extrapolation would have given "
            f"{min(known):.2f} to {max(known):.2f} of the time it took."
        )
    return Table("Speed", header, rows, note)


def detail(folder: Path) -> Table:
    """Work done, memory, threads and the bound."""
    rows = []
    for key, methods in by_workload(folder).items():
        for method, row in methods.items():
            cpu, bound = number(row, "cpu"), number(row, "bound")
            added, x_bytes = number(row, "added_bytes"), number(row, "x_bytes")
            one, two = number(row, "wall_1"), number(row, "wall_2")
            rows.append(
                [
                    key,
                    NAMES[method],
                    _whole(number(row, "iterations")),
                    _whole(number(row, "passes")),
                    _plain(number(row, "reads"), ".1f"),
                    _plain(number(row, "hessians"), ".1f"),
                    short(one),
                    short(two),
                    _plain(one / two if one and two else None, ".2f"),
                    _plain(added / 1e6 if added is not None else None, ".0f"),
                    _plain(added / x_bytes if added is not None and x_bytes else None, ".2f"),
                    _plain(cpu / bound if cpu and bound else None, ".2f"),
                    row.get("note", ""),
                ]
            )
    header = ["workload", "method", "iterations", "passes", "X read", "Hessians", "wall 1 thread"]
    header += ["wall 2 threads", "speed-up", "added MB", "added / X", "CPU / bound", "note"]
    note = (
        "Passes are those of EM; 'X read' is how often X was read, the start and the stop rule "
        "included. Added memory is the peak over what the process held with X. The bound: the time "
        "to read X once, measured, times 'X read', plus the flops of the Hessians (one triangle) "
        "at the measured rate of a large matrix product."
    )
    return Table("Work, threads, memory, and the bound", header, rows, note)


def endpoints(folder: Path) -> Table:
    """Distance of each endpoint from the fixed point."""
    rows = []
    for key, methods in by_workload(folder).items():
        for method, row in methods.items():
            if number(row, "f_max") is None:
                continue
            rows.append(
                [key, NAMES[method]]
                + [_plain(number(row, n), ".1e") for n in ("f_max", "f_mean", "e_max", "e_mean")]
                + [_plain(number(row, "prior"), ".4f")]
                + [_plain(number(row, n), ".1e") for n in ("residual_f", "residual_e")]
            )
    header = ["workload", "method", "f max", "f mean", "e max", "e mean", "class prior"]
    note = (
        "Absolute differences in f and e over all rows against sarlearn's fixed point at "
        "tol=1e-11. The last two columns check that point without the package: lengths of the "
        "gradients of both M-steps there, after an E-step there. The paper's stop is not the fixed "
        "point; pysarpu maximises something else (no penalty, no decay)."
    )
    header += ["gradient f", "gradient e"]
    return Table("Distance from the tight fixed point", header, rows, note)


def exponent(rows: list[dict], smallest: float = 50_000) -> float | None:
    """Slope of log CPU seconds against log rows, from this many rows on."""
    points = [(float(r["rows"]), number(r, "cpu")) for r in rows]
    points = [(n, cpu) for n, cpu in points if n >= smallest and cpu]
    if len(points) < 2:
        return None
    n, cpu = np.log(np.array(points, dtype=float)).T
    return float(np.polyfit(n, cpu, 1)[0])


def scaling_lines(folder: Path) -> dict[tuple[str, str], list[dict]]:
    out: dict[tuple[str, str], list[dict]] = {}
    for row in sorted(load("scaling", folder), key=lambda row: float(row["rows"])):
        out.setdefault((row["method"], row["dtype"]), []).append(row)
    return out


def scaling(folder: Path) -> Table:
    """Seconds against rows."""
    lines = scaling_lines(folder)
    sizes = sorted({float(row["rows"]) for rows in lines.values() for row in rows})
    body = []
    for (method, dtype), rows in lines.items():
        at = {float(row["rows"]): row for row in rows}
        last = rows[-1]
        added, x_bytes = number(last, "added_bytes"), number(last, "x_bytes")
        body.append(
            [NAMES[method], dtype]
            + [_seconds(at.get(size)) for size in sizes]
            + [_plain(exponent(rows), ".3f")]
            + [_plain(added / x_bytes if added is not None and x_bytes else None, ".2f")]
        )
    header = ["method", "X"] + [f"{size:,.0f} rows" for size in sizes]
    note = (
        "CPU seconds (iterations) of a problem of 20 columns; the exponent of time against rows is "
        "fitted from 50,000 rows on; added memory over X at the most rows."
    )
    return Table("Time against rows", header + ["exponent", "added / X"], body, note)


def startup(folder: Path) -> Table:
    rows = [
        [row["what"], _plain(number(row, "cpu"), ".3f"), row["note"]]
        for row in load("startup", folder)
    ]
    return Table("Start-up", ["what", "CPU seconds", "note"], rows)


def machine(folder: Path) -> Table:
    return Table("Machine", ["", ""], [[r["what"], r["value"]] for r in load("machine", folder)])


def learner(folder: Path) -> Table:
    """What a fit of the one learner costs."""
    rows = [
        [
            row["case"],
            row.get("unit", ""),
            *(short(number(row, n)) for n in ("unit_cpu", "linear_cpu", "cpu")),
            *(_plain(number(row, n), ".2f") for n in ("linear_fits", "fits", "peak_gb")),
        ]
        for row in load("learner", folder)
    ]
    header = ["rows x columns", "unit", "unit, CPU s", "linear class model alone", "all"]
    header += ["linear, in units", "all, in units", "peak GB"]
    note = (
        "CPU seconds of one fit, the best of several, after a small one; the unit is a default fit "
        "to the same rows and labels in the same process."
    )
    return Table("What SARClassifier costs", header, rows, note)


def users(folder: Path) -> Table:
    """What users wait for."""
    names = ("cpu", "wall", "peak_mb", "ratio", "load")
    rows = [
        [
            row["case"],
            row["step"],
            *(f"{number(row, name):,.0f}" for name in ("rows", "columns")),
            *(short(number(row, name)) for name in names),
        ]
        for row in load("users", folder)
    ]
    header = ["case", "step", "rows", "columns", "CPU s", "wall s", "peak MB", "ratio", "load"]
    note = (
        "Written by `python -m benchmarks.users`. CPU and wall seconds, and the largest resident "
        "set, of a process of its own. SQL: how many times the CPU Python takes for the same "
        "scores. Batches: 20 columns of float32 in Parquet, through the command line."
    )
    return Table("What users wait for", header, rows, note)


def limits(folder: Path) -> Table:
    """What was aimed at, and what came out."""
    rows = []

    def add(what: str, limit: float, seen: float | None, *, at_least: bool = False) -> None:
        if seen is not None:
            met = seen >= limit if at_least else seen <= limit
            sign = ">=" if at_least else "<="
            rows.append([what, f"{sign} {limit:g}", short(seen), "met" if met else "**missed**"])

    costs = {row["case"]: row for row in load("learner", folder)}
    for case in CASES:
        row = costs.get(case.name)
        for name, limit in case.limits.items() if row else ():
            what = SAID[name].format(unit=row["unit"])
            add(f"a fit of {case.name}: {what}", limit, number(row, name))
    resampled, first = costs.get("bootstrap"), costs.get("first fit")
    add("bootstrap, 200 resamples of 2,000 x 20: in fits", 60, number(resampled, "fits"))
    add("first fit over the second, CPU s", 0.6, number(first, "more"))
    for key, methods in by_workload(folder).items():
        if key in FASTER:
            what = f"workload {key}, {shape(methods['slope'])}: times faster than the naive way"
            add(what, FASTER[key], ratio(methods, "naive"), at_least=True)
    times = {row["what"]: number(row, "cpu") for row in load("startup", folder)}
    for what, limit in STARTUP.items():
        add(f"{what}, CPU s", limit, times.get(what))
    for row in load("users", folder):
        case, size = (row["case"], row["step"]), number(row, "rows")
        if case == ("command line, Adult", "fit"):
            add(f"sarlearn fit, Adult, {size:,.0f} rows: CPU s", COMMAND_CPU, number(row, "cpu"))
        if case == ("batches", "score"):
            what, pace = f"sarlearn predict, {size:,.0f} rows", size / number(row, "cpu") * 60e-6
            add(f"{what}: million rows a CPU minute", SCORED, pace, at_least=True)
            add(f"{what}: peak MB", SCORE_MB, number(row, "peak_mb"))
    return Table("Limits", ["what", "limit", "seen", ""], rows)


def _seconds(row: dict | None) -> str:
    cpu = number(row, "cpu")
    if row is None or cpu is None:
        return (row or {}).get("note", "")
    mark = "about " if row.get("extrapolated") == "true" else ""
    return f"{mark}{short(cpu)} ({row['iterations']})"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"


def _plain(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def short(value: float | None, digits: int = 3) -> str:
    """So many digits that count, and no powers of ten."""
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
