from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.kinds.tabular.world import tile_belief, tile_map
from homeward.models import SparseMDP
from homeward.paper.toytext import SURE_FOOTED
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import End, Explorer, Rules, decide
from homeward.planning.ratios import best_ratio
from homeward.planning.returning import Goal
from homeward.planning.returning.corrected import CorrectedReturning
from homeward.planning.returning.worlds import WorldReturning
from homeward.worlds import ModelWorld, from_gymnasium

if TYPE_CHECKING:
    from homeward.planning.promise import Promise, RunState

STATES, ACTIONS = 3, 2
HOME = Goal("home", np.zeros(1, np.int64), 0.5)


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


def adaptive_value(
    worlds: list[np.ndarray], weights: np.ndarray, way: Promise, state: int
) -> float:
    """Return Pr(home) of a way that adapts, by following all histories at once for 500 steps."""
    start = frozenset(np.flatnonzero(weights).tolist()), state
    mass, home = {start: weights}, 0.0
    for _ in range(500):
        after: dict[tuple[frozenset[int], int], np.ndarray] = {}
        for (possible, here), share in mass.items():
            if here == 0:
                home += float(share.sum())
                continue
            key = sum(1 << int(m) for m in possible)
            action = int(way.policies.get(key, way.way)[here])
            for there in range(STATES) if action >= 0 else ():
                chances = np.array([world[here, action, there] for world in worlds])
                left = possible & set(np.flatnonzero(chances).tolist())
                if left:
                    spot = frozenset(left), there
                    after[spot] = after.get(spot, np.zeros(len(weights))) + share * chances
        mass = after
    return home


@pytest.mark.parametrize("seed", range(10))
def test_on_a_few_worlds_a_charge_is_exactly_how_far_the_way_home_falls(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dense = [random_rows(rng) for _ in range(3)]
    belief = FiniteBelief([SparseMDP.from_dense(rows) for rows in dense], rng.dirichlet(np.ones(3)))
    worlds = WorldReturning(HOME)
    first = worlds.open(belief, 2)
    found = worlds.options(belief, first, 2, None)
    value = adaptive_value(dense, belief.weights, first, 2)
    assert found.works() == pytest.approx(value, abs=1e-6)
    assert first.spent == pytest.approx(1.0 - found.works(), abs=1e-11)
    for action, choice in enumerate(found.choices):
        after = sum(
            adaptive_value(
                dense, belief.weights * [rows[2, action, t] for rows in dense], choice, t
            )
            for t in range(STATES)
        )
        now = adaptive_value(dense, belief.weights, choice, 2)
        assert found.charge[2, action] == pytest.approx(found.works() - min(now, after), abs=1e-6)


def worst_of(
    rules: Rules, belief: DirichletBelief, state: int, held: RunState, depth: int
) -> float:
    """Return the least expected way home over all rules of calling off within `depth` steps."""
    now = 1.0 - CorrectedReturning(HOME).open(belief, state).spent
    if depth == 0:
        return now
    decision = decide(rules, belief, held, state)
    if decision.action is None:
        return now
    action = decision.action
    row = belief.mean().row(state, action)
    ahead = sum(
        p
        * worst_of(rules, belief.update(Transition(state, action, t)), t, decision.after, depth - 1)
        for t, p in enumerate(row.tolist())
        if p > 0.0
    )
    return float(min(now, ahead))


@pytest.mark.parametrize("delta", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_unknown_dynamics_keep_the_level_whenever_a_run_is_called_off(
    seed: int, delta: float
) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0.0, 0.2, 3.0, 20.0], (4, 2, 4))
    alpha[:3, 0, 0] += 20.0  # a way back that mostly works
    alpha[3] = 0.0
    alpha[3, :, 3] = 1.0  # no way out
    belief = DirichletBelief.independent(alpha).update(Visit(0))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(delta)]), 0)
    assert worst_of(rules, belief, 0, rules.open(belief, 0), 4) >= delta - 1e-9


def test_a_trial_on_safe_ground_makes_the_way_home_surer() -> None:
    tiles = tile_map("lake")
    belief = tile_belief(tiles, SURE_FOOTED).update(Visit(2))
    corrected = CorrectedReturning(Goal("home", np.array([tiles.start]), 0.5))
    first = corrected.open(belief, 2)
    found = corrected.options(belief, first, 2, None)
    bump, onward = 3, 1  # against the edge of the map, and towards the holes
    assert found.charge[2, bump] < 0.0 < found.charge[2, onward]
    spent = [corrected.take(found, 2, action).spent for action in (bump, onward)]
    assert spent[0] < first.spent < spent[1]


