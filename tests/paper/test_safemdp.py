"""SafeMDP's Mars task: its score, the peer's algorithm and ours, on small synthetic ground."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homeward.beliefs.covariance import Matern
from homeward.errors import InvalidProblemError
from homeward.paper.safemdp import (
    LEAST_ROUGHNESS,
    LEAST_SLOPE,
    METHODS,
    OurExplorer,
    at_least_as_rough,
    by_start,
    compare,
    explore,
    summary,
)
from homeward.paper.safemdp_peer import KERNEL, explore_as_peer
from homeward.paper.safemdp_task import (
    UNSAFE_LIMIT,
    Ground,
    least_risks,
    read_ground,
    shortest_way,
    starts_of,
    way_along,
)

MAP = Path(os.environ.get("HOMEWARD_SAFEMDP_MAP", "mars_dtm_120x70.npy"))
"""The peer's map, which the project does not carry."""

WIDE = 16


def hills(seed: int = 0, rows: int = 14, columns: int = WIDE) -> Ground:
    """Return gentle ground with a wall across a part of it."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:rows, :columns] / 4.0
    heights = np.sin(row + rng.uniform(0, 6)) * np.cos(column + rng.uniform(0, 6))
    heights[: rows // 2, columns // 2 :] += 3.0
    return Ground(heights)


def test_known_moves_are_those_around_the_start_both_ways() -> None:
    ground = Ground(np.zeros((3, 3)))
    states, moves = ground.known(4)
    assert sorted(states.tolist()) == [1, 3, 4, 5, 7]
    assert moves.sum() == 8
    assert ground.score(4, np.ones(9, bool), ground.dest >= 0).coverage == 1.0


def test_a_drop_is_safe_and_a_state_without_return_is_not_counted() -> None:
    ground = Ground(np.array([[5.0, 5.0, 0.0]]))
    states, moves = ground.closed(ground.rise <= 0.3, np.array([0]))
    assert states.tolist() == [True, True, False]
    assert moves.sum() == 2
    assert ground.rise[1, 0] < 0.0


def test_claims_of_unsafe_moves_are_counted_as_false() -> None:
    ground = Ground(np.array([[0.0, 0.0, 2.0]]))
    score = ground.score(0, np.ones(3, bool), ground.dest >= 0)
    assert score.false_claims == 1
    assert score.coverage == 1.0


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_least_risks_are_those_of_bellman_and_ford(seed: int) -> None:
    rng, ground = np.random.default_rng(seed), Ground(np.zeros((4, 5)))
    risk = np.where(rng.random((20, 4)) < 0.2, np.inf, rng.random((20, 4)))
    for forward in (True, False):
        least, action = least_risks(ground.dest, risk, 7, forward)
        exact = np.full(20, np.inf)
        exact[7] = 0.0
        for _ in range(20):
            for s, a in np.argwhere(ground.dest >= 0):
                t = ground.dest[s, a]
                one, two = (s, t) if forward else (t, s)
                exact[two] = min(exact[two], exact[one] + risk[s, a])
        np.testing.assert_allclose(least, exact)
        if forward and np.isfinite(least[19]):
            state, total = 7, 0.0
            for a in way_along(ground.dest, action, 7, 19):
                total += risk[state, a]
                state = ground.dest[state, a]
            assert state == 19
            assert total == pytest.approx(least[19])


def test_a_shortest_way_uses_allowed_moves_only() -> None:
    ground = Ground(np.zeros((2, 3)))
    allowed = np.ones((6, 4), dtype=bool)
    allowed[0, 0] = False
    assert shortest_way(ground.dest, allowed, 0, 2).tolist() == [1, 0, 0, 3]
    allowed[0, 1] = False
    assert shortest_way(ground.dest, allowed, 0, 2).tolist() == [-1]


def test_the_peer_covers_gentle_ground_without_unsafe_moves() -> None:
    found = explore_as_peer(Ground(np.zeros((9, 9))), 40, measurements=60)
    assert found.unsafe == 0
    assert found.coverage > 0.5
    assert found.taken == 60


@pytest.mark.parametrize("kernel", [None, KERNEL])
def test_ours_stays_within_its_budget(kernel: Matern | None) -> None:
    ground = hills()
    start = starts_of(ground, 1, 0)[-1]
    found = explore(ground, start, kernel, measurements=40, delta=0.9)
    assert found.risk is not None
    assert found.risk <= 0.1 + 1e-12
    assert found.coverage > 0.1
    assert found.taken <= 40


def test_a_run_of_ours_ends_with_its_first_unsafe_move() -> None:
    heights = np.zeros((12, 12))
    heights[:, 6:] = 3.0
    found = explore(Ground(heights), 64, Matern(1e-4, 20.0), measurements=60, delta=0.9)
    assert found.unsafe == 1
    assert found.taken < 60


def test_a_measured_climb_a_centimetre_below_the_limit_is_nearly_certain() -> None:
    heights = np.zeros((5, 9))
    heights[:, 5:] = UNSAFE_LIMIT - 0.01
    run = OurExplorer(Ground(heights), 19, None, 0.9)
    run._measure((22, 23))
    assert run.risks()[22, 0] < 1e-9


def test_ours_claims_more_of_the_ground_with_more_measurements() -> None:
    ground = Ground(0.3 * np.sin(np.mgrid[:14, :WIDE].sum(axis=0) / 3.0))
    start = starts_of(ground, 1, 1)[-1]
    few, many = (explore(ground, start, None, measurements=n).coverage for n in (5, 80))
    assert many > few


def test_every_move_of_ours_was_charged_or_known() -> None:
    ground = hills(1)
    start = starts_of(ground, 1, 0)[-1]
    run = OurExplorer(ground, start, None, 0.9)
    known = run.made.copy()
    for _ in range(30):
        if not run.step():
            break
        assert run.left >= -1e-12
        assert (run.made & ~run.paid & ~known).sum() == 0


@settings(deadline=None)
@given(st.floats(0.01, 50.0), st.floats(1.0, 60.0))
def test_a_kernel_gets_rougher_and_steeper_but_never_smoother(
    variance: float, length: float
) -> None:
    kernel = Matern(variance, length)
    rough = at_least_as_rough(kernel)
    assert 3.0 * rough.variance / rough.length**2 >= LEAST_SLOPE**2 * (1.0 - 1e-9)
    before, after = (k.variance / k.length**3 for k in (kernel, rough))
    assert after == pytest.approx(max(before, LEAST_ROUGHNESS))


def test_the_study_tabulates_methods_and_starts(tmp_path: Path) -> None:
    file = tmp_path / "hills.npy"
    np.save(file, hills().heights)
    start = starts_of(read_ground(str(file)), 1, 0)[-1]
    cell = {"map": str(file), "start": start, "measurements": 5, "delta": 0.9}
    rows = [
        {**cell, "method": method, **compare({**cell, "method": method}, 0)} for method in METHODS
    ]
    assert [row["method"] for row in summary(rows)] == list(METHODS)
    assert len(by_start(rows, WIDE)) == 1


def test_a_file_that_is_no_map_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_text("nothing")
    with pytest.raises(InvalidProblemError, match="not a NumPy file"):
        read_ground(str(tmp_path / "x.npy"))
    with pytest.raises(InvalidProblemError, match="shape"):
        Ground(np.zeros(4))


@pytest.mark.skipif(not MAP.exists(), reason="the peer's map is not here")
def test_the_peer_gives_its_published_figures() -> None:
    ground = read_ground(str(MAP))
    start = starts_of(ground, 0, 0)[0]
    assert explore_as_peer(ground, start).coverage == pytest.approx(0.8028, abs=5e-5)
    alone = explore_as_peer(ground, start, expanders=False).coverage
    assert alone == pytest.approx(0.3044, abs=5e-5)
