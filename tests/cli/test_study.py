"""``homeward study`` as a user meets it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.invoking import answer, invoke, refused, stopped

from homeward.studies import StudyFile, TaskOutcome, define

if TYPE_CHECKING:
    import pytest

TASKS = "tests.studies.tasks"


def definition(folder: Path, task: str, cell: str, seeds: int) -> Path:
    path = folder / "study.toml"
    path.write_text(f'name = "s"\ntask = "{TASKS}:{task}"\nseeds = {seeds}\n[[cells]]\n{cell}\n')
    return path


def test_a_study_is_computed_and_its_table_written(tmp_path: Path) -> None:
    path = definition(tmp_path, "quick", "scale = 2.0", 5)
    out, table = tmp_path / "s.sqlite", tmp_path / "s.csv"
    arguments = ("study", "run", path, "--out", out, "--table", table, "--workers", 0)
    found = answer(*arguments)
    assert (found["done"], found["tasks"], found["failed"]) == (5, 5, [])
    lines = table.read_text().splitlines()
    assert lines[0] == "scale,seed,drawn,even,name"
    assert len(lines) == 6
    result = invoke(*arguments)
    assert result.exit_code == 0
    assert "s: 5 of 5 tasks are finished" in result.stdout
    again = tmp_path / "again.csv"
    assert "5 of 5 tasks" in invoke("study", "table", out, again).stdout
    assert again.read_bytes() == table.read_bytes()


def test_a_study_with_failures_lists_them_and_exits_with_one(tmp_path: Path) -> None:
    path = definition(tmp_path, "odd_raises", "", 4)
    arguments = ("study", "run", path, "--out", tmp_path / "s.sqlite", "--workers", 0)
    result = invoke(*arguments)
    assert result.exit_code == 1
    assert "s: 2 of 4 tasks are finished" in result.stdout
    assert "failed: {} with seed 3: RuntimeError: seed 3 is odd" in result.stdout
    failed = answer(*arguments, code=1)["failed"]
    assert [f["seed"] for f in failed] == [1, 3]
    assert "Traceback" in failed[0]["error"]


def test_a_study_that_can_not_be_done_is_refused_beforehand(tmp_path: Path) -> None:
    path = definition(tmp_path, "quick", "scale = 2.0", 5)
    out = tmp_path / "s.sqlite"
    assert ".csv or .parquet" in str(
        refused("study", "run", path, "--out", out, "--table", "x.txt")
    )
    assert "can't be read" in str(refused("study", "run", tmp_path / "gone.toml", "--out", out))
    assert not out.exists()
    with StudyFile.open(out, define("other", "x:y", [{}], [0])) as study_file:
        study_file.record([TaskOutcome(0, {}, None, 0.0)])
    assert "holds another study" in str(refused("study", "run", path, "--out", out, "--workers", 0))


def test_a_task_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_tasks.py").write_text("def double(cell, seed):\n    return {'twice': 2 * seed}\n")
    Path("s.toml").write_text('name = "s"\ntask = "my_tasks:double"\nseeds = 2\ncells = [{}]\n')
    found = answer(
        "study", "run", "s.toml", "--out", "s.sqlite", "--workers", 0, "--table", "s.csv"
    )
    assert found["done"] == 2
    assert Path("s.csv").read_text() == "seed,twice\n0,0\n1,2\n"


def test_ctrl_c_stops_a_study_cleanly_and_it_goes_on(tmp_path: Path) -> None:
    path = definition(tmp_path, "napping", "nap = 0.05", 200)
    out = tmp_path / "s.sqlite"
    arguments = ["study", "run", str(path), "--out", str(out), "--workers", "2"]

    def done() -> int:
        if not out.exists() or not out.stat().st_size:
            return 0
        with StudyFile.read(out) as study_file:
            return study_file.done

    code, errors = stopped(arguments, lambda: done() > 3, tmp_path)
    assert code == 130, errors
    assert 3 < done() < 200
    assert errors == (
        f"stopped: {done()} of 200 tasks are finished and saved in {out}; "
        "run the same command again to resume\n"
    )
