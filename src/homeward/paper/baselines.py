"""Baselines of the Mars study: our explorer with a simpler search for the next cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.bonuses import Looks
from homeward.planning.explorer import Explorer
from homeward.planning.held import MAX_FREE_SHARE, Proposal
from homeward.planning.outward import gain_at, path_to, search_outward, unlooked
from homeward.planning.rate import RateSearch

if TYPE_CHECKING:
    from homeward.planning.explorer import Loop
    from homeward.planning.rate import View
    from homeward.runs.kind import Setup


class BestRate(RateSearch):
    """Proposes the cell with the most gain per step and a safe return, without a beam search."""

    looks_ahead = False


class Nearest(RateSearch):
    """Proposes the nearest cell with a safe return that was not visited yet."""

    def best(self, view: View) -> Proposal | None:
        """Return a proposal to go to the nearest unvisited cell; None if there is none."""
        looks, here = view.whole, np.zeros(1, np.int64)
        once = looks.weight.max()  # the precision of a cell is at least this after a visit
        unvisited = (looks.amount * once > 1.0).astype(np.float64)
        itself = Looks.of(looks.shape, (here, here), np.ones(1), unvisited, False)
        reachable = np.where(view.share <= MAX_FREE_SHARE, 0.0, 2.0)
        bounds = np.full(len(unvisited), np.inf)
        place, _, steps, before = search_outward(
            view.graph, reachable, 0.0, 0.0, view.state, itself, 0.0, 1.0, bounds
        )
        if place < 0:
            return None
        path = path_to(before, view.state, place)
        gain = gain_at(path[-1], looks, unlooked(looks), True)
        return Proposal(tuple(path.tolist()), gain, steps, float(view.share[path].max()))


SEARCHES: dict[str, type[RateSearch]] = {"nearest": Nearest, "best rate": BestRate}
"""The baselines by name."""


def explorer_of(setup: Setup, choice: str | None) -> Loop:
    """Return the explorer of a run; `choice` names a baseline search, None keeps our search."""
    explorer = setup.explorer()
    if choice is not None and isinstance(explorer, Explorer):
        ours = cast("RateSearch", explorer.guide.search)
        explorer.guide.search = SEARCHES[choice](ours.task)
    return explorer
