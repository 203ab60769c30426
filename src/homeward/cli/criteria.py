"""``homeward paper criteria``: a small example of each criterion, with its figure."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import Json
from homeward.cli.show import check_writable, save, show


def criteria(
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder to draw the pictures in.")
    ] = Path("criteria"),
    as_json: Json = False,
) -> None:
    """Show what each criterion means: small worlds that can be solved by hand.

    The paper names what its framework also covers: return within a horizon, staying in a set,
    earning at least a given amount, several at once, a recall at a fixed step. Each has a world of
    two or three states, and a picture in which a policy is a dot: what it keeps against its value.

    Example: homeward paper criteria --out docs/criteria
    """
    from homeward.files import refusing
    from homeward.paper.criteria import picture_of, rows, stories
    from homeward.paper.figures.criteria import draw_criterion

    with refusing(out, "can't be written"):
        out.mkdir(parents=True, exist_ok=True)
    pictures = [out / f"{story.name}.png" for story in stories()]
    for picture in pictures:
        check_writable(picture)
    for story, picture in zip(stories(), pictures, strict=True):
        save(draw_criterion(picture_of(story)), picture)
    found = {"pictures": [str(picture) for picture in pictures], "rows": rows()}
    show(found, {"rows": "Kept and worth"}, f"{len(pictures)} pictures are in {out}.", as_json)
