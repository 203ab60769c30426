"""The application: routes of the page and of the interface in ``docs/api.md``. It computes nothing.

An error is one sentence with a code for the client and one line in the log.

Files of the page are not served by Starlette's `StaticFiles`, which takes media types from the
system, serves every file in the folder and sets no cache headers for names with a hash.
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
from starlette.responses import JSONResponse, Response
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
from homeward.web.service import refusal_of
from homeward.web.transport import (
    frame_response,
    json_response,
    parse_integer,
    parse_value,
    read_object,
    tagged_response,
)
from homeward.web.uploads import MAX_SECONDS, MAX_SILENT_SECONDS, MAX_UPLOAD_BYTES, Uploads, used_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

STATIC = Path(__file__).parent / "static"
MAX_WARMING_SECONDS = 5.0
"""Seconds that the start waits for the viewing processes."""

MAX_LAYERS = 16
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
HASHED_NAME = re.compile(r".*-[A-Za-z0-9]{8,}\.[a-z0-9]+")
NOT_FOUND = "there is nothing at this address"
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Homeward</title>
<p>The page is not built here. From the project's folder, <code>pip install -e .</code> builds it;
the server itself answers under <code>/api</code>.</p></html>
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server."""

    jobs: int = 2  # runs at the same time
    streams: int = MAX_STREAMS
    upload: int = MAX_UPLOAD_BYTES
    stalled: float = MAX_SILENT_SECONDS  # seconds without a byte of an upload
    longest: float = MAX_SECONDS  # of an upload
    answer: float = LIMIT  # seconds of a viewer's answer
    viewers: int = PROCESSES
    warm: bool = False  # start the viewers before the first request


