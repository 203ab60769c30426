"""Explores in processes that are killed at random moments, and says what was left: ``python -m``.

Everything is imported and compiled once; each attempt is a fork of this process.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

from tests.runs.killing import forked, outcome
from typer.testing import CliRunner

from homeward.cli.app import app

KEPT = ("steps.jsonl", "path.geojson", "terrain.tif", "map.png")


def explore(options: list[str], out: Path) -> None:
    """Explore to the end, whatever is there already."""
    result = CliRunner().invoke(app, ["explore", *options, "--out", str(out)])
    if result.exit_code:
        raise RuntimeError(f"{result.exit_code}: {result.output} {result.exception!r}")


def kept(out: Path) -> dict[str, str]:
    """Give what is to be the same after any number of kills."""
    return {name: (out / name).read_bytes().hex() for name in KEPT}


def main(root: Path, options: list[str], kills: int) -> dict[str, object]:
    setattr(os, "fsync", lambda handle: None)  # noqa: B010  (a kill is no power cut)
    explore(options, root / "warm")
    began = time.perf_counter()
    assert outcome(forked(partial(explore, options, root / "whole"))) == 0
    whole = time.perf_counter() - began
    rng = random.Random(2)
    killed, stages, same, number = 0, [], [], 0
    while killed < kills:
        out = root / f"run{number}"
        number += 1
        code, share = -signal.SIGKILL, 0.4  # the first kill comes while it explores
        while code:
            child = forked(partial(explore, options, out))
            time.sleep(rng.uniform(0.1, share) * whole)
            share = 0.9
            os.kill(child, signal.SIGKILL)
            code = outcome(child)
            assert code in (0, -signal.SIGKILL)
            killed += code != 0
            stages.append(len(list(out.iterdir())) if out.exists() else 0)
        left = sorted(path.name for path in out.iterdir())
        same.append(kept(out) == kept(root / "whole") and not any(n[0] == "." for n in left))
    return {"killed": killed, "same": same, "stages": stages, "left": left}


if __name__ == "__main__":
    found = main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(found))