def test_tied_actions_are_told_apart_by_outcomes_that_can_happen() -> None:
    # 0 home, 1 here, 2 a pit, 3 and 4 on both sides; the first outcome of kind 0 never happens.
    outcomes = np.zeros((5, 2, 3), np.int64)
    outcomes[2] = 2
    outcomes[1] = [[3, 3, 4], [4, 3, 4]]
    outcomes[3:] = [0, 0, 2]
    alpha = np.array([[0.0, 2.0, 2.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    kinds = np.array([[1, 1], [0, 0], [2, 2], [0, 0], [0, 0]])
    belief = DirichletBelief(outcomes, alpha, kinds)
    corrected = CorrectedReturning(HOME)
    charge = corrected.options(belief, corrected.open(belief, 1), 1, None).charge[1]
    assert charge[0] == pytest.approx(charge[1], abs=1e-12)


def test_a_row_that_is_nearly_singular_spoils_no_other() -> None:
    rows = np.zeros((3, 1, 3))
    rows[0, 0, 0] = rows[1, 0, 0] = 1.0
    rows[2, 0, 1:] = 1e-17, 1.0
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    worlds = WorldReturning(HOME)
    found = worlds.options(belief, worlds.open(belief, 1), 1, None)
    assert found.value() == pytest.approx([1.0, 1.0, 0.0])


def test_a_held_way_home_that_is_better_is_kept() -> None:
    rng = np.random.default_rng(1)
    belief = FiniteBelief([SparseMDP.from_dense(random_rows(rng)) for _ in range(3)])
    worlds = WorldReturning(HOME)
    first = worlds.open(belief, 2)
    again = worlds.options(belief, first, 2, None)
    assert again.works() >= 1.0 - first.spent - 1e-13
    assert again.promise.spent == first.spent


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


@pytest.mark.parametrize("tries", [100, 400])
def test_no_risk_is_taken_to_wait_for_a_slip(tries: int) -> None:
    table = from_gymnasium(SlipperyYard(), tries=tries)
    for seed in range(4):
        planner = Planner(RMax(), [ReturnHome(0.95)])
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


@pytest.mark.parametrize("leaving", [1e-3, 1e-9, 1e-12, 3e-14])
def test_a_way_home_that_takes_very_long_keeps_its_digits(leaving: float) -> None:
    stay = [[[1.0, 0.0, 0.0]], [[leaving / 2, 1.0 - leaving, leaving / 2]], [[0.0, 0.0, 1.0]]]
    belief = FiniteBelief([SparseMDP.from_dense(stay)])
    worlds = WorldReturning(HOME)
    found = worlds.options(belief, worlds.open(belief, 1), 1, None)
    assert found.works() == pytest.approx(0.5, abs=2e-14)
    assert found.works() <= 0.5


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


@pytest.mark.parametrize("risks", [(0.03, 0.03), (0.02,) * 10, (0.0, 0.0, 0.049, 0.049)])
def test_no_risk_is_taken_for_a_bonus_that_the_budget_can_not_pay(risks: tuple[float, ...]) -> None:
    explorer = corridor(risks, {len(risks): 1.0})
    assert [step.state for step in explorer.explore(60)] == []
    assert explorer.run_state is not None
    assert explorer.run_state.promises[0].spent == pytest.approx(0.0, abs=1e-12)
    assert explorer.end is End.BUDGET
    lower = 1.0 - sum(risks)
    assert any(f"δ = {x:g} would" in explorer.why() for x in (lower, round(lower - 1e-4, 4)))


def test_a_bonus_that_the_budget_just_pays_is_collected() -> None:
    explorer = corridor((0.025, 0.025), {2: 1.0})
    assert [step.state for step in explorer.explore(2)] == [1, 2]


def test_a_bonus_out_of_budget_does_not_hide_a_small_one() -> None:
    explorer = corridor((0.02, 0.03, 0.03), {1: 1.0, 3: 100.0})
    assert [step.state for step in explorer.explore(60)][:1] == [1]
    assert explorer.end is End.BUDGET
    assert explorer.run_state is not None
    assert explorer.run_state.promises[0].spent == pytest.approx(0.02, abs=1e-9)
