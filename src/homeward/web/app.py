"""The application: requests in, JSON and frames out. It computes nothing itself.

What the addresses mean is told in ``docs/api.md``. Whatever goes wrong is one sentence to the
client and one line in the log.

The page's parts are served here and not by Starlette's `StaticFiles`, which takes types from the
system, serves any file there is, and knows nothing of names that carry a hash.
"""

from __future__ import annotations

import asyncio
import json
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
from homeward.runs.form import MAX_CELLS
from homeward.runs.run import CONFIG
from homeward.web import uploads as sending
from homeward.web.catalogue import NAME, SUFFIXES, Catalogue, check_name, plain_file
from homeward.web.events import STREAMS, Streams
from homeward.web.forms import check_kind, pair_of
from homeward.web.frames import tag_of
from homeward.web.guard import READS
from homeward.web.jobs import Jobs
from homeward.web.pool import LIMIT, PROCESSES, Pool
from homeward.web.refusals import STATUS, Refusal, RefusalError
from homeward.web.service import refusal_of
from homeward.web.uploads import Uploads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

STATIC = Path(__file__).parent / "static"
BODY = 8 << 20
"""Bytes of a request that is JSON."""

STALLED = 30.0
"""Seconds in which it has to be sent."""

WARMING = 5.0
"""Seconds, at most, for which the first request waits until the viewing processes are ready."""

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".map": "application/json",
    ".txt": "text/plain; charset=utf-8",
}
HASHED = re.compile(r".*-[A-Za-z0-9]{8,}\.[a-z0-9]+")
UNBUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Homeward</title>
<p>The page is not built here. From the project's folder, <code>pip install -e .</code> builds it;
the server itself answers under <code>/api</code>.</p></html>
"""
UNROUTED = {
    404: (Refusal.NOT_FOUND, "there is nothing at this address"),
    405: (Refusal.NOT_ALLOWED, "that can't be done here"),
}
"""What is said where no address matches, by status."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is too much."""

    jobs: int = 2  # runs that go at once
    streams: int = STREAMS  # of events
    upload: int = sending.LARGEST  # bytes
    stalled: float = sending.STALLED  # seconds without a byte
    longest: float = sending.LONGEST  # seconds of an upload
    answer: float = LIMIT  # seconds of a viewer's answer
    viewers: int = PROCESSES
    warm: bool = False  # whether the viewers are started before somebody asks


