"""The web application: it serves the page, and the interface that `openapi` lists.

Other processes compute. The response to a refused request has a code and one sentence.

The page does not use Starlette's `StaticFiles`, which takes media types from the system, serves
every file in the folder, and sets no cache headers for names with a hash.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from homeward import __version__
from homeward.runs.config import checked
from homeward.runs.kind import MAX_CELLS
from homeward.runs.run import CONFIG
from homeward.web.catalogue import NAME, SUFFIXES, Catalogue, check_name, plain_file
from homeward.web.contract import Resume
from homeward.web.downloads import downloads_of, file_of
from homeward.web.forms import all_forms, check_kind, pair_of
from homeward.web.guard import READS
from homeward.web.jobs import Jobs
from homeward.web.limits import DEFAULTS, ServerSettings
from homeward.web.listing import Selection
from homeward.web.openapi import API, OPERATIONS, document
from homeward.web.pool import Pool
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.service import NO_MAP, refusal_of
from homeward.web.streams import Streams, watched
from homeward.web.transport import (
    download,
    frame_response,
    json_response,
    parse_integer,
    parse_level,
    parse_optional,
    parse_value,
    read_object,
    refusal_response,
    tagged_response,
)
from homeward.web.uploads import AREA_SUFFIXES, RASTER_SUFFIXES, Uploads, used_by

STATIC = Path(__file__).parent / "static"
MAX_WARMING_SECONDS = 5.0  # time that the start waits for the viewing processes
MAX_LAYERS = 16  # of one response
MAX_INTERRUPTIONS = 50  # of one request; each attempt has more plans in the cache
MAX_GLANCES = 2000  # in the cache
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}
HASHED_NAME = re.compile(r".*-[A-Za-z0-9]{8,}\.[a-z0-9]+")
LEVEL_SUFFIX = re.compile(r"-delta-[0-9.e-]+$")  # of the name of a run made again at another level
NOT_FOUND = "this address does not exist"
NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Homeward</title>
<p>The page is not built. To build it, run <code>pip install -e .</code> in the folder of the
project. The interface under <code>/api</code> works without it.</p></html>
"""


