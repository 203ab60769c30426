"""``python -m lab bench``: times relative to other solvers on the same problems."""

from __future__ import annotations

import sys
from dataclasses import asdict
from statistics import median
from typing import Annotated, Any

import typer

from homeward.cli.options import Json
from homeward.cli.show import show, track
from homeward.errors import InvalidInputError
from lab.report import Seed, Steps

app = typer.Typer(
    help="Measure speed against other solvers, in the same run.", no_args_is_help=True
)


def _milliseconds(name: str, seconds: tuple[float, float, float]) -> dict[str, Any]:
    """Return a median and its quartiles, given in s, as entries of a row in ms."""
    middle, *quartiles = (1e3 * time for time in seconds)
    return {f"{name}_ms": middle, f"{name}_quartiles_ms": quartiles}


def _table(
    rows: list[dict[str, Any]], columns: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return rows for a table; `columns` maps titles to keys, by default the keys themselves.

    A pair of quartiles becomes a text, and None becomes "no answer".
    """

    def cell(value: Any) -> Any:
        if isinstance(value, list):
            return " – ".join(f"{time:.1f}" for time in value)
        return "no answer" if value is None else value

    columns = columns or {key: key for key in rows[0]}
    return [{title: cell(row[key]) for title, key in columns.items()} for row in rows]


@app.command()
def planning(
    steps: Annotated[int, typer.Option(help="Steps of each exploration.", min=2)] = 30,
    samples: Annotated[int, typer.Option(help="Steps for the LP solvers.", min=1)] = 3,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure the time of a decision on a 50 × 100 terrain, and compare with the paper's LP.

    There is one exploration per setting. Each step is planned with and without a warm start. HiGHS
    (interior point, simplex) and Clarabel solve the occupancy LP of `samples` steps; only their
    solve time counts.
    """
    from lab.bench.planning import SETTINGS, measure

    rows: list[dict[str, Any]] = []
    for setting in track(SETTINGS, "settings", quiet=as_json):
        found = measure(setting, steps, samples, seed=seed)
        name, best = min(found.lp.items(), key=lambda item: item[1], default=(None, None))
        rows.append(
            {
                "setting": found.setting,
                **_milliseconds("warm", found.warm),
                **_milliseconds("cold", found.cold),
                "given_ms": 1e3 * found.given,
                "lp_best_ms": None if best is None else 1e3 * best,
                "lp_best_name": name,
                "lp_ms": {peer: 1e3 * t for peer, t in found.lp.items()},
                "speedup_warm": None if best is None else best / found.warm[0],
                "speedup_cold": None if best is None else best / found.cold[0],
                "objective_rel_diff": found.difference,
                "paper_s": setting.paper,
            }
        )
    columns = {"setting": "setting", "warm ms": "warm_ms", "quartiles": "warm_quartiles_ms"}
    columns |= {"cold ms": "cold_ms", "given ms": "given_ms", "best LP": "lp_best_name"}
    columns |= {"LP ms": "lp_best_ms", "× warm": "speedup_warm", "× cold": "speedup_cold"}
    columns |= {"difference": "objective_rel_diff", "paper s": "paper_s"}
    free = next(row["warm_ms"] for row in rows if row["setting"] == "unconstrained")
    dearest = max(row["warm_ms"] for row in rows if row["setting"].startswith("0.")) / free
    show(
        {"rows": rows if as_json else _table(rows, columns)},
        {"rows": "A decision at 50 × 100, γ = .999"},
        f"with a warm start, a safe decision takes at most {dearest:.1f} times as long as an "
        "unconstrained one; times exclude the mean model and the bonus, as for the LP",
        as_json,
    )


@app.command()
def scale(
    largest: Annotated[int, typer.Option(help="Largest map, in cells.")] = 2_000_000,
    steps: Steps = 200,
    as_json: Json = False,
) -> None:
    """Measure steps on maps of 5,000 to 2,000,000 cells, for three sensors, and fit exponents.

    A step includes the world, the belief, the decision and the line of the record.
    """
    from lab.bench.scale import SENSORS, SHAPES, exponent, measure

    shapes = [shape for shape in SHAPES if shape[0] * shape[1] <= largest]
    if len(shapes) < 2:
        second = SHAPES[1][0] * SHAPES[1][1]
        raise InvalidInputError(f"the largest map is {largest} cells, expected {second} or more")
    todo = [(shape, sensor) for sensor in SENSORS for shape in shapes]
    measure((20, 40), "ring", 3)  # compiles
    found = [measure(*case, steps) for case in track(todo, "maps", quiet=as_json)]
    exponents, ratios = {}, {}
    for sensor in SENSORS:
        mine = [row for row in found if row["sensor"] == sensor]
        times = [row["step_ms"] for row in mine]
        exponents[sensor] = exponent([row["states"] for row in mine], times)
        ratios[sensor] = times[-1] / times[0]
    factors = ", ".join(f"{sensor} {ratio:.1f}" for sensor, ratio in ratios.items())
    show(
        {
            "rows": found if as_json else _table(found),
            "exponents": exponents,
            "ratios": ratios,
        },
        {"rows": "A step at δ = .98"},
        f"(median step on the largest map) / (median step on the smallest map): {factors}",
        as_json,
    )


@app.command()
def run(
    rows: Annotated[int, typer.Option(help="Rows of cells.", min=2)] = 50,
    columns: Annotated[int, typer.Option(help="Columns of cells.", min=2)] = 100,
    steps: Steps = 15_000,
    seeds: Annotated[int, typer.Option(help="Number of maps.", min=1)] = 3,
    as_json: Json = False,
) -> None:
    """Explore whole maps with a sensor of the eight cells around, and of 100 m."""
    from lab.bench.scale import explore

    explore((20, 40), "ring", 3, 0)  # compiles
    todo = [(sensor, seed) for sensor in ("ring", "100 m") for seed in range(seeds)]
    found = [
        explore((rows, columns), sensor, steps, seed)
        for sensor, seed in track(todo, "runs", quiet=as_json)
    ]
    middle = median(row["median_ms"] for row in found)
    show(
        {"rows": found},
        {"rows": f"Explorations of {rows} × {columns} cells at δ = .98"},
        f"the median step takes {middle:.2f} ms",
        as_json,
    )


@app.command()
def peers(
    limit: Annotated[float, typer.Option(help="Time limit of a peer, in seconds.")] = 120.0,
    small: Annotated[bool, typer.Option("--small", help="Small problems only.")] = False,
    as_json: Json = False,
) -> None:
    """Compare with QuantEcon, pymdptoolbox and Storm, which the extra "lab" installs."""
    from lab.bench.peer_comparison import general, refereed, unconstrained

    parts = [unconstrained((10, 20), 0.99, limit, small=True), refereed((10, 20), 0.99, 0.9, limit)]
    if not small:
        parts += [
            unconstrained((50, 100), 0.999, limit),
            general(5_000, 0.99, limit),
            general(50_000, 0.99, limit),
        ]
    rows = []
    for part in parts:
        for row in part:
            rows.append(asdict(row))
            if not as_json and sys.stderr.isatty():
                sys.stderr.write(f"{row.problem}: {row.solver} done\n")
    shown = rows if as_json else _table(rows)
    show({"rows": shown}, {"rows": "Other solvers"}, "ratio: time / our time", as_json)


@app.command()
def loops(
    steps: Steps = 1000,
    seed: Seed = 0,
    scale: Annotated[
        float, typer.Option(help="Factor on the sides of the terrain.", min=0.05, max=5.0)
    ] = 1.0,
    as_json: Json = False,
) -> None:
    """Compare decision times of our explorer and of Algorithm 1 in runs on the same terrain.

    Both see the eight cells around them and keep the level .98. Their steps alternate.
    """
    from lab.bench.loops import measure

    paper, ours = found = measure(steps, seed, scale)
    ratio = ours["median"] / paper["median"]
    show(
        {"rows": found, "ratio": ratio},
        {"rows": "ms per decision"},
        f"our median time is {ratio:.2f} times that of Algorithm 1",
        as_json,
    )


@app.command()
def correlated(steps: Steps = 500, seed: Seed = 0, as_json: Json = False) -> None:
    """Measure a step on 5,000 cells of correlated ground: an update by 9 cells, and one plan.

    With OPENBLAS_NUM_THREADS=1 the processor time is that of one thread.
    """
    from lab.bench.correlated import measure

    found = measure(steps, seed)
    middle = found[0]["median"]
    show(
        {"rows": found},
        {"rows": "ms per step"},
        f"the median step takes {middle:.1f} ms of processor time",
        as_json,
    )


@app.command()
def grid(
    size: Annotated[int, typer.Option(help="Squares along each side.", min=2)] = 40,
    steps: Steps = 300,
    delta: Annotated[float, typer.Option(help="Safety level of each plan.")] = 1.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Measure steps in a grid world: plan, act, update; and their share outside kernels."""
    from lab.bench.grid import measure

    rows = [
        measure(size, walls, delta, steps, seed)
        for walls in track((0.2, 0.4, 0.6), "worlds", quiet=as_json)
    ]
    show(
        {"rows": rows},
        {"rows": f"A step at {size} × {size}"},
        f"the median step takes at most {max(row['median_ms'] for row in rows):.2f} ms, at most "
        f"{max(row['outside_kernels'] for row in rows):.0%} of it outside kernels",
        as_json,
    )


@app.command()
def criteria(
    steps: Steps = 30,
    terrains: Annotated[int, typer.Option(help="Number of terrains.", min=1)] = 5,
    as_json: Json = False,
) -> None:
    """Compare decision times with three criteria and with one, from a warm start.

    The first criterion is to return home, on 50 × 100 terrains. The others are to return within 40
    steps, and to stay inside the middle of the map.
    """
    from lab.bench.criteria import measure

    measure(1, shape=(10, 20))  # compiles
    found = [measure(steps, seed) for seed in track(range(terrains), "terrains", quiet=as_json)]
    rows: list[dict[str, Any]] = [
        {
            "terrain": row.seed,
            "steps": row.steps,
            **_milliseconds("one", row.one),
            **_milliseconds("three", row.three),
            "ratio": row.three[0] / row.one[0],
            "binding": list(row.binding),
        }
        for row in found
    ]
    ratios = [row["ratio"] for row in rows]
    spread = {"median": median(ratios), "least": min(ratios), "greatest": max(ratios)}
    columns = {"terrain": "terrain", "one ms": "one_ms", "quartiles": "one_quartiles_ms"}
    columns |= {"three ms": "three_ms", "quartiles ": "three_quartiles_ms", "ratio": "ratio"}
    table = _table(rows, columns)
    for shown, row in zip(table, rows, strict=True):
        binding = ", ".join(f"{part:.0%}" for part in row["binding"])
        shown["home, in time, inside cost"] = binding
    show(
        {"rows": rows if as_json else table, "ratio": spread},
        {"rows": "A warm decision at 50 × 100, γ = .999"},
        f"three criteria take {spread['median']:.1f} times as long as one (median; "
        f"{spread['least']:.1f} to {spread['greatest']:.1f}); the last column is the fraction of "
        "decisions in which each criterion binds",
        as_json,
    )


@app.command()
def page(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="jumps, live, first, list, calloff; all unless given."),
    ] = None,
) -> None:
    """Measure response times of the page in a browser: jumps in time, a live run, the first load.

    This needs a Chromium on this machine.
    """
    from lab.bench.page import measure_parts

    measure_parts(parts or [])
