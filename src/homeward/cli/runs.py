"""``homeward runs``: list, show, resume, draw and export recorded runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli import running
from homeward.cli.options import Json, RunsFolder, find_modules_here, output_option
from homeward.cli.show import check_writable, say, say_json, show
from homeward.errors import InvalidFileError, InvalidInputError
from homeward.words import ENDS, counted, floored, levels_said, why_ended

if TYPE_CHECKING:
    from homeward.kinds.promises import Promise
    from homeward.runs import Run

app = typer.Typer(
    help="List, show, resume, draw and export recorded runs.\n\n"
    "A run that was killed or stopped can be resumed, with the same result.\n\n"
    "Exit codes: 0 success, 1 a run failed, 2 invalid input, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
)

MAX_LINE_LETTERS = 160  # maximum number of characters shown of a key and its value

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the run.")]


@app.command("list")
def listing(
    root: RunsFolder = running.RUNS,
    as_json: Json = False,
) -> None:
    """List the runs in a folder with kind, status, number of steps, and why they ended.

    A run that can't be read has the status damaged, with the reason.

    Example: homeward runs list runs
    """
    from homeward.runs import list_runs

    rows = [_row(run) for run in list_runs(root)]
    if as_json or rows:
        show({"runs": rows}, {"runs": f"Runs in {root}"}, counted(len(rows), "run"), as_json)
    else:
        say(f"There are no runs in {root}.")


@app.command("show")
def show_run(
    directory: Directory,
    last: Annotated[int, typer.Option(help="Number of last steps to show.", min=0)] = 5,
    as_json: Json = False,
) -> None:
    """Show a run: its configuration, criteria, status and last steps.

    Example: homeward runs show runs/first --last 10
    """
    from homeward.runs import Run

    run = Run.open(directory)
    status, manifest, config = run.status, run.manifest, run.config
    promises = _promises(run)
    records = run.all_records()
    steps = [asdict(record) for record in records[-last:]] if last else []
    for step in steps:
        del step["seeds"]
    if as_json:
        about = manifest.model_dump(mode="json") | {"status": str(status), "steps": len(records)}
        criteria = [promise._asdict() for promise in promises]
        facts = {"directory": str(directory), "config": config, **about, "criteria": criteria}
        say_json({**facts, "last_steps": steps})
        return
    say(f"{directory}: a {run.kind} run, {status}, {counted(len(records), 'step')}")
    for key, value in config.items():
        text = f"  {key} = {value}"
        say(text if len(text) <= MAX_LINE_LETTERS else f"{text[: MAX_LINE_LETTERS - 1]}…")
    if promises:
        say(f"criteria: {'; '.join(str(promise) for promise in promises)}")
    sessions = counted(len(manifest.sessions), "session")
    say(f"created {manifest.created}, last written {manifest.updated}, {sessions}")
    if manifest.end is not None:
        say(f"ended: {why_ended(manifest.end, manifest.steps)}")
    if manifest.error is not None:
        say(f"failed:\n{manifest.error.rstrip()}")
    if steps:
        rows = [_step_row(step, promises) for step in steps]
        show({"steps": rows}, {"steps": "Last steps"}, "", as_json=False)


@app.command()
def resume(
    directory: Directory,
    steps: Annotated[int | None, typer.Option(help="New maximum number of steps.", min=0)] = None,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Resume even if versions of packages changed.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Resume a run as if it had never been stopped, and draw it.

    A finished run can be resumed only if it reached its step limit and --steps allows more. The
    path is the same as without interruption if the machine and the versions of packages are the
    same. With other versions the command fails, unless --other-versions is given.

    Example: homeward runs resume runs/first --steps 4000
    """
    from homeward.runs import Run

    find_modules_here()
    run = Run.open(directory)
    limit = running.new_limit(run, steps)
    running.finish(run, limit, other_versions=other_versions, as_json=as_json)


@app.command()
def levels(directory: Directory, as_json: Json = False) -> None:
    """Try which safety levels would have given the moves of a finished run.

    The run is repeated with other levels, and without one, until a move differs. Levels between are
    halved, so not all are tried. After a short run this is done anyway, as far as time allows.

    Example: homeward runs levels runs/first
    """
    from homeward.runs import Run, RunStatus
    from homeward.runs.levels import tried_levels

    find_modules_here()
    run = Run.open(directory)
    if run.is_mission or run.status is not RunStatus.FINISHED:
        raise InvalidInputError(f"{directory}: only a finished run can be tried at other levels")
    kind, config = run.load()
    actions, end = [record.action for record in run.records()], run.manifest.end
    tried = [each._asdict() for each in tried_levels(kind, config, actions, end, None)]
    if as_json:
        say_json({"directory": str(directory), "steps": len(actions), "levels": tried})
        return
    lines = levels_said(tried) or ["This run has no level that could be changed alone."]
    say(f"{directory}: {' '.join(lines)}")


@app.command()
def draw(
    directory: Directory,
    out: Annotated[
        Path | None,
        output_option(
            "File of the picture: .png, .pdf or .svg; or of a film: .gif or .mp4.",
            f"{running.PICTURE} in the folder of the run",
        ),
    ] = None,
) -> None:
    """Draw a run up to its last step, as a picture or as a film.

    Example: homeward runs draw runs/first --out first.pdf
    """
    from homeward.runs import Run

    find_modules_here()
    file = directory / running.PICTURE if out is None else out
    running.draw(Run.open(directory), file)
    say(f"picture: {file}")


