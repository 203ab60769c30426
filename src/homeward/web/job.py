"""Executes one run in its own process: ``python -m homeward.web.job FOLDER``.

The server holds the other end of standard input. When that is closed, the run stops after its
current step, as by Ctrl-C, and can be resumed. So a job never outlives its server, even if the
server is killed.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from contextlib import closing, suppress

from homeward.memory import keep_freed

GRACE_SECONDS = 3.0  # seconds that the current step may take after the run is asked to stop
DONE, FAILED, REFUSED, BUSY = 0, 1, 2, 3
"""Exit codes: ended or stopped; met an error; can't continue; another process writes the run."""

NICENESS = 5  # enough for the page to answer first; at 15 a busy machine starves a run for minutes


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
                "a run of another package's kind is continued from the command line", REFUSED
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
