"""Feeds a mission in processes that are killed, and says what was left: ``python -m`` this."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from tests.missions.playing import GridPlayer, play, start
from tests.runs.killing import dying_at, forked, outcome

from homeward.missions import Mission

STEPS = 12


def feed(folder: Path, reports: list[dict[str, Any]], call: int | None = None) -> None:
    """Send all reports, those that were sent before as well."""
    if call is not None:
        dying_at(call)
    mission = Mission.open(folder)
    for report in reports:
        mission.observe(report)


def kept(folder: Path) -> dict[str, Any]:
    """Return what is to be the same after any number of kills."""
    mission = Mission.open(folder)
    answers = mission.next(), mission.recall(), mission.status()["position"]
    files = ("steps.jsonl", "first_look.json", "config.json")
    return {"answers": answers, "files": [(folder / name).read_text() for name in files]}


def main(root: Path, kills: int) -> dict[str, Any]:
    player, rng = GridPlayer(), random.Random(1)
    whole = start(root / "whole", player, "grid")
    reports = play(whole, player, STEPS)
    expected = kept(root / "whole")
    began = time.perf_counter()
    warm = start(root / "warm", player, "grid").run.directory
    assert outcome(forked(partial(feed, warm, reports))) == 0
    long = time.perf_counter() - began
    killed, same, number = 0, [kept(warm) == expected], 0
    while killed < kills:
        folder = start(root / f"m{number}", player, "grid").run.directory
        number += 1
        code = -signal.SIGKILL
        while code:
            # Half of them die by the clock, and half at a call that writes.
            call = rng.randrange(1, 90) if rng.random() < 0.5 else None
            child = forked(partial(feed, folder, reports, call))
            if call is None:
                time.sleep(rng.uniform(0.0, 0.8 * long))
                os.kill(child, signal.SIGKILL)
            code = outcome(child)
            assert code in (0, -signal.SIGKILL)
            killed += code != 0
        same.append(kept(folder) == expected)
    return {"killed": killed, "same": same, "steps": len(reports)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]))))
