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
from homeward.planning.returning.policies import can_reach
from homeward.planning.returning.worlds import MAX_WORLDS, Worlds, set_of

if TYPE_CHECKING:
    from homeward.models import Model

HOME = np.zeros(1, np.int64)


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
