"""The protocol of PULSNAR (Kumar and Lambert, PeerJ Computer Science 10, 2024) on its tables.

One class is negative, and the others together are positive. Of these as many lose their label as
make the wanted share ``alpha`` of the unlabelled rows, and all others are labelled: more of some
classes than of others, so that the propensity follows a hidden subtype and no single column (SNAR),
or at random (SCAR). A learner is to say alpha. Which rows are drawn is as in the authors' programs,
whose generator is seeded by the number of the iteration.

No row is left out, so the share of positives among all rows is the same in every cell of a table,
and whoever always answered it would look perfect. ``kept`` below 1 is our control: so many of the
labelled positives stay, drawn at random, and the share changes with alpha and with ``kept``.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from sarlearn import priors

from ..harness.cells import Fields, seed_from
from ..learner.cases import Case
from ..learner.cells import judge
from ..learner.pulsnar_tables import read
from ..learner.unnamed import learner_of
from .pulscar import pulscar, pulsnar


class Labelling(NamedTuple):
    """One labelling to be drawn: the class of every row, how many of each are positive."""

    classes: np.ndarray
    positives: Counter
    n_negative: int
    alpha: float
    rng: np.random.RandomState

    @property
    def wanted(self) -> int:
        """Positives to be hidden."""
        return int(self.n_negative * self.alpha / (1 - self.alpha))

    def rows(self, name: str) -> np.ndarray:
        """All rows of a class, in random order."""
        found = np.flatnonzero(self.classes == name)
        self.rng.shuffle(found)
        return found


def doubling(given: Labelling, more: int = 0) -> Iterator[np.ndarray]:
    """Of each class twice as many as of the next rarer one; of a single class all."""
    total = 2 ** len(given.positives) - 1
    for j, (name, _) in enumerate(given.positives.most_common()[::-1]):
        yield given.rows(name)[: round((given.wanted + more) * (2**j / total))]


def doubling_of_one_more(given: Labelling) -> Iterator[np.ndarray]:
    return doubling(given, 1)


def halving(given: Labelling) -> Iterator[np.ndarray]:
    """From the commonest class on half as many of each, rounded down."""
    total = 2 ** len(given.positives) - 1
    for j, (name, _) in enumerate(given.positives.most_common(), start=1):
        yield given.rows(name)[: int((given.wanted + 1) * (total + 1 >> j) / total)]


def alike(given: Labelling) -> Iterator[np.ndarray]:
    """As many of each class."""
    for name in given.positives:
        yield given.rows(name)[: int((given.wanted + 1) / len(given.positives)) + 1]


def shuttle(given: Labelling) -> Iterator[np.ndarray]:
    """Any number of each rare class; the rest so that as many of 4 and 5 stay labelled.

    Where one of these two has too few for that, as many of both are hidden.
    """
    left = given.wanted
    for name, count in given.positives.items():
        if name not in ("4", "5"):
            rows = given.rows(name)
            hidden = given.rng.randint(int(count * given.alpha), count)
            left -= hidden
            yield rows[:hidden]
    sizes = np.array([given.positives["4"], given.positives["5"]])
    stay = sizes.sum() - left
    hidden = sizes - [stay // 2, stay - stay // 2]
    if (hidden < 0).any():
        hidden = np.array([left // 2, left - left // 2])
    for name, count in zip("45", hidden, strict=True):
        yield given.rows(name)[:count]


# Those of all tables are the first of these, but for shuttle.
ALPHAS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Table(NamedTuple):
    """A file, its column of classes, the negative one, the shares, and how positives are hidden.

    The first ``letters`` of a class count; rows of the class ``dropped`` are left out, and so are
    columns; ``numbered`` has the place of a row in the file as a column.
    """

    file: str
    column: str
    negative: str
    alphas: tuple[float, ...] = ALPHAS[:6]
    hide: Callable[[Labelling], Iterator[np.ndarray]] = doubling
    left_out: tuple[str, ...] = ()
    dropped: str = ""
    letters: int | None = None
    numbered: bool = False


ANURAN = Table(
    "anuran",
    "Family",
    "Hylidae",
    hide=doubling_of_one_more,
    left_out=("Genus", "Species", "RecordID"),
    dropped="Bufonidae",
)
GRID = Table("electrical_grid", "stabf", "stable", ALPHAS[:8])
MICE = Table("mice_protein", "class", "t", letters=1)
ROOM = Table("room_occupancy_estimation", "Room_Occupancy_Count", "2", ALPHAS[:7], alike)
TABLES = {
    "letter": Table("letter", "lettr", "D", ALPHAS[:8]),
    "dry bean": Table("dry_bean", "Class", "DERMASON", hide=halving),
    "anuran": ANURAN,
    "anuran, numbered": ANURAN._replace(numbered=True),
    "room": ROOM._replace(left_out=("Date", "Time")),
    "shuttle": Table("shuttle_trn", "class", "1", (0.01, 0.05, 0.1, 0.15), shuttle),
    "wilt": Table("wilt", "class", "w", ALPHAS),
    "grid": GRID._replace(left_out=("stab",)),
    "grid, stab": GRID,
    "mice": MICE._replace(left_out=("MouseID", "Genotype", "Treatment", "Behavior")),
}
# The letters that the authors keep.
LETTERS = "ABCDEF"


@lru_cache(maxsize=1)
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns as numbers, of which a missing one is 0, and the class of every row as a word."""
    table = TABLES[name]
    frame = read(table.file)
    classes = frame[table.column].astype(str).str[: table.letters]
    kept = classes.isin(list(LETTERS)) if name == "letter" else classes != table.dropped
    X = frame.drop(columns=[table.column, *table.left_out])
    if table.numbered:
        X.insert(0, "row", np.arange(len(X)))
    return X[kept].fillna(0).to_numpy(float), classes[kept].to_numpy(str)


