from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.bonuses import RMax, Uncover
from homeward.criteria import ReturnHome, StayInside
from homeward.errors import InfeasibleError, InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import HeightGridWorld
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Step
from homeward.planning.paper import FRUITLESS, PaperExplorer
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.planning.plan import Plan


class Walk:
    """A world in which everything that can happen does so for sure; what can't is the end."""

    def __init__(self, model: Model, state: int = 0) -> None:
        self.model = model
        self.state = state
        self.ended = False
        self.actions: list[int] = []

    def look(self) -> Visit:
        return Visit(self.state)

    def act(self, action: int) -> Transition:
        self.actions.append(action)
        row = self.model.row(self.state, action)
        before = self.state
        if row.sum() == 0.0:
            self.ended = True
            return Transition(before, action, None)
        self.state = int(np.argmax(row))
        return Transition(before, action, self.state)


def planned(step: Step) -> Plan:
    """Return the plan of a step of Algorithm 1."""
    assert step.plan is not None
    return step.plan


def corridor(length: int) -> Moves:
    """Make a line of rooms with doors to both sides: action 0 goes back, 1 goes on."""
    rooms = np.arange(length)
    dest = np.stack([np.maximum(rooms - 1, 0), np.minimum(rooms + 1, length - 1)], axis=1)
    return Moves(dest, np.ones((length, 2)))


# Room 1 is a pit: one falls in and never gets out.
PIT = Moves(np.array([[0, 1], [1, 1]]), np.ones((2, 2)))


def explorer(
    world: Walk, belief: Any = None, planner: Planner | None = None, **options: Any
) -> PaperExplorer:
    known = FiniteBelief([world.model]) if belief is None else belief
    return PaperExplorer(
        planner or Planner(RMax(), [ReturnHome(1.0, "current")], 0.9), known, world, **options
    )


def test_it_looks_before_it_goes() -> None:
    scout = explorer(Walk(corridor(3), state=1))
    assert scout.belief.visited.tolist() == [False, True, False]
    assert scout.start == 1
    assert scout.end is None


def test_it_ends_when_nothing_is_left_to_explore() -> None:
    scout = explorer(Walk(corridor(4)))
    steps = list(scout.explore(100))
    assert [step.state for step in steps] == [1, 2, 3]
    assert scout.end is End.ALL_SEEN


def test_it_ends_when_all_that_is_safe_is_seen() -> None:
    scout = explorer(Walk(PIT))
    assert list(scout.explore(100)) == []
    assert scout.end is End.ALL_SAFE_SEEN
    assert scout.world.state == 0


def test_it_ends_when_the_safest_part_of_the_plan_is_to_wait() -> None:
    # Up is sure and the way down is there in half of the worlds: some of the plan would go up, but
    # the part that is safe enough by itself waits, and would wait for ever.
    dest = np.array([[0, 1], [1, 0]])
    blocked = np.array([[1.0, 1.0], [1.0, 0.0]])
    belief = FiniteBelief([Moves(dest, np.ones((2, 2))), Moves(dest, blocked)])
    planner = Planner(RMax(), [ReturnHome(0.9, "current")], 0.5)
    scout = explorer(Walk(belief.worlds[0]), belief, planner)
    plan = planner.plan(scout.belief, 0)
    assert plan.waits
    assert not plan.worthless
    assert list(scout.explore(5)) == []
    assert scout.end is End.ONLY_BY_CHANCE


def test_it_ends_when_it_could_only_walk_in_circles() -> None:
    # Two rooms that lead to each other, and a third that can't be reached.
    model = Moves(np.array([[1], [0], [2]]), np.ones((3, 1)))
    scout = explorer(Walk(model))
    assert [step.state for step in scout.explore(100)] == [1]
    assert scout.end is End.ALL_SAFE_SEEN


def test_without_a_criterion_it_falls_into_the_pit() -> None:
    scout = explorer(Walk(PIT), planner=Planner(RMax(), [], 0.9))
    assert [step.state for step in scout.explore(100)] == [1]
    assert scout.end is End.ALL_SEEN


def test_it_ends_when_the_world_ends_it() -> None:
    # It believes that the step leads on, and it ends the process.
    real = SparseMDP.from_dense([[[0.0, 0.0]], [[0.0, 1.0]]])
    hope = SparseMDP.from_dense([[[0.0, 0.5]], [[0.0, 1.0]]])
    scout = explorer(Walk(real), FiniteBelief([hope]), Planner(RMax(), [], 0.9))
    (step,) = scout.explore(100)
    assert step.observation == Transition(0, 0, None)
    assert scout.end is End.LOST


