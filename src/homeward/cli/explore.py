"""``homeward explore``: explore a terrain model with a rover."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from homeward.cli.options import Json
from homeward.cli.run import Out
from homeward.cli.running import run_and_report
from homeward.cli.settings import Settings, make_command
from homeward.errors import InvalidInputError, MissingPixelSizeError
from homeward.kinds.rover.config import SAMPLE, RoverConfig
from homeward.words import rover_settings


def explore(
    settings: Settings,
    raster: Annotated[
        str | None,
        typer.Argument(
            metavar="RASTER",
            help="A terrain model: GeoTIFF, PDS .IMG or .LBL, ISIS, ESRI ASCII, .npy ...",
            show_default="synthetic Mars",
        ),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Explore Matplotlib's sample terrain.")
    ] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="Explore without any safety level.")
    ] = False,
    naive: Annotated[
        bool,
        typer.Option(
            "--naive", help="Keep the level on the mean terrain only, which proves nothing."
        ),
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Explore terrain with a vehicle that stays able to return home, and draw the map.

    The rover measures heights from a distance and can drive slopes between two limits. It goes
    where it learns much per step, and only where it stays able to return: whenever it is recalled,
    it can return to the start with probability at least δ. The folder of the run gets path.geojson,
    way_home.geojson, terrain.tif (heights and their deviations), map.png, summary.md, and the
    record.

    Ctrl-C stops the run. To resume, run the same command with the same --out, or only with --out. A
    larger --steps extends a run that reached its limit. A place is ROW,COL (a cell of the terrain,
    counted from 0) or map:X,Y (map coordinates).

    Examples: homeward explore --steps 500

    homeward explore DTM.IMG --window 0,0,2000,1000 --delta 0.95 --start map:1200,300 --out runs/one

    homeward explore crater.tif --cell 2 --climb 15 --start 10,12 --film gif

    homeward explore DTM.IMG --keep-in area.geojson --back-within 2000 --base 10,12
    """
    if raster == "":
        raise InvalidInputError("the name of the raster is empty")
    if unsafe and naive:
        raise InvalidInputError("--unsafe and --naive exclude each other: choose one")
    if sample and raster is not None:
        raise InvalidInputError(f"{raster} and --sample exclude each other: choose one terrain")
    if sample:
        settings.options["terrain"] = SAMPLE
    elif raster is not None:
        # A relative path could equal the name of a built-in terrain; an absolute path can't.
        settings.options["terrain"] = str(Path(raster).absolute())
    if unsafe or naive:
        settings.options["explorer"] = "unsafe" if unsafe else "naive"
    stem = Path(str(settings.given().get("terrain", "mars"))).stem
    try:
        run_and_report(settings, out, stem=stem, as_json=as_json, settings_of=rover_settings)
    except MissingPixelSizeError as cause:
        raise InvalidInputError(f"{cause} with --pixel") from cause


command = make_command(explore, "rover", RoverConfig, without=("terrain", "explorer"))