def drawn(data_set: str, alpha: float, kept: float, iteration: int) -> Case:
    """The rows of a cell with their labels and classes."""
    table = TABLES[data_set]
    X, classes = load(data_set)
    counts = Counter(classes.tolist())
    negative = counts.pop(table.negative)
    rng = np.random.RandomState(iteration)
    given = Labelling(classes, counts, negative, alpha, rng)
    y = classes != table.negative
    s = y.copy()
    s[np.concatenate(list(table.hide(given)))] = False
    thinned = np.random.default_rng(seed_from("thinned", data_set, alpha, kept, iteration))
    rows = ~s | (thinned.random(len(s)) < kept)
    return Case(X[rows], s[rows], [], y[rows], np.full(rows.sum(), np.nan))


ESTIMATORS: dict[str, Callable] = {
    "DEDPUL": lambda X, s, seed: priors.DEDPUL(random_state=seed).fit(X, s).class_prior_,
    "PULSCAR": pulscar,
    "PULSNAR": lambda X, s, seed: pulsnar(X, s),
    "by cluster": lambda X, s, seed: priors.LearnerPrior(by_subtype=True).fit(X, s).class_prior_,
}


def cells(settings: Fields) -> Iterator[Fields]:
    """Iterations outermost, so that a run that is stopped has some of every cell.

    Settings: ``tables``, ``kept`` (by default all labels), ``learners``, ``iterations`` (how many).
    """
    kept_shares = settings.get("kept", [1.0])
    for iteration, data_set in product(range(settings["iterations"]), settings["tables"]):
        alphas = TABLES[data_set].alphas
        for alpha, kept, learner in product(alphas, kept_shares, settings["learners"]):
            yield {
                "data_set": data_set,
                "alpha": alpha,
                "kept": kept,
                "iteration": iteration,
                "learner": learner,
            }


def measure(
    data_set: str, alpha: float, kept: float, iteration: int, learner: str
) -> dict[str, Any]:
    """What a learner takes for the share of positives among the unlabelled, and the truth."""
    given = drawn(data_set, alpha, kept, iteration)
    found = estimated(learner, given, iteration)
    share = given.s.mean()
    ours = {
        f"{name}_alpha": (found[name] - share) / (1 - share)
        for name in ("truth", "class_prior", "low", "high")
        if name in found
    }
    return found | ours


def estimated(learner: str, given: Case, seed: int) -> dict[str, Any]:
    """The class prior of a learner or an estimator, and what else it says."""
    if learner not in ESTIMATORS:
        return judge(learner_of(learner, given), given)
    began = time.process_time()
    prior = ESTIMATORS[learner](given.X, given.s, seed)
    return {
        "rows": len(given.s),
        "labels": int(given.s.sum()),
        "truth": float(given.y.mean()),
        "class_prior": float(prior),
        "cpu_seconds": time.process_time() - began,
    }