def test_it_ends_when_the_steps_are_used_up() -> None:
    scout = explorer(Walk(corridor(9)))
    assert [step.number for step in scout.explore(3)] == [1, 2, 3]
    assert scout.end is End.STEPS
    assert scout.steps == 3


def test_no_steps_at_all_are_used_up_at_once() -> None:
    scout = explorer(Walk(corridor(9)))
    assert list(scout.explore(0)) == []
    assert scout.end is End.STEPS


def test_a_limit_can_be_raised() -> None:
    scout = explorer(Walk(corridor(6)))
    numbers, ends = [], []
    for limit in (2, 4, 4, 100):
        numbers.append([step.number for step in scout.explore(limit)])
        ends.append(scout.end)
    assert numbers == [[1, 2], [3, 4], [], [5]]
    assert ends == [End.STEPS, End.STEPS, End.STEPS, End.ALL_SEEN]


def test_any_other_end_is_for_good() -> None:
    scout = explorer(Walk(corridor(3)))
    list(scout.explore(100))
    assert scout.end is End.ALL_SEEN
    assert list(scout.explore(1000)) == []
    assert scout.end is End.ALL_SEEN
    assert scout.steps == 2


def test_a_world_that_has_ended_is_not_acted_in_again() -> None:
    world = Walk(corridor(3))
    world.ended = True
    scout = explorer(world)
    assert list(scout.explore(100)) == []
    assert scout.end is End.LOST
    assert world.actions == []


