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
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.beliefs.refutation import SURELY_NOT
from homeward.models import Moves
from homeward.planning.promise import Promise
from homeward.planning.returning.shortest_ways import Graph, ShortestWays, Wanted
from homeward.solvers.paths import ways_to

if TYPE_CHECKING:
    from homeward.beliefs.observations import Transition
    from homeward.models import Model

BACKWARDS = 2.0  # moves that a move against the driven direction counts as


def way_supported(
    model: Model,
    homes: IntArray,
    state: int,
    driven: Sequence[Transition],
    most: FloatArray | None = None,
) -> tuple[IntArray, IntArray]:
    """Return the states [n] on the best supported way to `homes`, and its actions [n].

    Both are empty at home, and if no way home is known. `most` [S, A] are upper bounds on the
    success of moves, if the model has lower bounds.
    """
    graph = _graph(model, driven, most)
    none = Promise.of(np.full(len(graph.dest), -1, np.int32))
    ways = ShortestWays(len(graph.dest))
    ways.find(Wanted(graph, none, 0.0, homes, state, np.inf), None, np.inf)
    states, actions = list[int](), list[int]()
    while ways.keys.choice[state] >= 0:
        states.append(state)
        actions.append(int(ways.keys.choice[state]))
        state = int(graph.dest[state, actions[-1]])
    return np.array(states, np.int64), np.array(actions, np.int32)


def _graph(model: Model, driven: Sequence[Transition], most: FloatArray | None) -> Graph:
    """Return the graph whose risks are the costs of the moves; see the module docstring."""
    ends: dict[tuple[int, int], int] = {}  # where each move last led, if it ever worked
    worked: dict[tuple[int, int], bool] = {}  # whether it worked when it was last tried
    for move in driven:
        edge, there = (int(move.state), int(move.action)), move.next_state
        worked[edge] = there != move.state
        if there is not None and worked[edge]:
            ends[edge] = int(there)
    if isinstance(model, Moves):
        dest, success = model.dest, np.where(np.isfinite(model.reward), model.success, 0.0)
    else:
        dest, success = _likeliest(model)
    changed = {edge: there for edge, there in ends.items() if dest[edge] != there}
    if changed:
        dest = dest.copy()
        for edge, there in changed.items():
            dest[edge] = there
    states = len(dest)
    risk = 1.0 + (1.0 - success) / (states + 1)
    may_work = success > SURELY_NOT
    if most is not None:
        may_work |= (most > SURELY_NOT) & np.isfinite(model.reward)
    usable, cost = np.where(may_work, 1.0, 0.0), np.ones(success.shape)
    for edge, works in worked.items():
        if edge not in ends:
            risk[edge] = 2.0 * states
        else:
            risk[edge], usable[edge] = 0.0 if works else 1.0 + 1.0 / (states + 1), 1.0
    for (state, action), works in worked.items():
        there = ends.get((state, action), state)
        for opposite in np.flatnonzero(dest[there] == state).tolist() if works else ():
            edge = there, opposite
            if edge not in worked and success[edge] >= 1.0 - SURELY_NOT:
                risk[edge], usable[edge], cost[edge] = 0.0, 1.0, BACKWARDS
    moves = model if isinstance(model, Moves) and not changed else Moves(dest, usable)
    exact: IntArray = np.empty(0, np.int64)
    parts = frozen(usable), frozen(risk), frozen(cost), frozen(exact), frozen(np.empty(0))
    return Graph(moves.dest, *parts, *ways_to(moves))


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
