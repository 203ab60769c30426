"""Promises are kept in worlds drawn from the belief, and the count that says so can fail."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from homeward.beliefs import FiniteBelief, Sensor, TerrainBelief, entropy_reduction
from homeward.beliefs.corrections import Correction
from homeward.beliefs.levels import UNKNOWN, HeightBelief, model_of_heights
from homeward.beliefs.observations import Reveal
from homeward.bonuses import Uncover
from homeward.criteria import ReturnHome
from homeward.errors import InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.referee.exact import dense_transitions, exact_recall, exact_return
from homeward.solvers import GIVE_UP
from lab.check.calibration import (
    RUN_BELIEFS,
    RUN_RULES,
    SETTINGS,
    BeliefSetting,
    BoundPlan,
    Outset,
    PlanCalibration,
    calibrate,
    calibrate_runs,
    come_home,
    examine,
    height_outset,
    is_bound,
    make_promises,
    terrain_outset,
    walk_home,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.plan import Plan

PROVEN = (Correction.GENERAL, Correction.MOVES)
GRID = BeliefSetting("grid", partial(height_outset, (5, 5)), Uncover(), 0.99)
FIELD = BeliefSetting("field", SETTINGS[2].draw, SETTINGS[2].bonus, 0.999)
MARS = BeliefSetting("Mars", SETTINGS[3].draw, SETTINGS[3].bonus, 0.999)


def plain_walk(world: Moves, out: IntArray, back: IntArray, home: int, start: int, n: int) -> bool:
    """Take every single step; the way back gets as many as would do anywhere."""
    state = start
    for _ in range(n):
        state = int(world.dest[state, out[state]]) if world.success[state, out[state]] else state
    for _ in range(world.states):
        if state != home and back[state] != GIVE_UP and world.success[state, back[state]]:
            state = int(world.dest[state, back[state]])
    return state == home


def walk(world: Moves, out: IntArray, back: IntArray, home: int, start: int, n: int) -> bool:
    at_home = np.arange(world.states) == home
    return bool(walk_home(world.dest, world.success, out, back, at_home, start, n))


@st.composite
def walks(draw: Callable[..., Any]) -> tuple[Moves, IntArray, IntArray, int, int, int]:
    """Draw a world of 0 and 1, two policies, home, start and a recall."""
    states, actions = draw(st.integers(1, 7)), draw(st.integers(1, 2))
    size = states * actions

    def several(entries: st.SearchStrategy[Any], count: int) -> Any:
        return np.array(draw(st.lists(entries, min_size=count, max_size=count)))

    dest = several(st.integers(0, states - 1), size).reshape(states, actions)
    works = several(st.sampled_from([1.0, 1.0, 0.0]), size).reshape(states, actions)
    out = several(st.integers(0, actions - 1), states).astype(np.int32)
    back = several(st.integers(GIVE_UP, actions - 1), states).astype(np.int32)
    where = st.integers(0, states - 1)
    return Moves(dest, works), out, back, draw(where), draw(where), draw(st.integers(0, 60))


@given(walks())
def test_the_walk_ends_where_single_steps_end(
    case: tuple[Moves, IntArray, IntArray, int, int, int],
) -> None:
    assert walk(*case) == plain_walk(*case)


def test_a_recall_after_1e15_steps_round_a_circle_ends_on_the_right_state() -> None:
    circle = Moves(np.array([[1], [2], [3], [1]]), np.ones((4, 1)))  # 0 → 1 → 2 → 3 → 1
    onward, nowhere = np.zeros(4, np.int32), np.full(4, GIVE_UP, np.int32)
    late = 3 * 10**15
    for home, left in ((1, 1), (2, 2), (3, 3)):
        assert walk(circle, onward, nowhere, home, 0, late + left)
        assert not walk(circle, onward, nowhere, home, 0, late + left + 1)


# Five squares in a row; the first two are seen, the other three are unknown: 125 worlds.
ROW = HeightBelief((1, 5)).update(Reveal(np.array([0, 1]), np.array([5, 4]), 0))
ROW_DISCOUNT = 0.9


def row_plan(correction: Correction) -> Plan:
    return Planner(Uncover(), [ReturnHome(0.5)], ROW_DISCOUNT, correction).plan(ROW, 0)


def row_worlds() -> Iterator[Moves]:
    """Give all worlds of the row, which are equally likely."""
    unknown = np.flatnonzero(ROW.known == UNKNOWN)
    heights = ROW.known.copy()
    for drawn in product(range(1, 6), repeat=len(unknown)):
        heights[unknown] = drawn
        yield model_of_heights(ROW.shape, heights)


def exactly(plan: Plan, world: Moves) -> FloatArray:
    """Give the exact chance [J] to come home of each outbound policy, by linear solves."""
    transitions, discount = dense_transitions(world), plan.discount
    way = exact_return(transitions, plan.return_policy, plan.criteria[0].home)
    values = [exact_recall(transitions, out, way, discount)[plan.state] for out in plan.outbound]
    return np.array(values)


def test_in_each_world_the_walks_of_all_recalls_add_up_to_the_exact_chance() -> None:
    plan = row_plan(Correction.GENERAL)
    assert is_bound(plan)
    late = np.arange(400)
    chance = (1.0 - ROW_DISCOUNT) * ROW_DISCOUNT**late  # [n] of a recall after n steps
    seen = set()
    for world in row_worlds():
        for out, exact in zip(plan.outbound, exactly(plan, world), strict=True):
            came = [walk(world, out, plan.return_policy, 0, 0, int(n)) for n in late]
            assert chance @ came == pytest.approx(exact, abs=1e-12)
            seen.add(round(exact, 9))
    # Lost after two steps or three, on one side of a circle, or never.
    assert sorted(seen) == pytest.approx([0.19, 0.271, 0.616315789, 1.0])


@pytest.mark.parametrize("correction", PROVEN)
def test_the_counted_fraction_is_the_one_found_by_enumeration(correction: Correction) -> None:
    plan = row_plan(correction)
    exact = float(np.mean([plan.weights @ exactly(plan, world) for world in row_worlds()]))
    found = calibrate([BoundPlan(ROW, plan)], 4000, np.random.default_rng(0))
    assert plan.criteria[0].corrected == pytest.approx(0.5)
    assert plan.bounds[0] == pytest.approx(exact)
    assert 0.5 < exact < 0.95
    assert found.fraction == pytest.approx(exact, abs=3.0 * np.sqrt(exact * (1 - exact) / 4000))


def edge(delta: float, discount: float = 0.99) -> BoundPlan:
    """Plan where the bound is no looser than the truth.

    A sure drop leads from home to the bottom, and two moves back up. In a quarter of the worlds the
    first of them fails, in a quarter the second, in none both: the union bound is exact.
    """
    dest = np.array([[0, 2], [1, 0], [2, 1]])  # stay or: home → bottom → ledge → home
    up = [(1.0, 1.0), (0.0, 1.0), (1.0, 0.0)]
    worlds = [Moves(dest, np.array([[1.0, 1.0], [1.0, a], [1.0, b]])) for a, b in up]
    belief = FiniteBelief(worlds, np.array([0.5, 0.25, 0.25]))
    bonus = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    planner = Planner(lambda _: bonus, [ReturnHome(delta)], discount, Correction.MOVES)
    return BoundPlan(belief, planner.plan(belief, 0))


@pytest.mark.parametrize("delta", [0.9, 0.8])
def test_where_the_bound_is_exact_the_promise_is_kept_and_only_just(delta: float) -> None:
    promise = edge(delta)
    assert is_bound(promise.plan)
    found = calibrate([promise], 5000, np.random.default_rng(1))
    assert found.fraction == pytest.approx(delta, abs=3.0 * np.sqrt(delta * (1 - delta) / 5000))
    assert found.holds
    (criterion,) = promise.plan.criteria
    more = replace(promise.plan, criteria=(replace(criterion, bound=delta + 0.03),))
    assert not calibrate([BoundPlan(promise.belief, more)], 5000, np.random.default_rng(1)).holds


@pytest.mark.parametrize(
    ("setting", "delta", "worlds"),  # as many as it takes to tell the fraction from the level
    [
        (GRID, 0.9, 500),
        (GRID, 0.8, 500),
        (FIELD, 0.98, 3000),
        (FIELD, 0.9, 2000),
        (FIELD, 0.8, 500),
        (MARS, 0.98, 3000),
        (MARS, 0.9, 2000),
    ],
    ids=lambda value: getattr(value, "title", None),
)
@pytest.mark.parametrize("correction", PROVEN)
def test_plans_that_the_level_binds_keep_it(
    setting: BeliefSetting, delta: float, worlds: int, correction: Correction
) -> None:
    promises = make_promises(setting, delta, correction, 4, np.random.default_rng(2))
    assert len({id(promise.belief) for promise in promises}) == 4
    assert all(promise.plan.multipliers[0] > 0.0 for promise in promises)
    corrected = [promise.plan.criteria[0].corrected for promise in promises]
    assert corrected == pytest.approx([delta] * 4, abs=1e-6)
    assert all(promise.plan.correction is correction for promise in promises)
    found = calibrate(promises, worlds, np.random.default_rng(3))
    assert found.holds
    assert found.lower >= delta
    assert found.home < found.worlds  # some are lost: the plans do take the risk they are allowed


@pytest.mark.parametrize("setting", [GRID, FIELD], ids=lambda s: s.title)
def test_without_a_correction_the_level_is_broken(setting: BeliefSetting) -> None:
    found = examine(setting, 0.8, Correction.NAIVE, plans=8, worlds=500, seed=0)
    assert found.bound > 0.99
    assert found.upper < 0.8
    assert not found.holds


@pytest.mark.parametrize("setting", [GRID, FIELD], ids=lambda s: s.title)
def test_a_plan_that_ignores_safety_but_claims_it_is_refuted(setting: BeliefSetting) -> None:
    reckless = []
    for belief, plan in make_promises(setting, 0.8, Correction.MOVES, 8, np.random.default_rng(4)):
        unsafe = Planner(setting.bonus, [], setting.discount).plan(belief, plan.state)
        wrong = replace(plan, weights=unsafe.weights, outbound=unsafe.outbound)
        reckless.append(BoundPlan(belief, wrong))
    found = calibrate(reckless, 500, np.random.default_rng(5))
    assert found.bound >= 0.8 - 1e-6
    assert not found.holds


def test_the_policy_is_drawn_by_its_weight() -> None:
    promise = edge(0.8)
    leaves = promise.plan.outbound[:, 0] == 1
    (good, *_), plan = promise.belief.worlds, promise.plan  # type: ignore[attr-defined]
    stuck = replace(plan.criteria[0], return_policy=np.full(3, GIVE_UP, np.int32))
    plan = replace(plan, criteria=(stuck,))
    rng = np.random.default_rng(6)
    home = np.mean([come_home(plan, good, rng) for _ in range(3000)])
    # Who does not give up where it stands has stayed, or was called back before the first step.
    expected = 1.0 - 0.99 * plan.weights[leaves].sum()
    assert 0.1 < expected < 0.9
    assert home == pytest.approx(expected, abs=0.03)


def test_half_of_the_recalls_come_before_the_first_step_at_a_discount_of_one_half() -> None:
    belief, plan = edge(0.8, discount=0.5)
    gives_up = replace(plan.criteria[0], return_policy=np.full(3, GIVE_UP, np.int32))
    leaves = plan.outbound[plan.outbound[:, 0] == 1][:1]
    plan = replace(plan, weights=np.ones(1), outbound=leaves, criteria=(gives_up,))
    found = calibrate([BoundPlan(belief, plan)], 2000, np.random.default_rng(9))
    assert found.fraction == pytest.approx(0.5, abs=0.04)


@pytest.mark.parametrize(
    ("multiplier", "bound", "binds"),
    [(2.0, 0.8, True), (2.0, 0.8 + 9e-7, True), (0.0, 0.8, False), (2.0, 0.81, False)],
)
def test_the_level_binds_where_it_costs_something_and_is_just_kept(
    multiplier: float, bound: float, binds: bool
) -> None:
    plan = edge(0.8).plan
    criterion = replace(plan.criteria[0], multiplier=multiplier, corrected=bound)
    assert is_bound(replace(plan, criteria=(criterion,))) is binds


def test_where_moves_work_by_chance_they_are_tried_again() -> None:
    belief, plan = edge(0.8)
    half = Moves(belief.mean().dest, np.array([[1.0, 1.0], [1.0, 0.5], [1.0, 0.5]]))  # type: ignore[union-attr]
    rng = np.random.default_rng(7)
    assert all(come_home(plan, half, rng) for _ in range(200))


def test_a_general_world_is_played_out_and_may_end() -> None:
    _, plan = edge(0.8)
    leaves = float(plan.weights[plan.outbound[:, 0] == 1].sum())
    rows = np.zeros((3, 2, 3))
    rows[[0, 1, 2], 0, [0, 1, 2]] = 1.0
    rows[[0, 1, 2], 1, [2, 0, 1]] = (1.0, 1.0, 0.5)  # half of those who climb are gone
    ends = SparseMDP.from_dense(rows)
    rng = np.random.default_rng(8)
    home = np.mean([come_home(plan, ends, rng) for _ in range(1500)])
    assert home == pytest.approx(1.0 - 0.99 * leaves / 2.0, abs=0.04)


@given(st.integers(1, 3000), st.data())
def test_the_limits_make_the_count_just_this_rare(trials: int, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, trials))
    found = PlanCalibration(hits, trials, 1, 0.5, 0.5)
    assert found.lower <= found.fraction <= found.upper
    if hits:
        assert binom.sf(hits - 1, trials, found.lower) == pytest.approx(0.01, rel=1e-6)
    else:
        assert found.lower == 0.0
    if hits < trials:
        assert binom.cdf(hits, trials, found.upper) == pytest.approx(0.01, rel=1e-6)
    else:
        assert found.upper == 1.0


@pytest.mark.parametrize(
    ("level", "bound", "holds"),
    [(0.9, 0.9, True), (0.97, 0.9, False), (0.9, 0.97, False)],
)
def test_both_the_level_and_the_bound_count(level: float, bound: float, holds: bool) -> None:
    assert PlanCalibration(910, 1000, 1, level, bound).holds is holds


def test_a_fraction_below_the_claim_does_not_refute_it_by_chance_alone() -> None:
    few, many = PlanCalibration(88, 100, 1, 0.9, 0.9), PlanCalibration(8_800, 10_000, 1, 0.9, 0.9)
    assert few.holds
    assert not many.holds


def test_the_same_seed_gives_the_same_count_and_the_corrections_share_their_outsets() -> None:
    setting = replace(GRID, draw=lambda rng: outsets.append(GRID.draw(rng)) or outsets[-1])  # type: ignore[func-returns-value]
    outsets: list[Outset] = []
    first = examine(setting, 0.9, Correction.MOVES, 4, 100, seed=11)
    looked = [outset.state for outset in outsets]
    outsets.clear()
    assert examine(setting, 0.9, Correction.MOVES, 4, 100, seed=11) == first
    outsets.clear()
    examine(setting, 0.9, Correction.NAIVE, 4, 100, seed=11)
    assert [outset.state for outset in outsets] == looked[:4]


def test_an_outset_has_seen_what_is_around_it() -> None:
    belief, state = height_outset((8, 8), np.random.default_rng(0))
    assert isinstance(belief, HeightBelief)
    row, column = divmod(state, 8)
    seen = belief.seen.reshape(8, 8)
    assert seen[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2].all()
    assert (belief.known == UNKNOWN).sum() > 30
    assert belief.visited[state]


def test_the_settings_are_those_of_the_paper() -> None:
    assert [setting.title.split(",")[0] for setting in SETTINGS] == [
        "heights",
        "heights",
        "terrain",
        "terrain",
        "independent",
        "correlated",
        "unmapped",
    ]
    assert all({0.98, 0.9} <= set(setting.deltas) for setting in SETTINGS[2:4])
    for setting in SETTINGS:
        rows, columns = (int(n) for n in setting.title.split(", ")[1].split(" × "))
        assert setting.draw(np.random.default_rng(0)).belief.mean().states == rows * columns


@pytest.mark.parametrize("belief", RUN_BELIEFS)
def test_what_a_run_holds_at_the_recall_is_counted(
    belief: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = calibrate_runs(belief, 0.9, 4, 0)
    assert found == calibrate_runs(belief, 0.9, 4, 0)
    assert tuple(found) == RUN_RULES
    for count in found.values():
        assert count.worlds == count.plans == 4
        assert count.level == 0.9 <= count.bound < 0.99
        assert count.holds
    monkeypatch.setattr("lab.check.calibration.held_works", lambda *_: False)
    lost = calibrate_runs(belief, 0.9, 4, 0)
    assert all(count.home == 0 and not count.holds for count in lost.values())


def test_a_run_is_recalled_while_its_way_home_looks_doubtful(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    works = iter((False, True))  # at the recall, and at the end
    chances = iter((1.0, 0.5))  # after the first and the second step
    monkeypatch.setattr("lab.check.calibration.held_chance", lambda *_: next(chances))
    monkeypatch.setattr("lab.check.calibration.held_works", lambda *_: next(works))
    found = calibrate_runs("independent", 0.9, 1, 0)
    assert [found[rule].home for rule in ("doubtful", "end")] == [0, 1]


@pytest.mark.parametrize("setting", SETTINGS[4:], ids=lambda setting: str(setting.title))
def test_moves_tell_about_heights_before_the_plan(setting: BeliefSetting) -> None:
    belief: Any = setting.draw(np.random.default_rng(0)).belief
    assert len(belief.attempts) > 0
    assert len(belief.least_blocked()[0])


def test_a_rover_has_explored_before_it_plans() -> None:
    early, late = (
        terrain_outset((24, 32), Sensor(), steps, np.random.default_rng(1)) for steps in (0, 5)
    )
    assert isinstance(early.belief, TerrainBelief)
    assert isinstance(late.belief, TerrainBelief)
    assert early.state != late.state
    assert entropy_reduction(early.belief, late.belief) > 0.0


def test_where_nothing_binds_the_study_says_so() -> None:
    flat = HeightBelief((2, 2), known=np.array([1, 1, 1, 1]))
    known = BeliefSetting("known ground", lambda _: Outset(flat, 0), Uncover(), 0.9)
    with pytest.raises(InvalidProblemError, match=r"known ground: δ = 0.9 binds 0 plans at 40"):
        make_promises(known, 0.9, Correction.MOVES, 2, np.random.default_rng(0))


def test_a_plan_without_a_way_home_is_refused() -> None:
    rng = np.random.default_rng(0)
    belief, state = GRID.draw(rng)
    unsafe = Planner(Uncover(), []).plan(belief, state)
    with pytest.raises(InvalidProblemError, match="no criterion"):
        calibrate([BoundPlan(belief, unsafe)], 10, rng)
