from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.planning.test_paper import PIT, Walk, corridor

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.bonuses import NearBayesian, RMax, Uncover
from homeward.criteria import EarnAtLeast, ReturnHome, StayInside
from homeward.errors import InfeasibleError, InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Rules
from homeward.worlds import ModelWorld


def explorer(
    world: Walk, *criteria: Any, belief: Any = None, bonus: Any = None, **options: Any
) -> Explorer:
    known = FiniteBelief([world.model]) if belief is None else belief
    return Explorer(Planner(bonus or RMax(), list(criteria)), known, world, **options)


def forked(back: float) -> tuple[Moves, FiniteBelief]:
    """Return two rooms, open both ways, and a belief in which the way back is doubtful."""
    dest = np.array([[0, 1], [1, 0]])
    real, shut = Moves(dest, np.ones((2, 2))), Moves(dest, np.array([[1.0, 1.0], [1.0, 0.0]]))
    return real, FiniteBelief([real, shut], np.array([back, 1.0 - back]))


def test_it_sees_a_corridor_from_end_to_end_and_knows_when_it_is_done() -> None:
    scout = explorer(Walk(corridor(5)), ReturnHome(1.0))
    assert [step.state for step in scout.explore(100)] == [1, 2, 3, 4]
    assert scout.end is End.ALL_SEEN
    assert scout.why().startswith("Nothing is left to explore.")


def test_it_does_not_fall_into_a_pit() -> None:
    scout = explorer(Walk(PIT), ReturnHome(1.0))
    assert list(scout.explore(100)) == []
    assert scout.end is not End.ALL_SEEN
    assert "Left within reach: at most 1 unit of bonus." in scout.why()


def test_without_a_criterion_it_does() -> None:
    scout = explorer(Walk(PIT))
    assert scout.world.state == 0
    list(scout.explore(100))
    assert scout.world.state == 1


@pytest.mark.parametrize("delta", [1.0, 0.9])
def test_what_the_budget_does_not_allow_ends_the_run_and_it_says_what_would(delta: float) -> None:
    real, belief = forked(0.8)
    scout = explorer(Walk(real), ReturnHome(delta), belief=belief)
    assert list(scout.explore(10)) == []
    assert scout.end is End.BUDGET
    assert "Going on would risk 0.2" in scout.why()
    assert "δ = 0.8 would allow it." in scout.why() or "0.7999" in scout.why()


def test_what_the_budget_allows_is_spent_once_and_held() -> None:
    real, belief = forked(0.8)
    scout = explorer(Walk(real), ReturnHome(0.7), belief=belief)
    (step,) = scout.explore(10)
    assert step.run_state is scout.run_state
    assert scout.run_state.kept == pytest.approx(0.8)
    assert scout.run_state.promises[0].way[1] == 1
    assert scout.end is End.ALL_SEEN


def test_a_level_that_can_not_be_kept_from_the_start_ends_it_at_once() -> None:
    scout = explorer(Walk(PIT, state=1), ReturnHome(0.5, home=0))
    assert list(scout.explore(10)) == []
    assert scout.end is End.INFEASIBLE
    strict = explorer(Walk(PIT, state=1), ReturnHome(0.5, home=0), strict=True)
    with pytest.raises(InfeasibleError, match="No policy meets the safety level"):
        list(strict.explore(10))


def test_the_steps_can_be_used_up_and_the_limit_raised() -> None:
    scout = explorer(Walk(corridor(6)), ReturnHome(1.0))
    assert scout.why() == "It has not ended."
    assert len(list(scout.explore(2))) == 2
    assert scout.end is End.STEPS
    assert len(list(scout.explore(100))) == 3


def test_a_world_that_ends_it_is_the_end() -> None:
    real = SparseMDP.from_dense([[[0.0, 0.0]], [[0.0, 1.0]]])
    hope = SparseMDP.from_dense([[[0.0, 0.5]], [[0.0, 1.0]]])
    scout = explorer(Walk(real), belief=FiniteBelief([hope]))
    (step,) = scout.explore(100)
    assert step.observation == Transition(0, 0, None)
    assert scout.end is End.LOST


def test_a_bonus_that_never_shrinks_ends_with_a_code_of_its_own() -> None:
    scout = explorer(Walk(corridor(3)), ReturnHome(1.0), bonus=lambda _: np.ones((3, 2)))
    steps = list(scout.explore(10_000))
    assert scout.end is End.NOT_LEARNING
    assert len(steps) < 200


def paying(rewards: dict[tuple[int, int], float]) -> SparseMDP:
    """Return a corridor of four rooms, east and west, and a pit east of it."""
    rows = np.zeros((5, 2, 5))
    for s in range(4):
        rows[s, 0, s + 1] = rows[s, 1, max(0, s - 1)] = 1.0
    rows[4, :, 4] = 1.0
    reward = np.zeros((5, 2))
    for at, amount in rewards.items():
        reward[at] = amount
    return SparseMDP.from_dense(rows, reward)


