"""Baselines: simple searches for the next proposal, with the certificates of `Explorer`."""

from __future__ import annotations

import numpy as np

from homeward.bonuses import Looks
from homeward.planning.gain_kernels import gain_at
from homeward.planning.promise import Proposal
from homeward.planning.proposals import MoveSearch, Problem


class BestRate(MoveSearch):
    """Proposes the state with the most gain per step and a safe return, without a beam search."""

    looks_far = False


class Nearest(MoveSearch):
    """Proposes the nearest cell with a safe return that is new.

    On terrain, a cell is new until its height was measured from the cell itself. On a grid, it is
    new as long as an unseen cell is visible from it.
    """

    def best(self, problem: Problem) -> Proposal | None:
        """Return a proposal to go to the nearest new cell; None if there is none."""
        looks, here, looked = problem.whole, np.zeros(1, np.int64), self.scratch.looked
        if looks.logarithmic:
            least = looks.weight.max()  # precision that a measurement from the cell itself adds
            new = looks.amount * least > 1.0
        else:
            new = np.array([gain_at(s, looks, looked, 1) > 0.0 for s in range(len(looks.amount))])
        itself = Looks.of(looks.shape, (here, here), np.ones(1), new.astype(np.float64), False)
        after = looks.extra_steps
        path, _, steps, share = self.outward(problem, problem.state, itself, after, 1.0)
        if not len(path):
            return None
        return Proposal(tuple(path.tolist()), gain_at(path[-1], looks, looked, 1), steps, share)
