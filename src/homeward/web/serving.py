"""Serve a folder of runs until somebody stops it."""

from __future__ import annotations

import errno
import logging
import shutil
import socket
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from homeward.errors import HomewardError, InvalidInputError
from homeward.extras import need
from homeward.files import PART, refusing
from homeward.runs import Run, RunStatus
from homeward.runs.lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NEXT = 20
"""How many ports are tried, one after the other."""

GRACE = 2
"""Seconds that open connections have when the server stops."""

CONNECTIONS = 512
LEFT = 3600.0
"""Seconds after which what a process left half made or half removed is taken away."""

FAILED = (1, 3)
"""Exit codes of a server that could not start."""

LOCK = ".serve.lock"
DEMO: dict[str, dict[str, Any]] = {
    "demo-safe": {"explorer": "safe", "delta": 0.9},
    "demo-unsafe": {"explorer": "uncover"},
}
"""Two explorers in the same grid world, by the name of their run."""

WORLD: dict[str, Any] = {
    "size": 12,
    "walls": 0.15,
    "seed": 36,
    "start": 6 * 12 + 6,
    "home": "start",
}
"""The world: the unsafe explorer soon drops to where it finds no way back from."""


def need_web() -> None:
    """Refuse to go on without what the page needs."""
    for module in ("starlette", "uvicorn"):
        need(module, "web", "the page needs starlette and uvicorn")


def bind(host: str, port: int) -> socket.socket:
    """Give a socket that listens on the port, or on the first after it that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = range(port, min(port + NEXT, 65536)) if port else (0,)
    for candidate in tried:
        # With the protocol named, what is accepted sends at once and does not wait for more.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(CONNECTIONS)
        except OSError as cause:
            listener.close()
            if cause.errno != errno.EADDRINUSE:
                raise InvalidInputError(
                    f"can't listen on {host}, port {candidate}: {cause.strerror or cause}"
                ) from cause
        else:
            return listener
    last = tried[-1]
    raise InvalidInputError(f"the ports {port} to {last} are taken on {host}: give another")


def make_demo(root: Path, begins: Callable[[], None] = lambda: None) -> bool:
    """Make two finished runs where there is none; tell whether it was so.

    What they plan with is compiled before they plan, or the first plan would seem to take long.
    """
    others = [path for path in root.iterdir() if (path / "config.json").exists()]
    if any(path.name not in DEMO or is_done(path) for path in others):
        return False
    begins()
    with TemporaryDirectory() as place:
        for name, config in DEMO.items():
            Run.create(Path(place) / name, "grid", WORLD | config | {"limit": 2}).resume()
    for name, config in DEMO.items():
        folder = root / name
        run = Run.open(folder) if folder.exists() else Run.create(folder, "grid", WORLD | config)
        run.resume()
    return True


def is_done(folder: Path) -> bool:
    """Tell whether a run has come to its end, or is beyond help: the page says so."""
    try:
        return Run.open(folder).status is RunStatus.FINISHED
    except HomewardError:
        return True


@contextmanager
def claimed(root: Path) -> Iterator[None]:
    """Be the only server of a folder, which is made where there is none."""
    with refusing(root, "can't be written"):
        root.mkdir(parents=True, exist_ok=True)
    with locked(root / LOCK, f"{root} (served already)"):
        for left in root.glob(f".*{PART}"):  # of a deletion that was cut off
            if time.time() - left.lstat().st_mtime > LEFT:
                shutil.rmtree(left, ignore_errors=True)
        yield


def serve(
    root: Path,
    listener: socket.socket,
    host: str,
    token: str | None,
    jobs: int,
    started: Callable[[], None],
) -> None:
    """Serve until interrupted; `started` is called once requests are answered."""
    import uvicorn

    from homeward.web.app import Limits, Server
    from homeward.web.connections import Patient
    from homeward.web.guard import Guard

    server = Server(root, Limits(jobs=jobs, warm=True))
    app = Guard(server.app(), host, listener.getsockname()[1], token)
    config = uvicorn.Config(
        app,
        http=Patient,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
    )
    logging.getLogger("uvicorn.error").addFilter(_short)

    class Serving(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            server.streams.closing = True  # else their ends would be waited for
            await super().shutdown(sockets)

    try:
        Serving(config).run(sockets=[listener])
    except SystemExit as cause:
        if cause.code not in FAILED:
            raise
        raise InvalidInputError(f"{root} can't be served; the line above says why") from cause


def _short(record: logging.LogRecord) -> bool:
    """Keep a line of the log to one line."""
    if record.exc_info:
        error = record.exc_info[1]
        record.msg = f"{record.getMessage().strip()}: {type(error).__name__}: {error}"
        record.args, record.exc_info = (), None
    text = str(record.msg).strip()
    record.msg = text.splitlines()[-1] if text.startswith("Traceback") else text.partition("\n")[0]
    return True
