"""Checks the bounds of plans by following each plan in worlds drawn from the belief.

The claim of a plan: draw one of its outbound policies, follow it without replanning until a recall,
which comes at each step with probability 1 − γ, then follow the return policy. This reaches home
with at least the reported probability. Only plans that δ binds are used: those with a positive
multiplier and a corrected bound within 1e-6 of δ. `NAIVE` plans, on the mean model without a
correction, are counted for comparison.

The claim of a run: over the worlds of its prior, the path home that it holds at the recall works
with probability at least δ. The recall may depend on all observations. Each run has a world of its
own, drawn from its prior. It is recalled at its end, or as soon as the estimated probability that
the path home works falls below δ. The limits of the vehicle are so strict that runs spend most of
their budget.

For each world one of the plans is drawn uniformly, so the number of returns is binomial with the
mean probability of the plans. Confidence limits are one-sided Clopper-Pearson limits at 99 %. A
claim is refuted if the upper limit is below it; a true claim is refuted with probability ≤ 1 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from homeward.agents.setup import PAPER, Setup
from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import Belief, Sensor
from homeward.beliefs.corrections import Correction
from homeward.beliefs.grid_graph import STEPS
from homeward.beliefs.observations import Reveal
from homeward.bonuses import Bonus, Information, Uncover
from homeward.compiling import njit
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.rover.kind import make
from homeward.kinds.rover.world import Rover
from homeward.models import Model, Moves
from homeward.paper.levels import held_chance, held_works
from homeward.paper.mars import RING
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Loop, Step
from homeward.planning.plan import Plan
from homeward.referee.exact import dense_transitions, play_out
from homeward.referee.sampling import ReturnCount
from homeward.runs.config import checked
from homeward.solvers import GIVE_UP
from homeward.studies.work import play
from homeward.terrain.synthetic import draw_belief

DELTAS = (0.9, 0.8)
MARS_DELTAS = (0.98, 0.9, 0.8)
ROVER_DELTAS = (0.9,)
SHORT_SIGHTED = Sensor(range=200.0)
BINDING_TOLERANCE = 1e-6  # largest corrected bound − δ of a plan that δ binds
OUTSETS_PER_PLAN = 20  # largest number of drawn outsets per required plan
MARS_DISCOUNT = 0.999
MARS_STEPS = 10  # number of steps of a rover before the tested plan
NOISY = Sensor(range=RING, noise=0.1)  # so inaccurate that attempted moves are informative too
RUN_BELIEFS = ("independent", "correlated", "unmapped")
RUN_RULES = ("end", "doubtful")
RUN_STEPS = 45  # largest number of steps of a run
RUN_KERNELS = {"correlated": (1.5, 40.0, 1.5), "unmapped": (1.5, 40.0, 1.5)}
RUN_LIMITS = {
    ("independent", 0.9): (2.0, 3.0),
    ("independent", 0.7): (2.0, 3.0),
    ("correlated", 0.9): (4.0, 6.0),
    ("correlated", 0.7): (3.0, 4.5),
    ("unmapped", 0.9): (4.0, 6.0),
    ("unmapped", 0.7): (3.0, 4.5),
}
"""Steepest slopes up and down, in degrees, of the runs on a belief at a level."""

HEIGHT_WALLS = 0.1  # the fraction of walls on a drawn map of heights


class Outset(NamedTuple):
    """The start of a plan: a belief after observations, and the current state."""

    belief: Belief
    state: int


class BoundPlan(NamedTuple):
    """A plan and the belief that it was made with."""

    belief: Belief
    plan: Plan


@dataclass(frozen=True, slots=True)
class BeliefSetting:
    """A random generator of outsets, with the bonus, γ and levels of their plans."""

    title: str
    draw: Callable[[np.random.Generator], Outset]
    bonus: Bonus
    discount: float
    deltas: tuple[float, ...] = DELTAS


@dataclass(frozen=True, slots=True)
class PlanCalibration(ReturnCount):
    """Number of worlds in which a plan returned home, with the levels and bounds of the plans."""

    plans: int
    level: float  # δ; mean over the plans
    bound: float  # promised bound; mean over the plans

    @property
    def holds(self) -> bool:
        """Whether neither δ nor the bound is refuted at 99%."""
        return self.upper >= max(self.level, self.bound)


def height_outset(shape: tuple[int, int], rng: np.random.Generator) -> Outset:
    """Draw a map of heights and walls; return the outset after a look from a random start."""
    grid = HeightMap.random(shape, rng, walls=HEIGHT_WALLS)
    seen = grid.around(grid.start)
    look = Reveal(seen, grid.heights.ravel()[seen], grid.start)
    return Outset(grid.belief().update(look), grid.start)


def terrain_outset(
    shape: tuple[int, int], sensor: Sensor, steps: int, rng: np.random.Generator
) -> Outset:
    """Explore drawn terrain from a random cell for `steps` steps at δ = .9; return the outset."""
    fields, errors = (int(seed) for seed in rng.integers(2**32, size=2))
    field = np.random.default_rng(fields)
    belief = draw_belief(shape, field)
    truth = field.normal(belief.height, np.sqrt(belief.variance))
    state = int(rng.integers(len(truth)))
    world = Rover(belief, truth, state, sensor, errors)
    planner = Planner(Information(sensor), [ReturnHome(0.9, "current")], MARS_DISCOUNT)
    explorer = play(Setup(planner, belief, world, steps, agent=PAPER))
    return Outset(explorer.belief, world.state)


def _by_variance(belief: Any) -> FloatArray:
    """Return a bonus [S, A]: the variance of the height in each cell."""
    return np.repeat(belief.variance[:, None], len(STEPS), axis=1)


def rover_config(belief: str, seed: int, **more: Any) -> RoverConfig:
    """Return the configuration of a rover whose world is drawn from its belief.

    `belief` is one of `RUN_BELIEFS`. The sensor is `NOISY`. Options in `more` override the
    options set here.
    """
    kernel = {"correlated": (1.5, 40.0, 0.6), "unmapped": (1.5, 40.0, 1.0)}.get(belief)
    given = {
        "rows": 120,
        "columns": 120,
        "terrain_seed": seed,
        "seed": seed,
        "truth": "prior",
        "belief": belief,
        "kernel": kernel,
        "climb": 4.0,
        "descend": 6.0,
        "sensor_range": NOISY.range,
        "sensor_noise": NOISY.noise,
        **more,
    }
    return checked(RoverConfig, given, "the rover")


def rover_outset(belief: str, rng: np.random.Generator) -> Outset:
    """Explore a drawn world for `MARS_STEPS` steps by Algorithm 1 at δ = .9; return the outset."""
    paper = {"algorithm": "paper", "home": "current", "discount": MARS_DISCOUNT, "delta": 0.9}
    config = rover_config(belief, int(rng.integers(2**31)), **paper, limit=MARS_STEPS)
    setup = make(config)
    explorer = play(setup)
    return Outset(explorer.belief, setup.world.state)


def calibrate_runs(belief: str, delta: float, worlds: int, seed: int) -> dict[str, PlanCalibration]:
    """Run rovers in drawn worlds; count by `RUN_RULES` the runs whose held way home works."""
    climb, descend = RUN_LIMITS[belief, delta]
    settings = {"delta": delta, "climb": climb, "descend": descend, "limit": RUN_STEPS}
    home, kept = dict.fromkeys(RUN_RULES, 0), dict.fromkeys(RUN_RULES, 0.0)
    for number in range(worlds):
        config = rover_config(
            belief, seed * worlds + number, **settings, kernel=RUN_KERNELS.get(belief)
        )
        for rule, (works, level) in _recalled(make(config), delta).items():
            home[rule] += works
            kept[rule] += level / worlds
    return {
        rule: PlanCalibration(home[rule], worlds, worlds, delta, kept[rule]) for rule in RUN_RULES
    }


def _recalled(setup: Setup, delta: float) -> dict[str, tuple[bool, float]]:
    """Return for each of `RUN_RULES` whether the held way home works, and its claim."""
    assert isinstance(setup.world, Rover)
    rover, found = setup.world, {}

    def recall(explorer: Loop, _: Step) -> None:
        mean = explorer.belief.mean()
        assert explorer.run_state is not None
        assert isinstance(mean, Moves)
        if "doubtful" not in found and held_chance(explorer.run_state, rover, mean) < delta:
            found["doubtful"] = held_works(explorer.run_state, rover), explorer.run_state.kept

    explorer = play(setup, recall)
    assert explorer.run_state is not None
    found["end"] = held_works(explorer.run_state, rover), explorer.run_state.kept
    found.setdefault("doubtful", found["end"])
    return found


SETTINGS = (
    BeliefSetting("heights, 8 × 8", partial(height_outset, (8, 8)), Uncover(), 0.99),
    BeliefSetting("heights, 10 × 10", partial(height_outset, (10, 10)), Uncover(), 0.99),
    BeliefSetting(
        "terrain, 24 × 32",
        partial(terrain_outset, (24, 32), SHORT_SIGHTED, 0),
        Information(SHORT_SIGHTED),
        MARS_DISCOUNT,
        MARS_DELTAS,
    ),
    BeliefSetting(
        "terrain, 24 × 32, explored",
        partial(terrain_outset, (24, 32), Sensor(), MARS_STEPS),
        Information(),
        MARS_DISCOUNT,
        MARS_DELTAS,
    ),
    *(
        BeliefSetting(
            f"{belief}, 6 × 6", partial(rover_outset, belief), _by_variance, 0.99, ROVER_DELTAS
        )
        for belief in RUN_BELIEFS
    ),
)


def examine(
    setting: BeliefSetting, delta: float, correction: Correction, plans: int, worlds: int, seed: int
) -> PlanCalibration:
    """Make plans in a setting and count their returns; the same seed gives the same outsets."""
    outsets, drawn = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
    return calibrate(make_promises(setting, delta, correction, plans, outsets), worlds, drawn)


def make_promises(
    setting: BeliefSetting,
    delta: float,
    correction: Correction,
    count: int,
    rng: np.random.Generator,
) -> list[BoundPlan]:
    """Return the first `count` plans at random outsets that δ binds, or any naive plans."""
    planner = Planner(setting.bonus, [ReturnHome(delta)], setting.discount, correction)
    found: list[BoundPlan] = []
    outsets = OUTSETS_PER_PLAN * count
    for _ in range(outsets):
        belief, state = setting.draw(rng)
        plan = planner.plan(belief, state)
        if correction is Correction.NAIVE or is_bound(plan):
            found.append(BoundPlan(belief, plan))
        if len(found) == count:
            return found
    raise InvalidProblemError(
        f"{setting.title}: δ = {delta:g} binds {len(found)} plans at {outsets} outsets, "
        f"expected {count}"
    )


def is_bound(plan: Plan) -> bool:
    """Return whether δ binds a plan: a positive multiplier, and a corrected bound equal to δ."""
    (criterion,) = plan.criteria
    missed = abs(criterion.corrected - criterion.level)
    return criterion.multiplier > 0.0 and missed <= BINDING_TOLERANCE


def calibrate(
    promises: Sequence[BoundPlan], worlds: int, rng: np.random.Generator
) -> PlanCalibration:
    """Draw worlds from the beliefs of random plans, follow the plans, and count the returns."""
    plans = len(promises)
    shares = rng.multinomial(worlds, np.full(plans, 1.0 / plans))
    home = 0
    for (belief, plan), share in zip(promises, shares, strict=True):
        for _ in range(share):
            home += come_home(plan, belief.sample(rng), rng)
    claims = [promise.plan.criteria[0] for promise in promises]
    level, bound = (fmean(getattr(claim, name) for claim in claims) for name in ("level", "bound"))
    return PlanCalibration(home, worlds, plans, level, bound)


def come_home(plan: Plan, world: Model, rng: np.random.Generator) -> bool:
    """Follow a plan until a random recall, then its return policy; return whether it comes home."""
    back, home = plan.return_policy, plan.criteria[0].home
    outbound = plan.outbound[rng.choice(len(plan.weights), p=plan.weights)]
    if not isinstance(world, Moves) or ((world.success > 0.0) & (world.success < 1.0)).any():
        transitions = dense_transitions(world)
        return play_out(transitions, outbound, back, home, plan.state, plan.discount, rng)
    steps = int(rng.geometric(1.0 - plan.discount)) - 1  # the recall may come before the first
    at_home = np.zeros(world.states, dtype=bool)
    at_home[home] = True
    return bool(walk_home(world.dest, world.success, outbound, back, at_home, plan.state, steps))


def _walk_home(
    dest: IntArray,
    success: FloatArray,
    outbound: IntArray,
    back: IntArray,
    at_home: BoolArray,
    start: int,
    steps: int,
) -> bool:
    """Return whether `steps` steps of `outbound` and then `back` end at home.

    Every move of the world always or never works, so each policy [S] has one successor per state. A
    repeated state closes a cycle. Then the outbound walk skips full rounds of the cycle, and the
    return walk never reaches home. So a walk takes O(S) time, however late the recall.
    """
    state, left = start, steps
    entered = np.full(len(dest), -1, np.int64)  # steps left on entering a state
    while left > 0:
        if entered[state] >= 0:
            left %= entered[state] - left
            entered[:] = -1
            if left == 0:
                break
        entered[state] = left
        if success[state, outbound[state]] == 1.0:
            state = dest[state, outbound[state]]
        left -= 1
    for _ in range(len(dest)):
        if at_home[state]:
            return True
        if back[state] == GIVE_UP or success[state, back[state]] != 1.0:
            return False
        state = dest[state, back[state]]
    return False


walk_home = njit(cache=True)(_walk_home)
