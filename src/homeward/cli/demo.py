"""``homeward demo``: a safe rover and an unsafe one on the same ground."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.show import check_writable, save, say, track


def demo(
    delta: Annotated[
        float, typer.Option(help="The safety level: how surely there is a way home.")
    ] = 0.98,
    steps: Annotated[int, typer.Option(min=1, help="How many each rover takes.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Which ground.")] = 0,
    out: Annotated[Path, typer.Option(help="The picture: .png, .pdf or .svg.")] = Path("demo.png"),
) -> None:
    """Explore synthetic Mars, safely and unsafely, and draw both side by side.

    Two rovers start in the same place, 2 km x 1 km of cratered ground around them. They climb 5°
    and descend 45°, so that what they drive into they may not get out of. Each knows the ground as
    seen from orbit, measures what lies within 100 m, and goes where there is most to learn. The
    safe one keeps a way back with probability δ wherever it goes; the unsafe one does not.

    Example: homeward demo --seed 3 --out rovers.png
    """
    from homeward.plots.terrain import draw_terrain
    from homeward.studies.mars import explore, name_of, pair_of, panel_of, story_of

    check_writable(out)
    panels = []
    for cell in track(pair_of(delta, steps), "exploring", quiet=False):
        row = {**cell, "seed": seed, **explore(cell, seed)}
        say(f"{name_of(row)}: {story_of(row)}")
        panels.append(panel_of(row))
    title = f"The same ground, the same rover: {panels[0].cells.name}"
    save(draw_terrain(panels, 2, title), out)
    say(f"picture: {out}")
