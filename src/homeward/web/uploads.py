"""Rasters that a client sends: limited in size and time, and opened far from the server.

The body is streamed to a file under a number of the server's own choosing; the client's name for it
only says what kind of file it is. `reading` makes a raster of our own of it, and what was sent is
removed, whatever came of it. What no run refers to is kept for a day.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from homeward.files import PART, replace_json
from homeward.runs.run import CONFIG
from homeward.web.reading import COMMAND
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.terrains import ABOUT, FOLDER, NUMBER, PREFIX, TERRAIN

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection
    from pathlib import Path

LARGEST = 512 << 20
"""Bytes of an upload."""

STALLED = 15.0
"""Seconds without a byte after which an upload is given up."""

LONGEST = 900.0
"""Seconds that an upload may take in all."""

READING = 90.0
"""Seconds that the raster may take to be read."""

KEPT = 86_400.0
"""Seconds for which an upload is kept that no run refers to."""

AT_ONCE = 2
KINDS = (".tif", ".tiff", ".asc", ".img", ".cub", ".jp2", ".npy")
"""How the names of files end that are looked at."""

USED = re.compile(re.escape(FOLDER.encode()) + rb"[/\\]+([0-9a-f]{16})[/\\]")


def used_by(config: Path) -> set[str]:
    """Give the numbers of the uploads that a configuration names, be it damaged or not."""
    return {number.decode() for number in USED.findall(config.read_bytes())}


class Uploads:
    """The uploads in a folder of runs."""

    def __init__(
        self, root: Path, largest: int = LARGEST, stalled: float = STALLED, longest: float = LONGEST
    ) -> None:
        self.folder = root / FOLDER
        self.largest, self.stalled, self.longest = largest, stalled, longest
        self._going = 0

    def open(self) -> None:
        """Remove what was cut off when the server was last killed."""
        self._check_folder()
        for left in self.folder.glob(f"*{PART}"):
            shutil.rmtree(left, ignore_errors=True)
        self.sweep()

    def _check_folder(self) -> None:
        if self.folder.is_symlink():
            raise RefusalError(Refusal.FORBIDDEN, f"{FOLDER} is a link, so nothing is kept there")

    def sweep(self, now: Collection[str] = ()) -> None:
        """Remove what no run refers to: after a day, or of these numbers now.

        Where a run's configuration can't be read, nobody knows, and all is kept.
        """
        old = time.time() - KEPT
        try:
            here = [path for path in self.folder.iterdir() if NUMBER.fullmatch(path.name)]
            idle = [p for p in here if p.name in now or p.lstat().st_mtime < old]
            configs = self.folder.parent.glob(f"*/{CONFIG}") if idle else ()
            used: set[str] = set().union(*map(used_by, configs))
        except OSError:
            return
        for path in idle:
            if path.name not in used:
                shutil.rmtree(path, ignore_errors=True)

    async def take(
        self, name: str, length: int | None, body: AsyncIterator[bytes], pixel: float | None
    ) -> dict[str, Any]:
        """Take an upload in; give what it is, as JSON values."""
        suffix = os.path.splitext(name)[1].lower()
        if suffix not in KINDS or len(name) > 200 or not name.isprintable():
            raise RefusalError(
                Refusal.UNSUPPORTED, f"an upload is named as one of {', '.join(KINDS)}"
            )
        if length is not None and length > self.largest:
            raise self._too_large()
        if self._going >= AT_ONCE:
            raise RefusalError(
                Refusal.BUSY, f"{AT_ONCE} uploads are on their way; wait for one to end"
            )
        self._check_folder()
        self.sweep()
        number = secrets.token_hex(8)
        part = self.folder / f"{number}{PART}"
        self._going += 1
        try:
            part.mkdir(parents=True)
            source = part / f"sent{suffix}"
            await self._receive(source, body)
            about = await self._read(source, part / TERRAIN, name, pixel)
            source.unlink()
            about = {"upload": f"{PREFIX}{number}", **about}
            replace_json(part / ABOUT, about)
            os.rename(part, self.folder / number)
            return about
        finally:
            self._going -= 1
            shutil.rmtree(part, ignore_errors=True)

    async def _receive(self, path: Path, body: AsyncIterator[bytes]) -> None:
        """Write a body to a file, within the limits."""
        until, size = time.monotonic() + self.longest, 0
        parts = aiter(body)
        with open(path, "xb") as file:
            while True:
                try:
                    chunk = await asyncio.wait_for(anext(parts), self.stalled)
                except StopAsyncIteration:
                    break
                except TimeoutError:
                    raise RefusalError(
                        Refusal.INVALID,
                        f"no byte of the upload came for {self.stalled:g} s; nothing was kept",
                    ) from None
                size += len(chunk)
                if size > self.largest:
                    raise self._too_large()
                if time.monotonic() > until:
                    raise RefusalError(
                        Refusal.INVALID,
                        f"the upload took longer than {self.longest:g} s; nothing was kept",
                    )
                file.write(chunk)
        if not size:
            raise RefusalError(Refusal.UNUSABLE, "the upload is empty")

    async def _read(
        self, source: Path, target: Path, name: str, pixel: float | None
    ) -> dict[str, Any]:
        """Have the raster read, in a process of its own."""
        more = [] if pixel is None else [repr(pixel)]
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, str(source), str(target), name, *more),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            said, _ = await asyncio.wait_for(process.communicate(), READING)
        except TimeoutError:
            raise RefusalError(
                Refusal.UNUSABLE, f"the raster took longer than {READING:g} s to read"
            ) from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        try:
            about: dict[str, Any] = json.loads(said)
        except ValueError:
            raise RefusalError(
                Refusal.UNUSABLE,
                "the raster could not be read with the memory and time that an upload may take",
            ) from None
        if "error" in about:
            raise RefusalError(Refusal(about["code"]), str(about["error"]))
        return about

    def _too_large(self) -> RefusalError:
        return RefusalError(
            Refusal.TOO_LARGE, f"the upload is larger than {self.largest / (1 << 20):g} MB"
        )
