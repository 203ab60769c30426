"""``homeward grid``: one explorer in one grid world, watched, recorded and drawn."""

from __future__ import annotations

import math
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli.options import (
    Algorithm,
    BackWithin,
    BackWithinDelta,
    Budget,
    EachBase,
    Floor,
    KeepInDelta,
    Recall,
)
from homeward.cli.show import check_writable, save, say, say_json
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.words import ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.kinds.grid.config import GridConfig
    from homeward.kinds.grid.world import HeightGridWorld
    from homeward.planning.explorer import End

LARGEST = 60
"""Squares across beyond which a map is not watched in a terminal."""


def grid(
    size: Annotated[
        int | None, typer.Option(min=2, help="Squares along each side.", show_default="10")
    ] = None,
    walls: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="The mean fraction of walls.", show_default="0.2"),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Which world.", show_default="0")] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map",
            metavar="FILE",
            help="A map as text instead: 1 to 5 are heights, # a wall, a to e the start on 1 to 5.",
        ),
    ] = None,
    explorer: Annotated[
        str, typer.Option(help="safe, uncover (adapted R-max), rmax or near-bayesian.")
    ] = "safe",
    delta: Annotated[
        float | None,
        typer.Option(
            help="Probability that the explorer can come home, whenever it is called off.",
            show_default="1",
        ),
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            help="moves (ours), general (the paper's) or naive (none).", show_default="moves"
        ),
    ] = None,
    algorithm: Algorithm = None,
    floor: Floor = None,
    home: Annotated[
        str | None,
        typer.Option(
            help="Where the way back leads: start, or with --algorithm paper also current, set "
            "anew at each step.",
            show_default="start",
        ),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROW,COLUMN",
            help="A base to be able to return to, in the place of home. May be given several "
            "times; then any will do.",
        ),
    ] = None,
    each_base: EachBase = False,
    back_within: BackWithin = None,
    back_within_delta: BackWithinDelta = None,
    keep_in: Annotated[
        str | None,
        typer.Option(
            metavar="ROW:ROW,COLUMN:COLUMN",
            help="Do nothing outside of these rows and columns; the first and the last belong.",
        ),
    ] = None,
    keep_in_delta: KeepInDelta = None,
    recall: Recall = None,
    _budget: Budget = None,
    stay: Annotated[bool, typer.Option(help="Whether the explorer may stay where it is.")] = True,
    discount: Annotated[
        float | None,
        typer.Option(
            help="With --algorithm paper: γ, the probability of another step.", show_default="0.99"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help="Steps at most.", show_default="20 per square")
    ] = None,
    out: Annotated[Path, typer.Option(help="The picture: .png, .pdf or .svg.")] = Path("grid.png"),
    film: Annotated[Path | None, typer.Option(help="A film as well: .gif or .mp4.")] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Record the run in this folder; it can be resumed if it is killed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explore one grid world of heights from its middle, and draw what was seen.

    Every square has a height from 1 to 5 that is unknown until it or a neighbour is entered. A move
    works if it climbs by one at most; any drop works, and may have no way back. The safe explorer
    can come home with probability δ whenever it is called off; the others only look for what is
    new.

    Examples: homeward grid --size 20 --walls 0.4 --seed 3 --film walk.gif

    homeward grid --map valley.txt --explorer uncover --json

    homeward grid --seed 3 --delta 0.9 --keep-in 2:9,0:6 --back-within 8 --base 5,5
    """
    from homeward.kinds.grid.config import GridConfig
    from homeward.kinds.grid.figure import Panel, draw_panels, write_film
    from homeward.kinds.grid.kind import stranded_in
    from homeward.kinds.promises import (
        bounds_said,
        conflict_said,
        misfit,
        place_of,
        promise_of,
        unused,
    )
    from homeward.plots.films import check_film
    from homeward.runs.config import checked

    check_writable(out)
    if film is not None:
        check_film(film)
    across = 10 if size is None else size
    options: dict[str, Any] = {
        "seed": seed,
        "size": size,
        "walls": walls,
        "start": (across // 2) * across + across // 2 if map_file is None else None,
        "map": None if map_file is None else _read(map_file),
        "explorer": explorer,
        "delta": delta,
        "correction": correction,
        "algorithm": algorithm,
        "home": home,
        "stay": stay,
        "discount": discount,
        "limit": limit,
        "bases": [_numbers(word, "--base", "ROW,COLUMN", ",") for word in base or []],
        "each_base": each_base,
        "back_within": back_within,
        "back_within_delta": back_within_delta,
        "keep_in": None if keep_in is None else _window(keep_in),
        "keep_in_delta": keep_in_delta,
        "recall": recall,
        "floor": floor,
    }
    values = {name: value for name, value in options.items() if value is not None}
    unsafe = explorer != "safe"
    fault = misfit(values, unsafe, _flag) or unused(values, unsafe, _flag)
    if fault is not None:
        raise InvalidInputError(fault)
    config = checked(GridConfig, values, "the grid world")
    try:
        with _screen(quiet=as_json) as screen:
            outing = _walk(config, run, screen)
    except KeyboardInterrupt:
        kept = "" if run is None else f"; to go on: homeward runs resume {run}"
        typer.echo(f"stopped{kept}", err=True)
        raise typer.Exit(130) from None
    world, path = outing.world, outing.path
    name = explorer if explorer != "safe" else f"safe at δ = {config.delta:g}"
    steps = f"{len(path) - 1} step{'s' * (len(path) != 2)}"
    note = f"{world.seen.mean():.0%} seen in {steps}: {ENDS[outing.end]}"
    stranded = stranded_in(config, world)
    known = world.seen | world.grid.walls
    panel = Panel(world.grid, known, path, name, note, outing.refused, stranded)
    save(draw_panels([panel], 1), out)
    if film is not None:
        write_film(world.grid, path, film, title=name)
    reached = float(world.seen[world.grid.safely_seen & ~world.grid.walls].mean())
    if as_json:
        say_json(
            {
                "shape": list(world.grid.shape),
                "explorer": explorer,
                "delta": config.told_level(),
                "seed": config.seed,
                "steps": len(path) - 1,
                "seen": float(world.seen.mean()),
                "reached": reached,
                "stranded": stranded,
                "refused": outing.refused,
                "end": outing.end,
                "criteria": outing.criteria,
                "conflict": outing.conflict,
                "why": outing.why,
                "path": path,
                "picture": str(out),
                "film": None if film is None else str(film),
                "run": None if run is None else str(run),
            }
        )
        return
    say(f"{name}: {promise_of(config)}")
    taken = "no step was taken" if len(path) == 1 else f"{world.seen.mean():.0%} seen in {steps}"
    say(f"{taken}{f'; there is no way back to {place_of(config)}' if stranded else ''}")
    say(outing.why)
    for line in bounds_said(config, outing.criteria):
        say(line)
    if outing.conflict:
        say(f"at the end {conflict_said(outing.conflict)}")
    say(f"of what can be seen without losing the way back, {reached:.0%} was seen")
    places = [("picture", out), ("film", film), ("run", run)]
    say(", ".join(f"{what}: {place}" for what, place in places if place is not None))


@dataclass(frozen=True, slots=True)
class Outing:
    """A walk through a world, from its start to why it ended."""

    world: HeightGridWorld
    path: list[int]
    end: End
    refused: tuple[int, int] | None  # the last move that was held to be unsafe
    criteria: list[dict[str, Any]]  # each with its name, its level if it has one, lowest bound
    conflict: list[str] | None  # what could not be kept together, if that ended it
    why: str  # why it ended, and what would allow more


def _walk(config: GridConfig, record: Path | None, screen: Callable[[str], None]) -> Outing:
    """Explore, in a run on disk if there is to be one, and show every step."""
    import numpy as np

    from homeward.kinds.grid.kind import GRID, make, settle
    from homeward.kinds.grid.world import write
    from homeward.kinds.promises import bounds_told, conflict_in
    from homeward.planning.explorer import End
    from homeward.planning.plan import Plan, Verdict
    from homeward.runs import Run

    setup = make(settle(config))
    lowest = [math.inf] * len(setup.planner.criteria)
    world: Any = setup.world
    path, refused = [world.state], None
    explorer = None
    if record is None:
        explorer = setup.explorer()
        steps = explorer.explore(setup.limit)
    else:
        run = Run.create(record, GRID.name, config)
        steps = run.steps()
    small = max(world.grid.shape) <= LARGEST
    for step in steps:
        if explorer is None:
            world.act(step.plan.action)  # the recorded explorer walks in a world of its own
        for evidence in step.plan.evidence:
            there = int(world.moves.dest[step.plan.state, evidence.action])
            if evidence.verdict is Verdict.UNSAFE and there != step.plan.state:
                refused = (step.plan.state, there)
        path.append(step.state)
        lowest = [min(low, c.kept_bound) for low, c in zip(lowest, step.plan.criteria, strict=True)]
        if small:
            known = np.where(world.seen | world.grid.walls, world.grid.heights.ravel(), 0)
            screen(write(known.reshape(world.grid.shape), step.state) + f"\nstep {step.number}")
        else:
            screen(f"step {step.number}: {world.seen.mean():.0%} seen")
    last = run.explorer if explorer is None else explorer
    assert last is not None
    assert last.end is not None
    conflict = None
    if last.end is End.INFEASIBLE and config.of_the_run():
        conflict = [str(promise) for promise in config.promises()]
    elif last.end is End.INFEASIBLE and isinstance(last.plan, Plan):
        conflict = conflict_in(config, last.plan)
    criteria = bounds_told(config, lowest)
    return Outing(world, path, last.end, refused, criteria, conflict, last.why())


@contextmanager
def _screen(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Give a way to show a text that the next one takes the place of, if somebody looks."""
    if quiet or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    with Live(console=console, transient=True, refresh_per_second=12) as live:
        yield lambda text: live.update(Text.from_ansi(text))


