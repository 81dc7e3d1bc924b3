"""What the report says of shares of positives: PULSNAR, hidden drivers, PURPLE, weak columns."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..harness.report_tools import table

HERE = Path(__file__).parent
RESULTS = HERE / "results"
OURS = {
    "none": "**`SARClassifier(())`**",
    "auto": "**`SARClassifier`**",
    "DEDPUL": "**DEDPUL, ours**",
    "PULSCAR": "**PULSCAR, ours**",
    "PULSNAR": "**PULSNAR, ours**",
    "by cluster": "**`SARClassifier(())` by cluster**",
}
# Those with a range.
LEARNERS = ("none", "auto")
PUBLISHED = ["PULSNAR", "PULSCAR", "DEDPUL", "KM2", "TIcE"]
SNAR = ["letter", "dry bean", "anuran, numbered", "anuran", "room", "shuttle"]
SCAR = ["wilt", "grid, stab", "grid", "mice"]

PULSNAR = """
## PULSNAR: the share of positives among the unlabelled

Kumar and Lambert, PeerJ Computer Science 10, e2451, 2024. Published figures are computed from the
authors' single estimates, 40 of each cell. One class of a table is negative, the others together
are positive; a share alpha of the unlabelled rows, .01 to .6, is positive. Mean absolute error of
alpha, for each alpha and then over them. In letter to shuttle labelling follows the hidden class of
a positive (SNAR), in wilt to mice it is random (SCAR). The rows that lose their label are those of
the authors' programs, iteration by iteration.

No column drives labelling here. `SARClassifier(())` takes labels as random, `SARClassifier` as it
comes averages fits that name different columns. *By cluster* is PULSNAR's idea with it: labelled
rows are clustered, each cluster is fitted beside all unlabelled rows, and the positives that are
found are added up. PULSNAR and
PULSCAR of ours are written from the paper, with LightGBM and `HistGradientBoostingClassifier` for
XGBoost, one setting and one bandwidth rule for all tables where theirs have settings for each. Our
DEDPUL is as it comes, on logistic scores.

**What differs.** The study has 40 iterations, ours fewer. Smartphone (HAPT), KDD Cup 2004, MAGIC
and diabetes are not among our data. The programs keep the row number as a column of anuran, whose
rows are sorted by species ("anuran, numbered"), and `stab`, whose sign is the class, in grid
("grid, stab"): the published figures stand beside these.

Iterations of ours, in the table that has fewest: {iterations}.
"""
RANGES = """
Ranges: how often they hold the truth, how often the answer is off by more than .1, and how often it
is although `certainty_` says that the labels tell the class prior well or roughly.
"""
# Of alpha, as of a class prior in the learner's report.
BAD = 0.1
# By the rule of hidden.toml: what a way has to gain, and what it may lose.
MOST_LOST = 0.02
CONTROL = """
### The same with thinned labels

No row is left out above, so the share of positives among all rows is the same in every cell of a
table, {share:.3f} in letter, and whoever always gave that answer would have the error
{constant:.3f}. Here only a part of the labelled positives of letter stays, and the share goes from
{low:.2f} to {high:.2f}. The errors of the same estimators, and of the constant answer:
"""
HIDDEN = """
## Labelling that follows no column

Simulations of 2,000 rows, two fifths of whose positives are labelled. *Score*: the propensity rises
with the true class logit (strength 1 and 2), falls with it (-1), or is one number (0). *Subtypes*:
of three hidden kinds of positives, all are labelled alike (0), one rarely (1), or one never (2).
`hidden.py` describes the learners: "score" names the learner's own class score as the column that
labelling follows, "clusters" the clusters of the labelled rows, "by cluster" adds up what is found
of each, and "told" is given the true score or subtype. Mean absolute error of the class prior, on
tables and seeds with which nothing was chosen, {seeds} labellings of each; the rule by which a way
enters the library is in `hidden.toml`.
"""
PURPLE = """
## PURPLE: how many times as common in one group as in another

