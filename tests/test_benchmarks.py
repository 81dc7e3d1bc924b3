"""The benchmark harness: its contestants agree, its counts and checks are right."""

import json

import numpy as np
import pytest
from benchmarks import contestants, learner, measure, run, store, tables
from benchmarks.counters import counting, gram_flops
from benchmarks.naive import NaiveSAREM
from benchmarks.workloads import BY_KEY, Workload, coded_table, sparse_words
from scipy.special import expit

from sarlearn import SAREMClassifier
from sarlearn._engine.blocks import RowBlocks


@pytest.fixture(scope="module")
def problem():
    return coded_table(800, 6, 5, "test")


@pytest.fixture(scope="module")
def fixed_point(problem):
    return contestants.sarlearn(problem, stop="fixed_point", tol=1e-11)


def test_naive_takes_the_same_path_as_sarlearn(problem):
    naive = NaiveSAREM(problem.columns, tol=1e-9, intercept_scaling=1e3)
    naive.fit(problem.X, problem.s)
    model = SAREMClassifier(problem.columns).fit(problem.X, problem.s)
    assert naive.converged_
    assert abs(naive.n_iter_ - model.n_iter_) <= 1
    assert np.abs(naive.f - model.predict_proba(problem.X)[:, 1]).max() < 1e-3
    assert np.abs(naive.e - model.predict_propensity(problem.X)).max() < 1e-3


def test_naive_keeps_sparse_data_sparse_or_unpacks_them():
    words = sparse_words(300, 30, 5, "test")
    endpoint = np.zeros(31), np.zeros(4)
    kept, unpacked = (
        contestants.naive(words, limit=60.0, expected=1, endpoint=endpoint, as_csr=as_csr)
        for as_csr in (True, False)
    )
    assert kept.iterations == unpacked.iterations
    assert np.allclose(kept.classifier, unpacked.classifier, atol=1e-3)


def test_too_long_a_run_is_extrapolated_and_says_so(problem, fixed_point):
    endpoint = fixed_point.classifier, fixed_point.propensity
    whole = contestants.naive(problem, limit=60.0, expected=50, endpoint=endpoint)
    part = contestants.naive(problem, limit=0.0, expected=50, endpoint=endpoint)
    assert not whole.extrapolated
    assert whole.classifier is not None
    assert part.extrapolated
    assert part.iterations == 50
    assert part.classifier is None  # it has no endpoint to show
    assert "extrapolated" in part.note


def test_counts_of_a_fit(problem):
    model = SAREMClassifier(problem.columns)
    plain_total = RowBlocks.total
    with counting(problem.X.shape[1]) as counts:
        model.fit(problem.X, problem.s)
    assert RowBlocks.total is plain_total
    assert counts.em_passes >= model.n_iter_
    assert counts.elements >= counts.em_passes * problem.X.size
    n_rows = problem.X.shape[0]
    hessians = counts.gram_rows / n_rows
    assert 1 <= hessians <= counts.elements / problem.X.size
    # The propensity's own Hessians are over a handful of groups.
    assert counts.gram_flops >= hessians * gram_flops(problem.X)


def test_counts_of_a_fit_to_sparse_rows():
    words = sparse_words(300, 30, 4, "test")
    with counting(words.X.shape[1]) as counts:
        SAREMClassifier(max_iter=5, window=2, tol=10.0).fit(words.X, words.s)
    passes = counts.elements / words.X.nnz  # not of 300 x 30
    assert counts.em_passes <= passes <= counts.em_passes + 40


def test_gram_flops_of_sparse_and_dense_rows():
    words = sparse_words(50, 20, 4, "test").X
    full = np.ones((50, 20))
    assert gram_flops(full) == 50 * 20 * 21
    in_row = [len(row.nonzero()[0]) for row in words.toarray()]
    assert gram_flops(words) == sum(k * (k + 1) for k in in_row)


def test_residual_is_zero_at_the_fixed_point_only(problem, fixed_point):
    there = fixed_point.classifier, fixed_point.propensity
    away = fixed_point.classifier + 0.01, fixed_point.propensity
    residuals = [
        measure._residual(problem, *point, *measure._predictions(problem, *point))
        for point in (there, away)
    ]
    assert residuals[0]["residual_f"] < 1e-6
    assert residuals[0]["residual_e"] < 1e-6
    assert residuals[1]["residual_f"] > 0.1


def test_a_measurement_is_a_process_that_gives_a_row(tmp_path):
    what = {"kind": "fit", "workload": "b", "rows": 600, "repeat_seconds": 0.05}
    row = run.job(method="slope_numpy", **what, saved=str(tmp_path))  # no compiler to wait for
    assert "failed" not in row
    assert (row["rows"], row["columns"]) == (600, 14)
    assert row["cpu"] > 0
    assert row["bound"] > 0
    assert row["passes"] >= row["iterations"] >= 10
    json.dumps(row)
    with np.load(tmp_path / "b-slope_numpy.npz") as stored:
        problem = BY_KEY["b"].problem(600)
        f = expit(problem.X @ stored["classifier"][:-1] + stored["classifier"][-1])
    again = contestants.sarlearn(problem, stop="slope")
    assert np.allclose(f, expit(problem.X @ again.classifier[:-1] + again.classifier[-1]))


def test_results_replace_rows_of_the_same_key_only(tmp_path):
    store.merge("startup", [{"what": "a", "cpu": 1.0}, {"what": "b", "cpu": 2.0}], tmp_path)
    store.merge("startup", [{"what": "b", "cpu": 3.0, "note": "again"}], tmp_path)
    rows = {row["what"]: row for row in store.load("startup", tmp_path)}
    assert store.number(rows["a"], "cpu") == 1.0
    assert store.number(rows["b"], "cpu") == 3.0
    assert rows["b"]["note"] == "again"
    assert [path.name for path in tmp_path.iterdir()] == ["startup.csv"]


