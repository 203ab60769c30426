"""A recorded run as one small JSON value, which a page can play without a server.

A cell that was seen stays seen, so one step number per cell replaces all masks of seen cells. The
region with a proven way home can grow and shrink, so each moment lists the cells that changed. Long
runs have fewer moments than steps: at most `MAX_CELL_MOMENTS` divided by the number of cells.
"""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.replay.events import events_of, homes_of, refused_actions, trapped_at
from homeward.replay.replay import Replay
from homeward.replay.scene import Scene
from homeward.words import why_ended

FORMAT = 1
DEFAULT_LEVEL = 0.9  # level of the drawn region if the run has no level
MAX_CELL_MOMENTS = 3_000_000  # maximum of cells × moments
MAX_MOMENTS = 600
LEVEL_TOLERANCE = 1e-9
THUMBNAIL_SIDE = 64  # maximum rows and columns of a thumbnail


def level_of(replay: Replay) -> float | None:
    """Return the level of the run's first return criterion; None without such a criterion."""
    for criterion in replay.setup.planner.criteria:
        level = getattr(criterion, "delta", None)
        if hasattr(criterion, "home") and level is not None:
            return float(level)
    return None


def playback_of(replay: Replay, level: float | None = None) -> dict[str, Any]:
    """Return a recorded run as JSON values that a page can play without a server.

    Arrays are base64 texts of little-endian numbers. The region with a way home has the cells whose
    bound is at least `level`; by default the level of the run, or `DEFAULT_LEVEL` without one.
    """
    scene, steps = replay.scene, len(replay.log)
    cells = scene.shape[0] * scene.shape[1]
    own = level_of(replay)
    used = level if level is not None else DEFAULT_LEVEL if own is None else own
    count = min(steps + 1, MAX_MOMENTS, max(2, MAX_CELL_MOMENTS // cells))
    moments = np.unique(np.linspace(0, steps, count).round().astype(np.int32))
    seen_from = np.full(cells, -1, np.int32)
    way_home, flips, counts = [], [], []
    before = np.zeros(cells, bool)
    for number, step in enumerate(moments.tolist()):
        moment = replay.at(step)
        value = moment.returns[1].value
        way_home.append(value[moment.state])
        inside = value >= used - LEVEL_TOLERANCE
        changed = np.flatnonzero(inside != before)
        flips.append(changed.astype(np.int32))
        counts.append(len(changed))
        before = inside
        seen = scene.maps(["seen"], moment)["seen"].ravel().astype(bool)
        seen_from[seen & (seen_from < 0)] = moments[number]
    names = {entry["name"] for entry in scene.layers}
    ground = scene.maps(["truth" if "truth" in names else "height"], replay.at(steps))
    height = next(iter(ground.values())).ravel()
    manifest = replay.run.manifest
    events = sorted([*events_of(replay), *refused_actions(replay)])
    start = replay.history.start
    return {
        "format": FORMAT,
        "id": replay.run.directory.name,
        "kind": replay.run.kind,
        "explorer": replay.run.config.get("explorer"),
        "delta": own,
        "level": used,
        "shape": list(scene.shape),
        "cell": None if scene.cell is None else list(scene.cell),
        "grid": _is_grid(scene),
        "steps": steps,
        "start": start,
        "homes": [int(home) for group in homes_of(replay, start) for home in group],
        "targets": scene.targets,
        "end": manifest.end,
        "why": None if manifest.end is None else why_ended(manifest.end, steps),
        "trapped": trapped_at(replay),
        "events": [event._asdict() for event in events],
        "height": text_of(height, "<f4"),
        "seen": text_of(seen_from, "<i4"),
        "next": text_of(np.array(replay.log.nexts[:steps]), "<i4"),
        "moments": text_of(moments, "<i4"),
        "way_home": text_of(np.array(way_home), "<f8"),
        "counts": text_of(np.array(counts), "<i4"),
        "flips": text_of(np.concatenate(flips), "<i4"),
    }


def glance_of(replay: Replay) -> dict[str, Any]:
    """Return a thumbnail of the last recorded step, the share of cells seen, and `trapped_at`."""
    steps = len(replay.log)
    maps = replay.layers(steps, ("height", "seen"))
    rows, columns = maps["seen"].shape
    stride = max(1, -(-max(rows, columns) // THUMBNAIL_SIDE))
    height, seen = (maps[name][::stride, ::stride] for name in ("height", "seen"))
    open_cells = np.isfinite(maps["height"]) | ~maps["seen"].astype(bool)
    path = replay.log.path_to(steps) if steps else np.zeros(0, np.int32)
    row, column = np.divmod(path, columns)
    small = row // stride * height.shape[1] + column // stride
    kept = np.flatnonzero(np.diff(small, prepend=-1))
    shown = np.where(np.isfinite(height), height, 0.0)
    return {
        "shape": list(height.shape),
        "share": float(maps["seen"].sum() / max(1, open_cells.sum())),
        "trapped": trapped_at(replay),
        "grid": _is_grid(replay.scene),
        "height": text_of(shown.ravel(), "<f4"),
        "seen": text_of(seen.ravel(), "u1"),
        "path": text_of(small[kept], "<i4"),
    }


def _is_grid(scene: Scene) -> bool:
    """Return whether heights are levels of a grid, not metres."""
    facts = [each for each in scene.layers if each["name"] == "height"]
    return any(each["scale"] == "categorical" for each in facts)


def text_of(values: NDArray[Any], dtype: str) -> str:
    """Return an array as the base64 text of its numbers, converted to `dtype`."""
    return base64.b64encode(np.ascontiguousarray(values, dtype).tobytes()).decode("ascii")