Shanmugam, Hou and Pierson, npj Women's Health 2, 2024, on the authors' simulation: two groups, one
rule for the class, labels at random within each group, {repeats} draws of each variant, where
the study has five splits of one draw. Mean of |log2(estimate / truth)|; .07 is five per cent off.
Truth is the ratio among rows held out, so that even the true classes of the other rows are a little
off it. The column PURPLE is our fit of it by maximum likelihood; the authors show errors in figures
only. `relative_prevalence` is told the group as the driver of labelling and the five columns for
the class.
"""
WEAK = """
## Weak columns: does PULSCAR know something?

Five tables of the learner's choosing cells whose columns hardly tell the class (Yeast, Kc1,
Diabetes, Abalone, a simulation), {cells} labellings of them: with half of the positives labelled at
random ("scar") or by one column ("one"), and with class priors and label frequencies of all
sizes ("spread"). Mean absolute error of the class prior; *shuffled*: the same labellings, but the
rows of the columns in random order, so that they say nothing. *Follows* is the rank correlation
between the share of positives among the unlabelled that is found and the true one, over spread
cells. "told" knows the columns that drive labelling, "none" and "auto" do not.
"""


def text(results: Path = RESULTS) -> str:
    return pulsnar(results) + hidden(results) + purple(results) + weak(results)


def rows_of(results: Path, pattern: str, grid: str = "shares") -> pd.DataFrame:
    """Finished cells of the experiments of a name; none where nothing is measured."""
    found = [pd.read_csv(path) for path in sorted((results / grid).glob(f"{pattern}.csv"))]
    rows = pd.concat(found, ignore_index=True) if found else pd.DataFrame({"error": []})
    return rows[rows["error"].isna()]


def pulsnar_rows(results: Path = RESULTS) -> pd.DataFrame:
    """Every estimate of alpha, with its signed error against the alpha aimed at, as theirs."""
    rows = rows_of(results, "pulsnar*")
    if rows.empty:
        return rows.assign(kept=[])
    return rows.assign(bias=rows["class_prior_alpha"] - rows["alpha"])


def published_errors() -> pd.DataFrame:
    found = pd.read_csv(HERE / "published" / "pulsnar.csv")
    return found.pivot(index="data_set", columns="method", values="error")


def pulsnar(results: Path) -> str:
    every = pulsnar_rows(results)
    rows = every[every["kept"] == 1]
    if rows.empty:
        return PULSNAR.split("**What differs.**")[0] + "\nNot measured yet.\n"
    found = PULSNAR.format(iterations=iterations(rows)) + error_table(rows)
    found += RANGES + range_table(rows)
    own = rows[rows["learner"] == "none"]
    found += f"\nMean signed error by alpha, {OURS['none']}:\n" + bias_table(own)
    return found + control(every)


def errors(rows: pd.DataFrame, *key: str) -> pd.DataFrame:
    """Mean absolute error of each learner, by a key: where an iteration is not complete, all alphas
    count the same."""
    size = rows.assign(size=rows["bias"].abs()).groupby([*key, "learner", "alpha"])["size"].mean()
    return size.groupby([*key, "learner"]).mean().unstack()


def iterations(rows: pd.DataFrame) -> str:
    """How many complete ones each learner has: those of its tables and shares that have fewest."""
    key = ["learner", "data_set", "alpha"]
    counts = rows.groupby(key)["iteration"].nunique().groupby("learner").min()
    return ", ".join(f"{name.strip('*')} {counts[n]}" for n, name in OURS.items() if n in counts)


def error_table(rows: pd.DataFrame) -> str:
    """Errors by table, ours and theirs; "none hidden" is the answer that alpha is 0."""
    ours = errors(rows, "data_set")
    learners = [name for name in OURS if name in ours]
    theirs = published_errors().reindex(ours.index)
    nothing = rows.drop_duplicates(["data_set", "alpha"]).groupby("data_set")["alpha"].mean()
    lines = [
        [
            name,
            *(number(ours.loc[name, learner]) for learner in learners),
            *(number(theirs.loc[name, method]) for method in PUBLISHED),
            number(nothing[name]),
        ]
        for name in SNAR + SCAR
        if name in ours.index
    ]
    head = [*(OURS[name] for name in learners), *(f"{name}, published" for name in PUBLISHED)]
    return table(["table", *head, "none hidden"], lines)


def number(value: float, digits: int = 3) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def ranges(rows: pd.DataFrame) -> pd.DataFrame:
    """Shares of cells, by learner and kind of labelling: what the report's table holds."""
    own = rows[rows["learner"].isin(LEARNERS)]
    bad = own["bias"].abs() > BAD
    said = pd.DataFrame(
        {
            "covers": own["truth_alpha"].between(own["low_alpha"], own["high_alpha"]),
            "bad": bad,
            "bad_and_sure": bad & (own["word"] <= 1),
        }
    )
    kind = np.where(own["data_set"].isin(SNAR), "SNAR", "SCAR")
    return said.groupby([own["learner"], kind]).mean()


