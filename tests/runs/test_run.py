"""A run is recorded as it goes, and resumes to the same way whenever it was stopped."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs import kinds as kinds_here
from tests.runs.kinds import MEADOW, NAME, MeadowConfig, Moody, log_of, make, meadow

from homeward.beliefs import Transition
from homeward.errors import InfeasibleError, InvalidFileError, InvalidInputError
from homeward.missions import Mission
from homeward.planning.ends import End
from homeward.planning.paper import PaperExplorer
from homeward.planning.plan import CriterionEvidence, Plan
from homeward.runs import BusyError, Ended, Run, RunStatus, WarmStart, kind, list_runs, run
from homeward.runs.manifest import versions_here

ROOT = Path(__file__).parents[2]
SPENDING = 10
"""A seed with which a run in a steep meadow spends."""


def test_a_new_run_has_a_complete_config_and_no_steps(tmp_path: Path) -> None:
    run = meadow(tmp_path / "deep" / "run", seed=7)
    assert run.config == MeadowConfig(seed=7).model_dump(mode="json")
    assert run.kind == NAME
    assert run.status is RunStatus.INTERRUPTED
    assert run.trajectory() == ()
    assert run.fields() == {}
    manifest = run.manifest
    assert (manifest.steps, manifest.seed, manifest.end) == (0, 7, None)
    assert [p.name for p in run.directory.parent.iterdir()] == ["run"]


def test_a_run_goes_the_way_of_an_explorer_that_plans_from_each_last_plan(whole: Run) -> None:
    setup = make(MeadowConfig())
    scout = PaperExplorer(setup.planner, setup.belief, setup.world)
    steps = list(scout.explore(setup.limit))
    trajectory = whole.trajectory()
    assert len(trajectory) == len(steps) == 12
    for record, step in zip(trajectory, steps, strict=True):
        assert record.step == step.number
        assert record.state == step.decision.state
        assert record.action == step.action
        assert record.next_state == step.state
        assert record.observation == step.observation
        assert isinstance(record.observation, Transition)
        assert step.plan is not None
        assert record.value.hex() == float(step.plan.exploration_value).hex()
        assert record.bounds == step.plan.bounds
        assert record.kept_bounds == tuple(c.kept_bound for c in step.plan.criteria)
        assert record.status == step.plan.status


def test_a_plan_starts_from_seeds_alone_so_that_it_can_not_use_what_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed = []
    real = Moody.plan

    def plan(self: Moody, belief: Any, state: int, start: Any, previous: Any) -> Plan:
        handed.append(type(previous))
        return real(self, belief, state, start, previous)

    monkeypatch.setattr(Moody, "plan", plan)
    meadow(tmp_path / "run", limit=4).resume()
    assert handed == [type(None), WarmStart, WarmStart, WarmStart]


def test_a_finished_run_says_so_and_keeps_its_fields(whole: Run) -> None:
    assert whole.status is RunStatus.FINISHED
    manifest = whole.manifest
    assert manifest.end is End.STEPS
    assert manifest.steps == 12
    (session,) = manifest.sessions
    assert session.first == 1
    assert session.ended is not None
    assert session.versions["numpy"] == np.__version__
    fields = whole.fields()
    assert fields["counts"].sum() == 12
    assert fields["visited"].shape == (4, 5)
    assert fields["outbound"].shape[1] == 20


def test_resuming_a_finished_run_changes_nothing(whole: Run) -> None:
    before = {p: p.read_bytes() for p in whole.directory.rglob("*") if p.is_file()}
    assert list(whole.steps()) == []
    assert whole.resume() is End.STEPS
    assert {p: p.read_bytes() for p in whole.directory.rglob("*") if p.is_file()} == before


def test_a_step_is_on_record_before_it_is_shown(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run")
    for step in run.steps():
        assert len(run.trajectory()) == step.number
        assert run.status is RunStatus.RUNNING
    assert run.status is RunStatus.FINISHED


def test_a_run_stopped_after_each_step_goes_the_same_way(tmp_path: Path, whole: Run) -> None:
    run = meadow(tmp_path / "run")
    for number in range(1, 13):
        steps = run.steps()
        assert next(steps).number == number
        steps.close()
        assert run.status is RunStatus.INTERRUPTED
        assert run.manifest.steps == number
    run.resume()
    assert log_of(run) == log_of(whole)
    manifest = run.manifest
    assert [session.first for session in manifest.sessions] == list(range(1, 14))
    assert all(session.ended for session in manifest.sessions)


@given(st.data())
@settings(max_examples=40)
def test_a_log_cut_at_any_byte_resumes_to_the_same_way(
    tmp_path_factory: pytest.TempPathFactory, whole: Run, data: st.DataObject
) -> None:
    complete = log_of(whole)
    directory = tmp_path_factory.mktemp("cut") / "run"
    shutil.copytree(whole.directory, directory)
    cut = data.draw(st.integers(0, len(complete)))
    (directory / "steps.jsonl").write_bytes(complete[:cut])
    run = Run.open(directory)
    assert run.resume() is End.STEPS
    assert log_of(run) == complete
    assert run.trajectory() == whole.trajectory()
    assert run.fields().keys() == whole.fields().keys()
    shutil.rmtree(directory.parent)


def killing(*arguments: str) -> dict[str, Any]:
    """Have runs killed by another process; see tests/runs/killing.py."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "tests.runs.killing", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_run_killed_at_random_moments_goes_the_same_way(tmp_path: Path) -> None:
    config = {"limit": 30, "pause": 0.005}
    found = killing("clock", str(tmp_path), json.dumps(config), "20")
    assert found["killed"] >= 20
    assert found["same"]
    assert all(found["same"])
    assert found["whole"]["status"] == "finished"
    assert found["whole"]["steps"] == 30
    files = ["config.json", "fields.npz", "manifest.json", "plan_ms.f32", "steps.jsonl"]
    assert found["whole"]["files"] == files


