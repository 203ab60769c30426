"""Kinds of runs for the tests, where a process of its own finds them too."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from homeward.agents.setup import OURS, PAPER
from homeward.beliefs import FiniteBelief, Transition, Visit
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.planning.algorithm1 import Planner
from homeward.runs import Config, Kind, Run, Setup

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from homeward.planning.plan import Plan

STEPS = ((0, 0), (-1, 0), (0, 1), (1, 0), (0, -1))


class MeadowConfig(Config):
    """A meadow, how it is explored, and what goes wrong."""

    rows: int = 4
    columns: int = 5
    delta: float = 0.5
    limit: int = 12
    algorithm: Literal["rate", "paper"] = "paper"
    moody: bool = True  # each of the paper's plans depends on every one before it
    pause: float = 0.0  # seconds that a plan takes longer
    raises: int | None = None  # the world raises in this step
    jumps: int | None = None  # the explorer is carried off in this step, which no world allows
    strict: bool = False
    steep: bool = False  # there may be no way up


def paths(rows: int, columns: int, success: float) -> Moves:
    """Make a grid: wait, and four ways that work with that chance."""
    row, column = np.divmod(np.arange(rows * columns), columns)
    dest = np.empty((rows * columns, len(STEPS)), np.int32)
    for a, (down, right) in enumerate(STEPS):
        there = (np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1))
        dest[:, a] = there[0] * columns + there[1]
    chances = np.full(dest.shape, success)
    chances[:, 0] = 1.0
    return Moves(dest, chances)


class Meadow:
    """A grid on which moves slip; what slips comes from the seed alone."""

    def __init__(self, config: MeadowConfig) -> None:
        self.config = config
        self.model = paths(config.rows, config.columns, 0.7)
        self.rng = np.random.default_rng(config.seed)
        self.state = 0
        self.ended = False
        self.acts = 0

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        self.acts += 1
        if self.acts == self.config.raises:
            raise RuntimeError(f"thunder in step {self.acts}")
        before = self.state
        if self.rng.random() < self.model.success[before, action]:
            self.state = int(self.model.dest[before, action])
        if self.acts == self.config.jumps:
            self.state = (before + self.model.states // 2) % self.model.states
        return Transition(before, action, self.state)


@dataclass(frozen=True)
class Moody(Planner):
    """A planner whose every plan depends on all of what the one before it left, to the bit."""

    pause: float = 0.0

    def plan(
        self,
        belief: Any,
        state: int | str,
        start: int | str | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        time.sleep(self.pause)
        plan = super().plan(belief, state, start, None)
        count = belief.counts.shape[1]
        mood = np.array([0.1], np.float64) if previous is None else np.array(previous.multipliers)
        turns = 0 if previous is None else int(previous.outbound.sum())
        turns += int.from_bytes(mood.tobytes(), "little") % 1009
        outbound = (plan.outbound + turns) % count
        multiplier = float(3.9 * (mood[0] % 1.0) * (1.0 - mood[0] % 1.0) + 1e-3 * turns / 7.0)
        return replace(
            plan,
            action=(plan.action + turns) % count,
            outbound=outbound,
            criteria=tuple(replace(c, multiplier=multiplier) for c in plan.criteria),
            bonus_left=True,
            worthless=False,
            waits=False,
        )


def take_time(belief: FiniteBelief, pause: float) -> NDArray[np.float64]:
    """Return the bonus of R-max, after a while."""
    time.sleep(pause)
    return RMax()(belief)


def make(config: MeadowConfig) -> Setup:
    models = [paths(config.rows, config.columns, p) for p in (0.6, 0.7)]
    if config.steep:
        down = models[0].success.copy()
        down[:, 1] = 0.0
        models[0] = models[0].with_success(down)
    planner = Planner(RMax(), [ReturnHome(config.delta, "start")], 0.9)
    if config.algorithm == "rate":
        planner = replace(planner, bonus=partial(take_time, pause=config.pause))
    elif config.moody:
        planner = Moody(planner.bonus, planner.criteria, planner.discount, pause=config.pause)
    world = Meadow(config)
    belief = FiniteBelief(models)
    agent = PAPER if config.algorithm == "paper" else OURS
    return Setup(planner, belief, world, config.limit, config.strict, agent)


def fields(belief: FiniteBelief, world: Meadow) -> dict[str, NDArray[Any]]:
    shape = (world.config.rows, world.config.columns)
    return {"visited": belief.visited.reshape(shape), "counts": belief.counts}


MEADOW = Kind("meadow", 1, MeadowConfig, make, (Visit, Transition), fields)
NEWER = replace(MEADOW, version=2)

NAME = "tests.runs.kinds:MEADOW"


def meadow(directory: Path, **config: Any) -> Run:
    """Make a run in a meadow."""
    return Run.create(directory, NAME, config)


def log_of(run: Run) -> bytes:
    """Read a run's log as it is."""
    return (run.directory / "steps.jsonl").read_bytes()
