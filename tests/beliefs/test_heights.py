from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.conftest import tables

from homeward.arrays import FloatArray, IntArray, frozen
from homeward.beliefs import corrections_of, height_kernels
from homeward.beliefs import heights as module
from homeward.beliefs.corrections import Correction
from homeward.beliefs.grid_graph import NAMES, STEPS, grid_graph
from homeward.beliefs.heights import TerrainBelief, entropy_reduction
from homeward.beliefs.observations import Heights, Transition
from homeward.criteria import ReturnHome
from homeward.errors import ImpossibleObservationError, InvalidBeliefError, InvalidProblemError
from homeward.planning.algorithm1 import Planner
from homeward.referee.exact import dense_transitions, exact_recall, exact_return
from homeward.solvers import Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

STAY, NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(9)


def terrain(
    height: Any = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), variance: Any = 1.0, **options: Any
) -> TerrainBelief:
    """Believe in two rows of three cells, 0 1 2 and 3 4 5."""
    return TerrainBelief(
        (2, 3), np.asarray(height, float), np.broadcast_to(np.float64(variance), 6), **options
    )


def chance(belief: TerrainBelief, state: int, action: int) -> float:
    """Give the chance that a move works: that its slope is normal within the limits."""
    rows, columns = belief.shape
    down, right = STEPS[action]
    row, column = state // columns + down, state % columns + right
    inside = 0 <= row < rows and 0 <= column < columns
    there = row * columns + column if inside else state
    if there == state:
        return 1.0
    length = np.hypot(belief.size[0] * down, belief.size[1] * right)
    rise = norm(
        belief.height[there] - belief.height[state],
        np.sqrt(belief.variance[there] + belief.variance[state]),
    )
    high = length * np.tan(np.radians(belief.climb))
    low = -length * np.tan(np.radians(belief.descend))
    # The difference of the smaller tails, which keeps its digits.
    if rise.mean() < low:
        return float(rise.sf(low) - rise.sf(high))
    return float(rise.cdf(high) - rise.cdf(low))


def test_the_grid_stays_and_goes_to_eight_neighbours_by_name() -> None:
    graph = grid_graph(2, 3)
    assert graph.action_names == NAMES
    assert graph.dest[4].tolist() == [4, 1, 2, 5, 4, 4, 4, 3, 0]
    assert graph.dest[0].tolist() == [0, 0, 0, 1, 4, 3, 0, 0, 0]


def test_moving_off_the_map_stays_for_sure() -> None:
    mean = terrain().mean()
    for state, action in (
        (0, NORTH),
        (0, WEST),
        (2, EAST),
        (3, SOUTH),
        (5, SOUTH_EAST),
        (4, SOUTH),
    ):
        assert mean.dest[state, action] == state
        assert mean.success[state, action] == 1.0
        assert mean.leaving(state)[action] == 0.0


def test_staying_always_works() -> None:
    mean = terrain().mean()
    assert mean.dest[:, STAY].tolist() == [0, 1, 2, 3, 4, 5]
    assert mean.success[:, STAY].tolist() == [1.0] * 6


def test_a_grid_of_one_cell_goes_nowhere() -> None:
    mean = TerrainBelief((1, 1), np.zeros(1), np.ones(1)).mean()
    assert mean.dest.tolist() == [[0] * 9]
    assert mean.success.tolist() == [[1.0] * 9]


@given(
    st.sampled_from([(2, 3), (1, 6), (6, 1)]),
    tables(st.floats(-30.0, 30.0), 6),
    tables(st.floats(0.01, 100.0), 6),
    st.sampled_from([1.0, 20.0, (20.0, 5.0)]),
    st.sampled_from([0.0, 5.0, 30.0]),
    st.sampled_from([1.0, 45.0, 80.0]),
)
def test_a_success_is_the_chance_of_a_slope_within_the_limits(
    shape: tuple[int, int],
    height: FloatArray,
    variance: FloatArray,
    cell: float | tuple[float, float],
    climb: float,
    descend: float,
) -> None:
    belief = TerrainBelief(shape, height, variance, cell, climb, descend)
    success = belief.mean().success
    for s in range(6):
        for a in range(9):
            assert success[s, a] == pytest.approx(chance(belief, s, a), rel=1e-9, abs=1e-300)


