"""``homeward explore``: a terrain model and a rover in, a safe exploration out."""

from __future__ import annotations

import json
import math
import shlex
import sys
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, cast

import typer

from homeward.cli.options import (
    STOPPED,
    Algorithm,
    BackWithin,
    BackWithinDelta,
    Budget,
    EachBase,
    Floor,
    KeepInDelta,
    Recall,
)
from homeward.cli.show import say, say_json
from homeward.errors import HomewardError
from homeward.words import ENDS, why_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from homeward.beliefs.heights import TerrainBelief
    from homeward.kinds.rover.config import RoverConfig
    from homeward.kinds.rover.world import Rover
    from homeward.planning.explorer import Step
    from homeward.runs import Run
    from homeward.terrain import Cells

RUNS = Path("runs")
"""The folder that runs are put in unless another is named."""

PICTURE, FILM = "map.png", "film"
FRAMES = 120
"""How many pictures a film has, at most."""

APART = ("limit", "film")
"""Keys in which a run may differ from what is asked for and still be the same run."""

# fmt: off
Delta = Annotated[float | None, typer.Option(
    help="Probability that the rover can come home, whenever it is called off.",
    show_default="0.98")]
Steps = Annotated[int | None, typer.Option(help="How many steps at most.", show_default="2000")]
Cell = Annotated[float | None, typer.Option(help="Side of a cell in m.", show_default="20")]
Climb = Annotated[float | None, typer.Option(
    help="The steepest slope up, in degrees.", show_default="5")]
Descend = Annotated[float | None, typer.Option(
    help="The steepest slope down, in degrees.", show_default="45")]
Range = Annotated[float | None, typer.Option(
    help="How far the sensor reaches, in m.", show_default="the whole map")]
Noise = Annotated[float | None, typer.Option(
    help="A height at distance d has the error variance NOISE·(d + OFFSET)².",
    show_default="1e-6")]
Offset = Annotated[float | None, typer.Option(help="That offset in m.", show_default="1")]
Start = Annotated[str | None, typer.Option(
    metavar="X,Y", help="Where to start: map coordinates, or cell:ROW,COLUMN.",
    show_default="near the middle, with room around")]
Home = Annotated[str | None, typer.Option(
    help="What to be able to return to: the start, or with --algorithm paper also current, the "
    "cell of each step.", show_default="start")]
Base = Annotated[list[str] | None, typer.Option(
    metavar="X,Y", help="A base to be able to return to, in the place of home: as --start. May be "
    "given several times; then any will do.")]
KeepIn = Annotated[str | None, typer.Option(
    metavar="FILE.geojson", help="Do nothing outside of these polygons, which are in map "
    "coordinates unless a crs member says otherwise.")]
Unsafe = Annotated[bool, typer.Option("--unsafe", help="Explore without any safety level.")]
Naive = Annotated[bool, typer.Option(
    "--naive", help="Keep the level on the average terrain only, which proves nothing.")]
Correct = Annotated[str | None, typer.Option(
    "--correction", help="moves (ours) or general (the paper's).", show_default="moves")]
Discount = Annotated[float | None, typer.Option(
    help="With --algorithm paper: probability that exploration is not called off after a step.",
    show_default="0.999")]
Seed = Annotated[int | None, typer.Option(help="Random seed.", show_default="0")]
Window = Annotated[str | None, typer.Option(
    help="COLUMN,ROW,WIDTH,HEIGHT in pixels or map:XMIN,YMIN,XMAX,YMAX.", show_default="all")]
Pixel = Annotated[float | None, typer.Option(
    help="Side of a pixel in m, for .npy and synthetic Mars.", show_default="1 on Mars")]
Rows = Annotated[int | None, typer.Option(
    help="Rows of pixels of synthetic Mars.", show_default="1000")]
Columns = Annotated[int | None, typer.Option(
    help="Columns of pixels of synthetic Mars.", show_default="2000")]
Blur = Annotated[float | None, typer.Option(
    help="σ in m of the filter that tells ground from roughness.", show_default="5")]
Error = Annotated[float | None, typer.Option(
    help="Variance of the terrain model's heights, in m².", show_default="0.0625")]
Truth = Annotated[str | None, typer.Option(
    help="True heights: the terrain model plus its error, or drawn from the prior.",
    show_default="model")]
TerrainSeed = Annotated[int | None, typer.Option(
    help="Which synthetic Mars.", show_default="0")]
