"""Shares of positives by group, up to a factor that labels may leave open."""

from typing import NamedTuple

import numpy as np
from scipy.special import logit
from scipy.stats import norm

from sarlearn._engine.label_model import RIDGE
from sarlearn._engine.likelihood import label_odds, label_residual
from sarlearn._engine.magnitudes import moderate
from sarlearn._view.parts import Parts

# Penalty on the propensity's standardised slopes in the label model's information.
PROPENSITY_RIDGE = 1.0
CHUNK_ROWS = 2048


class Compared(NamedTuple):
    """Of each group: its share over that of the reference, with its interval, and its rows."""

    ratio: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_rows: np.ndarray
    n_labelled: np.ndarray


class Shares:
    """Shares of positives among rows, by inverse propensity, and what moves them."""

    def __init__(self, parts: Parts, labelled: np.ndarray):
        f = np.clip(parts.probability(), 1e-12, 1 - 1e-12)
        self.e = np.clip(parts.propensity(), 1e-9, 1 - 1e-12)
        self.labelled = labelled
        # Where labelled rows were collected apart, the background alone shows how many rows
        # there are of each kind.
        two_samples = not getattr(parts.final, "single_sample", True)
        self.counted = ~labelled if two_samples else np.ones(len(labelled), dtype=bool)
        attributes = moderate(parts.linear.attributes())
        spread = attributes.std(axis=0)
        attributes = (attributes - attributes.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        self.propensity_design = np.hstack([attributes, np.ones((len(f), 1))])
        odds = label_odds(f, 1 - f, self.e, 1 - self.e)
        residual = label_residual(odds, labelled)
        score = logit(f)

        def design(rows: slice) -> np.ndarray:
            of_propensity = self.propensity_design[rows]
            # Not the score alone: what an attribute does to the class and to labelling is told
            # apart by the shape of the models only, and that is not certain.
            of_class = np.hstack([score[rows, None], of_propensity])
            return np.hstack(
                [of_class * (1 - f[rows, None]), of_propensity * (1 - self.e[rows, None])]
            )

        # Some rows at a time: they stay in the cache, which takes half the time.
        chunks = [slice(first, first + CHUNK_ROWS) for first in range(0, len(f), CHUNK_ROWS)]
        n_propensity = self.propensity_design.shape[1]
        information = np.zeros((2 * n_propensity + 1, 2 * n_propensity + 1))
        for rows in chunks:
            block = design(rows)
            information += (block * odds[rows, None]).T @ block
        ridge = np.full(len(information), RIDGE)
        ridge[-n_propensity:-1] = PROPENSITY_RIDGE
        inverse = np.linalg.inv(information + np.diag(ridge))[:, -n_propensity:]
        # What one row moves each parameter of the propensity by.
        self.moves = np.concatenate(
            [(design(rows) * residual[rows, None]) @ inverse for rows in chunks]
        )

    def _of(self, member: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each column's rows: the share of positives, and the influence of rows on its log."""
        inverse = np.where(self.labelled, 1 / self.e, 0.0)
        count = np.maximum(self.counted @ member.astype(float), 1.0)
        share = inverse @ member / count
        safe = np.where(share > 0, share, 1.0)
        drawn = member * (inverse[:, None] - self.counted[:, None] * share) / (count * safe)
        slope = -(member * (inverse * (1 - self.e))[:, None]).T @ self.propensity_design
        slope /= (count * safe)[:, None]
        return share, drawn + self.moves @ slope.T

    def compared(
        self, member: np.ndarray, reference: np.ndarray, level: float = 0.95
    ) -> "Compared":
        """The rows of each column of ``member`` against those of the reference, some labelled."""
        share, influence = self._of(np.column_stack([member, reference]))
        ratio = share[:-1] / share[-1]
        deviation = np.sqrt(np.sum((influence[:, :-1] - influence[:, -1:]) ** 2, axis=0))
        reach = np.exp(norm.ppf((1 + level) / 2) * deviation)
        counts, marked = member.sum(axis=0), member[self.labelled].sum(axis=0)
        # Without a label the ratio is 0; at most as many positives as would stay unseen this
        # rarely.
        unseen = -np.log((1 - level) / 2) / np.maximum(member.T @ self.e, 1e-12) / share[-1]
        bare = marked == 0
        low, high = np.where(bare, 0.0, ratio / reach), np.where(bare, unseen, ratio * reach)
        return Compared(ratio, low, high, counts, marked)