@dataclass(frozen=True)
class Remembering(Planner):
    """A planner that remembers which last plans it was handed."""

    handed: list[Plan | None] = field(default_factory=list)

    def plan(
        self,
        belief: Any,
        state: int | str,
        start: int | str | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        self.handed.append(previous)
        return super().plan(belief, state, start, previous)


def test_each_plan_starts_from_the_last_one() -> None:
    planner = Remembering(RMax(), [ReturnHome(1.0, "current")], 0.9)
    scout = explorer(Walk(corridor(5)), planner=planner)
    steps = list(scout.explore(100))
    assert planner.handed == [None, *(step.plan for step in steps)]
    assert scout.plan is not None
    assert scout.plan is not steps[-1].plan


def test_a_last_plan_to_start_from_does_not_change_the_way() -> None:
    class Forgetful(Planner):
        def plan(
            self, belief: Any, state: int | str, start: int | str | None = None, _: Any = None
        ) -> Plan:
            return super().plan(belief, state, start)

    ways = [
        [
            s.state
            for s in explorer(
                Walk(corridor(7)), planner=kind(RMax(), [ReturnHome(1.0, "current")], 0.9)
            ).explore(99)
        ]
        for kind in (Planner, Forgetful)
    ]
    assert ways[0] == ways[1] == [1, 2, 3, 4, 5, 6]


def stuck() -> tuple[Walk, Planner]:
    """Set out from a pit, with home outside of it; there is something to see, out of reach."""
    return Walk(PIT, state=1), Planner(RMax(), [ReturnHome(0.5, home=0)], 0.9)


def test_it_ends_where_no_policy_keeps_the_level_and_the_safest_is_to_wait() -> None:
    world, planner = stuck()
    scout = explorer(world, planner=planner)
    assert list(scout.explore(100)) == []
    assert scout.end is End.INFEASIBLE


def test_a_strict_explorer_raises_and_says_where_and_how_far() -> None:
    world, planner = stuck()
    scout = explorer(world, planner=planner, strict=True)
    with pytest.raises(
        InfeasibleError,
        match=r"no action in state 1 meets return to state 0 at 0\.5 \(the safest action has 0\.0",
    ):
        next(scout.explore(100))
    assert scout.end is End.INFEASIBLE
    assert world.actions == []


# From camp to one of two huts, each of which is one of two homes; no action keeps both.
FORK = Moves(np.array([[1, 2], [1, 1], [2, 2]]), np.ones((3, 2)))
BOTH = (ReturnHome(0.4, 1), ReturnHome(0.4, 2))


def test_a_strict_explorer_raises_where_only_a_draw_would_keep_the_levels() -> None:
    world = Walk(FORK)
    scout = explorer(world, planner=Planner(RMax(), BOTH, 0.9), strict=True)
    with pytest.raises(InfeasibleError, match="no action in state 0 meets return to state 1"):
        list(scout.explore(100))
    assert scout.end is End.INFEASIBLE
    assert world.actions == []
    assert scout.plan is not None
    assert scout.plan.status is Status.OPTIMAL
    assert not scout.plan.keeps_all


def test_a_strict_explorer_says_which_criteria_conflict() -> None:
    for state, levels, said in (
        (0, (0.6, 0.7), "meets return to state 1 at 0.6 and return to state 2 at 0.7 together"),
        (1, (0.2, 0.5), "no policy meets return to state 2 at 0.5, even alone"),
    ):
        criteria = [ReturnHome(levels[0], 1), ReturnHome(levels[1], 2)]
        scout = explorer(Walk(FORK, state), planner=Planner(RMax(), criteria, 0.9), strict=True)
        with pytest.raises(InfeasibleError, match=said):
            list(scout.explore(100))


@pytest.mark.parametrize("pairs", [False, True])
def test_it_ends_where_a_step_has_led_outside_the_set_to_stay_inside(pairs: bool) -> None:
    # It believes that the ice may hold; it slides on, out of the set.
    rooms = [True, False]
    allowed = np.repeat(np.array(rooms)[:, None], 2, axis=1) if pairs else np.array(rooms)
    slides = np.array([[0, 1], [1, 1]])
    belief = FiniteBelief([Moves(slides, np.ones((2, 2)))])
    planner = Planner(RMax(), [StayInside(allowed, 0.1)], 0.9)
    scout = explorer(Walk(belief.worlds[0]), belief, planner)
    steps = list(scout.explore(10))
    assert [step.state for step in steps] == [1]
    assert scout.end is End.OUTSIDE


def test_a_start_outside_the_set_is_refused() -> None:
    planner = Planner(RMax(), [StayInside(np.array([True, False]), 0.5)], 0.9)
    scout = explorer(Walk(PIT, state=1), planner=planner)
    with pytest.raises(InvalidProblemError, match="state 1 is outside the set"):
        list(scout.explore(10))


def test_one_that_is_not_strict_goes_on_and_its_plan_says_so() -> None:
    scout = explorer(Walk(FORK), planner=Planner(RMax(), BOTH, 0.9))
    step = next(scout.explore(100))
    assert step.state in (1, 2)
    assert not planned(step).keeps_all


def test_a_strict_explorer_goes_on_while_the_level_is_kept() -> None:
    scout = explorer(Walk(corridor(4)), strict=True)
    assert len(list(scout.explore(100))) == 3


def test_a_strict_explorer_that_has_seen_everything_ends_and_does_not_raise() -> None:
    world, planner = stuck()
    seen = FiniteBelief([world.model], visited=np.ones(2, bool))
    scout = explorer(world, seen, planner, strict=True)
    assert list(scout.explore(100)) == []
    assert scout.end is End.ALL_SEEN


# Round and round in two rooms without a stay; home is a third, to which nothing leads.
ROUND = Moves(np.array([[1], [0], [2]]), np.ones((3, 1)))


def test_it_ends_where_no_policy_keeps_the_level_and_it_goes_round_in_circles() -> None:
    planner = Planner(lambda _: np.ones((3, 1)), [ReturnHome(0.5, home=2)], 0.9)
    scout = explorer(Walk(ROUND), planner=planner)
    steps = list(scout.explore(1000))
    assert scout.end is End.INFEASIBLE
    assert len(steps) == FRUITLESS + 2


def test_as_long_as_it_learns_it_goes_on_where_no_policy_keeps_the_level() -> None:
    rows = np.ones((3, 1, 3))
    rows[:2, :, 2] = 1e-9  # hardly ever home
    belief = DirichletBelief.independent(rows)
    planner = Planner(lambda _: np.ones((3, 1)), [ReturnHome(0.5, home=2)], 0.9)
    scout = explorer(Walk(ROUND), belief, planner)
    steps = list(scout.explore(FRUITLESS + 50))
    assert {planned(step).status for step in steps} == {Status.INFEASIBLE}
    assert scout.end is End.STEPS


def test_it_follows_the_safest_policy_where_none_keeps_the_level() -> None:
    # A leap home that fails half the time, or a slide into the pit: 0.9 is out of reach.
    model = SparseMDP.from_names(
        {
            "home": {"wait": "home"},
            "cliff": {"slide": "pit", "leap": {"home": 0.5, "pit": 0.5}},
            "pit": {},
        }
    )
    planner = Planner(RMax(), [ReturnHome(0.9, home=0)], 0.9)
    scout = explorer(Walk(model, state=1), planner=planner)
    first = planned(next(scout.explore(100)))
    assert first.status is Status.INFEASIBLE
    assert first.action_name(first.action) == "leap"
    assert first.bounds[0] == pytest.approx(0.1 * 0.5 + 0.9 * 0.5, abs=1e-12)


def test_it_learns_as_it_goes() -> None:
    belief = DirichletBelief.independent(np.ones((2, 1, 2)))
    world = Walk(Moves(np.array([[1], [0]]), np.ones((2, 1))))
    scout = explorer(world, belief, Planner(RMax(), [], 0.9))
    (step,) = scout.explore(100)
    assert isinstance(step, Step)
    assert scout.belief.counts.tolist() == [[1], [0]]
    assert not belief.visited.any()


def test_a_step_holds_the_plan_and_what_was_seen() -> None:
    scout = explorer(Walk(corridor(3)))
    step = next(scout.explore(100))
    assert step.decision.state == 0
    assert step.action == 1
    assert step.observation == Transition(0, 1, 1)
    assert step.state == 1


def test_home_is_set_anew_at_each_step_unless_it_is_the_start() -> None:
    for home, expected in (("current", [[0], [1], [2]]), ("start", [[0], [0], [0]])):
        planner = Planner(RMax(), [ReturnHome(1.0, home)], 0.9)
        scout = explorer(Walk(corridor(4)), planner=planner)
        homes = [planned(step).criteria[0].home.tolist() for step in scout.explore(100)]
        assert homes == expected


def test_a_pause_between_steps_changes_nothing() -> None:
    whole = [step.state for step in explorer(Walk(corridor(5))).explore(100)]
    scout = explorer(Walk(corridor(5)))
    parts = [next(scout.explore(100)).state, *(step.state for step in scout.explore(100))]
    assert parts == whole


def test_the_same_world_is_explored_the_same_way_twice() -> None:
    one, two = (list(explorer(Walk(corridor(6))).explore(100)) for _ in range(2))
    assert [planned(s).outbound.tobytes() for s in one] == [
        planned(s).outbound.tobytes() for s in two
    ]
    assert [str(s.plan) for s in one] == [str(s.plan) for s in two]


def test_a_world_that_does_what_the_belief_rules_out_refutes_it() -> None:
    belief = FiniteBelief([corridor(3)])
    jumpy = Moves(np.array([[2, 2], [2, 2], [2, 2]]), np.ones((3, 2)))
    scout = explorer(Walk(jumpy), belief)
    assert len(list(scout.explore(100))) == 1
    assert scout.end is End.REFUTED
    assert scout.why().startswith("What happened contradicts the belief")


def test_where_waiting_is_the_safest_it_goes_where_it_is_safe_enough() -> None:
    # As in test_algorithm1_action: a meadow that is safe at 0.9546, and a cliff that pays much.
    rows = np.zeros((4, 3, 4))
    rows[0, [0, 1, 2], [0, 1, 2]] = 1.0
    rows[1, :, 0], rows[1, :, 3] = 0.99, 0.01
    rows[2, :, 0], rows[2, :, 3] = 0.3, 0.7
    rows[3, :, 3] = 1.0
    worth = np.repeat(np.array([0.0, 1.0, 100.0, 0.0])[:, None], 3, axis=1)
    planner = Planner(lambda _: worth, [ReturnHome(0.95, "current")], 0.9)
    scout = explorer(Walk(SparseMDP.from_dense(rows)), planner=planner, strict=True)
    step = next(scout.explore(100))
    assert step.action == 1
    assert step.state == 1


@pytest.mark.parametrize("seed", [7, 8, 21])
def test_it_does_not_walk_about_for_nothing_where_only_a_gamble_is_left(seed: int) -> None:
    # Without a look at what the safest share is worth, it goes to and fro on these for good.
    grid = HeightMap.random((8, 8), seed, walls=0.2)
    planner = Planner(Uncover(), [ReturnHome(0.8, "current")], 0.99)
    explorer = PaperExplorer(planner, grid.belief("known"), HeightGridWorld(grid))
    for _ in explorer.explore(400):
        pass
    assert explorer.end is not End.STEPS


def test_who_keeps_nothing_safe_ends_where_the_rest_is_out_of_reach() -> None:
    grid = HeightMap.from_text("15\na5")  # nothing can be climbed, the corner is seen at once
    high = HeightMap.from_text("1151\na551")
    for world, end in ((grid, End.ALL_SEEN), (high, End.OUT_OF_REACH)):
        explorer = PaperExplorer(
            Planner(Uncover(), []), world.belief("known"), HeightGridWorld(world)
        )
        for _ in explorer.explore(20):
            pass
        assert explorer.end is end
