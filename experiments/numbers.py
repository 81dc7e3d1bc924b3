"""The numbers that prose may quote, each computed from a tracked table and known by a name.

In any markdown file a number is followed by a mark that renders as nothing::

    The class prior is off by 0.042<!--= paper.prior.AlphaMax --> on average.

``python -m experiments numbers`` puts the number of that name before each mark of every text, and
``--check`` only says which differ, in texts and in generated reports; both take files to look at
these alone. A format may follow the name: ``<!--= outside.scar_size.all|.0% -->``; in a table the
bar that separates them is written with a backslash, or else it ends the cell.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from scipy import stats

from .harness.store import write_atomically

HERE = Path(__file__).parent
BENCHMARKS = HERE.parent / "benchmarks" / "results"
MARK = re.compile(
    r"(?P<number>[-+]?[\d.,]*\d ?%?)<!--= (?P<name>[\w.+/-]+)(?:\\?\|(?P<format>[^ ]+))? -->"
)
Numbers = dict[str, float]


def update(text: str, numbers: Numbers) -> str:
    """The text with every marked number as the tables have it."""
    return MARK.sub(lambda match: _written(match, numbers) + _mark(match), text)


def differences(text: str, numbers: Numbers) -> list[str]:
    """A sentence for every marked number that is not what the tables give."""
    return [
        f"{match['name']}: {match['number']} in the text, {found} in the tables"
        for match in MARK.finditer(text)
        if (found := _written(match, numbers)) != match["number"]
    ]


def _mark(match: re.Match) -> str:
    return match[0].removeprefix(match["number"])


def _written(match: re.Match, numbers: Numbers) -> str:
    if match["name"] not in numbers:
        raise ValueError(
            f"There is no number {match['name']!r}; 'python -m experiments numbers --list' shows "
            "the names."
        )
    value = numbers[match["name"]]
    return format(value, match["format"] or (",.0f" if value.is_integer() else ".3f"))


def main(paths: list[Path], *, check: bool = False, show: bool = False) -> int:
    """Update files or check them, or list the names; the exit status. No files are all."""
    from . import tracked

    numbers = all_numbers()
    if show:
        print("\n".join(f"{name:45s} {value:.6g}" for name, value in numbers.items()))
        return 0
    if check:
        found = list(tracked.stale_numbers(paths, numbers) if paths else tracked.stale(numbers))
        print("\n".join(found) or "Every number is that of the tables.")
        return 1 if found else 0
    for path in paths or tracked.prose():
        write_atomically(path, update(path.read_text(encoding="utf-8"), numbers))
    return 0


def all_numbers() -> Numbers:
    """Every number by its name; a study that is not measured has none."""
    found: Numbers = {}
    for prefix, study in STUDIES.items():
        found |= {f"{prefix}.{name}": float(value) for name, value in study().items()}
    return found


def _name(method: str) -> str:
    """A method as part of a name: ``SAR-EM, C=10`` is ``SAR-EM/C10``."""
    return method.replace(", ", "/").replace("=", "").replace(" ", "-")


def paper_numbers() -> Numbers:
    """Class priors and learners of the paper's full grid, and the paper's own."""
    from .paper.grids import Grids, read_paper

    grids = Grids(HERE / "paper" / "results")
    found: Numbers = {}
    prior = grids.table("class_prior")
    if prior is not None:
        nine = prior.dropna(subset="rank")
        for line in prior.itertuples():
            found[f"prior.{_name(str(line.method))}"] = line.error
        for line in nine.itertuples():
            found[f"rank.{_name(str(line.method))}"] = line.rank
        for column in ("rank", "error"):
            order = nine.set_index("method")[column].rank()
            found[f"place_by_{column}.SAR-EM"] = order["SAR-EM"]
    found |= {
        f"prior_paper.{_name(line.method)}": line.error
        for line in read_paper("class_prior").itertuples()
    }
    three = grids.table("three_attributes")
    if three is not None:
        found |= {f"f1.{m}": v for m, v in three.groupby("method")["f1"].mean().items()}
        published = read_paper("three_attributes").groupby("method")["f1"].mean()
        found |= {f"f1_paper.{m}": v for m, v in published.items()}
    return found


def evidence_numbers() -> Numbers:
    """Audits: root mean squared error of the class prior by design and rows, and without any."""
    rows = pd.read_csv(HERE / "evidence" / "results" / "audits" / "verdict.csv")
    squares = (rows["rmse"] ** 2).groupby([rows["design"], rows["rows"]]).mean()
    found = {f"audit.{design}.{n}": value**0.5 for (design, n), value in squares.items()}
    once = rows.drop_duplicates(["dataset", "labelling"])
    return found | {"audit.labels_only": (once["labels_only_error"] ** 2).mean() ** 0.5}


def outside_numbers() -> Numbers:
    """Other people's studies: accuracy by scenario, sizes and power, balanced accuracy."""
    from .outside import report

    found: Numbers = {}
    rows = report.scenario_rows(report.TABLES)
    means = rows.groupby(["mechanism", "dataset", "learner"])["accuracy"].mean()
    for key, value in means.items():
        found["accuracy." + ".".join(_name(part) for part in key)] = value
    size = report.rejections(report.cells(report.TABLES, "scar_size"), ["tested"])["share"]
    found |= {f"scar_size.{tested}": value for tested, value in size.items()}
    power = report.rejections(report.cells(report.TABLES, "scar_power"), ["scheme", "tested"])
    found |= {f"scar_power.{s}.{t}": value for (s, t), value in power["share"].items()}
    theirs = report.published("scar_power").groupby("scheme")[["KL", "KS"]].mean()
    found |= {f"scar_power.{s}.{t}": v for (s, t), v in theirs.stack().items()}
    rows = report.complete(report.cells(report.TABLES, "mechanisms"))
    means = rows.groupby("learner")["balanced_accuracy"].mean()
    found |= {f"balanced_accuracy.{_name(m)}": value for m, value in means.items()}
    return found | shares_numbers()


