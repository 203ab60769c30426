"""Real processes: on this machine, and as a cluster of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from homeward.errors import InvalidInputError, MissingExtraError
from homeward.files import read_json
from homeward.studies import CrewError, StudyFile, conduct, crews, define, table_of
from homeward.studies.crews import Cluster, Inline, cores, remote_crew

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
TASKS = "tests.studies.tasks"
NAPS = define("naps", f"{TASKS}:napping", [{"nap": 0.01}, {"nap": 0.02}], range(40))


def inline(tmp_path: Path) -> Any:
    with StudyFile.open(tmp_path / "inline.sqlite", NAPS) as study_file:
        list(conduct(study_file, workers=0))
        return table_of(study_file)


def test_local_workers_have_one_thread_each_and_give_the_same_table(tmp_path: Path) -> None:
    study = define("threads", f"{TASKS}:threads", [{}], range(40))
    with StudyFile.open(tmp_path / "s.sqlite", study) as study_file:
        rows = [o.row for o in conduct(study_file, workers=2)]
    kinds = {(row["numba"], row["openmp"], row["blas"]) for row in rows if row}
    assert kinds == {(1, "1", "1")}
    processes = {row["process"] for row in rows if row}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert not any(psutil.pid_exists(int(str(p))) for p in processes)


def test_a_deadly_task_fails_and_costs_no_other(tmp_path: Path) -> None:
    cell = {"deadly": [5], "folder": str(tmp_path)}
    study = define("deadly", f"{TASKS}:kills", [cell], range(12))
    with StudyFile.open(tmp_path / "s.sqlite", study) as study_file:
        outcomes = list(conduct(study_file, workers=2))
        assert sorted(o.position for o in outcomes) == list(range(12))
        (failure,) = study_file.failures()
    assert failure.position == 5
    assert str(failure.error).startswith("3 workers died while running it.")
    assert len(list(tmp_path.glob("5.*"))) == 3


class Dask:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.scheduler = self.start("scheduler", "--port", "0")
        self.workers = [self.start("worker", "--nthreads", "1") for _ in range(2)]

    def start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [
            *(sys.executable, "-m", f"distributed.cli.dask_{what}", "--host", "127.0.0.1"),
            *("--no-dashboard", "--scheduler-file", str(self.file), *options),
        ]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, stdout=quiet, stderr=quiet, env=environment)

    @property
    def address(self) -> str:
        until = time.monotonic() + 60.0
        while not self.file.exists() and time.monotonic() < until:
            time.sleep(0.05)
        return str(read_json(self.file)["address"])

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.terminate()
        for process in (*self.workers, self.scheduler):
            process.wait(60.0)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dask]:
    running = Dask(tmp_path_factory.mktemp("dask"))
    yield running
    running.stop()


def test_a_cluster_gives_the_same_table(tmp_path: Path, dask: Dask) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file:
        list(conduct(study_file, scheduler=dask.address))
        assert table_of(study_file) == inline(tmp_path)


def test_a_worker_killed_midway_loses_nothing(tmp_path: Path, dask: Dask) -> None:
    killed = []
    with StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file:
        for number, _ in enumerate(conduct(study_file, scheduler=dask.address)):
            if number == 20:
                for process in psutil.Process(dask.workers[0].pid).children(recursive=True):
                    process.kill()
                    killed.append(process.pid)
        assert study_file.failures() == []
        assert table_of(study_file) == inline(tmp_path)
    assert killed


def test_workers_that_can_not_find_the_task_stop_the_study(
    tmp_path: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def task(cell, seed):\n    return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    study = define("s", "only_here:task", [{}], range(3))
    with (
        StudyFile.open(tmp_path / "s.sqlite", study) as study_file,
        pytest.raises(CrewError, match=r"the workers can't run only_here:task: .*No module named"),
    ):
        list(conduct(study_file, scheduler=dask.address))


def test_a_scheduler_that_falls_silent_midway_is_told(tmp_path: Path, dask: Dask) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file:
        outcomes = conduct(study_file, scheduler=dask.address, patience=3.0)
        next(outcomes)
        dask.scheduler.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(CrewError, match="the scheduler"):
                list(outcomes)
        finally:
            dask.scheduler.send_signal(signal.SIGCONT)
        assert study_file.done >= 1


def test_a_scheduler_that_dies_midway_is_told_and_what_was_done_is_kept(
    tmp_path: Path, dask: Dask
) -> None:
    with StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file:
        outcomes = conduct(study_file, scheduler=dask.address)
        kept = [next(outcomes) for _ in range(5)]
        dask.scheduler.kill()
        with pytest.raises(CrewError, match="the scheduler"):
            kept.extend(outcomes)
        assert study_file.done == 80 - len(study_file.left()) >= 5
        rest = list(conduct(study_file, workers=0))
        assert len(kept) + len(rest) >= 80
        assert table_of(study_file) == inline(tmp_path)


def test_a_scheduler_that_does_not_answer_is_named_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crews, "ANSWER_SECONDS", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with (
            StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file,
            pytest.raises(CrewError, match=f"no scheduler answers at {address} within 1 s"),
        ):
            list(conduct(study_file, scheduler=address))
        assert time.monotonic() - began < 10.0


def test_an_address_that_is_none_is_refused() -> None:
    with (
        pytest.raises(InvalidInputError, match="'cluster' is not a scheduler's address"),
        remote_crew("cluster", 1.0),
    ):
        pass


class Deserted:
    """A client whose scheduler has no workers."""

    scheduler = type("Scheduler", (), {"address": "tcp://there:1"})

    def nthreads(self, callback_timeout: float) -> dict[str, int]:
        return {}


def test_a_cluster_without_workers_is_waited_for_and_then_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crews, "POLL_SECONDS", 0.01)
    crew = Cluster(Deserted(), patience=0.1)
    assert crew.slots == 1
    with pytest.raises(CrewError, match=r"no workers for 0\.1 s; start some with `dask worker tcp"):
        crew.collect()


def test_without_dask_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with StudyFile.open(tmp_path / "s.sqlite", NAPS) as study_file:
        with pytest.raises(MissingExtraError, match=r"pip install 'homeward\[cluster\]'"):
            next(conduct(study_file, workers=2))
        with pytest.raises(MissingExtraError, match=r"pip install 'homeward\[cluster\]'"):
            next(conduct(study_file, scheduler="tcp://127.0.0.1:1"))
        next(conduct(study_file, workers=0))


def test_the_process_itself_has_one_slot() -> None:
    assert Inline().slots == 1
    assert cores() >= 1


@contextmanager
def loaded(statement: str) -> Iterator[set[str]]:
    script = f"{statement}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    yield set(done.stdout.split())


def test_the_machine_is_imported_without_dask_and_pyarrow() -> None:
    with loaded("import homeward.studies, homeward.cli.study") as modules:
        assert not modules & {"distributed", "dask", "pyarrow"}
