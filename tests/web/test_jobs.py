from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.web import fake_job

from homeward.errors import InvalidFileError
from homeward.files import replace_json
from homeward.runs import Run, RunStatus
from homeward.runs.lock import locked
from homeward.web import jobs as module
from homeward.web.catalogue import Catalogue
from homeward.web.jobs import Jobs
from homeward.web.limits import ServerSettings
from homeward.web.refusals import RefusalError

FAKE = (sys.executable, "-I", str(Path(fake_job.__file__)))
Scene = Callable[[Jobs], Awaitable[None]]


def play(root: Path, scene: Scene, most: int = 1) -> Jobs:
    """Open a journal, let something happen, and close it."""

    async def whole() -> Jobs:
        jobs = Jobs(Catalogue(root), ServerSettings(jobs=most), FAKE)
        await jobs.open()
        try:
            await scene(jobs)
        finally:
            await jobs.close()
        return jobs

    return asyncio.run(whole())


def test_a_kind_from_elsewhere_is_not_gone_on_with(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "meadow", tmp_path / "meadow")
    make(tmp_path, "a")
    going = [{"name": name, "state": "going", "error": None} for name in ("meadow", "a")]
    (tmp_path / ".serve.json").write_text(json.dumps({"format": 1, "runs": going}))

    async def scene(jobs: Jobs) -> None:
        assert list(jobs.entries) == ["a"]

    play(tmp_path, scene)


def test_a_process_that_does_not_stop_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", how="deaf")
    monkeypatch.setattr(module, "STOP_SECONDS", 0.2)

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        process = await process_of(jobs, "a")
        await has_steps(jobs, "a")
        await jobs.stop("a", "paused")
        assert process.returncode == -signal.SIGKILL
        assert jobs.status("a") == "paused"

    play(tmp_path, scene)


@pytest.mark.parametrize(("how", "code"), [("go", 0), ("deaf", -signal.SIGKILL)])
def test_a_run_stopped_at_its_start_stops_by_itself_or_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, code: int
) -> None:
    make(tmp_path, "a", how=how)
    monkeypatch.setattr(module, "STOP_SECONDS", 5.0)

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        stopping = asyncio.create_task(jobs.stop("a", "paused"))
        process = await process_of(jobs, "a")
        await stopping
        assert process.returncode == code
        assert "a" not in jobs.tasks

    play(tmp_path, scene)


def test_while_a_run_stops_it_can_be_stopped_again_and_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", how="deaf")
    monkeypatch.setattr(module, "STOP_SECONDS", 1.0)

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await has_steps(jobs, "a")
        first = asyncio.create_task(jobs.stop("a", "paused"))
        while jobs.entries["a"][0] != "paused":
            await asyncio.sleep(0)
        with pytest.raises(RefusalError, match="cancel it first"):
            await jobs.forget("a")
        await jobs.stop("a", "paused")
        assert not jobs.tasks
        await first
        assert jobs.status("a") == "paused"

    play(tmp_path, scene)


async def stands(jobs: Jobs, name: str, *statuses: str) -> None:
    async with asyncio.timeout(40):
        while jobs.status(name) not in statuses:
            await asyncio.sleep(0.02)


async def process_of(jobs: Jobs, name: str) -> asyncio.subprocess.Process:
    async with asyncio.timeout(40):
        while name not in jobs.processes:
            await asyncio.sleep(0.01)
    return jobs.processes[name]


async def has_steps(jobs: Jobs, name: str) -> None:
    async with asyncio.timeout(40):
        while not jobs.catalogue.count(name)[0]:
            await asyncio.sleep(0.02)


def journal(root: Path) -> list[tuple[str, str]]:
    return [(r["name"], r["state"]) for r in json.loads((root / ".serve.json").read_text())["runs"]]


def make(root: Path, *names: str, how: str = "go") -> None:
    for name in names:
        Run.create(root / name, "grid", {"size": 4})
        (root / name / "how").write_text(how)


