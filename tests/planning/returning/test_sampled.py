from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.returning.opaque import Opaque

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.beliefs.dirichlet import END
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.kinds.tabular.world import tile_belief, tile_map
from homeward.models import Moves, SparseMDP
from homeward.paper.toytext import KNOWN_TO_SLIP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Rules, decide
from homeward.planning.promise import RunState, Tally
from homeward.planning.returning import Goal
from homeward.planning.returning.sampled import Sampled, SampledReturning, come_home, draw
from homeward.planning.returning.worlds import WorldReturning
from homeward.referee.exact import dense_transitions, exact_return

HOME = np.zeros(1, np.int64)


def ever_exceeded(asked: Sampled, sequences: int, part: float) -> float:
    """Return how often the sum of true charges ever exceeded its bound, with a part of the margin.

    A run has 20 steps; the drops of a step are 0 or 1, often with a small probability.
    """
    rng, failed = np.random.default_rng(3), 0
    for _ in range(sequences):
        tally, true, wrong = Tally(), 0.0, False
        for _ in range(20):
            chance = rng.choice([0.0, 0.002, 0.02, 0.3])
            drops = (rng.random(asked.worlds) < chance) * 1.0
            tally = asked.after(tally, drops, float(chance))
            true += chance
            wrong |= true > tally.total + part * asked.margin(tally.spread)
        failed += wrong
    return failed / sequences


def test_one_interval_covers_all_steps_of_a_run() -> None:
    asked = Sampled(confidence=0.8, worlds=40)
    assert ever_exceeded(asked, 400, 1.0) <= 0.2
    assert ever_exceeded(asked, 100, 0.1) > 0.2  # so the check can fail


def test_more_worlds_and_less_confidence_make_the_margin_smaller() -> None:
    asked = Sampled(0.99, 1000)
    assert asked.margin(0.0) < asked.margin(5.0)
    assert Sampled(0.99, 4000).margin(5.0) == pytest.approx(asked.margin(5.0) / 4.0)
    assert Sampled(0.9, 1000).margin(5.0) < asked.margin(5.0)
    assert asked.spent(Tally(0.1)) == pytest.approx(0.01 + 0.1 + asked.margin(0.0))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_a_policy_comes_home_in_drawn_worlds_as_often_as_by_elimination(
    seed: int, states: int
) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0.0, 0.01, 1.0, 20.0], (states, 2, states))
    alpha[..., 0] += 0.5  # the referee takes rounding of a row for a chance to end
    belief = DirichletBelief.independent(alpha)
    draws = draw(belief, np.random.default_rng(seed), 3)
    worlds = draw_models(belief, np.random.default_rng(seed), 3)
    policy = rng.integers(-1, 2, states).astype(np.int32)
    at_home = np.arange(states) == 0
    value = draws.returning(policy, at_home, np.arange(states))
    for found, world in zip(value, worlds, strict=True):
        assert found == pytest.approx(exact_return(world, policy, HOME), abs=1e-12)


