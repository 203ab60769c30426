from __future__ import annotations

import re
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.bonuses import Bonus, MbieEb, NearBayesian, RMax
from homeward.criteria import ReturnHome
from homeward.models import SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Rules, decide
from homeward.planning.ratios import best_ratio
from homeward.worlds import ModelWorld, from_gymnasium

STATES, ACTIONS = 3, 2


def random_rows(rng: np.random.Generator) -> np.ndarray:
    rows = rng.dirichlet(np.full(STATES, 0.5), (STATES, ACTIONS))
    rows[rows < 0.05] = 0.0
    return np.asarray(rows / rows.sum(axis=2, keepdims=True))


def ratio_by_enumeration(
    rows: np.ndarray, bonus: np.ndarray, cost: np.ndarray, start: int
) -> float:
    """Return the best ratio over all policies that collect or go on in each state."""
    best = 0.0
    for policy in product(range(ACTIONS), repeat=STATES):
        for stops in product((False, True), repeat=STATES):
            states, stop = np.arange(STATES), np.array(stops)
            if (bonus[states, policy][stop] <= 0.0).any():
                continue
            onward = np.where(stop[:, None], 0.0, rows[states, policy])
            system = np.eye(STATES) - onward
            if np.linalg.matrix_rank(system, tol=1e-9) < STATES:
                continue
            gain = np.linalg.solve(system, np.where(stop, bonus[states, policy], 0.0))
            spent = np.linalg.solve(system, cost[states, policy])
            best = max(best, gain[start] / spent[start])
    return best


@pytest.mark.parametrize("seed", range(20))
def test_no_policy_has_a_better_ratio_than_the_one_that_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_rows(rng)
    bonus = rng.choice([0.0, 0.5, 1.0, 3.0], (STATES, ACTIONS))
    cost = rng.choice([0.2, 1.0], (STATES, ACTIONS))
    everything = np.ones((STATES, ACTIONS), dtype=bool)
    found = best_ratio(SparseMDP.from_dense(rows), bonus, cost, everything, 0)
    best = ratio_by_enumeration(rows, bonus, cost, 0)
    assert (found is None) == (best == 0.0)
    if found is not None:
        assert found.gain / found.cost == pytest.approx(best, rel=1e-6)


def test_where_nothing_can_be_gained_there_is_no_ratio() -> None:
    model = SparseMDP.from_dense(random_rows(np.random.default_rng(0)))
    ones = np.ones((STATES, ACTIONS))
    for bonus, allowed in ((0.0 * ones, ones > 0.0), (ones, ones < 0.0)):
        assert best_ratio(model, bonus, ones, allowed, 0) is None


class SlipperyYard(gymnasium.Env[Any, Any]):
    """A 4 × 4 yard with a hole; of ten moves, one goes anywhere; the last action stays."""

    observation_space, action_space = spaces.Discrete(16), spaces.Discrete(5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.row = self.column = 0
        return 0, {}

    def step(self, action: int) -> Any:
        if action < 4 and self.np_random.random() < 0.1:
            action = int(self.np_random.integers(4))
        down, right = ((-1, 0), (0, 1), (1, 0), (0, -1), (0, 0))[action]
        self.row, self.column = np.clip([self.row + down, self.column + right], 0, 3).tolist()
        return 4 * self.row + self.column, 0.0, (self.row, self.column) == (1, 1), False, {}


@pytest.mark.parametrize(
    ("bonus", "tries"), [(RMax(), 100), (RMax(), 400), (MbieEb(), 300), (NearBayesian(), 300)]
)
def test_no_risk_is_taken_to_wait_for_a_slip(bonus: Bonus, tries: int) -> None:
    table = from_gymnasium(SlipperyYard(), tries=tries)
    for seed in range(4):
        planner = Planner(bonus, [ReturnHome(0.95)])
        explorer = Explorer(planner, table.belief(), table.world(seed))
        model, spent = explorer.belief.mean().sparse(), explorer.run_state.promises[0].spent
        for step in explorer.explore(60):
            assert step.run_state is not None
            row, now = (
                model.row(step.decision.state, step.action),
                step.run_state.promises[0].spent,
            )
            assert now <= spent + 1e-12 or row[step.decision.state] < 0.5
            model, spent = explorer.belief.mean().sparse(), now


def test_no_run_goes_to_and_fro_between_places_to_wait_in() -> None:
    # 0 and 1 are beside each other; a leap from either slips into a new place, or into a hole.
    rows = np.zeros((5, 3, 5))
    rows[[0, 1, 2, 3], 0, [1, 0, 0, 1]] = 1.0
    rows[:4, 1:, :4] = np.eye(4)[:, None]
    rows[4, :, 4] = 1.0
    for here in (0, 1):
        rows[here, 1] = 0.0
        rows[here, 1, [here, 2 + here, 4]] = 0.66, 0.3, 0.04
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    planner = Planner(RMax(), [ReturnHome(0.95)])
    explorer = Explorer(planner, belief, ModelWorld(belief.worlds[0]))
    assert [step.state for step in explorer.explore(60)] == [1]
    assert explorer.end is End.BUDGET


class Shut:
    """A world in which every action stays in 0."""

    state, ended = 0, False

    def look(self) -> Visit:
        return Visit(0)

    def act(self, action: int) -> Transition:
        return Transition(0, action, 0)


@pytest.mark.parametrize(("delta", "tries"), [(0.85, 5), (0.9, 3)])
def test_a_door_that_slips_open_is_tried_until_the_budget_is_spent(
    delta: float, tries: int
) -> None:
    alpha = np.zeros((3, 2, 3))  # 0 home, 1 behind the door, 2 a pit; action 1 stays
    alpha[0, 0] = [8000, 1700, 300]
    alpha[0, 1, 0] = alpha[2, :, 2] = 1.0
    alpha[1, :, 0] = 1.0
    planner = Planner(RMax(), [ReturnHome(delta)])
    explorer = Explorer(planner, DirichletBelief.independent(alpha), Shut(), floor=0.01)
    assert len(list(explorer.explore(60))) == tries
    assert explorer.end is End.BUDGET


@pytest.mark.parametrize("doubt", [0.047, 0.0476, 0.048, 0.049])
def test_an_action_that_takes_nearly_all_of_the_budget_is_taken(doubt: float) -> None:
    def world(bridge: str) -> SparseMDP:
        return SparseMDP.from_names(
            {
                "ledge": {"walk": "valley", "wait": "ledge"},
                "valley": {"back": bridge, "wait": "valley"},
            }
        )

    worlds = [world("ledge"), world("valley")]
    belief = FiniteBelief(worlds, np.array([1.0 - doubt, doubt]))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(0.95)]), 0)
    belief = belief.update(Visit(0))
    decision = decide(rules, belief, rules.open(belief, 0), 0)
    assert decision.action is not None
    assert decision.action_name(decision.action) == "walk"


