"""Uploaded rasters and areas: limited in size and time, and read in a separate process.

The body is written to a file in a folder that is named by a random number. `upload_reader` makes a
new raster, or polygons, from the file, and the file is always deleted. What it makes is named by
the letters and digits of the client's name. An upload that no run uses is kept for a day. The page
refers to an upload by its number, so clients neither send nor see paths.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from starlette.concurrency import run_in_threadpool

from homeward.errors import InvalidFileError
from homeward.files import PART, read_json, replace_json
from homeward.runs.run import CONFIG
from homeward.web.limits import DEFAULTS, ServerSettings
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.upload_reader import COMMAND

FOLDER, ABOUT = ".uploads", "about.json"
PREFIX = "upload:"
NUMBER = re.compile(r"[0-9a-f]{16}")
MAX_READING_SECONDS = 90.0
UNUSED_SECONDS = 86_400.0  # time for which an unused upload is kept
MAX_UPLOADS = 2  # at the same time
RASTER_SUFFIXES = (".tif", ".tiff", ".asc", ".img", ".cub", ".jp2", ".npy")
AREA_SUFFIXES = (".geojson", ".json")
REFERENCE = re.compile(re.escape(FOLDER.encode()) + rb"[/\\]+([0-9a-f]{16})[/\\]")


def path_of(upload: Any, what: str, others: Iterable[str], root: Path) -> str:
    """Return the path of an upload such as ``upload:0123456789abcdef``; raise if it is invalid.

    The message names the key `what` and the built-in values `others` that it accepts.
    """
    number = upload.removeprefix(PREFIX) if isinstance(upload, str) else ""
    if not str(upload).startswith(PREFIX) or not NUMBER.fullmatch(number):
        known = "".join(f"{other}, " for other in others)
        one = f"one of {known}or " if known else ""
        raise Refusal.INVALID(f"the {what} must be {one}{PREFIX} and a number")
    folder = root / FOLDER / number
    for path in (*sorted(folder.glob("*.tif")), *sorted(folder.glob("*.geojson"))):
        if path.is_file() and not path.is_symlink():
            return str(path)
    raise Refusal.NOT_FOUND(f"{upload} does not exist")


def shown_config(config: Mapping[str, Any], root: Path, limit: int | None = None) -> dict[str, Any]:
    """Return a configuration for display, with the step limit `limit` if one is given.

    Paths become the number of an upload, or a file name.
    """
    shown = dict(config)
    if limit is not None and "limit" in shown:
        shown["limit"] = limit
    for key, value in config.items():
        if isinstance(value, str) and os.sep in value:
            path = Path(value)
            ours = path.parent.parent == root / FOLDER
            shown[key] = f"{PREFIX}{path.parent.name}" if ours else path.name
    return shown


def files_of(config: Mapping[str, Any], root: Path) -> dict[str, dict[str, str | None]]:
    """Return the original name and digest of each uploaded file in a configuration, by its key."""
    found: dict[str, dict[str, str | None]] = {}
    for key, value in config.items():
        if isinstance(value, str) and Path(value).parent.parent == root / FOLDER:
            try:
                about = dict(read_json(Path(value).with_name(ABOUT)))
            except (InvalidFileError, TypeError, ValueError):
                about = {}
            name, digest = about.get("name", Path(value).name), about.get("sha256")
            found[key] = {"name": str(name), "sha256": None if digest is None else str(digest)}
    return found


def stored_name(name: str, suffix: str) -> str:
    """Return the name under which a file is stored: letters, digits, "." "_" "-" and a suffix."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.splitext(name)[0]).strip(".-")
    return f"{stem[:80] or 'terrain'}{suffix}"


def used_by(config: Path) -> set[str]:
    """Return the numbers of the uploads in a configuration file, which may be damaged."""
    return {number.decode() for number in REFERENCE.findall(config.read_bytes())}


def _append(file: BinaryIO, digest: hashlib._Hash, chunk: bytes) -> None:
    """Write a part of a body to a file, and add it to the digest."""
    file.write(chunk)
    digest.update(chunk)


