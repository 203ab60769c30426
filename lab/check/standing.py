"""Checks that the explorer does not spend its budget on actions that probably stay.

The worlds are Gymnasium environments that know nothing of Homeward: grids on which moves slip, with
holes, walls, and with or without an action that stays, whose model is counted; FrozenLake and
CliffWalking, whose moves slip by their tables.

A step that spends some of the remaining budget could be repeated until nothing is left. A run
breaks the rule if it begins such a step although as many tries as are left would leave the state
with a probability below `LEAST_LEAVING`: risk is for going somewhere. For a try that follows a
failed one, the tries are counted in the whole budget, so that a run does not give up midway. A run
also breaks the rule if it spends more than its budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

import homeward as hw
from homeward.worlds import GymnasiumTable

LEAST_LEAVING = 0.4  # least probability to leave the state before the budget is spent
CHARGED = 1e-6  # smallest charge that counts, as a fraction of the remaining budget
STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1), (0, 0))
MAPS = (
    ("....", ".H..", "....", "...."),
    ("....", "....", "..H.", "...."),
    (".....", ".#.#.", "..H..", ".#.#.", "....."),
    ("......", ".HH...", "...#..", "......"),
)
KNOWN = ("FrozenLake-v1", "CliffWalking-v1")  # environments with a table


class SlipperyGrid(gymnasium.Env[Any, Any]):
    """A grid with holes, which end the episode; a move `slips` in a way that `to` names.

    It goes in any direction, to a side, or stays. With `can_stay`, the last action surely stays.
    """

    def __init__(self, rows: tuple[str, ...], slips: float, to: str, *, can_stay: bool) -> None:
        self.rows, self.slips, self.to = rows, slips, to
        self.observation_space = spaces.Discrete(len(rows) * len(rows[0]))
        self.action_space = spaces.Discrete(4 + can_stay)
        self.cell = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        """Put the walker into the first cell."""
        super().reset(seed=seed)
        self.cell = 0
        return self.cell, {}

    def step(self, action: Any) -> Any:
        """Move, unless a wall or the edge is in the way."""
        direction, draw = int(action), self.np_random
        if direction < 4 and draw.random() < self.slips:
            side = 1 if draw.random() < 0.5 else 3
            slipped = {"any": int(draw.integers(4)), "side": (direction + side) % 4, "stay": 4}
            direction = slipped[self.to]
        row, column = np.add(divmod(self.cell, len(self.rows[0])), STEPS[direction]).tolist()
        inside = 0 <= row < len(self.rows) and 0 <= column < len(self.rows[0])
        if inside and self.rows[row][column] != "#":
            self.cell = row * len(self.rows[0]) + column
        is_hole = self.rows[self.cell // len(self.rows[0])][self.cell % len(self.rows[0])] == "H"
        return self.cell, 0.0, is_hole, False, {}


@dataclass(frozen=True, slots=True)
class Ground:
    """An environment, and how it is explored."""

    name: str  # of a registered environment; empty for a `SlipperyGrid`
    delta: float
    rows: tuple[str, ...] = ()
    slips: float = 0.0
    to: str = ""
    can_stay: bool = False
    tries: int = 100  # of each action, to count its effects

    def __str__(self) -> str:
        grid = f"{'/'.join(self.rows)}, {self.slips:g} slip ({self.to}), {self.tries} tries"
        return f"{self.name or grid}{', can stay' if self.can_stay else ''}"

    def table(self) -> GymnasiumTable:
        """Return the model of the environment, read from its table or counted."""
        if self.name:
            return hw.from_gymnasium(gymnasium.make(self.name, is_slippery=True))
        grid = SlipperyGrid(self.rows, self.slips, self.to, can_stay=self.can_stay)
        return hw.from_gymnasium(grid, tries=self.tries)


def grounds() -> Iterator[Ground]:
    """Yield the environments; those from a table are the third and the sixth."""
    grids = product(MAPS, ("any", "side", "stay"), (True, False))
    for k, (rows, to, can_stay) in enumerate(grids):
        if k in (2, 4):
            yield Ground(KNOWN[k // 4], (0.9, 0.7)[k // 4])
        slips, tries = (0.1, 0.02, 0.3)[k % 5 % 3], (100, 300)[k % 7 % 2]
        yield Ground("", (0.95, 0.9)[k % 2], rows, slips, to, can_stay, tries)


@dataclass(frozen=True, slots=True)
class Stroll:
    """A run in one environment."""

    steps: int
    visited: int
    spent: float  # fraction of the budget
    is_lost: bool
    faults: tuple[str, ...]


def strolls(ground: Ground, seeds: int, limit: int) -> Iterator[Stroll]:
    """Explore an environment with each seed, and yield the runs."""
    table = ground.table()
    for seed in range(seeds):
        planner = hw.Planner(hw.RMax(), [hw.ReturnHome(ground.delta)])
        explorer = hw.Explorer(planner, table.belief(), table.world(seed))
        yield stroll(explorer, ground.delta, limit)


def stroll(explorer: hw.Explorer, delta: float, limit: int) -> Stroll:
    """Explore, with one return criterion at level `delta`, and check each step."""
    budget = 1.0 - delta
    spent, model, faults = explorer.run_state.promises[0].spent, explorer.belief.mean(), []
    failed = -1, -1  # state and action of the last step, if it stayed
    with suppress(hw.ImpossibleObservationError):  # what the tries of the model did not show
        for step in explorer.explore(limit):
            left, now = budget - spent, explorer.run_state.promises[0].spent
            charge, decision = now - spent, step.decision
            if charge > CHARGED * left:
                stays = float(model.row(decision.state, step.action)[decision.state])
                counted = budget if (decision.state, step.action) == failed else left
                leaves = 1.0 - stays ** int(counted / charge + 1e-6)
                if leaves < LEAST_LEAVING:
                    place = decision.state_name(decision.state)
                    what = f"{charge:.3g} of {counted:.3g} is spent in {place}"
                    faults.append(f"step {step.number}: {what}, which it leaves with {leaves:.2f}")
            spent, model = now, explorer.belief.mean()
            failed = (decision.state, step.action) if step.state == decision.state else (-1, -1)
    if spent > budget + 1e-9:
        faults.append(f"{spent:g} is spent, more than {budget:g}")
    belief: Any = explorer.belief
    visited, is_lost = int(belief.visited.sum()), explorer.world.ended
    return Stroll(explorer.steps, visited, spent / budget, is_lost, tuple(faults))
