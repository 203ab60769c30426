"""Takes one run to its end, in a process of its own: ``python -m homeward.web.job FOLDER``.

Whoever started it holds the other end of its standard input. When that is closed, by whom it may
be, the run is stopped after its step, as by Ctrl-C, and can be resumed. So it never outlives the
server, not even one that was killed.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
import time
from contextlib import closing, suppress

from homeward.memory import keep_freed

GRACE = 3.0
"""Seconds that a step may still take once the run is to stop."""

DONE, FAILED, REFUSED, BUSY = 0, 1, 2, 3
"""Exit codes: ended or stopped; met an error; can't go on; another process is at it."""

NICE = 15
"""How far the run stands back behind whoever looks at it, as `nice` counts."""


def watch(stop: threading.Event) -> None:
    """Wait until standard input is closed; then have the run stopped."""
    while os.read(0, 1024):
        pass
    stop.set()
    time.sleep(GRACE)
    _thread.interrupt_main()


def stand_back() -> None:
    """Leave the processor to whoever looks; where sessions take turns, as a session too."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    with suppress(OSError), open("/proc/self/autogroup", "w") as group:
        group.write(str(NICE))


def main(folder: str) -> int:
    """Go on with a run; give the exit code."""
    stand_back()
    keep_freed()
    stop = threading.Event()
    threading.Thread(target=watch, args=(stop,), daemon=True).start()
    from homeward.errors import HomewardError, InfeasibleError
    from homeward.runs import BusyError, Run
    from homeward.runs.kind import kind_names

    try:
        run = Run.open(folder)
        if run.kind not in kind_names():
            return _say("a run of a kind from elsewhere is resumed by command", REFUSED)
        with closing(run.steps()) as steps:
            for _ in steps:
                if stop.is_set():
                    break
    except KeyboardInterrupt:
        return DONE
    except BusyError:
        return BUSY
    except InfeasibleError as error:
        return _say(error, FAILED)
    except HomewardError as error:
        return _say(error, REFUSED)
    except Exception as error:
        return _say(error, FAILED)
    return DONE


def _say(error: Exception | str, code: int) -> int:
    """Say why there is no going on, in one line."""
    sys.stderr.write(str(error).partition("\n")[0] + "\n")
    return code


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stderr.flush()
    os._exit(code)  # the watching thread waits in a read