def corridor(risks: tuple[float, ...], goals: dict[int, float]) -> Explorer:
    """Return an explorer of a known corridor from 0; each step is fatal with its risk.

    Action 1 surely leads back, and action 2 stays. A first action in a goal has its bonus.
    """
    states = len(risks) + 1
    rows = np.zeros((states, 3, states))
    for s in range(states):
        rows[s, 1, max(s - 1, 0)] = rows[s, 2, s] = 1.0
        rows[s, 0, min(s + 1, states - 1)] = 1.0 - (risks[s] if s < states - 1 else 0.0)
    world = SparseMDP.from_dense(rows)

    def bonus(belief: Any) -> np.ndarray:
        left = [goals.get(s, 0.0) * (not belief.counts[s].any()) for s in range(states)]
        return np.repeat(np.array(left)[:, None], 3, axis=1)

    planner = Planner(bonus, [ReturnHome(0.95)])
    return Explorer(planner, FiniteBelief([world]), ModelWorld(world), floor=0.001)


OUT_OF_BUDGET = [(0.03,) * 2, (0.02,) * 10, (0.0, 0.0, 0.049, 0.049), (0.0017,) * 30, (4e-4,) * 150]


@pytest.mark.parametrize("risks", OUT_OF_BUDGET)
def test_no_risk_is_taken_for_a_bonus_that_the_budget_can_not_pay(risks: tuple[float, ...]) -> None:
    explorer = corridor(risks, {len(risks): 1.0})
    assert [step.state for step in explorer.explore(60)] == []
    assert explorer.run_state is not None
    assert explorer.run_state.promises[0].spent == pytest.approx(0.0, abs=1e-12)
    assert explorer.end is End.BUDGET
    found = re.search(r"δ = ([.\d]+) would", explorer.why())
    assert found is not None
    near = 1.1e-4 if len(risks) <= 10 else 6e-4
    assert float(found[1]) == pytest.approx(1.0 - sum(risks), abs=near)


@pytest.mark.parametrize("risks", [(0.025,) * 2, (0.0166,) * 3, (0.0049,) * 10, (0.0016,) * 30])
def test_a_bonus_that_the_budget_just_pays_is_collected(risks: tuple[float, ...]) -> None:
    explorer, end = corridor(risks, {len(risks): 1.0}), len(risks)
    assert [step.state for step in explorer.explore(end)] == list(range(1, end + 1))


def test_a_bonus_out_of_budget_does_not_hide_a_small_one() -> None:
    explorer = corridor((0.02, 0.03, 0.03), {1: 1.0, 3: 100.0})
    assert [step.state for step in explorer.explore(60)][:1] == [1]
    assert explorer.end is End.BUDGET
    assert explorer.run_state is not None
    assert explorer.run_state.promises[0].spent == pytest.approx(0.02, abs=1e-9)
