"""The OpenAPI document of the interface: one entry per route, with the models of `contract`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from homeward import __version__
from homeward.web import contract

API = "/api/v1"
RUN = f"{API}/runs/{{id}}"
STEP = f"{RUN}/steps/{{step}}"
MISSION = f"{API}/missions/{{id}}"
REFERENCES = "#/components/schemas/{model}"
BINARY, STREAM, JSON = "application/octet-stream", "text/event-stream", "application/json"
HTML = "text/html"
INTEGER, TEXT, NUMBER = {"type": "integer"}, {"type": "string"}, {"type": "number"}


@dataclass(frozen=True)
class Operation:
    """One route."""

    method: str
    path: str
    name: str  # name of the handler in `app.Server`, without its underscore
    summary: str  # in one line
    answer: type[BaseModel] | str | None  # model, media type, or None for an empty response
    body: type[BaseModel] | str | None = None  # model of the JSON body, or a media type
    query: tuple[tuple[str, dict[str, Any]], ...] = ()  # JSON Schema by parameter; optional
    status: int = 200
    needs_body: bool = True  # whether a request without its body is refused


def _choice(values: Any) -> dict[str, Any]:
    """Return the JSON Schema of a text that is one of some values."""
    return {"type": "string", "enum": [str(value) for value in values]}


OPERATIONS = (
    Operation("GET", f"{API}/about", "about", "Version and limits", contract.About),
    Operation(
        *("GET", f"{API}/runs", "list", "The runs, sorted and filtered", contract.RunList),
        query=(
            ("offset", INTEGER),
            ("limit", INTEGER),
            ("sort", _choice(contract.Sort)),
            ("order", _choice(("asc", "desc"))),
            ("name", TEXT),
            ("kind", TEXT),
            ("outcome", TEXT),
            ("since", TEXT),
            ("until", TEXT),
        ),
    ),
    *(
        Operation("POST", f"{API}/{what}", "create", text, answer, contract.NewRun, status=201)
        for what, text, answer in (
            ("runs", "Create and start a run", contract.Summary),
            ("pairs", "Create a safe and an unsafe run", contract.Pair),
            ("missions", "Start a mission", contract.Summary),
        )
    ),
    Operation(
        *("POST", f"{MISSION}/observations", "observe", "Report what a vehicle observed", JSON),
        body=contract.Report,
        status=201,
    ),
    Operation("GET", f"{MISSION}/next", "mission", "The next move and its evidence", JSON),
    Operation("GET", f"{MISSION}/status", "mission", "Where the vehicle is", JSON),
    Operation(
        *("GET", f"{MISSION}/recall", "mission", "The way home: JSON, GeoJSON, GPX or KML", JSON),
        query=(("format", _choice(("json", "geojson", "gpx", "kml"))),),
    ),
    Operation("GET", RUN, "details", "One run and its map", contract.Details),
    Operation("DELETE", RUN, "delete", "Delete a run", None, status=204),
    Operation(
        *("GET", f"{RUN}/records", "records", "Columns of a range of steps, as a frame", BINARY),
        query=(("from", INTEGER), ("to", INTEGER)),
    ),
    Operation("GET", f"{RUN}/timeline", "whole", "The events of a run", contract.Timeline),
    Operation("GET", f"{RUN}/glance", "whole", "A thumbnail and the outcome", contract.Glance),
    Operation(
        *("GET", f"{RUN}/playback", "whole", "A run that plays without the server", JSON),
        query=(("level", NUMBER),),
    ),
    Operation(
        *("GET", f"{RUN}/play.html", "play", "A page that plays runs without a server", HTML),
        query=(("beside", TEXT),),
    ),
    Operation("GET", f"{RUN}/certificate", "whole", "The verdict on a run", contract.Certificate),
    Operation("GET", f"{RUN}/files", "files", "Files of a run", contract.Files),
    Operation("GET", f"{RUN}/files/{{file}}", "files", "A file of a run", BINARY),
    Operation(
        *("POST", f"{RUN}/again", "again", "Repeat a run at other levels", contract.NewRuns),
        body=contract.Again,
        status=201,
    ),
    Operation("GET", f"{STEP}/way/{{file}}", "way_file", "The way home as a file", BINARY),
    Operation(
        *("GET", f"{STEP}/fields", "fields", "Map layers after a step, as a frame", BINARY),
        query=(("layers", TEXT), ("since", INTEGER)),
    ),
    Operation("GET", f"{STEP}/why", "why", "The plan after a step", contract.Why),
    Operation(
        *("GET", f"{STEP}/way", "way", "The return path from a cell", contract.Way),
        query=(("cell", INTEGER), ("profile", INTEGER)),
    ),
    Operation(
        *("GET", f"{STEP}/ghosts", "ghosts", "The way home in sampled worlds", contract.Ghosts),
        query=(("cell", INTEGER), ("seed", INTEGER)),
    ),
    *(
        Operation("POST", f"{RUN}/{verb}", "steer", f"{verb.title()} a run", contract.Summary)
        for verb in ("pause", "cancel")
    ),
    Operation(
        *("POST", f"{RUN}/resume", "steer", "Resume a run", contract.Summary),
        body=contract.Resume,
        needs_body=False,
    ),
    Operation(
        *("GET", f"{API}/events", "events", "Events of runs and of their list", STREAM),
        query=(("runs", TEXT), ("list", INTEGER)),
    ),
    Operation("GET", f"{API}/kinds", "constant", "Forms of new runs, by kind", JSON),
    Operation("GET", f"{API}/examples", "constant", "The paper's examples", contract.Examples),
    Operation("GET", f"{API}/terrain/preview", "preview", "Cells of a terrain, as a frame", BINARY),
    Operation(
        *("PUT", f"{API}/uploads/{{name}}", "upload", "Upload a raster", contract.Upload),
        body=BINARY,
        query=(("pixel", NUMBER),),
        status=201,
    ),
    Operation(
        *("PUT", f"{API}/areas/{{name}}", "upload", "Upload polygons", contract.UploadedArea),
        body=BINARY,
        status=201,
    ),
    Operation("GET", f"{API}/openapi.json", "openapi", "This document", JSON),
)


def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document as JSON values."""
    bodies = {body for each in OPERATIONS for body in (each.answer, each.body)}
    models = [body for body in bodies if isinstance(body, type)]
    models = [*models, *contract.EVENTS.values(), contract.Refused]
    named = sorted(dict.fromkeys(models), key=lambda model: model.__name__)
    _, schemas = models_json_schema(
        [(model, "serialization") for model in named], ref_template=REFERENCES
    )
    paths: dict[str, Any] = {}
    for each in OPERATIONS:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Homeward", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas["$defs"]},
        "x-events": {name: _reference(model) for name, model in contract.EVENTS.items()},
    }


def _operation(operation: Operation) -> dict[str, Any]:
    """Return the entry of a route in the document."""
    path = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": INTEGER if name == "step" else TEXT,
        }
        for name in re.findall(r"{(\w+)}", operation.path)
    ]
    query = [{"name": name, "in": "query", "schema": schema} for name, schema in operation.query]
    good: dict[str, Any] = {"description": operation.summary}
    if operation.answer is not None:
        good["content"] = _content(operation.answer)
    refused = {"description": "Refused", "content": _content(contract.Refused)}
    entry: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": [*path, *query],
        "responses": {str(operation.status): good, "default": refused},
    }
    if operation.body is not None:
        content = _content(operation.body)
        entry["requestBody"] = {"required": operation.needs_body, "content": content}
    return entry


def _content(body: type[BaseModel] | str) -> dict[str, Any]:
    """Return the content of a body that has a model or only a media type."""
    return {body: {}} if isinstance(body, str) else {JSON: {"schema": _reference(body)}}


def _reference(model: type[BaseModel]) -> dict[str, str]:
    """Return the reference to the schema of a model."""
    return {"$ref": REFERENCES.format(model=model.__name__)}