class Server:
    """Handlers of all routes, and the state that they share."""

    def __init__(
        self, root: Path, limits: ServerSettings = DEFAULTS, static: Path = STATIC
    ) -> None:
        self.catalogue = Catalogue(root)
        self.limits, self.static = limits, static
        self.jobs = Jobs(self.catalogue, limits)
        self.pool = Pool(self.catalogue.root, limits)
        self.uploads = Uploads(self.catalogue.root, limits)
        self.streams = Streams(self.catalogue, self.jobs, limits.streams)
        self.making: set[str] = set()  # names of runs that are being created
        self.glances: dict[str, tuple[Any, Any]] = {}  # by run: its stamp, and the answer
        self.constants: dict[str, Any] = {}  # answers that never change, by name
        self.forgetting: set[asyncio.Task[Any]] = set()  # requests to forget deleted runs

    def app(self) -> Starlette:
        """Return the application with its routes."""
        routes = [(each.method, each.path, f"_{each.name}") for each in OPERATIONS]
        page = [("GET", "/", "_page"), ("GET", "/static/{path:path}", "_page")]
        app = Starlette(
            routes=[
                Route(path, getattr(self, handler), methods=[method])
                for method, path, handler in (*page, *routes)
            ],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: self._refused},
            # In `exception_handlers`, this handler would also log every traceback.
            middleware=[Middleware(ExceptionMiddleware, handlers={Exception: self._refused})],
        )
        app.router.redirect_slashes = False
        return app

    async def _refused(self, request: Request, error: Exception) -> Response:
        """Return the response to a failed request; redirect addresses without a version."""
        path = request.url.path
        if path.removesuffix("/docs").rstrip("/") in ("/api", API):  # where one looks for a list
            return RedirectResponse(f"{API}/openapi.json")
        if isinstance(error, HTTPException):
            no_version = path.startswith("/api/") and not path.startswith(f"{API}/")
            if error.status_code == 404 and no_version:
                query = f"?{request.url.query}" if request.url.query else ""
                return RedirectResponse(f"{API}{quote(path.removeprefix('/api'))}{query}", 308)
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

    async def _openapi(self, request: Request) -> Response:
        """Return the OpenAPI document."""
        return json_response(await run_in_threadpool(document))

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Start the queue and the viewing processes, and end them with the server."""
        self.uploads.open()
        await self.jobs.open()
        warming = asyncio.create_task(self.pool.warm()) if self.limits.warm else None
        if warming is not None:
            await self.jobs.warm()
            reading = asyncio.create_task(run_in_threadpool(self._summaries))
            await asyncio.wait((warming, reading), timeout=MAX_WARMING_SECONDS)
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
        body = await run_in_threadpool(path.read_bytes)
        return await tagged_response(request, body, MEDIA_TYPES[path.suffix], cache)

    async def _about(self, request: Request) -> Response:
        """Return the version, the folder and the limits of the server."""
        limits = {
            "uploads": self.limits.upload,
            "stored": self.limits.stored,
            "runs": self.limits.jobs,
            "queued": self.limits.queued,
            "streams": self.limits.streams,
            "cells": MAX_CELLS,
        }
        folder = self.catalogue.root.name
        return json_response({"version": __version__, "runs": folder, "limits": limits})

    async def _list(self, request: Request) -> Response:
        """Return one page of the list of runs."""
        # The parameter `key` gives access (see `guard`); it selects no runs.
        query = {name: text for name, text in request.query_params.items() if name != "key"}
        selection = Selection.of(query)
        return json_response(selection.page(await run_in_threadpool(self._summaries)))

    def _summaries(self) -> list[dict[str, Any]]:
        """Return the summaries of all runs."""
        summaries = []
        for name in self.catalogue.names():
            with suppress(RefusalError):  # deleted in the meantime
                summaries.append(self.streams.summary(name))
        return summaries

    async def _details(self, request: Request) -> Response:
        """Return the summary of a run, its configuration and its map."""
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
        to = parse_optional(request.query_params.get("to"), "to")
        return await frame_response(request, await self._ask(request, name, "records", after, to))

    async def _fields(self, request: Request) -> Response:
        """Return layers of the map after a step."""
        names = request.query_params.get("layers", "height").split(",")
        layers = tuple(dict.fromkeys(layer for layer in names if layer))
        name, step = await self._run(request), self._step(request)
        if not 1 <= len(layers) <= MAX_LAYERS:
            raise Refusal.INVALID(f"request 1 to {MAX_LAYERS} layers, separated by commas")
        since = parse_optional(request.query_params.get("since"), "since")
        frame = await self._ask(request, name, "fields", step, layers, since)
        return await frame_response(request, frame)

    async def _whole(self, request: Request) -> Response:
        """Return the timeline, glance, playback or certificate of a run."""
        name, what = await self._run(request), request.url.path.rpartition("/")[2]
        if what == "glance":
            return json_response(await self._glance(request, name))
        if what != "playback":
            return json_response(await self._ask(request, name, what))
        given = request.query_params.get("level")
        level = None if given is None else parse_level(given)
        return json_response(await self._ask(request, name, what, level))

    async def _glance(self, request: Request, name: str) -> Any:
        """Return the thumbnail of the last step of a run; it is cached until the run changes."""
        stamp = await run_in_threadpool(self.catalogue.stamp, name)
        if self.glances.get(name, (None, None))[0] != stamp:
            self.glances[name] = stamp, await self._ask(request, name, "glance")
            while len(self.glances) > MAX_GLANCES:
                self.glances.pop(next(iter(self.glances)))
        return self.glances[name][1]

    async def _files(self, request: Request) -> Response:
        """Return the list of a run's files, or one of them."""
        folder = self.catalogue.root / await self._run(request)
        if "file" not in request.path_params:
            return json_response({"files": await run_in_threadpool(downloads_of, folder)})
        path = file_of(folder, request.path_params["file"])
        if path is None:
            raise Refusal.NOT_FOUND(NOT_FOUND)
        return download(await run_in_threadpool(path.read_bytes), f"{folder.name}-{path.name}")

    async def _way_file(self, request: Request) -> Response:
        """Return the way home after a step as GeoJSON, GPX or KML."""
        name, step = await self._run(request), self._step(request)
        suffix = Path(request.path_params["file"]).suffix
        content = await self._ask(request, name, "way_file", step, suffix)
        return download(content, f"{name}-way-home-{step}{suffix}")

    async def _play(self, request: Request) -> Response:
        """Return a run, and the runs `beside` it, as an HTML file that plays them offline."""
        name = await self._run(request)
        others = [other for other in request.query_params.get("beside", "").split(",") if other]
        for other in others:
            await run_in_threadpool(self.catalogue.find, other)
        content = await self._ask(request, name, "play", others)
        return download(content, f"{name}{'-compared' if others else ''}.html")

    async def _again(self, request: Request) -> Response:
        """Create and start runs that have the settings of a run, but other levels."""
        name, body = await self._run(request), await read_object(request)
        deltas = body.get("deltas")
        if body.keys() != {"deltas"} or not isinstance(deltas, list) or not 1 <= len(deltas) <= 5:
            raise Refusal.INVALID("deltas must be a list of 1 to 5 levels")
        levels = [parse_level(str(delta)) for delta in deltas]
        summary = await run_in_threadpool(self.streams.summary, name)
        config = (await run_in_threadpool(self.catalogue.details, name))["config"]
        kind = check_kind(summary["kind"])
        keys = all_forms()[kind].keys
        ends = [f"-delta-{level:g}" for level in levels]
        stem = LEVEL_SUFFIX.sub("", name)
        if any(
            stem + end in self.making or os.path.lexists(self.catalogue.root / (stem + end))
            for end in ends
        ):
            stem = self.catalogue.free_name(stem, ends, self.making)
        kept = {key: value for key, value in config.items() if key in keys and value is not None}
        runs = {
            check_name(stem + end): {**kept, "delta": level}
            for end, level in zip(ends, levels, strict=True)
        }
        await self._make(runs, kind)
        made = [await run_in_threadpool(self.streams.summary, each) for each in runs]
        return json_response({"runs": made}, 201)

    async def _why(self, request: Request) -> Response:
        """Return the plan after a step."""
        name, step = await self._run(request), self._step(request)
        return await self._retried(request, name, "why", step)

    async def _ghosts(self, request: Request) -> Response:
        """Return how the way home from a cell ends in worlds drawn from the belief."""
        name, step = await self._run(request), self._step(request)
        cell = parse_integer(request.query_params.get("cell", ""), "cell")
        seed = parse_integer(request.query_params.get("seed", "0"), "seed")
        return await self._retried(request, name, "ghosts", step, cell, seed)

    async def _retried(self, request: Request, run: str, name: str, *given: int) -> Response:
        """Return an answer as JSON; if other requests interrupt it, ask again, up to a limit."""
        for attempt in count(1):
            try:
                return json_response(await self._ask(request, run, name, *given))
            except RefusalError as refusal:
                if refusal.code is not Refusal.ASK_AGAIN or attempt == MAX_INTERRUPTIONS:
                    raise
        raise AssertionError

    async def _way(self, request: Request) -> Response:
        """Return the path home from a cell after a step; with its profile if profile=1."""
        name, step = await self._run(request), self._step(request)
        cell = parse_integer(request.query_params.get("cell", ""), "cell")
        profile = request.query_params.get("profile") == "1"
        return json_response(await self._ask(request, name, "way", step, cell, profile))

    async def _events(self, request: Request) -> Any:
        """Return the event stream of the named runs and, if the query has list=1, of their list."""
        query = request.query_params
        runs = watched(request.headers.get("last-event-id") or query.get("runs", ""))
        listing = query.get("list") == "1"
        if not (runs or listing):
            raise Refusal.INVALID("name the runs as runs=NAME@STEP,…, or set list=1")
        return self.streams.of(runs, listing)

    async def _create(self, request: Request) -> Response:
        """Create and start a run, or a pair of runs in the same world, or create a mission."""
        body = await read_object(request)
        for key in body:
            if key not in ("kind", "name", "config"):
                raise Refusal.INVALID(f"{key[:40]!r} is not a key of this request")
        kind, config = check_kind(body.get("kind")), body.get("config", {})
        if not isinstance(config, dict):
            raise Refusal.INVALID("config, the configuration, is not a JSON object")
        stem = None if body.get("name") is None else check_name(body["name"])
        pairs = request.url.path == f"{API}/pairs"
        ends = [f"-{suffix}" for suffix in SUFFIXES] if pairs else [""]
        mission = request.url.path == f"{API}/missions"
        stem = stem or self.catalogue.free_name("mission" if mission else kind, ends, self.making)
        names = [check_name(f"{stem}{end}") for end in ends]
        configs = pair_of(kind, config).values() if pairs else [config]
        await self._make(dict(zip(names, configs, strict=True)), kind, mission=mission)
        made = [await run_in_threadpool(self.streams.summary, name) for name in names]
        return json_response(dict(zip(SUFFIXES, made, strict=True)) if pairs else made[0], 201)

    async def _make(
        self, runs: dict[str, dict[str, Any]], kind: str, *, mission: bool = False
    ) -> None:
        """Create and start runs; if creating one fails, delete all. Missions are not started."""
        for name in runs:
            if name in self.making or os.path.lexists(self.catalogue.root / name):
                raise Refusal.CONFLICT(f"a run named {name} already exists")
        self.making |= runs.keys()
        made: list[str] = []
        try:
            size = sum(len(json.dumps(config)) for config in runs.values())
            await self.jobs.check_room(len(runs), size)
            for name, config in runs.items():
                await self.pool.ask("", "make", name, kind, config, mission)
                made.append(name)
            if not mission:
                await self.jobs.start(*runs)
        except BaseException:
            for name in made:
                await run_in_threadpool(self._remove, name)
            raise
        finally:
            self.making -= runs.keys()

    async def _observe(self, request: Request) -> Response:
        """Record a report of a mission."""
        name, report = await self._run(request), await read_object(request)
        return json_response(await self._ask(request, name, "observe", report), 201)

    async def _mission(self, request: Request) -> Response:
        """Return the next move, the way home or the status of a mission."""
        name, what = await self._run(request), request.url.path.rpartition("/")[2]
        found = await self._ask(request, name, "mission", what)
        form = request.query_params.get("format", "json")
        if what != "recall" or form == "json":
            return json_response(found)
        types = {"gpx": "application/gpx+xml", "kml": "application/vnd.google-earth.kml+xml"}
        if form not in ("geojson", *types):
            raise Refusal.INVALID("the format must be json, geojson, gpx or kml")
        if found[form] is None:
            raise Refusal.CONFLICT(found["why_no_degrees"])
        if form == "geojson":
            return json_response(found[form])
        return Response(found[form], 200, {"Cache-Control": "no-store"}, types[form])

    async def _steer(self, request: Request) -> Response:
        """Pause or cancel a run after its current step, or resume it, maybe for more steps."""
        name = await self._run(request)
        verb = request.url.path.rpartition("/")[2]
        if verb == "resume":
            given = await read_object(request) if request.headers.get("content-type") else {}
            steps = checked(Resume, given, "the request").steps
            more = None if steps is None else partial(self._ask, request, name, "extend", steps)
            await self.jobs.start(name, extend=more)
        else:
            await self.jobs.stop(name, "cancelled" if verb == "cancel" else "paused")
        return json_response(await run_in_threadpool(self.streams.summary, name))

    async def _delete(self, request: Request) -> Response:
        """Delete a run that is not running."""
        name = await self._run(request)
        await self.jobs.forget(name)
        used = await run_in_threadpool(self._remove, name)
        if not self.making:  # a run that is being created may use one of the uploads
            await run_in_threadpool(self.uploads.sweep, used)
        forgotten = asyncio.create_task(self.pool.ask(name, "forget", name))
        self.pool.forget(name)
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
        """Return the schemas of all kinds, or the examples; neither ever changes."""
        name = request.url.path.rpartition("/")[2]
        if name not in self.constants:
            self.constants[name] = await self.pool.ask("", name)
        return json_response(self.constants[name])

    async def _preview(self, request: Request) -> Response:
        """Return the preview of the terrain of a configuration, as a frame."""
        query = {name: parse_value(text) for name, text in request.query_params.items()}
        frame = await self.pool.ask("", "preview", query, gone=request.is_disconnected)
        return await frame_response(request, frame)

    async def _upload(self, request: Request) -> Response:
        """Store an uploaded raster or area and return its description."""
        length = parse_optional(request.headers.get("content-length"), "Content-Length")
        text = request.query_params.get("pixel")
        pixel = None if text is None else parse_value(text)
        if pixel is not None and not (isinstance(pixel, int | float) and 0 < pixel < 1e6):
            raise Refusal.INVALID("the pixel size is not a positive length in metres below 1e6")
        name = os.path.basename(request.path_params["name"])
        area = request.url.path.startswith(f"{API}/areas/")
        suffixes = AREA_SUFFIXES if area else RASTER_SUFFIXES
        about = await self.uploads.take(name, length, request.stream(), pixel, suffixes)
        return json_response(about, 201)

    async def _ask(self, request: Request, run: str, name: str, *arguments: Any) -> Any:
        """Return the answer of the viewing process of a run; raise if the client disconnects."""
        return await self.pool.ask(run, name, run, *arguments, gone=request.is_disconnected)

    async def _run(self, request: Request) -> str:
        """Return the name of the run in the path; raise if the run does not exist."""
        name = request.path_params["id"]
        await run_in_threadpool(self.catalogue.find, name)
        return str(name)

    def _step(self, request: Request) -> int:
        """Return the step in the path."""
        return parse_integer(request.path_params["step"], "step", Refusal.NOT_FOUND)