def beside(rise: float, variance: float = 0.5, **options: Any) -> TerrainBelief:
    """Believe in two cells side by side, the second higher by a `rise` that is N(rise, 1)."""
    return TerrainBelief(
        (1, 2), np.array([0.0, rise]), np.full(2, variance), **{"cell": 10.0, **options}
    )


CLIMB, DESCENT = 10.0 * np.tan(np.radians(5.0)), 10.0 * np.tan(np.radians(45.0))


@pytest.mark.parametrize("tail", [0.5, 0.01, 1e-12, 1e-100, 1e-300])
def test_a_climb_that_is_hardly_possible_keeps_its_digits(tail: float) -> None:
    steep = CLIMB - norm.ppf(tail)  # so that the tail below the limit is just that
    assert beside(steep).mean().success[0, EAST] == pytest.approx(tail, rel=1e-9, abs=0)


@pytest.mark.parametrize("tail", [0.01, 1e-12, 1e-100])
def test_a_descent_that_is_hardly_possible_keeps_its_digits(tail: float) -> None:
    steep = -DESCENT + norm.ppf(tail)
    assert beside(steep).mean().success[0, EAST] == pytest.approx(tail, rel=1e-9, abs=0)


@pytest.mark.parametrize("tail", [0.01, 1e-12])
def test_what_hardly_ever_fails_fails_that_often(tail: float) -> None:
    shallow = CLIMB + norm.ppf(tail)
    success = beside(shallow, descend=80.0).mean().success[0, EAST]
    assert 1.0 - success == pytest.approx(tail, rel=1e-3, abs=0)


def test_up_and_down_are_not_alike() -> None:
    # Two metres up on ten are too steep, two metres down are not.
    success = beside(2.0, 1e-6).mean().success
    assert success[0, EAST] == 0.0
    assert success[1, WEST] == 1.0


def test_a_diagonal_is_longer_and_so_less_steep() -> None:
    # Both cells rise by 1 m, over 10 m and over 14 m; 5° allows 0.87 m and 1.24 m.
    belief = TerrainBelief((2, 2), np.array([0.0, 1.0, 1.0, 1.0]), np.full(4, 1e-6), 10.0)
    success = belief.mean().success[0]
    assert success[EAST] == success[SOUTH] == 0.0
    assert success[SOUTH_EAST] == 1.0


def test_the_less_is_known_of_a_way_that_is_flat_the_less_sure_it_is() -> None:
    chances = [beside(0.0, v).mean().success[0, EAST] for v in (0.01, 0.1, 1.0, 10.0)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] > 0.99
    assert chances[-1] < 0.7


def test_its_mean_is_the_average_of_its_samples() -> None:
    belief, rng = terrain((0.0, 1.0, 0.0, 2.0, 1.0, 4.0), 1.5), np.random.default_rng(0)
    draws = np.array([belief.sample(rng).success for _ in range(2000)])
    p = belief.mean().success
    spread = np.sqrt(p * (1.0 - p) / len(draws))
    assert (np.abs(draws.mean(axis=0) - p) <= 4.5 * spread + 1e-12).all()


def test_in_a_sample_every_move_works_or_does_not() -> None:
    world = terrain(variance=4.0).sample(np.random.default_rng(1))
    assert set(np.unique(world.success)) == {0.0, 1.0}
    assert world.dest.tolist() == terrain().mean().dest.tolist()


def test_the_same_seed_draws_the_same_world() -> None:
    one, two = (terrain().sample(np.random.default_rng(7)).success for _ in range(2))
    assert one.tobytes() == two.tobytes()


@settings(max_examples=30)
@given(tables(st.floats(-9.0, 9.0), 6))
def test_known_heights_decide_every_move(heights: FloatArray) -> None:
    belief = terrain()
    world = belief.model_of(heights)
    up, down = np.tan(np.radians(belief.climb)), np.tan(np.radians(belief.descend))
    for s in range(6):
        for a, step in enumerate(STEPS):
            t, length = world.dest[s, a], 20.0 * np.hypot(*step)
            slope = (heights[t] - heights[s]) / length if t != s else 0.0
            if min(abs(slope - up), abs(slope + down)) > 1e-9:
                assert world.success[s, a] == float(-down < slope < up)


