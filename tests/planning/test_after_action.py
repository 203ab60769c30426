"""What a plan says of coming home after each action, also after those that it does not take."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from homeward.beliefs import FiniteBelief
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax
from homeward.criteria import Criterion, Limit, ReturnHome
from homeward.models import Model, Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer
from homeward.replay import Moment
from homeward.worlds import ModelWorld

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.planning.explained import Explanation


class Shown(NamedTuple):
    """What is shown of a decision, and the bounds on coming home from each state."""

    explanation: Explanation
    way_home: FloatArray


def shown_by(explorer: Explorer) -> Shown:
    given = explorer.belief, explorer.run_state, explorer.here
    (options,) = explorer.rules.options(*given)
    return Shown(explorer.explain(), options.value())


def plan_of(belief: FiniteBelief, world: Model, *criteria: Criterion, steps: int = 1) -> Shown:
    """Return what is shown of the last of some steps from state 0."""
    explorer = Explorer(Planner(RMax(), criteria), belief, ModelWorld(world))
    assert len(list(explorer.explore(steps - 1))) == steps - 1
    return shown_by(explorer)


def told(plan: Shown) -> list[float]:
    return [row.safety[0] for row in plan.explanation.evidence]


def split() -> FiniteBelief:
    """Return two general worlds: action 1 leads to a state from which this world has no return."""
    home, there, back = [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], 0
    worlds = []
    for lost in (1, 2):
        rows = np.zeros((4, 3, 4))
        rows[0] = [home, np.eye(4)[lost], there]
        rows[1:] = np.eye(4)[1:, None]
        rows[3 - lost, 2] = rows[3, 2] = np.eye(4)[back]
        worlds.append(SparseMDP.from_dense(rows))
    return FiniteBelief(worlds)


def test_an_action_after_which_no_world_has_a_return_says_zero() -> None:
    belief = split()
    plan = plan_of(belief, belief.worlds[0], ReturnHome(0.9))
    assert plan.explanation.action == 2
    assert told(plan)[1] == 0.0
    assert told(plan)[2] == pytest.approx(1.0, abs=1e-12)
    assert "0.0000" in str(plan.explanation).splitlines()[-2]


def opposite() -> FiniteBelief:
    """Return two worlds: a move to state 1 works in the one from which there is no return."""
    dest = np.array([[0, 1, 2], [1, 0, 1], [2, 0, 2]])
    out = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    stays = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    return FiniteBelief([Moves(dest, out), Moves(dest, stays)])


@pytest.mark.parametrize("correction", [None, Correction.GENERAL])
def test_a_move_that_works_where_no_way_leads_back_counts_as_lost(
    correction: Correction | None,
) -> None:
    belief = opposite()
    planner = Planner(RMax(), [ReturnHome(0.9)], correction=correction)
    explorer = Explorer(planner, belief, ModelWorld(belief.worlds[0]))
    after = told(shown_by(explorer))
    assert after[1] <= 0.5  # on the mean model it is ½·½ + ½·1
    if correction is None:
        assert after[1] == pytest.approx(0.5)
    assert after[0] == after[2] == 1.0


def test_an_explorer_without_a_criterion_is_told_no_more() -> None:
    belief = opposite()
    moment = Moment(0, 0, belief, np.zeros(1, np.int32), Planner(RMax(), []))
    np.testing.assert_allclose(moment.after, [1.0, 0.5, 1.0])
    moment = Moment(0, 0, split(), np.zeros(1, np.int32), Planner(RMax(), []))
    np.testing.assert_allclose(moment.after, [1.0, 0.0, 1.0], atol=1e-12)


def test_a_naive_planner_gets_no_layer_that_is_called_proven() -> None:
    belief = opposite()
    planner = Planner(RMax(), [ReturnHome(0.9)], correction=Correction.NAIVE)
    moment = Moment(0, 0, belief, np.zeros(1, np.int32), planner)
    np.testing.assert_allclose(moment.returns[1].value, [1.0, 0.5, 1.0])


def test_where_a_row_is_known_the_bound_is_the_mean() -> None:
    rows = np.array([[[1.0, 0.0, 0.0], [0.0, 0.75, 0.25]], np.eye(3)[[0, 1]], np.eye(3)[[2, 2]]])
    world = SparseMDP.from_dense(rows)
    plan = plan_of(FiniteBelief([world]), world, ReturnHome(0.5))
    assert told(plan) == pytest.approx([1.0, 0.75], abs=1e-12)


def chain(states: int = 6) -> Moves:
    """Return a line of states, with the actions stay, back, on and jump, which always work."""
    here = np.arange(states)
    back, *on = np.maximum(here - 1, 0), *(np.minimum(here + n, states - 1) for n in (1, 2))
    return Moves(np.column_stack([here, back, *on]), np.ones((states, 4)))


def test_a_way_home_that_takes_too_many_steps_counts_as_none() -> None:
    world = chain()
    plan = plan_of(FiniteBelief([world]), world, ReturnHome(0.5, within=1))
    np.testing.assert_array_equal(plan.way_home, [1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    assert told(plan) == [1.0, 1.0, 1.0, 0.0]


def test_an_attempt_uses_some_of_the_limit_of_the_run() -> None:
    world, each = chain(), np.ones((6, 4))
    limit = ReturnHome(0.5, limits=(Limit(5.0, "steps", each, each),))
    plan = plan_of(FiniteBelief([world]), world, limit, steps=2)
    assert plan.explanation.decision.state == 1
    np.testing.assert_array_equal(plan.way_home, [1.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    assert told(plan) == [1.0, 1.0, 1.0, 1.0]
    plan = plan_of(FiniteBelief([world]), world, limit, steps=3)
    assert (
        plan.explanation.decision.state == 2
    )  # 3 steps are left: on to state 3 and back again would take 4
    np.testing.assert_array_equal(plan.way_home, [1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    assert told(plan) == [1.0, 1.0, 0.0, 0.0]
