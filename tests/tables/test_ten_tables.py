"""Ten tables as people have them give the same class prior as their clean twins.

Each goes through the command line: a file on the disk, a fit in a process of its own memory.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from sarlearn.cli import run

N = 1200
TOLERANCE = 0.005
# Rows in which words stand among numbers.
STRAY = [17, 700]


def clean(seed=1):
    """A table of patients whose labelling follows age and plan."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.normal(50, 12, N).round(1),
            "plan": rng.choice(["none", "basic", "full"], N),
            "bmi": rng.normal(26, 4, N).round(1),
            "pressure": rng.normal(120, 15, N).round(1),
            "income": np.exp(rng.normal(8, 1.5, N)).round(2),
        }
    )
    score = 0.5 * (table["bmi"] - 26) + 0.15 * (table["pressure"] - 120)
    score += 1.5 * (np.log(table["income"]) - 8)
    y = rng.random(N) < expit(1.5 * score)
    e = expit(0.06 * (table["age"] - 50) + table["plan"].map({"none": -1, "basic": 0, "full": 1.5}))
    table["labelled"] = (y & (rng.random(N) < e)).astype(int)
    return table


def prior(path, capsys, *options):
    """The class prior that the command line finds, and what it said on the way."""
    output = path.with_suffix(".skops")
    arguments = ["fit", str(path), "--label", "labelled", "--propensity", "age,plan", "--json"]
    code = run([*arguments, "-o", str(output), "--force", *options])
    out, err = capsys.readouterr()
    assert code == 0, err
    return json.loads(out)["estimates"]["class_prior"], err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


@pytest.fixture
def twin(folder, capsys):
    """The class prior of the clean table, fitted once, and what is said of it."""
    kept = folder / "prior.json"
    if not kept.exists():
        clean().to_csv(folder / "clean.csv", index=False)
        kept.write_text(json.dumps(prior(folder / "clean.csv", capsys)))
    return json.loads(kept.read_text())


def european(table, path):
    table.to_csv(path, index=False, sep=";", decimal=",")


def excel(table, path):
    table.to_csv(path, index=False, encoding="utf-8-sig", lineterminator="\r\n")


def latin_1(table, path):
    # In the order of the others: codes are, and folds follow them.
    plans = {"basic": "einfach", "full": "größer", "none": "keine"}
    table.assign(plan=table["plan"].map(plans)).to_csv(path, index=False, encoding="latin-1")


def nullable(table, path):
    table.convert_dtypes().assign(plan=table["plan"].astype("category")).to_parquet(path)


def stray(table, path):
    table = table.assign(age=table["age"].astype(str))
    table.loc[STRAY, "age"] = ["?", "n. a."]
    table.to_csv(path, index=False)


def money(table, path):
    table.assign(income=[f"$ {value:,.2f}" for value in table["income"]]).to_csv(path, index=False)


def levels(table, path):
    codes = np.random.default_rng(0).integers(0, 5000, len(table))
    table.assign(postcode=[f"P{code:05d}" for code in codes]).to_csv(path, index=False)


def dates(table, path):
    seen = pd.Timestamp("2019-01-01") + pd.to_timedelta(np.arange(len(table)) % 700, unit="D")
    table.assign(seen=seen.strftime("%d.%m.%Y")).to_csv(path, index=False)


def yes_or_empty(table, path):
    table.assign(labelled=np.where(table["labelled"], "yes", "")).to_csv(path, index=False)


def one_or_nan(table, path):
    table.assign(labelled=np.where(table["labelled"], 1.0, np.nan)).to_parquet(path)


@pytest.mark.parametrize(
    ("write", "ending", "options", "said"),
    [
        (european, "csv", [], None),
        (excel, "csv", [], None),
        (latin_1, "csv", [], r"was read as Windows-1252 \(Latin-1\)"),
        (nullable, "parquet", [], None),
        (money, "csv", [], None),
        (levels, "csv", [], "'postcode' has 1,0.. different values in 1,200 rows"),
        (dates, "csv", ["--drop", "seen"], None),
        (yes_or_empty, "csv", [], None),
        (one_or_nan, "parquet", [], None),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_class_prior_is_that_of_the_clean_twin(
    write, ending, options, said, folder, twin, capsys
):
    path = folder / f"{write.__name__}.{ending}"
    write(clean(), path)
    found, err = prior(path, capsys, *options)
    expected, err_of_twin = twin
    assert found == pytest.approx(expected, abs=TOLERANCE)
    assert re.search(said, err) if said else err == err_of_twin, err


def test_stray_words_give_the_class_prior_of_gaps(folder, capsys):
    """Of the clean twin it is another one: rows with a gap are other rows, and fold otherwise."""
    table = clean()
    stray(table, folder / "stray.csv")
    found, err = prior(folder / "stray.csv", capsys)
    assert re.search(r"'age' holds numbers, except in 2 of 1200 rows.*'\?' and 'n. a.'", err)
    table.loc[STRAY, "age"] = np.nan
    table.to_csv(folder / "gaps.csv", index=False)
    assert found == pytest.approx(prior(folder / "gaps.csv", capsys)[0], abs=1e-9)


def test_dates_give_the_class_prior_of_days(folder, capsys):
    table = clean()
    dates(table, folder / "d.csv")
    found, _ = prior(folder / "d.csv", capsys)
    table.assign(days=np.arange(N) % 700).to_csv(folder / "numbers.csv", index=False)
    by_hand, _ = prior(folder / "numbers.csv", capsys)
    assert found == pytest.approx(by_hand, abs=TOLERANCE)
