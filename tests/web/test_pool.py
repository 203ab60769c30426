from __future__ import annotations

import asyncio
import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from homeward.web import pool as module
from homeward.web.limits import ServerSettings
from homeward.web.pool import Pool, Worker
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.service import ViewingService, serve


def fickle(connection: Any, root: Path) -> None:
    """Do as one is told; a process for the tests."""
    while True:
        name, arguments = connection.recv()
        if name == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "sleep":
            time.sleep(60)
        elif name == "refuse":
            connection.send(("refused", (Refusal.NOT_FOUND, "there is none")))
        else:
            connection.send(("done", (os.getpid(), name, arguments)))


def worker(tmp_path: Path) -> Worker:
    return Worker(tmp_path, fickle)


def test_a_process_answers_again_and_again(tmp_path: Path) -> None:
    async def scene() -> None:
        one = worker(tmp_path)
        first = await one.ask("hello", (1, 2), 20.0)
        second = await one.ask("hello", (3,), 20.0)
        one.close()
        assert first[0] == second[0] != os.getpid()
        assert first[1:] == ("hello", (1, 2))

    asyncio.run(scene())


def planner(connection: Any, root: Path) -> None:
    """Plan until one is told to stop."""
    while True:
        name, _ = connection.recv()
        if name in ("why", "timeline"):
            stopped = connection.poll(20.0)
            connection.send(
                ("refused", (Refusal.RESTARTING, "ask again")) if stopped else ("done", "planned")
            )
        elif name != "stop":
            connection.send(("done", name))


def test_what_is_quickly_told_does_not_wait_for_a_plan(tmp_path: Path) -> None:
    async def scene() -> None:
        one = Worker(tmp_path, planner)
        assert await one.ask("hello", (), 20.0) == "hello"
        plan = asyncio.create_task(one.ask("why", (), 30.0))
        await asyncio.sleep(0.2)
        began = time.monotonic()
        assert await one.ask("fields", (), 20.0) == "fields"
        assert await one.ask("fields", (), 20.0) == "fields"
        assert time.monotonic() - began < 5.0
        with pytest.raises(RefusalError, match="ask again"):
            await plan
        one.close()

    asyncio.run(scene())


def test_a_plan_does_not_wait_for_the_events_of_a_run(tmp_path: Path) -> None:
    async def scene() -> None:
        one = Worker(tmp_path, planner)
        assert await one.ask("hello", (), 20.0) == "hello"
        events = asyncio.create_task(one.ask("timeline", (), 30.0))
        await asyncio.sleep(0.2)
        plan = asyncio.create_task(one.ask("why", (), 30.0))
        with pytest.raises(RefusalError, match="ask again"):
            await events
        later = asyncio.create_task(one.ask("timeline", (), 30.0))
        await asyncio.sleep(0.2)
        assert not plan.done()  # events do not interrupt a plan
        for interrupted in (plan, later):  # each time the more urgent one passes
            assert await one.ask("fields", (), 10.0) == "fields"
            with pytest.raises(RefusalError, match="ask again"):
                await interrupted
            await asyncio.sleep(0.2)
        one.close()

    asyncio.run(scene())


def test_the_processes_can_be_started_before_somebody_asks(tmp_path: Path) -> None:
    async def scene() -> None:
        pool = Pool(tmp_path, ServerSettings(viewers=1, answer=60.0))
        pool.viewers = [worker(tmp_path)]
        await pool.warm()
        (one,) = pool.viewers
        assert one.process is not None
        assert one.process.is_alive()
        pool.close()

    asyncio.run(scene())