def test_a_run_goes_to_its_end_and_the_next_follows(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", how="finish")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await jobs.start("b")
        assert (jobs.status("a"), jobs.status("b")) == ("running", "queued")
        assert jobs.queue_state("b").place == 1  # type: ignore[union-attr]
        assert journal(tmp_path) == [("a", "going"), ("b", "queued")]
        await stands(jobs, "b", "finished")
        assert jobs.status("a") == "finished"
        async with asyncio.timeout(40):
            while journal(tmp_path):  # its process ends a little after its record
                await asyncio.sleep(0.02)

    play(tmp_path, scene)


def test_pause_resume_and_cancel(tmp_path: Path) -> None:
    make(tmp_path, "a")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await has_steps(jobs, "a")
        await jobs.stop("a", "paused")
        assert jobs.status("a") == "paused"
        taken = jobs.catalogue.count("a")[0]
        assert Run(tmp_path / "a").status is RunStatus.INTERRUPTED
        await jobs.start("a")
        async with asyncio.timeout(40):
            while jobs.catalogue.count("a")[0] == taken:
                await asyncio.sleep(0.02)
        await jobs.stop("a", "cancelled")
        assert jobs.status("a") == "cancelled"
        with pytest.raises(RefusalError, match="a is cancelled"):
            await jobs.stop("a", "paused")

    play(tmp_path, scene)
    assert journal(tmp_path) == [("a", "cancelled")]


def test_a_run_that_is_still_stopping_is_resumed_once_it_has_stopped(tmp_path: Path) -> None:
    make(tmp_path, "a")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await has_steps(jobs, "a")
        taken = jobs.catalogue.count("a")[0]
        stopping = asyncio.create_task(jobs.stop("a", "paused"))
        while jobs.entries["a"][0] != "paused":  # it is told to stop, and has not yet
            await asyncio.sleep(0)
        assert jobs.status("a") == "running"
        await jobs.start("a")
        assert jobs.status("a") in ("queued", "running")
        await stopping
        async with asyncio.timeout(40):
            while jobs.catalogue.count("a")[0] <= taken:
                await asyncio.sleep(0.02)
        with pytest.raises(RefusalError, match="a is already running"):
            await jobs.start("a")

    play(tmp_path, scene)


def test_what_waits_can_be_paused_and_cancelled(tmp_path: Path) -> None:
    make(tmp_path, "a", "b")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await jobs.start("b")
        await jobs.stop("b", "paused")
        assert jobs.status("b") == "paused"
        await jobs.stop("b", "cancelled")
        assert jobs.status("b") == "cancelled"
        await jobs.stop("a", "cancelled")
        assert "b" not in jobs.tasks

    play(tmp_path, scene)


def test_a_run_is_not_started_twice(tmp_path: Path) -> None:
    make(tmp_path, "a")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        with pytest.raises(RefusalError, match="a is already running") as refusal:
            await jobs.start("a")
        assert refusal.value.status == 409
        with pytest.raises(RefusalError, match="cancel it first"):
            await jobs.forget("a")

    play(tmp_path, scene)


def test_what_was_going_when_the_server_ended_goes_on_first(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", "c")

    async def first(jobs: Jobs) -> None:
        for name in ("a", "b", "c"):
            await jobs.start(name)
        await jobs.stop("c", "paused")
        await has_steps(jobs, "a")

    play(tmp_path, first)
    assert journal(tmp_path) == [("a", "going"), ("b", "queued"), ("c", "paused")]
    assert Run(tmp_path / "a").status is RunStatus.INTERRUPTED
    journal_file = tmp_path / ".serve.json"
    value = json.loads(journal_file.read_text())
    journal_file.write_text(json.dumps({**value, "runs": value["runs"][::-1]}))

    async def second(jobs: Jobs) -> None:
        assert {n: jobs.status(n) for n in "abc"} == {"a": "running", "b": "queued", "c": "paused"}

    play(tmp_path, second)


def test_a_process_that_dies_is_told_of(tmp_path: Path) -> None:
    make(tmp_path, "a")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        process = await process_of(jobs, "a")
        await has_steps(jobs, "a")
        os.kill(process.pid, signal.SIGKILL)
        await stands(jobs, "a", "failed")
        summary = jobs.catalogue.summary("a", jobs.queue_state("a"))
        assert summary["error"] == "its process died"
        await jobs.start("a")
        assert jobs.status("a") == "running"

    play(tmp_path, scene)


def test_a_run_that_can_not_go_on_says_why(tmp_path: Path) -> None:
    make(tmp_path, "a", how="refuse")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await stands(jobs, "a", "failed")
        error = jobs.catalogue.summary("a", jobs.queue_state("a"))["error"]
        assert error == "steps.jsonl: line 1 is damaged"

    play(tmp_path, scene)


def test_a_run_that_another_process_writes_is_left_to_it(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_ATTEMPTS", 1)
    make(tmp_path, "a")

    async def scene(jobs: Jobs) -> None:
        with locked(tmp_path / "a" / "lock", "run"):
            assert jobs.status("a") == "running"
            with pytest.raises(RefusalError, match="in another process"):
                await jobs.stop("a", "paused")
            await jobs._update({"a": ("queued", None)})
            await jobs._start_next()
            async with asyncio.timeout(20):
                while jobs.entries["a"][0] != "refused":
                    await asyncio.sleep(0.02)
        assert jobs.entries["a"][1] == "another process is writing it"

    play(tmp_path, scene)


@pytest.mark.parametrize("name", ["grid-safe", "meadow"])
def test_a_finished_run_and_a_kind_from_elsewhere_are_not_started(
    runs: Path, name: str, tmp_path: Path
) -> None:
    import shutil

    shutil.copytree(runs / name, tmp_path / name)
    if name == "meadow":
        path = tmp_path / name / "manifest.json"
        value = json.loads(path.read_text())
        path.write_text(json.dumps({**value, "status": "interrupted", "end": None}))

    async def scene(jobs: Jobs) -> None:
        with pytest.raises(RefusalError, match=r"can't be resumed|another package") as refusal:
            await jobs.start(name)
        assert refusal.value.status == 409

    play(tmp_path, scene)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"format": 9, "runs": []}',
        '{"format": 1, "runs": [{"name": "../a"}]}',
        '{"format": 1, "runs": [{"name": "../a", "state": "going", "error": null}]}',
        '{"format": 1, "runs": [{"name": "gone", "state": "going", "error": null}]}',
    ],
)
def test_a_journal_that_can_not_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / ".serve.json").write_text(text)

    async def scene(jobs: Jobs) -> None:
        assert jobs.entries == {}

    play(tmp_path, scene)


