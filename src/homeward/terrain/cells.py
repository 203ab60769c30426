"""Grid cells over a terrain model, with the paper's prior on their heights.

With h the heights of a terrain model, g a Gaussian filter, D^n the sub-sampling of every n-th pixel
and v₀ the variance of a measured height, the prior is::

    mean     = D^n[g∘h]
    variance = D^n[g∘(h − g∘h)²] + v₀

A cell is n by n pixels; D^n takes the pixel at its centre, for an even n the one below and right of
it. Incomplete cells at the far edges are left out.

At missing data and at the raster's edge the filter is a normalised convolution, g∘(w·h) / g∘w with
w = 1 for data and 0 elsewhere. The filter is cut off at `FILTER_REACH` σ. The raster is filtered in
bands of rows, so that little more than the terrain model itself is in memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import correlate1d

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, index, number, numbers, own
from homeward.errors import InvalidInputError
from homeward.terrain.elevation import Elevation, Georeference, describe_extent, to_grid, to_map

FILTER_REACH = 4.0  # reach of the Gaussian filter, in σ
BAND_PIXELS = 1 << 23  # about how many pixels are filtered at once


@dataclass(frozen=True, slots=True, eq=False)
class Cells(Georeference):
    """A grid of cells over a terrain model: the prior of each height, and its place on the map.

    A cell is blocked if the terrain model has no data at its centre, or in more than half of it.
    There `mean` and `centre` hold the average mean of the other cells and `variance` the smallest
    variance, so that all arrays are finite and variances positive.

    Attributes
    ----------
    mean : [R, C] m
    variance : [R, C] m²
    centre : [R, C] m, height of the terrain model at the cell's centre
    blocked : [R, C]
    """

    mean: FloatArray
    variance: FloatArray
    centre: FloatArray
    blocked: BoolArray

    def __post_init__(self) -> None:
        Georeference.__post_init__(self)
        error = InvalidInputError
        mean = numbers(self.mean, "the mean", None, error)
        if mean.ndim != 2 or not mean.size:
            raise error(f"the mean has shape {mean.shape}, expected rows and columns")
        for name in ("mean", "variance", "centre"):
            array = numbers(getattr(self, name), f"the {name}", mean.shape, error)
            if not np.isfinite(array).all():
                raise error(f"the {name} is not finite everywhere")
            object.__setattr__(self, name, own(array, getattr(self, name)))
        if not self.variance.min() > 0.0:
            raise error(f"the smallest variance is {self.variance.min():g}, expected above 0")
        blocked = np.asarray(self.blocked)
        if blocked.dtype != np.bool_ or blocked.shape != mean.shape:
            raise error(f"blocked is {blocked.dtype} of shape {blocked.shape}, expected booleans")
        object.__setattr__(self, "blocked", own(blocked, self.blocked))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.mean.shape
        return rows, columns

    @property
    def extent(self) -> str:
        """The corners of the grid in map coordinates, as text for messages."""
        return describe_extent(self.transform, self.shape)

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """Return the (row, column) at map coordinates; raise if off the map, or on a far edge."""
        x, y = (number(v, n, InvalidInputError) for v, n in ((x, "x"), (y, "y")))
        column, row = to_grid(self.transform, x, y)
        rows, columns = self.shape
        if not (0.0 <= row < rows and 0.0 <= column < columns):
            raise InvalidInputError(
                f"({x:.10g}, {y:.10g}) is off the map, which reaches {self.extent}"
            )
        return math.floor(row), math.floor(column)

    def centre_of(self, row: int, column: int) -> tuple[float, float]:
        """Return the map coordinates (x, y) of the middle of a cell."""
        rows, columns = self.shape
        row = index(row, rows, "the row", InvalidInputError)
        column = index(column, columns, "the column", InvalidInputError)
        return to_map(self.transform, column + 0.5, row + 0.5)


def to_cells(
    elevation: Elevation,
    cell: float = 20.0,
    blur: float = 5.0,
    error: float | FloatArray = 2.0**-4,
    closed: BoolArray | None = None,
) -> Cells:
    """Return the cells of a terrain model, with the paper's prior on their heights.

    Parameters
    ----------
    elevation
        The terrain model.
    cell
        Side of a cell in metres, rounded to a whole number of pixels along each axis, at least
        one; `Cells.size` is the result.
    blur
        σ of the Gaussian filter in metres, 0 for no filter.
    error
        Variance of a height of the terrain model in m², of all pixels or of each [rows, columns].
    closed
        Mask [rows, columns] of pixels with obstacles; a cell with such a pixel is blocked.
    """
    if not 0.0 <= number(blur, "the blur", InvalidInputError) < math.inf:
        raise InvalidInputError(f"the blur is {blur:g} m, expected 0 or more")
    down, across = sides_of(elevation, cell)
    rows, columns = elevation.shape[0] // down, elevation.shape[1] // across
    centres = np.arange(rows) * down + down // 2, np.arange(columns) * across + across // 2
    centre = elevation.heights[np.ix_(*centres)]
    known = ~np.isnan(elevation.heights[: rows * down, : columns * across])
    share = known.reshape(rows, down, columns, across).mean(axis=(1, 3))
    blocked = np.isnan(centre) | (share < 0.5)
    if closed is not None:
        blocked |= cells_with(closed, (down, across))
    if blocked.all():
        free = "" if closed is None else " and no obstacle"
        raise InvalidInputError(f"{elevation.name}: no cell of {cell:g} m has data{free}")
    mean, variance = _prior(elevation, centres, blur)
    own = at_centres(error, (down, across)) if isinstance(error, np.ndarray) else error
    return place_cells(elevation, (down, across), mean, variance, centre, blocked, own)


def at_centres(pixels: FloatArray, sides: tuple[int, int]) -> FloatArray:
    """Return the value [R, C] of the pixel at the centre of each cell; ``sides`` is in pixels."""
    ends = zip(pixels.shape, sides, strict=True)
    at = [np.arange(length // side) * side + side // 2 for length, side in ends]
    return np.asarray(pixels[np.ix_(*at)])


def cells_with(pixels: BoolArray, sides: tuple[int, int]) -> BoolArray:
    """Return the mask [R, C] of cells, of ``sides`` pixels, that contain a marked pixel."""
    down, across = sides
    rows, columns = pixels.shape[0] // down, pixels.shape[1] // across
    whole = pixels[: rows * down, : columns * across]
    return np.asarray(whole.reshape(rows, down, columns, across).any(axis=(1, 3)))


def sides_of(elevation: Elevation, cell: float) -> tuple[int, int]:
    """Return the height and width in pixels of cells of ``cell`` m; raise if the map is smaller."""
    if not 0.0 < number(cell, "the cell size", InvalidInputError) < math.inf:
        raise InvalidInputError(f"the cell size is {cell:g} m, expected more than 0")
    down, across = (max(1, round(cell / pixel)) for pixel in elevation.pixel)
    if elevation.shape[0] < down or elevation.shape[1] < across:
        sizes = zip(elevation.shape, elevation.pixel, strict=True)
        have = " x ".join(f"{length * pixel:g}" for length, pixel in sizes)
        raise InvalidInputError(f"a cell of {cell:g} m is larger than {elevation.name}, {have} m")
    return down, across


def place_cells(
    elevation: Elevation,
    sides: tuple[int, int],
    mean: FloatArray,
    variance: FloatArray,
    centre: FloatArray,
    blocked: BoolArray,
    error: float | FloatArray,
) -> Cells:
    """Return cells of `sides` pixels; fields are [R, C]; `error` in m² is added to the variance."""
    if (
        not isinstance(error, np.ndarray)
        and not 0.0 < number(error, "the error", InvalidInputError) < math.inf
    ):
        raise InvalidInputError(f"the error is {error:g} m², expected more than 0")
    down, across = sides
    variance = variance + error
    fill, least = mean[~blocked].mean(), variance[~blocked].min()
    for array, value in ((mean, fill), (centre, fill), (variance, least)):
        array[blocked] = value
        array.flags.writeable = False
    a, b, c, d, e, f = elevation.transform
    return Cells(
        mean,
        variance,
        centre,
        frozen(blocked),
        transform=(a * across, b * down, c, d * across, e * down, f),
        crs=elevation.crs,
        name=elevation.name,
        unit=elevation.unit,
        is_own=elevation.is_own,
    )


def _prior(
    elevation: Elevation, centres: tuple[IntArray, IntArray], blur: float
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance − v₀ of the prior, each [R, C], in m and m².

    `centres` are the rows [R] and columns [C] of the pixels at the cells' centres. `blur` is the
    standard deviation of the filter in m. The raster is filtered in bands of rows.
    """
    heights = elevation.heights
    tall, wide = heights.shape
    middle_rows, middle_columns = centres
    sizes = zip(elevation.pixel, elevation.shape, strict=True)
    taps = [_taps(blur / pixel, length) for pixel, length in sizes]
    reach = len(taps[0]) // 2
    mean = np.empty((len(middle_rows), len(middle_columns)))
    variance = np.empty_like(mean)
    first = 0
    while first < len(mean):
        last = first + 1
        start = max(0, middle_rows[first] - 2 * reach)
        while last < len(mean) and (middle_rows[last] + 2 * reach - start) * wide <= BAND_PIXELS:
            last += 1
        stop = min(tall, middle_rows[last - 1] + 2 * reach + 1)
        # Within one filter reach of the band's edge g∘h is wrong; D^n∘g reads only further inside.
        own_rows = middle_rows[first:last] - start
        mean[first:last], variance[first:last] = _prior_of_band(
            heights[start:stop], taps, own_rows, middle_columns
        )
        first = last
    return mean, variance


