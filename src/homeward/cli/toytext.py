"""``homeward toytext`` and ``homeward demo``: explorers in worlds that nobody here wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.show import check_writable, save, say, show, track

Delta = Annotated[float, typer.Option(help="The safety level: how surely there is a way home.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def demo(
    delta: Delta = 0.95,
    seed: Annotated[int, typer.Option(help="Which slips happen.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("demo.png"),
) -> None:
    """Explore a cliff and two frozen lakes, safely and unsafely, and draw both side by side.

    The explorer knows the map but not what its actions do. The safe one keeps a way back to its
    start with probability δ; the unsafe one only looks for what is new.
    """
    from homeward.plots.tiles import Panel, draw_paths
    from homeward.studies.toytext import SETTINGS, explore

    check_writable(out)
    panels = []
    shown = [s for s in SETTINGS if s.title != "slippery lake, believed firm"]
    for setting in track(shown, "exploring", quiet=False):
        for level in (delta, None):
            outing = explore(setting, level, seed)
            name = "unsafe" if level is None else f"safe at {level:g}"
            fate = "lost" if outing.died else outing.end
            note = f"{outing.seen} tiles in {len(outing.path) - 1} steps: {fate}"
            say(f"{setting.title}, {name}: {note}")
            title = f"{setting.title[0].upper()}{setting.title[1:]} · {name}"
            panels.append(Panel(outing.tiles, outing.path, title, note, outing.died))
    save(draw_paths(panels, 2, "The map is known, what an action does is not"), out)
    say(f"picture: {out}")


def toytext(
    seeds: Annotated[int, typer.Option(help="Runs of each explorer in each world.", min=1)] = 200,
    worlds: Annotated[int, typer.Option(help="Worlds drawn for the calibration.", min=1)] = 2000,
    delta: Delta = 0.95,
    seed: Annotated[int, typer.Option(help="Where the seeds start from.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(help="Processes to use.", min=1)] = 2,
    as_json: Json = False,
) -> None:
    """Count who is lost and what is seen in FrozenLake and CliffWalking, safe against unsafe.

    Then draw dynamics from the prior, follow one plan until its recall and its way home after
    that, and compare the fraction that comes home with δ. Exits with 1 if that falls below.
    """
    from concurrent.futures import ProcessPoolExecutor
    from functools import partial
    from statistics import mean

    from homeward.studies.toytext import SETTINGS, calibrate, explore

    rows = []
    with ProcessPoolExecutor(jobs) as pool:
        for setting in SETTINGS:
            for level in (delta, None):
                name = "unsafe" if level is None else f"safe at {level:g}"
                work = pool.map(
                    partial(explore, setting, level), range(seed, seed + seeds), chunksize=4
                )
                label = f"{setting.title}, {name}"
                outings = list(track(work, label, quiet=as_json, total=seeds))
                rows.append(
                    {
                        "world": setting.title,
                        "explorer": name,
                        "runs": seeds,
                        "lost": sum(o.died for o in outings),
                        "tiles seen (mean)": mean(o.seen for o in outings),
                        "tiles to see": int((~outings[0].tiles.deadly).sum()),
                        "steps (mean)": mean(len(o.path) - 1 for o in outings),
                    }
                )
        count = len(SETTINGS)
        kept = list(
            pool.map(
                calibrate, SETTINGS, [delta] * count, [worlds] * count, range(seed, seed + count)
            )
        )
    calibration = [
        {
            "world": c.setting,
            "worlds": c.worlds,
            "came home": c.fraction,
            "99% at least": c.low,
            "promised": c.bound,
            "leaves the start": c.leaves,
        }
        for c in kept
    ]
    holds = all(c.low >= delta for c in kept)
    show(
        {"runs": rows, "calibration": calibration, "holds": holds},
        {
            "runs": "Toy-text worlds as they are",
            "calibration": f"Drawn from the prior, one plan followed to the end, δ = {delta:g}",
        },
        "the promise holds" if holds else "the promise was not shown to hold",
        as_json,
    )
    raise typer.Exit(0 if holds else 1)
