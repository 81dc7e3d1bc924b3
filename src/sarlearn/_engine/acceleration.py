"""Anderson acceleration of a fixed-point iteration."""

from collections import deque

import numpy as np
from scipy import linalg

MEMORY = 8


class Anderson:
    """Mixes the last few steps of ``theta -> theta + step`` so that they cancel.

    Each entry has its step also scaled, in units in which sizes compare. With differences D of the
    entries, the weights g minimise ``|scaled - D_scaled g|`` and the next point is
    ``theta + step - (D_theta + D_step) g`` (Walker and Ni, 2011).
    """

    def __init__(self) -> None:
        self.entries: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=MEMORY + 1)

    def mix(self) -> np.ndarray:
        theta, step, scaled = self.entries[-1]
        if len(self.entries) == 1:
            return theta + step
        thetas, steps, all_scaled = (
            np.diff(np.array(part), axis=0).T for part in zip(*self.entries, strict=True)
        )
        weights = linalg.lstsq(all_scaled, scaled, cond=1e-10, check_finite=False)[0]
        return theta + step - (thetas + steps) @ weights
