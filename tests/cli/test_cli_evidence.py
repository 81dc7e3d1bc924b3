"""More evidence than labels on the command line: suggest, check, refit; columns; a known prior."""

import json

import numpy as np
import pandas as pd
import pytest

from sarlearn.cli.table import parse_class_prior
from table_data import patients

COLUMNS = ["--label", "diagnosed", "--id", "patient_id", "--propensity", "age"]


@pytest.fixture(scope="module")
def truth():
    return patients(1500)[1]


def fill_in(path, truth, n=None):
    table = pd.read_csv(path, dtype={"patient_id": str, "audited": object})
    words = np.where(truth[table["audit_row"]], "yes", "no").astype(object)
    empty = table["audited"].isna()
    if n is not None:
        empty &= np.cumsum(empty) <= n
    table.loc[empty, "audited"] = words[empty]
    table.to_csv(path, index=False)


def test_the_loop_of_fitting_checking_and_refitting(call, folder, truth):
    out = ["-o", "loop.csv", "--json", "--force"]
    code, text, _ = call("audit", "model.skops", "patients.csv", "-n", 40, *out)
    assert code == 0
    told = json.loads(text)
    assert (told["rows"], told["round"]) == (40, 1)
    table = pd.read_csv(folder / "loop.csv", dtype={"patient_id": str})
    assert table["audited"].isna().all()
    assert (table["patient_id"].astype(int) == table["audit_row"]).all()
    assert "diagnosed" not in table.columns
    fill_in(folder / "loop.csv", truth)
    fit = ["fit", "patients.csv", *COLUMNS, "--audited", "loop.csv", "-o", "again.skops"]
    code, text, err = call(*fit, "--json", "--force")
    assert code == 0, err
    summary = json.loads(text)
    certainty = summary["certainty"]
    assert certainty["by_design"]
    assert certainty["n_audited"] == 40
    assert certainty["low"] < truth.mean() < certainty["high"]
    assert "Based on 40 checked rows" in summary["verdict"]["reason"]
    assert "in all narrow the range to 5 points" in summary["verdict"]["next"]
    assert "the checked rows say" in summary["text"]["headline"]
    more = ["audit", "again.skops", "patients.csv", "-n", 30, "--audited", "loop.csv"]
    code, text, _ = call(*more, "-o", "more.csv", "--json", "--force")
    assert json.loads(text)["round"] == 2
    table = pd.read_csv(folder / "more.csv")
    assert table["audited"].notna().sum() == 40
    assert table["audit_row"].is_unique
    fill_in(folder / "more.csv", truth, 20)  # whoever stops early
    fit[fit.index("loop.csv")] = "more.csv"
    code, text, err = call(*fit, "--json", "--force")
    assert code == 0, err
    assert json.loads(text)["certainty"]["n_audited"] == 60


def test_a_column_of_audits(call, folder, truth):
    table = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})
    looked = np.random.default_rng(0).random(1500) < 0.1
    looked &= table["diagnosed"].to_numpy() != 1
    table["found"] = np.where(looked, np.where(truth, "yes", "no"), "")
    table.to_csv(folder / "checked.csv", index=False)
    fit = ["fit", "checked.csv", *COLUMNS, "--audited", "found", "-o", "column.skops"]
    code, text, err = call(*fit, "--json", "--force")
    assert code == 0, err
    summary = json.loads(text)
    assert summary["certainty"]["n_audited"] == int(looked.sum())
    assert not summary["certainty"]["by_design"]
    from sarlearn import load

    names = load(folder / "column.skops").feature_names_in_
    assert not any(name.startswith("found") for name in names)


def test_columns_of_the_propensity_alone_and_a_known_prior(call, folder):
    fit = ["fit", "patients.csv", *COLUMNS, "--propensity-only", "plan", "-o", "only.skops"]
    code, text, err = call(*fit, "--class-prior", "0.5", "--json", "--force")
    assert code == 0, err
    summary = json.loads(text)
    assert summary["estimates"]["class_prior"] == pytest.approx(0.5, abs=1e-3)
    assert "the labels alone would have said" in summary["verdict"]["reason"]
    from sarlearn import load

    learner = load(folder / "only.skops")
    assert "plan" not in [learner.feature_names_in_[j] for j in learner.classifier_features_]


def test_a_known_prior_is_not_for_sar_em(call, folder):
    sar_em = ["--method", "sar-em", "-o", "held.skops", "--force"]
    code, _, err = call("fit", "patients.csv", *COLUMNS, *sar_em, "--class-prior", "0.5")
    assert code != 0
    assert "--class-prior 0.5: the method sar-em takes no known class prior" in err


