"""``homeward toytext``: explorers in worlds that nobody here wrote."""

from __future__ import annotations

from typing import Annotated

import typer

from homeward.cli.show import show, track

Delta = Annotated[
    float,
    typer.Option(help="Probability that the explorer can come home, whenever it is called off."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def toytext(
    seeds: Annotated[int, typer.Option(help="Runs of each explorer in each world.", min=1)] = 200,
    worlds: Annotated[int, typer.Option(help="Worlds drawn for the calibration.", min=1)] = 2000,
    delta: Delta = 0.95,
    seed: Annotated[
        int, typer.Option(help="Random seed of the first run; the others follow.", min=0)
    ] = 0,
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

    from homeward.paper.toytext import SETTINGS, calibrate, explore

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
