"""The scale benchmark, small."""

import numpy as np
import pytest

from lab.bench.scale import exponent, measure


def test_memory_grows_with_the_states_and_not_faster() -> None:
    small, large = measure((30, 50)), measure((60, 100))
    assert 300 < large["bytes_per_state"] <= 600
    assert large["bytes_per_state"] < 1.1 * small["bytes_per_state"]


def test_the_exponent_of_a_power_is_found() -> None:
    states = [10, 100, 1000]
    assert exponent(states, [3.0 * n**1.2 for n in states]) == pytest.approx(1.2)
    assert exponent(states, list(np.log(states))) < 1.0
