"""``homeward demo``: a safe rover and an unsafe one on the same ground."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import Figure, SafeDelta, TerrainSeed
from homeward.cli.show import check_writable, save, say, track


def demo(
    delta: SafeDelta = 0.98,
    steps: Annotated[int, typer.Option(min=1, help="Maximum steps per rover.")] = 1500,
    seed: TerrainSeed = 0,
    out: Figure = Path("demo.png"),
) -> None:
    """Explore synthetic Mars, safely and unsafely, and draw both side by side.

    Two rovers start in the same place on 2 km x 1 km of cratered terrain. They can climb 5° and
    descend 45°, so they can enter places that they can't leave. Each rover has a map from orbit,
    measures the cells around it, and goes where it learns much per step. Whenever the safe rover is
    recalled, it can return to the start with probability at least δ, over the whole run. The unsafe
    rover keeps no safety level.

    Example: homeward demo --seed 3 --out rovers.png
    """
    from homeward.kinds.rover.figure import draw_terrain
    from homeward.paper.mars import explore, pair_of, panel_of, story_of

    check_writable(out)
    panels = []
    for cell in track(pair_of(delta, steps), "exploring", quiet=False):
        row = {**cell, "seed": seed, **explore(cell, seed)}
        level = "" if cell["delta"] is None else f" at {cell['delta']:.15g}".replace(" 0.", " .")
        name = f"{cell['explorer']}{level}"
        say(f"{name}: {story_of(row)}")
        panels.append(replace(panel_of(row), title=name.capitalize()))
    title = f"A safe and an unsafe rover on the same terrain: {panels[0].cells.name}"
    save(draw_terrain(panels, 2, title), out)
    say(f"picture: {out}")