def draw_models(belief: DirichletBelief, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Return the transitions [S, A, S] of the models that `draw` draws with the same numbers."""
    shares = belief.draws(rng, count)
    states, actions, outcomes = belief.outcomes.shape
    found = np.zeros((count, states, actions, states))
    for s, a, o in np.ndindex(states, actions, outcomes):
        if belief.outcomes[s, a, o] != END:
            found[:, s, a, belief.outcomes[s, a, o]] += shares[:, belief.kinds[s, a], o]
    return list(found)


def test_a_closed_loop_never_comes_home_and_a_tiny_chance_does() -> None:
    source, target = np.array([0, 0, 1, 1]), np.array([2, 0, 1, 1])
    chance = np.array([[1e-300, 1.0, 0.5, 0.5]])
    assert come_home(source, target, chance, 2) == pytest.approx(np.array([[1.0, 0.0]]))


@pytest.mark.parametrize("seed", range(3))
def test_a_sampled_charge_is_near_the_exact_one_and_within_its_margin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(3, 0.5), (4, 3, 2))
    rows[:, :, 1] *= 0.9  # the process may end
    belief = FiniteBelief([SparseMDP.from_dense(world) for world in rows]).update(Visit(2))
    goal = Goal("home", HOME, 0.5)
    asked = SampledReturning(goal, Sampled(0.999, 1500, seed))
    first = asked.open(Opaque(belief), 2)
    found = asked.options(Opaque(belief), first, 2, None)
    dense = [dense_transitions(world) for world in belief.worlds]
    held = [exact_return(world, first.way, HOME)[2] for world in dense]
    exact = WorldReturning(goal).open(belief, 2)
    assert first.tally is not None
    assert first.tally.total == pytest.approx(1.0 - np.mean(held), abs=0.05)
    assert first.spent >= 1.0 - np.mean(held)
    assert first.spent >= exact.spent - 1e-9
    for action in range(2):
        paid = asked.take(found, 2, action)
        ways = [exact_return(world, paid.way, HOME) for world in dense]
        after = [world[2, action] @ way for world, way in zip(dense, ways, strict=True)]
        assert paid.spent >= 1.0 - np.mean(after)
        assert paid.spent <= 1.0 - np.mean(after) + 0.1


def warehouse() -> DirichletBelief:
    """Return 5 × 5 cells of a floor whose grip is unknown, with a stairwell at 2,2.

    A move slips to one side with a probability that a prior of 60 trials knows, and ends the run
    in the stairwell.
    """
    size, pit = 5, 12
    state = np.arange(size * size)
    outcomes = np.tile(state[:, None, None], (1, 5, 3))
    ways = [(0, -1), (1, 0), (0, 1), (-1, 0)]
    for a in range(4):
        for o, turn in enumerate((0, 1, -1)):
            down, right = ways[(a + turn) % 4]
            row, column = state // size + down, state % size + right
            inside = (row >= 0) & (row < size) & (column >= 0) & (column < size)
            outcomes[:, a, o] = np.where(inside, row * size + column, state)
    outcomes[outcomes == pit] = END
    outcomes[pit] = END
    same = outcomes[:, :, :, None] == outcomes[:, :, None, :]
    patterns, kinds = np.unique(same.argmax(axis=3).reshape(-1, 3), axis=0, return_inverse=True)
    alpha = np.repeat([[56.0, 2.0, 2.0]], len(patterns), axis=0)
    return DirichletBelief(outcomes, alpha, kinds.reshape(outcomes.shape[:2]))


class Floor:
    """A warehouse whose moves slip to each side with probability .04."""

    def __init__(self, belief: DirichletBelief, seed: int) -> None:
        self.belief, self.state, self.ended = belief, 0, False
        self.rng = np.random.default_rng(seed)

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        before = self.state
        outcome = self.rng.choice(3, p=[0.92, 0.04, 0.04]) if action < 4 else 0
        there = int(self.belief.outcomes[before, action, outcome])
        self.ended = there == END
        self.state = before if self.ended else there
        return Transition(before, action, None if self.ended else there)


def test_a_slippery_warehouse_is_explored_where_nothing_can_be_proven() -> None:
    proven = Explorer(Planner(RMax(), [ReturnHome(0.9)]), warehouse(), Floor(warehouse(), 0))
    few = {step.state for step in proven.explore(100)}
    assert "sampled" not in proven.why()  # nobody has tried whether it would go further
    planner = Planner(RMax(), [ReturnHome(0.9)], sampled=Sampled(0.999, 1000))
    explorer = Explorer(planner, warehouse(), Floor(warehouse(), 0))
    steps = list(explorer.explore(60))
    assert len(few) < 20 < len({0} | {step.state for step in steps}) == 24
    assert all(step.decision.bounds[0].evaluator == "sampled" for step in steps)
    assert explorer.run_state.kept >= 0.9 - 1e-9
    first = Explorer(planner, warehouse(), Floor(warehouse(), 0))
    assert "not proven" in str(first.explain())


def test_a_level_that_the_margin_exceeds_is_infeasible() -> None:
    planner = Planner(RMax(), [ReturnHome(0.999)], sampled=Sampled(0.999, 1000))
    explorer = Explorer(planner, warehouse(), Floor(warehouse(), 0))
    assert list(explorer.explore(5)) == []
    assert explorer.end is End.INFEASIBLE


def test_lots_are_drawn_only_when_asked_for_and_spend_what_is_left() -> None:
    belief = tile_belief(tile_map("slippery lake"), KNOWN_TO_SLIP).update(Visit(0))
    belief = replace(belief, visited=np.arange(16) < 4)
    drawn = {True: 0, False: 0}
    for lots in drawn:
        for seed in range(12):
            asked = Sampled(0.99, 300, seed, lots)
            rules = Rules.of(belief, Planner(RMax(), [ReturnHome(0.955)], sampled=asked), 0)
            decision = decide(rules, belief, rules.open(belief, 0), 0)
            if decision.action is None:
                assert decision.end is End.BUDGET
                continue
            drawn[lots] += 1
            assert decision.after.promises[0].spent <= 0.045 + 1e-9
            assert decision.after.promises[0].tally is not None
    assert drawn[False] == 0
    assert 1 <= drawn[True] <= 11


def test_what_was_estimated_is_read_again_to_the_last_bit() -> None:
    belief = warehouse().update(Visit(0))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(0.9)], sampled=Sampled(0.99, 200)), 0)
    before = rules.open(belief, 0)
    after = decide(rules, belief, before, 0).after
    again = RunState.decode(after.encode(before), before)
    assert again.promises[0].tally == after.promises[0].tally
    assert again.promises[0].spent == after.promises[0].spent


@pytest.mark.parametrize("bad", [{"confidence": 1.0}, {"confidence": 0.0}, {"worlds": 0}])
def test_what_makes_no_sense_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidProblemError, match=r"confidence|worlds"):
        Sampled(**bad)
    with pytest.raises(InvalidProblemError, match="expected Sampled"):
        Planner(RMax(), sampled=0.999)  # type: ignore[arg-type]


def test_a_single_plan_has_no_sampled_certificate() -> None:
    with pytest.raises(InvalidProblemError, match="use Explorer"):
        Planner(RMax(), sampled=Sampled()).plan(warehouse(), 0)


def test_moves_have_no_sampled_certificates() -> None:
    moves = Moves(np.array([[0, 1], [1, 0]]), np.full((2, 2), 0.5))
    belief, planner = FiniteBelief([moves]), Planner(RMax(), [ReturnHome(0.9)], sampled=Sampled())
    with pytest.raises(InvalidProblemError, match="for general models"):
        Rules.of(belief.update(Visit(0)), planner, 0)


def test_a_way_home_in_one_world_of_many_is_not_lost() -> None:
    shut, ajar = (np.array([[[1.0, 0.0]], [[p, 1.0 - p]]]) for p in (0.0, 1.0))
    worlds = [SparseMDP.from_dense(rows) for rows in (shut, ajar)]
    for weight, lost in ((1e-5, False), (0.0, True)):
        belief = Opaque(FiniteBelief(worlds, np.array([1.0 - weight, weight])))
        asked = SampledReturning(Goal("home", HOME, 0.0), Sampled(worlds=50))
        found = asked.options(belief, asked.open(belief, 1), 1, None)
        assert found.lost is lost  # none of the drawn worlds has a way home