@pytest.mark.parametrize("discount", [0.5, 0.99])
def test_the_corrections_are_the_closed_forms(discount: float) -> None:
    belief = terrain(variance=4.0)
    mean = belief.mean()
    p = mean.success
    moves = mean.dest != np.arange(6)[:, None]
    spread = np.where(moves, p * (1.0 - p), 0.0)
    returning, exploring = belief.move_corrections(discount)
    assert belief.correction() == pytest.approx(-2.0 * spread, abs=1e-15)
    assert returning == pytest.approx(-spread, abs=1e-15)
    assert exploring == pytest.approx(-(2.0 - discount) * spread, abs=1e-15)
    assert spread.max() > 0.1


def test_staying_and_moving_off_the_map_need_no_correction() -> None:
    belief = terrain(variance=4.0)
    still = belief.mean().dest == np.arange(6)[:, None]
    for correction in (belief.correction(), *belief.move_corrections(0.9)):
        assert not correction[:, STAY].any()
        assert not correction[still].any()


def test_it_declares_that_a_move_works_or_never_and_how_likely_it_never_does() -> None:
    belief = terrain(variance=4.0)
    mean = belief.mean()
    leads = mean.dest != np.arange(6)[:, None]
    assert corrections_of(belief, mean, 0.9).work_or_never
    expected = np.where(leads, 1.0 - mean.success, 0.0)
    assert belief.blocked_probability().tolist() == expected.tolist()


def test_it_is_planned_on_with_the_tighter_correction() -> None:
    belief = terrain()
    assert corrections_of(belief, belief.mean(), 0.9).kind is Correction.MOVES


def test_a_kalman_update_is_derived_by_hand() -> None:
    # N(4, 3) measured as 7 ± 1 (variance 1): gain ¾, so 4 + ¾·3 = 6.25 and 3·¼ = 0.75.
    belief = terrain((0.0, 4.0, 0.0, 0.0, 0.0, 0.0), 3.0)
    after = belief.update(Heights(np.array([1]), np.array([7.0]), np.array([1.0])))
    assert after.height.tolist() == [0.0, 6.25, 0.0, 0.0, 0.0, 0.0]
    assert after.variance.tolist() == [3.0, 0.75, 3.0, 3.0, 3.0, 3.0]
    assert belief.height[1] == 4.0
    assert belief.variance[1] == 3.0


def test_measurements_one_by_one_are_as_good_as_together() -> None:
    cells, heights, variances = np.array([4, 0]), np.array([2.0, -1.0]), np.array([0.5, 2.0])
    together = terrain().update(Heights(cells, heights, variances))
    apart = terrain()
    for i in range(2):
        apart = apart.update(Heights(cells[i : i + 1], heights[i : i + 1], variances[i : i + 1]))
    assert together.height == pytest.approx(apart.height, abs=1e-15)
    assert together.variance == pytest.approx(apart.variance, abs=1e-15)


def test_a_measurement_changes_the_chances_of_the_moves_there() -> None:
    belief = terrain(np.zeros(6))
    after = belief.update(Heights(np.array([1]), np.array([30.0]), np.array([1e-4])))
    before, now = belief.mean().success, after.mean().success
    assert before[0, EAST] > 0.5
    assert now[0, EAST] < 1e-3
    assert now[3, EAST] == before[3, EAST]


def test_a_measurement_that_says_nothing_teaches_nothing() -> None:
    after = terrain().update(Heights(np.array([1]), np.array([99.0]), np.array([np.inf])))
    assert after.height.tolist() == terrain().height.tolist()
    assert after.variance.tolist() == terrain().variance.tolist()


