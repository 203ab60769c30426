"""The command line called from tests, in this process and in another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer.testing import CliRunner

from homeward.cli.app import app
from homeward.errors import HomewardError

if TYPE_CHECKING:
    from collections.abc import Callable

    from typer.testing import Result

ROOT = Path(__file__).parents[2]

MAIN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where it was ignored before
from homeward.cli import main
main()
"""


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def answer(*arguments: object, code: int = 0) -> dict[str, Any]:
    result = invoke(*arguments, "--json")
    assert result.exit_code == code, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def refused(*arguments: object) -> HomewardError:
    """Give the mistake that `main` turns into one line and exit code 2."""
    result = invoke(*arguments)
    assert isinstance(result.exception, HomewardError), result.output
    return result.exception


def stopped(arguments: list[str], ready: Callable[[], bool], folder: Path) -> tuple[int, str]:
    """Run the command, press Ctrl-C once it is `ready`, and give exit code and errors."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        start_new_session=True,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=folder,
    ) as process:
        until = time.monotonic() + 60.0
        while process.poll() is None and time.monotonic() < until and not ready():
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=60.0)
    return process.returncode, errors
