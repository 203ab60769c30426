from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.beliefs import Visit
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax
from homeward.certificates.policy_values import dense_transitions, exact_return
from homeward.paper.counterexamples import (
    DISCOUNTS,
    Row,
    as_text,
    bound_value,
    compare,
    exact_value,
    judged_by_world,
    judged_on_mean,
    judged_singly,
    leaving,
    panels,
    policies,
    policy_of,
)
from homeward.paper.worlds import all_stories, average_loop, known_odds, which_way_back
from homeward.planning.planner import Planner
from homeward.safety import ReturnHome
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs import FiniteBelief
    from homeward.bonuses import Bonus
    from homeward.paper.worlds import Story
    from homeward.planning.plan import Plan

BACK_AND_FORTH = {"S": "a", "B": "a", "F": "b"}  # a, a, b, a, b, ...
KEEP_TRYING = {"S": "a", "B": "c"}  # a, c, c, c, ...
BOUNDS = [Correction.GENERAL, Correction.MOVES]

discounts = pytest.mark.parametrize("discount", [*DISCOUNTS, 0.5])


def plan(
    story: Story, delta: float, discount: float, kind: Correction, bonus: Bonus | None = None
) -> Plan:
    planner = Planner(bonus or RMax(), [ReturnHome(delta)], discount, kind)
    return planner.plan(story.belief.update(Visit(story.home)), story.home)


def used(story: Story, policy: IntArray) -> set[tuple[int, int]]:
    """The state-actions that a policy takes from home, but in the sink."""
    (world,) = story.belief.worlds
    reached = {story.home}
    for _ in range(world.states):
        reached |= {int(t) for s in reached for t in np.flatnonzero(world.row(s, policy[s]))}
    return {(s, int(policy[s])) for s in reached - {story.state("E")}}


@discounts
def test_going_back_and_forth_is_worth_point_eight_and_a_bit(discount: float) -> None:
    story = known_odds()
    policy = policy_of(story, BACK_AND_FORTH)
    worth = 0.8 + 0.2 * (1 - discount)
    assert exact_value(story, policy, discount) == pytest.approx(worth, abs=1e-12)
    assert bound_value(story, policy, discount, Correction.GENERAL) == pytest.approx(
        worth, abs=1e-12
    )


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_back_and_forth_is_accepted_at_point_eight(discount: float) -> None:
    decision = plan(known_odds(), 0.8, discount, Correction.GENERAL)
    assert decision.status is Status.OPTIMAL
    assert decision.bounds[0] >= 0.8 - 1e-9


@pytest.mark.parametrize("discount", DISCOUNTS)
def test_nothing_is_accepted_at_point_eight_one(discount: float) -> None:
    decision = plan(known_odds(), 0.81, discount, Correction.GENERAL)
    assert decision.status is Status.INFEASIBLE
    assert decision.bounds[0] == pytest.approx(0.8 + 0.2 * (1 - discount), abs=1e-11)


@discounts
def test_trying_c_again_and_again_is_worth_ever_less(discount: float) -> None:
    # In B the next call finds us there with (1−γ) / (1 − .9γ); B is reached with .8.
    story = known_odds()
    policy = policy_of(story, KEEP_TRYING)
    worth = (1 - discount) + 0.8 * discount * (1 - discount) / (1 - 0.9 * discount)
    assert exact_value(story, policy, discount) == pytest.approx(worth, abs=1e-12)
    assert bound_value(story, policy, discount, Correction.GENERAL) == pytest.approx(
        worth, abs=1e-12
    )


def test_trying_c_again_and_again_tends_to_zero() -> None:
    story = known_odds()
    policy = policy_of(story, KEEP_TRYING)
    worth = [exact_value(story, policy, 1 - 10.0**-k) for k in (2, 4, 6)]
    assert worth[0] > worth[1] > worth[2]
    assert worth[2] < 1e-5


def test_the_safe_and_the_unsafe_policy_share_sa_and_b() -> None:
    story = known_odds()
    safe, unsafe = policy_of(story, BACK_AND_FORTH), policy_of(story, KEEP_TRYING)
    assert exact_value(story, safe, 0.99) >= 0.8 > exact_value(story, unsafe, 0.99)
    both = used(story, safe) & used(story, unsafe)
    assert (story.home, story.action("a")) in both
    b = story.state("B")
    assert b in {s for s, _ in used(story, safe)} & {s for s, _ in used(story, unsafe)}


def test_judging_state_actions_one_by_one_cannot_tell_them_apart() -> None:
    story = known_odds()
    assert judged_singly(story, policy_of(story, BACK_AND_FORTH)) == pytest.approx(0.8)
    assert judged_singly(story, policy_of(story, KEEP_TRYING)) == pytest.approx(0.8)


def test_in_each_world_b_has_a_sure_way_home() -> None:
    story = which_way_back()
    for world in story.belief.worlds:
        home = np.array([story.home])
        ways = [exact_return(dense_transitions(world), p, home) for p in policies(world)]
        assert max(way[story.state("B")] for way in ways) == 1.0


