"""The paper's Mars figure: what a rover learns of 2 km x 1 km of ground at several safety levels.

The paper's rover explores a window of one HiRISE terrain model, which is not ours to ship. Here the
same is done on synthetic ground, over several terrains, or on a raster that is handed in, over
several draws of its error. As in the paper: cells of 20 m, slopes from −45° to 5°, γ = .999, home
the current place, 15,000 steps, and levels .98, .90 and .70 beside an explorer that keeps nothing
safe and one that takes the mean model at its word at .98.

The paper does not say where its rover starts. Here it starts on a landing site that the terrain
model speaks for: nearest to the middle in the largest part of the map where moves that should work
lead from everywhere to everywhere. In the very middle, one rover in three would start in a pit.

The measure is the entropy reduction, in nats. Every step is another look over the whole map, so
much of it comes without any driving; ``still`` is what a rover that never moves would get.
Variances do not depend on what is measured, so that, and the rest of a run whose rover sits where
no move works, have a closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from homeward.beliefs.terrain import SHARP, STEPS, TerrainBelief
from homeward.planning.paper import PaperExplorer
from homeward.runs.config import checked
from homeward.runs.rover import RoverConfig, cells_of, digest_of, make
from homeward.worlds.rover_kernels import look_around

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from homeward.arrays import FloatArray
    from homeward.plots.terrain import TerrainPanel
    from homeward.worlds.rover import Rover

LONGEST = 15_000
"""Steps of the paper's runs."""

ROWS, COLUMNS = 1000, 2000
"""Pixels of 1 m of synthetic ground."""

NEARBY = 100.0
"""m, how far the demo's rovers measure."""

STUCK = "no move works any more"
"""The end of a run whose rover can't leave its cell: the rest is a formula."""

SAID = {
    "explorer": ("safe", "safe", "safe", "unsafe", "naive"),
    "delta": (0.98, 0.90, 0.70, None, 0.98),
    "paper": (7680.0, 12660.0, 35975.0, 3214.0, None),
}
"""The settings, and the paper's entropy reductions; of the naive one it only says "as poorly"."""

KEY = ("explorer", "delta")
"""What tells one setting from another."""


def settings_of(
    steps: int,
    scale: float = 1.0,
    correction: str = "general",
    sensor_range: float | None = None,
    raster: str | None = None,
    window: str | None = None,
) -> list[dict[str, Any]]:
    """List the study's cells; `scale` times the sides of the paper's ground, unless on a raster."""
    ground: dict[str, Any] = {"sensor_range": sensor_range, "raster": raster, "window": window}
    if raster is None:
        ground |= {"rows": round(scale * ROWS), "columns": round(scale * COLUMNS)}
    return [
        {
            "explorer": explorer,
            "delta": delta,
            "correction": correction if explorer == "safe" else None,
            "limit": steps,
            **ground,
        }
        for explorer, delta in zip(SAID["explorer"], SAID["delta"], strict=True)
    ]


