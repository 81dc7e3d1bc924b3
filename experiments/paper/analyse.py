"""Second step: from measured cells to the tables of the paper, for every grid there is."""

from pathlib import Path

import pandas as pd

from ..harness.store import write_all
from .class_prior import LATER_METHODS, PAPER_METHODS
from .learners import METHODS

TABLES = "tables"
SETTINGS = ["C", "decay", "stop", "classifier"]
PAPER_SETTING = {"C": 1.0, "decay": 0.9, "stop": "slope", "classifier": "logistic"}
# An estimate that takes (almost) every row for a positive: no data set's prior is above 0.77.
GAVE_UP = 0.97
SCORES = ["f1", "f1_at_half", "propensity_accuracy", "prior_error", "n_iter", "converged"]


def analyse(results: Path) -> None:
    """Write ``results/GRID/tables/*.csv``."""
    write_all(table_texts(results))


def table_texts(results: Path) -> dict[Path, str]:
    """The text of each of these files."""
    found = {
        folder / TABLES / f"{name}.csv": table.to_csv(index=False, float_format="%.6g")
        for folder in sorted(path.parent for path in results.glob("*/configuration.toml"))
        for name, table in tables(folder).items()
    }
    if not found:
        raise FileNotFoundError(
            f"There are no results under {results}: run 'python -m experiments run "
            "experiments/paper/reduced.toml' first."
        )
    return found


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    """All tables that the results in a grid's folder allow."""
    found = {}
    cells = {path.stem: read_cells(path) for path in sorted(folder.glob("*.csv"))}
    if len(rows := cells.get("class_prior", ())):
        found["class_prior"] = class_prior_table(rows)
        found["class_prior_curves"] = class_prior_curves(rows)
    if len(rows := cells.get("class_prior_programs", ())):
        found["class_prior_programs"] = class_prior_curves(rows)
    if len(rows := cells.get("one_attribute", ())):
        found["one_attribute"] = one_attribute_table(rows)
    # Another study may have an experiment of this name, with scores of its own.
    if len(rows := cells.get("three_attributes", ())) and set(SCORES) <= set(rows):
        found["three_attributes"] = three_attributes_table(rows)
    if len(rows := cells.get("unbalanced", ())):
        found["unbalanced"] = three_attributes_table(rows, by=["balance"])
    if len(rows := cells.get("stability", ())):
        found["stability"] = stability_table(rows)
    if len(rows := cells.get("data_sets", ())):
        found["data_sets"] = rows
    if len(rows := cells.get("beyond", ())):
        found["beyond"] = beyond_table(rows)
    priors = [cells[name] for name in cells if name.startswith("beyond_class_prior")]
    if any(map(len, priors)):
        found["beyond_class_prior"] = beyond_class_prior_table(priors)
    return found


def read_cells(path: Path) -> pd.DataFrame:
    """The cells that did not fail; empty where the file holds none, or is no table of cells."""
    rows = pd.read_csv(path, keep_default_na=False, na_values={"error": [""], **_NUMBERS})
    if "error" not in rows:
        return rows.iloc[:0]
    return rows[rows["error"].isna()].drop(columns="error")


_NUMBERS = {
    name: [""]
    for name in [*SCORES, "n_rows", "n_positive", "n_labelled", "class_prior", "estimate"]
}


def class_prior_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and SD of the absolute error and of its rank, as the paper's table has them.

    A block is a data set, a label frequency and a labelling; only blocks with all methods count.
    ``rank`` is among the paper's nine methods, ``rank_of_all`` with the later ones too;
    ``gave_up`` counts estimates at the upper end, ``error_else`` is the error of the others.
    """
    blocks = rows.pivot(
        index=["dataset", "label_frequency", "repeat"], columns="method", values="prior_error"
    )
    blocks = blocks.dropna()
    errors = blocks.abs()
    estimates = rows.pivot(index=blocks.index.names, columns="method", values="estimate")
    gave_up = estimates.loc[blocks.index] > GAVE_UP
    nine = [method for method in PAPER_METHODS if method in errors]
    rank, rank_of_all = errors[nine].rank(axis=1), errors.rank(axis=1)
    table = pd.DataFrame(
        {
            "rank": rank.mean(),
            "rank_sd": rank.std(),
            "rank_of_all": rank_of_all.mean(),
            "error": errors.mean(),
            "error_sd": errors.std(),
            "bias": blocks.mean(),
            "gave_up": gave_up.sum(),
            "error_else": errors.mask(gave_up).mean(),
            "blocks": len(blocks),
        }
    )
    order = [method for method in [*PAPER_METHODS, *LATER_METHODS] if method in errors]
    return table.loc[order].rename_axis("method").reset_index()


def class_prior_curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean absolute error against the label frequency, a curve a data set and method."""
    rows = rows.assign(error=rows["prior_error"].abs())
    keys = ["dataset", "label_frequency", "method"]
    return (
        rows.groupby(keys)
        .agg(
            error=("error", "mean"),
            bias=("prior_error", "mean"),
            class_prior=("class_prior", "mean"),
            n_rows=("n_rows", "first"),
            labellings=("error", "size"),
        )
        .reset_index()
    )