def _prior_of_band(
    heights: FloatArray, taps: list[FloatArray], rows: IntArray, columns: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return mean and local variance [R, C] at a band's cell centres; NaN where no data is near."""
    known = ~np.isnan(heights)
    if known.all():
        ones = zip(known.shape, taps, strict=True)
        within = np.outer(*(_smooth(np.ones(length), [each]) for length, each in ones))
        clean, weighed = heights, within[np.ix_(rows, columns)]
    else:
        clean = np.where(known, heights, 0.0)
        within = _smooth(known.astype(np.float64), taps)
        weighed = within[np.ix_(rows, columns)]
        within[~known] = 1.0
    smooth = _smooth(clean, taps)
    with np.errstate(invalid="ignore"):
        mean = smooth[np.ix_(rows, columns)] / weighed
    smooth /= within
    np.subtract(clean, smooth, out=smooth)
    np.multiply(smooth, smooth, out=smooth)
    smooth[~known] = 0.0
    down = _convolved_at(smooth, taps[0], rows)
    across = _convolved_at(down.T, taps[1], columns).T
    with np.errstate(invalid="ignore"):
        return mean, across / weighed


def _taps(sigma: float, length: int) -> FloatArray:
    """Return the weights of a Gaussian filter with σ in pixels, no wider than the raster."""
    reach = int(min(FILTER_REACH * sigma + 0.5, length - 1))
    if not reach:
        return np.ones(1)
    weights: FloatArray = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    weights /= weights.sum()
    return weights


def _smooth(values: FloatArray, taps: list[FloatArray]) -> FloatArray:
    """Filter along every axis, with zeros beyond the edges."""
    for axis in range(values.ndim):
        values = correlate1d(values, taps[axis], axis, mode="constant", cval=0.0)
    return values


def _convolved_at(values: FloatArray, taps: FloatArray, rows: IntArray) -> FloatArray:
    """Filter along the first axis, only at `rows`, with zeros beyond the edges."""
    reach = len(taps) // 2
    found = np.zeros((len(rows), values.shape[1]))
    for shift, weight in zip(range(-reach, reach + 1), taps, strict=True):
        there = rows + shift
        inside = (there >= 0) & (there < len(values))
        found[inside] += weight * values[there[inside]]
    return found
