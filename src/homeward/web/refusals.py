"""What the server refuses: a code, which has a status, and one sentence."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from homeward.errors import HomewardError

if TYPE_CHECKING:
    from pathlib import Path

ABSOLUTE = re.compile(r"(?<![\w.:/\\-])/(?:[^\s/:'\"]+/)+")
"""The folders of a file that is somewhere else: nobody's business."""

LONGEST = 500
"""Characters of a sentence that a client is told."""


class Refusal(StrEnum):
    """Why a request is not served. Programs compare the code, people read the sentence."""

    ASK_AGAIN = "ask_again"  # something else was asked for first
    INVALID = "invalid"
    NO_TOKEN = "no_token"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    NOT_ALLOWED = "not_allowed"
    TOO_SLOW = "too_slow"  # the client was
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    UNSUPPORTED = "unsupported"
    UNUSABLE = "unusable"
    NO_PIXEL_SIZE = "no_pixel_size"  # of a raster: the client has to give one
    BUSY = "busy"
    FAILED = "failed"
    RESTARTING = "restarting"
    TIMED_OUT = "timed_out"
    NO_MEMORY = "no_memory"


STATUS = {
    Refusal.ASK_AGAIN: 202,
    Refusal.INVALID: 400,
    Refusal.NO_TOKEN: 401,
    Refusal.FORBIDDEN: 403,
    Refusal.NOT_FOUND: 404,
    Refusal.NOT_ALLOWED: 405,
    Refusal.TOO_SLOW: 408,
    Refusal.CONFLICT: 409,
    Refusal.TOO_LARGE: 413,
    Refusal.UNSUPPORTED: 415,
    Refusal.UNUSABLE: 422,
    Refusal.NO_PIXEL_SIZE: 422,
    Refusal.BUSY: 429,
    Refusal.FAILED: 500,
    Refusal.RESTARTING: 503,
    Refusal.TIMED_OUT: 504,
    Refusal.NO_MEMORY: 507,
}
"""The HTTP status of a refusal."""


class RefusalError(HomewardError):
    """A request that is not served."""

    def __init__(self, code: Refusal, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code = code
        self.sentence = sentence

    @property
    def status(self) -> int:
        """The HTTP status."""
        return STATUS[self.code]

    def __str__(self) -> str:
        return self.sentence


def told(error: BaseException | str, *folders: Path) -> str:
    """Give the first line of what is wrong, without the folders that things are in."""
    text = str(error)
    for folder in folders:
        text = text.replace(f"{folder}/", "").replace(str(folder), folder.name)
    text = ABSOLUTE.sub("", text)
    line = text.strip().partition("\n")[0]
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def last_words(report: str, *folders: Path) -> str:
    """Give the last line of a traceback; of our own exceptions the message alone."""
    line = report.rstrip().rpartition("\n")[2]
    name, colon, message = line.partition(": ")
    return told(message if colon and name.startswith("homeward.") else line, *folders)
