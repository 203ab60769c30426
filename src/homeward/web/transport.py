"""Parsing of requests (query values, JSON bodies) and responses (JSON, frames, files)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from homeward.web.refusals import RETRY_SECONDS, Refusal

MAX_BODY_BYTES = 8 << 20
DOWNLOADS = {
    ".csv": "text/csv; charset=utf-8",
    ".geojson": "application/geo+json",
    ".gpx": "application/gpx+xml",
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".kml": "application/vnd.google-earth.kml+xml",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".qml": "application/xml",
    ".tif": "image/tiff",
}
"""Media types of the files that can be downloaded, by suffix."""

MAX_BODY_SECONDS = 30.0


def parse_integer(text: str, what: str, code: Refusal = Refusal.INVALID) -> int:
    """Return a non-negative integer from a text; `what` names it in the error message."""
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise code(f"{what} is {text[:40]!r}, expected a whole number")
    return int(text)


def parse_optional(text: str | None, what: str) -> int | None:
    """Return a non-negative integer from a text; None without a text."""
    return None if text is None else parse_integer(text, what)


def parse_value(text: str) -> Any:
    """Return a query value as a number if possible, otherwise as text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def parse_level(text: str) -> float:
    """Return a safety level between 0 and 1 from a text."""
    value = parse_value(text)
    if not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        raise Refusal.INVALID(f"level is {text[:40]!r}, expected a number from 0 to 1")
    return float(value)


async def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request; raise if it is too large or too slow."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise Refusal.UNSUPPORTED("send JSON with the content type application/json")
    body = bytearray()
    try:
        async with asyncio.timeout(MAX_BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY_BYTES:
                    limit = f"{MAX_BODY_BYTES >> 20} MB"
                    raise Refusal.TOO_LARGE(f"the request is larger than {limit}")
    except TimeoutError as cause:
        limit = f"{MAX_BODY_SECONDS:g} s"
        raise Refusal.TOO_SLOW(f"the request was not sent within {limit}") from cause
    try:
        value = json.loads(bytes(body))
    except (ValueError, RecursionError) as cause:
        raise Refusal.INVALID("the request is not JSON") from cause
    if not isinstance(value, dict):
        raise Refusal.INVALID("the request is not a JSON object")
    return value


def json_response(value: Any, status: int = 200) -> JSONResponse:
    """Return a JSON response that must not be cached."""
    return JSONResponse(value, status, {"Cache-Control": "no-store"})


def refusal_response(code: Refusal, sentence: str, **headers: str) -> JSONResponse:
    """Return the response to a refused request."""
    headers = {"Cache-Control": "no-store", **headers}
    if code.status in RETRY_SECONDS:
        headers["Retry-After"] = str(RETRY_SECONDS[code.status])
    return JSONResponse({"error": sentence, "code": code}, code.status, headers)


async def frame_response(request: Request, frame: bytes) -> Response:
    """Return a frame as a response, or status 304 if the client has the frame."""
    return await tagged_response(request, frame, "application/octet-stream", "private, no-cache")


async def tagged_response(request: Request, body: bytes, media_type: str, cache: str) -> Response:
    """Return a body with its ETag, or status 304 if the client has the body."""
    tag = await run_in_threadpool(tag_of, body)
    headers = {"ETag": tag, "Cache-Control": cache}
    known = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, 200, headers, media_type)


def tag_of(body: bytes) -> str:
    """Return the ETag of a body; hashing a large body takes long, so call this in a thread."""
    return f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


def download(content: bytes, name: str) -> Response:
    """Return a response that a browser saves as a file with this name."""
    media = DOWNLOADS.get(Path(name).suffix, "application/octet-stream")
    disposition = f'attachment; filename="{name}"'  # all characters match `NAME`
    headers = {"Cache-Control": "no-store", "Content-Disposition": disposition}
    return Response(content, 200, headers, media)
