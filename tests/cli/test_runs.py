"""``homeward runs`` as a user meets it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from tests.cli.invoking import answer, invoke, refused, stopped
from tests.runs.kinds import NAME

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.planning.ends import End
from homeward.runs import BusyError, Run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "meadow.toml"
    path.write_text("limit = 6\nseed = 4\n")
    return path


def test_a_run_is_started_listed_and_shown(tmp_path: Path, config: Path) -> None:
    runs = tmp_path / "runs"
    result = invoke("run", NAME, "--out", runs / "a", "--config", config)
    assert result.exit_code == 0, result.output
    assert "6 steps taken\nThe step limit of 6 was reached" in result.stdout

    (row,) = answer("runs", "list", runs)["runs"]
    assert (row["run"], row["status"], row["steps"], row["seed"]) == ("a", "finished", 6, 4)
    assert row["note"] == "the step limit was reached"
    assert "finished" in invoke("runs", "list", runs).stdout

    shown = answer("runs", "show", runs / "a", "--last", 2)
    assert shown["config"]["limit"] == 6
    assert shown["status"] == "finished"
    assert [step["step"] for step in shown["last_steps"]] == [5, 6]
    text = invoke("runs", "show", runs / "a").stdout
    assert "seed = 4" in text
    assert "ended: The step limit of 6 was reached" in text
    assert answer("runs", "show", runs / "a", "--last", 0)["last_steps"] == []


def test_what_is_shown_of_a_killed_run_is_what_is_in_its_log(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    killed = run.manifest
    next(steps)
    steps.close()
    killed.write(tmp_path / "run/manifest.json")
    shown = answer("runs", "show", tmp_path / "run")
    assert (shown["status"], shown["steps"], len(shown["last_steps"])) == ("interrupted", 2, 2)
    assert "interrupted, 2 steps" in invoke("runs", "show", tmp_path / "run").stdout


def test_a_stopped_run_is_resumed_to_the_same_way(tmp_path: Path, config: Path) -> None:
    assert answer("run", NAME, "--out", tmp_path / "whole", "--config", config)["steps"] == 6
    run = Run.create(tmp_path / "parts", NAME, {"limit": 6, "seed": 4})
    steps = run.steps()
    next(steps)
    steps.close()
    assert [r["status"] for r in answer("runs", "list", tmp_path)["runs"]] == [
        "interrupted",
        "finished",
    ]
    found = answer("runs", "resume", tmp_path / "parts")
    assert found["end"] == End.STEPS
    logs = [(tmp_path / n / "steps.jsonl").read_bytes() for n in ("whole", "parts")]
    assert logs[0] == logs[1]
    assert answer("runs", "resume", tmp_path / "parts", "--steps", 8)["steps"] == 8


def test_a_run_that_fails_exits_with_one_and_says_where_to_look(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", NAME, {"raises": 2})
    result = invoke("runs", "resume", tmp_path / "run")
    assert result.exit_code == 1
    assert (
        "failed: RuntimeError: thunder in step 2; to try again: homeward runs resume"
        in result.stderr
    )
    assert "Traceback" not in result.stderr
    assert "thunder in step 2" in invoke("runs", "show", tmp_path / "run").stdout
    (row,) = answer("runs", "list", tmp_path)["runs"]
    assert (row["status"], row["note"]) == ("failed", "RuntimeError: thunder in step 2")


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Run.create(tmp_path / name, NAME)
    (tmp_path / "a/manifest.json").write_text("{")
    first, second = answer("runs", "list", tmp_path)["runs"]
    assert first["status"] == "damaged"
    assert "is not JSON" in first["note"]
    assert second["status"] == "interrupted"
    assert "damaged" in invoke("runs", "list", tmp_path).stdout


def test_a_folder_without_runs_says_so(tmp_path: Path) -> None:
    assert "There are no runs" in invoke("runs", "list", tmp_path).stdout
    assert answer("runs", "list", tmp_path) == {"runs": []}


def test_other_versions_are_let_pass_when_asked(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    steps.close()
    path = tmp_path / "run/manifest.json"
    path.write_text(path.read_text().replace('"numba": "', '"numba": "9'))
    assert "other versions (numba" in str(refused("runs", "resume", tmp_path / "run"))
    assert answer("runs", "resume", tmp_path / "run", "--other-versions")["steps"] == 12


def test_a_users_mistakes_are_told_by_name(tmp_path: Path, config: Path) -> None:
    for command in ("show", "resume"):
        assert "gone: there is no run" in str(refused("runs", command, tmp_path / "gone"))
    assert isinstance(refused("runs", "list", tmp_path / "gone"), InvalidFileError)
    assert "no kind of run named 'mars'" in str(refused("run", "mars", "--out", tmp_path / "x"))
    bad = tmp_path / "bad.toml"
    bad.write_text("limit = ")
    assert "bad.toml: can't be read" in str(
        refused("run", NAME, "--out", tmp_path / "x", "--config", bad)
    )
    bad.write_text("speed = 3")
    error = refused("run", NAME, "--out", tmp_path / "x", "--config", bad)
    assert "speed is not known" in str(error)
    assert isinstance(error, InvalidInputError)
    assert not (tmp_path / "x").exists()


def test_a_run_that_is_being_written_is_refused(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    assert isinstance(refused("runs", "resume", tmp_path / "run"), BusyError)
    assert answer("runs", "list", tmp_path)["runs"][0]["status"] == "running"
    steps.close()


def test_ctrl_c_stops_a_run_cleanly_and_it_goes_on_the_same_way(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("limit = 100\npause = 0.05")
    arguments = ["run", NAME, "--out", "run", "--config", str(config)]
    log = tmp_path / "run/steps.jsonl"
    code, errors = stopped(arguments, lambda: log.exists() and log.stat().st_size > 0, tmp_path)
    assert code == 130, errors
    assert re.fullmatch(r"stopped, \d+ steps; to resume: homeward runs resume run\n", errors)
    run = Run.open(tmp_path / "run")
    taken = len(list(run.records()))
    assert 0 < taken < 100
    run.resume(limit=taken + 3)
    whole = Run.create(tmp_path / "whole", NAME, {"limit": taken + 3})
    whole.resume()
    assert run.trajectory() == whole.trajectory()


def test_a_run_is_drawn_and_filmed_as_it_stands(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "grid", "grid", {"size": 5, "limit": 2})
    assert invoke("runs", "draw", run.directory).exit_code == 0
    assert (run.directory / "map.png").stat().st_size > 1000
    run.resume()
    film = tmp_path / "walk.gif"
    assert f"picture: {film}" in invoke("runs", "draw", run.directory, "--out", film).stdout
    assert film.read_bytes()[:3] == b"GIF"
    Run.create(tmp_path / "meadow", NAME)
    for name in ("a.png", "a.gif"):
        error = refused("runs", "draw", tmp_path / "meadow", "--out", tmp_path / name)
        assert "meadow: a tests.runs.kinds:" in str(error)
        assert not (tmp_path / name).exists()


def test_the_steps_of_a_run_are_exported(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "grid", "grid", {"size": 6, "limit": 3, "seed": 2})
    run.resume()
    records = list(run.records())
    for name in ("a.csv", "a.json"):
        assert (
            f"{len(records)} steps"
            in invoke("runs", "export", run.directory, "--out", tmp_path / name).stdout
        )
    head, *lines = (tmp_path / "a.csv").read_text().splitlines()
    assert head.startswith("step,state,action,next_state,status,value,upper,return to the start")
    assert len(lines) == len(records)
    rows = json.loads((tmp_path / "a.json").read_text())["steps"]
    assert [row["next_state"] for row in rows] == [record.next_state for record in records]
    error = refused("runs", "export", run.directory, "--out", tmp_path / "a.txt")
    assert ".csv or .parquet" in str(error)


def test_what_a_step_pursues_is_a_sentence(tmp_path: Path) -> None:
    Run.create(tmp_path / "grid", "grid", {"size": 5, "limit": 2}).resume()
    text = invoke("runs", "show", tmp_path / "grid").stdout
    assert "a gain of" in text
    assert "{" not in text.split("Last steps")[1]


def test_fewer_steps_than_were_taken_change_nothing(tmp_path: Path, config: Path) -> None:
    run = tmp_path / "run"
    assert invoke("run", NAME, "--out", run, "--config", config).exit_code == 0
    for words in (("runs", "resume", run), ("run", NAME, "--out", run)):
        result = invoke(*words, "--steps", 1)
        assert result.exit_code == 0
        said = f"{run}: has already taken 6 steps, more than --steps 1; nothing was changed\n"
        assert result.stderr == said
