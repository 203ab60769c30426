from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter

from homeward.errors import InvalidInputError
from homeward.terrain import Cells, Elevation, cells, to_cells

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray


def terrain(
    heights: FloatArray, height: float = 1.0, width: float = 1.0, unit: float = 1.0
) -> Elevation:
    place = (width, 0.0, 1000.0, 0.0, -height, 2000.0)
    return Elevation(heights, transform=place, crs="MAP", name="the test ground", unit=unit)


def filtered(values: FloatArray, weights: FloatArray, sigma: tuple[float, float]) -> FloatArray:
    """Filter where there is data, by SciPy alone: (g∘wh) / (g∘w)."""
    over: FloatArray = gaussian_filter(values * weights, sigma, mode="constant")
    under: FloatArray = gaussian_filter(weights, sigma, mode="constant")
    return over / np.where(under > 0, under, 1.0)


def direct(
    heights: FloatArray, sigma: tuple[float, float], sides: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Evaluate the paper's formula on the whole raster at once; v₀ is 1/16."""
    known = ~np.isnan(heights)
    clean, weights = np.where(known, heights, 0.0), known.astype(float)
    smooth = filtered(clean, weights, sigma)
    spread = filtered((clean - smooth) ** 2, weights, sigma)
    rows, columns = (n // side for n, side in zip(heights.shape, sides, strict=True))
    at = np.ix_(
        np.arange(rows) * sides[0] + sides[0] // 2, np.arange(columns) * sides[1] + sides[1] // 2
    )
    return smooth[at], spread[at] + 1 / 16


@st.composite
def grounds(draw: st.DrawFn, holes: bool = False) -> tuple[Elevation, float, float]:
    """Draw a small terrain, with rectangular pixels, a cell size and a blur that fit it."""
    rows, columns = draw(st.integers(6, 40)), draw(st.integers(6, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    heights = rng.normal(-4000, 10, (rows, columns)).cumsum(axis=1)
    if holes:
        heights[rng.random((rows, columns)) < draw(st.floats(0, 0.7))] = np.nan
        heights[:4, :6] = -4000.0  # at least one cell of any size stays open
    height, width = draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.sampled_from([0.5, 1.0, 1.01]))
    cell = draw(st.sampled_from([0.3, 1.0, 2.0, 3.0]))
    return terrain(heights, height, width), cell, draw(st.sampled_from([0.0, 0.4, 1.0, 2.5, 40.0]))


@given(grounds())
def test_the_prior_is_the_papers_formula(case: tuple[Elevation, float, float]) -> None:
    ground, cell, blur = case
    made = to_cells(ground, cell, blur)
    height, width = ground.pixel
    sides = max(1, round(cell / height)), max(1, round(cell / width))
    mean, variance = direct(ground.heights, (blur / height, blur / width), sides)
    np.testing.assert_allclose(made.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(made.variance, variance, rtol=1e-9)
    assert not made.blocked.any()
    assert made.size == pytest.approx((height * sides[0], width * sides[1]))


@given(grounds(holes=True))
def test_holes_have_no_weight(case: tuple[Elevation, float, float]) -> None:
    ground, cell, blur = case
    sides = max(1, round(cell / ground.pixel[0])), max(1, round(cell / ground.pixel[1]))
    made = to_cells(ground, cell, blur)
    sigma = blur / ground.pixel[0], blur / ground.pixel[1]
    mean, variance = direct(ground.heights, sigma, sides)
    open_ = ~made.blocked
    np.testing.assert_allclose(made.mean[open_], mean[open_], rtol=1e-12)
    np.testing.assert_allclose(made.variance[open_], variance[open_], rtol=1e-9)
    assert np.isfinite(made.mean).all()
    assert np.isfinite(made.centre).all()
    assert (made.variance >= 1 / 16).all()


@given(grounds(holes=True), st.integers(1, 2000))
def test_working_in_bands_changes_nothing(
    case: tuple[Elevation, float, float], pixels: int
) -> None:
    ground, cell, blur = case
    ground = Elevation(
        np.where(np.isnan(ground.heights), 3.0, ground.heights), transform=ground.transform
    )
    whole = to_cells(ground, cell, blur)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "BAND_PIXELS", pixels)
        banded = to_cells(ground, cell, blur)
    np.testing.assert_allclose(banded.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(banded.variance, whole.variance, rtol=1e-9)


def test_far_from_the_edge_the_filter_is_the_ordinary_one() -> None:
    heights = np.random.default_rng(1).normal(0, 1, (300, 300))
    made = to_cells(terrain(heights))
    smooth = gaussian_filter(heights, 5.0)
    spread = gaussian_filter((heights - smooth) ** 2, 5.0)
    np.testing.assert_allclose(made.mean[4:-4, 4:-4], smooth[90:-80:20, 90:-80:20], atol=1e-12)
    np.testing.assert_allclose(
        made.variance[4:-4, 4:-4], spread[90:-80:20, 90:-80:20] + 1 / 16, atol=1e-12
    )


def test_level_ground_is_level_up_to_the_edge_with_the_error_of_measurement() -> None:
    made = to_cells(terrain(np.full((100, 100), 7.0)))
    np.testing.assert_allclose(made.mean, 7.0, rtol=1e-14)
    np.testing.assert_allclose(made.variance, 1 / 16)


def test_without_blur_the_mean_is_the_height_at_the_centre() -> None:
    heights = np.arange(100.0).reshape(10, 10)
    made = to_cells(terrain(heights), cell=4.0, blur=0.0, error=0.25)
    np.testing.assert_array_equal(made.mean, heights[2:8:4, 2:8:4])
    np.testing.assert_array_equal(made.centre, made.mean)
    np.testing.assert_array_equal(made.variance, 0.25)


def test_the_centre_is_the_terrain_models_own_height() -> None:
    heights = np.random.default_rng(2).normal(0, 1, (61, 45))
    made = to_cells(terrain(heights), cell=15.0)
    assert made.shape == (4, 3)
    np.testing.assert_array_equal(made.centre, heights[7:60:15, 7:45:15])


def test_rectangular_pixels_make_square_cells() -> None:
    made = to_cells(terrain(np.zeros((40, 30)), height=1.0, width=2.0), cell=10.0)
    assert made.shape == (4, 6)
    assert made.size == (10.0, 10.0)


def test_cells_on_a_map_in_feet_are_measured_in_metres() -> None:
    made = to_cells(terrain(np.zeros((100, 100)), unit=0.5), cell=20.0)
    assert made.shape == (2, 2)
    assert made.size == (20.0, 20.0)
    assert made.transform == (40.0, 0.0, 1000.0, 0.0, -40.0, 2000.0)


def blocks(heights: FloatArray) -> BoolArray:
    return to_cells(terrain(heights), cell=4.0, blur=1.0).blocked


def test_a_cell_without_data_at_its_centre_is_blocked() -> None:
    heights = np.zeros((8, 8))
    heights[2, 6] = np.nan
    assert blocks(heights).tolist() == [[False, True], [False, False]]


def test_a_cell_with_data_in_less_than_half_of_it_is_blocked() -> None:
    heights = np.zeros((8, 8))
    heights[:4, :2] = np.nan  # half of the first cell, and not its centre
    assert not blocks(heights).any()
    heights[0, 2] = np.nan
    assert blocks(heights).tolist() == [[True, False], [False, False]]


def test_blocked_cells_hold_numbers_that_do_no_harm() -> None:
    heights = np.random.default_rng(3).normal(50, 1, (40, 40))
    heights[:20, :20] = np.nan
    made = to_cells(terrain(heights), cell=10.0, blur=1.0)
    assert made.blocked[:2, :2].all()
    assert made.blocked.sum() == 4
    free = ~made.blocked
    assert made.mean[0, 0] == made.centre[0, 0] == pytest.approx(made.mean[free].mean())
    assert made.variance[0, 0] == made.variance[free].min()


def test_the_place_and_the_name_are_kept() -> None:
    made = to_cells(terrain(np.zeros((50, 70))), cell=20.0)
    assert made.shape == (2, 3)
    assert made.transform == (20.0, 0.0, 1000.0, 0.0, -20.0, 2000.0)
    assert (made.crs, made.name) == ("MAP", "the test ground")


@given(st.integers(0, 1), st.integers(0, 2), st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_every_place_in_a_cell_belongs_to_it(
    row: int, column: int, down: float, across: float
) -> None:
    for turn in (0.0, 0.7):
        cos, sin = 20 * math.cos(turn), 20 * math.sin(turn)
        place = (cos, sin, 8_142_406.0, sin, -cos, -276_455.0)
        flat = np.ones((2, 3))
        made = Cells(flat, flat, flat, np.zeros((2, 3), bool), transform=place)
        x, y = made.centre_of(row, column)
        assert made.cell_of(x, y) == (row, column)
        x += cos * (across - 0.5) + sin * (down - 0.5)
        y += sin * (across - 0.5) - cos * (down - 0.5)
        assert made.cell_of(x, y) == (row, column)


def test_the_centre_of_the_first_cell() -> None:
    made = to_cells(terrain(np.zeros((50, 70))), cell=20.0)
    assert made.centre_of(0, 0) == (1010.0, 1990.0)
    assert made.centre_of(1, 2) == (1050.0, 1970.0)


@pytest.mark.parametrize("place", [(999.9, 1990), (1060.0, 1990), (1010, 2000.1), (1010, 1960)])
def test_a_place_off_the_map_is_refused(place: tuple[float, float]) -> None:
    made = to_cells(terrain(np.zeros((50, 70))), cell=20.0)
    with pytest.raises(
        InvalidInputError,
        match=r"is off the map, which reaches from \(1000, 1960\) to \(1060, 2000",
    ):
        made.cell_of(*place)


def test_a_place_that_is_no_number_is_refused() -> None:
    made = to_cells(terrain(np.zeros((50, 70))), cell=20.0)
    with pytest.raises(InvalidInputError, match="x is nan"):
        made.cell_of(math.nan, 1990.0)


@pytest.mark.parametrize(("row", "column"), [(2, 0), (-1, 0), (0, 3)])
def test_a_cell_that_does_not_exist_has_no_centre(row: int, column: int) -> None:
    made = to_cells(terrain(np.zeros((50, 70))), cell=20.0)
    with pytest.raises(InvalidInputError, match="outside"):
        made.centre_of(row, column)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"cell": 0.0}, "cell size is 0 m"),
        ({"cell": -20.0}, "cell size is -20 m"),
        ({"cell": math.nan}, "cell size is nan"),
        ({"blur": -1.0}, "blur is -1 m"),
        ({"blur": math.inf}, "blur is inf m"),
        ({"error": 0.0}, "error is 0 m²"),
        ({"error": -1.0}, "error is -1 m²"),
        ({"cell": 51.0}, "a cell of 51 m is larger than the test ground, 50 x 70 m"),
    ],
)
def test_sizes_that_make_no_cells_are_refused(sizes: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        to_cells(terrain(np.zeros((50, 70))), **sizes)


def test_ground_without_data_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"the test ground: no cell .* has data"):
        to_cells(terrain(np.full((50, 70), np.nan)))


ONES = np.ones((2, 2))
PARTS: dict[str, Any] = {
    "mean": ONES,
    "variance": ONES,
    "centre": ONES,
    "blocked": ONES > 2,
    "transform": (1.0, 0.0, 0.0, 0.0, -1.0, 0.0),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mean": np.ones(4)}, r"mean has shape \(4,\)"),
        ({"variance": np.ones((2, 3))}, r"variance has shape \(2, 3\), expected \(2, 2\)"),
        ({"variance": ONES * 0}, "smallest variance is 0"),
        ({"centre": ONES * np.nan}, "centre is not finite"),
        ({"blocked": ONES}, "blocked is float64"),
        ({"blocked": np.zeros(4, bool)}, r"blocked is bool of shape \(4,\)"),
        ({"transform": (0.0,) * 6}, "size 0"),
    ],
)
def test_what_is_no_grid_of_cells_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Cells(**(PARTS | change))


def test_cells_can_not_be_written_to() -> None:
    made = to_cells(terrain(np.zeros((50, 70))))
    for array in (made.mean, made.variance, made.centre, made.blocked):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


@pytest.mark.parametrize(
    ("crs", "name"),
    [
        (None, None),
        ('PROJCRS["Mars Equidistant",BASE["Mars"]]', "Mars Equidistant"),
        ("X:1", "X:1"),
    ],
)
def test_a_coordinate_system_is_called_by_its_first_name(crs: str | None, name: str | None) -> None:
    assert Cells(**(PARTS | {"crs": crs})).crs_name == name
