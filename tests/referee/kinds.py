"""A kind of runs on a general model whose budget is spent on a hill."""

from __future__ import annotations

import numpy as np

from homeward.beliefs import FiniteBelief, Transition, Visit
from homeward.criteria import ReturnHome
from homeward.models import SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.runs import Config, Kind, Setup

LEADS = {(0, 0): 1, (1, 0): 1, (1, 1): 0}
"""Out to the hill, lingering there, and back, which works."""


class HillConfig(Config):
    """What is asked for."""

    delta: float = 0.8


class Hill:
    """Home (0) and a hill (1) from which the way back works."""

    state, ended = 0, False

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        before, self.state = self.state, LEADS[self.state, action]
        return Transition(before, action, self.state)


def linger(belief: FiniteBelief) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Staying on the hill pays 1, once."""
    bonus = np.zeros((3, 2))
    bonus[1, 0] = float(belief.counts[1, 0] == 0)
    return bonus


def make(config: HillConfig) -> Setup:
    """Going up the hill risks .1, for the way back may end in a pit."""
    rows = np.zeros((3, 2, 3))
    rows[0, :, 1], rows[1, 0, 1] = 1.0, 1.0
    rows[1, 1] = 0.9, 0.0, 0.1
    rows[2, :, 2] = 1.0
    planner = Planner(linger, [ReturnHome(config.delta)], 0.9)
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    return Setup(planner, belief, Hill(), 10)


HILL = Kind("hill", 1, HillConfig, make, (Visit, Transition), lambda belief, world: {})
NAME = "tests.referee.kinds:HILL"