class Server:
    """Everything behind the addresses."""

    def __init__(self, root: Path, limits: Limits | None = None, static: Path = STATIC) -> None:
        limits = Limits() if limits is None else limits
        self.catalogue = Catalogue(root)
        self.limits, self.static = limits, static
        self.jobs = Jobs(self.catalogue, limits.jobs)
        self.pool = Pool(self.catalogue.root, limits.viewers, limits.answer)
        self.uploads = Uploads(self.catalogue.root, limits.upload, limits.stalled, limits.longest)
        self.streams = Streams(self.catalogue, self.jobs, limits.streams)
        self.making: set[str] = set()  # names of runs that are being made
        self.fixed: dict[str, Any] = {}  # answers that are always the same
        self.forgetting: set[asyncio.Task[Any]] = set()

    def app(self) -> Starlette:
        """Give the addresses."""
        run = "/api/runs/{id}"
        step = f"{run}/steps/{{step}}"
        addresses: list[tuple[str, str, Callable[[Request], Awaitable[Any]]]] = [
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
            ("POST", f"{run}/pause", self.pause),
            ("POST", f"{run}/resume", self.resume),
            ("POST", f"{run}/cancel", self.cancel),
            ("GET", "/api/events", self.list_events),
            ("GET", "/api/kinds", self.kinds),
            ("GET", "/api/examples", self.examples),
            ("GET", "/api/terrain/preview", self.preview),
            ("PUT", "/api/uploads/{name}", self.upload),
        ]
        app = Starlette(
            routes=[Route(path, answer, methods=[method]) for method, path, answer in addresses],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refused},
            # As a handler of the application, it would have every traceback logged as well.
            middleware=[Middleware(ExceptionMiddleware, handlers={Exception: self._refused})],
        )
        app.router.redirect_slashes = False
        return app

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Turn what went wrong into a sentence."""
        if isinstance(error, HTTPException):
            code, sentence = UNROUTED.get(
                error.status_code, (Refusal.INVALID, "the request can't be answered")
            )
        elif isinstance(error, ClientDisconnect):
            code, sentence = Refusal.INVALID, "the request broke off; nothing was kept"
        else:
            code, sentence = refusal_of(error, self.catalogue.root)
        headers = {"Cache-Control": "no-store"}
        if request.method not in READS:  # what is still being sent is not waited for
            headers["Connection"] = "close"
        return JSONResponse({"error": sentence, "code": code}, STATUS[code], headers)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        self.uploads.open()
        self.jobs.open()
        warming = asyncio.create_task(self.pool.warm()) if self.limits.warm else None
        if warming is not None:
            await asyncio.wait((warming,), timeout=WARMING)
        try:
            yield
        finally:
            if warming is not None:
                warming.cancel()
            self.streams.closing = True
            await self.jobs.close()
            await run_in_threadpool(self.pool.close)

    async def page(self, request: Request) -> Response:
        """Give the page."""
        if not (self.static / "index.html").is_file():
            return Response(UNBUILT, 200, {"Cache-Control": "no-cache"}, "text/html")
        return self._file(request, "index.html")

    async def asset(self, request: Request) -> Response:
        """Give a part of the page."""
        return self._file(request, *request.path_params["path"].split("/"))

    def _file(self, request: Request, *parts: str) -> Response:
        named = all(NAME.fullmatch(part) for part in parts) and len(parts) < 5
        path = plain_file(self.static, *parts) if named else None
        kind = TYPES.get(path.suffix) if path is not None else None
        if path is None or kind is None:
            raise RefusalError(Refusal.NOT_FOUND, "there is nothing at this address")
        lasting = "public, max-age=31536000, immutable"
        cache = lasting if HASHED.fullmatch(path.name) else "no-cache"
        return tagged(request, path.read_bytes(), kind, cache)

    async def about(self, request: Request) -> Response:
        """Say who answers."""
        limits = {
            "uploads": self.limits.upload,
            "runs": self.limits.jobs,
            "streams": self.limits.streams,
            "cells": MAX_CELLS,
        }
        folder = self.catalogue.root.name
        return said({"version": __version__, "runs": folder, "limits": limits})

    async def listing(self, request: Request) -> Response:
        """List the runs, the newest first."""

        def tell() -> list[dict[str, Any]]:
            found = []
            for name in self.catalogue.names():
                with suppress(RefusalError):  # it has gone in the meantime
                    found.append(self.streams.summary(name))
            return sorted(found, key=lambda s: (s["created"] or "", s["id"]), reverse=True)

        return said({"runs": await run_in_threadpool(tell)})

    async def details(self, request: Request) -> Response:
        """Tell all of a run."""
        name = await self._run(request)
        summary = await self._summary(name)
        if summary["kind"] is None:  # it can't be opened
            damaged = "is damaged" if summary["status"] == "damaged" else "can't be opened"
            raise RefusalError(Refusal.CONFLICT, f"{name} {damaged}: {summary['error']}")
        more = await run_in_threadpool(self.catalogue.details, name)
        try:
            drawn = await self._ask(request, name, "details")
        except RefusalError as refusal:
            if refusal.code not in (Refusal.INVALID, Refusal.CONFLICT, Refusal.UNUSABLE):
                raise
            drawn = {"layers": [], "criteria": [], "actions": []}
            drawn |= {"home": None, "start": None, "cell": None, "error": refusal.sentence}
        return said({**summary, **more, **drawn})

    async def records(self, request: Request) -> Response:
        """Give the columns of some steps."""
        name = await self._run(request)
        after = number(request.query_params.get("from", "0"), "from")
        given = request.query_params.get("to")
        to = None if given is None else number(given, "to")
        return framed(request, await self._ask(request, name, "records", after, to))

    async def fields(self, request: Request) -> Response:
        """Give maps of what was known after a step."""
        name, step = await self._run(request), self._step(request)
        asked = request.query_params.get("layers", "height")
        layers = tuple(dict.fromkeys(part for part in asked.split(",") if part))
        if not 1 <= len(layers) <= 16:
            raise RefusalError(Refusal.INVALID, "ask for 1 to 16 layers, with commas between them")
        return framed(request, await self._ask(request, name, "fields", step, layers))

    async def why(self, request: Request) -> Response:
        """Give the plan that was made after a step."""
        name, step = await self._run(request), self._step(request)
        return said(await self._ask(request, name, "why", step))

    async def way(self, request: Request) -> Response:
        """Give the way home from a cell."""
        name, step = await self._run(request), self._step(request)
        cell = number(request.query_params.get("cell", ""), "cell")
        return said(await self._ask(request, name, "way", step, cell))

    async def run_events(self, request: Request) -> Any:
        """Stream what happens to a run."""
        name = await self._run(request)
        last = request.headers.get("last-event-id") or request.query_params.get("from", "0")
        return self.streams.of_run(name, number(last, "Last-Event-ID"))

    async def list_events(self, request: Request) -> Any:
        """Stream what happens to the list."""
        return self.streams.of_list()

    async def create(self, request: Request) -> Response:
        """Make a run and start it."""
        kind, name, config = await self._asked(request)
        chosen = name or self.catalogue.free_name(kind, ("",), self.making)
        await self._make({chosen: config}, kind)
        self.jobs.start(chosen)
        return said(await self._summary(chosen), 201)

    async def create_pair(self, request: Request) -> Response:
        """Make a safe and an unsafe run in the same world, and start both."""
        kind, name, config = await self._asked(request)
        ends = tuple(f"-{suffix}" for suffix in SUFFIXES)
        stem = name or self.catalogue.free_name(kind, ends, self.making)
        configs = pair_of(kind, config)
        names = {suffix: check_name(f"{stem}-{suffix}") for suffix in SUFFIXES}
        await self._make({names[suffix]: configs[suffix] for suffix in SUFFIXES}, kind)
        for chosen in names.values():
            self.jobs.start(chosen)
        return said({suffix: await self._summary(names[suffix]) for suffix in SUFFIXES}, 201)

    async def _asked(self, request: Request) -> tuple[str, str | None, dict[str, Any]]:
        """Read what is to be made: its kind, its name if one is given, its configuration."""
        body = await read_json_body(request)
        for key in body:
            if key not in ("kind", "name", "config"):
                raise RefusalError(Refusal.INVALID, f"{key[:40]!r} is not known")
        kind, config = check_kind(body.get("kind")), body.get("config")
        if config is not None and not isinstance(config, dict):
            raise RefusalError(Refusal.INVALID, "the configuration is not a JSON object")
        name = None if body.get("name") is None else check_name(body["name"])
        return kind, name, config or {}

    async def _make(self, runs: dict[str, dict[str, Any]], kind: str) -> None:
        """Make runs: all of them, or none."""
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

    async def pause(self, request: Request) -> Response:
        """Stop a run after its step, to be resumed."""
        name = await self._run(request)
        await self.jobs.stop(name, "paused")
        return said(await self._summary(name))

    async def resume(self, request: Request) -> Response:
        """Let a run go on."""
        name = await self._run(request)
        self.jobs.start(name)
        return said(await self._summary(name))

    async def cancel(self, request: Request) -> Response:
        """Stop a run after its step, for good unless somebody resumes it."""
        name = await self._run(request)
        await self.jobs.stop(name, "cancelled")
        return said(await self._summary(name))

    async def delete(self, request: Request) -> Response:
        """Remove a run that is not going."""
        name = await self._run(request)
        self.jobs.forget(name)
        used = await run_in_threadpool(self._remove, name)
        if not self.making:  # a run that is being made may be about to refer to one
            await run_in_threadpool(self.uploads.sweep, used)
        forgotten = asyncio.create_task(self.pool.ask(name, "forget", name))
        self.forgetting.add(forgotten)  # nobody waits for it
        forgotten.add_done_callback(self.forgetting.discard)
        return Response(status_code=204)

    def _remove(self, name: str) -> set[str]:
        """Take a run out of sight at once, and then away; give the uploads that it refers to."""
        used: set[str] = set()
        folder = self.catalogue.find(name)
        with suppress(OSError):
            used = sending.used_by(folder / CONFIG)
        gone = folder.with_name(f".{name}.{secrets.token_hex(4)}.part")
        try:
            os.rename(folder, gone)
        except FileNotFoundError as cause:
            raise RefusalError(Refusal.NOT_FOUND, f"there is no run named {name}") from cause
        shutil.rmtree(gone, ignore_errors=True)
        return used

    async def kinds(self, request: Request) -> Response:
        """Give the schema of what can be configured."""
        return said(await self._once("kinds"))

    async def examples(self, request: Request) -> Response:
        """Give the example worlds and the counterexamples."""
        return said(await self._once("examples"))

    async def preview(self, request: Request) -> Response:
        """Give the heights of a configuration's cells."""
        query = {name: value_of(text) for name, text in request.query_params.items()}
        return framed(request, await self._ask(request, "", "preview", query, of_run=False))

    async def upload(self, request: Request) -> Response:
        """Take a raster in."""
        given = request.headers.get("content-length")
        length = None if given is None else number(given, "Content-Length")
        wide = request.query_params.get("pixel")
        pixel = None if wide is None else value_of(wide)
        if pixel is not None and not (isinstance(pixel, int | float) and 0 < pixel < 1e6):
            raise RefusalError(Refusal.INVALID, "the pixel size is not a length in metres")
        name = os.path.basename(request.path_params["name"])
        return said(await self.uploads.take(name, length, request.stream(), pixel), 201)

    async def _once(self, name: str) -> Any:
        """Ask for what is always the same, once."""
        if name not in self.fixed:
            self.fixed[name] = await self.pool.ask("", name)
        return self.fixed[name]

    async def _ask(
        self, request: Request, run: str, name: str, *arguments: Any, of_run: bool = True
    ) -> Any:
        """Ask a viewing process, unless the client hangs up first."""
        given = (run, *arguments) if of_run else arguments
        return await self.pool.ask(run, name, *given, gone=request.is_disconnected)

    async def _run(self, request: Request) -> str:
        """Give the name of the run in an address, if there is one."""
        name = request.path_params["id"]
        await run_in_threadpool(self.catalogue.find, name)
        return str(name)

    async def _summary(self, name: str) -> dict[str, Any]:
        """Tell of a run; a file may be long to read, which nobody else is to wait for."""
        return await run_in_threadpool(self.streams.summary, name)

    def _step(self, request: Request) -> int:
        try:
            return number(request.path_params["step"], "step")
        except RefusalError as refusal:
            raise RefusalError(Refusal.NOT_FOUND, refusal.sentence) from None


