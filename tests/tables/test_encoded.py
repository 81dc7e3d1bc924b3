"""What the encoder reads of tables, pinned: tracked cells of every table here and a messy one."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sarlearn.tables import TableEncoder

DATA = Path(__file__).parents[1] / "data"
# Of a table so many rows are tracked, evenly spaced.
ROWS = 25


def messy(n=300):
    """Words, gaps, dates, numbers as text, skewed money, codes for gaps, leading zeros."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n).astype(float)
    age[::40] = 999
    height = rng.normal(170, 10, n).round(1)
    comma = [f"{v:.1f}".replace(".", ",") for v in rng.normal(60, 9, n)]
    comma[7], comma[90] = "?", ""
    money = np.exp(rng.normal(8, 2, n)).round(2)
    plan = rng.choice(["none", "basic", "full ", None], n, p=[0.5, 0.2, 0.2, 0.1])
    rare = np.where(np.arange(n) < 20, [f"town {i // 2}" for i in range(n)], "city")
    return pd.DataFrame(
        {
            "age": age,
            "height": np.where(rng.random(n) < 0.1, np.nan, height),
            "weight": comma,
            "money": money,
            "price": [f"${v:,.2f}" for v in money[::-1]],
            "plan": plan,
            "plan=old": rng.choice(["yes", "no"], n),
            "member": rng.random(n) < 0.3,
            "town": rare,
            "zip": [f"{v:05d}" for v in rng.choice([2139, 501, 94105], n)],
            "seen": pd.date_range("2020-02-03", periods=n, freq="17h").strftime("%d.%m.%Y"),
            "same": "x",
            "empty": np.nan,
        }
    )


TABLES = {
    path.stem: lambda path=path: pd.read_csv(path)
    for path in sorted(DATA.glob("*.csv"))
    if not path.stem.startswith("encoded_")
}
TABLES["messy"] = messy


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@pytest.mark.parametrize("name", TABLES)
def test_encoded_cells_are_those_that_are_tracked(name):
    table = TABLES[name]()
    encoded = TableEncoder(dates="days").fit_transform(table)
    some = encoded.iloc[:: max(1, len(table) // ROWS)].reset_index(drop=True)
    tracked = pd.read_csv(DATA / f"encoded_{name}.csv")
    assert list(some.columns) == list(tracked.columns)
    np.testing.assert_allclose(some, tracked, rtol=0, atol=1e-6)
