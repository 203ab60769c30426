"""Theorem 1 as a program: deciding whether a safe policy exists decides 3SAT.

On the belief that `paper.formulas` makes of a formula, the policy "from D to S, then wait" can be
recalled with some probability of return iff D is reachable from S in some world. All worlds are
searched at once; the formula is not used. Between S and D no state can be entered twice, and a move
that fails once fails for good, so the best return policy is a path. Best-first search over (state,
worlds in which the path so far works and D is still reachable) expands the likeliest path first.
The probability never increases along a path, so the first to arrive is the best.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from homeward.errors import InvalidBeliefError
from homeward.extras import need
from homeward.models import Moves
from homeward.paper.formulas import HOME, START, Formula, belief_from, random_formula

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs import FiniteBelief

CLAUSES_PER_VARIABLE = 4.26
"""Clauses per variable at which random formulas turn from satisfiable to unsatisfiable."""

SIZES = (6, 7, 8, 9, 10, 11)
SOLVER = "cadical153"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a safe policy exists, and the best way back."""

    worlds: int  # number of worlds, and of those in which home can be reached
    open_worlds: int
    world: int | None = None  # a world in which the best path works; None if no path exists
    path: tuple[int, ...] = ()  # states of the best path, from start to home
    probability: float = 0.0  # exact probability that it gets home

    @property
    def safe(self) -> bool:
        """Whether some return policy gets home with a probability above 0."""
        return self.open_worlds > 0


def decide(belief: FiniteBelief) -> Decision:
    """Decide by enumeration whether D can be reached from S, and find the best path."""
    worlds = [world for world in belief.worlds if isinstance(world, Moves)]
    if not worlds:
        raise InvalidBeliefError("the worlds must be move-or-stay to be searched")
    dest = worlds[0].dest
    opened = np.stack([(w.success > 0.0) & np.isfinite(w.reward) for w in worlds], axis=-1)
    reachable = _reachable(dest, opened)
    live = np.flatnonzero(reachable[START])
    if len(live) == 0:
        return Decision(len(worlds), 0)
    weights = belief.weights[live]
    path, works = _best_path(dest, opened[:, :, live], reachable[:, live], weights)
    world = int(live[np.argmax(works)])
    return Decision(len(worlds), len(live), world, path, float(weights @ works))


def ask_solver(formula: Formula) -> bool:
    """Return whether a formula is satisfiable, by a SAT solver."""
    solvers = need("pysat.solvers", "sat", "there is no SAT solver to compare with")
    with solvers.Solver(name=SOLVER, bootstrap_with=[list(c) for c in formula.clauses]) as solver:
        return bool(solver.solve())


def try_formulas(
    number: int, rng: np.random.Generator, variables: int | None = None
) -> Iterator[tuple[Formula, bool, bool]]:
    """Draw formulas at the threshold ratio; yield each with our verdict and a SAT solver's.

    Sizes are drawn unless given.
    """
    for _ in range(number):
        size = int(rng.choice(SIZES)) if variables is None else variables
        formula = random_formula(size, round(CLAUSES_PER_VARIABLE * size), rng)
        yield formula, decide(belief_from(formula)).safe, ask_solver(formula)


def _reachable(dest: IntArray, opened: BoolArray) -> BoolArray:
    """Return the mask [S, M] of states from which home can be reached in each world."""
    states, actions, worlds = opened.shape
    reached = np.zeros((states, worlds), dtype=bool)
    reached[HOME] = True
    while True:
        before = int(reached.sum())
        for s in range(states - 1, -1, -1):  # later clauses first: one sweep is nearly enough
            for a in range(actions):
                reached[s] |= opened[s, a] & reached[dest[s, a]]
        if int(reached.sum()) == before:
            return reached


def _best_path(
    dest: IntArray, opened: BoolArray, reachable: BoolArray, weights: FloatArray
) -> tuple[tuple[int, ...], BoolArray]:
    """Return the states of the likeliest path, and the mask [M] of the worlds in which it works."""
    tick = count()
    everywhere = np.ones(len(weights), dtype=bool)
    seen: set[tuple[int, bytes]] = set()
    # The longer of two equally likely paths goes first: it is nearer to home.
    ahead: list[tuple[float, int, int, tuple[int, ...], BoolArray]]
    ahead = [(-float(weights.sum()), 0, next(tick), (START,), everywhere)]
    while True:
        _, depth, _, path, works = heapq.heappop(ahead)
        state = path[-1]
        if state == HOME:
            return path, works
        key = (state, np.packbits(works).tobytes())
        if key in seen:
            continue
        seen.add(key)
        for action, target in enumerate(dest[state].tolist()):
            still = works & opened[state, action] & reachable[target]
            if target != state and still.any():
                entry = (-float(weights @ still), depth - 1, next(tick), (*path, target), still)
                heapq.heappush(ahead, entry)
