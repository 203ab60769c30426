"""The law of a budget, by exact enumeration: all worlds, every outcome, the worst time to call."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeward.beliefs import FiniteBelief, Transition, Visit
from homeward.bonuses import RMax, Uncover
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.budget import SLACK, Budget, General, Holding, Paths, Ration, Treasurer
from homeward.planning.explorer import End, Explorer
from homeward.planning.plan import Verdict
from homeward.planning.planner import Planner
from homeward.safety import Correction, ReturnHome, ReturnWithin, Situation
from homeward.safety.certify import dense_transitions, exact_return
from homeward.solvers import GIVE_UP
from homeward.studies.soundness import far_bonus, random_belief
from homeward.worlds import HeightGridWorld, HeightMap

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.plan import Plan


class HaltError(Exception):
    """The world was asked to act."""

    def __init__(self, action: int) -> None:
        self.action = action


class Told:
    """A world that is told what happens; untold, it halts."""

    def __init__(self, state: int = 0) -> None:
        self.state = state
        self.ended = False
        self.next: int | None = -1

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        if self.next == -1:
            raise HaltError(action)
        before, self.ended = self.state, self.next is None
        self.state = before if self.next is None else self.next
        seen, self.next = Transition(before, action, self.next), -1
        return seen


def told(scout: Explorer, outcome: int | None) -> Explorer:
    """Give an explorer like this one, in a world that is told what happens next."""
    other = copy.copy(scout)
    other.world = copy.copy(scout.world)
    other.world.next = outcome  # type: ignore[attr-defined]
    return other


def truth(scout: Explorer) -> float:
    """Give the exact probability that the held policy leads home, given what was seen."""
    belief = scout.belief
    assert isinstance(belief, FiniteBelief)
    policy = scout.plan.return_policy if scout.holding is None and scout.plan else None
    policy = scout.holding.policy if scout.holding is not None else policy
    if policy is None or scout.world.ended:
        return 0.0 if scout.world.ended else 1.0
    home = np.array([scout.start])
    ways = [exact_return(dense_transitions(w), policy, home) for w in belief.worlds]
    return float(
        sum(w * way[scout.world.state] for w, way in zip(belief.weights, ways, strict=True))
    )


def worst(scout: Explorer, depth: int) -> float:
    """Give the least E[Y] when called off at the worst time that what was seen allows.

    On the way every step's charge is compared with what it does.
    """
    here = truth(scout)
    if depth == 0 or scout.end is not None or scout.world.ended:
        return here
    asked = told(scout, -1)
    try:
        asked.step()
    except HaltError as halt:
        action = halt.action
    else:
        return here
    row = scout.belief.mean().row(scout.world.state, action)
    ends = max(0.0, 1.0 - float(row.sum()))
    outcomes: list[tuple[float, int | None]] = [
        (float(row[s]), int(s)) for s in np.flatnonzero(row > 1e-12)
    ]
    if ends > 1e-12:
        outcomes.append((ends, None))
    onward = after = 0.0
    for chance, outcome in outcomes:
        child = told(scout, outcome)
        child.step()
        if scout.holding is not None and child.holding is not None:
            factor = child.holding.kept / scout.holding.kept
        after += chance * truth(child)
        onward += chance * worst(child, depth - 1)
    if scout.holding is not None:
        assert after >= factor * here - 1e-9
    return min(here, onward)


@dataclass(frozen=True)
class Once(Planner):
    """A planner that is asked the same thing again for each outcome, and answers as before."""

    answers: dict[Any, Any] = field(default_factory=dict)

    def plan(
        self, belief: Any, state: int, start: int | None = None, previous: Plan | None = None
    ) -> Plan:
        key = id(belief), state
        if key not in self.answers:
            self.answers[key] = belief, self.first(belief, state, start)
        plan: Plan = self.answers[key][1]
        return plan

    def first(self, belief: Any, state: int, start: int | None) -> Plan:
        return super().plan(belief, state, start)


@dataclass(frozen=True)
class Wilful(Once):
    """A planner that wants whatever comes to its mind, so that the budget alone keeps it safe."""

    seed: int = 0

    def first(self, belief: Any, state: int, start: int | None) -> Plan:
        plan = super().first(belief, state, start)
        usable = np.flatnonzero(np.isfinite(belief.mean().reward[state]))
        about = np.random.default_rng([self.seed, state, int(belief.counts.sum())])
        action = int(about.choice(usable))
        return replace(plan, action=action, bonus_left=True, worthless=False, waits=False)


def random_bonus(belief: FiniteBelief, seed: int) -> FloatArray:
    return np.random.default_rng(seed).random(belief.counts.shape)


DEPTH = {"moves": 5, "chancy moves": 4, "general": 3}


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.sampled_from(tuple(DEPTH)),
    st.sampled_from([0.3, 0.5, 0.7, 0.9, 1.0]),
    st.booleans(),
    st.sampled_from([None, Correction.GENERAL]),
)
def test_called_off_at_the_worst_time_it_comes_home_with_delta(
    seed: int, kind: Any, delta: float, wilful: bool, correction: Correction | None
) -> None:
    belief = random_belief(kind, np.random.default_rng(seed))
    bonus = random_bonus(belief, seed)
    criteria = [ReturnHome(0.5, "start")]
    planner = Once(lambda _: bonus, criteria, 0.9, correction)
    if wilful:
        planner = Wilful(planner.bonus, criteria, 0.9, correction, seed=seed)
    scout = Explorer(planner, belief, Told(), budget=Budget(delta))
    assert worst(scout, DEPTH[kind]) >= delta - SLACK


def works(world: Moves, policy: IntArray) -> FloatArray:
    """Give the probability [S] that a policy leads to state 0: a path works or does not."""
    found = np.zeros(world.states)
    for start in range(world.states):
        state = start
        for _ in range(world.states):
            if state == 0 or policy[state] < 0 or world.success[state, policy[state]] == 0.0:
                break
            state = int(world.dest[state, policy[state]])
        found[start] = state == 0
    return found


def random_moves(rng: np.random.Generator) -> FiniteBelief:
    """Draw 5 places, mostly with ways downward, of which some never work in some worlds."""
    dest = np.array([[rng.integers(0, max(1, min(5, s + 1))) for _ in range(4)] for s in range(5)])
    dest[:, 3] = rng.integers(0, 5, 5)
    success = (rng.random((4, 5, 4)) < rng.choice([0.5, 0.9, 0.97])) * 1.0
    if rng.random() < 0.5:
        success *= rng.choice([1.0, 0.3], success.shape)
    return FiniteBelief([Moves(dest, world) for world in success], rng.dirichlet(np.ones(4)))


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_no_step_loses_more_than_it_is_charged(seed: int, exact: bool, bounded: bool) -> None:
    """Also where a model has only lower bounds on the chances of some moves."""
    rng = np.random.default_rng(seed)
    belief = random_moves(rng)
    model = belief.mean()
    assert isinstance(model, Moves)
    returning = belief.move_corrections(0.9)[0]
    likely = model.success
    if bounded:
        wide = rng.random(likely.shape) < 0.4
        less = np.where(wide, likely * rng.choice([0.0, 0.5, 0.9], likely.shape), likely)
        returning = np.where(wide, -less * (1.0 - less), returning)
        likely = np.where(wide, 1.0 - (1.0 - likely) * rng.random(likely.shape), likely)
        model = model.with_success(less)
    if not exact:
        returning = np.full(returning.shape, -np.inf)
    held, best = (rng.integers(0, 4, 5).astype(np.int32) for _ in range(2))
    if rng.random() < 0.5:
        best = np.where(rng.random(5) < 0.7, held, best)  # they share edges
    held[0] = best[0] = GIVE_UP
    ground = Paths(model, returning, exact, best, 0, likely)

    worlds = [world for world in belief.worlds if isinstance(world, Moves)]

    def in_each(policy: IntArray) -> FloatArray:
        return np.array([works(world, policy) for world in worlds])

    ways = in_each(held)
    for state in range(1, 5):
        now = float(belief.weights @ ways[:, state])
        low, high = (ground.least(held, state), ground._follow(held, state)[1])
        assert low - 1e-12 <= now <= high + 1e-12
        improved = ground.improved(held, state)
        assert float(belief.weights @ in_each(improved)[:, state]) >= now - 1e-12
        for action in range(4):
            charge = ground.charge(held, state, action)
            then = in_each(charge.policy)
            there = int(model.dest[state, action])
            tries = np.array([world.success[state, action] for world in worlds])
            after = tries * then[:, there] + (1.0 - tries) * then[:, state]
            assert 0.0 <= charge.factor <= 1.0
            assert float(belief.weights @ after) >= charge.factor * now - 1e-12


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_nor_does_one_on_a_general_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief("general", rng)
    model = belief.mean()
    plan = Planner(far_bonus, [ReturnHome(0.5, 0)], 0.9).plan(belief, 0)
    ground = General(belief, plan.return_policy, plan.way_home, 0)
    worlds, home = [dense_transitions(world) for world in belief.worlds], np.array([0])

    def ways(policy: IntArray) -> FloatArray:
        return np.array([exact_return(world, policy, home) for world in worlds])

    held = np.array([rng.choice(np.flatnonzero(np.isfinite(r))) for r in model.reward], np.int32)
    for policy in (held, plan.return_policy):
        now = belief.weights @ ways(policy)
        for state in range(model.states):
            assert ground.least(policy, state) <= now[state] + 1e-12
            for action in np.flatnonzero(np.isfinite(model.reward[state])):
                charge = ground.charge(policy, state, int(action))
                rows = np.array([world[state, action] for world in worlds])
                after = belief.weights @ (rows * ways(charge.policy)).sum(axis=1)
                assert after >= charge.factor * now[state] - 1e-12


# Three gates in a row, each of which shuts behind one in ten: then one is in the pit for good.
GATES = SparseMDP.from_names(
    {
        "home": {"wait": "home", "on": {"first": 0.9, "pit": 0.1}},
        "first": {"wait": "first", "on": {"second": 0.9, "pit": 0.1}, "back": "home"},
        "second": {"wait": "second", "on": {"third": 0.9, "pit": 0.1}, "back": "first"},
        "third": {"wait": "third", "back": "second"},
        "pit": {"wait": "pit"},
    }
)


def at_the_gates(budget: Budget | None) -> Explorer:
    planner = Planner(RMax(), [ReturnHome(0.85, "start")], 0.9)
    return Explorer(planner, FiniteBelief([GATES]), Told(), budget=budget)


def test_without_a_budget_one_acceptable_risk_after_the_other_adds_up() -> None:
    assert worst(at_the_gates(None), 9) == pytest.approx(0.9**3)


def test_with_a_budget_it_does_not() -> None:
    assert worst(at_the_gates(Budget(0.85)), 9) == pytest.approx(0.9)
    assert worst(at_the_gates(Budget(0.8)), 9) == pytest.approx(0.81)


def test_the_level_steers_it_away_from_what_it_can_not_afford() -> None:
    scout = at_the_gates(Budget(0.85))
    assert walk(scout, [1]) == pytest.approx([0.9], abs=1e-12)
    assert scout.step() is None
    assert scout.end is End.ONLY_BY_CHANCE


# Three ridges in a row, each reached from the last for sure; the way back from each works in nine
# worlds of ten, whatever the others do. Actions: stay, on, back.
RIDGES = 3
STAY, ON, BACK = range(3)


def ridges() -> FiniteBelief:
    dest = np.array([[s, min(s + 1, RIDGES), max(s - 1, 0)] for s in range(RIDGES + 1)])
    worlds, weights = [], []
    for number in range(2**RIDGES):
        works = [number >> k & 1 for k in range(RIDGES)]
        success = np.ones((RIDGES + 1, 3))
        success[1:, BACK] = works
        worlds.append(Moves(dest, success))
        weights.append(float(np.prod([0.9 if w else 0.1 for w in works])))
    return FiniteBelief(worlds, np.array(weights))


@dataclass(frozen=True)
class Bent(Planner):
    """A planner that is bent on certain actions, one after the other."""

    wants: tuple[int, ...] = ()

    def plan(
        self, belief: Any, state: int, start: int | None = None, previous: Plan | None = None
    ) -> Plan:
        plan = super().plan(belief, state, start, None)
        action = self.wants[int(belief.counts.sum())]
        return replace(plan, action=action, bonus_left=True, worthless=False, waits=False)


def on_the_ridges(delta: float, *wants: int) -> Explorer:
    planner = Bent(RMax(), [ReturnHome(0.5, "start")], 0.9, wants=wants)
    return Explorer(planner, ridges(), Told(), budget=Budget(delta))


def walk(scout: Explorer, outcomes: list[int]) -> list[float]:
    """Let an explorer take these steps; give what is kept after each."""
    kept = []
    for outcome in outcomes:
        scout.world.next = outcome  # type: ignore[attr-defined]
        step = scout.step()
        assert step is not None
        assert step.holding is not None
        kept.append(step.holding.kept)
    return kept


def test_a_ridge_costs_its_doubt_once_and_the_way_home_nothing() -> None:
    # Up, and back, which works: that ridge is known now, and up again is free.
    scout = on_the_ridges(0.85, ON, BACK, ON, STAY)
    assert walk(scout, [1, 0, 1, 1]) == pytest.approx([0.9] * 4, abs=1e-12)


def test_a_second_ridge_costs_again_and_less_where_less_is_left_to_lose() -> None:
    scout = on_the_ridges(0.5, ON, ON)
    assert walk(scout, [1, 2]) == pytest.approx([0.9, 0.8], abs=1e-12)  # the union bound


def test_what_is_beyond_the_budget_sends_it_home() -> None:
    scout = on_the_ridges(0.85, ON, ON)
    walk(scout, [1])
    before = scout.holding
    assert before is not None
    assert not before.homing
    assert walk(scout, [0]) == [before.kept]
    assert scout.holding is not None
    assert scout.holding.homing
    assert scout.step() is None
    assert scout.end is End.BUDGET
    assert scout.world.state == scout.start


def test_it_ends_where_the_way_home_turns_out_to_be_blocked() -> None:
    scout = on_the_ridges(0.85, ON, ON, ON)
    walk(scout, [1])
    walk(scout, [1])  # the second ridge is beyond the budget, and the way back fails
    assert scout.holding is not None
    assert scout.holding.homing
    assert scout.step() is None
    assert scout.end is End.STRANDED


def test_a_plan_on_the_way_home_says_what_it_does() -> None:
    scout = on_the_ridges(0.85, ON, ON)
    walk(scout, [1, 0])
    plan = scout.plan
    assert plan is not None
    assert (plan.state, plan.action) == (1, BACK)
    (way,) = plan.criteria
    assert way.kept_bound == pytest.approx(0.9, abs=1e-12)
    assert way.return_policy[1] == BACK
    assert plan.kept_outbound[0, 1] == BACK
    assert [e.action for e in plan.evidence if e.verdict is Verdict.CHOSEN] == [BACK]
    assert f"take action {BACK}" in str(plan)


def paths(success: Any, dest: Any, best: Any, home: int = 0) -> Paths:
    model = Moves(np.array(dest), np.asarray(success, np.float64))
    returning = -model.success * (1.0 - model.success)
    return Paths(model, returning, True, np.array(best, np.int32), home)


# Home 0, a camp 1 with a doubtful way home, and a hill 2 beyond it. Actions: out, back, across.
LINE = [[1, 0, 0], [2, 0, 1], [2, 1, 0]]


def test_walking_about_on_known_ground_is_free_although_the_way_home_is_in_doubt() -> None:
    ground = paths([[1, 1, 1], [1, 0.6, 1], [1, 1, 0]], LINE, [-1, 1, 1])
    held = np.array([-1, 1, -1], np.int32)
    charge = ground.charge(held, 1, 0)
    assert charge.factor == 1.0
    assert charge.policy[2] == 1


def test_a_doubtful_move_back_is_charged_against_what_is_held() -> None:
    ground = paths([[1, 1, 1], [1, 0.6, 1], [1, 0.9, 0]], LINE, [-1, 1, 1])
    charge = ground.charge(np.array([-1, 1, -1], np.int32), 1, 0)
    assert charge.factor == pytest.approx(1.0 - 0.1 / 0.6, abs=1e-12)


def test_what_seldom_works_seldom_strands() -> None:
    ground = paths([[1, 1, 1], [0.05, 1, 1], [1, 0.5, 0]], LINE, [-1, 1, 1])
    charge = ground.charge(np.array([-1, 1, -1], np.int32), 1, 0)
    assert charge.factor == pytest.approx(0.95, abs=1e-12)


def test_another_way_that_is_as_good_is_free() -> None:
    # From the hill there is a way of its own home, at 0.7; the held one works with 0.6.
    ground = paths([[1, 1, 1], [1, 0.6, 1], [1, 0, 0.7]], LINE, [-1, 1, 2])
    charge = ground.charge(np.array([-1, 1, -1], np.int32), 1, 0)
    assert charge.factor == 1.0
    assert charge.policy[2] == 2


def test_a_step_ahead_on_the_way_home_is_free() -> None:
    # From the hill by the camp: straight home costs nothing, whatever the way home is worth.
    ground = paths([[1, 1, 1], [1, 0.6, 1], [1, 0.8, 0.3]], LINE, [-1, 1, 1])
    held = np.array([-1, 1, 1], np.int32)
    for action in (1, 2):
        assert ground.charge(held, 2, action).factor == 1.0


def test_where_no_way_home_is_left_nothing_costs_anything() -> None:
    ground = paths([[1, 1, 1], [1, 0, 1], [1, 0, 0]], LINE, [-1, -1, -1])
    assert ground.charge(np.array([-1, 1, -1], np.int32), 1, 0).factor == 1.0


def test_a_better_way_home_takes_the_place_of_the_held_one_if_it_certainly_is() -> None:
    held = np.array([-1, 1, 1], np.int32)
    for direct, better in ((0.6, False), (0.9, True)):
        ground = paths([[1, 1, 1], [1, 0.8, 1], [1, 1, direct]], LINE, [-1, 1, 2])
        assert (ground.improved(held, 2) is ground.best) is better


def test_an_action_that_is_not_available_is_no_way_back() -> None:
    success = [[1, 1, 1], [1, 1, 1], [1, 1, 0.0]]
    for closed in (False, True):
        ground = paths(np.array(success), LINE, [-1, 1, -1])
        reward = np.zeros((3, 3))
        reward[2, 1] = -np.inf if closed else 0.0
        shut = replace(ground, model=replace(ground.model, reward=reward))
        charge = shut.charge(np.array([-1, 1, -1], np.int32), 1, 0)
        assert charge.factor == (0.0 if closed else 1.0)


def test_moves_that_slip_but_can_be_tried_again_cost_nothing() -> None:
    model = Moves(np.array(LINE), np.full((3, 3), 0.3))
    planner = Planner(RMax(), [ReturnHome(0.5, "start")], 0.9)
    scout = Explorer(planner, FiniteBelief([model]), Told(), budget=Budget(1.0))
    assert worst(scout, 5) == pytest.approx(1.0, abs=1e-12)
    assert walk(scout, [1, 2]) == [1.0, 1.0]


def test_a_belief_that_does_not_say_how_sure_its_moves_are_is_charged_for_slipping() -> None:
    class Plain:
        """A belief that knows nothing of move corrections."""

        def __init__(self, model: Moves) -> None:
            self.model = model

        def mean(self) -> Moves:
            return self.model

        def correction(self) -> FloatArray:
            return np.zeros((3, 3))

        def update(self, observation: Any) -> Plain:
            return self

        def sample(self, rng: np.random.Generator) -> Moves:
            return self.model

    bonus = np.zeros((3, 3))
    bonus[1] = 1.0
    planner = Planner(lambda _: bonus, [ReturnHome(0.5, "start")], 0.9)
    belief: Any = Plain(Moves(np.array(LINE), np.full((3, 3), 0.9)))
    scout = Explorer(planner, belief, Told(), budget=Budget(0.5))
    assert walk(scout, [1]) == pytest.approx([0.9], abs=1e-12)


def test_on_a_general_model_the_way_home_is_free_and_the_rest_is_charged() -> None:
    model = SparseMDP.from_names(
        {
            "home": {"out": {"hill": 1.0}, "wait": "home"},
            "hill": {"out": {"hill": 1.0}, "back": {"home": 0.9, "pit": 0.1}},
            "pit": {},
        }
    )
    bonus = np.zeros((3, model.actions))
    bonus[1, 0] = 1.0
    planner = Planner(lambda _: bonus, [ReturnHome(0.5, "start")], 0.9)
    scout = Explorer(planner, FiniteBelief([model]), Told(), budget=Budget(0.8))
    assert walk(scout, [1]) == pytest.approx([0.9], abs=1e-12)
    assert walk(scout, [1]) == pytest.approx([0.81], abs=1e-12)  # to linger is charged again
    assert walk(scout, [0]) == pytest.approx([0.81], abs=1e-12)  # and home is free
    assert scout.holding is not None
    assert scout.holding.homing
    assert scout.step() is None
    assert scout.end is End.BUDGET


HOME, PIER, SHIP, ISLE = range(4)
SAIL, SWIM, WAIT = range(3)


def ferries(swim: float = 0.9) -> FiniteBelief:
    """In one world of a hundred the ship only goes back to the pier; swimming may end on an isle.

    There `swim` is the chance that it does not.
    """
    worlds = np.zeros((2, 4, 3, 4))
    worlds[:, HOME, :, HOME] = worlds[:, ISLE, :, ISLE] = 1.0
    worlds[:, PIER, WAIT, PIER] = worlds[:, SHIP, WAIT, SHIP] = worlds[:, SHIP, SWIM, SHIP] = 1.0
    worlds[:, PIER, SAIL, SHIP] = worlds[0, SHIP, SAIL, HOME] = worlds[1, SHIP, SAIL, PIER] = 1.0
    worlds[:, PIER, SWIM, HOME] = [0.9, swim]
    worlds[:, PIER, SWIM, ISLE] = [0.1, 1.0 - swim]
    return FiniteBelief([SparseMDP.from_dense(w) for w in worlds], np.array([0.99, 0.01]))


def on_the_pier(belief: FiniteBelief) -> Explorer:
    """Give one who holds the way by ship and is to go home."""
    planner = Planner(lambda _: np.zeros((4, 3)), [ReturnHome(0.5, "start")], 0.9)
    scout = Explorer(planner, belief, Told(HOME), budget=Budget(0.97))
    scout.world.state = PIER  # type: ignore[misc]
    scout.holding = Holding(np.array([GIVE_UP, SAIL, SAIL, GIVE_UP], np.int32), 0.975, homing=True)
    return scout


def test_a_held_way_that_turns_out_to_go_in_circles_is_left_for_another() -> None:
    scout = on_the_pier(ferries())
    assert walk(scout, [SHIP, PIER, HOME]) == pytest.approx([0.975] * 3)
    assert scout.plan is not None
    assert scout.plan.action == SWIM
    assert scout.step() is None
    assert scout.end is End.BUDGET


def test_it_ends_where_all_that_is_left_goes_in_circles() -> None:
    scout = on_the_pier(ferries(swim=0.0))
    walk(scout, [SHIP, PIER])
    assert scout.step() is None
    assert scout.end is End.STRANDED


def test_on_a_general_model_too_nothing_costs_anything_where_no_way_home_is_left() -> None:
    lost, held, best = (np.full(4, action, np.int32) for action in (WAIT, SAIL, GIVE_UP))
    ground = General(ferries(), best, np.zeros(4), HOME)
    free = ground.charge(lost, PIER, SWIM)
    assert free.factor == 1.0
    assert free.policy is best
    assert ground.charge(held, PIER, WAIT).factor == 0.0


def grids(count: int, **options: Any) -> Iterator[Explorer]:
    for seed in range(count):
        grid = HeightMap.random((6, 6), seed, walls=0.1)
        planner = Planner(Uncover(), [ReturnHome(0.6, "start")], 0.99)
        yield Explorer(planner, grid.belief("known"), HeightGridWorld(grid), **options)


def test_in_worlds_drawn_from_the_prior_those_who_are_called_off_come_home() -> None:
    # Called off as soon as something was risked, else at the end: what a cautious caller would do.
    delta, home, risked, count = 0.6, 0, 0, 150
    for scout in grids(count, budget=Budget(delta)):
        for step in scout.explore(200):
            assert step.holding is not None
            if step.holding.kept < 1.0:
                risked += 1
                break
        assert scout.holding is not None
        world: Any = scout.world
        way = exact_return(
            dense_transitions(world.moves), scout.holding.policy, np.array([scout.start])
        )
        home += way[world.state] > 0.5
    assert home >= delta * count
    assert risked > 0


def test_no_explorer_walks_for_ever() -> None:
    for scout in grids(30, budget=Budget(0.6)):
        for _ in scout.explore(400):
            pass
        assert scout.end is not End.STEPS


def test_the_level_is_a_share_of_the_way_home_that_there_is() -> None:
    model = Moves(np.array(LINE), np.array([[1, 1, 1], [1, 0.5, 1], [1, 1, 0.0]]))
    belief = FiniteBelief([model])
    planner = Planner(lambda _: np.ones((3, 3)), [ReturnHome(0.5, "start")], 0.9)
    for state, way in ((0, 1.0), (1, 1.0), (2, 1.0)):
        situation: Situation = planner.situation(belief, model, state, 0)
        asked = Ration(0.5).require(situation)
        assert asked.level == pytest.approx(way * (1.0 - 0.9 * 0.5))
        fixed = replace(situation, steps=3)
        assert Ration(0.5).require(fixed).level == pytest.approx(way * 0.5)
    doubtful = planner.situation(ridges(), ridges().mean(), 2, 0)
    assert Ration(1.0).require(doubtful).level == pytest.approx(0.8)


@pytest.mark.parametrize("delta", [0.0, -0.1, 1.1, float("nan"), "much", None])
def test_a_level_that_is_no_probability_is_refused(delta: Any) -> None:
    with pytest.raises(InvalidProblemError, match="δ of the budget"):
        Budget(delta)


@pytest.mark.parametrize(
    "criteria",
    [
        [],
        [ReturnHome(0.9)],
        [ReturnHome(0.9, 0)],
        [ReturnHome(0.9, np.array([0, 1]))],
        [ReturnWithin(3, 0.9, "start")],
        [ReturnHome(0.9, "start"), ReturnHome(0.5, "start")],
    ],
)
def test_a_run_whose_home_is_not_its_start_alone_is_refused(criteria: Any) -> None:
    planner = Planner(Uncover(), criteria)
    with pytest.raises(InvalidProblemError, match='one ReturnHome with home="start"'):
        Treasurer(Budget(0.9), planner, 0)


def test_the_refusal_names_what_it_found() -> None:
    planner = Planner(Uncover(), [ReturnHome(0.9)])
    with pytest.raises(InvalidProblemError, match=r"has 0, and ReturnHome\(delta=0.9, home='curr"):
        Treasurer(Budget(0.9), planner, 0)


def test_what_is_believed_without_proof_is_refused() -> None:
    planner = Planner(Uncover(), [ReturnHome(0.9, "start")], correction=Correction.NAIVE)
    with pytest.raises(InvalidProblemError, match="not the naive correction"):
        Treasurer(Budget(0.9), planner, 0)


def test_what_is_no_budget_is_refused() -> None:
    planner = Planner(Uncover(), [ReturnHome(0.9, "start")])
    with pytest.raises(InvalidProblemError, match=r"the budget is 0\.9, expected a Budget"):
        Treasurer(0.9, planner, 0)  # type: ignore[arg-type]


def test_other_criteria_are_kept_beside_a_budget() -> None:
    other = ReturnWithin(9, 0.9)
    planner = Planner(Uncover(), [other, ReturnHome(0.9, "start")])
    treasurer = Treasurer(Budget(0.7), planner, 0)
    assert treasurer.planner.criteria == (other, treasurer.ration)


def test_a_holding_comes_back_from_its_record() -> None:
    held = Holding(np.array([-1, 2, -1, 0], np.int32), 0.1 + 0.2, homing=True)
    again = Holding.decode(held.encode(), 4)
    assert again.policy.tolist() == held.policy.tolist()
    assert (again.kept, again.homing) == (held.kept, True)
    assert Holding.at_home(3).policy.tolist() == [GIVE_UP] * 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"kept": 1.0, "homing": False, "way": [[9], [0]]},
        {"kept": "all", "homing": False, "way": [[0], [0]]},
        {"kept": 1.0, "homing": False, "way": [[0, 1], [0, 1, 2]]},
    ],
)
def test_what_is_no_holding_is_refused(value: Any) -> None:
    with pytest.raises(InvalidFileError, match="what the run holds can't be read"):
        Holding.decode(value, 4)