def test_what_is_expected_of_a_measurement_is_what_was_believed() -> None:
    # The posterior mean has the prior mean; its variance and the spread of it add up to the prior.
    rng, draws = np.random.default_rng(0), 4000
    truth = rng.normal(4.0, np.sqrt(3.0), draws)
    seen = rng.normal(truth, 1.0)
    belief = terrain((0.0, 4.0, 0.0, 0.0, 0.0, 0.0), 3.0)
    after = [
        belief.update(Heights(np.array([1]), seen[i : i + 1], np.ones(1))).height[1]
        for i in range(draws)
    ]
    assert np.mean(after) == pytest.approx(4.0, abs=4.0 * np.sqrt(2.25 / draws))
    assert np.var(after) + 0.75 == pytest.approx(3.0, rel=0.1)
    assert np.mean((np.array(after) - truth) ** 2) == pytest.approx(0.75, rel=0.1)


def test_its_arrays_are_read_only_before_and_after_learning() -> None:
    seen = Heights(np.array([1]), np.array([7.0]), np.array([1.0]))
    for belief in (terrain(), terrain().update(seen)):
        assert not belief.height.flags.writeable
        assert not belief.variance.flags.writeable
        assert not belief.mean().success.flags.writeable


def test_what_the_caller_writes_later_does_not_change_the_belief() -> None:
    height, variance = np.zeros(6), np.ones(6)
    belief = TerrainBelief((2, 3), height, variance)
    height[:], variance[:] = 50.0, 9.0
    assert not belief.height.any()
    assert belief.variance.tolist() == [1.0] * 6
    heights = np.zeros(6)
    world = belief.model_of(heights)
    heights[:] = np.arange(6) * 50.0
    assert world.success.tolist() == [[1.0] * 9] * 6


def test_grids_of_one_shape_share_what_is_known_of_them() -> None:
    one, two = terrain(), terrain(np.zeros(6))
    assert one.mean().dest is two.mean().dest
    assert one.mean().memo is two.mean().memo is one.sample(np.random.default_rng(0)).memo
    assert one.mean() is one.mean()
    assert one.mean().success is not two.mean().success


def test_it_is_explored_as_far_as_it_is_safe() -> None:
    # A plain beside a steep slope down, from which there is no way back up.
    height = np.array([0.0, 0.0, -10.0, 0.0, 0.0, -10.0])
    bonus = np.where(height < 0.0, 1.0, 0.0)[:, None] * np.ones(9)
    belief = terrain(height, 0.01)
    for delta, reached in ((0.95, False), (1e-3, True)):
        plan = Planner(lambda _: bonus, [ReturnHome(delta)], 0.9).plan(belief, 0)
        assert plan.status is Status.OPTIMAL
        assert plan.correction is Correction.MOVES
        assert (plan.kept_value > 0.5) == reached


def test_a_plan_comes_home_as_often_as_it_promises() -> None:
    belief = terrain((0.0, 1.0, 0.5, 2.0, 0.5, 1.5), 0.3)
    bonus = np.arange(6.0)[:, None] * np.ones(9)
    plan = Planner(lambda _: frozen(bonus), [ReturnHome(0.8)], 0.9).plan(belief, 0)
    (criterion,) = plan.criteria
    rng, home = np.random.default_rng(3), []
    for _ in range(400):
        world = dense_transitions(belief.sample(rng))
        way = exact_return(world, criterion.return_policy, criterion.home)
        each = [exact_recall(world, policy, way, 0.9)[0] for policy in plan.outbound]
        home.append(float(plan.weights @ each))
    assert criterion.bound >= 0.8 - 1e-8
    assert np.mean(home) >= criterion.bound - 4.0 * np.std(home) / np.sqrt(len(home))


def refused(match: str, **options: Any) -> None:
    with pytest.raises(InvalidBeliefError, match=match):
        TerrainBelief(**{"shape": (2, 3), "height": np.zeros(6), "variance": np.ones(6), **options})


@pytest.mark.parametrize("shape", [(0, 6), (6, 0)])
def test_a_grid_without_cells_is_refused(shape: tuple[int, int]) -> None:
    refused(f"a grid of {shape[0]} × {shape[1]} cells is empty", shape=shape)


@pytest.mark.parametrize("name", ["height", "variance"])
def test_another_number_of_cells_is_refused(name: str) -> None:
    refused(rf"the {name} has shape \(5,\), expected \(6,\)", **{name: np.ones(5)})
    refused(rf"the {name} has shape \(2, 3\), expected \(6,\)", **{name: np.ones((2, 3))})


