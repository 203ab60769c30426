"""``homeward runs``: recorded explorations, resumed and listed, and studies of many tasks."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli import explore
from homeward.cli.options import STOPPED, find_modules_here
from homeward.cli.show import say, say_json, show, track
from homeward.words import ENDS, why_ended

if TYPE_CHECKING:
    from homeward.kinds.promises import Promise
    from homeward.runs import Run
    from homeward.studies import Ledger, Outcome, Study

app = typer.Typer(
    help="Record explorations, resume them, and conduct studies of many tasks.\n\n"
    "Whatever is killed or stopped goes on where it was, to the same result.\n\n"
    "Exit codes: 0 all went well, 1 a run or a task failed, 2 the input was wrong, 130 stopped by "
    "Ctrl-C.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
WIDEST = 160
"""Letters of a key and its value that are shown."""

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The run's folder.")]


@app.command("list")
def listing(
    root: Annotated[
        Path, typer.Argument(metavar="DIR", help="The folder that the runs are in.")
    ] = Path("."),
    as_json: Json = False,
) -> None:
    """List the runs in a folder: what they are and how far they have come.

    A run that can't be read is listed as damaged, with the reason.
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
    steps: Annotated[int, typer.Option(help="How many of the last steps to show.", min=0)] = 5,
    as_json: Json = False,
) -> None:
    """Show a run: its configuration, how it stands, and its last steps."""
    from dataclasses import asdict, replace

    from homeward.runs import Run

    run = Run.open(directory)
    status, manifest, config = run.status, run.manifest, run.config
    promises = _promises(run)
    last: list[dict[str, Any]] = []
    taken = 0
    for record in run.records():
        taken = record.step
        last = [*last, asdict(replace(record, seeds=None))][-steps:] if steps else []
    for step in last:
        del step["seeds"]
    if as_json:
        about = manifest.model_dump(mode="json") | {"status": str(status)}
        found = {"directory": str(directory), "config": config, **about, "steps": taken}
        found["criteria"] = [promise._asdict() for promise in promises]
        say_json({**found, "last_steps": last})
        return
    say(f"{directory}: a {run.kind} run, {status}, {taken} step{'s' * (taken != 1)}")
    for key, value in config.items():
        text = f"  {key} = {value}"
        say(text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…")
    if promises:
        say(f"keeps: {'; '.join(str(promise) for promise in promises)}")
    sessions = f"{len(manifest.sessions)} session{'s' * (len(manifest.sessions) != 1)}"
    say(f"made {manifest.created}, last written {manifest.updated}, {sessions}")
    if manifest.end is not None:
        say(f"ended: {why_ended(manifest.end, manifest.steps)}")
    if manifest.error is not None:
        say(f"failed:\n{manifest.error.rstrip()}")
    if last:
        for step in last:
            bounds = step.pop("kept_bounds")
            names = [promise.name for promise in promises]
            if len(names) != len(bounds):
                names = [f"criterion {k}" for k in range(1, len(bounds) + 1)]
            step |= {name: f"{bound:.6f}" for name, bound in zip(names, bounds, strict=True)}
            del step["observation"], step["bounds"]
        show({"steps": last}, {"steps": "Last steps"}, "", as_json=False)


@app.command()
def start(
    kind: Annotated[
        str, typer.Argument(help="What kind of run: grid, rover, toytext, or module:name.")
    ],
    directory: Directory,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its configuration, in TOML.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a run and go on to its end.

    Example: homeward runs start toytext runs/cliff --config cliff.toml
    """
    import tomllib

    from homeward.errors import InvalidFileError
    from homeward.runs import Run

    find_modules_here()
    values: dict[str, Any] = {}
    if config is not None:
        try:
            values = tomllib.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else cause
            raise InvalidFileError(f"{config}: can't be read: {reason}") from cause
    _go_on(Run.create(directory, kind, values), None, other_versions=False, as_json=as_json)


@app.command()
def resume(
    directory: Directory,
    limit: Annotated[
        int | None, typer.Option(help="Steps in the place of its own limit.", min=0)
    ] = None,
    other_versions: Annotated[
        bool, typer.Option("--other-versions", help="Go on even if its way may differ now.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Go on with a run to its end, as if it had never been stopped.

    A run that ended goes on only if it met its step limit and --limit gives it
    more. The same way is promised on the same machine with the same versions of
    what it was made with; others are refused without --other-versions.
    """
    from homeward.runs import Run

    find_modules_here()
    _go_on(Run.open(directory), limit, other_versions=other_versions, as_json=as_json)


@app.command()
def study(
    definition: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to compute.")],
    out: Annotated[Path, typer.Option(metavar="FILE.sqlite", help="The study's file.")],
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a table: .csv or .parquet.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=0, help="Processes; 0 is this one.", show_default="one per core"),
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler: tcp://host:port.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compute every cell of a grid with every seed, on many processes.

    The definition is TOML: a name; the task, which is module:name of a function
    that is handed a cell and a seed and gives a flat dict; seeds, a list or how
    many; and a table named grid with a list for each axis, of which every
    combination is a cell, or an array of tables named cells.

    Give the same command again to go on: what is done is not done again, what
    failed is tried again. A file of another definition or of another version of
    homeward is refused and left as it is.

    Example: homeward runs study levels.toml --out levels.sqlite --table levels.csv
    """
    from homeward.studies import Ledger, check_table, read_study

    find_modules_here()
    if table is not None:
        check_table(table)
    defined = read_study(definition)
    with Ledger.open(out, defined) as ledger:
        carry_out(ledger, workers, scheduler, table, as_json=as_json)


@app.command("table")
def write(
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="The study's file.")],
    table: Annotated[Path, typer.Argument(metavar="FILE", help=".csv or .parquet.")],
) -> None:
    """Write what a study has found so far as a table."""
    from homeward.studies import Ledger, check_table, table_of, write_table

    check_table(table)
    with Ledger.read(file) as ledger:
        found = table_of(ledger)
        write_table(found, table)
        say(f"{table}: {len(found.rows)} of {ledger.study.tasks} tasks")


def carry_out(
    ledger: Ledger,
    workers: int | None,
    scheduler: str | None,
    table: Path | None,
    *,
    as_json: bool,
) -> None:
    """Conduct a study, write its table, say what failed, and exit: with 1 if a task did."""
    from homeward.studies import table_of, write_table

    study = ledger.study
    do_all(ledger, workers, scheduler, as_json=as_json)
    failures = ledger.failures()
    if table is not None:
        write_table(table_of(ledger), table)
    if as_json:
        say_json(
            {
                "study": study.name,
                "file": str(ledger.path),
                "table": None if table is None else str(table),
                "tasks": study.tasks,
                "done": ledger.done,
                "failed": [_failure(ledger, outcome) for outcome in failures],
            }
        )
    else:
        say(f"{study.name}: {ledger.done} of {study.tasks} tasks are done, in {ledger.path}")
        if table is not None:
            say(f"table: {table}")
        for outcome in failures:
            failure = _failure(ledger, outcome)
            reason = failure["error"].rstrip().splitlines()[-1]
            say(f"failed: {failure['cell']} with seed {failure['seed']}: {reason}")
    raise typer.Exit(1 if failures else 0)


def do_all(ledger: Ledger, workers: int | None, scheduler: str | None, *, as_json: bool) -> None:
    """Do what is left of a study, with a progress bar; Ctrl-C exits with 130 and says how to go on.

    For any command that conducts a study.
    """
    from homeward.studies import conduct

    study = ledger.study
    before = ledger.done
    label = study.name if not before else f"{study.name}, {before} done before"
    outcomes = conduct(ledger, workers=workers, scheduler=scheduler)
    try:
        with closing(outcomes) as found:
            for _ in track(found, label, quiet=as_json, total=study.tasks - before):
                pass
    except KeyboardInterrupt:
        done = ledger.done
        sys.stderr.write(
            f"stopped: {done} of {study.tasks} tasks are done and kept in {ledger.path}; "
            "give the same command again to go on\n"
        )
        raise typer.Exit(STOPPED) from None


def conducted(
    file: Path,
    study: Study,
    table: Path | None,
    workers: int | None,
    scheduler: str | None,
    *,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Do what is left of a study and return its rows; exit with 1 if runs failed."""
    from homeward.studies import Ledger, check_table, table_of, write_table

    if table is not None:
        check_table(table)
    with Ledger.open(file, study) as ledger:
        do_all(ledger, workers, scheduler, as_json=as_json)
        laid, failed = table_of(ledger), ledger.failures()
    if table is not None:
        write_table(laid, table)
    if failed:
        typer.echo(f"{len(failed)} runs failed; the first: {failed[0].error}", err=True)
        raise typer.Exit(1)
    return [dict(zip(laid.columns, row, strict=True)) for row in laid.rows]


def _go_on(run: Run, limit: int | None, *, other_versions: bool, as_json: bool) -> None:
    """Take a run to its end, say how it ended, and exit."""
    from homeward.errors import InvalidInputError, MissingExtraError
    from homeward.runs import BusyError

    try:
        if explore.is_rover(run):
            explore.take(run, limit, other_versions=other_versions, quiet=as_json)
            explore.draw(run)
        else:
            steps = run.steps(limit=limit, other_versions=other_versions)
            with closing(steps) as taken:
                for _ in track(taken, str(run.directory), quiet=as_json):
                    pass
    except KeyboardInterrupt:
        sys.stderr.write(f"stopped; to go on: homeward runs resume {run.directory}\n")
        raise typer.Exit(STOPPED) from None
    except (InvalidInputError, MissingExtraError, BusyError):
        raise
    except Exception as error:
        sys.stderr.write(
            f"failed: {type(error).__name__}: {error}; homeward runs show {run.directory} says "
            "where\n"
        )
        raise typer.Exit(1) from None
    manifest = run.manifest
    assert manifest.end is not None
    why = why_ended(manifest.end, manifest.steps)
    if as_json:
        facts = {"steps": manifest.steps, "end": manifest.end, "why": why}
        say_json({"directory": str(run.directory), **facts})
    else:
        say(f"{run.directory}: {manifest.steps} step{'s' * (manifest.steps != 1)}. {why}")


def _row(run: Run) -> dict[str, Any]:
    """Sum a run up in a row."""
    from homeward.errors import HomewardError

    try:
        status, manifest, kind = str(run.status), run.manifest, run.kind
    except HomewardError as error:
        return {
            "run": run.directory.name,
            "kind": "",
            "status": "damaged",
            "steps": 0,
            "seed": "",
            "updated": "",
            "note": str(error),
        }
    note = "" if manifest.end is None else ENDS[manifest.end]
    if manifest.error is not None:
        note = manifest.error.rstrip().splitlines()[-1]
    return {
        "run": run.directory.name,
        "kind": kind,
        "status": status,
        "steps": manifest.steps,
        "seed": manifest.seed,
        "updated": manifest.updated,
        "note": note,
    }


def _promises(run: Run) -> tuple[Promise, ...]:
    """Say what a run is to keep, where its kind says so."""
    from homeward.kinds.promises import SafeConfig
    from homeward.runs import find_kind
    from homeward.runs.config import checked

    find_modules_here()
    config = checked(find_kind(run.kind).config, run.config, str(run.directory / "config.json"))
    return config.promises() if isinstance(config, SafeConfig) else ()


def _failure(ledger: Ledger, outcome: Outcome) -> dict[str, Any]:
    """Say which task failed and how."""
    cell, seed = ledger.study.task_at(outcome.position)
    return {"cell": cell, "seed": seed, "error": outcome.error or ""}