class Uploads:
    """The uploads in a folder of runs."""

    def __init__(self, root: Path, limits: ServerSettings = DEFAULTS) -> None:
        self.folder, self.limits = root / FOLDER, limits
        self._going = 0  # number of uploads in progress

    def open(self) -> None:
        """Delete incomplete uploads of a server that was killed."""
        self._check_folder()
        for left in self.folder.glob(f"*{PART}"):
            shutil.rmtree(left, ignore_errors=True)
        self.sweep()

    def _check_folder(self) -> None:
        """Raise if the folder of uploads is a link."""
        if self.folder.is_symlink():
            raise Refusal.FORBIDDEN(f"{FOLDER} is a link: replace it with a folder")

    def sweep(self, at_once: Collection[str] = ()) -> None:
        """Delete uploads that no run uses: those numbered in `at_once` now, others after a day.

        If the configuration of a run can't be read, all uploads are kept.
        """
        old = time.time() - UNUSED_SECONDS
        try:
            here = [path for path in self.folder.iterdir() if NUMBER.fullmatch(path.name)]
            idle = [p for p in here if p.name in at_once or p.lstat().st_mtime < old]
            configs = self.folder.parent.glob(f"*/{CONFIG}") if idle else ()
            used: set[str] = set().union(*map(used_by, configs))
        except OSError:
            return
        for path in idle:
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)

    async def take(
        self,
        name: str,
        length: int | None,
        body: AsyncIterator[bytes],
        pixel: float | None,
        suffixes: tuple[str, ...] = RASTER_SUFFIXES,
    ) -> dict[str, Any]:
        """Store an upload; return the description of its raster or area as JSON values."""
        suffix = os.path.splitext(name)[1].lower()
        if len(name) > 200 or not name.isprintable():
            raise Refusal.UNSUPPORTED("the name of the file is too long, or has control characters")
        if suffix not in suffixes:
            raise Refusal.UNSUPPORTED(
                f"{name} can't be used: the name must end in one of {', '.join(suffixes)}"
            )
        if length is not None and length > self.limits.upload:
            raise self._too_large()
        if self._going >= MAX_UPLOADS:
            raise Refusal.BUSY(f"{MAX_UPLOADS} uploads are in progress; wait for one to end")
        self._check_folder()
        number = secrets.token_hex(8)
        part = self.folder / f"{number}{PART}"
        self._going += 1
        try:
            await run_in_threadpool(self._prepare, part, length or 0)
            source = part / f".sent{suffix}"  # no stored name begins with a dot
            digest = await self._receive(source, body)
            target = part / stored_name(name, ".geojson" if suffix in AREA_SUFFIXES else ".tif")
            about = await self._read(source, target, name, pixel)
            about = {"upload": f"{PREFIX}{number}", "sha256": digest, **about}
            await run_in_threadpool(self._keep, part, source, about)
            return about
        finally:
            self._going -= 1
            await run_in_threadpool(shutil.rmtree, part, ignore_errors=True)

    def _prepare(self, part: Path, length: int) -> None:
        """Delete old uploads and create the folder of a new one; raise if there is no room."""
        self.sweep()
        self._check_room(length)
        part.mkdir(parents=True)

    def _keep(self, part: Path, source: Path, about: dict[str, Any]) -> None:
        """Delete the received file, write the description, and give the folder its final name."""
        source.unlink()
        self._check_room(0)
        replace_json(part / ABOUT, about)
        os.rename(part, self.folder / part.name.removesuffix(PART))

    def _check_room(self, more: int) -> None:
        """Raise if the stored uploads and `more` bytes exceed the limit."""
        taken = 0
        for file in self.folder.rglob("*"):
            with suppress(OSError):  # deleted meanwhile
                taken += file.lstat().st_size
        if taken + more > self.limits.stored:
            raise Refusal.QUOTA(
                f"uploads may take {self.limits.stored / (1 << 20):g} MB together: delete runs "
                "that use uploads, or wait a day for unused uploads to be deleted"
            )

    async def _receive(self, path: Path, body: AsyncIterator[bytes]) -> str:
        """Write a body to a file within the limits of size and time; return its SHA-256 digest."""
        limits, size, digest = self.limits, 0, hashlib.sha256()
        until = time.monotonic() + limits.longest
        parts = aiter(body)
        with open(path, "xb") as file:
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(parts), limits.stalled)
                except StopAsyncIteration:
                    break
                except TimeoutError:
                    sentence = f"no byte of the upload arrived for {limits.stalled:g} s"
                    raise Refusal.INVALID(f"{sentence}; nothing was kept") from None
                size += len(chunk)
                if size > limits.upload:
                    raise self._too_large()
                if time.monotonic() > until:
                    sentence = f"the upload took longer than {limits.longest:g} s"
                    raise Refusal.INVALID(f"{sentence}; nothing was kept")
                await run_in_threadpool(_append, file, digest, chunk)
        if not size:
            raise Refusal.UNUSABLE("the upload is empty")
        return digest.hexdigest()

    async def _read(
        self, source: Path, target: Path, name: str, pixel: float | None
    ) -> dict[str, Any]:
        """Read a file in a separate process; return its description."""
        more = [] if pixel is None else [repr(pixel)]
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, str(source), str(target), name, *more),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), MAX_READING_SECONDS)
        except TimeoutError:
            raise Refusal.UNUSABLE(
                f"{name} took longer than {MAX_READING_SECONDS:g} s to read"
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        try:
            about: dict[str, Any] = json.loads(output)
        except ValueError:
            raise Refusal.UNUSABLE(
                f"reading {name} takes more memory or time than the limits for uploads"
            ) from None
        if "error" in about:
            raise RefusalError(Refusal(about["code"]), str(about["error"]))
        return about

    def _too_large(self) -> RefusalError:
        """Return the error for an upload with too many bytes."""
        return Refusal.TOO_LARGE(f"the upload is larger than {self.limits.upload / (1 << 20):g} MB")