def range_table(rows: pd.DataFrame) -> str:
    lines = [
        [OURS[learner], kind, *(f"{share:.0%}" for share in line)]
        for (learner, kind), line in ranges(rows).iterrows()
    ]
    return table(["", "labels", "holds the truth", "off by .1", "off and sure"], lines)


def bias_table(rows: pd.DataFrame) -> str:
    by = rows.pivot_table(index="data_set", columns="alpha", values="bias")
    lines = [
        [name, *("" if np.isnan(v) else f"{v:+.3f}" for v in by.loc[name])]
        for name in SNAR + SCAR
        if name in by.index
    ]
    return table(["table", *(f"{alpha:g}" for alpha in by)], lines)


def control(rows: pd.DataFrame) -> str:
    """Letter with a part of its labels."""
    rows = rows[rows["data_set"] == "letter"]
    whole = rows[rows["kept"] == 1]
    if len(rows) == len(whole):
        return ""
    constant = float(whole["truth"].mean())
    share = rows["labels"] / rows["rows"]
    rows = rows.assign(always=((constant - share) / (1 - share)).clip(0, 1) - rows["alpha"])
    ours = errors(rows, "kept")
    always = rows["always"].abs().groupby(rows["kept"]).mean()
    learners = [name for name in OURS if name in ours and ours[name].notna().all()]
    thinned = rows[rows["kept"] < 1]["truth"]
    lines = [
        [f"{kept:g}", *(number(ours.loc[kept, n]) for n in learners), number(always[kept])]
        for kept in ours.index[::-1]
    ]
    head = ["labels kept", *(OURS[name] for name in learners), f"always {constant:.3f}"]
    return CONTROL.format(
        share=constant, constant=always[1.0], low=thinned.min(), high=thinned.max()
    ) + table(head, lines)


def hidden_rows(results: Path = RESULTS, part: str = "judge") -> pd.DataFrame:
    """Every class prior of the simulations without a driver among the columns."""
    rows = rows_of(results, part, "hidden")
    if rows.empty:
        return rows
    bias = rows["class_prior"] - rows["truth"]
    guess = (2 * rows["labels"] / rows["rows"]).clip(upper=1)
    off = (guess - rows["truth"]).abs()
    return rows.assign(bias=bias, size=bias.abs(), guess_size=off)


def hidden(results: Path) -> str:
    rows = hidden_rows(results)
    if rows.empty:
        return HIDDEN.split(", on\ntables")[0] + ".\n\nNot measured yet.\n"
    key = ["follows", "table", "strength"]
    by = rows.groupby([*key, "learner"])["size"].mean().unstack()
    guess = rows[rows["learner"] == "none"].groupby(key)["guess_size"].mean()
    lines = [
        [follows, name, f"{strength:g}", *map(number, line), number(guess[follows, name, strength])]
        for (follows, name, strength), line in zip(by.index, by.to_numpy(), strict=True)
    ]
    text = HIDDEN.format(seeds=rows["seed"].nunique())
    return text + table([*key, *by, "guess 2 P(s)"], lines) + verdict(by)


def verdict(by: pd.DataFrame) -> str:
    """What the rule of ``hidden.toml`` says of each way."""
    looks_for = {"score": "score", "clusters": "subtypes", "by cluster": "subtypes"}
    by = by.sort_index()
    strength = by.index.get_level_values("strength")
    follows = by.index.get_level_values("follows")
    parts = []
    for way, kind in looks_for.items():
        less = by["none"] - by[way]
        own = less[(follows == kind) & (strength > 0)].mean()
        chance = less[strength == 0].min()
        other = less[(follows != kind) & (strength != 0)].mean()
        enters = own >= MOST_LOST and min(chance, other) >= -MOST_LOST
        parts.append(
            f'"{way}" is nearer than none by {own:+.3f} where labelling follows what it looks for, '
            f"by {chance:+.3f} at least where labels fall at random, by {other:+.3f} where "
            f"labelling follows the other thing: it {'enters' if enters else 'stays out'}"
        )
    return "\n" + "; ".join(parts) + ".\n"