Sample = Annotated[bool, typer.Option(
    "--sample", help="Explore the hills that Matplotlib carries as a sample.")]
Film = Annotated[str | None, typer.Option(help="A film as well: gif or mp4.")]
Out = Annotated[Path | None, typer.Option(
    metavar="DIR", help="The run's folder.", show_default="a new one in runs")]
ConfigFile = Annotated[Path | None, typer.Option(
    "--config", metavar="FILE.toml",
    help="The same settings in TOML, by the names that config.json of a run has; options win.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
# fmt: on


def explore(
    raster: Annotated[
        str | None,
        typer.Argument(
            metavar="RASTER",
            help="A terrain model: GeoTIFF, PDS .IMG or .LBL, ISIS, ESRI ASCII, .npy ...",
            show_default="synthetic Mars",
        ),
    ] = None,
    delta: Delta = None,
    steps: Steps = None,
    cell: Cell = None,
    climb: Climb = None,
    descend: Descend = None,
    sensor_range: Range = None,
    sensor_noise: Noise = None,
    sensor_offset: Offset = None,
    start: Start = None,
    home: Home = None,
    base: Base = None,
    each_base: EachBase = False,
    back_within: BackWithin = None,
    back_within_delta: BackWithinDelta = None,
    keep_in: KeepIn = None,
    keep_in_delta: KeepInDelta = None,
    recall: Recall = None,
    _budget: Budget = None,
    algorithm: Algorithm = None,
    floor: Floor = None,
    unsafe: Unsafe = False,
    naive: Naive = False,
    correction: Correct = None,
    discount: Discount = None,
    seed: Seed = None,
    window: Window = None,
    pixel: Pixel = None,
    rows: Rows = None,
    columns: Columns = None,
    blur: Blur = None,
    error: Error = None,
    truth: Truth = None,
    terrain_seed: TerrainSeed = None,
    sample: Sample = False,
    film: Film = None,
    out: Out = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Explore terrain with a rover that keeps a way home, and draw the map that comes of it.

    The rover measures heights from afar and can go slopes between two limits. It goes where there
    is most to learn per step, and only where it keeps a way home: whenever it is called off, it can
    come home to the start with probability δ. In the run's folder: path.geojson, terrain.tif
    (heights and their deviations), map.png, summary.md, and the record.

    Ctrl-C stops it. Give the same command with the same --out, or only --out, to go on; more
    --steps lengthen a run that met its limit. A start at negative coordinates: --start=-5,7.

    Examples: homeward explore --steps 500

    homeward explore DTM.IMG --window 0,0,2000,1000 --delta 0.95 --start 1200,300 --out runs/one

    homeward explore crater.tif --cell 2 --climb 15 --start cell:10,12 --film gif

    homeward explore DTM.IMG --keep-in area.geojson --back-within 2000 --base cell:10,12
    """
    given: dict[str, Any] = {
        "delta": delta,
        "limit": steps,
        "cell": cell,
        "climb": climb,
        "descend": descend,
        "sensor_range": sensor_range,
        "sensor_noise": sensor_noise,
        "sensor_offset": sensor_offset,
        "home": home,
        "each_base": each_base or None,
        "back_within": back_within,
        "back_within_delta": back_within_delta,
        "keep_in": keep_in,
        "keep_in_delta": keep_in_delta,
        "recall": recall,
        "algorithm": algorithm,
        "floor": floor,
        "correction": correction,
        "discount": discount,
        "seed": seed,
        "window": window,
        "pixel": pixel,
        "rows": rows,
        "columns": columns,
        "blur": blur,
        "error": error,
        "truth": truth,
        "terrain_seed": terrain_seed,
        "film": film,
        "terrain": _terrain(raster, sample=sample),
        "explorer": _explorer(unsafe=unsafe, naive=naive),
    }
    options = {name: value for name, value in given.items() if value is not None}
    run: Run | None = None
    try:
        run, limit, film_asked = _prepare(options, Spots(start, base or []), config, out)
        take(run, limit, quiet=as_json)
        outputs = draw(run, film_asked)
    except KeyboardInterrupt:
        _stopped(run, as_json=as_json)
    except HomewardError:
        raise
    except Exception as cause:
        if run is None:
            raise
        sys.stderr.write(f"failed: {type(cause).__name__}: {cause}; to try again: {_resume(run)}\n")
        raise typer.Exit(1) from None
    _report(run, outputs, as_json=as_json)


class Spots(NamedTuple):
    """Places that the command line names, as it names them."""

    start: str | None = None
    bases: Sequence[str] = ()

    @property
    def are_asked(self) -> bool:
        """Whether there is any."""
        return self.start is not None or bool(self.bases)


def take(
    run: Run, limit: int | None = None, *, other_versions: bool = False, quiet: bool = False
) -> None:
    """Take a rover's run to its end, with a progress bar; an error says how to go on."""
    from homeward.runs import RunStatus

    try:
        with (
            closing(run.steps(limit=limit, other_versions=other_versions)) as taken,
            _progress(run, limit, quiet=quiet) as show,
        ):
            for step in taken:
                show(step)
    except HomewardError:
        if run.explorer is not None and run.status is not RunStatus.FINISHED:
            sys.stderr.write(f"what was done is kept; to go on: {_resume(run)}\n")
        raise


def draw(run: Run, film: str | None = None) -> list[Path]:
    """Draw the map and the film of a rover's run that has ended; give all that came of it."""
    from homeward.kinds.rover.outputs import AREA, FACTS, PATH, SUMMARY, TERRAIN

    config = _config(run)
    film = config.film if film is None else film
    folder = run.directory
    if not _is_new(folder / PICTURE, run):
        _draw_map(run, config)
    names = [PATH, TERRAIN, AREA, PICTURE, SUMMARY, FACTS]
    if film is not None:
        names.append(f"{FILM}.{film}")
        if not _is_new(folder / names[-1], run):
            _draw_film(run, config, folder / names[-1])
    return [folder / name for name in names if (folder / name).exists()]


def is_rover(run: Run) -> bool:
    """Tell whether a run is one of a rover."""
    return run.kind in ("rover", "homeward.kinds.rover.kind:ROVER")


def _prepare(
    options: dict[str, Any], spots: Spots, file: Path | None, out: Path | None
) -> tuple[Run, int | None, str | None]:
    """Make the run that is asked for or find it; give a step limit and a film for it too."""
    from homeward.errors import InvalidFileError
    from homeward.runs import Run

    options = _checked_options(options)
    if out is not None and _holds_something(out):
        run = Run.open(out)
        if not is_rover(run):
            raise InvalidFileError(f"{out}: is a {run.kind} run, not one of a rover")
        limit = options.get("limit")
        asked = {name for name in options if name not in APART}
        if asked or spots.are_asked or file is not None:
            plain = {name: options[name] for name in asked if name != "keep_in"}
            _check_same(run, run.config | plain, set(plain))  # before all else that may be wrong
            config = _configure(options, spots, file)
            given = {*options, *(["start"] * (spots.start is not None))}
            given |= {"bases"} if spots.bases else set()
            _check_same(run, config.model_dump(mode="json"), None if file is not None else given)
            limit = config.limit if "limit" in options or file is not None else None
        return run, _longer(run, limit), options.get("film")
    config = _configure(options, spots, file)
    return _create(config, out), None, None


def _holds_something(folder: Path) -> bool:
    """Tell whether there is a folder that is not empty."""
    from homeward.files import refusing

    with refusing(folder, "can't be read"):
        return folder.is_dir() and any(folder.iterdir())


def _configure(options: dict[str, Any], spots: Spots, file: Path | None) -> RoverConfig:
    """Give the configuration: what the file says, and over it what the options say."""
    import tomllib

    from homeward.errors import InvalidFileError, InvalidInputError, MissingPixelSizeError
    from homeward.kinds.rover.config import MARS, RoverConfig
    from homeward.kinds.rover.kind import CELLS, cells_of, settle
    from homeward.runs.config import checked

    values: dict[str, Any] = {}
    if file is not None:
        try:
            values = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else cause
            raise InvalidFileError(f"{file}: can't be read: {reason}") from cause
        _check_fits(values, {}, f"{file}: ")
        checked(RoverConfig, values, str(file))
    values |= options
    _check_terrain(values, options, "")
    try:
        if spots.are_asked:
            plain = {name: value for name, value in values.items() if name in CELLS}
            cells = cells_of(checked(RoverConfig, plain, "the exploration"))
            if spots.start is not None:
                values["start"] = _cell_of(spots.start, cells, "the start")
            if spots.bases:
                values["bases"] = [_cell_of(base, cells, "a base") for base in spots.bases]
                options = options | {"bases": values["bases"]}
        _check_fits(values, options, "")
        return settle(checked(RoverConfig, values, "the exploration"))
    except MissingPixelSizeError as cause:
        terrain = values.get("terrain", MARS)
        raise InvalidInputError(
            f"{terrain}: has no pixel size of its own: give it in metres with --pixel"
        ) from cause


def _flag(name: str) -> str:
    """Give the option that sets a key."""
    other = {"limit": "steps", "bases": "base"}.get(name, name)
    return f"--{other.replace('_', '-')}"


def _checked_options(options: dict[str, Any]) -> dict[str, Any]:
    """Check each option by itself, so that a message names it; a sensor of endless range sees all.

    Give the options as the configuration has them.
    """
    from pydantic import ValidationError

    from homeward.errors import InvalidInputError
    from homeward.kinds.rover.config import RoverConfig

    if options.get("sensor_range") == math.inf:
        options = options | {"sensor_range": None}
    for name, value in options.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidInputError(f"{_flag(name)} is {value}, expected a finite number")
        try:
            RoverConfig.model_validate_json(json.dumps({name: value}))
        except ValidationError as cause:
            faults = [fault for fault in cause.errors(include_url=False) if fault["loc"]]
            if not faults:
                continue  # it does not go by itself; `_check_fits` says what it goes with
            reason = faults[0]["msg"]
            said = f"{_flag(name)} is {value}: {reason[:1].lower()}{reason[1:]}"
            raise InvalidInputError(said) from cause
    return options


def _check_fits(values: dict[str, Any], options: dict[str, Any], place: str) -> None:
    """Refuse settings that do not go together, by the names that they were given by."""
    from homeward.errors import InvalidInputError
    from homeward.kinds.promises import misfit, unused
    from homeward.kinds.rover.config import RoverConfig

    _check_terrain(values, options, place)
    unsafe = values.get("explorer") == "unsafe"

    def said(name: str) -> str:
        is_from_file = bool(place) or (name in values and name not in options)
        return name if is_from_file else _flag(name)

    plain = {name: about.default for name, about in RoverConfig.model_fields.items()}
    given = {n: v for n, v in values.items() if n in options or v != plain.get(n)}
    fault = misfit(values, unsafe, said) or unused(given, unsafe, said)
    if fault is not None:
        raise InvalidInputError(f"{place}{fault}")


def _check_terrain(values: dict[str, Any], options: dict[str, Any], place: str) -> None:
    """Refuse settings that are not of the terrain."""
    from homeward.errors import InvalidInputError
    from homeward.kinds.rover.config import MARS, SAMPLE

    terrain = values.get("terrain", MARS)
    if terrain == "":
        raise InvalidInputError(f"{place}the terrain has an empty name")
    if terrain == MARS:
        return
    mars = ("rows", "columns", "terrain_seed")
    alien = [name for name in mars if values.get(name) or name in options]
    alien += ["pixel"] * (terrain == SAMPLE and values.get("pixel") is not None)
    for name in alien:
        said = _flag(name) if name in options else name
        if name == "pixel":
            raise InvalidInputError(f"{place}{said}: the sample terrain has pixels of its own")
        raise InvalidInputError(f"{place}{said} is of synthetic Mars alone, not of {terrain}")


def _cell_of(spot: str, cells: Cells, what: str) -> tuple[int, int]:
    """Read a place in one of its two forms; `what` is there."""
    from homeward.errors import InvalidInputError

    form = "X,Y in map coordinates or cell:ROW,COLUMN"
    body = spot.strip()
    parts = body.removeprefix("cell:").split(",")
    try:
        if body.startswith("cell:"):
            row, column = (int(part) for part in parts)
        else:
            x, y = (float(part) for part in parts)
    except ValueError:
        raise InvalidInputError(f"{what} is {spot!r}, expected {form}") from None
    if not body.startswith("cell:"):
        try:
            return cells.cell_of(x, y)
        except InvalidInputError as cause:
            raise InvalidInputError(f"{what}: {cause}") from cause
    rows, columns = cells.shape
    if not (0 <= row < rows and 0 <= column < columns):
        raise InvalidInputError(
            f"{what}, row {row} and column {column}, is off the map of {rows} rows and "
            f"{columns} columns"
        )
    return row, column


def _create(config: RoverConfig, out: Path | None) -> Run:
    """Make a run, in a new folder unless one is named."""
    from homeward.errors import InvalidFileError
    from homeward.runs import Run

    if out is not None:
        return Run.create(out, "rover", config)
    stem = Path(config.terrain).stem or "terrain"
    number = 1
    while True:
        folder = RUNS / f"{stem}-{number}"
        try:
            if not folder.exists():
                return Run.create(folder, "rover", config)
        except InvalidFileError:
            if not folder.exists():  # else somebody was quicker
                raise
        number += 1


def _check_same(run: Run, asked: dict[str, Any], given: set[str] | None) -> None:
    """Refuse a run of another configuration than the one that is asked for.

    `given` are the keys of the options; None counts every key as given, as by a file. Where one of
    them differs, only those are named. The digest of the terrain follows from the other settings
    and from the raster, as a start does that is not given: these are named where nothing else is.
    """
    from homeward.errors import InvalidFileError

    was = run.config
    names = [*asked, *(name for name in was if name not in asked)]
    given = set(names) if given is None else given
    differ = [name for name in names if name not in APART and was.get(name) != asked.get(name)]
    follow = {"terrain_sha256"} if "start" in given else {"terrain_sha256", "start"}
    told = [name for name in differ if name in given and name not in follow]
    told = told or [name for name in differ if name not in follow]
    if not told and "terrain_sha256" in differ:
        raise InvalidFileError(
            f"{asked['terrain']}: the terrain is not what it was when the run in {run.directory} "
            "was made; bring the old one back, or name another folder"
        )
    if differ:
        said = "; ".join(_difference(name, was, asked, given) for name in told or differ)
        raise InvalidFileError(
            f"{run.directory}: there is a run of another configuration already ({said}); name "
            f"another folder, or go on with it: {_resume(run)}"
        )


def _difference(name: str, was: dict[str, Any], asked: dict[str, Any], given: set[str]) -> str:
    """Return in what a run differs from what is asked for, by the option."""
    flag = name if name in ("terrain", "explorer") else _flag(name)
    if name == "keep_in":
        was, asked = ({name: "an area"} if c.get(name) else {} for c in (was, asked))
        if was and asked:
            return f"{flag}: recorded another area"
    recorded, wanted = ("none" if c.get(name) is None else _option(c[name]) for c in (was, asked))
    return f"{flag}: recorded {recorded}, {'given' if name in given else 'by default'} {wanted}"


def _option(value: Any) -> str:
    """Write a value as an option takes it; bases have a cell each."""
    if isinstance(value, list) and value and isinstance(value[0], list):
        return " ".join(_option(cell) for cell in value)
    return f"cell:{value[0]},{value[1]}" if isinstance(value, list) else str(value)


def _longer(run: Run, limit: int | None) -> int | None:
    """Give a limit if it is another than the run has; one that it has passed changes nothing."""
    from homeward.errors import InvalidInputError
    from homeward.runs import RunStatus

    manifest = run.manifest
    own = run.config.get("limit") if manifest.limit is None else manifest.limit
    if limit is None or limit == own:
        return None
    taken = _taken(run)
    if limit >= taken:
        return limit
    said = f"{run.directory}: has {taken} steps already, more than the {limit} of --steps"
    if run.status is not RunStatus.FINISHED:
        raise InvalidInputError(f"{said}; to go on: {_resume(run)}")
    sys.stderr.write(f"{said}; nothing was changed\n")
    return None


def _taken(run: Run) -> int:
    """Count the steps that are recorded."""
    return sum(1 for _ in run.records())


def _draw_map(run: Run, config: RoverConfig) -> None:
    """Draw what is known in the end and the path."""
    from homeward.cli.show import save
    from homeward.errors import InvalidFileError
    from homeward.kinds.rover.figure import TerrainPanel, draw_terrain
    from homeward.kinds.rover.kind import area_of, cells_of
    from homeward.kinds.rover.outputs import path_of, read_facts
    from homeward.runs.run import FIELDS

    facts, known = read_facts(run.directory), run.fields()
    for name in ("height", "deviation"):
        if name not in known:
            raise InvalidFileError(f"{run.directory / FIELDS}: is damaged: there is no {name}")
    cells = cells_of(config)
    start = facts["start"][0] * cells.shape[1] + facts["start"][1]
    panel = TerrainPanel(
        cells,
        known["height"],
        known["deviation"],
        path_of(run.records(), start),
        f"{cells.name}: {_name(config)}",
        f"{facts['entropy_reduction']:,.0f} nats learned in {facts['steps']:,} steps and "
        f"{facts['distance_m'] / 1000:,.1f} km; {ENDS[facts['end']]}",
        facts["stranded"],
        start if config.home == "start" else None,
        area_of(config) or (),
        [row * cells.shape[1] + column for row, column in config.bases],
    )
    save(draw_terrain([panel]), run.directory / PICTURE)


def _draw_film(run: Run, config: RoverConfig, out: Path) -> None:
    """Draw the run as a film, by taking its steps again."""
    import numpy as np

    from homeward.kinds.rover.figure import Frame, write_terrain_film
    from homeward.kinds.rover.kind import area_of, cells_of, make
    from homeward.kinds.rover.outputs import path_of, read_facts

    facts = read_facts(run.directory)
    cells, setup = cells_of(config), make(config)
    world = cast("Rover", setup.world)
    shown = set(np.linspace(0, facts["steps"], FRAMES).round().astype(int).tolist())

    def frames() -> Iterator[Frame]:
        belief: Any = setup.belief.update(world.look())
        for step, record in enumerate([None, *run.records()]):
            if record is not None:
                belief = belief.update(world.act(record.action))
            if step in shown:
                deviation = np.sqrt(belief.variance).reshape(cells.shape)
                yield Frame(step, belief.height.reshape(cells.shape), deviation)

    path = path_of(run.records(), world.start)
    write_terrain_film(
        cells,
        frames(),
        path,
        out,
        title=_name(config),
        stranded=facts["stranded"],
        area=area_of(config) or (),
        bases=[row * cells.shape[1] + column for row, column in config.bases],
    )


@contextmanager
def _progress(run: Run, limit: int | None, *, quiet: bool) -> Iterator[Callable[[Step], None]]:
    """Give what shows a step, if somebody looks: from the first on, so that messages come before.

    Seen are the cells whose height is known to within 10 cm.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from homeward.beliefs.heights import entropy_reduction
    from homeward.kinds.rover.kind import prior_of
    from homeward.kinds.rover.outputs import is_seen

    total = limit if limit is not None else run.manifest.limit
    total = run.config["limit"] if total is None else total
    prior = prior_of(_config(run))
    bar = Progress(
        TextColumn("step {task.completed:,.0f} of {task.total:,.0f}"),
        BarColumn(None),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=total)
    shown = 0.0
    started = False

    def show(step: Step) -> None:
        nonlocal shown, started
        if time.monotonic() - shown < 0.25:
            return
        shown = time.monotonic()
        if not started:
            started = True
            bar.update(task, completed=step.number - 1)
            bar.reset(task, total=total, completed=step.number - 1)
            bar.start()
        belief = cast("TerrainBelief", cast("Any", run.explorer).belief)
        bounds = [criterion.kept_bound for criterion in step.plan.criteria]
        words = [
            _kept(bounds),
            f"{is_seen(belief).mean():.0%} seen to 10 cm",
            f"{entropy_reduction(prior, belief):,.0f} nats",
        ]
        bar.update(task, completed=step.number, description=" · ".join(words))

    try:
        yield show
    finally:
        bar.stop()


def _kept(bounds: list[float]) -> str:
    """Say what is proven of a plan."""
    if not bounds:
        return "no safety level"
    return f"{'home' if len(bounds) == 1 else 'all kept'} ≥ {min(bounds):.4f}"


def _report(run: Run, outputs: list[Path], *, as_json: bool) -> None:
    """Say how it went and where that is written down."""
    from homeward.kinds.promises import bounds_said, conflict_said, place_of, promise_of
    from homeward.kinds.rover.outputs import read_facts

    facts: dict[str, Any] = {"criteria": [], "infeasible_steps": 0, "conflict": None}
    facts |= {"why": None, **read_facts(run.directory)}
    missing = facts.pop("missing")
    if as_json:
        told = {**facts, "directory": str(run.directory), "outputs": [str(p) for p in outputs]}
        say_json(told)
        if missing is not None:
            sys.stderr.write(f"{missing}\n")
        return
    config = _config(run)
    place = place_of(config)
    cells = f"{facts['cells_visited']:,} cell{'s' * (facts['cells_visited'] != 1)}"
    fate = f"stranded: no way back to {place}" if facts["stranded"] else "it can come home"
    say(f"{run.directory}: {_name(config)}: {promise_of(config)}")
    steps = facts["steps"]
    if steps == 0:
        say("no step was taken")
    else:
        say(f"{steps:,} step{'s' * (steps != 1)} in {facts['seconds']:,.1f} s")
    say(facts["why"] or why_ended(facts["end"], facts["steps"]))
    say(
        f"{fate}; {facts['distance_m']:,.0f} m driven, {cells} visited, "
        f"{facts['entropy_reduction']:,.0f} nats learned"
    )
    for line in bounds_said(config, facts["criteria"]):
        say(line)
    if facts["infeasible_steps"]:
        say(f"steps in which no policy kept all of it: {facts['infeasible_steps']:,}")
    if facts["conflict"]:
        say(f"at the end {conflict_said(facts['conflict'])}")
    for path in outputs:
        say(f"  {path}")
    if missing is not None:
        say(missing)


def _stopped(run: Run | None, *, as_json: bool) -> NoReturn:
    """Say how to go on after Ctrl-C, and exit."""
    if as_json:
        directory = None if run is None else str(run.directory)
        say_json({**_facts_so_far(run), "directory": directory, "outputs": []})
    if run is None:
        sys.stderr.write("stopped before anything was written\n")
        raise typer.Exit(STOPPED)
    done = "the run has ended, but its map is not drawn" if run.manifest.end else "stopped"
    sys.stderr.write(f"{done}, {_taken(run)} steps; to go on: {_resume(run)}\n")
    raise typer.Exit(STOPPED)


def _facts_so_far(run: Run | None) -> dict[str, Any]:
    """Give all that is known of a run that was stopped, and None for what is not known."""
    from homeward.kinds.rover.outputs import FACTS, KEYS, facts_of, read_facts
    from homeward.runs import RunStatus

    facts: dict[str, Any] = dict.fromkeys(KEYS)
    if run is None:
        return facts
    explorer, manifest = run.explorer, run.manifest
    if run.status is RunStatus.FINISHED and (run.directory / FACTS).exists():
        found = read_facts(run.directory)
        return {name: found.get(name) for name in KEYS}
    if explorer is not None:
        return facts_of(
            _config(run),
            cast("TerrainBelief", explorer.belief),
            cast("Rover", explorer.world),
            run.records,
            manifest,
        )
    # Stopped while the recorded steps were taken again.
    facts |= {"status": str(run.status), "end": manifest.end, "steps": _taken(run)}
    return facts | {"start": run.config["start"]}


def _config(run: Run) -> RoverConfig:
    """Give a run's configuration."""
    from homeward.kinds.rover.config import RoverConfig
    from homeward.runs.config import checked

    return checked(RoverConfig, run.config, str(run.directory / "config.json"))


def _is_new(picture: Path, run: Run) -> bool:
    """Tell whether a picture was drawn after the run had ended."""
    ended = (run.directory / "manifest.json").stat().st_mtime_ns
    return picture.exists() and picture.stat().st_mtime_ns >= ended


def _resume(run: Run) -> str:
    return f"homeward runs resume {shlex.quote(str(run.directory))}"


def _name(config: RoverConfig) -> str:
    """Say who explores."""
    if config.explorer == "unsafe":
        return "unsafe"
    home = "" if config.of_the_run() else ", Algorithm 1"
    more = f", back within {config.back_within} steps" if config.back_within is not None else ""
    more += ", kept in" if config.keep_in is not None else ""
    return f"{config.explorer} at δ = {config.delta:g}{home}{more}"


def _terrain(raster: str | None, *, sample: bool) -> str | None:
    """Give the terrain that the command line names, if any."""
    from homeward.errors import InvalidInputError

    if raster == "":
        raise InvalidInputError("the raster has an empty name")
    if not sample:
        # A file may be called as a terrain that needs none; the path of it is not.
        return None if raster is None else str(Path(raster).absolute())
    if raster is not None:
        raise InvalidInputError(f"{raster} and --sample: choose one terrain")
    return "sample"


def _explorer(*, unsafe: bool, naive: bool) -> str | None:
    """Give the explorer that the command line names, if any."""
    from homeward.errors import InvalidInputError

    if unsafe and naive:
        raise InvalidInputError("--unsafe and --naive: choose one")
    return "unsafe" if unsafe else "naive" if naive else None
