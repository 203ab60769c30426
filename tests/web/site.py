"""A server of its own for the tests that need one, on a free port and in a thread."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn

from homeward.web.app import Server
from homeward.web.guard import Guard
from homeward.web.limits import ServerSettings
from homeward.web.serving import bind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CHANGE = {"X-Homeward": "1"}
PATIENCE = 120.0


@dataclass(frozen=True)
class Site:
    """A server that answers."""

    root: Path
    port: int
    server: Server
    client: httpx.Client

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **named: Any) -> httpx.Response:
        return self.client.get(path, **named)

    def post(self, path: str, value: Any = None) -> httpx.Response:
        if value is None:
            return self.client.post(path, headers=CHANGE)
        return self.client.post(path, headers=CHANGE, json=value)

    def delete(self, path: str) -> httpx.Response:
        return self.client.delete(path, headers=CHANGE)

    def status(self, run: str) -> str:
        return str(self.get(f"/api/v1/runs/{run}").json()["status"])

    def wait(self, run: str, *statuses: str) -> dict[str, Any]:
        """Wait until a run stands so."""
        found: dict[str, Any] = until(lambda: self._stands(run, statuses))
        return found

    def _stands(self, run: str, statuses: tuple[str, ...]) -> dict[str, Any] | None:
        runs = self.get("/api/v1/runs").json()["runs"]
        found = next((r for r in runs if r["id"] == run), None)
        return found if found is not None and found["status"] in statuses else None


def until(found: Callable[[], Any]) -> Any:
    """Ask again and again until there is an answer."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        answer = found()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("it never came to be")


@contextmanager
def serving(
    root: Path, token: str | None = None, static: Path | None = None, port: int = 0, **limits: Any
) -> Iterator[Site]:
    """Serve a folder for a while."""
    listener = bind("127.0.0.1", port)
    port = listener.getsockname()[1]
    server = Server(root, ServerSettings(**limits), static or root / "no static")
    app = Guard(server.app(), "127.0.0.1", token)
    options: dict[str, Any] = {"log_config": None, "ws": "none", "lifespan": "on"}
    config = uvicorn.Config(app, timeout_graceful_shutdown=1, access_log=False, **options)
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    engine = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(engine.serve(sockets=[listener])))
    thread.start()
    try:
        until(lambda: engine.started or not thread.is_alive())
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE) as client:
            yield Site(root, port, server, client)
    finally:
        engine.should_exit = True
        thread.join()
        listener.close()