@pytest.mark.parametrize("name", ["height", "variance"])
def test_what_is_no_number_is_refused_with_its_place(name: str) -> None:
    refused(rf"the {name} is NaN at \(2,\)", **{name: [1.0, 1.0, np.nan, 1.0, 1.0, 1.0]})
    refused(f"the {name} is not an array of numbers", **{name: ["a"] * 6})


@pytest.mark.parametrize("wrong", [0.0, -1.0])
def test_a_variance_that_is_none_is_refused_by_cell(wrong: float) -> None:
    variance = np.ones(6)
    variance[3] = wrong
    refused(f"the variance of cell 3 is {wrong:g}, expected > 0", variance=variance)


@pytest.mark.parametrize("wrong", [0.0, -20.0])
def test_cells_without_a_side_are_refused(wrong: float) -> None:
    refused(f"a cell's side is {wrong:g} m, expected > 0", cell=wrong)
    refused(f"a cell's side is {wrong:g} m, expected > 0", cell=(20.0, wrong))


@pytest.mark.parametrize("name", ["climb", "descend"])
@pytest.mark.parametrize("wrong", [-1.0, 90.0, 120.0])
def test_a_slope_that_is_none_is_refused(name: str, wrong: float) -> None:
    refused(f"{name} is {wrong:g}°, expected 0 to 90", **{name: wrong})


def test_known_heights_of_another_number_are_refused() -> None:
    with pytest.raises(InvalidBeliefError, match=r"the height has shape \(4,\), expected \(6,\)"):
        terrain().model_of(np.zeros(4))


@pytest.mark.parametrize(
    ("cells", "heights", "variances"),
    [
        ([6], [0.0], [1.0]),
        ([-1], [0.0], [1.0]),
        ([0.0], [0.0], [1.0]),
        ([0, 1], [0.0], [1.0]),
        ([0, 1], [0.0, 0.0], [1.0]),
        ([0, 0], [1.0, 2.0], [1.0, 1.0]),
        ([0], [np.inf], [1.0]),
        ([0], [0.0], [-3.0]),
        ([0], [0.0], [0.0]),
        ([[0]], [[0.0]], [[1.0]]),
    ],
)
def test_measurements_that_are_none_are_refused(cells: Any, heights: Any, variances: Any) -> None:
    with pytest.raises(InvalidBeliefError):
        terrain().update(Heights(np.array(cells), np.array(heights), np.array(variances)))


@pytest.mark.parametrize(("height", "variance"), [(np.nan, 1.0), (0.0, np.nan), (0.0, -0.5)])
def test_a_measurement_that_is_no_number_is_refused(height: float, variance: float) -> None:
    with pytest.raises(InvalidBeliefError):
        terrain().update(Heights(np.array([0]), np.array([height]), np.array([variance])))


@pytest.mark.parametrize("seen", [None, "high", (0, 1.0)])
def test_an_observation_of_another_kind_is_refused(seen: Any) -> None:
    with pytest.raises(InvalidBeliefError):
        terrain().update(seen)


@pytest.mark.parametrize("name", ["height", "variance", "cell"])
def test_what_is_infinite_is_refused(name: str) -> None:
    value: Any = np.inf if name == "cell" else np.array([1.0, np.inf, 1.0, 1.0, 1.0, 1.0])
    refused(name, **{name: value})


def test_known_heights_decide_a_slope_at_its_limit() -> None:
    world = terrain(climb=0.0).model_of(np.zeros(6))
    assert set(np.unique(world.success)) <= {0.0, 1.0}


def test_a_rectangular_cell_has_another_slope_each_way() -> None:
    # A rise of 1 m over 10 m is too steep, over 20 m (2.9°) it is not.
    belief = TerrainBelief((2, 2), np.array([0.0, 1.0, 1.0, 1.0]), np.full(4, 1e-6), (20.0, 10.0))
    success = belief.mean().success[0]
    assert belief.size == belief.cell == (20.0, 10.0)
    assert (success[EAST], success[SOUTH], success[SOUTH_EAST]) == (0.0, 1.0, 1.0)
    assert belief.model_of(belief.height).success[0].tolist() == success.tolist()
    assert terrain(cell=7).size == (7.0, 7.0)