def test_tables_tell_extrapolated_times_and_missed_targets(tmp_path):
    common = {"workload": "c", "title": "fifty thousand", "rows": 50_000, "columns": 14}
    naive = {"cpu": 30.0, "iterations": 60, "extrapolated": True}
    slope = {"cpu": 0.5, "iterations": 61, "extrapolated": False}
    rows = [common | {"method": "naive"} | naive, common | {"method": "slope"} | slope]
    store.merge("workloads", rows, tmp_path)
    assert tables.speed(tmp_path).rows[0][1:7] == ["about 30 (60)", "", "0.5 (61)", "", "", "60"]
    assert tables.limits(tmp_path).rows[0][1:] == [">= 80", "60", "**missed**"]


def test_a_peer_that_does_not_finish_has_no_time_and_no_ratio(tmp_path):
    common = {"workload": "b", "title": "fifty thousand", "rows": 50_000, "columns": 14}
    peer = {"method": "pysarpu", "note": "did not finish: 3 iterations in 25 s"}
    slope = {"method": "slope", "cpu": 0.5, "iterations": 61, "extrapolated": False}
    store.merge("workloads", [common | peer, common | slope], tmp_path)
    (row,) = tables.speed(tmp_path).rows
    assert row[2] == "did not finish: 3 iterations in 25 s"
    assert tables.ratio(tables.by_workload(tmp_path)["b"], "pysarpu") is None
    assert not [line for line in tables.limits(tmp_path).rows if "pysarpu" in line[0]]


def test_the_peer_is_cut_off(problem, monkeypatch):
    pytest.importorskip("pysarpu")
    monkeypatch.setattr(contestants.resource, "setrlimit", lambda *_: None)
    with pytest.raises(contestants.DidNotFinish, match=r"did not finish: \d+ iterations in 0 s"):
        contestants.pysarpu(problem, limit=0.02)


def test_exponent_of_exact_powers():
    rows = [{"rows": n, "cpu": str(1e-6 * n**1.5)} for n in (1e5, 1e6, 5e6)]
    assert tables.exponent([{"rows": 5e3, "cpu": "9"}, *rows]) == pytest.approx(1.5, abs=1e-6)


@pytest.mark.parametrize("key", ["a", "b", "c", "d", "e", "f"])
def test_generated_workloads_are_the_same_every_time(key):
    workload: Workload = BY_KEY[key]
    first, again = workload.problem(600), workload.problem(600)
    assert first.X.shape[0] == 600
    assert abs(first.X - again.X).max() == 0
    assert np.array_equal(first.s, again.s)
    assert 0 < first.s.mean() < 0.5


def test_what_a_process_takes_is_told():
    from benchmarks import users

    found = users.process(["-c", "print(sum(range(10**6)))"])
    assert found["printed"].strip() == "499999500000"
    assert found["cpu"] > 0
    assert 1 < found["peak_mb"] < 1000


def test_what_the_learner_costs_is_set_beside_its_limits(tmp_path):
    row = learner.cost(400, 8, is_sparse=False, repeats=1)
    assert 0 < row["linear_cpu"] < row["cpu"]
    assert row["fits"] == pytest.approx(row["cpu"] / row["unit_cpu"])
    sparse = learner.cost(300, 400, is_sparse=True, repeats=1)
    assert sparse["unit"] == "LogisticRegression"
    store.merge("learner", [{"case": "2,000 x 20", **row, "fits": 7.0}], tmp_path)
    store.merge("learner", [{"case": "first fit", "cpu": 0.9, "more": 0.5}], tmp_path)
    size = {"rows": 100_000, "columns": 14}
    fit = {"case": "command line, Adult", "step": "fit", "cpu": 11, **size}
    score = {"case": "batches", "step": "score", "cpu": 3, "peak_mb": 1200, **size}
    store.merge("users", [fit, score], tmp_path)
    unit = "in fits of HistGradientBoostingClassifier"
    assert tables.limits(tmp_path).rows == [
        [f"a fit of 2,000 x 20: {unit}", "<= 6", "7", "**missed**"],
        ["first fit over the second, CPU s", "<= 0.6", "0.5", "met"],
        ["sarlearn fit, Adult, 100,000 rows: CPU s", "<= 12", "11", "met"],
        ["sarlearn predict, 100,000 rows: million rows a CPU minute", ">= 1", "2", "met"],
        ["sarlearn predict, 100,000 rows: peak MB", "<= 1000", "1,200", "**missed**"],
    ]
    assert tables.learner(tmp_path).rows[0][0] == "2,000 x 20"
    assert tables.users(tmp_path).rows[0][:3] == ["command line, Adult", "fit", "100,000"]


def test_a_quick_run_measures_what_has_a_limit(tmp_path):
    steps = run.Benchmark(run.QUICK, tmp_path, tmp_path).steps(run.QUICK_PARTS)
    titles = [title for title, _ in steps]
    assert titles[:3] == ["machine", "workload c: slope", "workload c: naive"]
    assert {f"a fit of {case.name}" for case in learner.CASES if case.quick} <= set(titles)


def test_parts_of_a_table_are_a_problem_of_labels(tmp_path, monkeypatch):
    pq = pytest.importorskip("pyarrow.parquet")
    from benchmarks import users

    monkeypatch.setattr(users, "FILE_ROWS", 400)
    users.write_parts(tmp_path / "parts", 1000)
    table = pq.read_table(tmp_path / "parts")
    assert (len(table), len(list((tmp_path / "parts").iterdir()))) == (1000, 3)
    assert 0.05 < np.mean(table["labelled"].to_numpy()) < 0.5
