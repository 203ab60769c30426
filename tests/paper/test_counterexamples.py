from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.beliefs import Visit
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.paper.counterexamples import (
    DISCOUNTS,
    all_stories,
    average_loop,
    bound_value,
    compare,
    exact_value,
    judged_by_world,
    judged_on_mean,
    judged_singly,
    known_odds,
    policies,
    taking,
    way_home,
    which_way_back,
)
from homeward.planning.algorithm1 import Planner
from homeward.referee.exact import dense_transitions, exact_return
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray
    from homeward.beliefs import FiniteBelief
    from homeward.bonuses import Bonus
    from homeward.paper.counterexamples import Story
    from homeward.planning.plan import Plan

BACK_AND_FORTH = {"S": "a", "B": "a", "F": "b"}  # a, a, b, a, b, ...
KEEP_TRYING = {"S": "a", "B": "c"}  # a, c, c, c, ...
BOUNDS = [Correction.GENERAL, Correction.MOVES]

discounts = pytest.mark.parametrize("discount", [*DISCOUNTS, 0.5])


def plan(
    story: Story, delta: float, discount: float, kind: Correction, bonus: Bonus | None = None
) -> Plan:
    planner = Planner(bonus or RMax(), [ReturnHome(delta)], discount, kind)
    return planner.plan(story.belief.update(Visit(0)), 0)


def used(story: Story, policy: IntArray) -> set[tuple[int, int]]:
    """The state-actions that a policy takes from home, but in the sink."""
    (world,) = story.belief.worlds
    reached = {0}
    for _ in range(world.states):
        reached |= {int(t) for s in reached for t in np.flatnonzero(world.row(s, policy[s]))}
    return {(s, int(policy[s])) for s in reached - {story.state("E")}}


