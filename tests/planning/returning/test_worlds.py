from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_array

from homeward.beliefs import FiniteBelief, Rows, Transition, Visit
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.models import SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer
from homeward.planning.promise import RunState
from homeward.planning.returning import Goal
from homeward.planning.returning.policies import can_reach
from homeward.planning.returning.worlds import MAX_WORLDS, WorldReturning, Worlds, set_of

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.planning.promise import Promise

HOME = np.zeros(1, np.int64)
GOAL = Goal("home", HOME, 0.5)
STATES, ACTIONS = 3, 2  # of `random_rows`


@pytest.mark.parametrize("states", [2, 128, 256, 300])
def test_a_state_with_many_ways_on_reaches_home(states: int) -> None:
    links = csr_array(np.eye(states, dtype=bool)[[0] * states] | np.ones((1, states), dtype=bool))
    goal = np.arange(states) > 0
    assert can_reach(links, goal).all()
    assert not can_reach(links, goal, moving=goal)[0]


class Drawn:
    """A world that behaves like a model, by a stream of random numbers."""

    def __init__(self, model: Model, seed: int, start: int = 0) -> None:
        self.model, self.state, self.ended = model, start, False
        self.rng = np.random.default_rng(seed)

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        before = self.state
        self.state = int(self.rng.choice(self.model.states, p=self.model.row(before, action)))
        return Transition(before, action, self.state)


def bridges(count: int) -> FiniteBelief:
    """Return two shores with bridges from 1 to 0; in world k only bridge k holds.

    The last action crosses from 0 to 1. Who tries a broken bridge stays where they are.
    """
    worlds = []
    for k in range(count):
        rows = np.zeros((2, count + 1, 2))
        rows[0, :, 0] = rows[1, :, 1] = 1.0
        rows[1, k] = rows[0, count] = [1.0, 0.0]
        rows[0, count] = [0.0, 1.0]
        worlds.append(SparseMDP.from_dense(rows))
    return FiniteBelief(worlds)


def test_a_way_home_tries_the_next_bridge_when_one_is_broken() -> None:
    found = Worlds(bridges(3), HOME)
    way = found.best(adapts=True)
    assert way.value == pytest.approx([1.0, 1.0])
    assert found.best(adapts=False).value == pytest.approx([1.0, 1.0 / 3.0])
    tried = [int(way.policies[worlds][1]) for worlds in (0b111, 0b110, 0b100)]
    assert tried == [0, 1, 2]
    assert found.held(way.policies, way.policy).value == pytest.approx(way.value)
    assert found.held({}, way.policy).value == pytest.approx([1.0, 1.0 / 3.0])


def test_many_worlds_have_one_policy() -> None:
    found = Worlds(bridges(MAX_WORLDS + 1), HOME)
    assert not found.adapts
    assert found.best(adapts=found.adapts).policies == {}


def test_an_explorer_crosses_where_some_bridge_back_holds() -> None:
    belief = bridges(3)
    world = Drawn(belief.worlds[2], 0)
    explorer = Explorer(Planner(RMax(), [ReturnHome(1.0)]), belief, world)
    assert 1 in {step.state for step in explorer.explore(5)}
    first = RunState.decode(
        explorer.run_state.encode(explorer.run_state.emptied()), explorer.run_state.emptied()
    )
    assert first.promises[0].policies.keys() == explorer.run_state.promises[0].policies.keys()
    # The way home follows what is observed of the bridges.
    run = explorer.run_state
    learned = belief.update(Transition(1, 0, 1))
    assert set_of(learned) == 0b110
    moved = Transition(1, 0, 1)
    after = explorer.rules.observed(learned, run, moved, moved, 1)
    assert after.promises[0].way[1] == run.promises[0].policies[0b110][1] == 1
    with pytest.raises(InvalidProblemError, match="answered with Rows"):
        explorer.rules.observed(learned, run, Rows((), np.zeros((0, 2))), moved, 1)


def corridor(success: float) -> SparseMDP:
    """Return five cells in a row; a move works with probability `success`, else it stays."""
    rows = np.zeros((5, 2, 5))
    for s in range(5):
        for a, step in enumerate((-1, 1)):
            rows[s, a, min(4, max(0, s + step))] += success
            rows[s, a, s] += 1.0 - success
    return SparseMDP.from_dense(rows)


@pytest.mark.parametrize("truth", [0, 1])
def test_a_corridor_of_unknown_firmness_is_explored_whole(truth: int) -> None:
    belief = FiniteBelief([corridor(0.9), corridor(0.6)])
    world = Drawn(belief.worlds[truth], 1)
    explorer = Explorer(Planner(RMax(), [ReturnHome(0.9)]), belief, world)
    assert {0} | {step.state for step in explorer.explore(60)} == set(range(5))
    assert explorer.run_state.kept == pytest.approx(1.0)


def test_a_move_that_works_in_one_world_of_two_is_no_way_home_however_often_it_is_tried() -> None:
    # From 1, action 0 leads home in world 1 alone, action 1 by way of 2 in both.
    rows = np.zeros((2, 3, 2, 3))
    rows[:, 0, :, 0] = rows[:, 2, :, 0] = rows[:, 1, 1, 2] = 1.0
    rows[0, 1, 0, 1] = rows[1, 1, 0, 0] = 1.0
    rows[1, 1, 0] = [0.1, 0.9, 0.0]
    belief = FiniteBelief([SparseMDP.from_dense(world) for world in rows])
    way = Worlds(belief, HOME).best(adapts=False)
    assert way.policy[1] == 1
    assert way.value == pytest.approx(np.ones(3))


def random_rows(rng: np.random.Generator) -> np.ndarray:
    rows = rng.dirichlet(np.full(STATES, 0.5), (STATES, ACTIONS))
    rows[rows < 0.05] = 0.0
    return np.asarray(rows / rows.sum(axis=2, keepdims=True))


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
    worlds = WorldReturning(GOAL)
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


def test_a_row_that_is_nearly_singular_spoils_no_other() -> None:
    rows = np.zeros((3, 1, 3))
    rows[0, 0, 0] = rows[1, 0, 0] = 1.0
    rows[2, 0, 1:] = 1e-17, 1.0
    belief = FiniteBelief([SparseMDP.from_dense(rows)])
    worlds = WorldReturning(GOAL)
    found = worlds.options(belief, worlds.open(belief, 1), 1, None)
    assert found.value() == pytest.approx([1.0, 1.0, 0.0])


def test_a_held_way_home_that_is_better_is_kept() -> None:
    rng = np.random.default_rng(1)
    belief = FiniteBelief([SparseMDP.from_dense(random_rows(rng)) for _ in range(3)])
    worlds = WorldReturning(GOAL)
    first = worlds.open(belief, 2)
    again = worlds.options(belief, first, 2, None)
    assert again.works() >= 1.0 - first.spent - 1e-13
    assert again.promise.spent == first.spent


@pytest.mark.parametrize("leaving", [1e-3, 1e-9, 1e-12, 3e-14])
def test_a_way_home_that_takes_very_long_keeps_its_digits(leaving: float) -> None:
    stay = [[[1.0, 0.0, 0.0]], [[leaving / 2, 1.0 - leaving, leaving / 2]], [[0.0, 0.0, 1.0]]]
    belief = FiniteBelief([SparseMDP.from_dense(stay)])
    worlds = WorldReturning(GOAL)
    found = worlds.options(belief, worlds.open(belief, 1), 1, None)
    assert found.works() == pytest.approx(0.5, abs=2e-14)
    assert found.works() <= 0.5
