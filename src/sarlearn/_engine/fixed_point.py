"""Where SAR-EM comes to rest, by fewer passes than EM itself would take."""

from collections import deque

import numpy as np
from scipy import linalg

from sarlearn._engine.em import SAREM
from sarlearn._engine.stopping import EMResult, History

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


# Far from the fixed point good mixtures take larger steps for a while; with less room it takes more
# passes.
ROOM = 4.0
# Steps above this, as root mean square change of the logits, are far off.
FAR = 1e-2
# On few rows the map has several fixed points, and rounding may decide at which of them mixed steps
# end. There EM itself goes most of the way, until its steps are so small (root mean square change
# of the logits) or it has taken so many. With larger steps or fewer of them, dense and sparse
# copies of the data now and then end apart; mixed steps of limited length did worse.
FEW_ROWS, NEAR, WALK = 200, 1e-6, 2000


def run_to_fixed_point(em: SAREM, tol: float, max_iter: int, report=lambda: None) -> EMResult:
    """Accelerated EM until the EM map no longer moves: root mean square change of logits < tol."""
    history = History(report)
    first = min(3, max_iter)
    if em.rows.shape[0] <= FEW_ROWS:  # a fifth of the iterations is left to mixed steps
        first = min(WALK, max(first, 4 * max_iter // 5))
    for _ in range(first):
        em.iterate()
        history.add(em, np.nan)
        if len(history) >= 3 and _size(em, em.map_step()[1]) < NEAR:
            break
    converged = _mix(em, history, tol, max_iter)
    return EMResult(len(history), converged, history.as_dict())


def _size(em: SAREM, scaled_step: np.ndarray) -> float:
    """Root mean square change of the logits."""
    return float(np.linalg.norm(scaled_step)) / em.total_weight**0.5


def _mix(em: SAREM, history: History, tol: float, max_iter: int) -> bool:
    """Anderson's mixing of the steps of both models; whether it came to rest.

    A mixed point is kept only if it is no worse than the last: by likelihood where EM maximises
    it (decay 1), else by the size of the next step. From a worse one it goes back, and on by a
    plain EM iteration. With many columns there are saddles and long valleys on the way: mixing
    went through them on 25,000 posts of 20,000 words, and is not known to on more.
    """
    mixer = Anderson()
    best_size, best_likelihood, best = np.inf, -np.inf, em.parameters
    kind = "complete"
    for tries in range(4, max_iter - len(history) + 4):
        step, scaled = em.map_step()
        size = _size(em, scaled)
        likelihood = em.penalized_log_likelihood
        if em.decay == 1:
            worse = likelihood < best_likelihood - 1e-13 * abs(likelihood)
        else:
            worse = size > ROOM * best_size
        if worse:
            mixer.entries.clear()
            em.move(best)
            em.iterate()
            history.add(em, np.nan)
            best_size, kind = np.inf, "complete"
            continue
        if len(mixer.entries):
            history.add(em, np.nan)
        best, best_size, best_likelihood = em.parameters, size, likelihood
        mixer.entries.append((best, step, scaled))
        if size < tol:  # the step that is known is still taken
            em.move(mixer.mix(), None)
            return True
        # New Hessians while far off, then at tries 8, 16, ...: an old one only slows the map down.
        # Near, those in which targets follow, which take fewer passes. They lead
        # astray far off, and where only what raises the likelihood is kept.
        curvature = kind if size > FAR or tries & (tries - 1) == 0 else None
        if size <= FAR and em.decay < 1 and kind == "complete":
            kind = curvature = "observed"
            best_size = np.inf  # sizes are larger in their units
            mixer.entries.clear()
            mixer.entries.append((best, step, scaled))
        em.move(mixer.mix(), curvature)
    em.move(best)  # the last mixture was not looked at
    return False
