from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from tests.runs.kinds import MEADOW, NAME

from homeward.beliefs import Visit
from homeward.errors import InvalidInputError
from homeward.runs import Digest, find_kind, kind, register
from homeward.runs.kind import load


@pytest.fixture(autouse=True)
def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kind, "_KINDS", dict(kind._KINDS))


def test_a_registered_kind_is_found_by_its_name() -> None:
    assert register(MEADOW) is MEADOW
    assert find_kind("meadow") is MEADOW
    assert register(MEADOW) is MEADOW


def test_a_kind_is_found_where_it_can_be_imported() -> None:
    assert find_kind(NAME) is MEADOW


def test_the_librarys_own_kind_is_known() -> None:
    assert find_kind("toytext").name == "toytext"


def test_a_name_is_given_once() -> None:
    register(MEADOW)
    with pytest.raises(InvalidInputError, match="another kind of run is already named meadow"):
        register(replace(MEADOW, version=2))
    with pytest.raises(InvalidInputError, match="another kind of run is already named toytext"):
        register(replace(MEADOW, name="toytext"))


def test_an_unknown_name_is_refused_and_the_known_ones_are_told() -> None:
    with pytest.raises(InvalidInputError, match="'mars': expected one of grid, rover, toytext"):
        find_kind("mars")


def test_what_is_no_kind_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"tests\.runs\.kinds:make is a function, not a"):
        find_kind("tests.runs.kinds:make")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a:b"}, "'a:b' can't be the name"),
        ({"name": ""}, "'' can't be the name"),
        ({"config": dict}, "the config of meadow is not a subclass of Config"),
        ({"observations": (int,)}, "is not a dataclass"),
        ({"spacing": 0}, "the spacing of meadow is 0, expected 1 or more"),
    ],
)
def test_a_kind_is_checked(change: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        replace(MEADOW, **change)  # type: ignore[arg-type]


def test_an_observation_is_recorded_whole_or_as_its_digest() -> None:
    seen = Visit(3)
    assert MEADOW.written(seen) == {"Visit": {"state": 3}}
    digest = replace(MEADOW, digests=True).written(seen)
    assert digest == {"digest": Digest.of(seen).digest}
    assert digest != replace(MEADOW, digests=True).written(Visit(4))


def test_types_must_be_dataclasses_that_can_be_told_apart() -> None:
    clash: type = dataclass(type("Visit", (), {"__annotations__": {"x": int}}))
    with pytest.raises(InvalidInputError, match="two observations are named Visit"):
        replace(MEADOW, observations=(Visit, clash))
    with pytest.raises(InvalidInputError, match="is not a dataclass"):
        replace(MEADOW, observations=(int,))
    with pytest.raises(InvalidInputError, match="can't be named array"):
        replace(MEADOW, observations=(dataclass(type("array", (), {})),))


def test_a_reference_is_a_module_and_a_name() -> None:
    assert load("homeward.runs.kind:load", "the task") is load


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("json", "the task is 'json', expected module:name"),
        (":loads", "the task is ':loads', expected module:name"),
        ("json:", "the task is 'json:', expected module:name"),
        ("no_such_module:x", "the task 'no_such_module:x': no_such_module can't be imported: Mod"),
        ("json:no_such", "the task 'json:no_such': json has no no_such"),
        ("tests.runs.explosive:x", "can't be imported: ZeroDivisionError: .*by zero"),
    ],
)
def test_what_is_none_is_refused_by_name(reference: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load(reference, "the task")
