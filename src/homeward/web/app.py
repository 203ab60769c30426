"""The web application: the routes of the page and of the interface in ``docs/api.md``.

Other processes do the computation. For an error the client gets a code and one sentence.

Starlette's `StaticFiles` is not used for the page: it takes media types from the system, serves
every file in the folder, and sets no cache headers for names with a hash.
"""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from homeward import __version__
from homeward.runs.kind import MAX_CELLS
from homeward.runs.run import CONFIG
from homeward.web.catalogue import NAME, SUFFIXES, Catalogue, check_name, plain_file
from homeward.web.events import MAX_STREAMS, Streams
from homeward.web.forms import check_kind, pair_of
from homeward.web.guard import READS
from homeward.web.jobs import Jobs
from homeward.web.pool import LIMIT, PROCESSES, Pool
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.service import NO_MAP, refusal_of
from homeward.web.transport import (
    frame_response,
    json_response,
    parse_integer,
    parse_value,
    read_object,
    refusal_response,
    tagged_response,
)
from homeward.web.uploads import MAX_SECONDS, MAX_SILENT_SECONDS, MAX_UPLOAD_BYTES, Uploads, used_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

STATIC = Path(__file__).parent / "static"
MAX_WARMING_SECONDS = 5.0  # seconds that the start waits for the viewing processes
MAX_LAYERS = 16
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
HASHED_NAME = re.compile(r".*-[A-Za-z0-9]{8,}\.[a-z0-9]+")
NOT_FOUND = "this address does not exist"
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Homeward</title>
<p>The page is not built. To build it, run <code>pip install -e .</code> in the folder of the
project. The interface under <code>/api</code> works without it.</p></html>
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server."""

    jobs: int = 2  # maximum number of simultaneous runs
    streams: int = MAX_STREAMS  # maximum number of event streams
    upload: int = MAX_UPLOAD_BYTES
    stalled: float = MAX_SILENT_SECONDS  # maximum seconds without a byte of an upload
    longest: float = MAX_SECONDS  # maximum seconds of an upload
    answer: float = LIMIT  # maximum seconds for the answer of a viewing process
    viewers: int = PROCESSES  # number of viewing processes
    warm: bool = False  # whether to start viewing processes before the first request


class Server:
    """Handlers of all routes, and the state that they share."""

    def __init__(self, root: Path, limits: Limits | None = None, static: Path = STATIC) -> None:
        limits = Limits() if limits is None else limits
        self.catalogue = Catalogue(root)
        self.limits, self.static = limits, static
        self.jobs = Jobs(self.catalogue, limits.jobs)
        self.pool = Pool(self.catalogue.root, limits.viewers, limits.answer)
        self.uploads = Uploads(self.catalogue.root, limits.upload, limits.stalled, limits.longest)
        self.streams = Streams(self.catalogue, self.jobs, limits.streams)
        self.making: set[str] = set()  # names of runs that are being created
        self.constants: dict[str, Any] = {}  # answers that never change, by name
        self.forgetting: set[asyncio.Task[Any]] = set()

    def app(self) -> Starlette:
        """Return the application with its routes."""
        run = "/api/runs/{id}"
        step = f"{run}/steps/{{step}}"
        routes: list[tuple[str, str, Callable[[Request], Awaitable[Any]]]] = [
            ("GET", "/", self._page),
            ("GET", "/static/{path:path}", self._page),
            ("GET", "/api/about", self._about),
            ("GET", "/api/runs", self._list),
            ("POST", "/api/runs", self._create),
            ("POST", "/api/pairs", self._create),
            ("GET", run, self._details),
            ("DELETE", run, self._delete),
            ("GET", f"{run}/records", self._records),
            ("GET", f"{run}/events", self._events),
            ("GET", f"{step}/fields", self._fields),
            ("GET", f"{step}/why", self._why),
            ("GET", f"{step}/way", self._way),
            ("POST", f"{run}/pause", self._steer),
            ("POST", f"{run}/cancel", self._steer),
            ("POST", f"{run}/resume", self._steer),
            ("GET", "/api/events", self._events),
            ("GET", "/api/kinds", self._constant),
            ("GET", "/api/examples", self._constant),
            ("GET", "/api/terrain/preview", self._preview),
            ("PUT", "/api/uploads/{name}", self._upload),
        ]
        app = Starlette(
            routes=[Route(path, handler, methods=[method]) for method, path, handler in routes],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refused},
            # In `exception_handlers`, this handler would also log every traceback.
            middleware=[Middleware(ExceptionMiddleware, handlers={Exception: self._refused})],
        )
        app.router.redirect_slashes = False
        return app

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Return the response to a request that failed."""
        if isinstance(error, HTTPException):
            code, sentence = {
                404: (Refusal.NOT_FOUND, NOT_FOUND),
                405: (Refusal.NOT_ALLOWED, f"{request.method} is not allowed here"),
            }.get(error.status_code, (Refusal.INVALID, "the request can't be answered"))
        elif isinstance(error, ClientDisconnect):
            code, sentence = Refusal.INVALID, "the request was interrupted"
        else:
            code, sentence = refusal_of(error, self.catalogue.root)
        # Close the connection instead of waiting for the rest of the request body.
        headers = {} if request.method in READS else {"Connection": "close"}
        return refusal_response(code, sentence, **headers)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.uploads.open()
        self.jobs.open()
        warming = asyncio.create_task(self.pool.warm()) if self.limits.warm else None
        if warming is not None:
            await asyncio.wait((warming,), timeout=MAX_WARMING_SECONDS)
        try:
            yield
        finally:
            if warming is not None:
                warming.cancel()
            self.streams.closing = True
            await self.jobs.close()
            await run_in_threadpool(self.pool.close)

    async def _page(self, request: Request) -> Response:
        """Return a file of the page."""
        parts = request.path_params.get("path", "index.html").split("/")
        if "path" not in request.path_params and not (self.static / "index.html").is_file():
            return Response(NOT_BUILT, 200, {"Cache-Control": "no-cache"}, "text/html")
        named = all(NAME.fullmatch(part) for part in parts) and len(parts) < 5
        path = plain_file(self.static, *parts) if named else None
        if path is None or path.suffix not in MEDIA_TYPES:
            raise Refusal.NOT_FOUND(NOT_FOUND)
        hashed = HASHED_NAME.fullmatch(path.name)
        cache = "public, max-age=31536000, immutable" if hashed else "no-cache"
        return tagged_response(request, path.read_bytes(), MEDIA_TYPES[path.suffix], cache)

    async def _about(self, request: Request) -> Response:
        limits = {
            "uploads": self.limits.upload,
            "runs": self.limits.jobs,
            "streams": self.limits.streams,
            "cells": MAX_CELLS,
        }
        folder = self.catalogue.root.name
        return json_response({"version": __version__, "runs": folder, "limits": limits})

    async def _list(self, request: Request) -> Response:
        """Return the summaries of all runs, newest first."""

        def summaries() -> list[dict[str, Any]]:
            found = []
            for name in self.catalogue.names():
                with suppress(RefusalError):  # deleted in the meantime
                    found.append(self.streams.summary(name))
            return sorted(found, key=lambda s: (s["created"] or "", s["id"]), reverse=True)

        return json_response({"runs": await run_in_threadpool(summaries)})

    async def _details(self, request: Request) -> Response:
        name = await self._run(request)
        summary = await run_in_threadpool(self.streams.summary, name)
        if summary["kind"] is None:
            state = "is damaged" if summary["status"] == "damaged" else "can't be opened"
            raise Refusal.CONFLICT(f"{name} {state}: {summary['error']}")
        more = await run_in_threadpool(self.catalogue.details, name)
        try:
            scene = await self._ask(request, name, "details")
        except RefusalError as refusal:
            if refusal.code not in (Refusal.INVALID, Refusal.CONFLICT, Refusal.UNUSABLE):
                raise
            scene = {**NO_MAP, "shape": summary["shape"], "error": refusal.sentence}
        return json_response({**summary, **more, **scene})

    async def _records(self, request: Request) -> Response:
        """Return the columns of a range of steps."""
        name = await self._run(request)
        after = parse_integer(request.query_params.get("from", "0"), "from")
        given = request.query_params.get("to")
        to = None if given is None else parse_integer(given, "to")
        return frame_response(request, await self._ask(request, name, "records", after, to))

    async def _fields(self, request: Request) -> Response:
        """Return layers of the map after a step."""
        asked = request.query_params.get("layers", "height")
        layers = tuple(dict.fromkeys(part for part in asked.split(",") if part))
        name, step = await self._run(request), self._step(request)
        if not 1 <= len(layers) <= MAX_LAYERS:
            raise Refusal.INVALID(f"request 1 to {MAX_LAYERS} layers, separated by commas")
        return frame_response(request, await self._ask(request, name, "fields", step, layers))

    async def _why(self, request: Request) -> Response:
        name, step = await self._run(request), self._step(request)
        return json_response(await self._ask(request, name, "why", step))

    async def _way(self, request: Request) -> Response:
        name, step = await self._run(request), self._step(request)
        cell = parse_integer(request.query_params.get("cell", ""), "cell")
        return json_response(await self._ask(request, name, "way", step, cell))

    async def _events(self, request: Request) -> Any:
        """Return the event stream of a run, or of the list of runs."""
        if "id" not in request.path_params:
            return self.streams.of_list()
        name = await self._run(request)
        last = request.headers.get("last-event-id") or request.query_params.get("from", "0")
        return self.streams.of_run(name, parse_integer(last, "Last-Event-ID"))

    async def _create(self, request: Request) -> Response:
        """Create and start a run, or a safe and an unsafe run in the same world."""
        body = await read_object(request)
        for key in body:
            if key not in ("kind", "name", "config"):
                raise Refusal.INVALID(f"{key[:40]!r} is not a key of this request")
        kind, config = check_kind(body.get("kind")), body.get("config")
        if config is not None and not isinstance(config, dict):
            raise Refusal.INVALID("the configuration is not a JSON object")
        stem = None if body.get("name") is None else check_name(body["name"])
        pairs = request.url.path == "/api/pairs"
        ends = [f"-{suffix}" for suffix in SUFFIXES] if pairs else [""]
        stem = stem or self.catalogue.free_name(kind, ends, self.making)
        names = [check_name(f"{stem}{end}") for end in ends]
        configs = pair_of(kind, config or {}).values() if pairs else [config or {}]
        await self._make(dict(zip(names, configs, strict=True)), kind)
        made = [await run_in_threadpool(self.streams.summary, name) for name in names]
        return json_response(dict(zip(SUFFIXES, made, strict=True)) if pairs else made[0], 201)

    async def _make(self, runs: dict[str, dict[str, Any]], kind: str) -> None:
        """Create and start all runs; if one can't be created, create none."""
        for name in runs:
            if name in self.making or os.path.lexists(self.catalogue.root / name):
                raise Refusal.CONFLICT(f"a run named {name} already exists")
        self.making |= runs.keys()
        made: list[str] = []
        try:
            for name, config in runs.items():
                await self.pool.ask("", "make", name, kind, config)
                made.append(name)
        except BaseException:
            for name in made:
                await run_in_threadpool(self._remove, name)
            raise
        finally:
            self.making -= runs.keys()
        for name in runs:
            self.jobs.start(name)

    async def _steer(self, request: Request) -> Response:
        """Pause or cancel a run after its current step, or resume it."""
        name = await self._run(request)
        verb = request.url.path.rpartition("/")[2]
        if verb == "resume":
            self.jobs.start(name)
        else:
            await self.jobs.stop(name, "cancelled" if verb == "cancel" else "paused")
        return json_response(await run_in_threadpool(self.streams.summary, name))

    async def _delete(self, request: Request) -> Response:
        """Delete a run that is not running."""
        name = await self._run(request)
        self.jobs.forget(name)
        used = await run_in_threadpool(self._remove, name)
        if not self.making:  # a run that is being created may use one of the uploads
            await run_in_threadpool(self.uploads.sweep, used)
        forgotten = asyncio.create_task(self.pool.ask(name, "forget", name))
        self.forgetting.add(forgotten)  # keep a reference, since the task is not awaited
        forgotten.add_done_callback(self.forgetting.discard)
        return Response(status_code=204)

    def _remove(self, name: str) -> set[str]:
        """Rename the folder of a run, then delete it; return the uploads that the run used."""
        used: set[str] = set()
        folder = self.catalogue.find(name)
        with suppress(OSError):
            used = used_by(folder / CONFIG)
        gone = folder.with_name(f".{name}.{secrets.token_hex(4)}.part")
        try:
            os.rename(folder, gone)
        except FileNotFoundError as cause:
            raise Refusal.NOT_FOUND(f"there is no run named {name}") from cause
        shutil.rmtree(gone, ignore_errors=True)
        return used

    async def _constant(self, request: Request) -> Response:
        """Return the schemas of all kinds, or the examples; both never change."""
        name = request.url.path.rpartition("/")[2]
        if name not in self.constants:
            self.constants[name] = await self.pool.ask("", name)
        return json_response(self.constants[name])

    async def _preview(self, request: Request) -> Response:
        """Return the frame of the terrain of a configuration."""
        query = {name: parse_value(text) for name, text in request.query_params.items()}
        frame = await self.pool.ask("", "preview", query, gone=request.is_disconnected)
        return frame_response(request, frame)

    async def _upload(self, request: Request) -> Response:
        """Store an uploaded raster and return its description."""
        given, text = request.headers.get("content-length"), request.query_params.get("pixel")
        length = None if given is None else parse_integer(given, "Content-Length")
        pixel = None if text is None else parse_value(text)
        if pixel is not None and not (isinstance(pixel, int | float) and 0 < pixel < 1e6):
            raise Refusal.INVALID("the pixel size is not a positive length in metres below 1e6")
        name = os.path.basename(request.path_params["name"])
        return json_response(await self.uploads.take(name, length, request.stream(), pixel), 201)

    async def _ask(self, request: Request, run: str, name: str, *arguments: Any) -> Any:
        """Return the answer of the viewing process of a run; raise if the client disconnects."""
        return await self.pool.ask(run, name, run, *arguments, gone=request.is_disconnected)

    async def _run(self, request: Request) -> str:
        """Return the name of the run in the path; raise if the run does not exist."""
        name = request.path_params["id"]
        await run_in_threadpool(self.catalogue.find, name)
        return str(name)

    def _step(self, request: Request) -> int:
        return parse_integer(request.path_params["step"], "step", Refusal.NOT_FOUND)