class Server:
    """Handlers of all routes, with the state that they share."""

    def __init__(self, root: Path, limits: Limits | None = None, static: Path = STATIC) -> None:
        limits = Limits() if limits is None else limits
        self.catalogue = Catalogue(root)
        self.limits, self.static = limits, static
        self.jobs = Jobs(self.catalogue, limits.jobs)
        self.pool = Pool(self.catalogue.root, limits.viewers, limits.answer)
        self.uploads = Uploads(self.catalogue.root, limits.upload, limits.stalled, limits.longest)
        self.streams = Streams(self.catalogue, self.jobs, limits.streams)
        self.making: set[str] = set()  # names of runs that are being made
        self.constants: dict[str, Any] = {}  # answers that never change, by name
        self.forgetting: set[asyncio.Task[Any]] = set()

    def app(self) -> Starlette:
        """Return the application with its routes."""
        run = "/api/runs/{id}"
        step = f"{run}/steps/{{step}}"
        routes: list[tuple[str, str, Callable[[Request], Awaitable[Any]]]] = [
            ("GET", "/", self.page),
            ("GET", "/static/{path:path}", self.asset),
            ("GET", "/api/about", self.about),
            ("GET", "/api/runs", self.listing),
            ("POST", "/api/runs", self.create),
            ("POST", "/api/pairs", self.create_pair),
            ("GET", run, self.details),
            ("DELETE", run, self.delete),
            ("GET", f"{run}/records", self.records),
            ("GET", f"{run}/events", self.run_events),
            ("GET", f"{step}/fields", self.fields),
            ("GET", f"{step}/why", self.why),
            ("GET", f"{step}/way", self.way),
            ("POST", f"{run}/pause", self.stop),
            ("POST", f"{run}/cancel", self.stop),
            ("POST", f"{run}/resume", self.resume),
            ("GET", "/api/events", self.list_events),
            ("GET", "/api/kinds", self.constant),
            ("GET", "/api/examples", self.constant),
            ("GET", "/api/terrain/preview", self.preview),
            ("PUT", "/api/uploads/{name}", self.upload),
        ]
        app = Starlette(
            routes=[Route(path, handler, methods=[method]) for method, path, handler in routes],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refused},
            # As a handler of the application, it would have every traceback logged as well.
            middleware=[Middleware(ExceptionMiddleware, handlers={Exception: self._refused})],
        )
        app.router.redirect_slashes = False
        return app

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Return the response to a request that failed."""
        if isinstance(error, HTTPException):
            code, sentence = Refusal.INVALID, "the request can't be answered"
            if error.status_code == Refusal.NOT_FOUND.status:
                code, sentence = Refusal.NOT_FOUND, NOT_FOUND
            elif error.status_code == Refusal.NOT_ALLOWED.status:
                code, sentence = Refusal.NOT_ALLOWED, f"{request.method} is not allowed here"
        elif isinstance(error, ClientDisconnect):
            code, sentence = Refusal.INVALID, "the request was interrupted"
        else:
            code, sentence = refusal_of(error, self.catalogue.root)
        headers = {"Cache-Control": "no-store"}
        if request.method not in READS:  # do not wait for the rest of the body
            headers["Connection"] = "close"
        return JSONResponse({"error": sentence, "code": code}, code.status, headers)

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

    async def page(self, request: Request) -> Response:
        """Return the page."""
        if not (self.static / "index.html").is_file():
            return Response(NOT_BUILT, 200, {"Cache-Control": "no-cache"}, "text/html")
        return self._file(request, "index.html")

    async def asset(self, request: Request) -> Response:
        """Return a file of the page."""
        return self._file(request, *request.path_params["path"].split("/"))

    def _file(self, request: Request, *parts: str) -> Response:
        named = all(NAME.fullmatch(part) for part in parts) and len(parts) < 5
        path = plain_file(self.static, *parts) if named else None
        media_type = MEDIA_TYPES.get(path.suffix) if path is not None else None
        if path is None or media_type is None:
            raise RefusalError(Refusal.NOT_FOUND, NOT_FOUND)
        hashed = HASHED_NAME.fullmatch(path.name)
        cache = "public, max-age=31536000, immutable" if hashed else "no-cache"
        return tagged_response(request, path.read_bytes(), media_type, cache)

    async def about(self, request: Request) -> Response:
        """Return the version, the name of the folder and the limits."""
        limits = {
            "uploads": self.limits.upload,
            "runs": self.limits.jobs,
            "streams": self.limits.streams,
            "cells": MAX_CELLS,
        }
        folder = self.catalogue.root.name
        return json_response({"version": __version__, "runs": folder, "limits": limits})

    async def listing(self, request: Request) -> Response:
        """Return the summaries of all runs, newest first."""

        def summaries() -> list[dict[str, Any]]:
            found = []
            for name in self.catalogue.names():
                with suppress(RefusalError):  # deleted in the meantime
                    found.append(self.streams.summary(name))
            return sorted(found, key=lambda s: (s["created"] or "", s["id"]), reverse=True)

        return json_response({"runs": await run_in_threadpool(summaries)})

    async def details(self, request: Request) -> Response:
        """Return the details of a run."""
        name = await self._run(request)
        summary = await self._summary(name)
        if summary["kind"] is None:
            state = "is damaged" if summary["status"] == "damaged" else "can't be opened"
            raise RefusalError(Refusal.CONFLICT, f"{name} {state}: {summary['error']}")
        more = await run_in_threadpool(self.catalogue.details, name)
        try:
            scene = await self._ask(request, name, "details")
        except RefusalError as refusal:
            if refusal.code not in (Refusal.INVALID, Refusal.CONFLICT, Refusal.UNUSABLE):
                raise
            scene = {"layers": [], "criteria": [], "actions": []}
            scene |= {"home": None, "start": None, "cell": None, "error": refusal.sentence}
        return json_response({**summary, **more, **scene})

    async def records(self, request: Request) -> Response:
        """Return the columns of a range of steps."""
        name = await self._run(request)
        after = parse_integer(request.query_params.get("from", "0"), "from")
        given = request.query_params.get("to")
        to = None if given is None else parse_integer(given, "to")
        return frame_response(request, await self._ask(request, name, "records", after, to))

    async def fields(self, request: Request) -> Response:
        """Return layers of the map after a step."""
        name, step = await self._run(request), self._step(request)
        asked = request.query_params.get("layers", "height")
        layers = tuple(dict.fromkeys(part for part in asked.split(",") if part))
        if not 1 <= len(layers) <= MAX_LAYERS:
            sentence = f"ask for 1 to {MAX_LAYERS} layers, with commas between them"
            raise RefusalError(Refusal.INVALID, sentence)
        return frame_response(request, await self._ask(request, name, "fields", step, layers))

    async def why(self, request: Request) -> Response:
        """Return the plan that was made after a step."""
        name, step = await self._run(request), self._step(request)
        return json_response(await self._ask(request, name, "why", step))

    async def way(self, request: Request) -> Response:
        """Return the way home from a cell after a step."""
        name, step = await self._run(request), self._step(request)
        cell = parse_integer(request.query_params.get("cell", ""), "cell")
        return json_response(await self._ask(request, name, "way", step, cell))

    async def run_events(self, request: Request) -> Any:
        """Return the event stream of a run."""
        name = await self._run(request)
        last = request.headers.get("last-event-id") or request.query_params.get("from", "0")
        return self.streams.of_run(name, parse_integer(last, "Last-Event-ID"))

    async def list_events(self, request: Request) -> Any:
        """Return the event stream of the list of runs."""
        return self.streams.of_list()

    async def create(self, request: Request) -> Response:
        """Make a run and start it."""
        kind, name, config = await self._specification(request)
        chosen = name or self.catalogue.free_name(kind, ("",), self.making)
        await self._make({chosen: config}, kind)
        return json_response(await self._summary(chosen), 201)

    async def create_pair(self, request: Request) -> Response:
        """Make a safe and an unsafe run in the same world and start both."""
        kind, name, config = await self._specification(request)
        ends = tuple(f"-{suffix}" for suffix in SUFFIXES)
        stem = name or self.catalogue.free_name(kind, ends, self.making)
        configs = pair_of(kind, config)
        names = {suffix: check_name(f"{stem}-{suffix}") for suffix in SUFFIXES}
        await self._make({names[suffix]: configs[suffix] for suffix in SUFFIXES}, kind)
        pair = {suffix: await self._summary(names[suffix]) for suffix in SUFFIXES}
        return json_response(pair, 201)

    async def _specification(self, request: Request) -> tuple[str, str | None, dict[str, Any]]:
        """Return kind, name (None if not given) and configuration of a run to be made."""
        body = await read_object(request)
        for key in body:
            if key not in ("kind", "name", "config"):
                raise RefusalError(Refusal.INVALID, f"{key[:40]!r} is not known")
        kind, config = check_kind(body.get("kind")), body.get("config")
        if config is not None and not isinstance(config, dict):
            raise RefusalError(Refusal.INVALID, "the configuration is not a JSON object")
        name = None if body.get("name") is None else check_name(body["name"])
        return kind, name, config or {}

    async def _make(self, runs: dict[str, dict[str, Any]], kind: str) -> None:
        """Make and start all runs; if one can't be made, make none."""
        for name in runs:
            if name in self.making or os.path.lexists(self.catalogue.root / name):
                raise RefusalError(Refusal.CONFLICT, f"there is a run named {name} already")
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

    async def stop(self, request: Request) -> Response:
        """Pause or cancel a run after its current step."""
        name = await self._run(request)
        cancels = request.url.path.endswith("/cancel")
        await self.jobs.stop(name, "cancelled" if cancels else "paused")
        return json_response(await self._summary(name))

    async def resume(self, request: Request) -> Response:
        """Resume a run."""
        name = await self._run(request)
        self.jobs.start(name)
        return json_response(await self._summary(name))

    async def delete(self, request: Request) -> Response:
        """Delete a run that is not running."""
        name = await self._run(request)
        self.jobs.forget(name)
        used = await run_in_threadpool(self._remove, name)
        if not self.making:  # a run that is being made may be about to refer to one
            await run_in_threadpool(self.uploads.sweep, used)
        forgotten = asyncio.create_task(self.pool.ask(name, "forget", name))
        self.forgetting.add(forgotten)  # the task is not awaited
        forgotten.add_done_callback(self.forgetting.discard)
        return Response(status_code=204)

    def _remove(self, name: str) -> set[str]:
        """Rename a run's folder, then delete it; return the uploads that it refers to."""
        used: set[str] = set()
        folder = self.catalogue.find(name)
        with suppress(OSError):
            used = used_by(folder / CONFIG)
        gone = folder.with_name(f".{name}.{secrets.token_hex(4)}.part")
        try:
            os.rename(folder, gone)
        except FileNotFoundError as cause:
            raise RefusalError(Refusal.NOT_FOUND, f"there is no run named {name}") from cause
        shutil.rmtree(gone, ignore_errors=True)
        return used

    async def constant(self, request: Request) -> Response:
        """Return the schemas of all kinds or the examples, which never change."""
        name = request.url.path.rpartition("/")[2]
        if name not in self.constants:
            self.constants[name] = await self.pool.ask("", name)
        return json_response(self.constants[name])

    async def preview(self, request: Request) -> Response:
        """Return the heights of the cells of a configuration."""
        query = {name: parse_value(text) for name, text in request.query_params.items()}
        frame = await self.pool.ask("", "preview", query, gone=request.is_disconnected)
        return frame_response(request, frame)

    async def upload(self, request: Request) -> Response:
        """Store an uploaded raster and return what it is."""
        given = request.headers.get("content-length")
        length = None if given is None else parse_integer(given, "Content-Length")
        text = request.query_params.get("pixel")
        pixel = None if text is None else parse_value(text)
        if pixel is not None and not (isinstance(pixel, int | float) and 0 < pixel < 1e6):
            raise RefusalError(Refusal.INVALID, "the pixel size is not a length in metres")
        name = os.path.basename(request.path_params["name"])
        return json_response(await self.uploads.take(name, length, request.stream(), pixel), 201)

    async def _ask(self, request: Request, run: str, name: str, *arguments: Any) -> Any:
        """Ask the viewing process of a run, unless the client disconnects first."""
        return await self.pool.ask(run, name, run, *arguments, gone=request.is_disconnected)

    async def _run(self, request: Request) -> str:
        """Return the name of the run in the path; refuse one that does not exist."""
        name = request.path_params["id"]
        await run_in_threadpool(self.catalogue.find, name)
        return str(name)

    async def _summary(self, name: str) -> dict[str, Any]:
        """Return a run's summary, read in a thread because files may be long."""
        return await run_in_threadpool(self.streams.summary, name)

    def _step(self, request: Request) -> int:
        try:
            return parse_integer(request.path_params["step"], "step")
        except RefusalError as refusal:
            raise RefusalError(Refusal.NOT_FOUND, refusal.sentence) from None