def number(text: str, what: str) -> int:
    """Read a whole number that is not negative."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise RefusalError(Refusal.INVALID, f"{what} is {text[:40]!r}, expected a whole number")
    return int(text)


def value_of(text: str) -> Any:
    """Read a value of a query: a number where it is one, else the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def said(value: Any, status: int = 200) -> JSONResponse:
    """Give JSON as an answer, which is true only now."""
    return JSONResponse(value, status, {"Cache-Control": "no-store"})


def framed(request: Request, frame: bytes) -> Response:
    """Give a frame as an answer."""
    return tagged(request, frame, "application/octet-stream", "private, no-cache")


def tagged(request: Request, body: bytes, kind: str, cache: str) -> Response:
    """Give a body with its tag; nothing of it to whom has it already."""
    tag = tag_of(body)
    headers = {"ETag": tag, "Cache-Control": cache}
    known = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, kind)


async def read_json_body(request: Request) -> dict[str, Any]:
    """Read a JSON object of a limited size."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusalError(Refusal.UNSUPPORTED, "send JSON, as application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(STALLED):
            async for chunk in request.stream():
                body += chunk
                if len(body) > BODY:
                    raise RefusalError(
                        Refusal.TOO_LARGE, f"the request is larger than {BODY >> 20} MB"
                    )
    except TimeoutError as cause:
        raise RefusalError(
            Refusal.TOO_SLOW, f"the request was not sent within {STALLED:g} s"
        ) from cause
    try:
        value = json.loads(bytes(body))
    except (ValueError, RecursionError) as cause:
        raise RefusalError(Refusal.INVALID, "the request is not JSON") from cause
    if not isinstance(value, dict):
        raise RefusalError(Refusal.INVALID, "the request is not a JSON object")
    return value
