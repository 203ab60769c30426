from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from homeward.beliefs import TerrainBelief, Transition
from homeward.beliefs.base import MoveSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from homeward.arrays import BoolArray, FloatArray

Edge = tuple[int, int]
EAST, WEST = 3, 7


def bounds_of(belief: TerrainBelief, edges: Sequence[Edge]) -> tuple[float, float]:
    states, actions = np.array(edges, np.int64).reshape(-1, 2).T.copy()  # compiled already
    found = belief.work_together(MoveSets(np.array([0, len(states)]), states, actions))
    assert found is not None
    assert found.evaluator == belief.evaluator == "path"
    return float(found.low[0]), float(found.high[0])


def random_belief(shape: tuple[int, int], rng: np.random.Generator) -> TerrainBelief:
    states = shape[0] * shape[1]
    spread = float(rng.choice([0.0, 0.5, 1.5]))
    height = rng.normal(-4000.0, 0.5, states)
    variance = 0.1 * 10.0 ** rng.uniform(-spread, spread, states)
    limits = None
    if rng.random() < 0.5:
        limits = rng.uniform(0.3, 2.0, (states, 9)), rng.uniform(0.3, 2.0, (states, 9))
    return TerrainBelief(shape, height, variance, 10.0, 5.0, 9.0, limits=limits)


def walk(belief: TerrainBelief, moves: int, rng: np.random.Generator) -> list[Edge]:
    dest, here, edges = belief.mean().dest, int(rng.integers(len(belief.height))), []
    for _ in range(moves):
        edges.append((here, int(rng.integers(1, 9))))
        here = int(dest[edges[-1]])
    return edges


def counted(belief: TerrainBelief, edges: Sequence[Edge], heights: FloatArray) -> BoolArray:
    """Return in which worlds with `heights` [n, S] all edges work."""
    ends, works = belief.mean().dest, np.ones(len(heights), dtype=bool)
    for s, a in edges:
        drop, rise = belief.limits_at(np.array(s), np.array(a))
        up = heights[:, ends[s, a]] - heights[:, s]
        works &= (ends[s, a] == s) | ((up >= -drop) & (up <= rise))
    return works


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.booleans())
def test_a_path_works_as_often_as_a_multivariate_normal_says(
    seed: int, moves: int, back: bool
) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief((1, moves + 1), rng)
    edges = [(s, EAST) for s in range(moves)]
    cells = np.arange(moves)
    drop, rise = (x.copy() for x in belief.limits_at(cells, np.full(moves, EAST)))
    if back:
        edges += [(s + 1, WEST) for s in range(moves)]
        down, up = belief.limits_at(cells + 1, np.full(moves, WEST))
        drop, rise = np.minimum(drop, up), np.minimum(rise, down)
    rises = np.diff(np.eye(moves + 1), axis=0)
    truth = float(
        multivariate_normal.cdf(
            rise,
            np.diff(belief.height),
            rises * belief.variance @ rises.T,
            lower_limit=-drop,
            abseps=1e-7,
            releps=1e-7,
            rng=0,
        )
    )
    low, high = bounds_of(belief, edges)
    assert low <= truth + 2e-6
    assert high >= truth - 2e-6
    assert high - low <= 2e-3


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_bounds_hold_around_cycles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = random_belief((3, 3), rng)
    heights = rng.normal(belief.height, np.sqrt(belief.variance), (20_000, 9))
    for moves in (2, 5, 12):
        edges = walk(belief, moves, rng)
        low, high = bounds_of(belief, edges)
        share = counted(belief, edges, heights).mean()
        noise = 5.0 * math.sqrt(max(share * (1.0 - share), 1e-3) / len(heights))
        assert low - noise <= share <= high + noise


def test_cells_of_informative_attempts_are_judged_by_single_moves() -> None:
    rng = np.random.default_rng(5)
    belief = TerrainBelief(
        (1, 5), np.array([0.0, 0.2, 0.5, 0.7, 0.8]), np.full(5, 0.1), 10.0, 5.0, 9.0
    )
    after = belief.update(Transition(1, EAST, 2)).update(Transition(3, WEST, 3))
    edges = [(s, EAST) for s in range(4)]
    heights = rng.normal(belief.height, np.sqrt(belief.variance), (200_000, 5))
    agree = counted(belief, [(1, EAST)], heights) & ~counted(belief, [(3, WEST)], heights)
    share = counted(belief, edges, heights)[agree].mean()
    low, high = bounds_of(after, edges)
    assert low <= share + 0.005
    assert high >= share - 0.005
    risks = after.blocked_probability()
    assert low == pytest.approx(max(0.0, 1.0 - sum(risks[edge] for edge in edges)))


def test_sure_and_impossible_moves_are_exact() -> None:
    known = TerrainBelief((1, 3), np.array([0.0, 0.1, 9.0]), np.full(3, 1e-6), 10.0, 5.0, 9.0)
    assert bounds_of(known, []) == (1.0, 1.0)
    assert bounds_of(known, [(0, EAST), (0, 0)]) == (1.0, 1.0)
    assert bounds_of(known, [(0, EAST), (1, EAST)]) == (0.0, 0.0)
    limits = np.full((3, 9), 0.5), np.full((3, 9), 0.5)
    limits[1][1] = -np.inf
    without_way = TerrainBelief((1, 3), np.zeros(3), np.full(3, 0.1), 10.0, limits=limits)
    assert bounds_of(without_way, [(0, EAST), (1, EAST)]) == (0.0, 0.0)
    assert 0.3 < bounds_of(without_way, [(0, EAST), (2, WEST)])[0] < 0.7
