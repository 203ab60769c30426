"""The rover on terrain, for explorers and for Gymnasium."""

from __future__ import annotations

import re
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from homeward.beliefs import Sensor, TerrainBelief, Transition, entropy_reduction
from homeward.beliefs.covariance import Matern
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.bonuses import Information, InformationGain
from homeward.criteria import ReturnHome
from homeward.errors import InvalidBeliefError, InvalidProblemError
from homeward.kinds.rover.world import (
    FOG,
    INK,
    PIXELS,
    ROCK,
    Rover,
    RoverEnv,
    draw_heights,
    middle_of,
    true_heights,
)
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Explorer
from homeward.terrain.synthetic import draw_belief

STAY, NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(9)


def plain(
    shape: tuple[int, int] = (3, 4), blocked: tuple[int, ...] = (), **options: Any
) -> TerrainBelief:
    """Believe in flat ground, some of it blocked."""
    states = shape[0] * shape[1]
    closed = np.isin(np.arange(states), blocked)
    return TerrainBelief(shape, np.zeros(states), np.ones(states), blocked=closed, **options)


def test_it_measures_the_whole_map_the_nearer_the_better() -> None:
    truth = np.arange(12.0) / 10.0
    seen = Rover(plain(), truth, 5).look()
    assert seen.cells.tolist() == list(range(12))
    row, column = np.divmod(np.arange(12), 4)
    distance = 20.0 * np.hypot(row - 1, column - 1)
    assert seen.variances == pytest.approx(1e-6 * (distance + 1.0) ** 2)
    assert (np.abs(seen.heights - truth) < 5.0 * np.sqrt(seen.variances)).all()
    assert (seen.heights != truth).all()


def test_it_measures_what_is_in_range_and_open() -> None:
    belief = plain((3, 4), blocked=(1,), cell=(20.0, 10.0))
    world = Rover(belief, np.zeros(12), 0, Sensor(range=20.0))
    assert world.look().cells.tolist() == [0, 2, 4]  # 20 m east, 20 m south; 5 is 22 m away
    assert Rover(belief, np.zeros(12), 0, Sensor(range=0.0)).look().cells.tolist() == [0]
    assert Rover(belief, np.zeros(12), 0).look().cells.tolist() == [0, *range(2, 12)]


