"""Errors for refused requests: a code with its HTTP status, and one sentence."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from homeward.errors import HomewardError

ABSOLUTE_FOLDERS = re.compile(r"(?<![\w.:/\\-])/(?:[^\s/:'\"]+/)+")
"""Pattern of the folders of an absolute path, which a client must not see."""

MAX_SENTENCE_LENGTH = 500
RETRY_SECONDS = {429: 1, 503: 0}  # time after which to send the request again, by HTTP status


class Refusal(StrEnum):
    """Why a request is refused; each code has an HTTP status."""

    INVALID = "invalid", 400
    NO_TOKEN = "no_token", 401
    FORBIDDEN = "forbidden", 403
    NOT_FOUND = "not_found", 404
    NOT_ALLOWED = "not_allowed", 405
    TOO_SLOW = "too_slow", 408  # the client sent its request too slowly
    CONFLICT = "conflict", 409
    TOO_LARGE = "too_large", 413
    UNSUPPORTED = "unsupported", 415
    UNUSABLE = "unusable", 422
    NO_PIXEL_SIZE = "no_pixel_size", 422  # the client must give the pixel size of the raster
    REPORT_FORMAT = "report_format", 400  # reports of missions, see `homeward.missions.Fault`
    REPORT_POSITION = "report_position", 422
    REPORT_NOT_ADVISED = "report_not_advised", 409
    REPORT_TOO_RISKY = "report_too_risky", 409
    REPORT_MEASUREMENT = "report_measurement", 422
    REPORT_IMPOSSIBLE = "report_impossible", 422
    REPORT_REPEATED = "report_repeated", 409
    REPORT_CLOCK = "report_clock", 409
    REPORT_NO_LOOK = "report_no_look", 409
    BUSY = "busy", 429
    FAILED = "failed", 500
    ASK_AGAIN = "ask_again", 503  # another request interrupted this one
    RESTARTING = "restarting", 503
    TIMED_OUT = "timed_out", 504
    NO_MEMORY = "no_memory", 507
    QUOTA = "quota", 507  # uploads or waiting runs take all the space that they may

    status: int

    def __new__(cls, code: str, status: int = 500) -> Refusal:
        """Return a code with its HTTP status."""
        made = str.__new__(cls, code)
        made._value_, made.status = code, status
        return made

    def __call__(self, sentence: str) -> RefusalError:
        """Return the exception to raise, with this code."""
        return RefusalError(self, sentence)


class RefusalError(HomewardError):
    """The server refuses a request; `code` is the reason, and `sentence` describes it."""

    def __init__(self, code: Refusal, sentence: str) -> None:
        super().__init__(code, sentence)
        self.code, self.sentence, self.status = code, sentence, code.status

    def __str__(self) -> str:
        return self.sentence


def client_text(error: BaseException | str, *folders: Path) -> str:
    """Return the first line of an error for a client: paths lose their folders."""
    text = str(error)
    for folder in folders:
        text = text.replace(f"{folder}/", "").replace(str(folder), folder.name)
    text = ABSOLUTE_FOLDERS.sub("", text)
    line = text.strip().partition("\n")[0]
    return line if len(line) <= MAX_SENTENCE_LENGTH else f"{line[: MAX_SENTENCE_LENGTH - 1]}…"


def last_line(traceback: str, *folders: Path) -> str:
    """Return the last line of a traceback; if Homeward raised it, without the exception's name."""
    line = traceback.rstrip().rpartition("\n")[2]
    name, colon, message = line.partition(": ")
    return client_text(message if colon and name.startswith("homeward.") else line, *folders)
