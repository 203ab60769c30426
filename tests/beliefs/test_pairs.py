"""Hunter's bound on correlated ground is never above the truth, and above the union bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from homeward.beliefs import Heights, Transition
from homeward.beliefs.base import MoveSets
from homeward.beliefs.covariance import Matern
from homeward.beliefs.fields import CorrelatedTerrainBelief
from homeward.beliefs.grid_graph import grid_graph
from homeward.beliefs.pairs import both_fail, failure_bound, joint_tail
from homeward.certificates.joint_check import added_risk

EAST, WEST = 3, 7


@settings(max_examples=60, deadline=None)
@given(st.floats(-4.0, 5.0), st.floats(-4.0, 5.0), st.floats(0.0, 0.999))
def test_a_joint_tail_is_below_the_exact_one_and_near_it(h: float, k: float, rho: float) -> None:
    found = joint_tail(*(np.array([x]) for x in (h, k, rho)))[0]
    # Plackett's formula, an integral over the correlation.
    angle, _ = quad(
        lambda t: math.exp(-(h * h + k * k - 2.0 * h * k * math.sin(t)) / (2.0 * math.cos(t) ** 2)),
        0.0,
        math.asin(rho),
        epsabs=1e-13,
    )
    exact = norm.sf(h) * norm.sf(k) + angle / (2.0 * math.pi)
    assert found <= exact + 1e-10
    assert found >= 0.6 * exact - 1e-10


def row_of(seed: int, cells: int = 6) -> tuple[CorrelatedTerrainBelief, np.random.Generator]:
    """Return a belief about a row of cells with some of them measured."""
    rng = np.random.default_rng(seed)
    kernel = Matern(rng.uniform(0.05, 1.0), rng.uniform(1.0, 8.0), rng.choice([1.5, 2.5]))
    climb, descend = rng.uniform(15.0, 40.0, 2)
    belief = CorrelatedTerrainBelief((1, cells), kernel, 0.0, 1.0, climb, descend)
    seen = rng.choice(cells, rng.integers(0, 3), replace=False)
    noise = np.full(len(seen), 0.01)
    return belief.update(Heights(seen, rng.normal(0.0, 0.3, len(seen)), noise)), rng


def truth(belief: CorrelatedTerrainBelief, moves: list[tuple[int, int]], worlds: int) -> float:
    """Return the fraction of drawn worlds in which all moves work."""
    rng, dest = np.random.default_rng(1), grid_graph(*belief.shape).dest
    cells = np.arange(len(belief.height))
    root = np.linalg.cholesky(belief.covariance(cells) + 1e-9 * np.eye(len(cells)))
    heights = belief.height + rng.standard_normal((worlds, len(cells))) @ root.T
    works = np.ones(worlds, dtype=bool)
    for s, a in moves:
        rise = heights[:, dest[s, a]] - heights[:, s]
        drop, most = belief.limits_at(np.array(s), np.array(a))
        works &= (-drop <= rise) & (rise <= most)
    return float(works.mean())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_bound_of_a_way_is_between_the_union_bound_and_the_truth(seed: int) -> None:
    belief, _ = row_of(seed)
    state = np.arange(5)
    action = np.full(5, EAST)
    risk = failure_bound(belief, state, action)
    union = float((1.0 - belief.mean().success[state, action]).sum())
    assert risk <= union * (1.0 + 1e-12)
    exact = 1.0 - truth(belief, [(int(s), EAST) for s in state], 40_000)
    assert risk >= exact - 4.0 * np.sqrt(max(exact, 1e-4) / 40_000)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_moves_that_are_added_cost_at_least_what_they_lose(seed: int, new: int) -> None:
    belief, _ = row_of(seed)
    way = [(s, EAST) for s in range(5)]
    held, added = way[new:], way[:new]
    states, actions = (np.array(part) for part in zip(*held, *way, strict=True))
    first = np.array([0, len(held), len(held) + len(way)])
    cost = belief.lost_by_adding(MoveSets(first, states, actions))
    lost = truth(belief, held, 40_000) - truth(belief, way, 40_000)
    assert cost >= lost - 4.0 * np.sqrt(max(lost, 1e-4) / 40_000)
    audited = added_risk(belief, held, added)
    assert audited is not None
    assert audited <= cost + 1e-9
    assert cost <= sum(1.0 - belief.mean().success[s, a] for s, a in added) + 1e-12


def test_the_pair_of_a_steady_slope_makes_the_bound_much_better() -> None:
    belief = CorrelatedTerrainBelief((1, 4), Matern(9.0, 12.0, 2.5), cell=1.0, climb=45.0)
    state, action = np.arange(3), np.full(3, EAST)
    union = float((1.0 - belief.mean().success[state, action]).sum())
    assert failure_bound(belief, state, action) < 0.7 * union


def test_a_way_out_and_back_is_no_cycle_of_pairs() -> None:
    belief = CorrelatedTerrainBelief((1, 2), Matern(1.0, 2.0), 0.0, 1.0, 40.0, 40.0)
    single = 1.0 - belief.mean().success[0, EAST]  # both moves fail in the same worlds
    found = failure_bound(belief, np.array([0, 1]), np.array([EAST, WEST]))
    assert single <= found <= 1.2 * single


def test_attempts_are_counted_for_and_a_failed_move_rules_a_way_out() -> None:
    belief, _ = row_of(8)
    seen = belief.update(Heights(np.array([0, 1]), np.zeros(2), np.full(2, 0.02)))
    after = seen.update(Transition(0, EAST, 1))
    assert after.exactness == "bound"
    before, now = (failure_bound(b, np.array([0, 1]), np.full(2, EAST)) for b in (seen, after))
    assert now > 0.0
    single = 1.0 - after.success_bounds()[0][1, EAST]
    assert now == pytest.approx(single, rel=1e-9)
    assert before > 0.0
    failed = seen.update(Transition(0, EAST, 0))
    assert failure_bound(failed, np.array([0, 1]), np.full(2, EAST)) == 1.0


def test_sets_are_evaluated_by_pairs() -> None:
    belief, _ = row_of(5)
    assert belief.evaluator == "pairs"
    sets = MoveSets(np.array([0, 0, 3]), np.arange(3), np.full(3, EAST))
    found = belief.work_together(sets)
    assert found is not None
    assert found.low[0] == found.high[0] == 1.0
    assert 0.0 <= found.low[1] <= found.high[1] <= 1.0
    assert both_fail(belief, np.array([0]), np.array([EAST]), np.array([EAST])).shape == (1,)
