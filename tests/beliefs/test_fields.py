"""Correlated heights: exact conditioning, success of moves, soundness of bounds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from homeward.beliefs import Heights, Transition
from homeward.beliefs.covariance import Matern
from homeward.beliefs.fields import FOLD, CorrelatedTerrainBelief
from homeward.beliefs.grid_graph import STEPS, grid_graph
from homeward.errors import ImpossibleObservationError, InvalidBeliefError

SHAPE = (4, 5)
CELLS = SHAPE[0] * SHAPE[1]


def distances(shape: tuple[int, int], cell: tuple[float, float]) -> np.ndarray:
    """Return the distances [S, S] between cell centres."""
    row, column = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    return np.hypot(cell[0] * (row[:, None] - row), cell[1] * (column[:, None] - column))


def batch(
    covariance: np.ndarray, prior: float, cells: np.ndarray, seen: np.ndarray, errors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance given all measurements at once, by the textbook formula."""
    matrix = covariance[np.ix_(cells, cells)] + np.diag(errors)
    weights = np.linalg.solve(matrix, covariance[cells]).T
    return prior + weights @ (seen - prior), covariance - weights @ covariance[cells]


def taken_in(
    belief: CorrelatedTerrainBelief, parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all measurements merged by cell, without those that wait."""
    precision, weighted = -belief._waiting
    for cells, seen, errors in parts:
        np.add.at(precision, cells, 1.0 / errors)
        np.add.at(weighted, cells, seen / errors)
    cells = np.flatnonzero(belief.measured)
    assert (np.delete(precision, cells) == 0.0).all()
    return cells, weighted[cells] / precision[cells], 1.0 / precision[cells]


kernels = st.builds(Matern, st.floats(0.5, 20.0), st.floats(1.0, 10.0), st.sampled_from([1.5, 2.5]))


@settings(max_examples=25, deadline=None)
@given(kernels, st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_updates_one_by_one_equal_conditioning_at_once(
    kernel: Matern, seed: int, looks: int, as_matrix: bool
) -> None:
    rng, cell = np.random.default_rng(seed), (1.0, 2.0)
    covariance = kernel.covariance(distances(SHAPE, cell))
    given_kernel = covariance + 1e-9 * np.eye(CELLS) if as_matrix else kernel
    belief = CorrelatedTerrainBelief(SHAPE, given_kernel, 3.0, cell=cell)
    parts = []
    for _ in range(looks):
        cells = rng.choice(CELLS, rng.integers(1, 6), replace=False).astype(np.int32)
        seen, errors = rng.normal(size=len(cells)), rng.uniform(0.01, 1.0, len(cells))
        belief = belief.update(Heights(cells, seen, errors))
        parts.append((cells, seen, errors))
    mean, exact = batch(covariance, 3.0, *taken_in(belief, parts))
    np.testing.assert_allclose(belief.height, mean, atol=1e-6)
    fell = (
        np.linalg.slogdet(covariance + 1e-9 * np.eye(CELLS))[1]
        - np.linalg.slogdet(exact + 1e-9 * np.eye(CELLS))[1]
    )
    assert belief.information == pytest.approx(0.5 * fell, abs=0.02)
    np.testing.assert_allclose(belief.variance, np.diagonal(exact), atol=1e-6)
    np.testing.assert_allclose(belief.covariance(np.arange(CELLS)), exact, atol=1e-6)
    dest = grid_graph(*SHAPE).dest
    for a in range(3, 7):
        here = np.flatnonzero(dest[:, a] != np.arange(CELLS))
        there = dest[here, a]
        spread = exact[here, here] + exact[there, there] - 2.0 * exact[here, there]
        np.testing.assert_allclose(belief._spread[a - 3, here], spread, atol=1e-6)


def test_repeated_looks_wait_until_they_tell_enough() -> None:
    kernel, rng = Matern(4.0, 3.0), np.random.default_rng(1)
    belief, parts = CorrelatedTerrainBelief(SHAPE, kernel, cell=1.0), []
    for _ in range(60):
        part = np.array([3, 4, 8], np.int32), rng.normal(size=3), np.full(3, 0.2)
        belief = belief.update(Heights(*part))
        parts.append(part)
        assert (belief._waiting[0] * belief.variance < FOLD - 1.0).all()
    assert (
        6 < sum(map(len, belief._columns)) <= 3 * 5
    )  # a first look each, then 3, 12, ... of them at once
    covariance = kernel.covariance(distances(SHAPE, (1.0, 1.0)))
    mean, exact = batch(covariance, 0.0, *taken_in(belief, parts))
    np.testing.assert_allclose(belief.height, mean, atol=1e-9)
    np.testing.assert_allclose(belief.variance, np.diagonal(exact), atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(kernels, st.integers(0, 2**32 - 1))
def test_a_belief_stays_valid_after_two_different_updates(kernel: Matern, seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = CorrelatedTerrainBelief(SHAPE, kernel, cell=1.0, climb=30.0)
    looks = [
        Heights(rng.choice(CELLS, 3, replace=False), rng.normal(size=3), np.full(3, 0.1))
        for _ in range(3)
    ]
    old = belief.update(looks[0])
    before = old.covariance(np.arange(CELLS)), old.height.copy(), old.mean().success.copy()
    one, other = old.update(looks[1]), old.update(looks[2])
    again = belief.update(looks[0]).update(looks[1])
    assert (old.covariance(np.arange(CELLS)) == before[0]).all()
    assert (old.height == before[1]).all()
    assert (old.mean().success == before[2]).all()
    np.testing.assert_allclose(one.height, again.height, atol=1e-9)
    copy = belief.update(looks[0]).update(looks[2])
    np.testing.assert_allclose(
        other.covariance(np.arange(CELLS)), copy.covariance(np.arange(CELLS)), atol=1e-9
    )
    loaded = pickle.loads(pickle.dumps(one)).update(looks[2])
    np.testing.assert_allclose(loaded.height, one.update(looks[2]).height, atol=1e-9)


@settings(max_examples=8, deadline=None)
@given(kernels, st.integers(0, 2**32 - 1))
def test_success_is_that_of_heights_drawn_from_the_joint_posterior(
    kernel: Matern, seed: int
) -> None:
    rng, draws = np.random.default_rng(seed), 4000
    belief = CorrelatedTerrainBelief(SHAPE, kernel, cell=1.0, climb=25.0, descend=40.0)
    cells = rng.choice(CELLS, 6, replace=False)
    belief = belief.update(Heights(cells, rng.normal(size=6), np.full(6, 0.05)))
    exact = belief.covariance(np.arange(CELLS)) + 1e-10 * np.eye(CELLS)
    drawn = rng.multivariate_normal(belief.height, exact, draws, method="cholesky")
    rise = drawn[:, grid_graph(*SHAPE).dest] - drawn[:, :, None]
    length = np.hypot(*np.array(STEPS).T)
    works = (rise <= np.tan(np.radians(25.0)) * length) & (
        rise >= -np.tan(np.radians(40.0)) * length
    )
    success = belief.mean().success
    assert np.abs(works.mean(axis=0) - success).max() < 5.5 * 0.5 / np.sqrt(draws)
    assert not len(belief.least_blocked()[0])


def test_worlds_that_it_draws_have_the_posterior_mean_and_covariance() -> None:
    rng = np.random.default_rng(3)
    belief = CorrelatedTerrainBelief((3, 3), Matern(2.0, 2.0, 2.5), 5.0, cell=1.0)
    belief = belief.update(Heights(np.array([0, 4]), np.array([4.0, 6.0]), np.array([0.1, 0.5])))
    drawn = np.array([belief.draw(rng) for _ in range(20_000)])
    np.testing.assert_allclose(drawn.mean(axis=0), belief.height, atol=0.06)
    np.testing.assert_allclose(np.cov(drawn.T), belief.covariance(np.arange(9)), atol=0.08)


def test_attempted_moves_are_known_and_agree_with_drawn_worlds() -> None:
    belief = CorrelatedTerrainBelief((2, 3), Matern(1.0, 2.0), cell=1.0, climb=20.0, descend=30.0)
    belief = belief.update(Transition(0, 3, 1)).update(Transition(1, 3, 1))
    success = belief.mean().success
    assert success[[0, 1], 3].tolist() == [1.0, 0.0]
    assert len(belief.least_blocked()[0])
    rng = np.random.default_rng(0)
    for _ in range(20):
        model = belief.sample(rng)
        assert model.success[[0, 1], 3].tolist() == [1.0, 0.0]
    with pytest.raises(ImpossibleObservationError, match="contradicts"):
        belief.update(Transition(0, 3, 0))


def test_attempts_between_precisely_measured_cells_leave_probabilities_exact() -> None:
    belief = CorrelatedTerrainBelief((2, 3), Matern(1.0, 2.0), cell=1.0, climb=45.0, descend=45.0)
    belief = belief.update(Heights(np.array([0, 1]), np.zeros(2), np.full(2, 1e-6)))
    alone = belief.mean().success
    belief = belief.update(Transition(0, 3, 1))
    assert not len(belief.least_blocked()[0])
    np.testing.assert_allclose(belief.mean().success, alone, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(kernels, st.integers(0, 2**32 - 1))
def test_bounds_after_attempts_hold_by_enumeration(kernel: Matern, seed: int) -> None:
    """On three cells in a row the truth is a bivariate normal probability."""
    rng = np.random.default_rng(seed)
    climb = float(rng.uniform(10.0, 60.0))
    belief = CorrelatedTerrainBelief((1, 3), kernel, cell=1.0, climb=climb, descend=89.9)
    belief = belief.update(Heights(np.array([0]), rng.normal(size=1), np.array([0.01])))
    worked = bool(rng.random() < 0.5)
    known = belief.update(Transition(0, 3, 1 if worked else 0))
    low, high = known.success_bounds()
    limit = np.tan(np.radians(climb))
    rise = np.array([[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]])
    law = multivariate_normal(
        rise @ belief.height, rise @ belief.covariance(np.arange(3)) @ rise.T, allow_singular=True
    )
    both, one = law.cdf([limit, limit]), law.cdf([limit, 1e6])
    any_one = law.cdf([1e6, limit])
    truth = both / one if worked else (any_one - both) / (1.0 - one)
    assert low[1, 3] <= truth + 1e-4
    assert high[1, 3] >= truth - 1e-4


@settings(max_examples=10, deadline=None)
@given(kernels, st.integers(0, 2**32 - 1))
def test_the_union_bound_of_a_way_is_never_above_the_truth(kernel: Matern, seed: int) -> None:
    rng = np.random.default_rng(seed)
    belief = CorrelatedTerrainBelief((1, 4), kernel, cell=1.0, climb=35.0, descend=89.9)
    belief = belief.update(Heights(np.array([0, 3]), rng.normal(size=2), np.full(2, 0.01)))
    rise = np.diff(np.eye(4), axis=0)
    law = multivariate_normal(
        rise @ belief.height, rise @ belief.covariance(np.arange(4)) @ rise.T, allow_singular=True
    )
    truth = law.cdf(np.full(3, np.tan(np.radians(35.0))))
    bound = 1.0 - belief.blocked_probability()[[0, 1, 2], 3].sum()
    assert bound <= truth + 1e-4


def test_the_gain_of_a_look_is_the_drop_in_entropy() -> None:
    belief = CorrelatedTerrainBelief(SHAPE, Matern(4.0, 3.0), cell=1.0)
    cells, errors = np.array([2, 3, 7]), np.array([0.1, 0.2, 0.3])
    after = belief.update(Heights(cells, np.zeros(3), errors))
    every = np.arange(CELLS)
    entropy = [np.linalg.slogdet(b.covariance(every))[1] / 2.0 for b in (belief, after)]
    assert belief.information_gain(cells, errors) == pytest.approx(entropy[0] - entropy[1])


def test_blocked_cells_are_never_entered() -> None:
    blocked = np.zeros(6, dtype=bool)
    blocked[4] = True
    belief = CorrelatedTerrainBelief((2, 3), Matern(1.0, 2.0), cell=1.0, blocked=blocked)
    success, dest = belief.mean().success, belief.mean().dest
    assert (success[(dest == 4) & (np.arange(6) != 4)[:, None]] == 0.0).all()
    with pytest.raises(InvalidBeliefError, match="measured and blocked"):
        belief.update(Heights(np.array([4]), np.zeros(1), np.ones(1)))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.ones((6, 6)), "not positive definite"),
        (np.triu(np.ones((6, 6))), "not symmetric"),
        (np.eye(5), "shape"),
        (np.full((6, 6), np.nan), "not finite"),
    ],
)
def test_a_covariance_that_is_none_is_refused(kernel: np.ndarray, message: str) -> None:
    with pytest.raises(InvalidBeliefError, match=message):
        CorrelatedTerrainBelief((2, 3), kernel)


def test_wrong_arguments_are_named() -> None:
    kernel = Matern(1.0, 2.0)
    with pytest.raises(InvalidBeliefError, match="climb"):
        CorrelatedTerrainBelief((2, 3), kernel, climb=90.0)
    with pytest.raises(InvalidBeliefError, match="side"):
        CorrelatedTerrainBelief((2, 3), kernel, cell=0.0)
    with pytest.raises(InvalidBeliefError, match="prior mean is NaN"):
        CorrelatedTerrainBelief((2, 3), kernel, np.full(6, np.nan))
    with pytest.raises(InvalidBeliefError, match="can't learn from"):
        CorrelatedTerrainBelief((2, 3), kernel).update("nothing")  # type: ignore[arg-type]