def test_class_priors_are_read():
    assert parse_class_prior("0.12") == 0.12
    assert parse_class_prior("0.08, .15") == (0.08, 0.15)
    assert parse_class_prior("0.12+-0.02") == {"mean": 0.12, "standard_error": 0.02}
    assert parse_class_prior("30%") == 0.3
    assert parse_class_prior("8%,15%") == (0.08, 0.15)
    for wrong in ("a lot", "30", "8,15", "0.1,0.2,0.3"):
        with pytest.raises(ValueError, match=f"'{wrong}' is not understood"):
            parse_class_prior(wrong)


@pytest.mark.parametrize("method", ["sar", "sar-em"])
def test_verified_negatives_in_the_label_column(call, folder, truth, method):
    """The same fit as with a column of audits; and a count of what is said to be unlabelled."""
    table = pd.read_csv(folder / "patients.csv", dtype={"patient_id": str})
    looked = (np.random.default_rng(0).random(1500) < 0.2) & ~truth
    labelled = table["diagnosed"] == 1
    table["found"] = np.where(looked, "no", "")
    table["state"] = np.where(labelled, "malignant", np.where(looked, "benign", "unknown"))
    table.to_csv(folder / "states.csv", index=False)
    fit = ["fit", "states.csv", "--id", "patient_id", "--propensity", "age", "--method", method]
    fit += ["--json", "--force"]
    state = ["--label", "state", "--positive", "malignant", "--drop", "diagnosed,found"]
    code, _, err = call(*fit, *state, "-o", "state.skops")
    assert code == 2
    assert "holds benign, malignant and unknown: besides" in err
    assert "--negative benign" in err
    assert "--unlabelled benign,unknown" in err
    code, text, err = call(*fit, *state, "--negative", "benign", "-o", "state.skops")
    assert code == 0, err
    found = json.loads(text)
    column = ["--label", "diagnosed", "--audited", "found", "--drop", "state"]
    told = json.loads(call(*fit, *column, "-o", "column.skops")[1])
    assert found["estimates"] == pytest.approx(told["estimates"])
    if method != "sar-em":  # which says nothing of what the labels leave open
        assert found["certainty"]["n_audited"] == looked.sum()
    code, text, err = call(*fit, *state, "--unlabelled", "benign,unknown", "-o", "plain.skops")
    assert code == 0, err
    plain = json.loads(text)
    assert plain["data"] == found["data"]
    if method != "sar-em":
        assert plain["certainty"]["n_audited"] == 0
    # What was checked and is negative stays so when the same table is scored.
    assert call("predict", "state.skops", "states.csv", "-o", "state.csv", "--force")[0] == 0
    posterior = pd.read_csv(folder / "state.csv")["posterior"].to_numpy()
    assert (posterior[looked] == 0).all()
    assert (posterior[labelled] == 1).all()
    assert (posterior[~looked & ~labelled] > 0).all()


def test_errors_name_what_is_wrong(call, folder, truth):
    fit = ["fit", "patients.csv", *COLUMNS, "-o", "bad.skops"]
    code, _, err = call(*fit, "--audited", "nothing")
    assert code == 2
    assert "--audited: the table has no column 'nothing'" in err
    code, _, err = call(*fit, "--audited", "nothing.csv")
    assert code == 2
    assert "'nothing.csv' is neither a file nor a column" in err
    code, _, err = call(*fit, "--audited", "plan")
    assert code == 2
    assert "The column 'plan' holds" in err
    code, _, err = call(*fit, "--audit-probability", "plan")
    assert code == 2
    assert "--audit-probability needs --audited" in err
    code, _, err = call(*fit, "--class-prior", "0.01")
    assert code == 2
    assert "below the share of labelled rows" in err
    code, _, err = call("audit", "model.skops", "patients.csv", "-o", "-")
    assert code == 2
    assert "needs a file; it is not" in err
    out = ["-o", "wrong.csv", "--force"]
    assert call("audit", "model.skops", "patients.csv", "-n", 10, *out)[0] == 0
    table = pd.read_csv(folder / "wrong.csv", dtype=str)
    code, _, err = call(*fit, "--audited", "wrong.csv")
    assert (code, "wrong.csv holds no answer yet" in err) == (2, True)
    for word in ("perhaps", "maybe"):
        table.loc[0, "audited"] = word
        table.to_csv(folder / "wrong.csv", index=False)
        code, _, err = call(*fit, "--audited", "wrong.csv")
        assert (code, f"holds '{word}' in row 0" in err) == (2, True)
    table["audited"], table.loc[0, "patient_id"] = "no", "someone else"
    table.to_csv(folder / "wrong.csv", index=False)
    code, _, err = call(*fit, "--audited", "wrong.csv")
    assert code == 2
    assert "The table has been changed or sorted since the rows were" in err