@discounts
def test_going_back_and_forth_is_worth_point_eight_and_a_bit(discount: float) -> None:
    story = known_odds()
    (policy,) = taking(story, BACK_AND_FORTH)
    worth = 0.8 + 0.2 * (1 - discount)
    assert exact_value(story.belief, [policy], discount) == pytest.approx(worth, abs=1e-12)
    assert bound_value(story.belief, policy, discount, Correction.GENERAL) == pytest.approx(
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
    (policy,) = taking(story, KEEP_TRYING)
    worth = (1 - discount) + 0.8 * discount * (1 - discount) / (1 - 0.9 * discount)
    assert exact_value(story.belief, [policy], discount) == pytest.approx(worth, abs=1e-12)
    assert bound_value(story.belief, policy, discount, Correction.GENERAL) == pytest.approx(
        worth, abs=1e-12
    )


def test_trying_c_again_and_again_tends_to_zero() -> None:
    story = known_odds()
    (policy,) = taking(story, KEEP_TRYING)
    worth = [exact_value(story.belief, [policy], 1 - 10.0**-k) for k in (2, 4, 6)]
    assert worth[0] > worth[1] > worth[2]
    assert worth[2] < 1e-5


def test_the_safe_and_the_unsafe_policy_share_sa_and_b() -> None:
    story = known_odds()
    (safe,), (unsafe,) = taking(story, BACK_AND_FORTH), taking(story, KEEP_TRYING)
    assert (
        exact_value(story.belief, [safe], 0.99) >= 0.8 > exact_value(story.belief, [unsafe], 0.99)
    )
    both = used(story, safe) & used(story, unsafe)
    assert (0, story.action("a")) in both
    b = story.state("B")
    assert b in {s for s, _ in used(story, safe)} & {s for s, _ in used(story, unsafe)}


def test_judging_state_actions_one_by_one_cannot_tell_them_apart() -> None:
    story = known_odds()
    assert judged_singly(story.belief, taking(story, BACK_AND_FORTH), 0.99) == pytest.approx(0.8)
    assert judged_singly(story.belief, taking(story, KEEP_TRYING), 0.99) == pytest.approx(0.8)


def test_in_each_world_b_has_a_sure_way_home() -> None:
    story = which_way_back()
    for world in story.belief.worlds:
        home = np.array([0])
        ways = [exact_return(dense_transitions(world), p, home) for p in policies(world)]
        assert max(way[story.state("B")] for way in ways) == 1.0


@discounts
def test_a_way_home_per_world_makes_leaving_s_look_sure(discount: float) -> None:
    story = which_way_back()
    assert judged_by_world(story.belief, taking(story, {"S": "a"}), discount) == pytest.approx(
        1.0, abs=1e-12
    )


@discounts
def test_no_policy_that_leaves_s_is_worth_more_than_half_and_a_bit(discount: float) -> None:
    story = which_way_back()
    outbounds = taking(story, {"S": "a"})
    assert len(outbounds) == 2
    best = max(exact_value(story.belief, [out], discount) for out in outbounds)
    assert best == pytest.approx(0.5 + 0.5 * (1 - discount), abs=1e-12)


@discounts
@pytest.mark.parametrize("kind", BOUNDS)
def test_no_bound_is_above_the_exact_value_of_any_policy(discount: float, kind: Correction) -> None:
    for story in all_stories()[1:]:
        for out in policies(story.belief.worlds[0]):
            bound = bound_value(story.belief, out, discount, kind)
            assert 0.0 <= bound <= exact_value(story.belief, [out], discount) + 1e-12


@discounts
@pytest.mark.parametrize("kind", BOUNDS)
def test_staying_in_s_is_proven_sure(discount: float, kind: Correction) -> None:
    story = which_way_back()
    (stay, *_) = taking(story, {"S": "b"})
    assert bound_value(story.belief, stay, discount, kind) == pytest.approx(1.0, abs=1e-12)


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
    (policy,) = taking(story, {})
    assert judged_on_mean(story.belief, [policy], discount) == pytest.approx(1.0, abs=1e-12)
    assert exact_value(story.belief, [policy], discount) == pytest.approx(1 - discount, abs=1e-12)
    for kind in BOUNDS:
        assert bound_value(story.belief, policy, discount, kind) <= 1 - discount + 1e-12


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


def test_the_states_without_a_way_home_are_those_of_each_world() -> None:
    names = [
        {(world.state_names or ())[s] for s in np.flatnonzero(way_home(world) == 0.0)}
        for story in all_stories()
        for world in story.belief.worlds
    ]
    assert names == [{"E"}, {"L"}, {"U"}, {"B", "C"}, {"B"}]


def test_known_odds_has_the_paper_s_transitions() -> None:
    story = known_odds()
    (world,) = story.belief.worlds
    chances = {
        (world.state_names[s], world.action_names[a], world.state_names[t]): float(p)
        for s in range(world.states)
        for a in np.flatnonzero(np.isfinite(world.reward[s]))
        for t, p in enumerate(world.row(s, int(a)))
        if world.state_names and world.action_names and p > 0
    }
    assert chances == {
        ("S", "a", "B"): 0.8,
        ("S", "a", "E"): 0.2,
        ("B", "a", "F"): 1.0,
        ("B", "b", "S"): 1.0,
        ("B", "c", "B"): 0.9,
        ("B", "c", "E"): 0.1,
        ("F", "b", "B"): 1.0,
        ("E", "a", "E"): 1.0,
    }


@pytest.mark.parametrize("story", [which_way_back(), average_loop()], ids=lambda s: s.title)
def test_the_ambiguous_stories_are_two_equally_likely_move_or_stay_worlds(story) -> None:  # type: ignore[no-untyped-def]
    assert story.belief.weights.tolist() == [0.5, 0.5]
    assert all(isinstance(world, Moves) for world in story.belief.worlds)


def test_home_is_open_from_u_in_one_world_and_from_l_in_the_other() -> None:
    story = which_way_back()
    u, low, a, home = story.state("U"), story.state("L"), story.action("a"), 0
    first, second = story.belief.worlds
    assert [first.row(u, a)[home], first.row(low, a)[home]] == [1.0, 0.0]
    assert [second.row(u, a)[home], second.row(low, a)[home]] == [0.0, 1.0]
    assert first.row(low, a)[low] == second.row(u, a)[u] == 1.0


def test_both_worlds_share_the_road_out_to_u_and_l() -> None:
    story = which_way_back()
    for world in story.belief.worlds:
        assert world.row(0, story.action("a"))[story.state("B")] == 1.0
        assert world.row(0, story.action("b"))[0] == 1.0
        assert world.row(story.state("B"), story.action("a"))[story.state("U")] == 1.0
        assert world.row(story.state("B"), story.action("b"))[story.state("L")] == 1.0


def test_an_action_that_a_state_lacks_cannot_be_chosen() -> None:
    story = which_way_back()
    reward = story.belief.worlds[0].reward
    assert reward[story.state("U"), story.action("b")] == -np.inf
    assert np.isfinite(reward).sum() == 6


def test_the_mean_of_the_average_loop_moves_on_half_of_the_time() -> None:
    mean = average_loop().belief.mean()
    assert [mean.row(s, 0).tolist() for s in range(3)] == [
        [0.0, 1.0, 0.0],
        [0.0, 0.5, 0.5],
        [0.5, 0.0, 0.5],
    ]


def test_each_world_of_the_average_loop_stops_it_at_another_place() -> None:
    held = [
        [s for s in range(3) if world.row(s, 0)[s] == 1.0] for world in average_loop().belief.worlds
    ]
    assert held == [[2], [1]]


def test_every_story_names_its_worlds() -> None:
    for story in all_stories():
        assert len(story.world_names) == len(story.belief.worlds)
