"""Tables and the command line on Dask."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from cli_tools import command, process
from dask_tools import N, dd, pd, quiet

pytestmark = quiet

# -- tables and the command line ----------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    """A table with gaps, words and truth values, and who is labelled."""
    rng = np.random.default_rng(0)
    age, plan = rng.normal(50, 10, N).round(1), rng.choice(["none", "basic", "full"], N)
    ill = rng.random(N) < 1 / (1 + np.exp(-(age - 50) / 4))
    s = ill & (rng.random(N) < np.where(plan == "none", 0.2, 0.7))
    age[rng.random(N) < 0.1] = np.nan
    town = [f"t{int(k)}" for k in rng.exponential(12, N)]
    table = pd.DataFrame({"age": age, "plan": plan, "town": town, "member": rng.random(N) < 0.5})
    return table.assign(always=1, children=rng.integers(0, 5, N)), s


@pytest.mark.parametrize("settings", [{}, {"terms": True}, {"words": ["children"]}], ids=str)
def test_an_encoder_learns_the_same_from_partitions(here, people, settings):
    from sarlearn import TableEncoder

    table, _ = people
    whole = TableEncoder(**settings).fit(table)
    parts = dd.from_pandas(table, npartitions=6)
    found = TableEncoder(**settings).fit(parts)
    assert found.feature_names_out_ == whole.feature_names_out_
    assert found.kinds_ == whole.kinds_
    assert found.constant_ == whole.constant_ == ["always"]
    expected = whole.transform(table)
    np.testing.assert_allclose(found.transform(table), expected, atol=1e-12)
    lazy = found.transform(parts)
    assert list(lazy.columns) == whole.feature_names_out_
    np.testing.assert_allclose(lazy.compute(), expected, atol=1e-12)
    pd.testing.assert_index_equal(lazy.compute().index, table.index)


def test_kinds_are_told_from_all_partitions(here):
    from sarlearn import TableEncoder

    mixed = pd.DataFrame({"a": [None] * 4 + [1, 2, 3, 4] + ["x", "y", 1, None]}, dtype=object)
    empty = pd.DataFrame({"b": np.r_[np.full(6, np.nan), np.arange(6.0)]})
    table = pd.concat([mixed, empty], axis=1)
    parts = dd.from_map(lambda k: table.iloc[4 * k : 4 * k + 4], range(3), meta=table.iloc[:0])
    found, whole = (TableEncoder(min_rows=1).fit(data) for data in (parts, table))
    assert found.kinds_ == whole.kinds_ == {"a": "category", "b": "numeric"}
    np.testing.assert_allclose(found.transform(table), whole.transform(table), atol=1e-12)
    with pytest.raises(ValueError, match="no column with more than one value"):
        TableEncoder().fit(dd.from_pandas(pd.DataFrame({"a": [1, 1, 1]}), npartitions=2))
    names = pd.DataFrame({"id": [f"r{k}" for k in range(80)], "x": np.tile(range(8), 10)})
    with pytest.warns(UserWarning, match="'id' has 80 different values in 80 rows"):
        TableEncoder().fit(dd.from_pandas(names, npartitions=3))


def test_a_table_model_goes_both_ways_and_is_saved(place, people, tmp_path):
    from sarlearn.saving import load_file, save
    from table_data import sarem_of_table

    table, s = people
    parts = dd.from_pandas(table.assign(s=s), npartitions=6)
    labels, parts = parts["s"], parts.drop(columns="s")
    settings = {"window": 4, "tol": 0.01}
    whole = sarem_of_table(["plan"], **settings).fit(table, s)
    found = sarem_of_table(["plan"], **settings).fit(parts, labels)
    np.testing.assert_allclose(found[-1].coef_, whole[-1].coef_, atol=1e-8)
    save(found, tmp_path / "model.skops")
    again = load_file(tmp_path / "model.skops").model
    expected = whole.predict_proba(table)
    np.testing.assert_allclose(again.predict_proba(table), expected, atol=1e-8)
    np.testing.assert_allclose(again.predict_proba(parts).compute(), expected, atol=1e-8)


def test_the_learner_reads_partitions_and_batches_as_it_reads_a_table(place, people):
    from sarlearn import Batches, SARClassifier

    table, s = people
    table = table.assign(seen=pd.date_range("2020-01-01", periods=N, freq="7h").astype(str))
    whole = SARClassifier(["plan"], max_iter=20).fit(table, s)
    parts = dd.from_pandas(table.assign(s=s), npartitions=6)
    found = SARClassifier(["plan"], max_iter=20).fit(parts.drop(columns="s"), parts["s"])
    expected = whole.predict_proba(table)
    np.testing.assert_allclose(found.predict_proba(table), expected, atol=1e-8)
    lazy = found.predict_posterior(parts.drop(columns="s"), parts["s"]).compute()
    np.testing.assert_allclose(lazy, whole.predict_posterior(table, s), atol=1e-8)
    batches = Batches(pa.Table.from_pandas(table.assign(s=s, w=1.0)))
    streamed = SARClassifier(["plan"], max_iter=20).fit(batches, "s", sample_weight="w")
    assert list(streamed.feature_names_in_) == list(table.columns)
    np.testing.assert_allclose(streamed.predict_proba(batches), expected, atol=1e-8)


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    table, s = people
    out = tmp_path_factory.mktemp("parts")
    table = table.assign(patient=np.arange(N), diagnosed=np.where(s, "yes", None))
    for k in range(3):
        table.iloc[1000 * k : 1000 * k + 1000].to_parquet(out / f"part{k}.parquet")
        table.iloc[1000 * k : 1000 * k + 1000].to_csv(out / f"part{k}.csv", index=False)
    table.to_parquet(out / "all.pq")
    return out


def fit_command(folder, table: str, *options: str) -> list[str]:
    """The arguments of the command; options last, where ``--dask`` may stand alone."""
    command = ["fit", str(folder / table), "--label", "diagnosed", "--propensity", "plan"]
    columns = ["--id", "patient", "--drop", "always", "--json", "--force"]
    return [*command, *columns, "-o", str(folder / "model.skops"), *options]


@pytest.mark.parametrize(
    ("table", "options"), [("part*.parquet", []), ("part*.csv", ["--method", "sar-em"])]
)
def test_the_command_line(client, folder, table, options, monkeypatch, capsys):
    """The default is SARClassifier, as in memory, with the same numbers."""
    from sarlearn.cli import large
    from sarlearn.cli.app import app

    monkeypatch.setattr(large, "SAMPLE_ROWS", 1000)
    address = client.scheduler.address
    app(fit_command(folder, table, *options, "--dask", address), standalone_mode=False)
    found = json.loads(capsys.readouterr().out)
    app(fit_command(folder, "all.pq", *options), standalone_mode=False)
    whole = json.loads(capsys.readouterr().out)
    assert found["data"] == whole["data"]
    for name, value in whole["estimates"].items():
        assert found["estimates"][name] == pytest.approx(value, rel=1e-6)
    assert (found["certainty"] is None) == (whole["certainty"] is None) == ("sar-em" in options)
    if whole["certainty"] is not None:  # SAR-EM says no range
        assert found["certainty"]["hidden_positives"] == pytest.approx(
            whole["certainty"]["hidden_positives"], rel=1e-5
        )
    assert any("of the 3,000 rows, spread evenly" in str(told) for told in found["warnings"])
    assert len(found["candidates"]["rows"]) == 20


def audits_of(folder, kind: str) -> list[str]:
    """Options that tell of 300 rows someone has looked at: in columns, or in a file."""
    whole = pd.read_parquet(folder / "all.pq")
    rows = np.random.default_rng(3).permutation(np.flatnonzero(whole["diagnosed"].isna()))[:300]
    answers = np.where(whole["age"].to_numpy()[rows] > 55, "yes", "no")
    if kind == "columns":
        whole["looked"], whole["drawn"] = None, np.nan
        whole.loc[rows, "looked"], whole.loc[rows, "drawn"] = answers, 300 / N
        for k in range(3):
            whole.iloc[1000 * k : 1000 * k + 1000].to_parquet(folder / f"looked{k}.parquet")
        return ["--audited", "looked", "--audit-probability", "drawn"]
    filled = whole.iloc[rows][["patient", "age"]].assign(
        audited=answers, audit_row=rows, audit_round=1, audit_probability=300 / N
    )
    filled.to_csv(folder / "filled.csv", index=False)
    return ["--audited", str(folder / "filled.csv")]


@pytest.mark.parametrize("kind", ["columns", "file"])
def test_audits_on_the_command_line(client, folder, kind, monkeypatch, capsys):
    from sarlearn.cli.app import app

    options = [*audits_of(folder, kind), "--method", "sar-em"]
    table = "looked*.parquet" if kind == "columns" else "part*.parquet"
    app(
        fit_command(folder, table, *options, "--dask", client.scheduler.address),
        standalone_mode=False,
    )
    found = json.loads(capsys.readouterr().out)
    app(fit_command(folder, table, *options, "--in-memory"), standalone_mode=False)
    whole = json.loads(capsys.readouterr().out)
    assert found["certainty"]["n_audited"] == whole["certainty"]["n_audited"] == 300
    assert found["certainty"]["by_design"]
    for name in ("class_prior", "low", "high"):
        assert found["certainty"][name] == pytest.approx(whole["certainty"][name], rel=1e-8)
    assert found["estimates"]["class_prior"] == pytest.approx(
        whole["estimates"]["class_prior"], rel=1e-8
    )
    app(fit_command(folder, "part*.parquet", "--method", "sar-em"), standalone_mode=False)
    plain = json.loads(capsys.readouterr().out)
    assert plain["estimates"]["class_prior"] != pytest.approx(
        found["certainty"]["class_prior"], rel=1e-3
    )


def test_a_file_of_audits_of_another_table(client, folder):
    from sarlearn.cli.app import app

    options = audits_of(folder, "file")
    filled = pd.read_csv(folder / "filled.csv")
    filled.assign(patient=filled["patient"] + 1).to_csv(folder / "filled.csv", index=False)
    with pytest.raises(ValueError, match=r"does not match the table: in row .*, 'patient' is "):
        app(
            fit_command(folder, "part*.parquet", *options, "--dask", client.scheduler.address),
            standalone_mode=False,
        )


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        ("part*.parquet", ["--audited", "lookd"], ValueError, "lookd"),
        ("part*.parquet", ["--audited", "no.csv"], ValueError, "neither a file nor a column"),
        ("nothing*.parquet", [], FileNotFoundError, "No file matches"),
        ("part*.parquet", ["--propensity", "plam"], ValueError, "plan"),
        ("*.txt", [], ValueError, "Parquet"),
    ],
)
def test_the_command_line_refuses(client, folder, table, options, error, message):
    from sarlearn.cli.app import app

    (folder / "notes.txt").write_text("a,b")
    arguments = fit_command(folder, table, *options, "--dask", client.scheduler.address)
    with pytest.raises(error, match=message):
        app(arguments, standalone_mode=False)


ON_ONE_CORE: dict = {}
if hasattr(os, "sched_setaffinity"):
    ON_ONE_CORE["preexec_fn"] = lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def test_the_command_line_with_its_own_cluster(folder, tmp_path, monkeypatch):
    """As a person types it: a local cluster, and the dashboard's address on stderr.

    Of one worker, however many cores there are: each imports everything.
    """
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path))
    monkeypatch.setattr("sarlearn.cli.large.ANSWER_WITHIN", "1s")
    fit = fit_command(folder, "part*.parquet", "--method", "sar-em", "--dask")
    with ThreadPoolExecutor() as pool:
        running = pool.submit(process, *fit, **ON_ONE_CORE)
        gone = command(*fit, "tcp://127.0.0.1:9", cwd=tmp_path)
    done = running.result()
    assert gone.returncode
    assert "no scheduler answers at tcp://127.0.0.1:9" in gone.stderr
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["data"]["rows"] == N
    assert "Dask dashboard: http" in done.stderr


def test_cells_of_text_are_read_alike_from_partitions(here):
    from sarlearn import TableEncoder
    from sarlearn.exceptions import DataWarning

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": [f"{v:.1f}".replace(".", ",") for v in rng.normal(50, 10, 600)],
            "money": np.exp(rng.normal(8, 2, 600)),
            "plan": rng.choice(["a", "b", "c"], 600),
        }
    )
    table.loc[5, "age"] = "?"
    parts = dd.from_pandas(table, npartitions=4)
    with pytest.warns(DataWarning, match="'age' holds numbers, except in 1 of 600 rows"):
        found = TableEncoder().fit(parts)
    with pytest.warns(DataWarning):
        whole = TableEncoder().fit(table)
    assert found.log_units_ == pytest.approx(whole.log_units_)
    assert [r.to_dict() for r in found.readings_] == [r.to_dict() for r in whole.readings_]
    clean = table.drop(5)
    np.testing.assert_allclose(found.transform(clean), whole.transform(clean), atol=1e-10)
    days = pd.date_range("2020-03-01", periods=600, freq="5h")
    for seen in (days, days.strftime("%m/%d/%Y")):
        dated = clean.assign(seen=seen.delete(5))
        found = TableEncoder(terms=True).fit(dd.from_pandas(dated, npartitions=3))
        whole = TableEncoder(terms=True).fit(dated)
        assert found.first_days_ == whole.first_days_
        np.testing.assert_allclose(found.transform(dated), whole.transform(dated), atol=1e-9)
