"""The page on the learner gives the constants that the code has."""

import re

import numpy as np
import pytest

from sarlearn import SARClassifier
from sarlearn._engine.label_model import CREDIBLE
from sarlearn._engine.sar import Settings
from sarlearn.classifiers import _store
from site_tools import DOCS

PAGE = (DOCS / "user_guide" / "learner.md").read_text(encoding="utf-8")


def test_the_range_and_the_three_words():
    formula = re.search(
        r"\$\$([\d.]+)\\,\\sqrt\{(\d+).*?\+ (\d+)\\,d\^2 \+ ([\d.]+)\^2\}\$\$", PAGE
    )
    found = tuple(map(float, formula.groups()))
    assert found == (_store.REACH, _store.SAMPLING, _store.SHAPE, _store.FLOOR)
    assert f"; {_store.FLOOR_MANY:g} with many rows)" in PAGE
    assert f"({_store.FLOOR_UNNAMED:g} instead of {_store.FLOOR:g}\n" in PAGE
    widths = re.findall(r'^\| "([\w ]+)" \| (?:at most ([\d.]+)|wider) \|', PAGE, re.M)
    assert widths == [
        ("well", f"{_store.WELL:g}"),
        ("roughly", f"{_store.ROUGHLY:g}"),
        ("not at all", ""),
    ]


def test_the_pseudo_counts():
    found = re.search(r"\$\$-(\d+)\\,m\\,\\log .* \((\d+)-m\)\\,\\log \\bar e", PAGE)
    of_class, of_labels = map(float, found.groups())
    settings = Settings(pseudo_counts=SARClassifier().pseudo_counts)
    for m in (0, 1):
        penalties = settings.stack_penalties(m / 4, 2)
        assert (penalties.of_class / 2, penalties.of_labels / 2) == (of_class * m, of_labels - m)
    half, beyond = re.search(r"tfrac(\d\d)\\,\\max.* - (\d)\\bigr", PAGE).groups()
    assert penalties.of_few / 2 == int(half[0]) / int(half[1])
    assert float(beyond) == pytest.approx(-np.log(CREDIBLE))
