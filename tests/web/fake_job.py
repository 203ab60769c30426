"""Stands in for a job where only its coming and going counts: starts at once, plans nothing.

What it does stands in the file ``how`` in the run's folder: ``finish`` after ten steps, ``refuse``,
be ``deaf`` to being stopped, or go on until then.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
import threading
import time
import zlib
from pathlib import Path


def note(folder: Path, status: str) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    steps = (folder / "steps.jsonl").read_bytes().count(b"\n")
    end = "steps" if status == "finished" else None
    manifest |= {"status": status, "end": end, "steps": steps}
    (folder / "part").write_text(json.dumps(manifest))
    (folder / "part").rename(folder / "manifest.json")


def watch() -> None:
    sys.stdin.read()
    stop.set()


def main(folder: Path) -> int:
    how = (folder / "how").read_text() if (folder / "how").exists() else "go"
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 3
    if how == "refuse":
        sys.stderr.write(f"{folder}/steps.jsonl: line 1 is damaged\n")
        return 2
    threading.Thread(target=watch, daemon=True).start()
    for number in range(10_000):
        if (stop.is_set() and how != "deaf") or (how == "finish" and number == 10):
            break
        with open(folder / "steps.jsonl", "ab") as file:
            file.write(LINE)
        time.sleep(0.01)
    note(folder, "finished" if how == "finish" and not stop.is_set() else "interrupted")
    return 0


LINE = b'{"step":0,"crc":"%08x"}\n' % zlib.crc32(b'{"step":0}')
stop = threading.Event()
if __name__ == "__main__":
    given = sys.stdin.readline()
    os._exit(main(Path(json.loads(given))) if given else 0)
