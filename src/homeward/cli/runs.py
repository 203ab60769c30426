"""``homeward runs``: recorded runs, listed, shown, resumed, drawn and exported."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli import running
from homeward.cli.options import Json, find_modules_here
from homeward.cli.show import say, say_json, show
from homeward.words import ENDS, why_ended

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from homeward.kinds.promises import Promise
    from homeward.runs import Run

app = typer.Typer(
    help="List, show, resume, draw and export recorded runs.\n\n"
    "A run that was killed or stopped resumes to the same result.\n\n"
    "Exit codes: 0 all went well, 1 a run failed, 2 the input was wrong, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
)

MAX_LINE_LETTERS = 160
"""Maximum number of characters shown of a key and its value."""

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The run's folder.")]


@app.command("list")
def listing(
    root: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that the runs are in.")
    ] = running.RUNS,
    as_json: Json = False,
) -> None:
    """List the runs in a folder: their kinds, how far they are, and why they ended.

    A run that can't be read is listed as damaged, with the reason.

    Example: homeward runs list runs
    """
    from homeward.runs import list_runs

    rows = [_row(run) for run in list_runs(root)]
    if as_json or rows:
        count = f"{len(rows)} run{'s' * (len(rows) != 1)}"
        show({"runs": rows}, {"runs": f"Runs in {root}"}, count, as_json)
    else:
        say(f"There are no runs in {root}.")


@app.command("show")
def show_run(
    directory: Directory,
    last: Annotated[int, typer.Option(help="Number of last steps to show.", min=0)] = 5,
    as_json: Json = False,
) -> None:
    """Show a run: its configuration, what it keeps, how far it is, and its last steps.

    Example: homeward runs show runs/first --last 10
    """
    from homeward.runs import Run

    run = Run.open(directory)
    status, manifest, config = run.status, run.manifest, run.config
    promises = _promises(run)
    records = list(run.records())
    steps = [asdict(record) for record in records[-last:]] if last else []
    for step in steps:
        del step["seeds"]
    if as_json:
        about = manifest.model_dump(mode="json") | {"status": str(status), "steps": len(records)}
        criteria = [promise._asdict() for promise in promises]
        found = {"directory": str(directory), "config": config, **about, "criteria": criteria}
        say_json({**found, "last_steps": steps})
        return
    taken = f"{len(records)} step{'s' * (len(records) != 1)}"
    say(f"{directory}: a {run.kind} run, {status}, {taken}")
    for key, value in config.items():
        text = f"  {key} = {value}"
        say(text if len(text) <= MAX_LINE_LETTERS else f"{text[: MAX_LINE_LETTERS - 1]}…")
    if promises:
        say(f"keeps: {'; '.join(str(promise) for promise in promises)}")
    sessions = f"{len(manifest.sessions)} session{'s' * (len(manifest.sessions) != 1)}"
    say(f"made {manifest.created}, last written {manifest.updated}, {sessions}")
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
    steps: Annotated[
        int | None,
        typer.Option(help="Maximum number of steps, instead of the run's own.", min=0),
    ] = None,
    other_versions: Annotated[
        bool,
        typer.Option("--other-versions", help="Resume although the rest may differ."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Resume a run, as if it had never been stopped, and draw it.

    A finished run resumes only if it reached its step limit and --steps allows more. The same path
    is promised with the same machine and library versions; other versions are refused without
    --other-versions.

    Example: homeward runs resume runs/first --steps 4000
    """
    from homeward.runs import Run

    find_modules_here()
    run = Run.open(directory)
    limit = running.new_limit(run, steps)
    running.finish(run, limit, other_versions=other_versions, as_json=as_json)


@app.command()
def draw(
    directory: Directory,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The picture: .png, .pdf or .svg; or a film: .gif or .mp4.",
            show_default=f"{running.PICTURE} in the run's folder",
        ),
    ] = None,
) -> None:
    """Draw a run up to its last step: a picture, or a film.

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
        Path, typer.Option(metavar="FILE", help="The table: .csv, .parquet or .json.")
    ] = Path("steps.csv"),
) -> None:
    """Write the steps of a run as a table: states, actions, values and the bounds that were kept.

    Example: homeward runs export runs/first --out first.csv
    """
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
    say(f"{out}: {len(rows)} step{'s' * (len(rows) != 1)}")


def _row(run: Run) -> dict[str, Any]:
    """Return the row of a run in the list."""
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
    """Return the promises of a run, if its kind states any."""
    from homeward.kinds.promises import SafeConfig

    find_modules_here()
    config = running.config_of(run)
    return config.promises() if isinstance(config, SafeConfig) else ()


def _step_row(step: dict[str, Any], promises: tuple[Promise, ...]) -> dict[str, Any]:
    """Return a recorded step as text."""
    row = {name: step[name] for name in ("step", "state", "action", "next_state", "status")}
    row |= {name: f"{bound:.6f}" for name, bound in _named(promises, step["kept_bounds"])}
    if step["holding"] is None:
        return row | {"value": step["value"], "upper": step["upper"]}
    if "worth" not in step["holding"]:
        return row | {"pursues": "nothing is pursued"}
    gain, steps, _ = map(float, step["holding"]["worth"])
    many = f"{steps:.3g} step{'s' * (steps != 1.0)}"
    return row | {"pursues": f"expects a gain of {gain:.3g} within {many}"}


def _named(promises: tuple[Promise, ...], bounds: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Return bounds with the names of their criteria, or numbers if the kind has no names."""
    if len(promises) == len(bounds):
        return zip((promise.name for promise in promises), bounds, strict=True)
    return ((f"criterion {k}", bound) for k, bound in enumerate(bounds, start=1))
