from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn
from tests.web.site import CHANGE, PATIENCE, Site, serving, until

from homeward.errors import InvalidInputError
from homeward.runs import Run, RunStatus
from homeward.runs.lock import BusyError
from homeward.web.connections import IdleTimeout
from homeward.web.serving import _short, bind, claimed, make_demo, serve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIVE = {"size": 48, "seed": 5, "walls": 0.2, "delta": 0.9, "limit": 1000}
ENTRY = "from homeward.cli import main; main()"


class Served:
    """A server in a process of its own, as somebody starts it."""

    def __init__(self, root: Path, *options: str) -> None:
        words = [sys.executable, "-c", ENTRY, "serve", str(root), "--port", "0", "--no-open"]
        # Who starts the tests in the background ignores SIGINT, and so would their children.
        self.process = subprocess.Popen(
            [*words, *options],
            stdout=-1,
            stderr=-1,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        assert self.process.stdout is not None
        self.said = []
        for line in self.process.stdout:
            self.said.append(line.strip())
            if "at http" in line:
                break
        assert self.said, self.process.stderr and self.process.stderr.read()
        printed = next(w for w in self.said[-1].split() if w.startswith("http"))
        self.address, token = printed.split("?token=")
        self.headers = {**CHANGE, "Authorization": f"Bearer {token}"}

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        _, self.errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode


@pytest.fixture
def started() -> Iterator[list[Served]]:
    found: list[Served] = []
    yield found
    for one in found:
        if one.process.poll() is None:
            one.end(signal.SIGKILL)


def test_a_server_killed_in_a_live_run_goes_on_to_the_same_steps(
    tmp_path: Path, started: list[Served]
) -> None:
    root = tmp_path / "runs"
    whole = Run.create(tmp_path / "whole", "grid", LIVE)
    whole.resume()
    Run.create(root / "demo-safe", "grid", {"size": 3}).resume()  # or two would be made
    started.append(Served(root))
    wanted = {"kind": "grid", "name": "live", "config": LIVE}
    url, headers = f"{started[0].address}api/v1/runs", started[0].headers
    assert httpx.post(url, json=wanted, headers=headers, timeout=60).status_code == 201
    log = root / "live" / "steps.jsonl"
    until(lambda: log.read_bytes().count(b"\n") >= 5)
    children = _children(started[0].process.pid)
    assert children
    started[0].end(signal.SIGKILL)
    cut = log.read_bytes()
    assert cut.count(b"\n") < whole.manifest.steps
    assert json.loads((root / ".serve.json").read_text())["runs"][0]["state"] == "going"
    started.append(Served(root))
    until(lambda: Run(root / "live").status is RunStatus.FINISHED)
    assert log.read_bytes() == (tmp_path / "whole" / "steps.jsonl").read_bytes()
    assert log.read_bytes().startswith(cut[: cut.rfind(b"\n") + 1])
    until(lambda: not any(_alive(child) for child in children))
    assert started[1].end(signal.SIGINT) in (130, 0)


def test_ctrl_c_stops_what_is_going_and_leaves_nobody(
    tmp_path: Path, started: list[Served]
) -> None:
    root = tmp_path / "runs"
    Run.create(root / "done", "grid", {"size": 3}).resume()
    Run.create(root / "live", "grid", {**LIVE, "size": 200, "limit": None})
    going = {"name": "live", "state": "going", "error": None}
    (root / ".serve.json").write_text(json.dumps({"format": 1, "runs": [going]}))
    started.append(Served(root))
    until(lambda: (root / "live" / "steps.jsonl").stat().st_size)
    children = _children(started[0].process.pid)
    assert started[0].end(signal.SIGINT) == 130
    until(lambda: not any(_alive(child) for child in children))
    assert Run(root / "live").manifest.status is RunStatus.INTERRUPTED
    assert not (root / ".serve.lock").exists()


def test_who_still_listens_does_not_keep_the_server_from_stopping(
    own: Path, started: list[Served]
) -> None:
    started.append(Served(own))
    url, headers = f"{started[0].address}api/v1/events?runs=grid-safe", started[0].headers
    with httpx.stream("GET", url, headers=headers) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: steps"
        assert started[0].end(signal.SIGINT) == 130
    assert started[0].errors == ""


def test_a_request_that_the_stopping_server_interrupts_is_told_to_come_again(own: Path) -> None:
    asked, answers = threading.Event(), []

    async def slow(*arguments: object, **more: object) -> None:
        asked.set()
        await asyncio.sleep(PATIENCE)

    with serving(own) as site:
        site.server.pool.ask = slow  # type: ignore[method-assign]
        address = f"{site.address}/api/v1/runs/grid-safe/steps/1/why"
        client = threading.Thread(
            target=lambda: answers.append(httpx.get(address, timeout=PATIENCE))
        )
        client.start()
        assert asked.wait(PATIENCE)
    client.join()
    (answer,) = answers
    assert answer.status_code == 503
    assert answer.json()["code"] == "restarting"
    assert "is stopping" in answer.json()["error"]


def _children(process: int) -> list[int]:
    """List the processes that a process has started, and those that they have."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True)
    own = [int(word) for word in found.stdout.split()]
    return [*own, *(pid for child in own for pid in _children(child))]


def _alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_taken_port_leads_to_the_next() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        with bind("127.0.0.1", taken) as listener:
            assert taken < listener.getsockname()[1] < taken + 20


def test_a_small_answer_does_not_wait_for_a_large_one(site: Site) -> None:
    """Headers and body go in two parts; if the second waited for the first, it would take 40 ms."""
    times = []
    for _ in range(20):
        began = time.perf_counter()
        site.get("/api/v1/runs/grid-safe/records?from=0&to=1")
        times.append(time.perf_counter() - began)
    assert min(times) < 0.03


def test_a_host_that_is_not_ours_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"can't listen on 203\.0\.113\.1"):
        bind("203.0.113.1", 0)


def test_a_folder_that_can_not_be_served_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".uploads").symlink_to(tmp_path / "elsewhere")
    started: list[bool] = []
    with (
        bind("127.0.0.1", 0) as listener,
        pytest.raises(InvalidInputError, match="can't be served"),
    ):
        serve(tmp_path, listener, "127.0.0.1", None, 1, lambda: started.append(True))
    assert not started


def test_a_folder_has_one_server(tmp_path: Path) -> None:
    with claimed(tmp_path), pytest.raises(BusyError, match="already served"), claimed(tmp_path):
        pass


def test_where_there_is_no_run_two_are_made(tmp_path: Path) -> None:
    root = tmp_path / "new" / "runs"
    with claimed(root):
        assert make_demo(root)
    assert sorted(os.listdir(root)) == ["demo-safe", "demo-unsafe"]
    for name in os.listdir(root):
        assert Run(root / name).status is RunStatus.FINISHED
    assert not make_demo(root)


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    from homeward.kinds.grid.maps import HeightMap

    make_demo(tmp_path)
    steps = {n: list(Run(tmp_path / n).records()) for n in ("demo-safe", "demo-unsafe")}
    drawn = {"walls": 0.15, "start": 78}
    grid = HeightMap.random((12, 12), 36, **drawn)  # type: ignore[arg-type]
    assert steps["demo-safe"][0].state == steps["demo-unsafe"][0].state == grid.start
    assert grid.stranded(steps["demo-unsafe"][-1].next_state)
    assert not grid.stranded(steps["demo-safe"][-1].next_state)


def test_a_folder_with_a_run_is_left_as_it_is(own: Path) -> None:
    assert not make_demo(own)
    assert os.listdir(own) == ["grid-safe"]


def test_a_served_connection_closes_when_its_client_is_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[object] = []
    monkeypatch.setattr(
        uvicorn.Server, "run", lambda engine, sockets: used.append(engine.config.http)
    )
    with bind("127.0.0.1", 0) as listener:
        serve(tmp_path, listener, "127.0.0.1", "let-me-in", 1, lambda: None)
    assert used == [IdleTimeout]


def test_a_log_line_is_one_line() -> None:
    try:
        raise ZeroDivisionError("by\nzero")
    except ZeroDivisionError:
        info = sys.exc_info()
    record = logging.LogRecord("x", 40, "p", 1, "Exception in ASGI\nmore", (), info)
    assert _short(record)
    assert record.getMessage() == "Exception in ASGI"
    assert record.exc_info is None
    report = "Traceback (most recent call last):\n  File x\nhomeward.Error: it is a link\n"
    record = logging.LogRecord("x", 40, "p", 1, report, (), None)
    assert _short(record)
    assert record.getMessage() == "homeward.Error: it is a link"