MIDDLE = np.array([False, True, False, False, False, False])


def test_nothing_leads_into_or_out_of_a_blocked_cell_but_staying() -> None:
    belief = terrain(np.zeros(6), 0.1, blocked=MIDDLE)
    for model in (belief.mean(), belief.model_of(np.zeros(6))):
        there = model.dest == 1
        there[1] = False
        assert not model.success[there].any()
        assert not model.success[1][model.dest[1] != 1].any()
        assert model.success[1, STAY] == 1.0
        assert model.success[0, SOUTH] > 0.9
    assert not belief.mean().success.flags.writeable


def test_what_is_said_of_a_blocked_cell_is_not_looked_at() -> None:
    height = np.array([0.0, np.nan, 2.0, 3.0, 4.0, 5.0])
    variance = np.array([1.0, -np.inf, 1.0, 1.0, 1.0, 1.0])
    belief = TerrainBelief((2, 3), height, variance, blocked=MIDDLE)
    assert belief.height[1] == belief.variance[1] == 0.0
    assert belief.model_of(height).success[1, EAST] == 0.0
    belief.sample(np.random.default_rng(0))
    again = TerrainBelief((2, 3), belief.height, belief.variance, blocked=belief.blocked)
    assert again.mean().success.tobytes() == belief.mean().success.tobytes()


def test_a_blocked_cell_can_not_be_measured() -> None:
    with pytest.raises(InvalidBeliefError, match="cell s=1 is measured and blocked"):
        terrain(blocked=MIDDLE).update(Heights(np.array([0, 1]), np.zeros(2), np.ones(2)))


def test_marks_of_another_number_are_refused() -> None:
    refused("expected 6 booleans", blocked=np.zeros(5, dtype=bool))


@pytest.mark.parametrize("sides", [(20.0,), (20.0, 20.0, 20.0), ("wide", 20.0), "20"])
def test_what_is_no_cell_is_refused(sides: Any) -> None:
    refused("a cell's side", cell=sides)


@pytest.mark.parametrize(
    ("seen", "message"),
    [
        (([3, 6], [0.0, 0.0], [1.0, 1.0]), r"a measured cell is s=6, outside 0\.\.5"),
        (([3, 3], [0.0, 0.0], [1.0, 1.0]), "cell s=3 is measured twice in one observation"),
        (([3], [np.inf], [1.0]), "cell s=3 is measured at a height of inf m"),
        (([3], [np.nan], [1.0]), "cell s=3 is measured at a height of nan m"),
        (([3], [0.0], [-0.5]), "cell s=3 is measured with a variance of -0.5, expected > 0"),
        (([3], [0.0], [np.nan]), "cell s=3 is measured with a variance of nan"),
        (([3, 4], [0.0], [1.0]), r"the measured heights has shape \(1,\), expected \(2,\)"),
    ],
)
def test_a_wrong_measurement_is_named_by_its_cell(seen: Any, message: str) -> None:
    with pytest.raises(InvalidBeliefError, match=message):
        terrain().update(Heights(*(np.array(part) for part in seen)))


def test_a_refused_measurement_leaves_the_belief_as_it_was() -> None:
    belief = terrain()
    before = belief.height.tobytes(), belief.variance.tobytes()
    with pytest.raises(InvalidBeliefError):
        belief.update(Heights(np.array([0, 9]), np.array([5.0, 5.0]), np.ones(2)))
    assert (belief.height.tobytes(), belief.variance.tobytes()) == before


def test_a_measurement_much_better_than_what_was_known_keeps_its_variance() -> None:
    after = terrain(variance=1e6).update(Heights(np.array([1]), np.array([7.0]), np.array([1e-20])))
    assert after.variance[1] == pytest.approx(1e-20, rel=1e-12)
    assert after.height[1] == 7.0


