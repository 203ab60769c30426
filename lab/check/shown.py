"""Compares every number that is shown of a way home with a return policy that knows the world.

A plan shows the probability of coming home after each action, also after those that are not taken,
and from each state; a mission shows that of the held way home. All are lower bounds. In a known
world the best return policy comes home with a probability that no other policy exceeds. So the mean
of this probability over the belief is above every true bound. On a `FiniteBelief` the mean is
exact. On other beliefs worlds are drawn, and a number c is refuted if the mean x of n worlds is so
low that its probability, at most exp(−n·KL(x‖c)) (Chernoff), is below `DOUBT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, FiniteBelief
from homeward.bonuses import RMax
from homeward.criteria import Limit, ReturnHome
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.kinds.rover.kind import make as make_rover
from homeward.kinds.tabular.world import tile_belief
from homeward.models import Model, Moves
from homeward.paper.toytext import DrawnWorld
from homeward.planning.algorithm1 import Planner
from homeward.planning.explained import Explanation
from homeward.planning.explorer import Explorer
from homeward.planning.promise import Promise
from homeward.planning.returning import Goal
from homeward.referee.exact import dense_transitions, exact_return
from homeward.replay.moment import Moment
from homeward.runs.config import checked
from homeward.solvers import GIVE_UP
from homeward.worlds import ModelWorld
from lab.check import run_promise
from lab.check.calibration import RUN_KERNELS, RUN_LIMITS, rover_config
from lab.check.sampled_runs import POND, PRIORS

Ground = Literal[
    "moves",
    "chancy moves",
    "general",
    "paid moves",
    "own moves",
    "own general",
    "heights",
    "independent",
    "correlated",
    "dirichlet",
]
GROUNDS: tuple[Ground, ...] = get_args(Ground)
WORLDS = 200  # worlds drawn from a belief that can't be enumerated
DOUBT = 1e-10  # probability with which a true bound is refuted
STEPS = 6  # steps of a run
LEVELS = (0.95, 0.9, 0.7, 0.5)


class Offence(NamedTuple):
    """A number above the probability that a return policy has which knows the world."""

    ground: Ground
    seed: int
    step: int
    what: str
    shown: float
    most: float


class Compared(NamedTuple):
    """How many numbers of a run were compared, and those that are too high."""

    numbers: int
    offences: list[Offence]


def examine(ground: Ground, seed: int, tolerance: float = 1e-9) -> Compared:
    """Explore a random world and compare every number that is shown at each step."""
    rng = np.random.default_rng([seed, GROUNDS.index(ground)])
    explorer, numbers, offences = explorer_of(ground, rng), 0, list[Offence]()
    for step in range(STEPS):
        belief, state = explorer.belief, explorer.here
        if explorer.world.ended or explorer.decide().action is None:
            break
        explained, run = explorer.explain(), explorer.run_state
        options = explorer.rules.options(belief, run, state)
        values = [each.value() for each in options]
        kept = [each.works() for each in options]
        explorer.step()
        worlds, weights = _worlds(belief, rng)
        for what, claims, truths in _shown(
            explorer, explained, values, kept, run.promises, belief, worlds
        ):
            mean = weights @ truths
            numbers += len(claims)
            above = claims > mean + tolerance
            if _finite(belief) is None:
                above &= _doubt(mean, claims, len(worlds)) < DOUBT
            offences += [
                Offence(ground, seed, step, f"{what} {i}", float(claims[i]), float(mean[i]))
                for i in np.flatnonzero(above)
            ]
    return Compared(numbers, offences)


def _shown(
    explorer: Explorer,
    explained: Explanation,
    values: list[FloatArray],
    kept: list[float],
    promises: Sequence[Promise],
    belief: Belief,
    worlds: list[Model],
) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Yield numbers [m] that are shown, with their name and the truths [n, m] in n worlds.

    `explained` is the last decision; `values` and `kept` are the bounds at it, for each criterion.
    """
    state = explained.decision.state
    for k, goal in enumerate(explorer.rules.goals):
        home, after = _clairvoyant(worlds, goal, promises[k].used, state)
        yield "after action", np.array([row.safety[k] for row in explained.evidence]), after
        yield "from state", values[k], home
        yield "relied on", np.array([kept[k]]), home[:, [state]]
    planner = Planner(explorer.planner.bonus, (), explorer.planner.discount)
    moment = Moment(0, state, belief, np.array([explorer.start]), planner)
    start = Goal("start", np.array([explorer.start]), 0.0)
    home, after = _clairvoyant(worlds, start, (), state)
    yield "after action, without a criterion", moment.after, after
    yield "from state, without a criterion", moment.returns[1].value, home