def purple(results: Path) -> str:
    rows = rows_of(results, "purple")
    if rows.empty:
        return PURPLE.split(", {repeats}")[0] + ".\n\nNot measured yet.\n"
    rows = rows.assign(size=rows["log2_error"].abs())
    key = ["rule", "gap", "frequency", "difference"]
    by = rows.groupby([*key, "method"], sort=False)["size"].mean().unstack()
    methods = list(rows["method"].drop_duplicates())
    order = list(rows.drop_duplicates(key).set_index(key).index)
    lines = [
        [
            rule,
            f"{gap:g}",
            f"{c:g}",
            f"{d:g}",
            *(number(by.loc[(rule, gap, c, d), m]) for m in methods),
        ]
        for rule, gap, c, d in sorted(order, key=lambda k: (k[3], k[0], k[1], k[2]))
    ]
    head = ["rule", "difference of means", "label frequency in B", "added in A", *methods]
    own = rows[rows["low"].notna() & (rows["difference"] == 0)]
    covers = own["truth"].between(own["low"], own["high"]).groupby(own["method"]).mean()
    said = "; ".join(f"{name} {share:.0%}" for name, share in covers.items())
    return (
        PURPLE.format(repeats=rows["repeat"].nunique())
        + table(head, lines)
        + "\nIntervals of 95 % hold the ratio among the rows held out (it has chance of its own) "
        + f"where one rule holds for both groups: {said}. Where the class probability is higher "
        + "in A by what no column shows, both PURPLE and ours take it for labelling.\n"
    )


def weak_rows(results: Path = RESULTS) -> pd.DataFrame:
    rows = rows_of(results, "weak")
    if rows.empty:
        return rows
    share = rows["labels"] / rows["rows"]
    return rows.assign(
        name=rows["learner"].replace(
            {n: f"`SARClassifier`, {n}" for n in ("none", "auto", "told")}
        ),
        bias=rows["class_prior"] - rows["truth"],
        size=(rows["class_prior"] - rows["truth"]).abs(),
        hidden=(rows["truth"] - share) / (1 - share),
        found=(rows["class_prior"] - share) / (1 - share),
    )


def weak(results: Path) -> str:
    rows = weak_rows(results)
    if rows.empty:
        return WEAK.split(", {cells}")[0] + ".\n\nNot measured yet.\n"
    once = rows.drop_duplicates(["data_set", "draw", "seed"])
    found = WEAK.format(cells=len(once))
    size = rows.groupby(["name", "case", "signal"])["size"].mean()
    kinds = list(rows["case"].drop_duplicates())
    bias = rows[rows["signal"] == "real"].groupby("name")["bias"]
    lines = []
    for name in sorted(set(rows["name"])):
        cells = [number(size[name, kind, s]) for kind in kinds for s in ("real", "shuffled")]
        lines.append([name, *cells, f"{bias.get_group(name).mean():+.3f}", *follows(rows, name)])
    pairs = [name for kind in kinds for name in (kind, "shuffled")]
    head = ["estimator", *pairs, "mean signed error", "follows", "shuffled"]
    found += table(head, lines)
    real = rows[rows["signal"] == "real"]
    by = real.pivot_table(index="data_set", columns="name", values="size")
    lines = [[name, *(number(v) for v in by.loc[name])] for name in by.index]
    return found + "\nBy table, real columns:\n" + table(["table", *by], lines)


def follows(rows: pd.DataFrame, name: str) -> list[str]:
    """Rank correlation of the share that is found with the true one, real and shuffled."""
    own = rows[(rows["name"] == name) & (rows["case"] == "spread")]
    parts = [own[own["signal"] == signal] for signal in ("real", "shuffled")]
    return [f"{part['found'].corr(part['hidden'], method='spearman'):.2f}" for part in parts]
