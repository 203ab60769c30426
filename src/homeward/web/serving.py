"""Start a server for a folder of runs: bind a port, create the demo runs, and serve requests."""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import shutil
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from homeward.errors import HomewardError, InvalidInputError
from homeward.extras import need
from homeward.files import PART, refusing
from homeward.runs import Run, RunStatus
from homeward.runs.kind import find_kind, kind_names
from homeward.runs.lock import locked

MAX_PORTS = 20  # number of consecutive ports to try
SHUTDOWN_SECONDS = 2  # maximum seconds for open connections to end when the server stops
MAX_CONNECTIONS = 512
LEFTOVER_SECONDS = 3600.0  # age, in seconds, above which incomplete folders are deleted
FAILED = (1, 3)  # uvicorn's exit codes if it can't start
LOCK, TOKEN = ".serve.lock", ".serve.token"
TOKEN_PATTERN = re.compile(r"[\w-]{43}")


def need_web() -> None:
    """Raise if a package that the server needs is not installed."""
    for module in ("starlette", "uvicorn"):
        need(module, "web", "the page needs starlette and uvicorn")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens on `port`, or on the next free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tried = range(port, min(port + MAX_PORTS, 65536)) if port else (0,)
    for candidate in tried:
        # With an explicit protocol, asyncio sets TCP_NODELAY: small packets are sent at once.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(MAX_CONNECTIONS)
        except OSError as cause:
            listener.close()
            if cause.errno != errno.EADDRINUSE:
                raise InvalidInputError(
                    f"can't listen on {host}, port {candidate}: {cause.strerror or cause}"
                ) from cause
        except (TypeError, ValueError) as cause:  # a name that can't be encoded
            listener.close()
            raise InvalidInputError(f"can't listen on {host!r}: it is no name of a host") from cause
        else:
            return listener
    last = tried[-1]
    raise InvalidInputError(f"the ports {port} to {last} are in use on {host}: give another port")


def make_demo(root: Path, begins: Callable[[], None] = lambda: None) -> bool:
    """Create the demo runs of all kinds if a folder has no other runs; return whether it did.

    `begins` is called before the runs are created. Short temporary runs compile the planner first,
    so that recorded planning times do not include compilation.
    """
    kinds = {name: find_kind(name) for name in kind_names()}
    demo = {n: (kind, dict(c)) for kind, found in kinds.items() for n, c in found.demo.items()}
    others = [path for path in root.iterdir() if (path / "config.json").exists()]
    for path in others:
        try:
            if path.name not in demo or Run.open(path).status is RunStatus.FINISHED:
                return False
        except HomewardError:  # the run can't be opened
            return False
    begins()
    with TemporaryDirectory() as place:
        for name, (kind, config) in demo.items():
            Run.create(Path(place) / name, kind, config).resume(limit=2)
    for name, (kind, config) in demo.items():
        folder = root / name
        (Run.open(folder) if folder.exists() else Run.create(folder, kind, config)).resume()
    return True


@contextmanager
def claimed(root: Path) -> Iterator[None]:
    """Create the folder if it is missing, and hold its lock, so that only one server uses it."""
    with refusing(root, "can't be written"):
        root.mkdir(parents=True, exist_ok=True)
    with locked(root / LOCK, f"{root} (already served)"):
        for left in root.glob(f".*{PART}"):  # left by an interrupted deletion
            if time.time() - left.lstat().st_mtime > LEFTOVER_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        yield


def kept_token(root: Path) -> str:
    """Return the token that is stored in a folder, or store a new token.

    So open pages stay valid when the server restarts. Only the owner can read the file; a file that
    others can read or write is replaced.
    """
    path = root / TOKEN
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, encoding="ascii", errors="replace") as file:
            found, kept = os.fstat(handle), file.read(200).strip()
        private = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077
        if private and found.st_uid == os.getuid() and TOKEN_PATTERN.fullmatch(kept):
            return kept
    token = secrets.token_urlsafe(32)
    with refusing(path, "can't be written"):
        path.unlink(missing_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(token)
    return token


def serve(
    root: Path,
    listener: socket.socket,
    host: str,
    token: str | None,
    jobs: int,
    started: Callable[[], None],
) -> None:
    """Serve a folder until Ctrl-C; call `started` once the server accepts requests.

    `jobs` is the maximum number of simultaneous runs.
    """
    import uvicorn

    from homeward.web.app import Server
    from homeward.web.connections import IdleTimeout
    from homeward.web.guard import Guard
    from homeward.web.limits import ServerSettings

    server = Server(root, ServerSettings(jobs=jobs, warm=True))
    app = Guard(server.app(), host, token)
    config = uvicorn.Config(
        app,
        http=IdleTimeout,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    logging.getLogger("uvicorn.error").addFilter(_short)

    class NotifyingServer(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            server.streams.closing = True  # otherwise uvicorn waits for the streams to end
            await super().shutdown(sockets)

    try:
        NotifyingServer(config).run(sockets=[listener])
    except SystemExit as cause:
        if cause.code not in FAILED:
            raise
        raise InvalidInputError(f"{root} can't be served; the line above has the reason") from cause


def _short(record: logging.LogRecord) -> bool:
    """Reduce a log record to one line; return True, so that the record is logged."""
    if record.exc_info:
        error = record.exc_info[1]
        record.msg = f"{record.getMessage().strip()}: {type(error).__name__}: {error}"
        record.args, record.exc_info = (), None
    text = str(record.msg).strip()
    record.msg = text.splitlines()[-1] if text.startswith("Traceback") else text.partition("\n")[0]
    return True