def explorer_of(ground: Ground, rng: np.random.Generator) -> Explorer:
    """Return an explorer at the start of a random run."""
    delta, seed = float(rng.choice(LEVELS)), int(rng.integers(2**31))
    if ground in get_args(run_promise.Kind):
        case = run_promise.random_case(cast("run_promise.Kind", ground), rng, delta)
        planner, finite = case.planner, _finite(case.belief)
        assert finite is not None
        shape, worlds = finite.counts.shape, finite.worlds
        if ground in ("moves", "chancy moves") and rng.random() < 0.3:
            planner = replace(planner, criteria=(_limited(shape, delta, rng),))
        truth = worlds[int(rng.choice(len(worlds), p=finite.weights))]
        world = ModelWorld(truth, case.start, seed)
        return Explorer(planner, case.belief, world)
    within = {"back_within": int(rng.integers(1, 5))} if rng.random() < 0.3 else {}
    if ground == "heights":
        given = {"size": 5, "walls": 0.0, "seed": seed, "delta": delta, **within}
        return cast("Explorer", make_grid(checked(GridConfig, given, "the grid")).explorer())
    if ground == "dirichlet":
        belief = tile_belief(POND, list(PRIORS.values())[seed % len(PRIORS)])
        drawn = DrawnWorld(belief.sample(rng), POND.start, rng)
        return Explorer(Planner(RMax(), [ReturnHome(delta)]), belief, drawn)
    climb, descend = RUN_LIMITS[ground, 0.7]
    given = {"delta": delta, "climb": climb, "descend": descend, **within}
    config = rover_config(ground, seed, **given, kernel=RUN_KERNELS.get(ground))
    return cast("Explorer", make_rover(config).explorer())


def _limited(shape: tuple[int, int], delta: float, rng: np.random.Generator) -> ReturnHome:
    """Draw a criterion that limits the steps of the return, or those of the whole run."""
    steps, each = int(rng.integers(1, 8)), np.ones(shape)
    if rng.random() < 0.5:
        return ReturnHome(delta, within=steps)
    return ReturnHome(delta, limits=(Limit(float(steps), "steps", each, each),))


def _worlds(belief: Belief, rng: np.random.Generator) -> tuple[list[Model], FloatArray]:
    """Return the worlds of a belief and their probabilities, or worlds that are drawn from it."""
    finite = _finite(belief)
    if finite is not None:
        return [*finite.worlds], finite.weights
    return [belief.sample(rng) for _ in range(WORLDS)], np.full(WORLDS, 1.0 / WORLDS)


def _finite(belief: Any) -> FiniteBelief | None:
    """Return the worlds that a belief consists of; None if there are too many."""
    inner = belief.inner if isinstance(belief, run_promise.OwnBelief) else belief
    return inner if isinstance(inner, FiniteBelief) else None


def _clairvoyant(
    worlds: list[Model], goal: Goal, used: tuple[float, ...], state: int
) -> tuple[FloatArray, FloatArray]:
    """Return the largest probabilities [n, S] and [n, A] of coming home in each of n worlds.

    They are those from each state, and after each action in `state`. If the whole run is limited,
    every attempt uses 1 of the amount, of which `used` is gone.
    """
    steps, first = goal.within, 0
    if goal.limits is not None and len(goal.limits.amount) == goal.limits.count == 1:
        steps, first = int(goal.limits.amount[0] - sum(used) + 1e-6), 1
    home, after = [], []
    for world in worlds:
        onward = value = _best(world, goal.homes, steps)
        if first and steps is not None:
            onward = _best(world, goal.homes, steps - first) * (steps >= first)
        home.append(value)
        after.append(_ahead(world, onward)[state])
    return np.array(home), np.array(after)


def _ahead(world: Model, value: FloatArray) -> FloatArray:
    """Return the mean of `value` [S] after each action, [S, A]."""
    if isinstance(world, Moves):
        return world.success * value[world.dest] + (1.0 - world.success) * value[:, None]
    ahead: FloatArray = (world.transitions @ value).reshape(world.states, world.actions)
    return ahead


def _best(world: Model, homes: IntArray, steps: int | None) -> FloatArray:
    """Return the largest probability [S] of reaching a home in a world, in at most `steps`."""
    at_home = np.isin(np.arange(world.states), homes)
    closed = ~np.isfinite(world.reward)
    value = at_home.astype(np.float64)
    if steps is not None or isinstance(world, Moves):
        tried = world
        if isinstance(world, Moves) and steps is None:  # a move is repeated until it works
            tried = world.with_success((world.success > 0.0).astype(np.float64))
        for _ in range(world.states if steps is None else max(0, steps)):
            value = np.where(at_home, 1.0, np.where(closed, 0.0, _ahead(tried, value)).max(axis=1))
        return value
    rows, policy = dense_transitions(world), np.full(world.states, GIVE_UP, np.int32)
    while True:
        ahead = np.where(closed, -1.0, _ahead(world, value))
        better = ~at_home & (ahead.max(axis=1) > value + 1e-12)
        if not better.any():
            return value
        policy = np.where(better, ahead.argmax(axis=1), policy).astype(np.int32)
        value = exact_return(rows, policy, homes)


def _doubt(mean: FloatArray, claims: FloatArray, count: int) -> FloatArray:
    """Return a bound [n] on the probability of such a low `mean` of `count`, if claims are true."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(mean < 1.0, (1.0 - mean) * np.log((1.0 - mean) / (1.0 - claims)), 0.0)
        kept = np.where(mean > 0.0, mean * np.log(mean / claims), 0.0)
    doubt: FloatArray = np.exp(-count * np.maximum(0.0, lost + kept))
    return doubt
