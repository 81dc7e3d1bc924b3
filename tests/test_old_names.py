"""Old paths and names work for one more release, and warn where they are used."""

import importlib

import numpy as np
import pytest

from sarlearn.priors import AlphaMaxN, ElkanNoto, PearsonDivergence, PenalizedL1, compare_priors


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    return rng.normal(size=(400, 3)) + 2 * y[:, None], y & (rng.random(400) < 0.4)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scar.SCARClassifier", "SCARClassifier"),
        ("crossfit.CrossFitSARClassifier", "CrossFitSARClassifier"),
        ("io.read_table", "tables.read.read_table"),
        ("labeling.label", "labelling.label"),
        ("labeling.ConstantLabeling", "labelling.ConstantLabelling"),
        ("labeling.GeometricLabeling", "labelling.GeometricLabelling"),
        ("labeling.LogisticLabeling", "labelling.LogisticLabelling"),
        ("labeling.OneAttributeLabeling", "labelling.OneAttributeLabelling"),
        ("labeling.ProductLabeling", "labelling.ProductLabelling"),
    ],
)
def test_old_paths_lead_to_the_new_ones(old, new):
    found = []
    for path in (old, new):
        module, _, name = f"sarlearn.{path}".rpartition(".")
        module = importlib.import_module(module)
        if path == old:
            with pytest.warns(FutureWarning, match=rf"is now called sarlearn\.{new};") as caught:
                found.append(getattr(module, name))
            assert caught[0].filename == __file__
        else:
            found.append(getattr(module, name))
    assert found[0] is found[1]


def test_an_old_module_has_no_other_names():
    module = importlib.import_module("sarlearn.labeling")
    with pytest.raises(AttributeError, match="has no attribute 'ConstantLabelling'"):
        _ = module.ConstantLabelling


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
def test_old_attributes(data):
    prior = AlphaMaxN(random_state=0).fit(*data)
    with pytest.warns(FutureWarning, match="AlphaMaxN.unlabeled_prior_ is now called unlabelled"):
        assert prior.unlabeled_prior_ == prior.unlabelled_prior_
    with pytest.warns(FutureWarning, match="labeled_purity_ is now called labelled_purity_"):
        assert prior.labeled_purity_ == prior.labelled_purity_
    row = compare_priors(*data, ["EN"], random_state=0).rows[0]
    with pytest.warns(FutureWarning, match="is now called unlabelled_prior"):
        assert row.unlabeled_prior == row.unlabelled_prior


@pytest.mark.filterwarnings("ignore::sarlearn.exceptions.SarlearnWarning")
@pytest.mark.parametrize(
    ("estimator", "old", "new", "value"),
    [
        (ElkanNoto, "estimator", "variant", "e3"),
        (PearsonDivergence, "max_centers", "max_centres", 20),
        (PenalizedL1, "max_centers", "max_centres", 20),
    ],
)
def test_old_parameters(data, estimator, old, new, value):
    now = estimator(**{new: value}, random_state=0).fit(*data)
    with pytest.warns(FutureWarning, match=rf"\({old}=...\) is now called {new}=...") as caught:
        before = estimator(**{old: value}, random_state=0).fit(*data)
    assert caught[0].filename == __file__
    assert before.class_prior_ == now.class_prior_
    assert before.class_prior_ != estimator(random_state=0).fit(*data).class_prior_
