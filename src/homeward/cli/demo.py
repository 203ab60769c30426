"""``homeward demo``: a safe rover and an unsafe one on the same ground."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.show import check_writable, save, say, track


def demo(
    delta: Annotated[
        float, typer.Option(help="Probability of coming home, for the safe rover.")
    ] = 0.98,
    steps: Annotated[int, typer.Option(min=1, help="Maximum steps per rover.")] = 1500,
    seed: Annotated[int, typer.Option(min=0, help="Which ground.")] = 0,
    out: Annotated[Path, typer.Option(help="The picture: .png, .pdf or .svg.")] = Path("demo.png"),
) -> None:
    """Explore synthetic Mars, safely and unsafely, and draw both side by side.

    Two rovers start in the same place, 2 km x 1 km of cratered ground around them. They climb 5°
    and descend 45°, so they may drive into a place that they cannot leave. Each knows the ground as
    seen from orbit, measures the cells around it, and goes where it learns most per step. Whenever
    the safe one is called off, it comes back to the start with probability δ or more, over the
    whole run; the unsafe one promises nothing.

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
    title = f"The same ground, the same rover: {panels[0].cells.name}"
    save(draw_terrain(panels, 2, title), out)
    say(f"picture: {out}")