def _flag(name: str) -> str:
    """Give the option that sets a key."""
    return "--base" if name == "bases" else f"--{name.replace('_', '-')}"


def _numbers(text: str, option: str, form: str, mark: str) -> list[int]:
    """Read two whole numbers with a mark between them."""
    try:
        one, other = (int(part) for part in text.split(mark))
    except ValueError:
        raise InvalidInputError(f"{option} is {text!r}, expected {form}") from None
    if min(one, other) < 0:
        raise InvalidInputError(f"{option} is {text!r}, expected {form} from 0 on")
    return [one, other]


def _window(text: str) -> list[list[int]]:
    """Read the first and the last row, and the first and the last column."""
    form = "ROW:ROW,COLUMN:COLUMN"
    parts = text.split(",")
    if len(parts) != 2:
        raise InvalidInputError(f"--keep-in is {text!r}, expected {form}")
    return [_numbers(part, "--keep-in", form, ":") for part in parts]


def _read(file: Path) -> str:
    """Read a map, which is checked here so that a message names the file."""
    from homeward.kinds.grid.maps import HeightMap

    try:
        text = file.read_text(encoding="utf-8")
        HeightMap.from_text(text)
    except (OSError, UnicodeDecodeError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else cause
        raise InvalidFileError(f"{file}: can't be read: {reason}") from cause
    except InvalidFileError as cause:
        raise InvalidFileError(f"{file}: {cause}") from cause
    return text