@st.composite
def measurings(draw: Callable[..., Any]) -> tuple[TerrainBelief, list[tuple[Heights, bool]]]:
    """Draw a belief with blocked cells, and measurements, after some of which one looks at it."""
    shape = draw(st.sampled_from([(5, 6), (1, 30), (30, 1), (2, 15), (3, 10)]))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    blocked = rng.random(30) < draw(st.sampled_from([0.0, 0.2]))
    belief = TerrainBelief(
        shape, rng.normal(0.0, 2.0, 30), rng.uniform(0.01, 4.0, 30), (20.0, 10.0), blocked=blocked
    )
    free, steps = np.flatnonzero(~blocked), []
    for _ in range(draw(st.integers(1, 5))):
        count = min(draw(st.sampled_from([0, 1, 3, 7, 30])), len(free))
        cells = rng.choice(free, count, replace=False)
        seen = Heights(cells, rng.normal(0.0, 2.0, count), rng.uniform(0.01, 4.0, count))
        steps.append((seen, draw(st.booleans())))
    return belief, steps


def all_of(belief: TerrainBelief) -> list[bytes]:
    """Return the bytes of what a planner asks a belief."""
    arrays = [belief.height, belief.variance, belief.looked, belief.mean().success]
    arrays += [*belief.success_bounds(), *belief.least_blocked(), belief.blocked_probability()]
    return [array.tobytes() for array in [*arrays, *belief.move_corrections(0.9)]]


@given(measurings(), st.randoms(use_true_random=False))
def test_a_belief_that_learned_in_place_is_one_made_from_nothing(
    case: tuple[TerrainBelief, list[tuple[Heights, bool]]], rng: Random
) -> None:
    belief, steps = case
    truth, own = belief.sample(np.random.default_rng(rng.randrange(99))), belief.copy()
    before, state = all_of(belief), int(np.argmin(belief.blocked))
    for seen, looked in steps:
        action = rng.randrange(9)
        there = int(truth.dest[state, action]) if truth.success[state, action] > 0.0 else state
        shown, copied = [part.copy() for part in learned_of(own)], own.copy()
        with suppress(ImpossibleObservationError):  # it contradicts an earlier attempt
            observation = replace(seen, moved=Transition(state, action, there))
            after = own.update(observation)
            same, changed = own.absorb(observation)
            assert same is own
            assert all_of(own) == all_of(after) == all_of(replace(own))
            assert own.gain_left(2.0) == after.gain_left(2.0) == replace(own).gain_left(2.0)
            differs = [(x != y).any(axis=1) for x, y in zip(shown, learned_of(own), strict=True)]
            if changed is not None:
                assert set(np.flatnonzero(np.any(differs, axis=0))) <= set(changed.tolist())
            state = there
        assert all(np.array_equal(x, y) for x, y in zip(shown, learned_of(copied), strict=True))
        if looked:
            own.mean(), own.gain_left(2.0)
    assert all_of(belief) == before


def learned_of(belief: TerrainBelief) -> list[FloatArray]:
    """Return the arrays [S, A] that `absorb` speaks of."""
    return [belief.mean().success, belief.blocked_probability(), *belief.success_bounds()]


def test_what_can_not_be_learned_leaves_the_belief_as_it_was() -> None:
    belief = TerrainBelief((1, 3), np.zeros(3), np.ones(3)).update(Transition(0, EAST, 0))
    before = all_of(belief)
    seen = Heights(np.array([0]), np.array([2.0]), np.array([0.1]))
    for wrong in (
        replace(seen, moved=Transition(0, EAST, 1)),
        Heights(np.array([0, 7]), np.zeros(2), np.ones(2), moved=Transition(1, EAST, 2)),
        [seen, Transition(0, EAST, 1)],
    ):
        with pytest.raises((ImpossibleObservationError, InvalidBeliefError)):
            belief.absorb(wrong)
        assert all_of(belief) == before


def test_a_list_of_observations_is_learned_one_after_the_other() -> None:
    belief = TerrainBelief((2, 9), np.zeros(18), np.ones(18))
    belief.mean()
    first = Heights(np.array([0]), np.array([2.0]), np.array([0.1]))
    second = Heights(np.array([17]), np.array([1.0]), np.array([0.1]))
    after, changed = belief.copy().absorb([first, second])
    assert all_of(after) == all_of(belief.update(first).update(second))
    assert changed is None or {0, 17} <= set(changed.tolist())
    belief.blocked_probability()
    after, changed = belief.absorb([first, second])
    assert changed is not None
    assert sorted(changed.tolist()) == [0, 1, 7, 8, 9, 10, 16, 17]


