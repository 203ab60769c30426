"""What the server refuses: one sentence and a status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from homeward.errors import HomewardError

if TYPE_CHECKING:
    from pathlib import Path

ABSOLUTE = re.compile(r"(?<![\w.:/\\-])/(?:[^\s/:'\"]+/)+")
"""The folders of a file that is somewhere else: nobody's business."""

LONGEST = 500
"""Characters of a sentence that a client is told."""


class RefusalError(HomewardError):
    """A request that is not served."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(status, sentence)
        self.status = status
        self.sentence = sentence

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