def test_it_learns_first_and_then_earns_what_is_safe() -> None:
    # West of room 0 pays .1 a step at once; room 3 is worth a look; the pit pays most.
    real = paying({(0, 1): 0.1, (4, 0): 5.0})
    scout = explorer(Walk(real), ReturnHome(1.0), belief=FiniteBelief([real]))
    steps = list(scout.explore(40))
    assert [step.state for step in steps[:3]] == [1, 2, 3]
    assert scout.end is End.STEPS
    assert [step.state for step in steps[-30:]] == [0] * 30
    assert steps[-1].decision.found.earns
    assert "it earns 0.1 per step" in str(scout.explain())
    assert 4 not in {step.state for step in steps}


def test_it_does_not_learn_what_is_worth_less_than_earning() -> None:
    real = paying({(0, 1): 2.0})
    scout = explorer(Walk(real), ReturnHome(1.0), belief=FiniteBelief([real]))
    assert {step.state for step in scout.explore(20)} == {0}
    assert scout.end is End.STEPS


@pytest.mark.parametrize(("delta", "goes"), [(0.99, False), (0.95, True), (0.5, True)])
@pytest.mark.parametrize("reward", [0.4, 1.0])
def test_it_goes_where_it_earns_if_the_way_back_can_be_afforded(
    reward: float, delta: float, goes: bool
) -> None:
    # Camp, a ledge, and a valley that pays; the way back from it is blocked with 0.02.
    def valley(back: int) -> SparseMDP:
        rows = np.zeros((3, 3, 3))
        rows[0, [0, 1, 2], [1, 0, 0]] = rows[1, [0, 1, 2], [2, 0, 1]] = 1.0
        rows[2, [0, 1, 2], [2, back, 2]] = 1.0
        pays = np.zeros((3, 3))
        pays[2, 2] = reward
        return SparseMDP.from_dense(rows, pays)

    belief = FiniteBelief([valley(1), valley(2)], np.array([0.98, 0.02]))
    scout = explorer(Walk(valley(1)), ReturnHome(delta), belief=belief)
    steps = list(scout.explore(30))
    assert (steps[-1].state == 2) == goes
    assert scout.end is (End.STEPS if goes else End.BUDGET)


def test_with_unknown_dynamics_the_held_way_home_follows_what_was_learned() -> None:
    # From room 1 two bridges lead home, or into a pit; at first the other one seems better.
    outcomes = np.array([[[1, 1]] * 2, [[0, 2]] * 2, [[2, 2]] * 2])
    alpha = np.array([[3.0, 1.0], [2.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    kinds = np.array([[2, 2], [0, 1], [3, 3]])
    belief = DirichletBelief(outcomes, alpha, kinds).update(Visit(0))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(0.5)]), 0)
    run = rules.open(belief, 0)
    assert run.promises[0].way[1] == 0
    for _ in range(5):
        belief = belief.update(Transition(1, 1, 0))
    moved = Transition(1, 1, 0)
    after = rules.observed(belief, run, moved, moved, 0)
    assert after.promises[0].way[1] == 1


def test_a_step_holds_what_its_observation_has_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = corridor(3).sparse()
    scout = explorer(Walk(real), ReturnHome(1.0), belief=FiniteBelief([real]))
    taught = replace(scout.run_state, idle=7)
    monkeypatch.setattr(Rules, "observed", lambda *_: taught)
    assert next(scout.explore(1)).run_state is taught


def test_a_reward_out_of_reach_does_not_keep_it_from_learning() -> None:
    rows = np.zeros((3, 1, 3))
    rows[[0, 1, 2], 0, [1, 0, 2]] = 1.0
    real = SparseMDP.from_dense(rows, np.array([[0.0], [0.0], [1e12]]))
    scout = explorer(Walk(real), ReturnHome(1.0), belief=FiniteBelief([real]))
    assert [step.state for step in scout.explore(20)] == [1]


def test_a_move_that_failed_for_good_is_not_tried_again() -> None:
    # The door from 0 to 1 is open in half of the worlds; it is shut.
    dest = np.array([[0, 1, 2], [1, 0, 1], [2, 0, 2]])
    shut = np.ones((3, 3))
    shut[0, 1] = 0.0
    worlds = [Moves(dest, np.ones((3, 3))), Moves(dest, shut)]
    world = Walk(worlds[1])
    scout = explorer(world, ReturnHome(1.0), belief=FiniteBelief(worlds))
    list(scout.explore(50))
    assert world.actions.count(1) <= 2
    assert scout.belief.visited.tolist() == [True, False, True]