def test_only_few_chances_are_computed_anew_after_few_measurements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    chances = height_kernels.chances

    def counted(*given: Any) -> FloatArray:
        calls.append(len(given[0]))
        return chances(*given)

    monkeypatch.setattr(height_kernels, "chances", counted)
    belief = TerrainBelief((5, 5), np.zeros(25), np.ones(25))
    belief.mean()
    assert calls == [225]
    few, changed = belief.absorb(Heights(np.arange(2), np.ones(2), np.ones(2)))
    few.mean()
    assert calls == [225, 2 * (3 + 5) - 2]
    assert changed is not None
    assert changed.tolist() == [0, 1, 2, 5, 6, 7]
    assert few.absorb(Heights(np.arange(20), np.ones(20), np.ones(20)))[1] is None
    few.mean()
    assert calls == [225, 14, 225]


def test_bounds_near_attempts_change_only_with_what_is_near(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    near_to = TerrainBelief._near_to

    def counted(belief: TerrainBelief, informative: IntArray) -> Any:
        calls.append(len(informative))
        return near_to(belief, informative)

    belief = TerrainBelief((5, 9), np.zeros(45), np.full(45, 0.25)).update(Transition(18, EAST, 19))
    belief.mean()
    for cell, move, count in [(21, None, 0), (20, None, 1), (19, None, 1), (26, (22, EAST), 1)]:
        moved = None if move is None else Transition(*move, 23)
        seen = Heights(np.array([cell]), np.array([0.3]), np.ones(1), moved=moved)
        with monkeypatch.context() as patched:
            patched.setattr(TerrainBelief, "_near_to", counted)
            calls.clear()
            belief.absorb(seen)
        assert len(calls) == count, cell
        assert all_of(belief) == all_of(replace(belief)), cell


def test_a_large_map_is_computed_in_parts_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    height, variance, blocked = rng.normal(0, 2, 600), rng.uniform(0.01, 2, 600), rng.random(600)
    given = ((20, 30), height, variance)
    whole = TerrainBelief(*given, blocked=blocked < 0.1).mean().success
    monkeypatch.setattr(module, "CHUNK", 1000)
    assert TerrainBelief(*given, blocked=blocked < 0.1).mean().success.tobytes() == whole.tobytes()


def test_a_subclass_learns_what_its_own_update_says() -> None:
    class Deaf(TerrainBelief):
        def update(self, observation: Any) -> Deaf:
            return super().update(replace(observation, heights=observation.heights + 1.0))

    seen = Heights(np.array([1]), np.array([7.0]), np.array([1.0]))
    belief = Deaf((2, 3), np.zeros(6), np.ones(6))
    after, changed = belief.absorb(seen)
    assert changed is None
    assert after.height[1] == 4.0
    assert belief.height[1] == 0.0


def test_entropy_falls_by_half_the_logarithm_of_each_variance() -> None:
    belief = terrain(variance=4.0, blocked=MIDDLE)
    after = belief.update(Heights(np.array([0, 2]), np.zeros(2), np.array([4.0, 4.0 / 3.0])))
    assert entropy_reduction(belief, after) == pytest.approx(0.5 * np.log(2.0) + 0.5 * np.log(4.0))
    assert entropy_reduction(belief, belief) == 0.0


def test_entropies_of_no_beliefs_are_not_compared() -> None:
    pairs: list[Any] = [(None, None), (terrain(), TerrainBelief), (3, terrain())]
    for pair in pairs:
        with pytest.raises(InvalidProblemError, match="expected a TerrainBelief"):
            entropy_reduction(*pair)


def test_a_source_of_random_numbers_is_needed_to_draw() -> None:
    for rng in (None, 3):
        with pytest.raises(InvalidProblemError, match="default_rng"):
            terrain().sample(rng)  # type: ignore[arg-type]


def test_entropies_of_different_cells_are_not_compared() -> None:
    for other in (terrain(), TerrainBelief((3, 2), np.zeros(6), np.ones(6), blocked=MIDDLE)):
        with pytest.raises(InvalidBeliefError, match="have different cells"):
            entropy_reduction(terrain(blocked=MIDDLE), other)
