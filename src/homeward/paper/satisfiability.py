"""Theorem 1 as a program: deciding whether a safe policy exists decides 3SAT.

On the belief that `paper.formulas` makes of a formula, the policy "from D to S, then wait"
can be recalled with some probability of return iff D is reachable from S in some world. All worlds
are searched at once, on the belief's own success arrays; the formula is not used.

The best return policy is found too. Between S and D no state can be entered twice, and a move that
fails once fails for good, so a deterministic policy is a path and a random one an average of paths.
Best-first search over (state, worlds in which the path so far works and D is still reachable)
expands the likeliest path first. The probability never increases along a path, so the first to
arrive is the best.

The search must agree with a SAT solver on every formula.
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
from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs import FiniteBelief

CLAUSES_PER_VARIABLE = 4.26
"""Clauses per variable at which random formulas turn from satisfiable to unsatisfiable."""

SIZES = (6, 7, 8, 9, 10, 11)
SOLVER = "cadical153"


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """Whether a safe policy exists, and the best way back."""

    worlds: int  # number of worlds, and of those in which home can be reached
    open_worlds: int
    world: int | None  # A world in which the best path works; None if no path exists
    path: tuple[int, ...]  # states of the best path, from start to home; empty if no path exists
    return_policy: IntArray  # [S], GIVE_UP off the path
    probability: float  # exact probability that it gets home

    @property
    def safe(self) -> bool:
        """Whether some return policy gets home with a probability above 0."""
        return self.open_worlds > 0


@dataclass(frozen=True, slots=True)
class Trial:
    """One formula, decided twice."""

    formula: Formula
    by_belief: bool
    by_solver: bool


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts over many trials."""

    formulas: int
    satisfiable: int  # by the solver
    unsatisfiable: int
    agreements: int
    disputed: tuple[Formula, ...]


def decide(belief: FiniteBelief, start: int = START, home: int = HOME) -> Decision:
    """Decide by enumeration whether `home` can be reached from `start`, and find the best path."""
    first = belief.worlds[0]
    if not isinstance(first, Moves):
        raise InvalidBeliefError("the worlds must be move-or-stay to be searched")
    dest = first.dest
    opened = _open_moves(belief)
    reachable = _reachable(dest, opened, home)
    live = np.flatnonzero(reachable[start])
    policy = np.full(first.states, GIVE_UP, np.int32)
    if len(live) == 0:
        return Decision(len(belief.worlds), 0, None, (), policy, 0.0)
    weights = belief.weights[live]
    steps, works = _best_path(dest, opened[:, :, live], reachable[:, live], weights, start, home)
    for state, action in steps:
        policy[state] = action
    return Decision(
        worlds=len(belief.worlds),
        open_worlds=len(live),
        world=int(live[np.argmax(works)]),
        path=(*(state for state, _ in steps), home),
        return_policy=policy,
        probability=float(weights @ works),
    )


def ask_solver(formula: Formula) -> bool:
    """Return whether a formula is satisfiable, by a SAT solver."""
    solvers = need("pysat.solvers", "sat", "there is no SAT solver to compare with")
    with solvers.Solver(name=SOLVER, bootstrap_with=[list(c) for c in formula.clauses]) as solver:
        return bool(solver.solve())


def try_formulas(
    number: int, rng: np.random.Generator, variables: int | None = None
) -> Iterator[Trial]:
    """Draw formulas at the threshold ratio and decide each twice; sizes are drawn unless given."""
    for _ in range(number):
        size = int(rng.choice(SIZES)) if variables is None else variables
        formula = random_formula(size, round(CLAUSES_PER_VARIABLE * size), rng)
        yield Trial(formula, decide(belief_from(formula)).safe, ask_solver(formula))


def tally(trials: Iterable[Trial]) -> Agreement:
    """Return how many of the trials are satisfiable and agree."""
    done = list(trials)
    yes = sum(trial.by_solver for trial in done)
    disputed = tuple(t.formula for t in done if t.by_belief != t.by_solver)
    return Agreement(len(done), yes, len(done) - yes, len(done) - len(disputed), disputed)


def _open_moves(belief: FiniteBelief) -> BoolArray:
    """Return the mask [S, A, M] of moves that can work in each world."""
    worlds = [world for world in belief.worlds if isinstance(world, Moves)]
    opened = [(world.success > 0.0) & np.isfinite(world.reward) for world in worlds]
    return np.stack(opened, axis=-1)


def _reachable(dest: IntArray, opened: BoolArray, home: int) -> BoolArray:
    """Return the mask [S, M] of states from which home can be reached in each world."""
    states, actions, worlds = opened.shape
    reached = np.zeros((states, worlds), dtype=bool)
    reached[home] = True
    while True:
        before = int(reached.sum())
        for s in range(states - 1, -1, -1):  # later clauses first: one sweep is nearly enough
            for a in range(actions):
                reached[s] |= opened[s, a] & reached[dest[s, a]]
        if int(reached.sum()) == before:
            return reached


def _best_path(
    dest: IntArray,
    opened: BoolArray,
    reachable: BoolArray,
    weights: FloatArray,
    start: int,
    home: int,
) -> tuple[list[tuple[int, int]], BoolArray]:
    """Return the likeliest path as (state, action) pairs, and the mask [M] of its worlds."""
    tick = count()
    everywhere = np.ones(len(weights), dtype=bool)
    trail: dict[int, tuple[int, int, int]] = {}  # node -> (node before, state, action)
    seen: set[tuple[int, bytes]] = set()
    # The longer of two equally likely paths goes first: it is nearer to home.
    ahead = [(-float(weights.sum()), 0, next(tick), start, everywhere)]
    while True:
        _, depth, node, state, works = heapq.heappop(ahead)
        if state == home:
            steps = []
            while node in trail:
                node, *step = trail[node]
                steps.append((step[0], step[1]))
            return steps[::-1], works
        key = (state, np.packbits(works).tobytes())
        if key in seen:
            continue
        seen.add(key)
        for action, target in enumerate(dest[state]):
            still = works & opened[state, action] & reachable[target]
            if target != state and still.any():
                child = next(tick)
                trail[child] = (node, state, action)
                entry = (-float(weights @ still), depth - 1, child, int(target), still)
                heapq.heappush(ahead, entry)