def one_attribute_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Scores against the difference of the two propensities, over attributes and directions.

    The supervised classifier does not depend on the labels; its scores stand at every difference.
    """
    rows = rows.assign(difference=rows["difference"].abs().round(10))
    learned, supervised = rows[rows["feature"] != ""], rows[rows["feature"] == ""]
    points = learned[["mean", "difference"]].drop_duplicates()
    spread = supervised.drop(columns=["mean", "difference"]).merge(points, how="cross")
    return _summary(pd.concat([learned, spread]), ["mean", "difference", "dataset", "method"])


def three_attributes_table(rows: pd.DataFrame, by: tuple | list = ()) -> pd.DataFrame:
    """Scores of each method on each data set, over combinations of attributes and repeats."""
    return _summary(rows, [*by, "dataset", "method"])


def _summary(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    groups = rows.groupby(keys, sort=False)
    table = groups[SCORES].mean()
    table.insert(1, "f1_sd", groups["f1"].std())
    table["prior_below"] = rows["prior_error"].lt(0).groupby([rows[key] for key in keys]).sum()
    table["true_prior"] = groups["n_positive"].mean() / groups["n_rows"].mean()
    table["cells"] = groups.size()
    table["fits"] = groups["folds"].sum()
    table = table.reset_index()
    in_order = table["method"].map({method: place for place, method in enumerate(METHODS)})
    order = [key for key in keys if key != "method"]
    return (
        table.assign(_place=in_order)
        .sort_values([*order, "_place"], kind="stable")
        .drop(columns="_place")
        .reset_index(drop=True)
    )


def stability_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Spread over labellings of probabilities and of F1, by the way a known propensity is used."""
    numbers = ["f1", "f1_sd", "probability_sd", "above_one"]
    table = rows.groupby("method", sort=False)[numbers].mean()
    spread = rows.pivot(index=["dataset", "features"], columns="method", values="probability_sd")
    table["steadier_in"] = [int((spread[m] == spread.min(axis=1)).sum()) for m in table.index]
    table["cells"] = len(spread)
    return table.reset_index()


def beyond_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Each setting beside the paper's on the same data sets, attributes, labels and folds."""
    supervised = rows["method"] == "supervised"
    keys = ["dataset", "balance", "features", "repeat", "folds", "method"]
    is_paper = (rows[SETTINGS] == pd.Series(PAPER_SETTING)).all(axis=1)
    paper = rows[is_paper].set_index(keys)
    found = []
    for setting, variant in rows[~is_paper].groupby(SETTINGS, sort=False):
        variant = variant.set_index(keys)
        if "fixed_point" in setting:  # the stop rule leaves the supervised classifier as it is
            same = ["dataset", "balance", "repeat", "folds"]
            measured = variant.reset_index()[same].drop_duplicates()
            unchanged = rows[is_paper & supervised].merge(measured, on=same)
            variant = pd.concat([variant, unchanged.set_index(keys)])
        paired = variant.merge(
            paper, left_index=True, right_index=True, suffixes=("", "_paper")
        ).reset_index()
        both = [name for score in SCORES for name in (score, f"{score}_paper")]
        table = paired.groupby("method")[both].mean()
        table["datasets"] = paired.groupby("method")["dataset"].nunique()
        table["fits"] = paired.groupby("method")["folds"].sum()
        table.insert(0, "setting", describe_setting(dict(zip(SETTINGS, setting, strict=True))))
        found.append(table.reindex([name for name in METHODS if name in table.index]).reset_index())
    return pd.concat(found, ignore_index=True)


def describe_setting(setting: dict) -> str:
    """What differs from the paper's setting, in words: ``C = 10``."""
    words = []
    if setting["classifier"] != "logistic":
        words.append("gradient boosting")
    words += [
        f"{key} = {setting[key]:g}" for key in ("C", "decay") if setting[key] != PAPER_SETTING[key]
    ]
    if setting["stop"] == "fixed_point":
        words.append("EM to its fixed point")
    return ", ".join(words) or "the paper's"


def beyond_class_prior_table(experiments: list[pd.DataFrame]) -> pd.DataFrame:
    """Absolute error of the class prior of each setting of SAR-EM, beside the paper's setting."""
    found = []
    for rows in filter(len, experiments):
        blocks = rows.pivot(
            index=["dataset", "label_frequency", "repeat"], columns="method", values="prior_error"
        ).dropna()
        for method in blocks.columns.drop("SAR-EM"):
            found.append(
                {
                    "method": method,
                    "error": blocks[method].abs().mean(),
                    "error_sd": blocks[method].abs().std(),
                    "bias": blocks[method].mean(),
                    "error_paper": blocks["SAR-EM"].abs().mean(),
                    "bias_paper": blocks["SAR-EM"].mean(),
                    "blocks": len(blocks),
                }
            )
    return pd.DataFrame(found)
