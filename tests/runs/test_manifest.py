from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import homeward
from homeward.errors import InvalidFileError
from homeward.planning.ends import End
from homeward.runs import Manifest, RunStatus
from homeward.runs.manifest import FORMAT, Session, changes, made_with, versions_here

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = Manifest(
    format=FORMAT,
    kind="meadow",
    config_sha256="00",
    seed=3,
    created="2000-01-01T00:00:00+00:00",
    updated="2000-01-01T00:00:00+00:00",
    status=RunStatus.RUNNING,
    steps=7,
    limit=None,
    end=None,
    error=None,
    sessions=(Session(started="2000", ended=None, first=1, versions={"numpy": "2.0"}),),
)


def test_a_manifest_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    MANIFEST.write(path)
    assert Manifest.read(path) == MANIFEST


@pytest.mark.parametrize("end", End)
def test_an_end_is_written_as_its_code(tmp_path: Path, end: End) -> None:
    path = tmp_path / "manifest.json"
    MANIFEST.model_copy(update={"end": end}).write(path)
    assert json.loads(path.read_text())["end"] == end.value
    assert Manifest.read(path).end is end


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 3}, "has format 3; homeward .* reads formats up to 2"),
        ({"status": "lost"}, 'status is "lost"'),
        ({"end": "it was bored"}, 'end is "it was bored"'),
        ({"colour": "red"}, "colour is not known"),
        ({"steps": "7"}, 'steps is "7"'),
    ],
)
def test_another_manifest_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(MANIFEST.model_dump(mode="json") | change))
    with pytest.raises(InvalidFileError, match=message):
        Manifest.read(path)


@pytest.mark.parametrize("text", ["[]", '{"name": "a web page"}', "3"])
def test_what_is_not_ours_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match=r"manifest\.json: was not written by homeward"):
        Manifest.read(path)


def test_the_versions_are_those_installed() -> None:
    import numpy as np

    here = versions_here()
    assert here["numpy"] == np.__version__
    assert here["homeward"] == homeward.__version__
    assert changes(here, here) == []


def test_a_change_that_may_matter_is_named() -> None:
    here = versions_here()
    assert changes(here | {"numpy": "1.0"}, here) == [f"numpy 1.0 is now {here['numpy']}"]
    assert changes(here | {"python": "3.0"}, here) == []
    assert changes({}, here)


@pytest.mark.parametrize(
    ("first", "last", "alike"),
    [(1, 4, True), (5, 5, False), (1, 5, False), (3, 7, False), (6, 9, True), (7, 6, True)],
)
def test_steps_are_told_apart_by_the_versions_that_they_were_taken_with(
    first: int, last: int, alike: bool
) -> None:
    here = versions_here()
    other = here | {"numpy": "1.0"}
    sessions = tuple(
        Session(started="", ended=None, first=n, versions=versions)
        for n, versions in ((1, here), (5, other), (6, other), (6, here))
    )
    assert made_with(here, sessions, first, last) is alike


def test_no_steps_are_of_no_other_version() -> None:
    assert made_with(versions_here(), (), 1, 0)
