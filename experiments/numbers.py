"""The numbers that prose may quote, each computed from a tracked table and known by a name.

In any markdown file a number is followed by a mark that renders as nothing::

    The class prior is off by 0.030<!--= crossfit.prior.cross-fit --> on average.

``python -m experiments numbers`` puts the number of that name before each mark of every text, and
``--check`` only says which differ, in texts and in generated reports; both take files to look at
these alone. A format may follow the name: ``<!--= trust.power|.0% -->``; in a table the bar that
separates them is written with a backslash, or else it ends the cell.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd

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


def _cells(study: str, grid: str, experiment: str) -> pd.DataFrame:
    """Finished cells; methods named without spaces and commas, as names of numbers are."""
    rows = pd.read_csv(HERE / study / "results" / grid / f"{experiment}.csv")
    rows = rows[rows["error"].isna()]
    if "method" in rows:
        rows = rows.assign(method=rows["method"].map(_name))
    return rows


def _name(method: str) -> str:
    """A method as part of a name: ``SAR-EM, C=10`` is ``SAR-EM/C10``."""
    return method.replace(", ", "/").replace("=", "").replace(" ", "-")


def _wide(rows: pd.DataFrame, key: list[str], score: str) -> pd.DataFrame:
    """A row for each cell of the key that all methods have, a column for each method."""
    return rows.pivot(index=key, columns="method", values=score).dropna()


def crossfit_numbers() -> Numbers:
    """Cross-fitting: fresh seeds, all rows, three attributes, many columns told."""
    found: Numbers = {}
    for name, grid, experiment in (
        ("prior", "fresh_seeds", "crossfit_prior"),
        ("all_rows", "all_rows", "all_rows"),
    ):
        rows = _cells("crossfit", grid, experiment)
        error = _wide(rows, ["dataset", "label_frequency", "repeat"], "prior_error").abs()
        found |= {f"{name}.{method}": error[method].mean() for method in error}
        found[f"{name}.cells"] = len(error)
        for dataset, means in error.groupby("dataset").mean().iterrows():
            found |= {f"{name}.{_name(str(dataset))}.{m}": value for m, value in means.items()}
        for other, suffix in (("SAR-EM", ""), ("SAR-EM/C10", "_C10")):
            worse = error["cross-fit"] - error[other]
            found[f"{name}.worse{suffix}"] = (worse > 0).sum()
            found[f"{name}.worse_by_0.05{suffix}"] = (worse > 0.05).sum()
        much = error.index[error["cross-fit"] - error["SAR-EM"] > 0.05]
        ours = rows[rows["method"] == "cross-fit"].set_index(error.index.names)
        found[f"{name}.worse_by_0.05_and_wide"] = (ours["high"] - ours["low"] > 0.2)[much].sum()
        worst = (error["cross-fit"] - error["SAR-EM"]).idxmax()
        found |= {f"{name}.worst.{method}": error.loc[worst, method] for method in error}
    three = _cells("crossfit", "fresh_seeds", "crossfit_three_attributes").groupby("method")
    for score in ("f1", "propensity_error", "accuracy"):
        found |= {f"three.{score}.{m}": v for m, v in three[score].mean().items()}
    most = _cells("crossfit", "every_column", "verdict_most")
    for told, part in most.groupby("told"):
        means = part.groupby("method")["accuracy"].mean()
        found |= {f"{told}_told.accuracy.{method}": value for method, value in means.items()}
    return found


def sar_learners_numbers() -> Numbers:
    """Learners under five mechanisms, and what wrong attributes cost."""
    found: Numbers = {}
    rows = _cells("sar_learners", "benchmark", "mechanisms")
    means = rows.groupby(["mechanism", "dataset", "method"])
    accuracy = means["accuracy"].mean().unstack("method")
    prior = rows.assign(error=rows["prior_error"].abs())
    prior = prior.groupby(["mechanism", "dataset", "method"])["error"].mean().unstack("method")
    for method in ("SAR-EM", "SAR-EM/C10", "cross-fit"):
        found[f"mushroom.along.{method}"] = accuracy.loc[("along", "Mushroom"), method]
    found["pairs"] = len(accuracy)
    for other, suffix in (("SAR-EM", ""), ("SAR-EM/C10", "_C10")):
        found[f"accuracy_worse{suffix}"] = (accuracy["cross-fit"] < accuracy[other]).sum()
        worse = prior["cross-fit"] > prior[other]
        found[f"prior_worse{suffix}"] = worse.sum()
        for dataset, count in worse.groupby("dataset").sum().items():
            found[f"prior_worse{suffix}.{_name(str(dataset))}"] = count
    told = pd.concat(
        _cells("sar_learners", "benchmark", name)
        for name in ("wrong_attributes", "wrong_attributes_all")
    )
    key = ["dataset", "repeat", "method"]
    wide = told.pivot(index=key, columns="told", values="accuracy")
    for method, part in wide.groupby("method"):
        for name in part:
            both = part[[name, "true"]].dropna() if name != "true" else part[["true"]].dropna()
            words = str(name).replace(" ", "_")
            found[f"told_{words}.accuracy.{method}"] = both[name].mean()
            if name != "true":
                found[f"told_{words}.cost.{method}"] = (both["true"] - both[name]).mean()
    return found


def trust_numbers() -> Numbers:
    """Sizes, power, selection, coverage and bias of the checks."""
    found: Numbers = {}
    size = pd.concat(_cells("trust", "simulations", name) for name in ("size_500", "size_5000"))
    shares = _share(size, ["n_rows", "label_frequency", "attributes"])
    found |= {"size.low": shares.min(), "size.high": shares.max(), "size.conditions": len(shares)}
    found["size.fewest_data_sets"] = (
        size.groupby(["n_rows", "label_frequency", "attributes"])["tested"].sum().min()
    )
    power = _share(_cells("trust", "simulations", "power"), ["generator", "n_rows", "attributes"])
    found["power.strong_1000"] = power.loc[("strong", 1000, 1)]
    blind = _share(_cells("trust", "simulations", "power_class"), ["generator", "n_rows"])
    found |= {"power.class.low": blind.min(), "power.class.high": blind.max()}
    selection = _cells("trust", "simulations", "selection")
    found |= {
        "selection.true": selection["true_found"].mean(),
        "selection.false": selection["false_found"].mean(),
    }
    for name, decay in (("intervals", "decay_1"), ("intervals_decayed", "decay_0.9")):
        rows = _cells("trust", "simulations", name)
        covered = [
            rows[column].sum() / rows["tested"].sum()
            for column in rows
            if column in {f"class_prior_{m}" for m in ("bca", "percentile", "information")}
        ]
        found |= {f"coverage.{decay}.low": min(covered), f"coverage.{decay}.high": max(covered)}
    scores = _cells("trust", "simulations", "scores")
    off = [abs(scores[c].mean()) for c in scores if re.fullmatch(r"estimated_\w+(?<!_se)_mean", c)]
    found |= {"scores.estimated.low": min(off), "scores.estimated.high": max(off)}
    return found


def _share(rows: pd.DataFrame, key: list[str]) -> pd.Series:
    sums = rows.groupby(key)[["rejected", "tested"]].sum()
    return sums["rejected"] / sums["tested"]


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
    rows = report.complete(report.cells(report.TABLES, "mechanisms", "mechanisms_boosted"))
    means = rows.groupby("learner")["balanced_accuracy"].mean()
    found |= {f"balanced_accuracy.{_name(m)}": value for m, value in means.items()}
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


def boosting_numbers() -> Numbers:
    """Boosted trees: cells that all three methods have finished, and what a fit costs."""
    found: Numbers = {}
    folder = HERE / "boosting" / "results" / "benchmark"
    key = ["dataset", "mechanism", "attributes", "max_rows", "repeat"]
    for name in ("nine", "small", "many_attributes", "wrong_attributes"):
        if not (folder / f"{name}.csv").exists():
            continue
        rows = _cells("boosting", "benchmark", name)
        for score in ("prior_error", "propensity_error", "auc", "log_loss", "cpu_seconds"):
            cells = _wide(rows[rows[score].notna()], key, score)
            cells = cells.abs() if score == "prior_error" else cells
            found |= {f"{name}.{score}.{method}": cells[method].mean() for method in cells}
            found[f"{name}.cells"] = len(cells)
    if (BENCHMARKS / "boosting.csv").exists():
        for row in pd.read_csv(BENCHMARKS / "boosting.csv").itertuples():
            found[f"cost.{_name(row.data)}.{row.rows}"] = row.ratio
    return found


def honesty_numbers() -> Numbers:
    """How often a learner is wrong, silent, and covers, on cells that its rules had not seen."""
    from .honesty.report import HERE as FOLDER
    from .honesty.report import bad_by_word, judged, shares

    path = FOLDER / "results" / "honesty" / "judge.csv"
    found: Numbers = {}
    for learner, rows in judged(path).items() if path.exists() else ():
        found["cells"] = len(rows)
        found |= {f"{learner}.{_name(what)}": share for what, share in shares(rows).items()}
        found |= {f"{learner}.{_name(w)}.bad": share for w, share in bad_by_word(rows).items()}
    return found


STUDIES: dict[str, Callable[[], Numbers]] = {
    "honesty": honesty_numbers,
    "boosting": boosting_numbers,
    "paper": paper_numbers,
    "crossfit": crossfit_numbers,
    "sar_learners": sar_learners_numbers,
    "trust": trust_numbers,
    "evidence": evidence_numbers,
    "outside": outside_numbers,
    "benchmarks": benchmark_numbers,
}