@discounts
def test_a_way_home_per_world_makes_leaving_s_look_sure(discount: float) -> None:
    story = which_way_back()
    assert judged_by_world(story, leaving(story, "a"), discount) == pytest.approx(1.0, abs=1e-12)


@discounts
def test_no_policy_that_leaves_s_is_worth_more_than_half_and_a_bit(discount: float) -> None:
    story = which_way_back()
    outbounds = leaving(story, "a")
    assert len(outbounds) == 2
    best = max(exact_value(story, out, discount) for out in outbounds)
    assert best == pytest.approx(0.5 + 0.5 * (1 - discount), abs=1e-12)


@discounts
@pytest.mark.parametrize("kind", BOUNDS)
def test_no_bound_is_above_the_exact_value_of_any_policy(discount: float, kind: Correction) -> None:
    for story in all_stories()[1:]:
        for out in policies(story.belief.worlds[0]):
            bound = bound_value(story, out, discount, kind)
            assert 0.0 <= bound <= exact_value(story, out, discount) + 1e-12


@discounts
@pytest.mark.parametrize("kind", BOUNDS)
def test_staying_in_s_is_proven_sure(discount: float, kind: Correction) -> None:
    story = which_way_back()
    (stay, *_) = leaving(story, "b")
    assert bound_value(story, stay, discount, kind) == pytest.approx(1.0, abs=1e-12)


def far_side(belief: FiniteBelief) -> FloatArray:
    """Pay a million for every action anywhere but in S."""
    bonus = np.full(belief.counts.shape, 1e6)
    bonus[0] = 0.0
    return bonus


@pytest.mark.parametrize("delta", [0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0])
@pytest.mark.parametrize("kind", BOUNDS)
@pytest.mark.parametrize("bonus", [RMax(), far_side], ids=["R-max", "far side"])
def test_the_planner_never_leaves_s(delta: float, kind: Correction, bonus: Bonus) -> None:
    story = which_way_back()
    for discount in DISCOUNTS:
        decision = plan(story, delta, discount, kind, bonus)
        assert decision.status is Status.OPTIMAL
        assert decision.action == story.action("b")
        assert decision.criteria[0].kept_bound >= delta - 1e-9


def test_a_planner_that_trusts_the_mean_leaves_s_at_once() -> None:
    story = which_way_back()
    decision = plan(story, 1.0, 0.99, Correction.NAIVE)
    assert decision.action == story.action("a")
    assert decision.bounds[0] == pytest.approx(1.0, abs=1e-9)


@discounts
def test_the_average_loop_looks_sure_on_the_mean_and_never_comes_back(discount: float) -> None:
    story = average_loop()
    policy = policy_of(story, {})
    assert judged_on_mean(story, policy, discount) == pytest.approx(1.0, abs=1e-12)
    assert exact_value(story, policy, discount) == pytest.approx(1 - discount, abs=1e-12)
    for kind in BOUNDS:
        assert bound_value(story, policy, discount, kind) <= 1 - discount + 1e-12


@pytest.mark.parametrize("kind", BOUNDS)
def test_the_planner_calls_the_average_loop_infeasible(kind: Correction) -> None:
    assert plan(average_loop(), 0.5, 0.99, kind).status is Status.INFEASIBLE


def test_a_planner_that_trusts_the_mean_calls_the_average_loop_sure() -> None:
    decision = plan(average_loop(), 1.0, 0.99, Correction.NAIVE)
    assert decision.status is Status.OPTIMAL
    assert decision.bounds[0] == pytest.approx(1.0, abs=1e-9)


def test_the_table_holds_every_policy_at_every_discount() -> None:
    rows = compare()
    assert len(rows) == 5 * len(DISCOUNTS)
    assert {row.discount for row in rows} == set(DISCOUNTS)
    assert [row.bound_moves is None for row in rows] == [row.story == "Known odds" for row in rows]
    naive = {row.policy: row.naive for row in rows}
    assert naive == pytest.approx(
        {
            "a,a,b,a,b,…": 0.8,
            "a,c,c,c,…": 0.8,
            "stay: b,b,b,…": 1.0,
            "leave by a (best)": 1.0,
            "a,a,a,…": 1.0,
        }
    )


def test_the_text_aligns_its_columns_and_marks_what_does_not_apply() -> None:
    row = Row("tale", "a,b", 0.99, 1.0, 0.5, 0.25, None, "a point")
    head, line = as_text([row]).splitlines()
    assert line.index("0.250000") == head.index("general")
    assert line.index("-") == head.index("moves")
    assert line.endswith("a point")


def test_the_panels_shade_the_states_without_a_way_home() -> None:
    odds, which, loop = panels(compare([0.99]), 0.99)
    names = [
        {(graph.model.state_names or ())[s] for s in graph.lost}
        for panel in (odds, which, loop)
        for graph in panel.graphs
    ]
    assert names == [{"E"}, {"L"}, {"U"}, {"B", "C"}, {"B"}, set()]
    assert [len(panel.bars) for panel in (odds, which, loop)] == [2, 2, 1]
