"""The process that executes one run: ``python -m homeward.web.job FOLDER``.

The server holds the other end of standard input. When the server closes it or dies, the run stops
after its current step, as after Ctrl-C, and can be resumed. So a job never outlives its server.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from contextlib import closing, suppress

from homeward.memory import keep_freed

GRACE_SECONDS = 3.0  # seconds that the current step may take after the request to stop
DONE, FAILED, REFUSED, BUSY = 0, 1, 2, 3
"""Exit codes: ended or stopped; error during the run; can't continue; another process writes it."""

NICENESS = 5  # the page answers first; with 15, a run can wait for minutes on a busy machine


def watch(stop: threading.Event) -> None:
    """Wait until standard input is closed, then ask the run to stop."""
    while os.read(0, 1024):
        pass
    stop.set()
    time.sleep(GRACE_SECONDS)
    _thread.interrupt_main()


def lower_priority() -> None:
    """Lower the priority of the process, and of its session where Linux groups sessions."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    with suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICENESS))


def main(folder: str) -> int:
    """Continue a run and return the exit code."""
    lower_priority()
    keep_freed()
    stop = threading.Event()
    threading.Thread(target=watch, args=(stop,), daemon=True).start()
    from homeward.errors import HomewardError, InfeasibleError
    from homeward.runs import BusyError, Run
    from homeward.runs.kind import kind_names

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
    code = main(sys.argv[1])
    sys.stderr.flush()
    os._exit(code)  # the watching thread is blocked in a read
