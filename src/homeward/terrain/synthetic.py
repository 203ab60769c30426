"""Synthetic Mars: random cratered terrain, similar to HiRISE terrain models. Also random hills.

The heights of synthetic Mars are the sum of three layers:

- *Relief*: noise whose amplitude at frequency f is proportional to (f² + f₀²)^−(H + 1)/2. It is
  fractal with Hurst exponent H at wavelengths below 1/f₀, and has a flat spectrum above.
- *Craters*: the number of craters per area with a diameter above D is proportional to D^−2, so each
  octave of diameters covers the same area. A fresh crater is a bowl with a sharp raised rim; its
  depth is a fifth of its diameter. Older craters are shallower and rounder. The height of ejecta
  falls with the cube of the distance. Old craters are drawn first, and fresh ones cut into them.
- *Roughness*: noise of about a decimetre at the scale of a few pixels (stones, stereo errors).

All lengths are in metres, so larger pixels show a larger area of the same kind of terrain.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft
from scipy.ndimage import gaussian_filter

from homeward.arrays import FloatArray, index, number
from homeward.beliefs.heights import TerrainBelief
from homeward.compiling import njit
from homeward.errors import InvalidInputError
from homeward.terrain.elevation import Elevation, from_corner
from homeward.terrain.reading import MAX_PIXELS

HURST = 0.9
MAX_WAVELENGTH = 1500.0  # m, of the relief
RELIEF = 1.3  # m, root mean square height difference of points at distance BASELINE
BASELINE = 20.0  # m
CRATER_DENSITY = 0.25  # craters larger than D per area of D²
MIN_DIAMETER = 6.0  # m, of craters; also at least four pixels
MAX_DIAMETER_SHARE, MAX_DIAMETER = 0.45, 3000.0  # fraction of the shorter side, and m
FRESH_DEPTH, OLD_DEPTH = 0.2, 0.03  # depth / diameter of fresh and of the oldest craters
RIM = 0.2  # height of the rim above the ground / depth of the floor below the rim
EJECTA_REACH = 3.0  # radii
OUTLINE_WAVE = 0.05  # radii, largest amplitude of a wave in a crater's outline
ROUGHNESS = 0.1  # m, root mean square

HILLS = ((20.0, 25.0), (8.0, 12.0), (3.0, 4.0), (1.2, 1.0))  # scale in cells, deviation in m
CELL = 20.0  # m, side of a cell of hills
MODEL_VARIANCE = 2.0**-4  # m², the paper's v₀: error variance of a terrain model


def synthetic_mars(
    seed: int = 0, rows: int = 1000, columns: int = 2000, pixel: float = 1.0
) -> Elevation:
    """Draw cratered terrain of rows x columns pixels with sides of `pixel` m; equal seeds agree."""
    error = InvalidInputError
    seed = index(seed, 2**63, "the seed", error)
    rows, columns = (index(n, 2**31, w, error) for n, w in ((rows, "rows"), (columns, "columns")))
    if not rows or not columns:
        raise error(f"the terrain has {rows} rows and {columns} columns, expected at least 1")
    if rows * columns > MAX_PIXELS:
        raise error(
            f"{rows} rows and {columns} columns are too many pixels (the maximum is {MAX_PIXELS:,})"
        )
    pixel = number(pixel, "the pixel size", error)
    if not 0.0 < pixel < math.inf:
        raise error(f"the pixel size is {pixel:g} m, expected a positive length")
    rng = np.random.default_rng(seed)
    heights = relief(rng, (rows, columns), pixel)
    add_craters(heights, *craters(rng, (rows, columns), pixel))
    rough = gaussian_filter(rng.standard_normal((rows, columns)), 1.0, mode="wrap")
    heights += ROUGHNESS / (0.5 / math.sqrt(math.pi)) * rough
    heights.flags.writeable = False
    name = f"synthetic Mars, seed {seed}"
    return Elevation(heights, transform=from_corner(pixel, rows), name=name, is_own=True)


def draw_relief(shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Draw heights [R, C] of hills in m: the sum of smooth noise at the scales of `HILLS`."""
    field = np.zeros(shape)
    for across, high in HILLS:
        part = gaussian_filter(rng.standard_normal(shape), across, mode="reflect")
        field += high * (part - part.mean()) / part.std()
    return field


def draw_belief(shape: tuple[int, int], rng: np.random.Generator) -> TerrainBelief:
    """Return a belief whose means are heights of drawn hills and whose deviations are below 1 m."""
    field = draw_relief(shape, rng).ravel()
    deviation = 0.25 + 0.5 * rng.random(field.size)
    return TerrainBelief(shape, field, deviation**2 + MODEL_VARIANCE, CELL)


