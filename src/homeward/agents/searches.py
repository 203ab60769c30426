"""Baselines: simple searches for the next proposal, with the certificates of `Explorer`."""

from __future__ import annotations

import numpy as np

from homeward.bonuses import Looks
from homeward.planning.gain_search import Shares, gain_at, search_outward
from homeward.planning.promise import MAX_FREE_SHARE, Proposal
from homeward.planning.rate import RateSearch, View


class BestRate(RateSearch):
    """Proposes the state with the most gain per step and a safe return, without a beam search."""

    looks_ahead = False


class Nearest(RateSearch):
    """Proposes the nearest cell with a safe return that is new.

    On terrain, a cell is new until its height was measured from the cell itself. On a grid, it is
    new as long as an unseen cell is visible from it.
    """

    def best(self, view: View) -> Proposal | None:
        """Return a proposal to go to the nearest new cell; None if there is none."""
        looks, here = view.whole, np.zeros(1, np.int64)
        if looks.logarithmic:
            least = looks.weight.max()  # precision that a measurement from the cell itself adds
            new = looks.amount * least > 1.0
        else:
            nothing, cells = np.zeros(len(looks.amount)), range(len(looks.amount))
            new = np.array([gain_at(s, looks, nothing, True) > 0.0 for s in cells])
        itself = Looks.of(looks.shape, (here, here), np.ones(1), new.astype(np.float64), False)
        reachable = Shares.given(np.where(view.share <= MAX_FREE_SHARE, 0.0, 2.0))
        bounds, scratch = np.full(len(new), np.inf), self.scratch
        where = view.state, itself, looks.extra_steps, 1.0, bounds, 1.0, scratch
        path, _, steps, _ = search_outward(view.graph, reachable, 0.0, 0.0, *where)
        if not len(path):
            return None
        gain = gain_at(path[-1], looks, scratch.looked, True)
        return Proposal(tuple(path.tolist()), gain, steps, float(view.shares.at(path).max()))
