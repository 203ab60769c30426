from __future__ import annotations

import socket
import threading
import time
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
import uvicorn
from tests.web.site import until

from homeward.web import connections
from homeward.web.connections import IdleTimeout
from homeward.web.serving import bind

if TYPE_CHECKING:
    from collections.abc import Iterator

ASK = b"GET / HTTP/1.1\r\nHost: us\r\n\r\n"


async def slow(scope: object, receive: object, send: object) -> None:
    """Answer after longer than an idle connection lives."""
    import asyncio

    await asyncio.sleep(0.5)
    head = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]}
    await send(head)  # type: ignore[operator]
    await send({"type": "http.response.body", "body": b"ok"})  # type: ignore[operator]


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve with a patience of a fifth of a second."""
    monkeypatch.setattr(connections, "CHECK_SECONDS", 0.2)
    config = uvicorn.Config(
        slow, http=IdleTimeout, lifespan="off", log_config=None, timeout_keep_alive=60
    )
    with bind("127.0.0.1", 0) as listener:
        engine = uvicorn.Server(config)
        thread = threading.Thread(target=engine.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: engine.started)
        yield listener.getsockname()[1]
        engine.should_exit = True
        thread.join()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", ASK[:-2]])
def test_who_asks_for_nothing_is_hung_up_on(port: int, begun: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as line:
        line.sendall(begun)
        assert line.recv(100) == b""


def test_who_waits_for_an_answer_gets_it_and_then_has_to_ask_again(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 10) as line:
        for _ in range(2):
            line.sendall(ASK)
            answer = b""
            while not answer.endswith(b"ok"):
                answer += line.recv(1000)
        began = time.monotonic()
        assert line.recv(100) == b""
        assert time.monotonic() - began < 5.0


async def endless(scope: object, receive: object, send: object) -> None:
    """Send a body as long as somebody reads it."""
    await send({"type": "http.response.start", "status": 200})  # type: ignore[operator]
    for _ in range(1000):
        part = {"type": "http.response.body", "body": bytes(1 << 20), "more_body": True}
        await send(part)  # type: ignore[operator]


def test_who_does_not_read_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SEND_SECONDS", 0.2)
    config = uvicorn.Config(endless, http=IdleTimeout, lifespan="off", log_config=None)
    with bind("127.0.0.1", 0) as listener:
        engine = uvicorn.Server(config)
        thread = threading.Thread(target=engine.run, kwargs={"sockets": [listener]})
        thread.start()
        until(lambda: engine.started)
        try:
            with socket.create_connection(listener.getsockname(), 10) as line:
                line.sendall(ASK)
                until(lambda: engine.server_state.connections)
                until(lambda: not engine.server_state.connections)
        finally:
            engine.should_exit = True
            thread.join()


@pytest.mark.parametrize("more", [0, 1])
def test_who_reads_too_little_is_hung_up_on(more: int) -> None:
    line, waiting = IdleTimeout.__new__(IdleTimeout), 1 << 20
    line.transport, line.loop = Mock(), Mock()
    line.transport.get_write_buffer_size.return_value = waiting - connections.MIN_SENT_BYTES + more
    line._check_reader(waiting)
    assert line.transport.abort.call_count == more
    assert line.loop.call_later.call_count == 1 - more