@given(st.integers(0, 53), st.floats(0.0, 300.0), st.integers(0, 2**32 - 1))
def test_what_is_in_reach_is_what_lies_within_the_range(
    state: int, reach: float, seed: int
) -> None:
    closed = np.random.default_rng(seed).random(54) < 0.3
    closed[state] = False
    belief = plain((6, 9), tuple(np.flatnonzero(closed)), cell=(20.0, 7.0))
    row, column = np.divmod(np.arange(54), 9)
    distance = np.hypot(20.0 * (row - state // 9), 7.0 * (column - state % 9))
    seen = Rover(belief, np.zeros(54), state, Sensor(reach)).look()
    if np.abs(distance - reach).min() > 1e-9:
        assert seen.cells.tolist() == np.flatnonzero((distance <= reach) & ~closed).tolist()


@given(st.integers(0, 2**32 - 1), st.sampled_from(["independent", "correlated"]))
def test_which_cells_it_measures_tells_nothing_about_true_heights(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    blocked, height = rng.random(30) < 0.1, rng.normal(0.0, 2.0, 30)
    belief: TerrainBelief | CorrelatedTerrainBelief
    if kind == "independent":
        belief = TerrainBelief((5, 6), height, np.ones(30), climb=80.0, blocked=blocked)
    else:
        belief = CorrelatedTerrainBelief((5, 6), Matern(1.0, 40.0), height, blocked=blocked)
    start, sensor = middle_of(belief), Sensor(range=70.0, mast=1.0)
    first, other = (Rover(belief, draw_heights(belief, k), start, sensor) for k in (1, 2))
    assert first.look().cells.tolist() == other.look().cells.tolist()
    for action in rng.integers(9, size=8):
        before, seen = first.state, first.act(int(action))
        other.state = before
        again = other.act(int(action))
        if first.state == other.state:
            assert seen.cells.tolist() == again.cells.tolist()


def test_it_measures_the_cells_that_a_plan_expects_it_to_see() -> None:
    rng = np.random.default_rng(5)
    belief = TerrainBelief((7, 8), rng.normal(0.0, 3.0, 56), np.ones(56), climb=85.0, descend=85.0)
    sensor = Sensor(range=100.0, mast=1.0)
    world = Rover(belief, draw_heights(belief, 5), 20, sensor, seed=5)
    belief = belief.update(world.look())
    hidden = 0
    for action in (EAST, SOUTH, WEST, WEST, NORTH, NORTH):
        expected = InformationGain(sensor)(belief)[:, 0]
        seen = world.act(action)
        after = belief.update(seen)
        if not belief.looked[world.state]:
            gained = entropy_reduction(belief, after)
            assert gained == pytest.approx(expected[world.state], rel=1e-9)
        hidden += len(world.in_range()[0]) - len(seen.cells)
        belief = after
    assert hidden > 20


def test_hills_of_the_terrain_model_hide_cells_and_true_hills_do_not() -> None:
    model, truth = np.array([0.0, 5.0, 0.0, 0.0]), np.array([0.0, 0.0, 9.0, 0.0])
    belief = TerrainBelief((1, 4), model, np.ones(4))
    assert Rover(belief, truth, 0, Sensor(mast=2.0)).look().cells.tolist() == [0, 1]
    assert Rover(belief, truth, 0).look().cells.tolist() == [0, 1, 2, 3]


def test_its_errors_are_as_large_as_they_are_said_to_be() -> None:
    belief = plain((40, 50))
    seen = Rover(belief, np.zeros(2000), 7, seed=3).look()
    scaled = seen.heights / np.sqrt(seen.variances)
    assert scaled.mean() == pytest.approx(0.0, abs=0.1)
    assert scaled.std() == pytest.approx(1.0, abs=0.07)


def test_a_step_has_its_own_errors_whatever_came_before() -> None:
    ways = [(EAST, WEST, SOUTH), (STAY, STAY, SOUTH), (SOUTH, STAY, STAY)]
    ends = []
    for way in ways:
        world = Rover(plain(), np.zeros(12), 5, seed=9)
        for action in way:
            seen = world.act(action)
        assert world.state == 9
        ends.append(seen.heights.tobytes())
        assert world.look().heights.tobytes() == seen.heights.tobytes()
    assert len(set(ends)) == 1


def test_each_step_and_each_seed_has_other_errors() -> None:
    world = Rover(plain(), np.zeros(12), 5, seed=9)
    heights = [world.look().heights, world.act(STAY).heights, world.act(STAY).heights]
    heights += [Rover(plain(), np.zeros(12), 5, seed=10).look().heights]
    assert len({h.tobytes() for h in heights}) == 4
    assert np.abs(np.asarray(np.corrcoef(heights))[np.triu_indices(4, 1)]).max() < 0.9


def test_a_move_works_within_the_true_slopes_only() -> None:
    # One metre up on 20 m is 2.9°, two are 5.7°; 19 down are fine, 21 are not.
    truth = np.array([0.0, 1.0, 3.0, -16.0, -37.5])
    world = Rover(plain((1, 5)), truth, 0)
    assert world.moves.success[[0, 1, 2, 3], EAST].tolist() == [1.0, 0.0, 1.0, 0.0]
    world.act(EAST)
    assert world.state == 1
    assert world.position == (0, 1)
    world.act(EAST)
    assert world.state == 1
    assert world.steps == 2
    assert not world.ended


def test_it_does_not_enter_what_is_blocked_nor_leave_the_map() -> None:
    world = Rover(plain((1, 3), blocked=(1,)), np.array([0.0, np.nan, 0.0]), 0)
    for action in (EAST, WEST, NORTH, STAY):
        world.act(action)
        assert world.state == 0


def test_whoever_went_down_too_far_is_stranded() -> None:
    world = Rover(plain((1, 4)), np.array([3.0, 3.0, 0.0, 0.0]), 0)
    assert not world.stranded
    world.act(EAST)
    assert not world.stranded
    world.act(EAST)
    assert world.stranded
    assert world.way_back.tolist() == [True, True, False, False]


@given(st.integers(0, 2**32 - 1))
def test_a_way_back_is_what_a_search_over_true_moves_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = plain((5, 6), tuple(np.flatnonzero(rng.random(30) < 0.2)))
    start = middle_of(belief)
    world = Rover(belief, rng.normal(0.0, 2.0, 30), start)
    found, before = {start}, set[int]()
    while found != before:
        before = set(found)
        for s in range(30):
            works = world.moves.success[s] == 1.0
            if set(world.moves.dest[s][works].tolist()) & before:
                found.add(s)
    assert np.flatnonzero(world.way_back).tolist() == sorted(found)


def test_true_heights_are_the_terrain_model_plus_its_own_error() -> None:
    centre = np.arange(20_000.0).reshape(100, 200)
    truth = true_heights(centre, 2.0**-4, 5)
    assert truth.shape == (20_000,)
    error = truth - centre.ravel()
    assert error.mean() == pytest.approx(0.0, abs=0.01)
    assert error.var() == pytest.approx(2.0**-4, rel=0.05)
    assert true_heights(centre, 2.0**-4, 5).tobytes() == truth.tobytes()
    assert true_heights(centre, 2.0**-4, 6).tobytes() != truth.tobytes()
    assert true_heights(centre, 0.0, 5).tolist() == centre.ravel().tolist()
    assert np.isnan(true_heights([[np.nan, 1.0]], 1.0, 0)).tolist() == [True, False]


def test_heights_drawn_from_a_belief_are_spread_as_it_says() -> None:
    belief = draw_belief((60, 80), np.random.default_rng(0))
    drawn = draw_heights(belief, 4)
    scaled = (drawn - belief.height) / np.sqrt(belief.variance)
    assert scaled.mean() == pytest.approx(0.0, abs=0.06)
    assert scaled.std() == pytest.approx(1.0, abs=0.05)
    assert drawn.tobytes() == draw_heights(belief, 4).tobytes() != draw_heights(belief, 5).tobytes()


def test_what_is_drawn_for_different_ends_is_not_the_same() -> None:
    belief = plain((30, 40))
    looked = Rover(belief, np.zeros(1200), 0, seed=8).look()
    draws = (
        true_heights(np.zeros(1200), 1.0, 8),
        draw_heights(belief, 8),
        looked.heights / np.sqrt(looked.variances),
    )
    assert np.abs(np.asarray(np.corrcoef(draws))[np.triu_indices(3, 1)]).max() < 0.2


def test_an_explorer_learns_from_it_and_comes_home() -> None:
    belief = draw_belief((10, 14), np.random.default_rng(2))
    world = Rover(belief, draw_heights(belief, 1), middle_of(belief), seed=1)
    explorer = Explorer(Planner(InformationGain(), [ReturnHome(0.98)], 0.999), belief, world)
    path = [step.state for step in explorer.explore(25)]
    assert len(set(path)) > 3
    assert isinstance(explorer.belief, TerrainBelief)
    assert entropy_reduction(belief, explorer.belief) > 100.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"belief": None}, "the belief is None"),
        ({"truth": np.zeros(5)}, r"the true height has shape \(5,\)"),
        ({"truth": np.full(12, np.nan)}, "the height is NaN at"),
        ({"state": 12}, "the start is 12"),
        ({"state": 1}, "starts in cell s=1, which is blocked"),
        ({"sensor": 200.0}, "the sensor is 200.0"),
        ({"seed": -1}, "the seed is -1"),
    ],
)
def test_a_world_that_is_none_is_refused(wrong: dict[str, Any], message: str) -> None:
    given_: dict[str, Any] = {"belief": plain(blocked=(1,)), "truth": np.zeros(12), "state": 0}
    with pytest.raises((InvalidProblemError, InvalidBeliefError), match=message):
        Rover(**{**given_, **wrong})


