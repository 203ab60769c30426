"""Safe and unsafe explorations of small maps, and the first move in which they differ.

The settings are the paper's: no action to stay, the general correction, γ = .99, home is the
current square, and the bonus is adapted R-max. The careful explorer has a return criterion. The
bold explorer has no criterion, or a lower level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from homeward.agents.setup import PAPER, Setup
from homeward.arrays import BoolArray
from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import LEVELS, WALL
from homeward.bonuses import Uncover
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Step
from homeward.planning.plan import Plan, Verdict
from homeward.solvers.paths import reached
from homeward.studies.work import play

DISCOUNT = 0.99
MAX_STEPS = 200  # largest number of steps of an exploration; all examples of the paper need fewer
DELTAS = (1.0, 0.9, 0.81, 0.8, 0.7, 0.61, 0.6, 0.5, 0.4, 0.2)  # safety levels of `try_levels`


@dataclass(frozen=True, slots=True, eq=False)
class Tour:
    """One exploration, from its start to its end."""

    grid: HeightMap
    plans: tuple[Plan, ...]  # [n], one per step
    path: tuple[int, ...]  # [n + 1] states
    end: End

    def seen(self, steps: int | None = None) -> BoolArray:
        """Return the mask [S] of squares known after `steps` steps; None means all steps.

        Walls are always known.
        """
        past = self.path if steps is None else self.path[: steps + 1]
        return self.grid.seen_from(past) | self.grid.walls

    @property
    def uncovered(self) -> int:
        """Number of squares seen, without walls."""
        return int((self.seen() & ~self.grid.walls).sum())

    @property
    def all_seen(self) -> bool:
        """Whether every square was seen."""
        return bool(self.seen().all())

    def steps_of(self, origin: int, target: int) -> list[int]:
        """Return the numbers, from 1, of the steps that moved from `origin` to `target`."""
        return [n for n, move in enumerate(pairwise(self.path), 1) if move == (origin, target)]

    @property
    def lost(self) -> int | None:
        """Number of steps after which no way back to the start was left; None if one is left."""
        if not self.grid.stranded(self.path[-1]):
            return None
        return next(n for n, state in enumerate(self.path) if self.grid.stranded(state))

    @property
    def stuck(self) -> bool:
        """Whether, in the true world, no way back exists and some square can't be seen any more."""
        left = reach(self.grid, self.path[-1])
        return self.lost is not None and not (self.seen() | self.grid.seen_from(left)).all()


@dataclass(frozen=True, slots=True, eq=False)
class Parting:
    """The first move that the bold explorer made and the careful one did not."""

    steps: int  # number of common first steps
    origin: int
    target: int
    direction: str
    verdict: str  # the careful plan's `Verdict` on the move
    bound: float  # the careful plan's lower bound on the probability of return after the move
    way_home: float  # lower bound on the probability of return from the target
    way_seen: bool  # whether a way back over seen squares exists

    @property
    def refused(self) -> bool:
        """Whether the careful explorer judged the move unsafe."""
        return self.verdict is Verdict.UNSAFE


def explore(
    grid: HeightMap, delta: float | None, correction: Correction = Correction.GENERAL
) -> Tour:
    """Explore a map with the paper's settings and level `delta`; None for no criterion."""
    world, belief = HeightGridWorld(grid, stay=False), grid.belief(stay=False)
    steps: list[Step] = []
    setup = Setup(planner(delta, correction), belief, world, MAX_STEPS, agent=PAPER)
    explorer = play(setup, lambda _, step: steps.append(step))
    assert explorer.end is not None
    path = (grid.start, *(step.state for step in steps))
    return Tour(
        grid, tuple(step.plan for step in steps if step.plan is not None), path, explorer.end
    )


def planner(delta: float | None, correction: Correction = Correction.GENERAL) -> Planner:
    """Return the paper's planner for these worlds; it has no criterion if `delta` is None."""
    criteria = () if delta is None else (ReturnHome(delta, "current"),)
    return Planner(Uncover(), criteria, DISCOUNT, correction)


