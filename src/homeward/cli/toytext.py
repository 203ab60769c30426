"""``homeward paper toytext``: explorers in worlds of Gymnasium."""

from __future__ import annotations

from typing import Annotated

import typer

from homeward.cli.options import Json, Workers
from homeward.cli.show import show, track


def toytext(
    seeds: Annotated[int, typer.Option(help="Runs of each explorer in each world.", min=1)] = 200,
    worlds: Annotated[int, typer.Option(help="Worlds drawn for the calibration.", min=1)] = 2000,
    delta: Annotated[
        float, typer.Option(help="Probability that the safe explorer can come home.")
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(help="Random seed of the first run; the others follow.", min=0)
    ] = 0,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Count losses and tiles seen in FrozenLake and CliffWalking, safe against unsafe.

    Then draw dynamics from the prior, follow one plan until its recall and its way home after
    that, and compare the fraction that comes home with δ. Exit code 1 if that is below δ.

    Example: homeward paper toytext --seeds 20 --worlds 200
    """
    from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
    from functools import partial
    from statistics import mean

    from homeward.paper.toytext import SETTINGS, calibrate, explore
    from homeward.studies.crews import cores

    rows, count = [], len(SETTINGS)
    number = cores() if workers is None else workers
    with ProcessPoolExecutor(number) if number else ThreadPoolExecutor(1) as pool:
        for setting in SETTINGS:
            for level in (delta, None):
                name = "unsafe" if level is None else f"safe at {level:g}"
                runs = range(seed, seed + seeds)
                work = pool.map(partial(explore, setting, level), runs, chunksize=4)
                label = f"{setting.title}, {name}"
                outings = list(track(work, label, quiet=as_json, total=seeds))
                row = {"world": setting.title, "explorer": name, "runs": seeds}
                row |= {
                    "lost": sum(o.died for o in outings),
                    "tiles seen (mean)": mean(o.seen for o in outings),
                    "tiles to see": int((~outings[0].tiles.deadly).sum()),
                    "steps (mean)": mean(len(o.path) - 1 for o in outings),
                }
                rows.append(row)
        starts = range(seed, seed + count)
        kept = list(pool.map(calibrate, SETTINGS, [delta] * count, [worlds] * count, starts))
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
    titles = {"runs": "Toy-text worlds as they are"}
    titles["calibration"] = f"Drawn from the prior, one plan followed to the end, δ = {delta:g}"
    verdict = "the promise holds" if holds else "the promise was not shown to hold"
    found = {"runs": rows, "calibration": calibration, "holds": holds}
    show(found, titles, verdict, as_json)
    raise typer.Exit(0 if holds else 1)