@pytest.mark.parametrize("delta", [1.0, 0.9, 0.7, 0.5])
@pytest.mark.parametrize("seed", range(4))
def test_it_never_goes_to_and_fro(seed: int, delta: float) -> None:
    grid = HeightMap.random((9, 9), seed, walls=0.3)
    planner = Planner(Uncover(), [ReturnHome(delta)])
    scout = Explorer(planner, grid.belief("known"), HeightGridWorld(grid))
    met: set[tuple[int, int]] = set()
    before = -1.0
    for step in scout.explore(1000):
        remaining = scout.run_state.remaining
        if remaining != before:
            met, before = set(), remaining
        assert (step.decision.state, step.state) not in met
        met.add((step.decision.state, step.state))
    assert scout.end not in (End.STEPS, End.NOT_LEARNING)


def test_a_proposal_is_held_until_it_is_reached() -> None:
    far = np.array([0.0, 0.0, 0.0, 0.0, 1.0])

    def bonus(belief: FiniteBelief) -> np.ndarray:
        return np.repeat(np.where(belief.visited, 0.0, far)[:, None], 2, axis=1)

    scout = explorer(Walk(corridor(5)), ReturnHome(1.0), bonus=bonus)
    paths = [step.decision.proposal.path for step in scout.explore(10) if step.decision.proposal]
    assert paths == [(0, 1, 2, 3, 4), (1, 2, 3, 4), (2, 3, 4), (3, 4)]


def test_counts_that_shrink_a_bonus_come_to_an_end() -> None:
    scout = explorer(Walk(corridor(3)), ReturnHome(1.0), bonus=NearBayesian(), floor=0.2)
    list(scout.explore(1000))
    assert scout.end in (End.ALL_SAFE_SEEN, End.TOO_LITTLE)


@pytest.mark.parametrize(
    ("criteria", "options", "said"),
    [
        ([ReturnHome(0.9)], {"floor": -1.0}, "the floor is -1, expected 0 or more"),
        ([ReturnHome(0.9, "current")], {}, 'home="current" is for single plans only'),
        ([EarnAtLeast(1.0)], {}, "EarnAtLeast holds for each plan only: use PaperExplorer"),
        ([ReturnHome(0.9, 7)], {}, "home"),
        ([ReturnHome(0.9, "current", within=2)], {}, "use PaperExplorer"),
    ],
)
def test_what_can_not_be_kept_over_a_run_is_refused_before_the_first_step(
    criteria: list[Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        explorer(Walk(corridor(3)), *criteria, **options)


def test_a_recall_at_a_fixed_step_is_refused() -> None:
    planner = Planner(RMax(), [ReturnHome(0.9)], recall=3)
    with pytest.raises(InvalidProblemError, match="a recall at a fixed step"):
        Explorer(planner, FiniteBelief([corridor(3)]), Walk(corridor(3)))


def test_a_negative_bonus_is_refused_with_its_place() -> None:
    bonus = np.ones((3, 2))
    bonus[1, 0] = -2.0
    scout = explorer(Walk(corridor(3)), ReturnHome(1.0), bonus=lambda _: bonus)
    with pytest.raises(InvalidProblemError, match=r"the bonus .*is -2, expected at least 0"):
        list(scout.explore(5))


def test_a_start_outside_the_set_to_stay_inside_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="state 1 is outside the set to stay inside"):
        explorer(Walk(PIT, state=1), StayInside(np.array([True, False]), 0.5))


def test_it_stays_inside_the_set() -> None:
    inside = StayInside(np.array([True, True, True, False, False]), 1.0)
    scout = explorer(Walk(corridor(5)), ReturnHome(1.0), inside)
    assert [step.state for step in scout.explore(50)] == [1, 2]
    assert scout.end is End.ALL_SAFE_SEEN


def test_with_a_deadline_it_goes_no_further_than_it_can_come_back_in_time() -> None:
    scout = explorer(Walk(corridor(6)), ReturnHome(1.0, within=2))
    assert max(step.state for step in scout.explore(50)) == 2


def test_steps_models_and_beliefs_are_printed_as_one_line() -> None:
    model = SparseMDP.from_names({"hut": {"out": "path"}, "path": {"back": "hut"}})
    belief = FiniteBelief([model])
    planner = Planner(RMax(), [ReturnHome(0.95)])
    explorer = Explorer(planner, belief, ModelWorld(model, start="hut", seed=0))
    assert [str(step) for step in explorer.explore(limit=1)] == ["Step 1: out in hut, then path."]
    assert str(model) == "SparseMDP: 2 states, 2 actions."
    assert str(explorer.belief) == "FiniteBelief: 1 world, 2 states (2 visited), 2 actions."
    counted = DirichletBelief.independent(np.ones((2, 2, 2)))
    for _ in range(3):
        counted = counted.update(Transition(0, 0, 1))
    told = "DirichletBelief: 3 observations, 2 states (2 visited), 2 actions."
    assert str(counted) == told


ROOM = corridor(3)
PARTS = {
    "planner": Planner(RMax(), [ReturnHome(0.9)]),
    "belief": FiniteBelief([ROOM]),
    "world": Walk(ROOM),
}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"planner": None}, "planner is None, expected a Planner"),
        ({"belief": None}, "belief is None, expected a belief such as FiniteBelief"),
        ({"belief": ROOM}, "belief is a Moves, expected a belief .*, with mean, update"),
        ({"world": None}, "world is None, expected a world"),
        ({"world": Walk}, "world is the class Walk, expected a world"),
        ({"planner": PARTS["belief"], "belief": PARTS["planner"]}, "planner is a FiniteBelief"),
        ({"belief": PARTS["world"], "world": PARTS["belief"]}, "belief is a Walk"),
    ],
)
def test_an_argument_of_another_kind_is_refused_by_name(wrong: Any, said: str) -> None:
    with pytest.raises(InvalidProblemError, match=said):
        Explorer(**{**PARTS, **wrong})


