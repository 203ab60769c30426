"""``homeward runs`` as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.runs.kinds import NAME
from typer.testing import CliRunner

from homeward.cli.runs import app
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError
from homeward.planning.explorer import End
from homeward.runs import BusyError, Run
from homeward.studies import Ledger, define

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

ROOT = Path(__file__).parents[2]
TASKS = "tests.studies.tasks"

MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored before
from homeward.cli import main
main()
"""


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(*arguments: object) -> HomewardError:
    """Give the mistake that `main` turns into one line and exit code 2."""
    result = invoke(*arguments)
    assert isinstance(result.exception, HomewardError), result.output
    return result.exception


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "meadow.toml"
    path.write_text("limit = 6\nseed = 4\n")
    return path


def test_a_run_is_started_listed_and_shown(tmp_path: Path, config: Path) -> None:
    runs = tmp_path / "runs"
    result = invoke("start", NAME, runs / "a", "--config", config)
    assert result.exit_code == 0, result.output
    assert "6 steps. The step limit of 6 was reached" in result.stdout

    (row,) = answer("list", runs)["runs"]
    assert (row["run"], row["status"], row["steps"], row["seed"]) == ("a", "finished", 6, 4)
    assert row["note"] == "the step limit was reached"
    assert "finished" in invoke("list", runs).stdout

    shown = answer("show", runs / "a", "--steps", 2)
    assert shown["config"]["limit"] == 6
    assert shown["status"] == "finished"
    assert [step["step"] for step in shown["last_steps"]] == [5, 6]
    text = invoke("show", runs / "a").stdout
    assert "seed = 4" in text
    assert "ended: The step limit of 6 was reached" in text
    assert answer("show", runs / "a", "--steps", 0)["last_steps"] == []