def pinned(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the study's cells with the digest of the raster's cells, if they are on one.

    So a raster that has changed makes another study, and a task refuses one that changes meanwhile.
    """
    if not cells or cells[0].get("raster") is None:
        return list(cells)
    digest = digest_of(cells_of(config_of(cells[0], 0)))
    return [{**cell, "terrain_sha256": digest} for cell in cells]


def pair_of(delta: float, steps: int) -> list[dict[str, Any]]:
    """List the demo's two: safe with a level for the whole run, and unsafe; both near-sighted."""
    safe, *_ = settings_of(steps, correction="moves", sensor_range=29.0)
    safe |= {"delta": delta, "algorithm": "rate"}
    return [safe, {**safe, "explorer": "unsafe", "delta": None, "correction": None}]


def config_of(cell: dict[str, Any], seed: int) -> RoverConfig:
    """Give the configuration of a run: what `homeward explore` would be told to do the same."""
    given: dict[str, Any] = {"explorer": cell["explorer"], "limit": int(cell["limit"])}
    given["algorithm"] = cell.get("algorithm", "paper")
    if given["algorithm"] == "paper":
        given["home"] = "current"
    for name in ("delta", "correction", "sensor_range", "window", "terrain_sha256"):
        if cell.get(name) is not None:
            given[name] = cell[name]
    if cell.get("raster") is None:
        given |= {"terrain_seed": seed, "rows": cell["rows"], "columns": cell["columns"]}
    else:
        given["terrain"] = cell["raster"]
    return checked(RoverConfig, {"seed": seed, **given}, "the rover")


def after_looks(belief: TerrainBelief, rover: Rover, looks: int) -> FloatArray:
    """Give the variances [S] after so many more looks from where the rover is.

    A look from distance d adds 1/v(d) to a cell's precision, whatever it shows.
    """
    states = len(belief.variance)
    cells, distances = np.empty(states, np.int32), np.empty(states)
    reach = look_around(
        *rover.position,
        rover.shape,
        rover.size,
        rover.sensor.reach,
        rover.blocked,
        cells,
        distances,
    )
    variance = belief.variance.copy()
    seen, error = cells[:reach], rover.sensor.variance(distances[:reach])
    variance[seen] = variance[seen] * error / (error + looks * variance[seen])
    return variance


def is_stuck(rover: Rover) -> bool:
    """Tell whether no move out of the rover's cell works, in the true world."""
    dest, success = rover.moves.dest[rover.state], rover.moves.success[rover.state]
    return not np.any((success > 0.0) & (dest != rover.state))


def explore(cell: dict[str, Any], seed: int) -> dict[str, Any]:
    """Let one rover loose on one terrain; a task of the study.

    ``moves`` has a digit for each step, the number of the action whose place it led to: 0 for none.
    A rover that can't move any more measures on from where it is until the last step.
    """
    setup = make(config_of(cell, seed))
    prior, rover = cast("TerrainBelief", setup.belief), cast("Rover", setup.world)
    still = _nats(prior, after_looks(prior, rover, setup.limit + 1))
    explorer = PaperExplorer(setup.planner, prior, rover)
    stuck = is_stuck(rover)
    path, stranded_at, lowest = [rover.state], None, 1.0
    if not stuck:
        for step in explorer.explore(setup.limit):
            path.append(step.state)
            for criterion in step.plan.criteria:
                lowest = min(lowest, criterion.kept_bound)
            if rover.stranded and stranded_at is None:
                stranded_at = step.number
            if step.state != path[-2] and is_stuck(rover):
                stuck = True
                break
    belief = cast("TerrainBelief", explorer.belief)
    left = setup.limit - explorer.steps if stuck else 0
    variance = after_looks(belief, rover, left)
    open_cells = ~prior.blocked
    return {
        "entropy": _nats(prior, variance),
        "still": still,
        "steps": explorer.steps + left,
        "end": STUCK if stuck else str(explorer.end),
        "stranded": bool(rover.stranded),
        "stranded_at": stranded_at,
        "visited": len(set(path)),
        "sharp": float((variance[open_cells] <= SHARP**2).mean()),
        "lowest_bound": lowest if setup.planner.criteria else None,
        "moves": digits_of(path, prior.shape[1]) + "0" * left,
    }


def _nats(prior: TerrainBelief, variance: FloatArray) -> float:
    """Give Σ ½ ln(prior variance / variance) over the open cells."""
    counted = ~prior.blocked
    return float(0.5 * np.log(prior.variance[counted] / variance[counted]).sum())


def digits_of(path: Sequence[int], columns: int) -> str:
    """Give a path as digits: for each step the number of the move that was made, 0 for none."""
    number = {step: str(a) for a, step in enumerate(STEPS)}
    places = [divmod(state, columns) for state in path]
    return "".join(number[r - row, c - column] for (row, column), (r, c) in pairwise(places))


def path_of(digits: str, start: int, columns: int) -> list[int]:
    """Give the path that digits tell of."""
    leap = [down * columns + right for down, right in STEPS]
    path = [start]
    for digit in digits:
        path.append(path[-1] + leap[int(digit)])
    return path


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of one setting came to."""

    setting: str
    paper: float | None  # nats
    median: float  # nats, of our runs
    least: float
    most: float
    still: float  # nats, the median of rovers that never move
    stranded: int
    runs: int
    stranded_at: float | None  # the median step, of those that were
    visited: float  # the median of cells
    sharp: float  # the median share of cells known to 1 cm


def name_of(row: dict[str, Any]) -> str:
    """Name a setting."""
    if row["explorer"] == "unsafe":
        return "unsafe"
    # Two digits as in the paper; more where there are more, for .996 is not 1.
    digits = max(f"{row['delta']:.2f}", f"{row['delta']:.15g}", key=len)
    level = digits.removeprefix("0")
    return f"naive at {level}" if row["explorer"] == "naive" else f"safe at {level}"


def summarise(rows: Iterable[dict[str, Any]]) -> list[Setting]:
    """Put the runs of each setting together, in the order in which they first appear."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in KEY), []).append(row)
    said = {(explorer, delta): paper for explorer, delta, paper in zip(*SAID.values(), strict=True)}
    found = []
    for key, group in groups.items():
        nats = [row["entropy"] for row in group]
        lost = [row["stranded_at"] for row in group if row["stranded_at"] is not None]
        found.append(
            Setting(
                setting=name_of(group[0]),
                paper=said.get(cast("tuple[str, float | None]", key)),
                median=float(np.median(nats)),
                least=min(nats),
                most=max(nats),
                still=float(np.median([row["still"] for row in group])),
                stranded=sum(bool(row["stranded"]) for row in group),
                runs=len(group),
                stranded_at=float(np.median(lost)) if lost else None,
                visited=float(np.median([row["visited"] for row in group])),
                sharp=float(np.median([row["sharp"] for row in group])),
            )
        )
    return found


def panel_of(row: dict[str, Any]) -> TerrainPanel:
    """Draw up one run: its way from the row, what was measured along it from the seed."""
    from homeward.plots.terrain import TerrainPanel  # late: no task of the study draws

    seed = int(row["seed"])
    config = config_of(row, seed)
    setup = make(config)
    rover = cast("Rover", setup.world)
    path = path_of(row["moves"], rover.start, rover.shape[1])
    belief = replay(cast("TerrainBelief", setup.belief), rover, path)
    cells = cells_of(config)
    return TerrainPanel(
        cells,
        belief.height.reshape(cells.shape),
        np.sqrt(belief.variance).reshape(cells.shape),
        path,
        title=name_of(row).capitalize(),
        note=story_of(row),
        stranded=bool(row["stranded"]),
    )


def story_of(row: dict[str, Any]) -> str:
    """Tell in a line what became of a run."""
    lost = f"no way back since step {row['stranded_at']:,}" if row["stranded"] else "can go back"
    steps = f"{row['steps']:,} steps, {row['visited']:,} cells visited"
    return f"{steps}, {row['entropy']:,.0f} nats learned; {lost}"


def replay(belief: TerrainBelief, rover: Rover, path: Sequence[int]) -> TerrainBelief:
    """Give what is believed after a path was taken; the rover takes it."""
    belief = belief.update(rover.look())
    for state in path[1:]:
        rover.state = state
        rover.steps += 1
        belief = belief.update(rover.look())
    return belief
