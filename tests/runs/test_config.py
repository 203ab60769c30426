from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from homeward.errors import InvalidInputError
from homeward.runs import Config
from homeward.runs.config import checked


class Rover(Config):
    delta: Annotated[float, Field(ge=0.0, le=1.0)] = 0.95
    path: tuple[int, int] = (0, 0)
    name: str


def test_what_is_not_given_is_filled_in() -> None:
    config = checked(Rover, {"name": "x", "path": [1, 2]}, "it")
    assert config.model_dump(mode="json") == {
        "seed": 0,
        "delta": 0.95,
        "path": [1, 2],
        "name": "x",
    }


def test_what_is_checked_already_is_given_back() -> None:
    config = Rover(name="x")
    assert checked(Rover, config, "it") is config


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValidationError):
        Rover(name="x").delta = 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "x", "delta": 1.5}, "the rover: delta is 1.5: input should be less than or"),
        ({"name": "x", "speed": 3}, "the rover: speed is not known"),
        ({}, "the rover: name is missing"),
        ({"name": 3}, "the rover: name is 3: input should be a valid string"),
        ({"name": "x", "delta": "0.5"}, 'the rover: delta is "0.5": input should be a valid num'),
        ({"name": "x", "delta": True}, "the rover: delta is true"),
        ({"name": "x", "seed": 1.0}, "the rover: seed is 1.0"),
        ({"name": "x", "seed": -1}, "the rover: seed is -1"),
        ({"name": "x", "path": [1, "a"]}, 'the rover: path.1 is "a"'),
        (
            {"name": "x", "delta": float("nan")},
            "the rover: delta is nan, expected a finite number$",
        ),
        ({"name": object()}, "the rover: name is <object.*>, which can't be written as JSON"),
        ({"delta": 2.0}, "delta is 2.0.*; name is missing"),
    ],
)
def test_a_message_names_the_key_and_what_it_holds(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        checked(Rover, given, "the rover")
