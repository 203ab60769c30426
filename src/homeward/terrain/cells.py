"""Grid cells over a terrain model, with the paper's prior on their heights.

With h the heights of a terrain model, g a Gaussian filter, D^n the sub-sampling of every n-th pixel
and v₀ the variance of a measured height, the prior is::

    mean     = D^n[g∘h]
    variance = D^n[g∘(h − g∘h)²] + v₀

A cell is n by n pixels. D^n takes the pixel at its centre; for an even n, the pixel below and right
of the centre. Incomplete cells at the bottom and right edges are left out.

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
BAND_PIXELS = 1 << 23  # approximate number of pixels that are filtered at once


@dataclass(frozen=True, slots=True, eq=False)
class Cells(Georeference):
    """A grid of cells over a terrain model: the prior of each height, and its place on the map.

    A blocked cell can't be entered, for example because the terrain model has no data there. In
    blocked cells `mean` and `centre` hold the average mean of the other cells and `variance` the
    smallest variance, so that all arrays are finite and variances positive.

    Attributes
    ----------
    mean : [R, C] m, mean of the prior
    variance : [R, C] m², variance of the prior
    centre : [R, C] m, height of the terrain model at the cell's centre
    blocked : [R, C] mask of blocked cells
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

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """Return the cell (row, column) that contains a point of the map; raise if there is none.

        The bottom and right edges of the grid belong to no cell.
        """
        x, y = (number(v, n, InvalidInputError) for v, n in ((x, "x"), (y, "y")))
        column, row = to_grid(self.transform, x, y)
        if not (0.0 <= row < self.shape[0] and 0.0 <= column < self.shape[1]):
            extent = describe_extent(self.transform, self.shape)
            raise InvalidInputError(f"({x:.10g}, {y:.10g}) is off the map, which reaches {extent}")
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

    A cell is blocked if the terrain model has no data at its centre, or in more than half of it.

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
    sides = sides_of(elevation, cell)
    centre = at_centres(elevation.heights, sides)
    share = _by_cell(~np.isnan(elevation.heights), sides).mean(axis=(1, 3))
    blocked = np.isnan(centre) | (share < 0.5)
    if closed is not None:
        blocked |= cells_with(closed, sides)
    if blocked.all():
        free = "" if closed is None else " and no obstacle"
        raise InvalidInputError(f"{elevation.name}: no cell of {cell:g} m has data{free}")
    mean, variance = _prior(elevation, sides, blur)
    own = at_centres(error, sides) if isinstance(error, np.ndarray) else error
    return place_cells(elevation, sides, mean, variance, centre, blocked, own)


def _centres(shape: tuple[int, ...], sides: tuple[int, int]) -> list[IntArray]:
    """Return the rows [R] and columns [C] of the pixels at the cells' centres."""
    ends = zip(shape, sides, strict=True)
    return [np.arange(length // side) * side + side // 2 for length, side in ends]


def at_centres(pixels: FloatArray, sides: tuple[int, int]) -> FloatArray:
    """Return the value [R, C] of the pixel at the centre of each cell of ``sides`` pixels."""
    return np.asarray(pixels[np.ix_(*_centres(pixels.shape, sides))])


def _by_cell(pixels: BoolArray, sides: tuple[int, int]) -> BoolArray:
    """Return the pixels [R, height, C, width] of the cells of ``sides`` pixels."""
    down, across = sides
    rows, columns = pixels.shape[0] // down, pixels.shape[1] // across
    return pixels[: rows * down, : columns * across].reshape(rows, down, columns, across)


def cells_with(pixels: BoolArray, sides: tuple[int, int]) -> BoolArray:
    """Return the mask [R, C] of cells, of ``sides`` pixels, that contain a True pixel."""
    return np.asarray(_by_cell(pixels, sides).any(axis=(1, 3)))


def sides_of(elevation: Elevation, cell: float) -> tuple[int, int]:
    """Return the height and width, in pixels, of cells with sides of ``cell`` m.

    Raise if the terrain model is smaller than a cell.
    """
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
    """Return cells of `sides` pixels with fields [R, C], on the map of a terrain model.

    The variance is `variance` + `error`, in m². Blocked cells get the values that `Cells` states.
    `mean` and `centre` are written to.
    """
    if not isinstance(error, np.ndarray):
        error = number(error, "the error", InvalidInputError)
        if not 0.0 < error < math.inf:
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
    elevation: Elevation, sides: tuple[int, int], blur: float
) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance − v₀ of the prior, each [R, C], in m and m².

    `sides` are the height and width of a cell in pixels. `blur` is the standard deviation of the
    filter in m. The raster is filtered in bands of rows.
    """
    heights = elevation.heights
    tall, wide = heights.shape
    middle_rows, middle_columns = _centres(heights.shape, sides)
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
        mean[first:last], variance[first:last] = _prior_of_band(
            heights[start:stop], taps, middle_rows[first:last] - start, middle_columns
        )
        first = last
    return mean, variance


def _prior_of_band(
    heights: FloatArray, taps: list[FloatArray], rows: IntArray, columns: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the prior's mean and its variance − v₀, each [R, C], at the centres of a band's cells.

    They are NaN where no pixel within reach of the filter has data.
    """
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
    """Return `values` filtered along every axis, with zeros beyond the edges."""
    for axis in range(values.ndim):
        values = correlate1d(values, taps[axis], axis, mode="constant", cval=0.0)
    return values


def _convolved_at(values: FloatArray, taps: FloatArray, rows: IntArray) -> FloatArray:
    """Return `values` filtered along the first axis at `rows`, with zeros beyond the edges."""
    reach = len(taps) // 2
    filtered = np.zeros((len(rows), values.shape[1]))
    for shift, weight in zip(range(-reach, reach + 1), taps, strict=True):
        source = rows + shift
        inside = (source >= 0) & (source < len(values))
        filtered[inside] += weight * values[source[inside]]
    return filtered
