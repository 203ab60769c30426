"""Commands and options of earlier versions; using one raises an error that names its successor."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from homeward.errors import InvalidInputError

COMMANDS = {
    ("grid",): "homeward run grid",
    ("toytext",): "homeward paper toytext",
    ("runs", "start"): "homeward run KIND --out DIR",
    ("runs", "study"): "homeward study run",
    ("runs", "table"): "homeward study table",
}
OPTIONS = {
    ("explore",): {"--budget": "--delta, the level of the whole run"},
    ("run", "grid"): {
        "--budget": "--delta, the level of the whole run",
        "--limit": "--steps",
        "--run": "--out",
    },
    ("runs", "resume"): {"--limit": "--steps"},
    ("runs", "show"): {"--steps": "--last"},
    ("certify",): {"--jobs": "--workers", "--save": "--out"},
    ("serve",): {"--jobs": "--workers"},
    ("paper", "toytext"): {"--jobs": "--workers"},
    ("paper", "mars"): {"--grounds": "--terrains"},
}
LAB = ("check", "bench")  # commands that are now in the repository, not in the package


def check_retired(words: Sequence[str]) -> None:
    """Raise if the words of a command line have a command or an option of an earlier version."""
    if words and words[0] in LAB:
        now = shlex.join(["python", "-m", "lab", *words])
        raise InvalidInputError(
            f"{words[0]} is no longer part of homeward; in its repository, run: {now}"
        )
    for old, new in COMMANDS.items():
        if tuple(words[: len(old)]) == old:
            raise InvalidInputError(f"homeward {' '.join(old)} is now: {new}")
    for command, options in OPTIONS.items():
        if tuple(words[: len(command)]) != command:
            continue
        for word in words:
            name = word.partition("=")[0]
            if name in options:
                raise InvalidInputError(f"{name} is now {options[name]}")
