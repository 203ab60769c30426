from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.invoking import invoke

from homeward.errors import HomewardError

if TYPE_CHECKING:
    from pathlib import Path

LAKE = ("toytext", "--world", "lake", "--delta", "0.5")


def asked(*words: str, code: int = 0) -> dict[str, Any]:
    """Return the JSON that a command prints."""
    done = invoke("mission", *words, "--json")
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_mission_on_the_command_line(tmp_path: Path) -> None:
    folder = str(tmp_path / "m")
    assert asked("start", *LAKE, folder)["start"] == "S(0,0)"
    assert asked("next", folder, code=2)["code"] == "no_look"
    assert "; started 2" in invoke("mission", "status", folder).output
    assert "no map coordinates" in asked("points", folder, code=2)["error"]
    assert asked("observe", folder, "--position", "0,0")["reports"][0]["status"] == "first_look"
    advice = asked("next", folder)
    assert advice["move"] is not None
    told = invoke("mission", "next", folder).output
    assert f"Next move: {advice['move']}" in told
    assert "Promise: at any recall" in told
    refused = asked("observe", folder, "--position", "3,3", "--tried", "wait", code=2)
    assert refused["code"] == "not_advised"
    words = ("observe", folder, "--position", "0,0", "--tried", "wait", "--id", "7")
    assert asked(*words)["reports"][0]["status"] in ("own", "step")
    assert asked(*words)["reports"][0]["status"] == "repeated"
    said = invoke("mission", "observe", folder, "--position", "0,0", "--tried", "wait").output
    assert said.startswith("Step 2: wait was taken")
    assert "3 reports" in invoke("mission", "status", folder).output
    assert "There is no GPX and no KML" in invoke("mission", "recall", folder).output
    assert invoke("certify", folder).exit_code == 0


def test_reports_of_a_file_have_no_options(tmp_path: Path) -> None:
    folder, file = str(tmp_path / "m"), tmp_path / "reports.jsonl"
    asked("start", *LAKE, folder)
    file.write_text('{"position": [0, 0]}\n')
    done = invoke("mission", "observe", folder, str(file), "--tried", "left")
    assert isinstance(done.exception, HomewardError)
    assert "--tried can't be given" in str(done.exception)
    assert asked("observe", folder, code=2)["error"].startswith("nothing to report")
    assert asked("observe", folder, str(file))["reports"][0]["step"] == 0
    (tmp_path / "empty.json").write_text("{}")
    empty = asked("observe", folder, str(tmp_path / "empty.json"), code=2)
    assert (empty["code"], asked("status", folder)["steps"]) == ("format", 0)
    assert empty["error"].endswith("nothing of the vehicle, since it has nothing: give position")
    assert asked("observe", folder, str(tmp_path / "no.jsonl"), code=2)["code"] == "file"


@pytest.mark.parametrize("option", ["--seed", "--steps", "--truth", "--film"])
def test_an_option_of_a_simulation_is_refused_with_its_reason(option: str, tmp_path: Path) -> None:
    done = invoke("mission", "start", "rover", str(tmp_path / "m"), option, "1")
    assert isinstance(done.exception, HomewardError)
    assert str(done.exception).startswith(f"{option} applies only to simulated worlds")
    assert f"{option} " not in invoke("mission", "start", "rover", "--help").output


def test_a_folder_that_is_no_mission_is_refused(tmp_path: Path) -> None:
    assert asked("next", str(tmp_path / "none"), code=2)["code"] == "file"
    run = str(tmp_path / "run")
    invoke("run", "toytext", "--steps", "1", "--out", run)
    assert "is a run in a simulated world" in asked("observe", run, code=2)["error"]
