"""Synthetic Mars: cratered ground as HiRISE sees it, from a seed.

Three layers are added up:

- *Relief*: noise whose amplitude falls with frequency f as (f² + f₀²)^−(H + 1)/2, which is fractal
  with Hurst exponent H below the longest wavelength 1/f₀ and flat above it.
- *Craters*: their number above a diameter D falls as D^−2 per area, so that each octave of sizes
  covers as much ground. A fresh one is a bowl a fifth as deep as wide with a sharp raised rim; age
  makes it shallow and round. Blankets of ejecta fall off from the rim with the cube of distance.
  Old ones come first, so that fresh ones cut into them.
- *Roughness*: decimetres of noise at the scale of a few pixels, stones and the errors of stereo.

All lengths are in metres, so a coarser pixel shows a larger piece of the same kind of ground.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy import fft
from scipy.ndimage import gaussian_filter

from homeward.arrays import FloatArray, index, number
from homeward.errors import InvalidInputError
from homeward.terrain.elevation import Elevation
from homeward.terrain.reading import MOST_PIXELS
from homeward.terrain.transforms import from_corner

HURST = 0.9
LONGEST = 1500.0
"""m, the wavelength above which the relief grows no further."""

RELIEF = 1.3
"""m, the root mean square difference of relief over `BASELINE`."""

BASELINE = 20.0
"""m"""

CRATERS = 0.25
"""Craters larger than D per area of D²."""

SMALLEST = 6.0
"""m, the diameter of the smallest craters; a crater has at least four pixels across."""

LARGEST, WIDEST = 0.45, 3000.0
"""The diameter of the largest craters: over the shorter side of the ground, and at most, in m."""

FRESH, OLD = 0.2, 0.03
"""Depth over diameter, of a fresh crater and of the oldest."""

RIM = 0.2
"""Height of a rim above the ground, over the depth of the floor below the rim."""

BLANKET = 3.0
"""Radii to which a blanket of ejecta reaches."""

WAVE = 0.05
"""The largest amplitude of a wave in a crater's outline, in radii."""

ROUGHNESS = 0.1
"""m, root mean square."""


def synthetic_mars(
    seed: int = 0, rows: int = 1000, columns: int = 2000, pixel: float = 1.0
) -> Elevation:
    """Make cratered ground of rows x columns pixels; the same seed makes the same ground."""
    error = InvalidInputError
    seed = index(seed, 2**63, "the seed", error)
    rows, columns = (index(n, 2**31, w, error) for n, w in ((rows, "rows"), (columns, "columns")))
    if not rows or not columns:
        raise error(f"{rows} rows and {columns} columns make no terrain")
    if rows * columns > MOST_PIXELS:
        raise error(
            f"{rows} rows and {columns} columns are too many pixels to make (the most is "
            f"{MOST_PIXELS:,})"
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
    return Elevation(heights, from_corner(pixel, rows), None, name, is_own=True)


def relief(rng: np.random.Generator, shape: tuple[int, int], pixel: float) -> FloatArray:
    """Draw fractal relief [rows, columns] in metres."""
    down, across = fft.fftfreq(shape[0], pixel)[:, np.newaxis], fft.rfftfreq(shape[1], pixel)
    power = (down**2 + across**2 + LONGEST**-2) ** (-0.5 * (HURST + 1.0))
    power[0, 0] = 0.0
    noise = fft.rfft2(rng.standard_normal(shape))
    field: FloatArray = fft.irfft2(noise * power, shape)
    return field * (_amplitude() / pixel)


def _amplitude() -> float:
    """Give the factor that makes the relief differ by `RELIEF` over `BASELINE`.

    The structure function of the field is ∫ 2 (1 − J₀(2πfr)) S(f) 2πf df, summed here over the
    logarithm of the frequency; per pixel area the noise is white with unit density.
    """
    from scipy.special import j0

    f, step = np.linspace(math.log(1e-6), math.log(1e2), 20_000, retstep=True)
    f = np.exp(f)
    density = (f**2 + LONGEST**-2) ** -(HURST + 1.0)
    mean_square = np.sum(2.0 * (1.0 - j0(2.0 * np.pi * f * BASELINE)) * density * f * f) * step
    return RELIEF / math.sqrt(2.0 * np.pi * float(mean_square))


def craters(
    rng: np.random.Generator, shape: tuple[int, int], pixel: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Draw craters, the oldest first.

    Give the places [n, 2] of their middles (row, column) and their radii [n], in pixels, their
    depths [n] from rim to floor in metres, their ages [n], 0 for fresh and 1 for the oldest, and
    the waves [n, 4] in their outlines: cosine and sine, twice and three times around, in radii.
    """
    smallest = max(SMALLEST, 4.0 * pixel)
    largest = max(min(LARGEST * min(shape) * pixel, WIDEST), 1.01 * smallest)
    margin = 0.5 * largest / pixel
    sides = np.array(shape) + 2.0 * margin
    density = CRATERS * (smallest**-2 - largest**-2)  # per m²
    count = rng.poisson(density * float(np.prod(sides)) * pixel**2)
    share = rng.random(count)
    diameter = (smallest**-2 - share * (smallest**-2 - largest**-2)) ** -0.5
    places = rng.random((count, 2)) * sides - margin
    age = np.sort(rng.random(count))[::-1].copy()
    depth = diameter * FRESH * (OLD / FRESH) ** age
    waves = rng.uniform(-WAVE, WAVE, (count, 4))
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
    """Add each crater's bowl, rim and blanket to the heights [rows, columns]."""
    rows, columns = heights.shape
    for k in range(len(radii)):
        middle_row, middle_column = places[k]
        reach = BLANKET * (1.0 + 4.0 * WAVE) * radii[k]
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
                if r < BLANKET:
                    heights[row, column] += depths[k] * profile(r, ages[k])


@njit(cache=True)
def profile(r: float, age: float) -> float:
    """Give the height of a crater of depth 1 at r radii from its middle, above the ground."""
    if r < 1.0:
        fresh = r * r - (1.0 - RIM)
    else:
        fresh = RIM * (r**-3 - BLANKET**-3) / (1.0 - BLANKET**-3)
    bump = (r - 1.1) / 0.4
    soft = RIM * math.exp(-bump * bump) - (1.0 - RIM) * math.exp(-2.0 * r * r * r)
    return (1.0 - age) * fresh + age * soft
