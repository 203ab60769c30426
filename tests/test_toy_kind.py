"""A new kind of world is one file of another package: all that kinds can do, it can."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.web.frames import unpack
from tests.web.site import serving
from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.replay import Replay
from homeward.runs import Run, find_kind
from homeward.runs.kind import installed_kinds, kind_names
from homeward.studies import StudyFile, conduct, define

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "corridor"


@pytest.fixture
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the kind as a package of its own, for this process and those that it starts."""
    site = tmp_path / "site"
    about = site / "corridor_worlds-1.dist-info"
    about.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("toy_kind.py"), site / "corridor_worlds.py")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: corridor-worlds\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[homeward.kinds]\ncorridor = corridor_worlds:CORRIDOR\n"
    )
    monkeypatch.syspath_prepend(str(site))
    paths = [str(site), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path))
    installed_kinds.cache_clear()
    yield
    installed_kinds.cache_clear()


@pytest.fixture
def run(_installed: None, tmp_path: Path) -> Run:
    made = Run.create(tmp_path / "runs" / "whole", NAME)
    made.resume()
    return made


def test_it_is_found_by_its_name(run: Run) -> None:
    assert NAME in kind_names()
    assert run.kind == NAME
    assert run.manifest.steps > 3


def test_it_is_resumed_to_the_same_log(run: Run, tmp_path: Path) -> None:
    parts = Run.create(tmp_path / "parts", NAME)
    while parts.manifest.end is None:
        next(parts.steps(), None)
    logs = [(each.directory / "steps.jsonl").read_bytes() for each in (run, parts)]
    assert logs[0] == logs[1]


def test_it_is_drawn(run: Run, tmp_path: Path) -> None:
    draw = find_kind(NAME).draw
    assert draw is not None
    draw(run, tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000


def test_it_is_replayed(run: Run) -> None:
    replay = Replay(run.directory)
    moment = replay.at(2)
    assert moment.state == list(run.records())[2].state
    assert replay.layers(2, ["v", "visited"])["v"].shape == (1, 6)
    assert replay.plan(2)[1]
    assert replay.why(2)["action"] == list(run.records())[2].action


def test_it_is_certified(run: Run) -> None:
    found = CliRunner().invoke(app, ["certify", str(run.directory)])
    assert found.exit_code == 0, found.output


@pytest.mark.usefixtures("_installed")
def test_it_is_studied(tmp_path: Path) -> None:
    study = define("rooms", "corridor_worlds:explore", [{"rooms": 4}, {"rooms": 5}], range(2))
    with StudyFile.open(tmp_path / "rooms.sqlite", study) as study_file:
        outcomes = list(conduct(study_file, workers=0))
    assert len(outcomes) == 4
    assert not any(outcome.failed for outcome in outcomes)


def test_it_is_served(run: Run) -> None:
    with serving(run.directory.parent, viewers=1) as site:
        summary = site.get("/api/v1/runs").json()["runs"][0]
        assert (summary["kind"], summary["shape"]) == (NAME, [1, 6])
        layers = [each["name"] for each in site.get("/api/v1/runs/whole").json()["layers"]]
        assert layers == ["v", "bonus", "success", "visited"]
        frame = site.get("/api/v1/runs/whole/steps/2/fields?layers=v,visited").content
        assert unpack(frame)[1]["visited"].shape == (1, 6)
        assert site.get("/api/v1/runs/whole/steps/2/why").json()["agrees"]
        assert NAME in site.get("/api/v1/kinds").json()
        made = site.post("/api/v1/runs", {"kind": NAME, "name": "new", "config": {"rooms": 4}})
        assert made.status_code == 201
        assert site.wait("new", "finished")["steps"] > 0
