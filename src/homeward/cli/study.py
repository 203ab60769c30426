"""``homeward study``: compute many tasks on many processes, and write their results as a table."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from homeward.cli import compare
from homeward.cli.interrupts import STOPPED
from homeward.cli.options import Json, Scheduler, Table, Workers, find_modules_here
from homeward.cli.show import say, say_json, track

if TYPE_CHECKING:
    from homeward.studies import Study, TaskOutcome
    from homeward.studies import Table as StudyTable

app = typer.Typer(
    help="Run studies of many tasks.\n\nA study that was killed or stopped can be resumed."
    "\n\nExit codes: 0 success, 1 a task failed, 2 invalid input, 130 stopped by Ctrl-C.",
    no_args_is_help=True,
)
app.add_typer(compare.app, name="compare")


@app.command("run")
def run_study(
    definition: Annotated[
        Path, typer.Argument(metavar="FILE.toml", help="Definition of the study.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE.sqlite", help="File of the study.")],
    table: Table = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: Json = False,
) -> None:
    """Compute every cell with every seed, on many processes.

    The definition is a TOML file with: name; task, the module:name of a function that takes a cell
    and a seed and returns a flat dict; seeds, a list or a number; and either the table
    "vary" with a list for each axis, whose combinations are the cells, or the array "cells" with a
    table for each cell. The results are in --out, and as a table in --table.

    Run the same command again to resume: only unfinished and failed tasks are computed. The command
    fails if --out has another definition or was made by another version of homeward.

    Example: homeward study run levels.toml --out levels.sqlite --table levels.csv
    """
    from homeward.studies import read_study

    find_modules_here()
    study = read_study(definition)
    results, failures = _run(out, study, table, workers, scheduler, as_json=as_json)
    done = len(results.rows)
    failed: list[dict[str, Any]] = []
    for outcome in failures:
        cell, seed = study.task_at(outcome.position)
        failed.append({"cell": cell, "seed": seed, "error": outcome.error or ""})
    if as_json:
        files = {"study": study.name, "file": str(out), "table": table and str(table)}
        say_json({**files, "tasks": study.tasks, "done": done, "failed": failed})
    else:
        say(f"{study.name}: {done} of {study.tasks} tasks are finished; the file is {out}")
        if table is not None:
            say(f"table: {table}")
        for failure in failed:
            reason = failure["error"].rstrip().splitlines()[-1]
            say(f"failed: {failure['cell']} with seed {failure['seed']}: {reason}")
    raise typer.Exit(1 if failed else 0)


@app.command("table")
def write(
    file: Annotated[Path, typer.Argument(metavar="FILE.sqlite", help="File of the study.")],
    table: Annotated[
        Path, typer.Argument(metavar="FILE", help="File of the table: .csv or .parquet.")
    ],
) -> None:
    """Write a table with the result of each finished task of a study.

    Example: homeward study table levels.sqlite levels.csv
    """
    from homeward.studies import StudyFile, check_table, table_of, write_table

    check_table(table)
    with StudyFile.read(file) as study_file:
        results = table_of(study_file)
        write_table(results, table)
        say(f"{table}: {len(results.rows)} of {study_file.study.tasks} tasks")


def complete_study(
    file: Path,
    study: Study,
    table: Path | None,
    workers: int | None,
    scheduler: str | None,
    *,
    as_json: bool,
) -> list[dict[str, Any]]:
    """Run the unfinished tasks of a study, and return the results of all tasks as rows.

    Write them to the file `table` too, unless it is None. Exit with code 1 if a task failed.
    """
    results, failed = _run(file, study, table, workers, scheduler, as_json=as_json)
    if failed:
        typer.echo(f"{len(failed)} tasks failed; first error: {failed[0].error}", err=True)
        raise typer.Exit(1)
    return [dict(zip(results.columns, row, strict=True)) for row in results.rows]


def _run(
    file: Path,
    study: Study,
    table: Path | None,
    workers: int | None,
    scheduler: str | None,
    *,
    as_json: bool,
) -> tuple[StudyTable, list[TaskOutcome]]:
    """Run the unfinished tasks with a progress bar; return the results and the failed tasks.

    Write the results to the file `table`, unless it is None. After Ctrl-C, exit with code 130.
    """
    from homeward.studies import StudyFile, check_table, conduct, table_of, write_table

    if table is not None:
        check_table(table)
    with StudyFile.open(file, study) as study_file:
        before = study_file.done
        label = study.name if not before else f"{study.name}, {before} already finished"
        try:
            with closing(conduct(study_file, workers=workers, scheduler=scheduler)) as outcomes:
                for _ in track(outcomes, label, quiet=as_json, total=study.tasks - before):
                    pass
        except KeyboardInterrupt:
            sys.stderr.write(
                f"stopped: {study_file.done} of {study.tasks} tasks are finished and saved in "
                f"{file}; run the same command again to resume\n"
            )
            raise typer.Exit(STOPPED) from None
        results, failures = table_of(study_file), study_file.failures()
    if table is not None:
        write_table(results, table)
    return results, failures