def test_a_run_killed_at_random_moments_takes_up_what_it_held_and_spent(tmp_path: Path) -> None:
    config = {"algorithm": "rate", "steep": True, "delta": 0.4, "limit": 40, "pause": 0.005}
    found = killing("clock", str(tmp_path), json.dumps(config | {"seed": SPENDING}), "6")
    assert found["killed"] >= 6
    assert all(found["same"])
    held = [json.loads(line)["holding"] for line in found["whole"]["log"].splitlines()]
    assert held[-1]["kept"] < 1.0
    assert any(isinstance(h["path"], int) for h in held)  # the proposal before is still pursued


def test_a_run_killed_at_any_call_to_the_system_goes_the_same_way(tmp_path: Path) -> None:
    found = killing("calls", str(tmp_path), json.dumps({"limit": 2, "rows": 2, "columns": 2}))
    assert found["calls"] > 25
    assert found["different"] == []


def test_a_run_whose_process_was_killed_is_interrupted(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run")
    steps = run.steps()
    next(steps)
    killed = run.manifest
    steps.close()
    assert killed.status is RunStatus.RUNNING
    killed.write(tmp_path / "run/manifest.json")
    assert run.status is RunStatus.INTERRUPTED
    run.resume()
    assert [session.ended is None for session in run.manifest.sessions] == [True, False]


def test_one_process_at_a_time_writes_a_run(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run")
    steps = run.steps()
    next(steps)
    with pytest.raises(BusyError, match=f"run: process {os.getpid()} on .* is writing it"):
        Run.open(tmp_path / "run").resume()
    steps.close()
    Run.open(tmp_path / "run").resume()


def test_a_run_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run")
    steps = run.steps()
    next(steps)
    with open(tmp_path / "run/steps.jsonl", "ab") as file:
        file.write(b'{"step":2,"sta')
    assert len(Run.open(tmp_path / "run").trajectory()) == 1
    steps.close()


def test_the_manifest_says_now_and_then_how_far_the_run_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "REFRESH_SECONDS", -1.0)
    for step in meadow(tmp_path / "run").steps():
        assert Run.open(tmp_path / "run").manifest.steps == step.number


def test_a_world_that_raises_fails_the_run_and_it_can_be_tried_again(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", raises=4)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="thunder in step 4"):
            run.resume()
        assert run.status is RunStatus.FAILED
        manifest = run.manifest
        assert manifest.error is not None
        assert "thunder in step 4" in manifest.error
        assert "Traceback" in manifest.error
        assert len(run.trajectory()) == 3


@pytest.mark.parametrize("strict", [True, False])
def test_a_strict_run_fails_where_no_action_keeps_the_level(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    run = meadow(tmp_path / "run", strict=strict)
    monkeypatch.setattr(CriterionEvidence, "kept_by_correction", property(lambda _: False))
    with pytest.raises(InfeasibleError) if strict else nullcontext():
        run.resume()
    assert run.status is (RunStatus.FAILED if strict else RunStatus.FINISHED)


def test_ctrl_c_leaves_an_interrupted_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = meadow(tmp_path / "run")
    steps = run.steps()
    next(steps)
    monkeypatch.setattr(
        PaperExplorer, "step", lambda self: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        next(steps)
    assert run.status is RunStatus.INTERRUPTED


def test_ctrl_c_inside_compiled_code_leaves_an_interrupted_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def struck(explorer: PaperExplorer) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    run = meadow(tmp_path / "run")
    steps = run.steps()
    next(steps)
    monkeypatch.setattr(PaperExplorer, "step", struck)
    with pytest.raises(SystemError):
        next(steps)
    assert run.status is RunStatus.INTERRUPTED
    assert run.manifest.error is None


def test_a_limit_can_be_raised_and_the_way_is_as_if_it_had_been_so_from_the_start(
    tmp_path: Path, whole: Run
) -> None:
    run = meadow(tmp_path / "run", limit=5)
    assert run.resume() is End.STEPS
    assert run.resume(limit=12) is End.STEPS
    assert log_of(run) == log_of(whole)
    assert run.manifest.limit == 12
    with pytest.raises(InvalidInputError, match="the limit is 3, but the run has taken 12 steps"):
        run.resume(limit=3)


def test_a_raised_limit_outlives_a_stop(tmp_path: Path, whole: Run) -> None:
    run = meadow(tmp_path / "run", limit=5)
    run.resume()
    steps = run.steps(limit=12)
    next(steps)
    steps.close()
    run.resume()
    assert log_of(run) == log_of(whole)


def test_an_end_of_another_kind_is_for_good(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", moody=False, rows=1, columns=2, limit=50)
    assert run.resume() is End.ALL_SEEN
    before = (log_of(run), run.manifest)
    assert list(run.steps(limit=100)) == []
    assert (log_of(run), run.manifest) == before


def test_other_versions_are_refused_unless_they_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = meadow(tmp_path / "run")
    steps = made.steps()
    next(steps)
    steps.close()
    monkeypatch.setattr(run, "versions_here", lambda: versions_here() | {"numpy": "9.9"})
    before = log_of(made)
    with pytest.raises(InvalidFileError, match=rf"numpy {np.__version__} is now 9\.9"):
        made.resume()
    assert log_of(made) == before
    made.resume(other_versions=True)
    assert [session.versions["numpy"] for session in made.manifest.sessions] == [
        np.__version__,
        "9.9",
    ]
    assert made.resume() is End.STEPS


def test_damage_in_the_middle_of_the_log_is_refused_and_nothing_is_overwritten(
    tmp_path: Path, whole: Run
) -> None:
    shutil.copytree(whole.directory, tmp_path / "run")
    log = tmp_path / "run/steps.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[6] = lines[6].replace(b'"action":', b'"action":1')
    log.write_bytes(b"".join(lines))
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    with pytest.raises(InvalidFileError, match=r"steps\.jsonl: line 7 is damaged: its checksum"):
        Run.open(tmp_path / "run").resume()
    assert {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()} == before


def test_a_config_that_was_changed_is_refused(tmp_path: Path) -> None:
    meadow(tmp_path / "run")
    path = tmp_path / "run/config.json"
    path.write_text(path.read_text().replace('"delta": 0.5', '"delta": 0.1'))
    with pytest.raises(InvalidFileError, match=r"config\.json: was changed after the run was made"):
        Run.open(tmp_path / "run")


def test_a_config_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "_KINDS", {"meadow": MEADOW})
    made = Run.create(tmp_path / "run", "meadow")
    monkeypatch.setattr(kind, "_KINDS", {"meadow": replace(MEADOW, version=2)})
    with pytest.raises(
        InvalidFileError, match="is a meadow run of version 1, and this Homeward reads"
    ):
        made.resume()
    assert made.trajectory() == ()  # what was recorded can still be read
    monkeypatch.setattr(run, "FORMAT", 3)
    Run.create(tmp_path / "newer", "meadow")
    with pytest.raises(InvalidFileError, match=r"has format 3; homeward .* reads formats up to 2"):
        Run.open(tmp_path / "newer")


def test_a_config_that_is_no_longer_complete_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Longer(MeadowConfig):
        colour: str = "green"

    monkeypatch.setattr(kind, "_KINDS", {"meadow": MEADOW})
    made = Run.create(tmp_path / "run", "meadow")
    monkeypatch.setattr(kind, "_KINDS", {"meadow": replace(MEADOW, config=Longer)})
    with pytest.raises(InvalidFileError, match=r"config\.json: is not the complete configuration"):
        made.resume()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (None, "there is no run"),
        ([], "is not a run: there is no config.json"),
        (["config.json"], "is not a run: there is no manifest.json"),
        (["config.json", "manifest.json"], r"is not a run: there is no steps\.jsonl"),
        (["config.json", "manifest.json", "steps.jsonl"], r"manifest\.json: is not JSON"),
    ],
)
def test_a_folder_that_is_no_run_is_refused(
    tmp_path: Path, names: list[str] | None, message: str
) -> None:
    if names is not None:
        (tmp_path / "run").mkdir()
        for name in names:
            (tmp_path / "run" / name).touch()
    with pytest.raises(InvalidFileError, match=message):
        Run.open(tmp_path / "run")


@pytest.mark.parametrize("call", [Run, Run.open, Mission.open])
@pytest.mark.parametrize("folder", [None, 3, b"run"])
def test_a_directory_that_is_no_path_is_named(call: Any, folder: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"the directory of a run is {folder!r}"):
        call(folder)


@pytest.mark.parametrize(("name", "value"), [("kind", 3), ("version", None), ("config", [1])])
def test_a_damaged_configuration_is_named(tmp_path: Path, name: str, value: Any) -> None:
    run = meadow(tmp_path / "run")
    path = run.directory / "config.json"
    written = json.loads(path.read_text()) | {name: value}
    path.write_text(json.dumps(written))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    manifest = run.manifest.model_copy(update={"config_sha256": digest})
    manifest.write(run.directory / "manifest.json")
    with pytest.raises(InvalidFileError, match=rf"config\.json: is damaged: {name} is "):
        Run.open(run.directory)


def test_a_run_is_not_made_over_something(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/thesis.txt").write_text("years")
    (tmp_path / "file").touch()
    for name, reason in (
        ("taken", "already exists and is not empty"),
        ("file", "is a file, expected a new folder"),
    ):
        with pytest.raises(InvalidFileError, match=f"{name}: {reason}"):
            meadow(tmp_path / name)
    assert (tmp_path / "taken/thesis.txt").read_text() == "years"
    with pytest.raises(InvalidFileError, match="file/run: can't be written"):
        meadow(tmp_path / "file" / "run")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "taken"]


def test_a_run_that_is_there_already_is_named_with_how_to_go_on(tmp_path: Path) -> None:
    meadow(tmp_path / "my run")
    there = tmp_path / "my run"
    said = f"{there}: is already a run; to resume it: homeward runs resume '{there}'"
    with pytest.raises(InvalidFileError, match=f"^{re.escape(said)}$"):
        meadow(there)


def test_a_run_is_made_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    meadow(tmp_path / "run")
    assert Run.open(tmp_path / "run").kind == NAME


def test_a_run_whose_folder_can_not_be_written_is_not_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InvalidFileError, match="can't be written: No space left on device"):
        meadow(tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_runs_are_listed_by_name_and_only_they(tmp_path: Path) -> None:
    for name in ("b", "a"):
        meadow(tmp_path / name)
    (tmp_path / "other").mkdir()
    (tmp_path / ".c.part").mkdir()
    (tmp_path / "note.txt").touch()
    assert [run.directory.name for run in list_runs(tmp_path)] == ["a", "b"]
    assert [run.directory for run in list_runs(tmp_path / "a")] == [tmp_path / "a"]
    with pytest.raises(InvalidFileError, match="gone: there is no such folder"):
        list_runs(tmp_path / "gone")


def test_what_a_kind_writes_is_there_before_a_run_says_that_it_has_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def products(ended: Ended) -> None:
        seen.append((Run(ended.directory).manifest.status, ended.manifest.status))
        assert [record.step for record in ended.records()] == list(range(1, 13))
        assert ended.setup.world.state == list(ended.records())[-1].next_state
        assert ended.belief is not ended.setup.belief
        assert (ended.manifest.end, ended.manifest.steps) == (End.STEPS, 12)
        if len(seen) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(kinds_here, "LEAVING", replace(MEADOW, products=products), raising=False)
    run = Run.create(tmp_path / "run", "tests.runs.kinds:LEAVING", {})
    with pytest.raises(KeyboardInterrupt):
        run.resume()
    assert Run(run.directory).status is RunStatus.INTERRUPTED
    run.resume()
    assert Run(run.directory).status is RunStatus.FINISHED
    assert seen == [(RunStatus.RUNNING, RunStatus.FINISHED)] * 2


def test_what_a_config_names_is_pinned_when_a_run_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(config: MeadowConfig) -> MeadowConfig:
        return config.model_copy(update={"rows": 3})

    monkeypatch.setattr(kinds_here, "SETTLED", replace(MEADOW, settle=settle), raising=False)
    run = Run.create(tmp_path / "run", "tests.runs.kinds:SETTLED", {"rows": 9})
    assert run.config["rows"] == 3


def test_a_full_disk_stops_a_run_with_one_message_and_it_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Run
) -> None:
    run = meadow(tmp_path / "run")
    steps = run.steps()
    for _ in range(4):
        next(steps)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        patch.setattr(os, "fsync", full)
        with pytest.raises(InvalidFileError, match=r"steps\.jsonl: can't be written: No space"):
            next(steps)
    assert run.status is RunStatus.INTERRUPTED
    run.resume()
    assert log_of(run) == log_of(whole)


def test_the_manifest_says_how_long_a_session_and_its_plans_took(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", pause=0.02, limit=3)
    run.resume()
    run.resume(limit=3)
    (session,) = run.manifest.sessions
    assert session.plan_ms is not None
    assert session.plan_ms >= 20.0
    assert session.seconds >= 0.06


def test_the_explorer_can_be_looked_at_while_it_goes(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", limit=3)
    assert run.explorer is None
    for step in run.steps():
        assert run.explorer is not None
        assert run.explorer.world.state == step.state


def test_a_run_and_its_file_can_move_together(tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "files").mkdir(parents=True)
    np.save(here / "files" / "hills.npy", np.random.default_rng(0).random((30, 30)))
    config = {"terrain": str(here / "files" / "hills.npy"), "pixel": 20.0, "climb": 20.0}
    run = Run.create(here / "run", "rover", {**config, "limit": 2}, ["terrain"])
    assert Run(here / "run").config["terrain"] == config["terrain"]
    here.rename(tmp_path / "there")
    moved = Run.open(tmp_path / "there" / "run")
    assert moved.config["terrain"] == str(tmp_path / "there" / "files" / "hills.npy")
    assert moved.resume() is End.STEPS
    assert not run.directory.exists()


def test_a_run_that_ended_at_its_limit_is_extended_and_goes_the_same_way(
    tmp_path: Path, whole: Run
) -> None:
    run = meadow(tmp_path / "run", limit=4)
    run.resume()
    with pytest.raises(InvalidInputError, match="the limit is 4, but the run has taken 4 steps"):
        run.extend(4)
    run.extend(12)
    assert (run.status, run.manifest.end) == (RunStatus.INTERRUPTED, None)
    with pytest.raises(InvalidInputError, match="did not end at its step limit"):
        run.extend(20)
    assert run.resume() is End.STEPS
    assert log_of(run) == log_of(whole)


def test_a_run_that_can_not_be_resumed_is_not_extended(tmp_path: Path) -> None:
    run = meadow(tmp_path / "run", limit=4)
    run.resume()
    path, log = run.directory / "manifest.json", run.directory / "steps.jsonl"
    finished, lines = path.read_text(), log.read_text()
    old = json.loads(finished)
    old["sessions"][-1]["versions"]["numpy"] = "1.0.0"
    for manifest, steps, said in (
        (json.dumps(old), lines, "was made with other versions"),
        (finished, "".join(lines.splitlines(keepends=True)[:2]), "the log has 2 steps"),
    ):
        path.write_text(manifest)
        log.write_text(steps)
        with pytest.raises(InvalidFileError, match=said):
            run.extend(9)
        assert path.read_text() == manifest
