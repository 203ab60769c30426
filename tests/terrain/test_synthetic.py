from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from homeward.errors import InvalidInputError
from homeward.terrain import synthetic, synthetic_mars, to_cells
from homeward.terrain.synthetic import draw_belief, draw_relief

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray


def roaming(heights: FloatArray, side: float) -> tuple[BoolArray, BoolArray]:
    """Tell where a rover that climbs 5° and descends 45° can roam, and where it gets stuck."""
    rows, columns = heights.shape
    states = np.arange(heights.size).reshape(rows, columns)
    edges = []
    for down, across in ((0, 1), (1, 0), (1, 1), (1, -1)):
        west = slice(max(0, -across), columns - max(0, across))
        east = slice(max(0, across), columns - max(0, -across))
        here, there = np.s_[: rows - down, west], np.s_[down:, east]
        slope = np.degrees(
            np.arctan2(heights[there] - heights[here], side * math.hypot(down, across))
        )
        for sign, one, two in ((1, here, there), (-1, there, here)):
            works = (sign * slope >= -45) & (sign * slope <= 5)
            edges.append((states[one][works], states[two][works]))
    ends = tuple(np.concatenate(part) for part in zip(*edges, strict=True))
    graph = csr_array((np.ones(len(ends[0])), ends), shape=(heights.size, heights.size))
    _, labels = connected_components(graph, connection="strong")
    free: BoolArray = labels == np.bincount(labels).argmax()
    reached = np.zeros(heights.size, bool)
    first = int(np.flatnonzero(free)[0])
    reached[breadth_first_order(graph, first, return_predecessors=False)] = True
    return free, reached & ~free


def test_the_same_seed_is_the_same_ground_and_another_is_another() -> None:
    one, two, other = (synthetic_mars(seed, 60, 90).heights for seed in (3, 3, 4))
    np.testing.assert_array_equal(one, two)
    assert np.abs(one - other).mean() > 0.1


def test_the_ground_is_what_was_asked_for() -> None:
    terrain = synthetic_mars(1, 50, 80, 2.0)
    assert terrain.shape == (50, 80)
    assert terrain.pixel == (2.0, 2.0)
    assert terrain.crs is None
    assert terrain.name == "synthetic Mars, seed 1"
    assert np.isfinite(terrain.heights).all()


@pytest.mark.parametrize("seed", [0, 1, 6])
def test_a_rover_can_roam_much_of_it_and_get_stuck_in_the_rest(seed: int) -> None:
    cells = to_cells(synthetic_mars(seed))
    assert cells.shape == (50, 100)
    free, stuck = roaming(cells.centre, 20.0)
    assert 0.4 <= free.mean() <= 0.8
    assert 0.1 <= stuck.mean() <= 0.5


def test_at_a_coarser_pixel_it_is_the_same_kind_of_ground() -> None:
    free, stuck = roaming(synthetic_mars(0, 300, 600, 20.0).heights, 20.0)
    assert 0.4 <= free.mean() <= 0.8
    assert 0.1 <= stuck.mean() <= 0.5


def test_relief_differs_by_what_it_should_over_its_baseline() -> None:
    rng = np.random.default_rng(0)
    for pixel, lag in ((1.0, 20), (20.0, 1)):
        field = synthetic.relief(rng, (1000, 1000), pixel)
        difference = field[:, lag:] - field[:, :-lag]
        assert np.sqrt((difference**2).mean()) == pytest.approx(synthetic.RELIEF, rel=0.15)


def test_relief_is_fractal() -> None:
    field = synthetic.relief(np.random.default_rng(0), (1000, 1000), 1.0)
    near, far = (np.sqrt(((field[lag:] - field[:-lag]) ** 2).mean()) for lag in (4, 16))
    assert math.log(far / near, 4) == pytest.approx(synthetic.HURST, abs=0.1)


def test_craters_fall_off_with_the_square_of_their_size() -> None:
    _, radii, depths, ages, _ = synthetic.craters(np.random.default_rng(0), (2000, 2000), 1.0)
    diameters = 2 * radii
    larger = [(diameters > size).sum() for size in (10, 20, 40)]
    assert larger[0] / larger[1] == pytest.approx(4, rel=0.1)
    assert larger[1] / larger[2] == pytest.approx(4, rel=0.2)
    assert diameters.min() >= synthetic.MIN_DIAMETER
    assert diameters.max() <= 0.45 * 2000
    assert (np.diff(ages) <= 0).all()
    deepest = depths / diameters
    assert deepest[ages < 0.01] == pytest.approx(0.2, abs=0.01)
    assert deepest[ages > 0.99] == pytest.approx(0.03, abs=0.002)


def crater(age: float) -> FloatArray:
    """Dig one crater of 40 m across, 8 m deep, into level ground; give a cut through it."""
    heights = np.zeros((201, 201))
    synthetic.add_craters(
        heights,
        np.array([[100.5, 100.5]]),
        np.array([20.0]),
        np.array([8.0]),
        np.array([age]),
        np.zeros((1, 4)),
    )
    return heights[100, 100:]


def test_a_fresh_crater_is_a_bowl_with_a_raised_rim_and_a_blanket() -> None:
    cut = crater(0.0)
    assert cut.max() - cut[0] == pytest.approx(8.0, rel=0.02)
    assert int(cut.argmax()) == 20
    assert cut.max() == pytest.approx(1.6, rel=0.02)
    assert (np.diff(cut[:20]) > 0).all()
    assert (np.diff(cut[20:60]) < 0).all()
    assert (cut[61:] == 0).all()


def test_age_makes_a_crater_gentler() -> None:
    steepest = [np.abs(np.diff(crater(age))[:40]).max() for age in (0.0, 1.0)]
    assert steepest[1] < 0.9 * steepest[0]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": -1}, "the seed is -1"),
        ({"seed": 1.5}, "the seed is 1.5"),
        ({"rows": 0}, "expected at least 1"),
        ({"rows": 200_000, "columns": 200_000}, "200000 rows and 200000 columns are too many"),
        ({"columns": -3}, "columns is -3"),
        ({"pixel": 0.0}, "pixel size is 0 m"),
        ({"pixel": math.inf}, "pixel size is inf m"),
    ],
)
def test_what_makes_no_ground_is_refused(given: dict[str, int], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        synthetic_mars(**given)


def test_a_relief_is_smooth_and_too_steep_in_places_only() -> None:
    field = draw_relief((50, 100), np.random.default_rng(0))
    slope = np.degrees(np.arctan(np.abs(np.diff(field, axis=1)) / 20.0))
    assert field.shape == (50, 100)
    assert 0.05 < (slope > 5.0).mean() < 0.95
    assert np.abs(np.diff(field, axis=1)).std() < field.std() / 3.0


def test_what_is_believed_of_a_relief_is_known_up_to_a_metre() -> None:
    belief = draw_belief((6, 8), np.random.default_rng(1))
    again = draw_belief((6, 8), np.random.default_rng(1))
    assert belief.shape == (6, 8)
    assert belief.size == (20.0, 20.0)
    assert 0.125 <= belief.variance.min() < belief.variance.max() <= 0.625
    assert belief.height.tobytes() == again.height.tobytes()
