from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from homeward.errors import HomewardError, InvalidFileError
from homeward.runs.lock import BusyError, is_held, locked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from homeward.runs.lock import locked
with locked(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Start another process that holds the lock until it is told or killed."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_and_then_not(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with locked(path, "it"):
        assert is_held(path)
        assert path.read_text().startswith(f"process {os.getpid()} on ")
    assert not is_held(path)
    assert not path.exists()


def test_the_second_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        locked(path, "runs/cliff"),
        pytest.raises(BusyError, match=rf"runs/cliff: process {os.getpid()} on .* is writing it"),
        locked(path, "runs/cliff"),
    ):
        pass
    assert issubclass(BusyError, HomewardError)


def test_another_process_holds_it_until_it_lets_go(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    path = tmp_path / "lock"
    assert is_held(path)
    with pytest.raises(BusyError, match=f"process {holder.pid} on"), locked(path, "it"):
        pass
    holder.communicate()
    with locked(path, "it"):
        pass


def test_the_lock_of_a_killed_process_is_no_obstacle(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    path = tmp_path / "lock"
    holder.kill()
    holder.wait()
    assert path.exists()
    assert not is_held(path)
    with locked(path, "it"):
        assert path.read_text().startswith(f"process {os.getpid()} on ")


def test_a_short_look_at_the_lock_does_not_refuse_a_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    path.touch()
    looking = os.open(path, os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda seconds: os.close(looking))
    with locked(path, "it"):
        assert is_held(path)


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    real = fcntl.flock
    calls: list[int] = []

    def removed_before(handle: int, how: int) -> None:
        if not calls:
            path.unlink()
        calls.append(how)
        real(handle, how)

    monkeypatch.setattr(fcntl, "flock", removed_before)
    with locked(path, "it"):
        assert is_held(path)
    # the removed file's, the one that counts, the look, and the release
    assert [how & ~fcntl.LOCK_NB for how in calls] == [
        fcntl.LOCK_EX,
        fcntl.LOCK_EX,
        fcntl.LOCK_SH,
        fcntl.LOCK_UN,
    ]


def test_a_link_is_no_lock_and_what_it_leads_to_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("kept")
    (tmp_path / "lock").symlink_to(tmp_path / "kept")
    with pytest.raises(InvalidFileError), locked(tmp_path / "lock", "it"):
        pass
    assert (tmp_path / "kept").read_text() == "kept"
    assert not is_held(tmp_path / "lock")


def test_nobody_waits_at_a_pipe_that_is_named_like_a_lock(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "lock")
    assert not is_held(tmp_path / "lock")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="gone: can't be written"):
        locked(tmp_path / "gone" / "lock", "it").__enter__()


def test_a_folder_that_vanishes_takes_the_lock_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with locked(folder / "lock", "it"):
        (folder / "lock").unlink()
        folder.rmdir()
    assert not is_held(folder / "lock")