def test_a_full_disk_refuses_a_request_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", "b")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        monkeypatch.setattr(module, "replace_json", full)
        with pytest.raises(RefusalError, match="No space left") as refusal:
            await jobs.start("b")
        assert refusal.value.status == 507
        assert jobs.status("b") == "interrupted"
        with pytest.raises(RefusalError, match="No space left"):
            await jobs.stop("a", "paused")
        assert jobs.status("a") == "running"

    play(tmp_path, scene)


def test_a_run_that_ends_on_a_full_disk_leaves_its_place_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a", "b", how="finish")

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await jobs.start("b")
        monkeypatch.setattr(module, "replace_json", full)
        await stands(jobs, "b", "finished")
        assert jobs.entries == {}

    play(tmp_path, scene)


def full(path: Path, value: object) -> None:
    raise InvalidFileError(f"{path}: can't be written: No space left on device")


def test_so_many_runs_wait_and_so_many_bytes(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", "c")

    async def scene(jobs: Jobs) -> None:
        jobs.limits = ServerSettings(jobs=1, queued=1)
        await jobs.start("a")
        await jobs.start("b")
        with pytest.raises(RefusalError, match="the maximum is 1") as refusal:
            await jobs.start("c")
        assert refusal.value.status == 507
        size = (tmp_path / "b" / "config.json").stat().st_size + 10
        jobs.limits = ServerSettings(jobs=1, queued=5, queued_bytes=size)
        await jobs.check_room(1, 10)
        with pytest.raises(RefusalError, match="11 more do not fit"):
            await jobs.check_room(1, 11)

    play(tmp_path, scene)


def test_the_event_loop_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a")
    loop_thread, used = threading.get_ident(), set()
    write, status = replace_json, Catalogue.summary

    def written(path: Path, value: object) -> None:
        used.add(threading.get_ident())
        write(path, value)

    def read(*given: Any) -> Any:
        used.add(threading.get_ident())
        return status(*given)

    monkeypatch.setattr(module, "replace_json", written)
    monkeypatch.setattr(Catalogue, "summary", read)

    async def scene(jobs: Jobs) -> None:
        await jobs.start("a")
        await jobs.stop("a", "cancelled")
        await jobs.forget("a")

    play(tmp_path, scene)
    assert used
    assert loop_thread not in used


def test_a_process_waits_for_the_next_run(tmp_path: Path) -> None:
    make(tmp_path, "a", "b", how="finish")

    async def scene(jobs: Jobs) -> None:
        await jobs.warm()
        (waiting,) = jobs.spares
        await jobs.start("a")
        assert await process_of(jobs, "a") is waiting
        await stands(jobs, "a", "finished")
        (dead,) = jobs.spares
        dead.kill()
        await dead.wait()
        await jobs.start("b")
        await stands(jobs, "b", "finished")

    closed = play(tmp_path, scene)
    assert all(process.returncode is not None for process in closed.spares)
