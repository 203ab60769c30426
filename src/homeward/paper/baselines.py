"""Baselines of the Mars study: our explorer with its search replaced by a simpler one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.planning.explorer import Explorer
from homeward.planning.held import Proposal
from homeward.planning.outward import best_rate
from homeward.planning.rate import FREE, RateSearch, path_to

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.bonuses import Looks
    from homeward.planning.explorer import Loop
    from homeward.planning.ledger import Graph
    from homeward.runs.kind import Setup


class BestRate(RateSearch):
    """Proposes the certified place with the most gain per step, without looking ahead."""

    def best(
        self, graph: Graph, state: int, share: FloatArray, looks: Looks, remaining: float
    ) -> Proposal | None:
        """Return the place of the highest rate."""
        return self.far(graph, state, share, looks, remaining)


class Nearest(RateSearch):
    """Proposes the nearest certified place that was not visited yet."""

    def best(
        self, graph: Graph, state: int, share: FloatArray, looks: Looks, remaining: float
    ) -> Proposal | None:
        """Return the nearest place."""
        once = looks.weight.max()  # a look from inside leaves a precision of at least that
        unvisited = (looks.amount * once > 1.0).astype(np.float64)
        here = np.zeros(1, np.int32)
        target, _, steps, before = best_rate(
            graph.model.dest,
            graph.success,
            self._edges(),
            np.where(share <= FREE, 0.0, 2.0),
            0.0,
            0.0,
            state,
            looks.shape,
            here,
            here,
            np.ones(1),
            unvisited,
            False,
            0.0,
            1.0,
            np.full(len(unvisited), np.inf),
        )
        if target < 0:
            return None
        path = path_to(before, state, target)
        return Proposal(path, self.gain(target, looks), steps, float(share[list(path)].max()))


SEARCHES: dict[str, type[RateSearch]] = {"nearest": Nearest, "best rate": BestRate}
"""The baselines by name."""


def explorer_of(setup: Setup, choice: str | None) -> Loop:
    """Return the explorer of a run, with its search replaced by a baseline's if one is named."""
    explorer = setup.explorer()
    if choice is not None and isinstance(explorer, Explorer):
        ours = cast("RateSearch", explorer.guide.search)
        search = SEARCHES[choice](ours.bonus, ours.ledgers, ours.allowed, ours.floor)
        explorer.guide.search = search
    return explorer
