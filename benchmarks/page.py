"""Time a jump of the page's cursor: python benchmarks/page.py [RUN]

The fields of random steps of a run, asked of a real server over loopback, after it has learned the
whole of it. RUN is the folder of a rover's or a grid's run; without one a rover walks at random for
15,000 steps over a terrain of 50 × 100 cells, which is recorded as a run would be.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tests.web.site import serving

from homeward.runs import Run
from homeward.runs.config import checked
from homeward.runs.log import Record, to_line
from homeward.runs.rover import RoverConfig, make

if TYPE_CHECKING:
    import httpx

STEPS, JUMPS = 15_000, 300
QUERIES = {
    "height": "fields?layers=height",
    "height, uncertainty, seen, visited": "fields?layers=height,uncertainty,seen,visited",
    "all layers": "fields?layers=height,uncertainty,seen,visited,v,bonus,success,truth",
    "why": "why",
}


def walk(folder: Path) -> None:
    """Record a random walk as a rover's run."""
    run = Run.create(folder, "rover", {"limit": STEPS})
    world = make(checked(RoverConfig, run.config, "c")).world
    rng = np.random.default_rng(0)
    with open(folder / "steps.jsonl", "wb") as log:
        for step in range(1, STEPS + 1):
            here, action = world.state, int(rng.integers(1, 9))
            world.act(action)
            told = Record(
                step, here, action, world.state, None, "optimal", 1.0, 1.0, (1.0,), (1.0,)
            )
            log.write(to_line(told))


def main(given: Path | None) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "runs"
        root.mkdir()
        if given is None:
            walk(root / "run")
        else:
            shutil.copytree(given, root / "run")
        with serving(root) as site:
            began = time.perf_counter()
            details = site.get("/api/runs/run").json()
            print(f"set up: {time.perf_counter() - began:.2f} s, {details['shape']} cells")
            began = time.perf_counter()
            total = details["steps"]
            site.get(f"/api/runs/run/steps/{total - 1}/fields?layers=height").raise_for_status()
            print(f"learned {total:,} steps: {time.perf_counter() - began:.2f} s")
            measure(site.client, total)


def measure(client: httpx.Client, total: int) -> None:
    rng = np.random.default_rng(1)
    for name, query in QUERIES.items():
        times = []
        for step in rng.integers(0, total, JUMPS if query != "why" else JUMPS // 10).tolist():
            began = time.perf_counter()
            client.get(f"/api/runs/run/steps/{step}/{query}").raise_for_status()
            times.append(1e3 * (time.perf_counter() - began))
        middle, high = np.percentile(times[1:], [50, 95])
        print(f"{name}: {middle:.1f} ms (95 %: {high:.1f}, most {max(times[1:]):.1f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