@app.command()
def export(
    directory: Directory,
    out: Annotated[
        Path | None,
        output_option(
            "File of the table: .csv, .parquet or .json; of a page that plays the run: .html; of a "
            "way home: .geojson, .gpx or .kml.",
            "steps.csv, or way_home.geojson",
        ),
    ] = None,
    way_home: Annotated[
        str | None,
        typer.Option(
            metavar="STEP|all",
            help="Write the way home after this step instead of the table, or after every step.",
        ),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(metavar="DIR", help="With .html: another run to play beside the run."),
    ] = None,
) -> None:
    """Write the steps of a run as a table of states, actions, values and bounds.

    With a file .html, write a page that plays the run in any browser, without a server or network.

    With --way-home, write the way home from the state after a step, with its proven probability. It
    is the way that the explorer knew at that step.

    Examples: homeward runs export runs/first --out first.csv

    homeward runs export runs/first --way-home 120 --out back.kml

    homeward runs export runs/demo-safe --beside runs/demo-unsafe --out demo.html
    """
    is_page = out is not None and out.suffix.lower() == ".html"
    if beside and (way_home is not None or not is_page):
        raise InvalidInputError("--beside applies only to a file .html")
    if way_home is not None:
        _export_ways(directory, way_home, Path("way_home.geojson") if out is None else out)
        return
    if out is not None and is_page:
        _export_page(out, directory, *(beside or ()))
        return
    out = Path("steps.csv") if out is None else out
    from homeward.files import replace_json
    from homeward.runs import Run
    from homeward.studies.table import Table, check_table, write_table

    is_json = out.suffix.lower() == ".json"
    if not is_json:
        check_table(out)
    run = Run.open(directory)
    plain = ("step", "state", "action", "next_state", "status", "value", "upper")
    promises = _promises(run)
    rows = []
    for record in run.records():
        row: dict[str, Any] = {name: getattr(record, name) for name in plain}
        for what, bounds in (("plan", record.bounds), ("kept", record.kept_bounds)):
            row |= {f"{name}: {what}": bound for name, bound in _named(promises, bounds)}
        rows.append(row)
    if is_json:
        replace_json(out, {"directory": str(directory), "kind": run.kind, "steps": rows})
    else:
        columns = tuple(rows[0]) if rows else plain
        write_table(Table(columns, tuple(tuple(row.values()) for row in rows)), out)
    say(f"{out}: {counted(len(rows), 'step')}")


def _export_page(out: Path, *directories: Path) -> None:
    """Write an HTML page that plays the runs of some folders."""
    from homeward.web.player import write_html

    find_modules_here()
    check_writable(out, (".html",), "a page")
    write_html(out, *directories)
    say(f"{out}: plays {' and '.join(path.name for path in directories)} in any browser")


def _export_ways(directory: Path, step: str, out: Path) -> None:
    """Write the way home after a step, or after every step if `step` is "all"."""
    from homeward.runs import Run

    find_modules_here()
    run = Run.open(directory)
    write = running.kind_of(run).write_ways
    if write is None:
        raise InvalidInputError(f"{directory}: the kind {run.kind} can't export ways home")
    if step != "all" and not step.isdecimal():
        raise InvalidInputError(f"--way-home is {step!r}, expected the number of a step, or all")
    check_writable(out, (".geojson", ".gpx", ".kml"), "a way home")
    count = write(run, None if step == "all" else int(step), out)
    say(f"{out}: {counted(count, 'way')} home")


def _row(run: Run) -> dict[str, Any]:
    """Return the row of a run in the printed list of runs."""
    from homeward.errors import HomewardError

    empty = {"kind": "", "status": "damaged", "steps": 0, "seed": "", "updated": "", "note": ""}
    row = {"run": run.directory.name, **empty}
    try:
        manifest = run.manifest
        row |= {"kind": run.kind, "status": str(run.status), "steps": manifest.steps}
    except HomewardError as error:
        return row | {"note": str(error)}
    note = "" if manifest.end is None else ENDS[manifest.end]
    if manifest.error is not None:
        note = manifest.error.rstrip().splitlines()[-1]
    return row | {"seed": manifest.seed, "updated": manifest.updated, "note": note}


def _promises(run: Run) -> tuple[Promise, ...]:
    """Return the criteria that the configuration of a run asks for; empty if it has none."""
    from homeward.kinds.promises import SafeConfig

    find_modules_here()
    config = running.config_of(run)
    return config.promises() if isinstance(config, SafeConfig) else ()


def _step_row(step: dict[str, Any], promises: tuple[Promise, ...]) -> dict[str, Any]:
    """Return a recorded step, as JSON values, as a row of the printed table."""
    row = {name: step[name] for name in ("step", "state", "action", "next_state", "status")}
    for name, bound in _named(promises, step["kept_bounds"]):
        if not (math.isfinite(bound) and (bound <= 1.0 + 1e-9 or not promises)):
            raise InvalidFileError(f"step {step['step']}: the bound of “{name}” is {bound!r}")
        row[name] = floored(bound)
    if step["holding"] is None:
        return row | {"value": step["value"], "upper": step["upper"]}
    if "worth" not in step["holding"]:
        return row | {"pursues": "no destination"}
    try:
        gain, steps, _ = map(float, step["holding"]["worth"])
    except (TypeError, ValueError, OverflowError) as cause:
        raise InvalidFileError(f"step {step['step']} has no valid proposal: {cause}") from cause
    many = f"{steps:.3g} step{'s' * (steps != 1.0)}"
    return row | {"pursues": f"a gain of {gain:.3g} in {many}"}


def _named(promises: tuple[Promise, ...], bounds: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Return the name and the bound of each criterion; criteria without names are numbered."""
    if len(promises) == len(bounds):
        return zip((promise.name for promise in promises), bounds, strict=True)
    return ((f"criterion {k}", bound) for k, bound in enumerate(bounds, start=1))