@pytest.mark.parametrize("action", [9, -1, 1.0, None])
def test_an_action_that_is_none_is_refused(action: Any) -> None:
    with pytest.raises(InvalidProblemError, match="the action"):
        Rover(plain(), np.zeros(12), 0).act(action)


@pytest.mark.parametrize("action", [9, "NN", None, 1.5, np.array([1, 2])])
def test_an_environment_refuses_what_is_not_an_action(action: Any) -> None:
    env = RoverEnv()
    with pytest.raises(InvalidProblemError, match=r"the action is .*(8|outside)"):
        env.step(action)
    env.step(np.array(1))  # type: ignore[arg-type]


def test_an_error_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidProblemError, match="the error's variance is -1"):
        true_heights(np.zeros((2, 2)), -1.0, 0)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rows": 4, "columns": 6, "sensor": Sensor(60.0)},
        {"belief": plain(blocked=(1, 6)), "start": 3},
        {"belief": plain(), "truth": np.zeros(12)},
    ],
)
def test_gymnasiums_checker_has_nothing_to_say(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_env(gymnasium.make("homeward/Rover-v0", **options).unwrapped)
    assert capsys.readouterr().err == ""


def test_a_step_pays_for_the_entropy_that_it_takes_off() -> None:
    belief = plain()
    env = RoverEnv(belief, np.zeros(12), start=0)
    observed, info = env.reset(seed=0)
    assert info == {"stranded": False}
    before = observed["deviation"]
    observed, reward, ended, cut, _ = env.step(np.int64(EAST))
    assert observed["state"] == 1
    assert not ended
    assert not cut
    assert reward == pytest.approx(np.log(before / observed["deviation"]).sum())
    assert reward > 1.0


def test_whoever_drives_off_the_cliff_is_told() -> None:
    env = RoverEnv(plain((1, 3)), np.array([9.0, 0.0, 0.0]), start=0)
    env.reset()
    *_, info = env.step(EAST)
    assert info == {"stranded": True}


def test_each_reset_draws_new_ground_and_a_seed_the_same() -> None:
    env = RoverEnv(rows=5, columns=6)
    first = env.reset(seed=1)[0]["heights"]
    truth = env.world.truth
    assert env.reset()[0]["heights"].tolist() != first.tolist()
    assert env.reset(seed=1)[0]["heights"].tolist() == first.tolist()
    assert env.world.truth.tolist() == truth.tolist()


def test_the_start_is_the_open_cell_nearest_to_the_middle() -> None:
    assert middle_of(plain((3, 5))) == 7
    assert middle_of(plain((3, 5), blocked=(7,), cell=(20.0, 10.0))) == 6
    with pytest.raises(InvalidProblemError, match="every cell is blocked"):
        middle_of(plain((1, 2), blocked=(0, 1)))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"truth": np.zeros(4)}, "without a belief"),
        ({"belief": 5}, "the belief is 5"),
        ({"belief": plain(), "start": 99}, "the start is 99"),
        ({"belief": plain(), "truth": np.zeros(4)}, "the true height has shape"),
        ({"belief": TerrainBelief((1, 2), np.full(2, 2e5), np.ones(2))}, "beyond 100000 m"),
        ({"rows": 1}, "the number of rows is 1"),
        ({"render_mode": "opera"}, "render_mode is 'opera'"),
    ],
)
def test_an_environment_that_is_none_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        RoverEnv(**options)