def test_what_is_shown_of_a_killed_run_is_what_is_in_its_log(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    killed = run.manifest
    next(steps)
    steps.close()
    killed.write(tmp_path / "run/manifest.json")
    shown = answer("show", tmp_path / "run")
    assert (shown["status"], shown["steps"], len(shown["last_steps"])) == ("interrupted", 2, 2)
    assert "interrupted, 2 steps" in invoke("show", tmp_path / "run").stdout


def test_a_stopped_run_is_resumed_to_the_same_way(tmp_path: Path, config: Path) -> None:
    assert answer("start", NAME, tmp_path / "whole", "--config", config)["steps"] == 6
    run = Run.create(tmp_path / "parts", NAME, {"limit": 6, "seed": 4})
    steps = run.steps()
    next(steps)
    steps.close()
    assert [r["status"] for r in answer("list", tmp_path)["runs"]] == ["interrupted", "finished"]
    found = answer("resume", tmp_path / "parts")
    assert found["end"] == End.STEPS
    logs = [(tmp_path / n / "steps.jsonl").read_bytes() for n in ("whole", "parts")]
    assert logs[0] == logs[1]
    assert answer("resume", tmp_path / "parts", "--limit", 8)["steps"] == 8


def test_a_run_that_fails_exits_with_one_and_says_where_to_look(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", NAME, {"raises": 2})
    result = invoke("resume", tmp_path / "run")
    assert result.exit_code == 1
    assert "failed: RuntimeError: thunder in step 2; homeward runs show" in result.stderr
    assert "Traceback" not in result.stderr
    assert "thunder in step 2" in invoke("show", tmp_path / "run").stdout
    (row,) = answer("list", tmp_path)["runs"]
    assert (row["status"], row["note"]) == ("failed", "RuntimeError: thunder in step 2")


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("a", "b"):
        Run.create(tmp_path / name, NAME)
    (tmp_path / "a/manifest.json").write_text("{")
    first, second = answer("list", tmp_path)["runs"]
    assert first["status"] == "damaged"
    assert "is not JSON" in first["note"]
    assert second["status"] == "interrupted"
    assert "damaged" in invoke("list", tmp_path).stdout


def test_a_folder_without_runs_says_so(tmp_path: Path) -> None:
    assert "There are no runs" in invoke("list", tmp_path).stdout
    assert answer("list", tmp_path) == {"runs": []}


def test_other_versions_are_let_pass_when_asked(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    steps.close()
    path = tmp_path / "run/manifest.json"
    path.write_text(path.read_text().replace('"numba": "', '"numba": "9'))
    assert "other versions (numba" in str(refused("resume", tmp_path / "run"))
    assert answer("resume", tmp_path / "run", "--other-versions")["steps"] == 12


def test_a_users_mistakes_are_told_by_name(tmp_path: Path, config: Path) -> None:
    for command in ("show", "resume"):
        assert "gone: there is no run" in str(refused(command, tmp_path / "gone"))
    assert isinstance(refused("list", tmp_path / "gone"), InvalidFileError)
    assert "no kind of run named 'mars'" in str(refused("start", "mars", tmp_path / "x"))
    bad = tmp_path / "bad.toml"
    bad.write_text("limit = ")
    assert "bad.toml: can't be read" in str(refused("start", NAME, tmp_path / "x", "--config", bad))
    bad.write_text("speed = 3")
    error = refused("start", NAME, tmp_path / "x", "--config", bad)
    assert "speed is not known" in str(error)
    assert isinstance(error, InvalidInputError)
    assert not (tmp_path / "x").exists()


def test_a_run_that_is_being_written_is_refused(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", NAME)
    steps = run.steps()
    next(steps)
    assert isinstance(refused("resume", tmp_path / "run"), BusyError)
    assert answer("list", tmp_path)["runs"][0]["status"] == "running"
    steps.close()


def definition(folder: Path, task: str, cell: str, seeds: int) -> Path:
    path = folder / "study.toml"
    path.write_text(f'name = "s"\ntask = "{TASKS}:{task}"\nseeds = {seeds}\n[[cells]]\n{cell}\n')
    return path


def test_a_study_is_computed_and_its_table_written(tmp_path: Path) -> None:
    path = definition(tmp_path, "quick", "scale = 2.0", 5)
    out, table = tmp_path / "s.sqlite", tmp_path / "s.csv"
    arguments = ("study", path, "--out", out, "--table", table, "--workers", 0)
    found = answer(*arguments)
    assert (found["done"], found["tasks"], found["failed"]) == (5, 5, [])
    lines = table.read_text().splitlines()
    assert lines[0] == "scale,seed,drawn,even,name"
    assert len(lines) == 6
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert "s: 5 of 5 tasks are done" in result.stdout
    again = tmp_path / "again.csv"
    assert "5 of 5 tasks" in invoke("table", out, again).stdout
    assert again.read_bytes() == table.read_bytes()


def test_a_study_with_failures_lists_them_and_exits_with_one(tmp_path: Path) -> None:
    path = definition(tmp_path, "odd_raises", "", 4)
    arguments = ("study", path, "--out", tmp_path / "s.sqlite", "--workers", 0)
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert "s: 2 of 4 tasks are done" in result.stdout
    assert "failed: {} with seed 3: RuntimeError: seed 3 is odd" in result.stdout
    failed = answer(*arguments, code=1)["failed"]
    assert [f["seed"] for f in failed] == [1, 3]
    assert "Traceback" in failed[0]["error"]


def test_a_study_that_can_not_be_done_is_refused_beforehand(tmp_path: Path) -> None:
    path = definition(tmp_path, "quick", "scale = 2.0", 5)
    out = tmp_path / "s.sqlite"
    assert ".csv or .parquet" in str(refused("study", path, "--out", out, "--table", "x.txt"))
    assert "can't be read" in str(refused("study", tmp_path / "gone.toml", "--out", out))
    assert not out.exists()
    with Ledger.open(out, define("other", "x:y", [{}], [0])):
        pass
    assert "holds another study" in str(refused("study", path, "--out", out, "--workers", 0))


def test_a_task_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_tasks.py").write_text("def double(cell, seed):\n    return {'twice': 2 * seed}\n")
    Path("s.toml").write_text('name = "s"\ntask = "my_tasks:double"\nseeds = 2\ncells = [{}]\n')
    found = answer("study", "s.toml", "--out", "s.sqlite", "--workers", 0, "--table", "s.csv")
    assert found["done"] == 2
    assert Path("s.csv").read_text() == "seed,twice\n0,0\n1,2\n"


def stopped(arguments: list[str], ready: Callable[[], bool], folder: Path) -> tuple[int, str]:
    """Run the command, press Ctrl-C once it is `ready`, and give exit code and errors."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        start_new_session=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    ) as process:
        until = time.monotonic() + 60.0
        while process.poll() is None and time.monotonic() < until and not ready():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60.0)
    return process.returncode, errors


def test_ctrl_c_stops_a_run_cleanly_and_it_goes_on_the_same_way(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text("limit = 100\npause = 0.05")
    arguments = ["runs", "start", NAME, "run", "--config", str(config)]
    log = tmp_path / "run/steps.jsonl"
    code, errors = stopped(arguments, lambda: log.exists() and log.stat().st_size > 0, tmp_path)
    assert code == 130, errors
    assert errors == "stopped; to go on: homeward runs resume run\n"
    run = Run.open(tmp_path / "run")
    taken = len(list(run.records()))
    assert 0 < taken < 100
    run.resume(limit=taken + 3)
    whole = Run.create(tmp_path / "whole", NAME, {"limit": taken + 3})
    whole.resume()
    assert run.trajectory() == whole.trajectory()


def test_ctrl_c_stops_a_study_cleanly_and_it_goes_on(tmp_path: Path) -> None:
    path = definition(tmp_path, "napping", "nap = 0.05", 200)
    out = tmp_path / "s.sqlite"
    arguments = ["runs", "study", str(path), "--out", str(out), "--workers", "2"]

    def done() -> int:
        if not out.exists() or not out.stat().st_size:
            return 0
        with Ledger.read(out) as ledger:
            return ledger.done

    code, errors = stopped(arguments, lambda: done() > 3, tmp_path)
    assert code == 130, errors
    assert 3 < done() < 200
    assert errors == (
        f"stopped: {done()} of 200 tasks are done and kept in {out}; "
        "give the same command again to go on\n"
    )


@pytest.mark.parametrize("command", ["", "list", "show", "start", "resume", "study", "table"])
def test_every_command_explains_itself(command: str) -> None:
    result = invoke(*command.split(), "--help")
    assert result.exit_code == 0
    assert ("Exit codes" if not command else "Usage") in result.stdout
