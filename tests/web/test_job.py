from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.web.site import until

from homeward.runs import Run, RunStatus
from homeward.runs.lock import locked
from homeward.web import job

LARGE = {"size": 40, "seed": 1, "walls": 0.2, "delta": 0.9}


def start(folder: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "homeward.web.job"]
    # A session of its own, as the server starts it: else the job would slow down the tests.
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(str(folder)).encode() + b"\n")
    process.stdin.flush()
    return process


def wait_for_steps(folder: Path, process: subprocess.Popen[bytes]) -> None:
    while not (folder / "steps.jsonl").stat().st_size:
        assert process.poll() is None
        time.sleep(0.02)


def test_a_job_stops_if_its_starter_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = Run.create(folder, "grid", LARGE)
    script = (
        "import subprocess, sys\n"
        "words = [sys.executable, '-m', 'homeward.web.job']\n"
        "job = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)\n"
        f"job.stdin.write({json.dumps(str(folder)).encode()!r} + b'\\n')\n"
        "job.stdin.flush()\n"
        "job.wait()"
    )
    starter = subprocess.Popen([sys.executable, "-c", script])
    wait_for_steps(folder, starter)
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    end = time.monotonic() + 10.0
    while run.status is RunStatus.RUNNING and time.monotonic() < end:
        time.sleep(0.02)
    assert run.manifest.status is RunStatus.INTERRUPTED
    assert run.manifest.steps == sum(1 for _ in run.records()) > 0


def niceness(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[16])


def test_a_run_has_the_usual_priority_and_stands_back_when_it_takes_long(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "run"
    Run.create(folder, "grid", LARGE)
    with start(folder) as process:
        wait_for_steps(folder, process)
        assert niceness(process.pid) == niceness(os.getpid())
        process.kill()
    script = "import homeward.web.job as job; job.FULL_PRIORITY_SECONDS = 0.0; job.main()"
    words = [sys.executable, "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True) as patient:
        assert patient.stdin is not None
        patient.stdin.write(json.dumps(str(folder)).encode() + b"\n")
        patient.stdin.flush()
        until(lambda: niceness(patient.pid) >= job.NICENESS)
        patient.kill()


def test_a_job_without_a_run_ends_with_its_server() -> None:
    with subprocess.Popen([sys.executable, "-m", "homeward.web.job"], stdin=-1) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == job.DONE


def test_a_job_does_not_import_what_a_run_names(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "meadow", tmp_path / "meadow")
    with start(tmp_path / "meadow") as process:
        assert process.wait(30) == job.REFUSED
        assert process.stderr is not None
        assert b"command line" in process.stderr.read()


def test_a_job_says_that_another_is_at_it_or_why_it_can_not_go_on(own: Path) -> None:
    folder = own / "grid-safe"
    with locked(folder / "lock", "run"), start(folder) as process:
        assert process.wait(30) == job.BUSY
    (folder / "steps.jsonl").write_text("nonsense\nand more\n")
    with start(folder) as process:
        assert process.wait(30) == job.REFUSED
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert "line 1 is damaged" in said
    assert said.count("\n") == 1
