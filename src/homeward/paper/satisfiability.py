"""Theorem 1 as a program: deciding whether a safe policy exists decides 3SAT.

`paper.formulas` turns a formula into a belief. On this belief, the policy "from D to S, then wait"
has a positive probability of return iff D is reachable from S in at least one world. All worlds are
searched at once; the formula itself is not used. Between S and D no state can be entered twice, and
a move that fails once always fails, so the best return policy is a path. A best-first search over
pairs (state, worlds in which the path so far works and D is reachable) expands the likeliest path
first. The probability never increases along a path, so the first path that reaches D is the best.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import FiniteBelief
from homeward.errors import InvalidBeliefError
from homeward.extras import need
from homeward.models import Moves
from homeward.paper.formulas import HOME, START, Formula, belief_from, random_formula

CLAUSES_PER_VARIABLE = 4.26  # the ratio at which half of random formulas are satisfiable
SIZES = (6, 7, 8, 9, 10, 11)
SOLVER = "cadical153"


@dataclass(frozen=True, slots=True)
class SafetyDecision:
    """Whether a safe policy exists, and the best path back."""

    worlds: int  # number of worlds
    open_worlds: int  # number of worlds in which home can be reached
    world: int | None = None  # a world in which the best path works; None if no path exists
    path: tuple[int, ...] = ()  # states of the best path, from start to home
    probability: float = 0.0  # exact probability that the best path works

    @property
    def safe(self) -> bool:
        """Whether a return policy exists that gets home with a probability above 0."""
        return self.open_worlds > 0


def decide(belief: FiniteBelief) -> SafetyDecision:
    """Return whether D can be reached from S, by enumeration of worlds, and the best path."""
    worlds = [world for world in belief.worlds if isinstance(world, Moves)]
    if not worlds:
        raise InvalidBeliefError("the worlds must be move-or-stay to be searched")
    dest = worlds[0].dest
    opened = np.stack([(w.success > 0.0) & np.isfinite(w.reward) for w in worlds], axis=-1)
    reachable = _reachable(dest, opened)
    live = np.flatnonzero(reachable[START])
    if len(live) == 0:
        return SafetyDecision(len(worlds), 0)
    weights = belief.weights[live]
    path, works = _best_path(dest, opened[:, :, live], reachable[:, live], weights)
    world = int(live[np.argmax(works)])
    return SafetyDecision(len(worlds), len(live), world, path, float(weights @ works))


def ask_solver(formula: Formula) -> bool:
    """Return whether a formula is satisfiable, according to a SAT solver."""
    solvers = need("pysat.solvers", "sat", "there is no SAT solver to compare with")
    with solvers.Solver(name=SOLVER, bootstrap_with=[list(c) for c in formula.clauses]) as solver:
        return bool(solver.solve())


def try_formulas(
    number: int, rng: np.random.Generator, variables: int | None = None
) -> Iterator[tuple[Formula, bool, bool]]:
    """Yield random formulas, our answers and the answers of a SAT solver.

    A formula has the given number of variables, or a random one of `SIZES`.
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
    # Of two equally likely paths, the longer one is expanded first: it is nearer to home.
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
