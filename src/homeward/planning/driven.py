"""The way home that is best supported by what was driven, for a run whose belief is refuted.

A refuted belief proves nothing, so this way has no bound. In this order it has

1. the fewest moves that were tried and never worked,
2. the fewest other moves without support; of ways with as many, the one the belief trusts most,
3. the fewest moves. A move against the direction in which it was driven counts as two.

A move has support if it was driven in that direction and worked when it was last tried; or if the
opposite move did, and the belief holds that this one works too, as with the same limits up and
down. A move that worked once and failed when it was last tried has no support, but may be tried
again. Moves that never worked and that the belief rules out, such as into a wall, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, cast

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.beliefs.observations import Transition
from homeward.beliefs.refutation import SURELY_NOT
from homeward.models import Moves
from homeward.planning.graph import EVERYWHERE, Graph
from homeward.planning.kept_ways import KeptWays, Search
from homeward.planning.promise import Promise
from homeward.solvers.paths import ways_to

if TYPE_CHECKING:
    from homeward.models import Model

BACKWARDS = 0.5  # success that makes a move against the driven direction count as two


class Driven:
    """The moves that were tried: where each last led if it ever worked, and its last outcome."""

    def __init__(self, moves: Sequence[Transition]) -> None:
        self.ends: dict[tuple[int, int], int] = {}  # state and action → state, if it ever worked
        self.works: dict[tuple[int, int], bool] = {}  # whether it worked when it was last tried
        for move in moves:
            state, action, there = cast("tuple[int, int, int]", astuple(move))
            self.works[state, action] = there != state
            if there != state:
                self.ends[state, action] = there

    def way_home(self, model: Model, homes: IntArray, state: int) -> tuple[IntArray, IntArray]:
        """Return the states [n] of the best supported way to one of `homes`, and its actions [n].

        Both are empty at home, and if no way home is known.
        """
        graph = self._graph(model)
        nothing = Promise.of(np.full(len(graph.dest), -1, np.int32))
        search = Search(graph, nothing, 0.0, homes, state, np.inf)
        choice = KeptWays(1, len(graph.dest)).find(0, search, np.inf)[0].choice
        path: list[tuple[int, int]] = []
        while choice[state] >= 0:
            path.append((state, int(choice[state])))
            state = int(graph.dest[path[-1]])
        states, actions = np.array(path, np.int64).reshape(-1, 2).T
        return states, actions.astype(np.int32)

    def _graph(self, model: Model) -> Graph:
        """Return the graph whose risks are the costs of the moves; see the module docstring."""
        if isinstance(model, Moves):
            dest, success = model.dest, np.where(np.isfinite(model.reward), model.success, 0.0)
        else:
            dest, success = _likeliest(model)
        changed = {e: t for e, t in self.ends.items() if dest[e] != t}
        if changed:
            dest = dest.copy()
            for edge, there in changed.items():
                dest[edge] = there
        states = len(dest)
        cost = 1.0 + (1.0 - success) / (states + 1)
        steps = np.where(success > SURELY_NOT, 1.0, 0.0)
        for edge, works in self.works.items():
            if edge not in self.ends:
                cost[edge] = 2.0 * states
            else:
                cost[edge], steps[edge] = 0.0 if works else 1.0 + 1.0 / (states + 1), 1.0
        for (state, action), works in self.works.items():
            there = self.ends.get((state, action), state)
            for opposite in np.flatnonzero(dest[there] == state).tolist() if works else ():
                edge = there, opposite
                if edge not in self.works and success[edge] >= 1.0 - SURELY_NOT:
                    cost[edge], steps[edge] = 0.0, BACKWARDS
        none: IntArray = np.empty(0, np.int64)
        risks = frozen(steps), frozen(cost), none, np.empty(0), EVERYWHERE
        moves = model if isinstance(model, Moves) and not changed else Moves(dest, steps)
        return Graph(dest, *risks, *ways_to(moves))


def _likeliest(model: Model) -> tuple[IntArray, FloatArray]:
    """Return the likeliest next state [S, A] of each action that leads away, and its probability.

    The next state of an action that never leads away is its own state.
    """
    shape = model.states, model.actions
    dest, chance = np.empty(shape, np.int32), np.zeros(shape)
    for state, action in np.ndindex(shape):
        row = np.array(model.row(state, action))
        row[state] = 0.0
        there = int(row.argmax())
        usable = row[there] > 0.0 and np.isfinite(model.reward[state, action])
        dest[state, action] = there if usable else state
        chance[state, action] = row[there] if usable else 0.0
    return dest, chance