def shares_numbers() -> Numbers:
    """Shares of positives: PULSNAR's tables, hidden labelling, PURPLE's groups, weak columns."""
    from .outside import shares

    rows = shares.pulsnar_rows()
    rows = rows[rows["kept"] == 1]
    theirs = shares.published_errors().stack()
    found = {f"pulsnar_paper.{m}.{_name(d)}": v for (d, m), v in theirs.items()}
    if not rows.empty:
        means = shares.errors(rows, "data_set").stack()
        found |= {f"pulsnar.{_name(m)}.{_name(d)}": v for (d, m), v in means.items()}
        for (learner, kind), said in shares.ranges(rows).iterrows():
            found |= {f"pulsnar_{what}.{learner}.{kind}": share for what, share in said.items()}
        found["pulsnar_iterations"] = rows[rows["learner"] == "none"]["iteration"].nunique()
    rows = shares.hidden_rows()
    if not rows.empty:
        kind = rows["follows"].where(rows["strength"] != 0, "random")
        kind = kind.where(rows["strength"] >= 0, "falling")
        means = rows.groupby(["learner", kind])["size"].mean()
        found |= {f"hidden.{_name(m)}.{k}": value for (m, k), value in means.items()}
    rows = shares.rows_of(shares.RESULTS, "purple")
    if not rows.empty:
        rows = rows[rows["difference"] == 0]
        means = rows["log2_error"].abs().groupby(rows["method"]).mean()
        found |= {f"purple.{_name(m)}": v for m, v in means.items()}
    rows = shares.weak_rows()
    if not rows.empty:
        means = rows.groupby(["learner", "signal"])["size"].mean()
        found |= {f"weak.{_name(m)}.{signal}": v for (m, signal), v in means.items()}
    return found


def benchmark_numbers() -> Numbers:
    """Seconds on Dask by the number of rows."""
    dask = pd.read_csv(BENCHMARKS / "dask.csv")
    cases = dask.groupby(["case", "rows", "workers"])["wall"].agg(["first", "size"])
    return {
        f"dask.{case}.{rows}.workers_{workers}": line["first"]
        for (case, rows, workers), line in cases.iterrows()
        if line["size"] == 1
    }


def learner_numbers() -> Numbers:
    """What is said of each learner on the cells that choose and on those that judge."""
    from .harness.report_tools import grouped
    from .learner import report, untold

    found: Numbers = {f"untold.{k}": v for k, v in untold.numbers(report.RESULTS).items()}
    for part in report.PARTS:
        for learner, rows in grouped(report.cells_of(part), "learner").items():
            said = report.measures(rows).items()
            found |= {
                f"{part}.{learner}.{_name(what)}": value
                for what, value in said
                if what not in report.GROUPS
            }
            found[f"{part}.{learner}.error"] = sum(map(report.error, rows)) / len(rows)
            found[f"{part}.cells"] = len(rows)
        found |= _paired(part, report.cells_of(part))
    return found


def _paired(part: str, rows: list) -> Numbers:
    """Errors of ``sar`` beside others' on the same cells, with a 95 % interval over tables."""
    cells = pd.DataFrame(rows)
    cells[["class_prior", "truth", "guess"]] = cells[["class_prior", "truth", "guess"]].astype(
        float
    )
    cells["error"] = (cells["class_prior"] - cells["truth"]).abs()
    guess = cells[cells["learner"] == "sar"].assign(learner="guess")
    guess["error"] = (guess["guess"] - guess["truth"]).abs()
    cells = pd.concat([cells, guess])
    cells["case"] = cells["case"].where(cells["case"] == "spread", "usual")
    errors = cells.pivot_table("error", ["data_set", "case", "draw", "seed"], "learner")
    found = {f"{part}.tables": errors.index.unique("data_set").size}
    for case, mean in errors["guess"].groupby("case").mean().items():
        found[f"{part}.guess.error/{case}"] = mean
    for other in errors.columns.drop("sar"):
        gain = (errors[other] - errors["sar"]).groupby("data_set").mean()
        reach = stats.t.ppf(0.975, len(gain) - 1) * gain.sem()
        found[f"{part}.gain.{other}"] = gain.mean()
        found[f"{part}.gain.{other}.low"] = gain.mean() - reach
        found[f"{part}.gain.{other}.high"] = gain.mean() + reach
    return found


STUDIES: dict[str, Callable[[], Numbers]] = {
    "learner": learner_numbers,
    "paper": paper_numbers,
    "evidence": evidence_numbers,
    "outside": outside_numbers,
    "benchmarks": benchmark_numbers,
}
