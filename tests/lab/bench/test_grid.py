from __future__ import annotations

from homeward.solvers import kernels
from lab.bench.grid import clocked, measure


def test_steps_are_timed_and_split() -> None:
    found = measure(8, 0.2, 1.0, 10, 0)
    assert (found["squares"], found["steps"]) == (64, 10)
    assert 0.0 < found["lower_ms"] <= found["median_ms"] <= found["upper_ms"]
    assert 0.0 < found["outside_kernels"] < 1.0


def test_all_that_is_compiled_in_a_plan_has_a_clock() -> None:
    with clocked() as spent:
        found = kernels.optimise_moves
        assert not hasattr(found, "py_func")
        measure(6, 0.2, 1.0, 3, 0)
        assert spent() > 0.0


def test_clocks_are_taken_off_again() -> None:
    before = kernels.optimise_moves
    with clocked() as spent:
        assert kernels.optimise_moves is not before
        assert spent() == 0.0
    assert kernels.optimise_moves is before