def pixel(picture: Any, row: int, column: int) -> tuple[int, ...]:
    """Give the colour of the middle of a cell."""
    return tuple(picture[row * PIXELS + PIXELS // 2, column * PIXELS + PIXELS // 2].tolist())


def test_a_frame_shows_the_rover_the_rock_and_the_fog() -> None:
    belief = plain((2, 20), blocked=(2,))
    env = RoverEnv(
        belief, np.zeros(40), start=0, sensor=Sensor(range=100.0), render_mode="rgb_array"
    )
    env.reset()
    picture = env.render()
    assert picture.shape == (2 * PIXELS, 20 * PIXELS, 3)
    assert picture.dtype == np.uint8
    assert pixel(picture, 0, 0) == INK
    assert pixel(picture, 0, 2) == ROCK
    fog = [np.abs(np.subtract(pixel(picture, 1, c), FOG)).sum() for c in (0, 19)]
    assert fog[1] < fog[0] / 3


def test_the_terminal_shows_the_map_after_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    def letters() -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)

    env = RoverEnv(plain((1, 3)), np.zeros(3), start=0, render_mode="human")
    env.reset()
    assert letters() == " @     \n"
    env.step(EAST)
    assert letters() == "   @   \n"
    text = RoverEnv(plain((1, 3)), np.zeros(3), start=0, render_mode="ansi")
    text.reset()
    assert re.sub(r"\x1b\[[0-9;]*m", "", text.render()) == " @     "
    assert RoverEnv(plain((1, 3))).render() is None


def test_an_action_tells_whether_it_moved_and_a_look_does_not() -> None:
    rover = Rover(plain(), np.arange(12.0), 5, Sensor(0.0))
    assert rover.look().moved is None
    assert rover.act(EAST).moved == Transition(5, EAST, 6)
    assert rover.act(SOUTH).moved == Transition(6, SOUTH, 6)  # 4 m up
    assert rover.act(STAY).moved == Transition(6, STAY, 6)


def test_a_rover_that_sees_no_neighbour_knows_a_move_that_failed() -> None:
    """The story of a rover that went on trying a diagonal that it could not see was too steep."""
    truth = np.zeros(12)
    truth[10] = 9.0
    belief = plain()
    rover = Rover(belief, truth, 5, Sensor(0.0))
    belief = belief.update(rover.look())
    assert 0.0 < belief.mean().success[5, SOUTH_EAST] < 1.0
    belief = belief.update(rover.act(SOUTH_EAST))
    assert rover.state == 5
    assert belief.mean().success[5, SOUTH_EAST] == 0.0
    assert belief.blocked_probability()[5, SOUTH_EAST] == 1.0
    assert belief.height[10] == 0.0  # it was not measured
    for _ in range(3):
        belief = belief.update(rover.act(STAY))
        assert belief.mean().success[5, SOUTH_EAST] == 0.0
    rover.act(SOUTH)
    belief = belief.update(rover.look())
    assert belief.mean().success[9, EAST] < 0.1  # the cell is high, so from beside it as well


@pytest.mark.parametrize("reach", [0.0, 20.0])
def test_an_explorer_tries_what_fails_once(reach: float) -> None:
    failed = []
    for seed in range(8):
        height = np.random.default_rng(seed).normal(0.0, 2.0, 25)
        belief = TerrainBelief((5, 5), height, np.ones(25))
        rover = Rover(belief, draw_heights(belief, seed), 12, Sensor(reach))
        explorer = Explorer(Planner(Information(Sensor(reach)), ()), belief, rover)
        for step in explorer.explore(40):
            move = step.decision.state, step.action
            if step.state == step.decision.state != rover.moves.dest[move]:
                failed.append((seed, *move))
    assert failed
    assert len(failed) == len(set(failed))


def test_the_environment_learns_from_moves() -> None:
    truth = np.zeros(12)
    truth[6] = 9.0
    env = RoverEnv(plain(), truth, start=5, sensor=Sensor(0.0))
    env.reset(seed=0)
    env.step(EAST)
    assert env.belief.mean().success[5, EAST] == 0.0
