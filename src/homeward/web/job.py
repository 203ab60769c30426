"""The process that executes one run: ``python -m homeward.web.job``.

It first imports and compiles the code that runs need, so that a small run starts at once. Then it
reads the folder of a run from standard input: one line of JSON. The server holds the other end of
standard input. When the server closes it or dies, the run stops after its current step, as after
Ctrl-C, and can be resumed. So this process never outlives its server.
"""

from __future__ import annotations

import _thread
import json
import os
import sys
import threading
import time
from contextlib import closing, suppress

from homeward.memory import keep_freed

GRACE_SECONDS = 3.0  # time that the current step may take after the request to stop
DONE, FAILED, REFUSED, BUSY = 0, 1, 2, 3
"""Exit codes: the run ended or was stopped; it failed; it can't be continued; it is in use."""

NICENESS = 5  # lower priority than the page; with 15, a run can wait for minutes on a busy machine
FULL_PRIORITY_SECONDS = 10.0  # time before a run gets a lower priority; small runs end earlier
WARMING_STEPS = 2  # steps of each demo run that compile the code


def watch(stop: threading.Event) -> None:
    """Wait until standard input is closed, then ask the run to stop."""
    while os.read(0, 1024):
        pass
    stop.set()
    time.sleep(GRACE_SECONDS)
    _thread.interrupt_main()


def lower_priority() -> None:
    """Lower the priority of the process and, on Linux, of the group of its session."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICENESS))


def warm() -> None:
    """Import all kinds, and take a few steps of their demo runs, so that the code is compiled."""
    from homeward.runs.config import checked
    from homeward.runs.kind import find_kind, kind_names

    for kind in map(find_kind, kind_names()):
        for config in kind.demo.values():
            explorer = kind.make(checked(kind.config, config, "the demo")).explorer()
            for _ in explorer.explore(WARMING_STEPS):
                pass


def given_folder() -> str | None:
    """Return the folder that the server sends; None if standard input is closed before."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 1)
        if not part:
            return None
        line += part
    return str(json.loads(line))


def main() -> int:
    """Continue the run that the server names, and return the exit code."""
    keep_freed()
    warm()
    folder = given_folder()
    if folder is None:
        return DONE
    stop = threading.Event()
    threading.Thread(target=watch, args=(stop,), daemon=True).start()
    from homeward.errors import HomewardError, InfeasibleError
    from homeward.runs import BusyError, Run
    from homeward.runs.kind import kind_names

    began, is_lowered = time.monotonic(), False
    try:
        run = Run.open(folder)
        if run.kind not in kind_names():
            return _report(
                "the page can't continue a run of another package's kind; use the command line",
                REFUSED,
            )
        with closing(run.steps()) as steps:
            for _ in steps:
                if stop.is_set():
                    break
                if not is_lowered and time.monotonic() - began > FULL_PRIORITY_SECONDS:
                    is_lowered = True
                    lower_priority()
    except KeyboardInterrupt:
        return DONE
    except BusyError:
        return BUSY
    except Exception as error:
        refused = isinstance(error, HomewardError) and not isinstance(error, InfeasibleError)
        return _report(error, REFUSED if refused else FAILED)
    return DONE


def _report(error: Exception | str, code: int) -> int:
    """Write the first line of an error to standard error and return the exit code."""
    sys.stderr.write(str(error).partition("\n")[0] + "\n")
    return code


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)  # the watching thread is blocked in a read
