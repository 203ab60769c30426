"""The scale benchmark, small."""

import numpy as np
import pytest

from lab.bench.scale import explore, exponent, measure


def test_memory_grows_with_the_states_and_not_faster() -> None:
    small, large = measure((30, 50), "ring", 3), measure((60, 100), "ring", 3)
    assert 100 < large["bytes_per_state"] <= 600
    assert large["bytes_per_state"] < 1.1 * small["bytes_per_state"]


def test_an_exploration_is_told_per_step_and_per_second() -> None:
    found = explore((10, 20), "ring", 5, 0)
    assert found["nats"] == pytest.approx(found["nats_per_step"] * found["steps"])
    assert found["nats_per_second"] > 0.0


def test_the_exponent_of_a_power_is_found() -> None:
    states = [10, 100, 1000]
    assert exponent(states, [3.0 * n**1.2 for n in states]) == pytest.approx(1.2)
    assert exponent(states, list(np.log(states))) < 1.0