def plan_first(grid: HeightMap, delta: float, correction: Correction) -> Plan:
    """Return the plan at the start, where only the start and its neighbours are seen."""
    belief = grid.belief(stay=False).update(HeightGridWorld(grid, stay=False).look())
    return planner(delta, correction).plan(belief, grid.start)


def try_levels(
    grid: HeightMap, action: int, deltas: Sequence[float] = DELTAS
) -> list[dict[str, Any]]:
    """Return one row per level: whether the first plan takes `action`, for each correction."""
    kinds = (Correction.GENERAL, Correction.MOVES)
    return [
        {"delta": delta, **{k.value: plan_first(grid, delta, k).action == action for k in kinds}}
        for delta in deltas
    ]


def part(careful: Tour, bold: Tour) -> Parting:
    """Return the first move of the bold explorer that the careful one did not make, or raise."""
    for steps, (plan, other) in enumerate(zip(careful.plans, bold.plans, strict=False)):
        if plan.action == other.action:
            continue
        origin, target = bold.path[steps : steps + 2]
        evidence = plan.evidence[other.action]
        return Parting(
            steps=steps,
            origin=origin,
            target=target,
            direction=plan.action_name(other.action),
            verdict=evidence.verdict,
            bound=min(evidence.safety),
            way_home=float(plan.way_home[target]),
            way_seen=is_way_seen(careful.grid, careful.seen(steps), origin, target),
        )
    raise InvalidProblemError("the careful and the bold explorer make the same moves")


def is_way_seen(grid: HeightMap, seen: BoolArray, home: int, state: int) -> bool:
    """Return whether a path from `state` to `home` exists if unseen squares count as walls."""
    heights = np.where(seen.reshape(grid.shape), grid.heights, WALL)
    return not HeightMap(heights, home).stranded(state)


def reach(grid: HeightMap, state: int) -> set[int]:
    """Return the squares that can be reached from `state` in the true world."""
    true = grid.moves(stay=False)
    return set(np.flatnonzero(reached(true.dest, true.success, state)).tolist())


def way_back(grid: HeightMap, plan: Plan, state: int) -> list[int]:
    """Return the squares that a plan's return policy visits from `state` if every move works."""
    dest, way = grid.moves(stay=False).dest, [state]
    while plan.return_policy[way[-1]] >= 0:
        way.append(int(dest[way[-1], plan.return_policy[way[-1]]]))
    return way


def doubt_of(grid: HeightMap, seen: BoolArray, way: Sequence[int]) -> tuple[int, list[int]]:
    """Return the only unseen square of a path, and its heights at which the path is blocked."""
    unseen = {state for state in way if not seen[state]}
    if len(unseen) != 1:
        raise InvalidProblemError(f"the way {list(way)} has {len(unseen)} unseen squares, not one")
    (square,) = unseen
    heights = grid.heights.ravel().copy()
    blocked = []
    for height in range(1, LEVELS + 1):
        heights[square] = height
        if any(heights[b] > heights[a] + 1 for a, b in pairwise(way)):
            blocked.append(height)
    if not blocked:
        raise InvalidProblemError(f"the way {list(way)} does not depend on s={square}")
    return square, blocked


def place_of(grid: HeightMap, state: int) -> tuple[int, int]:
    """Return the row and the column of a square."""
    return divmod(state, grid.shape[1])


def bearing_of(grid: HeightMap, origin: int, target: int) -> str:
    """Return the direction from one square to another: N, NE, ..."""
    (r, c), (row, column) = place_of(grid, origin), place_of(grid, target)
    return ("N", "", "S")[int(np.sign(row - r)) + 1] + ("W", "", "E")[int(np.sign(column - c)) + 1]


def compass(direction: str) -> str:
    """Return a direction in words: SW is South-West."""
    words = {"N": "North", "S": "South", "E": "East", "W": "West"}
    return "-".join(words[letter] for letter in direction)
