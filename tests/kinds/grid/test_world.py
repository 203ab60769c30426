"""The grid world of heights, for explorers and for Gymnasium."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from homeward.beliefs.corrections import Correction
from homeward.beliefs.grid_graph import NAMES
from homeward.beliefs.levels import UNKNOWN, WALL
from homeward.bonuses import NearBayesian, RMax, Uncover
from homeward.criteria import ReturnHome
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.kinds.grid.maps import HeightMap
from homeward.kinds.grid.world import (
    COLOURS,
    INK,
    PIXELS,
    UNSEEN_COLOUR,
    WALL_COLOUR,
    HeightGridEnv,
    HeightGridWorld,
)
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer

if TYPE_CHECKING:
    from homeward.bonuses import Bonus

STAY, NORTH, NORTH_EAST, EAST, SOUTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST = range(9)

STEPS = HeightMap.from_text("""
    12345
    1a#31
    11111
""")


def explore(
    grid: HeightMap,
    bonus: Bonus,
    *,
    delta: float | None = 1.0,
    stay: bool = True,
    walls: Any = "known",
    correction: Correction | None = None,
    limit: int = 400,
) -> tuple[list[int], Explorer]:
    """Explore a map; give the path and the explorer."""
    world = HeightGridWorld(grid, stay=stay)
    belief = grid.belief(walls, chance=0.0 if walls == "known" else 0.2, stay=stay)
    criteria = [] if delta is None else [ReturnHome(delta)]
    explorer = Explorer(Planner(bonus, criteria, 0.99, correction), belief, world)
    return [world.state, *(step.state for step in explorer.explore(limit))], explorer


def test_a_world_shows_what_is_around_from_the_start() -> None:
    world = HeightGridWorld(STEPS)
    seen = world.look()
    assert seen.here == world.state == 6
    assert seen.cells.tolist() == [0, 1, 2, 5, 6, 7, 10, 11, 12]
    assert seen.heights.tolist() == [1, 2, 3, 1, 1, WALL, 1, 1, 1]
    assert np.flatnonzero(world.seen).tolist() == seen.cells.tolist()
    assert not world.ended


def test_a_move_works_up_by_one_and_down_by_any() -> None:
    world = HeightGridWorld(STEPS)
    assert world.act(NORTH).here == 1
    assert world.act(EAST).here == 2
    assert world.act(EAST).here == 3
    assert world.act(EAST).here == 4
    assert world.act(SOUTH).here == 9  # from 5 down to 1
    assert world.act(NORTH).here == 9  # and not up again
    assert world.state == 9


def test_moves_too_high_into_a_wall_or_off_the_map_leave_one_where_one_is() -> None:
    world = HeightGridWorld(STEPS)
    for action in (STAY, EAST, NORTH_EAST):  # stay, the wall, from 1 up to 3
        assert world.act(action).here == 6
    corner = HeightGridWorld(HeightMap.from_text("a1"))
    for action in (NORTH, NORTH_EAST, SOUTH, SOUTH_WEST, WEST, NORTH_WEST):
        assert corner.act(action).here == 0


def test_what_was_seen_stays_seen() -> None:
    world = HeightGridWorld(STEPS)
    world.act(NORTH)
    world.act(EAST)
    world.act(WEST)
    assert np.flatnonzero(~world.seen).tolist() == [4, 9, 13, 14]
    assert not world.seen.flags.writeable


def test_without_staying_the_first_action_is_north() -> None:
    world = HeightGridWorld(STEPS, stay=False)
    assert world.moves.action_names == NAMES[1:]
    assert world.act(0).here == 1


def test_a_world_knows_who_is_stranded() -> None:
    world = HeightGridWorld(HeightMap.from_text("e11"))
    assert not world.stranded
    world.act(EAST)
    assert world.stranded


@pytest.mark.parametrize("grid", [None, "e11", HeightMap])
def test_a_grid_that_is_none_is_refused(grid: Any) -> None:
    with pytest.raises(InvalidProblemError, match="expected a HeightMap"):
        HeightGridWorld(grid)


@pytest.mark.parametrize("action", [9, -1, 1.0, None])
def test_an_action_that_is_none_is_refused(action: Any) -> None:
    with pytest.raises(InvalidProblemError, match="the action"):
        HeightGridWorld(STEPS).act(action)


@pytest.mark.parametrize("walls", [0.0, 0.2, 0.4])
@pytest.mark.parametrize("stay", [True, False])
def test_at_level_one_nobody_is_ever_stranded(walls: float, stay: bool) -> None:
    seen = []
    for seed in range(8):
        grid = HeightMap.random((6, 6), seed, walls=walls)
        path, explorer = explore(grid, Uncover(), stay=stay)
        assert not any(grid.stranded(state) for state in path)
        assert explorer.end in (End.ALL_SEEN, End.ALL_SAFE_SEEN, End.OUT_OF_REACH, End.BUDGET)
        assert not (grid.seen_from(path) & ~grid.safely_seen).any()
        seen.append(len(set(path)))
    assert max(seen) > 5


@pytest.mark.parametrize("correction", [Correction.GENERAL, Correction.MOVES])
def test_with_unknown_walls_nobody_is_ever_stranded_at_level_one(correction: Correction) -> None:
    walked = 0
    for seed in range(8):
        grid = HeightMap.random((6, 6), seed, walls=0.2)
        path, _ = explore(grid, Uncover(), walls="prior", correction=correction)
        assert not any(grid.stranded(state) for state in path)
        walked += len(path)
    assert walked > 80


def test_without_a_criterion_some_are_stranded() -> None:
    ends = []
    for seed in range(8):
        grid = HeightMap.random((6, 6), seed, walls=0.2)
        ends.append(grid.stranded(explore(grid, Uncover(), delta=None)[0][-1]))
    assert any(ends)


@pytest.mark.parametrize("delta", [1.0, None])
def test_r_max_and_near_bayesian_explorers_take_the_same_path(delta: float | None) -> None:
    for seed in range(6):
        grid = HeightMap.random((6, 6), seed, walls=0.2)
        one, first = explore(grid, RMax(), delta=delta, limit=60)
        two, second = explore(grid, NearBayesian(), delta=delta, limit=60)
        assert one == two
        assert first.end is second.end
        assert len(one) > 1 or grid.component.sum() == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"walls": 0.3, "rows": 4, "columns": 6},
        {"stay": False, "walls_known": False, "walls": 0.3},
        {"grid": "1a\n#2"},
    ],
)
def test_gymnasiums_checker_has_nothing_to_say(
    options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    check_env(gymnasium.make("homeward/HeightGrid-v0", **options).unwrapped)
    assert capsys.readouterr().err == ""


def test_a_step_pays_for_what_it_uncovers_until_all_is_seen() -> None:
    env = HeightGridEnv("a1111\n11111")
    observed, info = env.reset(seed=0)
    assert observed["state"] == 0
    assert observed["heights"].tolist() == [[1, 1, 0, 0, 0]] * 2
    assert info == {"stranded": False}
    paid = [env.step(EAST)[1:4] for _ in range(3)]
    assert paid == [(2.0, False, False), (2.0, False, False), (2.0, True, False)]


def test_an_episode_ends_though_no_wall_was_seen() -> None:
    env = HeightGridEnv("a1##", walls_known=False)
    env.reset()
    observed, _, done, _, _ = env.step(STAY)
    assert done
    assert observed["heights"].tolist() == [[1, 1, UNKNOWN, UNKNOWN]]


def test_known_walls_are_shown_from_the_start() -> None:
    shown, _ = HeightGridEnv("a11#").reset()
    assert shown["heights"].tolist() == [[1, 1, UNKNOWN, WALL]]
    hidden, _ = HeightGridEnv("a11#", walls_known=False).reset()
    assert hidden["heights"].tolist() == [[1, 1, UNKNOWN, UNKNOWN]]


def test_whoever_steps_off_the_cliff_is_told() -> None:
    env = HeightGridEnv(HeightMap.from_text("e1111"))
    env.reset()
    *_, info = env.step(np.int64(EAST))
    assert info == {"stranded": True}


def test_each_reset_draws_a_new_map_and_a_seed_the_same() -> None:
    env = HeightGridEnv(rows=5, columns=5, walls=0.2)
    env.reset(seed=1)
    first = str(env.world.grid)
    env.reset()
    assert str(env.world.grid) != first
    env.reset(seed=1)
    assert str(env.world.grid) == first


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"grid": "12"}, "no start"),
        ({"grid": 5}, "the grid is 5"),
        ({"rows": 1, "columns": 1}, "two or more"),
        ({"walls": 2.0}, "fraction of walls"),
        ({"prior": [0.1] * 10}, "10 heights"),
        ({"render_mode": "opera"}, "render_mode is 'opera'"),
    ],
)
def test_an_environment_that_is_none_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises((InvalidProblemError, InvalidFileError), match=match):
        HeightGridEnv(**options)


def pixel(picture: Any, row: int, column: int) -> str:
    """Give the colour of the upper middle of a square."""
    red, green, blue = picture[row * PIXELS + PIXELS // 3, column * PIXELS + PIXELS // 2]
    return f"#{red:02x}{green:02x}{blue:02x}"


def test_a_frame_has_the_colours_of_the_heights() -> None:
    env = HeightGridEnv("5a1\n111\n1#4", render_mode="rgb_array")
    env.reset()
    picture = env.render()
    assert picture.shape == (3 * PIXELS, 3 * PIXELS, 3)
    assert picture.dtype == np.uint8
    assert pixel(picture, 0, 0) == COLOURS[5]
    assert pixel(picture, 0, 1) == INK  # the explorer
    assert pixel(picture, 1, 1) == COLOURS[1]
    assert pixel(picture, 2, 1) == WALL_COLOUR
    assert pixel(picture, 2, 2) == UNSEEN_COLOUR


def test_higher_squares_are_larger() -> None:
    env = HeightGridEnv("1a\n35", render_mode="rgb_array")
    env.reset()
    picture = env.render()

    def area(row: int, column: int, height: int) -> int:
        square = picture[row * PIXELS :, column * PIXELS :][:PIXELS, :PIXELS]
        colour = [int(COLOURS[height][i : i + 2], 16) for i in (1, 3, 5)]
        return int((square == colour).all(axis=2).sum())

    assert area(0, 0, 1) < area(1, 0, 3) < area(1, 1, 5) < PIXELS**2


def test_the_terminal_shows_the_map_after_every_step(capsys: pytest.CaptureFixture[str]) -> None:
    def letters() -> str:
        return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)

    env = HeightGridEnv("a2#3\n11#3", render_mode="human")
    env.reset()
    assert letters() == " @ 2   · \n 1 1   · \n"
    env.step(EAST)
    assert letters() == " 1 @   · \n 1 1   · \n"
    assert env.render() is None
    assert letters() == " 1 @   · \n 1 1   · \n"


def test_text_is_what_the_terminal_would_show(capsys: pytest.CaptureFixture[str]) -> None:
    text, human = (HeightGridEnv("a2#3", render_mode=mode) for mode in ("ansi", "human"))
    text.reset()
    human.reset()
    assert capsys.readouterr().out == f"{text.render()}\n"
    assert HeightGridEnv("a2").render() is None
