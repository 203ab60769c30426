from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import move_beliefs

import homeward as hw
from homeward.beliefs import Correction
from homeward.beliefs.finite import destinations
from homeward.planning.ends import End

CELLS = 5


def corridor(works: float) -> hw.SparseMDP:
    """Return a corridor whose moves work with this probability, and else stay."""
    names = [f"cell {k}" for k in range(CELLS)]
    rows: Any = {}
    for k, name in enumerate(names):
        west, east = names[max(0, k - 1)], names[min(CELLS - 1, k + 1)]
        rows[name] = {
            "west": {west: works, name: 1 - works} if west != name else name,
            "east": {east: works, name: 1 - works} if east != name else name,
        }
    return hw.SparseMDP.from_names(rows)


@pytest.mark.parametrize("explorer", [hw.Explorer, hw.PaperExplorer])
@pytest.mark.parametrize("truth", [0.9, 0.6])
@pytest.mark.parametrize("seed", range(3))
def test_a_corridor_that_is_slippery_or_not_is_explored_whole(
    explorer: Any, truth: float, seed: int
) -> None:
    belief = hw.FiniteBelief([corridor(0.9), corridor(0.6)])
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.9)])
    scout = explorer(planner, belief, hw.ModelWorld(corridor(truth), "cell 0", seed))
    for _ in scout.explore(200):
        pass
    assert scout.belief.visited.all()
    assert scout.end is End.ALL_SEEN


@given(move_beliefs(), st.sampled_from([0.3, 0.9]))
def test_a_general_belief_is_planned_like_the_same_worlds_as_moves(
    belief: Any, level: float
) -> None:
    sparse = hw.FiniteBelief([world.sparse() for world in belief.worlds], belief.weights)
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(level)], 0.9)
    plans = [planner.plan(one, 0) for one in (belief, sparse)]
    assert plans[1].correction is Correction.MOVES
    assert plans[0].bounds == pytest.approx(plans[1].bounds, abs=1e-9)
    assert plans[0].exploration_value == pytest.approx(plans[1].exploration_value, abs=1e-7)


def test_its_plan_is_certified_on_the_belief_as_it_was_given() -> None:
    belief = hw.FiniteBelief([corridor(0.9), corridor(0.6)])
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.9)])
    plan = planner.plan(belief, "cell 1")
    assert not hw.certify(plan, belief, planner).refuted


def test_a_return_within_a_time_is_kept_over_a_run() -> None:
    belief = hw.FiniteBelief([corridor(1.0), corridor(0.0)], np.array([0.9, 0.1]))
    planner = hw.Planner(hw.RMax(), [hw.ReturnHome(0.9, within=2)])
    scout = hw.Explorer(planner, belief, hw.ModelWorld(corridor(1.0), "cell 0"))
    assert max(step.state for step in scout.explore(50)) == 2


def test_two_destinations_or_an_end_are_not_move_or_stay() -> None:
    fork = hw.SparseMDP.from_dense(np.array([[[0, 0.5, 0.5]], [[0, 1, 0]], [[0, 0, 1]]]))
    ends = hw.SparseMDP.from_dense(np.array([[[0.0, 0.5]], [[0, 1]]]))
    assert destinations([fork]) is None
    assert destinations([ends]) is None
    there, elsewhere = (hw.SparseMDP.from_dense(np.eye(3)[[t, 1, 2]][:, None]) for t in (1, 2))
    assert destinations([there]) is not None
    assert hw.FiniteBelief([there, elsewhere]).as_moves() is None