def relief(rng: np.random.Generator, shape: tuple[int, int], pixel: float) -> FloatArray:
    """Draw fractal relief [rows, columns] in metres."""
    down, across = fft.fftfreq(shape[0], pixel)[:, np.newaxis], fft.rfftfreq(shape[1], pixel)
    power = (down**2 + across**2 + MAX_WAVELENGTH**-2) ** (-0.5 * (HURST + 1.0))
    power[0, 0] = 0.0
    noise = fft.rfft2(rng.standard_normal(shape))
    field: FloatArray = fft.irfft2(noise * power, shape)
    return field * (_amplitude() / pixel)


def _amplitude() -> float:
    """Return the factor of the noise for height differences of `RELIEF` at distance `BASELINE`.

    The mean squared height difference at distance r is ∫ 2 (1 − J₀(2πfr)) S(f) 2πf df, with S the
    spectral density of the field. The integral is a sum over the logarithm of the frequency f. The
    white noise has unit density per pixel area.
    """
    from scipy.special import j0

    f, step = np.linspace(math.log(1e-6), math.log(1e2), 20_000, retstep=True)
    f = np.exp(f)
    density = (f**2 + MAX_WAVELENGTH**-2) ** -(HURST + 1.0)
    mean_square = np.sum(2.0 * (1.0 - j0(2.0 * np.pi * f * BASELINE)) * density * f * f) * step
    return RELIEF / math.sqrt(2.0 * np.pi * float(mean_square))


def craters(
    rng: np.random.Generator, shape: tuple[int, int], pixel: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Draw n craters, the oldest first.

    Return their centres [n, 2] (row, column) in pixels; radii [n] in pixels; depths [n] from rim to
    floor in metres; ages [n] from 0 (fresh) to 1; and Fourier coefficients [n, 4] of their
    outlines, as fractions of the radius: cosine and sine with two and three periods.
    """
    smallest = max(MIN_DIAMETER, 4.0 * pixel)
    largest = max(min(MAX_DIAMETER_SHARE * min(shape) * pixel, MAX_DIAMETER), 1.01 * smallest)
    margin = 0.5 * largest / pixel
    sides = np.array(shape) + 2.0 * margin
    density = CRATER_DENSITY * (smallest**-2 - largest**-2)  # per m²
    count = rng.poisson(density * float(np.prod(sides)) * pixel**2)
    share = rng.random(count)
    diameter = (smallest**-2 - share * (smallest**-2 - largest**-2)) ** -0.5
    places = rng.random((count, 2)) * sides - margin
    age = np.sort(rng.random(count))[::-1].copy()
    depth = diameter * FRESH_DEPTH * (OLD_DEPTH / FRESH_DEPTH) ** age
    waves = rng.uniform(-OUTLINE_WAVE, OUTLINE_WAVE, (count, 4))
    return places, 0.5 * diameter / pixel, depth, age, waves


@njit(cache=True)
def add_craters(
    heights: FloatArray,
    places: FloatArray,
    radii: FloatArray,
    depths: FloatArray,
    ages: FloatArray,
    waves: FloatArray,
) -> None:
    """Add the bowl, rim and ejecta of each of n craters to the heights [rows, columns].

    The other arguments are those that `craters` returns.
    """
    rows, columns = heights.shape
    for k in range(len(radii)):
        middle_row, middle_column = places[k]
        reach = EJECTA_REACH * (1.0 + 4.0 * OUTLINE_WAVE) * radii[k]
        top, bottom = max(0, int(middle_row - reach)), min(rows, int(middle_row + reach) + 2)
        first = max(0, int(middle_column - reach))
        last = min(columns, int(middle_column + reach) + 2)
        for row in range(top, bottom):
            down = row + 0.5 - middle_row
            for column in range(first, last):
                across = column + 0.5 - middle_column
                distance = max(1e-9, math.sqrt(down * down + across * across))
                if distance >= reach:
                    continue
                east, south = across / distance, down / distance  # cosine and sine of the bearing
                twice, twice_sine = east * east - south * south, 2.0 * east * south
                thrice = twice * east - twice_sine * south
                thrice_sine = twice_sine * east + twice * south
                outline = 1.0 + twice * waves[k, 0] + twice_sine * waves[k, 1]
                outline += thrice * waves[k, 2] + thrice_sine * waves[k, 3]
                r = distance / (radii[k] * outline)
                if r < EJECTA_REACH:
                    heights[row, column] += depths[k] * profile(r, ages[k])


@njit(cache=True)
def profile(r: float, age: float) -> float:
    """Return the height above ground of a crater of depth 1, at r radii from its centre."""
    if r < 1.0:
        fresh = r * r - (1.0 - RIM)
    else:
        fresh = RIM * (r**-3 - EJECTA_REACH**-3) / (1.0 - EJECTA_REACH**-3)
    bump = (r - 1.1) / 0.4
    soft = RIM * math.exp(-bump * bump) - (1.0 - RIM) * math.exp(-2.0 * r * r * r)
    return (1.0 - age) * fresh + age * soft
