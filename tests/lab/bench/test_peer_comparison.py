"""Peers on small problems: everyone agrees with us, and a slow one is ended."""

import time

import pytest

from lab.bench.peer_comparison import general, refereed, unconstrained, within


def test_every_mdp_library_finds_our_values() -> None:
    found = list(unconstrained((5, 8), 0.95, limit=120.0, small=True))
    assert len(found) == 5
    assert all(c.difference is not None and c.difference < 1e-8 for c in found)


def test_quantecon_finds_our_values_on_a_random_sparse_model() -> None:
    _, other = general(200, 0.9, limit=120.0)
    assert other.difference is not None
    assert other.difference < 1e-8


def test_storm_finds_our_constrained_objective() -> None:
    _, storm = refereed((4, 6), 0.9, 0.9, limit=120.0)
    assert storm.difference is not None
    assert storm.difference < 2e-3  # its multi-objective engine stops at 1e-4


def test_what_takes_too_long_has_no_answer() -> None:
    before = time.perf_counter()
    assert within(1.0, time.sleep, 60) is None
    assert time.perf_counter() - before < 30


def test_what_is_quick_is_answered() -> None:
    assert within(60.0, max, 1, 2) == pytest.approx(2)
