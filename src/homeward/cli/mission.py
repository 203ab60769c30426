"""``homeward mission``: steer a real vehicle by reports of its measurements."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import Json, find_modules_here, output_option
from homeward.cli.run import KindGroup
from homeward.cli.show import say, say_json
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError
from homeward.words import counted, promise_left, report_taken, way_home

if TYPE_CHECKING:
    from homeward.cli.settings import Settings
    from homeward.missions import Mission

WAYS, POINTS = ("way_home.geojson", "way_home.gpx", "way_home.kml"), "points.csv"

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the mission.")]

app = typer.Typer(
    no_args_is_help=True,
    help="Steer a real vehicle: report its measurements, and get the next move and the way home."
    "\n\nNothing is simulated. A mission is recorded like a run, so days may pass between two "
    "commands. homeward serve shows a mission, and homeward certify checks it."
    "\n\nExit codes: 0 success, 2 a report or another input is refused (nothing is recorded).",
)


def start_command(name: str) -> Any:
    """Return the command that starts missions of the kind `name`."""
    from homeward.cli.settings import make_command
    from homeward.runs.kind import find_kind

    kind = find_kind(name)
    vehicle = kind.vehicle_class()

    def start(settings: Settings, directory: Directory, as_json: Json = False) -> None:
        from homeward.missions import Mission

        with answering(as_json=as_json):
            status = Mission.start(directory, name, settings.checked()).status()
        if as_json:
            say_json({"directory": str(directory), **status})
            return
        say(f"{directory}: a {name} mission that starts at {_place(status['start'])}")
        say(f"Report a first look from there: homeward mission observe {directory} FILE")

    about = inspect.cleandoc(kind.config.__doc__ or f"A {kind.name} mission.")
    summary = (
        f"{about}\n\n"
        "The options are those of homeward run, except those of simulated worlds.\n\n"
        f"Example: homeward mission start {name} missions/first"
        + "".join(f" --{key} FILE" for key in vehicle.needed_keys)
    )
    why = "applies only to simulated worlds; in a mission the vehicle reports what happens"
    return make_command(
        start, name, kind.config, summary=summary, without=vehicle.unused_keys, why_without=why
    )


class MissionGroup(KindGroup):
    """A group of commands that start missions: one per kind that has missions."""

    make = staticmethod(start_command)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the kinds that have missions."""
        from homeward.runs.kind import find_kind, kind_names

        return [name for name in kind_names() if find_kind(name).vehicle is not None]


starting = typer.Typer(
    cls=MissionGroup,
    callback=lambda: None,  # makes it a group, although it has no fixed subcommand
    no_args_is_help=True,
    help="Start a mission of a kind in a new folder.\n\n"
    "Example: homeward mission start rover missions/valley --terrain DTM.tif --cell 5 --climb 15",
)

app.add_typer(starting, name="start")


