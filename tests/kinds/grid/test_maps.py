"""Maps of heights: written, drawn, and what is true on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.beliefs import Reveal
from homeward.beliefs.levels import UNKNOWN, WALL
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.kinds.grid.maps import HeightMap

if TYPE_CHECKING:
    from homeward.models import Moves

CLIFF = HeightMap.from_text("""
    55555
    5e#12
    55211
""")
"""The start is on a plateau; what lies below it on the right has no ramp back up."""


def reachable(moves: Moves, start: int) -> set[int]:
    """Give the states that moves lead to, by plain search."""
    found, front = {start}, [start]
    while front:
        s = front.pop()
        for t in moves.dest[s][moves.success[s] == 1.0].tolist():
            if t not in found:
                found.add(t)
                front.append(t)
    return found


@st.composite
def maps(draw: st.DrawFn) -> HeightMap:
    rows, columns = draw(st.sampled_from([(1, 2), (2, 1), (2, 3), (4, 4), (3, 6)]))
    return HeightMap.random(
        (rows, columns), draw(st.integers(0, 999)), walls=draw(st.sampled_from([0.0, 0.3, 0.6]))
    )


def test_a_written_map_is_read_row_by_row() -> None:
    grid = HeightMap.from_text("11#\n5b2")
    assert grid.heights.tolist() == [[1, 1, WALL], [5, 2, 2]]
    assert grid.start == 4
    assert grid.shape == (2, 3)
    assert grid.states == 6
    assert grid.walls.tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize(("letter", "height"), list(zip("abcde", range(1, 6), strict=True)))
def test_the_letter_of_the_start_says_its_height(letter: str, height: int) -> None:
    assert HeightMap.from_text(f"3{letter}").heights.tolist() == [[3, height]]


def test_space_around_a_map_does_not_count() -> None:
    assert str(HeightMap.from_text("\n\n  12 \n  #c\n\n")) == "12\n#c"


@given(maps())
def test_a_map_that_is_written_is_read_as_it_was(grid: HeightMap) -> None:
    again = HeightMap.from_text(str(grid))
    assert np.array_equal(again.heights, grid.heights)
    assert again.start == grid.start


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "empty"),
        ("  \n \n", "empty"),
        ("12\n3", "line 2, column 2: the row has 1 squares, the first has 2"),
        ("12\n1a3", "line 2, column 3: the row has 3 squares, the first has 2"),
        ("1a\n\n12", "line 2, column 1: the row has 0 squares"),
        ("12\n1x", "line 2, column 2: 'x' is neither"),
        ("\n   12\n   1f", "line 3, column 5: 'f' is neither"),
        ("16\n1a", "line 1, column 2: '6' is neither"),
        ("0a", "line 1, column 1: '0'"),
        ("1 a", "line 1, column 2: ' '"),
        ("²a", "line 1, column 1: '²'"),
        ("12\n34", "lines 1 to 2: no start"),
        ("##\n##", "no start"),
        ("a1\n1b", "line 2, column 2: a second start 'b'"),
        ("c", "line 1, column 1: a map of one square"),
    ],
)
def test_a_bad_map_is_refused_with_line_and_column(text: str, match: str) -> None:
    with pytest.raises(InvalidFileError, match=match):
        HeightMap.from_text(text)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="expected text"):
        HeightMap.from_text(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("heights", "start", "match"),
    [
        ([[1]], 0, "1 × 1 squares, expected two or more"),
        (np.zeros((0, 3), int), 0, "0 × 3 squares"),
        ([1, 2, 3], 0, r"shape \(3,\), expected \[r, c\]"),
        ([[1, 2], [3]], 0, "not an array"),
        ([[1, 10]], 0, r"\(r=0, c=1\) is 10, outside -1..9"),
        ([[1], [0]], 0, r"\(r=1, c=0\) is 0"),
        ([[1.0, 2.0]], 0, "whole numbers"),
        ([[1, WALL]], 1, "the start s=1 is a wall"),
        ([[1, 2]], 2, "the start is 2, outside 0..1"),
        ([[1, 2]], -1, "the start is -1"),
        ([[1, 2]], 0.0, "the start is 0.0"),
    ],
)
def test_a_map_that_is_none_is_refused(heights: Any, start: Any, match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        HeightMap(heights, start)


def test_a_map_keeps_what_it_was_given() -> None:
    heights = np.array([[1, 2], [3, 4]])
    grid = HeightMap(heights, 0)
    heights[:] = 5
    assert grid.heights.tolist() == [[1, 2], [3, 4]]
    assert not grid.heights.flags.writeable


def test_one_seed_draws_one_map() -> None:
    one, two = (HeightMap.random((5, 7), 3, walls=0.3) for _ in range(2))
    assert str(one) == str(two)
    assert str(one) != str(HeightMap.random((5, 7), 4, walls=0.3))
    assert str(one) == str(HeightMap.random((5, 7), np.random.default_rng(3), walls=0.3))


@given(st.integers(0, 999))
def test_more_walls_are_added_to_the_fewer(seed: int) -> None:
    few, many = (HeightMap.random((4, 5), seed, walls=w) for w in (0.2, 0.6))
    assert few.start == many.start
    assert not (few.walls & ~many.walls).any()
    free = ~many.walls
    assert np.array_equal(few.heights.ravel()[free], many.heights.ravel()[free])


def test_walls_are_as_many_as_asked_for_and_heights_alike() -> None:
    grid = HeightMap.random((100, 100), 0, walls=0.4)
    assert grid.walls.mean() == pytest.approx(0.4, abs=0.02)
    shares = np.bincount(grid.heights[grid.heights != WALL], minlength=6)[1:] / (~grid.walls).sum()
    assert shares == pytest.approx(np.full(5, 0.2), abs=0.03)


def test_heights_follow_their_prior() -> None:
    grid = HeightMap.random((20, 20), 0, prior=[0.0, 0.5, 0.0, 0.5, 0.0])
    assert set(np.unique(grid.heights).tolist()) == {2, 4}


def test_the_start_is_never_a_wall_and_anywhere_or_where_it_is_wanted() -> None:
    starts = {HeightMap.random((2, 2), seed, walls=1.0).start for seed in range(60)}
    assert starts == {0, 1, 2, 3}
    grid = HeightMap.random((3, 3), 0, walls=1.0, start=4)
    assert grid.start == 4
    assert np.flatnonzero(~grid.walls).tolist() == [4]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"shape": (1, 1)}, "expected two or more"),
        ({"shape": (0, 5)}, "a grid of 0 × 5"),
        ({"shape": 5}, "the shape is 5"),
        ({"seed": -1}, "the seed is -1"),
        ({"seed": "x"}, "the seed is 'x'"),
        ({"walls": 1.2}, "the fraction of walls is 1.2"),
        ({"walls": None}, "the fraction of walls is None"),
        ({"prior": [0.1] * 10}, "the prior has 10 heights, expected 9 at most"),
        ({"prior": [0.5, 0.5, 0.2, 0.0, 0.0]}, "sums to 1.2"),
        ({"start": 9}, "the start is 9, outside 0..8"),
    ],
)
def test_a_map_that_can_not_be_drawn_is_refused(options: Any, match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        HeightMap.random(**{"shape": (3, 3), "seed": 0, **options})


def test_from_a_square_one_sees_it_and_its_neighbours() -> None:
    assert CLIFF.around(6).tolist() == [0, 1, 2, 5, 6, 7, 10, 11, 12]
    assert CLIFF.around(0).tolist() == [0, 1, 5, 6]
    assert CLIFF.around(14).tolist() == [8, 9, 13, 14]
    with pytest.raises(InvalidProblemError, match="the state is 15"):
        CLIFF.around(15)


def test_seen_from_several_squares_is_what_any_of_them_shows() -> None:
    seen = CLIFF.seen_from([0, 14])
    assert np.flatnonzero(seen).tolist() == [0, 1, 5, 6, 8, 9, 13, 14]
    assert not CLIFF.seen_from([]).any()


@given(maps(), st.booleans())
def test_in_the_true_world_one_climbs_by_one_at_most(grid: HeightMap, stay: bool) -> None:
    moves = grid.moves(stay)
    heights = grid.heights.ravel()
    for s in range(grid.states):
        for a in range(stay, moves.actions):
            t = int(moves.dest[s, a])
            allowed = t != s and WALL not in (heights[s], heights[t])
            assert moves.success[s, a] == float(allowed and heights[t] <= heights[s] + 1)


@given(maps())
def test_the_component_is_where_one_can_go_and_come_back_from(grid: HeightMap) -> None:
    moves = grid.moves()
    reach = [reachable(moves, s) for s in range(grid.states)]
    back = [grid.start in reach[s] for s in range(grid.states)]
    both = [back[s] and s in reach[grid.start] for s in range(grid.states)]
    assert grid.way_back.tolist() == back
    assert grid.component.tolist() == both
    assert [grid.stranded(s) for s in range(grid.states)] == [not b for b in back]
    seen = grid.seen_from(s for s in range(grid.states) if both[s])
    assert np.array_equal(grid.safely_seen, seen)


def test_below_a_cliff_one_is_stranded() -> None:
    assert np.flatnonzero(CLIFF.component).tolist() == [0, 1, 2, 3, 4, 5, 6, 10, 11]
    assert CLIFF.stranded(8)
    assert not CLIFF.stranded(4)
    # From the plateau all is seen but the corner below.
    assert np.flatnonzero(~CLIFF.safely_seen).tolist() == [13, 14]


def test_what_is_believed_first_knows_the_walls_or_their_chance() -> None:
    known = CLIFF.belief()
    assert np.flatnonzero(known.known == WALL).tolist() == [7]
    assert np.flatnonzero(known.known == UNKNOWN).size == 14
    assert np.flatnonzero(known.walls).tolist() == [7]
    unsure = CLIFF.belief("prior", chance=0.2, stay=False)
    assert (unsure.known == UNKNOWN).all()
    assert np.asarray(unsure.walls).tolist() == [0.2] * 15
    assert unsure.mean().actions == 8
    assert unsure.update(Reveal(np.array([7]), np.array([WALL]))).known[7] == WALL


def test_what_is_believed_first_can_have_its_own_prior() -> None:
    belief = CLIFF.belief(prior=[0.0, 0.0, 0.0, 0.0, 1.0])
    assert belief.mean().success[0, 3] == 1.0


@pytest.mark.parametrize(
    ("walls", "chance", "match"),
    [
        ("hidden", 0.0, "walls is 'hidden'"),
        ("prior", 0.0, "the chance must be above 0"),
        ("known", 0.2, "and 0 for walls 'known'"),
        ("prior", "x", "expected a number"),
    ],
)
def test_a_belief_that_is_none_is_refused(walls: Any, chance: Any, match: str) -> None:
    with pytest.raises(InvalidProblemError, match=match):
        CLIFF.belief(walls, chance=chance)


def test_a_map_may_have_nine_levels_and_a_climb_of_its_own() -> None:
    grid = HeightMap.from_text("19\n6c", levels=9, climb=3)
    assert (grid.heights.tolist(), grid.climb, str(grid)) == ([[1, 9], [6, 3]], 3, "19\n6c")
    assert grid.moves().success[3, 7] == 1.0  # west, from 3 to 6
    assert HeightMap.from_text("19\n6c", levels=9).moves().success[3, 7] == 0.0
    belief = grid.belief(prior=np.full(9, 1 / 9))
    assert (belief.climb, belief.tables.mass.shape) == (3, (1, 9))
    with pytest.raises(InvalidProblemError, match="the map has height 9, but the prior has 5"):
        grid.belief()


def test_a_drawn_map_has_the_levels_of_its_prior() -> None:
    grid = HeightMap.random((9, 9), 0, prior=np.full(7, 1 / 7), climb=2)
    assert (grid.heights.min(), grid.heights.max(), grid.climb) == (1, 7, 2)