class Astray(Walk):
    """A world whose states are none of the belief, although its answers are."""

    def look(self) -> Visit:
        return Visit(0)

    def act(self, action: int) -> Any:
        seen = super().act(action)
        self.state = 7
        return seen


def test_a_state_that_the_belief_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the state of the world is 'hut', expected a"):
        explorer(Astray(ROOM, state="hut"))  # type: ignore[arg-type]
    with pytest.raises(InvalidProblemError, match=r"the state of the world is 9, outside 0..2"):
        explorer(Astray(ROOM, state=9))
    with pytest.raises(InvalidProblemError, match=r"the state of the world is 7, outside 0..2"):
        list(explorer(Astray(ROOM), ReturnHome(0.9)).explore(5))


def test_a_limit_that_is_no_number_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the limit is 'a', expected a number"):
        list(explorer(Walk(ROOM), ReturnHome(0.9)).explore("a"))  # type: ignore[arg-type]


def walled(cells: int, open_cells: int) -> Moves:
    """Return a corridor with a wall behind its first `open_cells` cells."""
    model = corridor(cells)
    success = np.array(model.success)
    success[open_cells - 1, model.dest[open_cells - 1] == open_cells] = 0.0
    success[open_cells, model.dest[open_cells] == open_cells - 1] = 0.0
    return Moves(model.dest, success)


@pytest.mark.parametrize("criteria", [[ReturnHome(0.98)], []])
def test_what_can_not_be_reached_is_not_left_to_explore(criteria: list[Any]) -> None:
    scout = explorer(Walk(walled(6, 3)), *criteria)
    assert [step.state for step in scout.explore(50)] == [1, 2]
    assert scout.end is End.OUT_OF_REACH
    assert "δ" not in scout.why()
    assert "unit" not in scout.why()


def test_a_lower_level_is_not_advised_where_it_changes_nothing() -> None:
    steps = []
    for delta in (0.98, 0.01):
        scout = explorer(Walk(PIT), ReturnHome(delta))
        steps.append([step.state for step in scout.explore(100)])
        assert scout.end is End.ALL_SAFE_SEEN
        assert "δ" not in scout.why()
    assert steps[0] == steps[1]


def test_a_larger_area_is_advised_only_where_there_is_more_outside() -> None:
    inside = StayInside(np.array([True, True, True, False, False, False]), 1.0)
    for world, more in ((corridor(6), True), (walled(6, 3), False)):
        scout = explorer(Walk(world), ReturnHome(1.0), inside)
        assert [step.state for step in scout.explore(50)] == [1, 2]
        assert ("A larger area" in scout.why()) is more
        assert (scout.end is End.ALL_SAFE_SEEN) is more
        assert "Left within reach" not in scout.why()
        assert "δ" not in scout.why()


def test_general_models_count_only_what_is_within_reach() -> None:
    rows = np.zeros((5, 2, 5))
    for cell in range(5):  # cells 3 and 4 are apart
        first, last = (0, 2) if cell < 3 else (3, 4)
        for action, step in enumerate((-1, 1)):
            there = min(last, max(first, cell + step))
            rows[cell, action, there] += 0.75
            rows[cell, action, first] += 0.25
    model = SparseMDP.from_dense(rows)
    scout = Explorer(
        Planner(RMax(), [ReturnHome(0.9)]), FiniteBelief([model]), ModelWorld(model, 0, seed=0)
    )
    assert {step.state for step in scout.explore(50)} >= {1, 2}
    assert scout.end is End.OUT_OF_REACH
    assert "unit" not in scout.why()
    assert "sampled" not in scout.why()
