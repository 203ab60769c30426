from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from homeward.beliefs import Sensor
from homeward.errors import InvalidProblemError


def test_the_papers_sensor_is_off_by_a_thousandth_of_the_distance_and_one_metre() -> None:
    sensor = Sensor()
    assert sensor.reach == math.inf
    assert sensor.variance(0.0) == pytest.approx(1e-6)
    assert np.sqrt(sensor.variance(np.array([9.0, 999.0]))) == pytest.approx([0.01, 1.0])


def test_noise_and_offset_are_what_they_are_set_to() -> None:
    assert Sensor(None, 2.0, 3.0).variance(1.0) == 32.0


def test_an_infinite_range_is_none() -> None:
    assert Sensor(math.inf) == Sensor(None) == Sensor()
    assert hash(Sensor(math.inf)) == hash(Sensor())
    assert Sensor(200).reach == 200.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"range": -1.0}, "the sensor's range is -1 m"),
        ({"range": math.nan}, "the sensor's range is nan"),
        ({"range": "far"}, "the sensor's range is 'far'"),
        ({"noise": 0.0}, "the sensor's noise is 0, expected > 0"),
        ({"noise": math.inf}, "the sensor's noise is inf"),
        ({"offset": 0.0}, "the sensor's offset is 0, expected > 0"),
        ({"offset": None}, "the sensor's offset is None"),
    ],
)
def test_a_sensor_that_is_none_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidProblemError, match=message):
        Sensor(**wrong)