def test_nothing_is_imported_from_where_the_server_was_started(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("open('imported', 'w').close()")
    script = (
        "import sys; sys.path.remove('')\n"
        "import asyncio\n"
        "from pathlib import Path\n"
        "from homeward.web.pool import Pool\n"
        "async def main():\n"
        "    pool = Pool(Path())\n"
        "    await pool.ask('a', 'ready')\n"
        "    pool.close()\n"
        "if __name__ == '__main__':\n"
        "    asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    assert not (tmp_path / "imported").exists()


def test_a_process_that_dies_is_replaced(tmp_path: Path) -> None:
    async def scene() -> None:
        one = worker(tmp_path)
        first = await one.ask("hello", (), 20.0)
        with pytest.raises(RefusalError, match="send the request again") as refusal:
            await one.ask("die", (), 20.0)
        assert refusal.value.status == 503
        second = await one.ask("hello", (), 20.0)
        assert second[0] != first[0]
        assert one.process is not None
        os.kill(second[0], signal.SIGKILL)
        one.process.join()
        third = await one.ask("hello", (), 20.0)
        one.close()
        assert third[0] != second[0]

    asyncio.run(scene())


def test_a_process_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    async def scene() -> None:
        one = worker(tmp_path)
        first = await one.ask("hello", (), 20.0)
        began = time.monotonic()
        with pytest.raises(RefusalError, match=r"longer than 0\.2 s") as refusal:
            await one.ask("sleep", (), 0.2)
        assert time.monotonic() - began < 4.0
        assert refusal.value.status == 504
        with pytest.raises(ProcessLookupError):
            os.kill(first[0], 0)
        assert (await one.ask("hello", (), 20.0))[0] != first[0]
        one.close()

    asyncio.run(scene())


def test_a_refusal_comes_through(tmp_path: Path) -> None:
    async def scene() -> None:
        one = worker(tmp_path)
        with pytest.raises(RefusalError, match="there is none") as refusal:
            await one.ask("refuse", (), 20.0)
        one.close()
        assert refusal.value.status == 404

    asyncio.run(scene())


def test_who_has_hung_up_is_not_served(tmp_path: Path) -> None:
    async def gone() -> bool:
        return True

    async def scene() -> None:
        one = worker(tmp_path)
        with pytest.raises(RefusalError, match="the client disconnected"):
            await one.ask("hello", (), 20.0, gone)
        assert one.process is None
        one.close()

    asyncio.run(scene())


def test_the_loop_goes_on_while_a_process_works(tmp_path: Path) -> None:
    async def scene() -> int:
        one = worker(tmp_path)
        slow = asyncio.create_task(one.ask("sleep", (), 0.5))
        turns = 0
        while not slow.done():
            turns += 1
            await asyncio.sleep(0.01)
        with pytest.raises(RefusalError):
            await slow
        one.close()
        return turns

    assert asyncio.run(scene()) > 10


def test_a_run_has_its_process() -> None:
    async def scene() -> None:
        pool = Pool(Path("/runs"))
        names = [f"run-{n}" for n in range(20)]
        assert {(*pool.viewers, pool.maker).index(pool.worker_of(name)) for name in names} == {0, 1}
        assert all(pool.worker_of(name) is pool.worker_of(name) for name in names)
        pool.close()

    asyncio.run(scene())


def test_the_two_runs_of_a_pair_have_two_processes() -> None:
    async def scene() -> None:
        pool = Pool(Path("/runs"))
        for n in range(20):
            safe, unsafe = (pool.worker_of(f"pair-{n}-{end}") for end in ("safe", "unsafe"))
            assert safe is not unsafe
        pool.close()

    asyncio.run(scene())


def patient(connection: Any, root: Path) -> None:
    """Read slowly, and answer with the size of what came."""
    while True:
        time.sleep(0.05)
        name, arguments = connection.recv()
        if name != "stop":
            connection.send(("done", len(arguments[0])))


def test_two_threads_do_not_write_into_each_others_messages(tmp_path: Path) -> None:
    async def scene() -> None:
        one, large = Worker(tmp_path, patient), bytes(4 << 20)
        for _ in range(3):
            plan = asyncio.create_task(one.ask("why", (large,), 20.0))
            await asyncio.sleep(0.02)  # the message is on its way
            assert await one.ask("fields", (large,), 20.0) == len(large)
            assert await plan == len(large)
        one.close()

    asyncio.run(scene())


def test_a_process_that_is_being_started_ends_with_the_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, closed = threading.Event(), threading.Event()
    prepare = module.prepare

    def slowly() -> None:
        begun.set()
        closed.wait(20.0)
        prepare()

    monkeypatch.setattr(module, "prepare", slowly)

    async def scene() -> None:
        one, loop = worker(tmp_path), asyncio.get_running_loop()
        asked = asyncio.create_task(one.ask("sleep", (), 60.0))
        await loop.run_in_executor(None, begun.wait, 20.0)
        closing = loop.run_in_executor(None, one.close)
        while not one._closing:
            await asyncio.sleep(0.01)
        closed.set()
        await closing
        with pytest.raises(RefusalError, match="died"):
            await asked
        assert one.process is None

    asyncio.run(scene())


def test_two_processes_that_start_together_prepare_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both set a variable of the environment, and take it away."""
    second, inside, most = threading.Event(), 0, 0

    def slow() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == 2:
            second.set()
        second.wait(0.5)
        assert os.environ[module.SAFE_PATH] == "1"
        inside -= 1

    monkeypatch.setattr(multiprocessing.forkserver, "ensure_running", slow)
    with ThreadPoolExecutor(2) as threads:
        started = [threads.submit(module.prepare) for _ in range(2)]
    assert [each.exception() for each in started] == [None, None]
    assert most == 1
    assert module.SAFE_PATH not in os.environ


def busy(connection: Any, root: Path) -> None:
    """Serve, and take a minute for every answer."""
    ViewingService.answer = lambda *given: time.sleep(60)  # type: ignore[method-assign]
    serve(connection, root)


KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.web.test_pool import Worker, busy
one = Worker(Path("."), busy)
async def scene():
    asking = asyncio.create_task(one.ask("why", (), 60.0))
    while one.process is None or one.process.pid is None:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.5)
    print(one.process.pid, flush=True)
    os.kill(os.getpid(), 9)
asyncio.run(scene())
"""


def test_a_busy_process_ends_with_a_killed_server() -> None:
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        child = int(server.stdout.readline())
        assert server.wait(20.0) == -signal.SIGKILL
        end = time.monotonic() + 20.0
        while Path(f"/proc/{child}").exists() and time.monotonic() < end:
            time.sleep(0.02)
        left = Path(f"/proc/{child}").exists()
        if left:
            os.kill(child, signal.SIGKILL)
        assert not left