@app.command()
def observe(
    directory: Directory,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="Reports: .jsonl, .json, or - for JSON lines on standard input. Measurements of "
            "one report, for a rover: .csv, or a GeoTIFF patch with heights and errors.",
        ),
    ] = None,
    position: Annotated[
        str | None, typer.Option(metavar="ROW,COL or map:X,Y", help="Where the vehicle is now.")
    ] = None,
    tried: Annotated[
        str | None,
        typer.Option(metavar="MOVE", help="Move that the vehicle tried, such as NE."),
    ] = None,
    moved: Annotated[
        bool,
        typer.Option("--moved", help="The vehicle came there by other means than a move."),
    ] = False,
    used: Annotated[
        list[float] | None,
        typer.Option(help="With --moved: the amount used of each limit (--distance, --energy)."),
    ] = None,
    sure: Annotated[
        bool, typer.Option("--sure", help="Accept heights that are improbable under the belief.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option("--id", help="Id; a second report with this id is ignored."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--time", metavar="ISO", help="Time, with a time zone."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Record what the vehicle reports: its position, its move and its measurements.

    A report without a move is a look: it adds measurements and costs no risk. The first report is a
    look from the start. If the position is where the advised move leads, the move worked. To report
    a move that failed, or another move than the advised one, use --tried. A position that the move
    can't lead to is refused. If the vehicle came there by other means, use --moved; the answer then
    tells which probability of coming home is still proven.

    Examples: homeward mission observe missions/valley look.csv

    homeward mission observe missions/valley scan.csv --position 14,7 --tried NE --id sol-12

    homeward mission observe missions/valley --position map:1200,340 --moved
    """
    given: dict[str, Any] = {"position": position, "tried": tried, "used": used, "id": name}
    given = {key: v for key, v in {**given, "time": at}.items() if v is not None and v != []}
    given |= {key: True for key, is_set in (("moved", moved), ("sure", sure)) if is_set}
    with answering(as_json=as_json):
        mission = _open(directory)
        if file is None and not given:
            raise InvalidInputError("nothing to report: give a file, or options such as --position")
        if given and file is not None and (str(file) == "-" or file.suffix.lower() == ".jsonl"):
            raise InvalidInputError(
                f"{file}: has several reports, so --{next(iter(given))} can't be given"
            )
        if file is None:
            answers = [mission.observe(given)]
        elif str(file) == "-":
            answers = [mission.observe(report) for report in _lines()]
        else:
            answers = mission.observe_file(file, **given)
    if as_json:
        say_json({"reports": answers})
        return
    for answer in answers:
        say(report_taken(answer))


@app.command("next")
def next_move(directory: Directory, as_json: Json = False) -> None:
    """Print the next move with its evidence, the way home, and the risk that is left to spend.

    The answer stays the same until the next report. Nothing is written.

    Example: homeward mission next missions/valley
    """
    with answering(as_json=as_json):
        answer = _open(directory).next()
    if as_json:
        say_json(answer)
        return
    if answer["move"] is not None:
        to = "" if answer["to"] is None else f", to {_place(answer['to'])}"
        if answer["line"]:
            to += " (x = {:.10g}, y = {:.10g})".format(*answer["line"][-1])
        say(f"Next move: {answer['move']}{to}")
    say(answer["explanation"])
    _say_ways(answer)


@app.command()
def recall(
    directory: Directory,
    out: Annotated[
        list[Path] | None,
        output_option(
            "File of the way home: .geojson, .gpx or .kml.",
            f"{', '.join(WAYS[:-1])} and {WAYS[-1]} in the folder of the mission",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the way home from where the vehicle is, and write it as GeoJSON, GPX and KML.

    The mission may go on afterwards: the moves of the way home may always be taken and reported.

    Example: homeward mission recall missions/valley --out home.gpx
    """
    from homeward.files import replace_file

    with answering(as_json=as_json):
        answer = _open(directory).recall()
        texts = {f".{form}": answer.pop(form) for form in ("geojson", "gpx", "kml")}
        if texts[".geojson"] is not None:
            texts[".geojson"] = json.dumps(texts[".geojson"], ensure_ascii=False) + "\n"
        files = out or [directory / n for n in WAYS if texts[Path(n).suffix] is not None]
        for path in files:
            if path.suffix.lower() not in texts:
                raise InvalidFileError(f"{path}: a way home can be written as {' or '.join(texts)}")
            text = texts[path.suffix.lower()]
            if text is None:
                raise InvalidFileError(f"{path}: {answer['why_no_degrees']}")
            replace_file(path, text.encode())
    if as_json:
        say_json({**answer, "outputs": [str(path) for path in files]})
        return
    say(f"The vehicle is at {_place(answer['position'])}.")
    _say_ways(answer)
    for path in files:
        say(f"  {path}")
    if answer["why_no_degrees"] is not None:
        say(f"There is no GPX and no KML: {answer['why_no_degrees']}.")


@app.command()
def points(
    directory: Directory,
    out: Annotated[
        Path | None,
        output_option(
            "File of the table: .csv or .parquet.", f"{POINTS} in the folder of the mission"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the point of each cell at which its height is measured: row, column, x and y.

    With --ground driven, this is the point where the vehicle stands in the cell. With --ground
    paper, it is the centre of the cell.

    Example: homeward mission points missions/valley
    """
    from homeward.studies import Table, write_table

    file = out or directory / POINTS
    with answering(as_json=as_json):
        rows = _open(directory).points()
        if not rows:
            raise InvalidInputError(f"{directory}: this kind has no map coordinates")
        write_table(Table(tuple(rows[0]), tuple(tuple(row.values()) for row in rows)), file)
    if as_json:
        say_json({"points": len(rows), "outputs": [str(file)]})
    else:
        say(f"{file}: {counted(len(rows), 'point')}")


@app.command()
def status(directory: Directory, as_json: Json = False) -> None:
    """Print the vehicle's position, the number of reports, and what the mission still promises.

    Example: homeward mission status missions/valley
    """
    with answering(as_json=as_json):
        answer = _open(directory).status()
    if as_json:
        say_json({"directory": str(directory), **answer})
        return
    reports = answer["steps"] + answer["has_first_look"]
    say(f"{directory}: a {answer['kind']} mission with {counted(reports, 'report')}")
    last = f"last report {answer['updated']}" if reports else f"started {answer['created']}"
    say(f"The vehicle is at {_place(answer['position'])}; {last}.")
    if answer["promise"] is not None:
        say(promise_left(answer["promise"]))


@contextmanager
def answering(*, as_json: bool) -> Iterator[None]:
    """In a `with` block, print a `HomewardError` as JSON and exit with code 2, if `as_json`."""
    try:
        yield
    except HomewardError as error:
        if not as_json:
            raise
        from homeward.runs import BusyError

        code = "busy" if isinstance(error, BusyError) else getattr(error, "code", None)
        file = "file" if isinstance(error, InvalidFileError) else "invalid"
        say_json({"error": str(error), "code": str(code or file)})
        raise typer.Exit(2) from None


def _open(directory: Path) -> Mission:
    """Return the mission in a folder; its kind may be a module of the current folder."""
    from homeward.missions import Mission

    find_modules_here()
    return Mission.open(directory)


def _lines() -> Iterator[Any]:
    """Yield the reports on standard input, one per line; raise if there is none."""
    from homeward.missions.reports import parsed

    empty = True
    for number, line in enumerate(sys.stdin.buffer, start=1):
        if line.strip():
            empty = False
            yield parsed(line, f"line {number}")
    if empty:
        raise InvalidInputError("standard input: has no report")


def _say_ways(answer: dict[str, Any]) -> None:
    """Print the ways home of an answer, and what the mission still promises."""
    for way in answer["ways_home"]:
        say(way_home(way, " or ".join(_place(home) for home in way["homes"])))
    say(promise_left(answer["promise"]))


def _place(place: Any) -> str:
    """Return a position as text: its name, or its row and column."""
    return place if isinstance(place, str) else "row {}, column {}".format(*place)
