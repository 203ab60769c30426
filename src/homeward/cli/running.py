"""Runs from the command line: start or resume a run, draw it, and print its results."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from homeward.cli.interrupts import CTRL_C, STOPPED
from homeward.cli.progress_bar import show_steps
from homeward.cli.show import check_writable, say, say_json
from homeward.errors import HomewardError, InvalidFileError, InvalidInputError
from homeward.words import counted, levels_said, why_ended

if TYPE_CHECKING:
    from homeward.cli.settings import Settings
    from homeward.runs import Run
    from homeward.runs.config import Config
    from homeward.runs.kind import Kind

RUNS = Path("runs")  # default folder of runs
PICTURE, FILM = "map.png", "film"
SUMMARY = "summary.json"  # file with the results of a finished run, if its kind writes one
RECORD = ("config.json", "manifest.json", "steps.jsonl", "plan_ms.f32", "fields.npz", "lock")
"""Files of the record, which are not listed as outputs of a run."""

CHANGEABLE = ("limit", "film")  # keys that may change when a run is resumed
AMOUNTS = {
    "seen": "{:.0%} of the squares seen",
    "reached": "{:.0%} of all squares that can be seen safely",
    "distance_m": "{:,.0f} m driven",
    "cells_visited": "{:,} cell{s} visited",
    "tiles_visited": "{:,} tile{s} visited",
    "entropy_reduction": "{:,.0f} nats learned",
}
"""Texts for results that a kind may write into `SUMMARY`, by key."""


def run_and_report(
    settings: Settings,
    out: Path | None,
    *,
    stem: str,
    as_json: bool,
    settings_of: Callable[[Mapping[str, Any]], str] | None = None,
) -> None:
    """Start or resume the run in the folder `out`, draw it, and print its results.

    If `out` is None, the folder is a new one in `RUNS`, whose name begins with `stem`.
    `settings_of` returns a line on the configuration of a new run.
    """
    try:
        run, limit = _begin(settings, out, stem)
    except (KeyboardInterrupt, Exception) as cause:
        if not (CTRL_C.pressed or isinstance(cause, KeyboardInterrupt)):
            raise
        _stop(None, as_json=as_json)
    if settings_of is not None and not as_json and next(run.records(), None) is None:
        say(settings_of(run.config))
    finish(run, limit, film=settings.options.get("film"), as_json=as_json)


def finish(
    run: Run,
    limit: int | None,
    *,
    other_versions: bool = False,
    film: str | None = None,
    as_json: bool,
) -> None:
    """Continue a run to its end with a progress bar, draw it and print its results.

    `film` is the suffix of the film to write, without its dot; None means that of the
    configuration. After an error or Ctrl-C, print the command that resumes the run.
    """
    from homeward.runs import RunStatus

    try:
        with closing(run.steps(limit=limit, other_versions=other_versions)) as steps:
            show_steps(run, steps, limit, quiet=as_json)
        film = run.config.get("film") if film is None else film
        pictures = [PICTURE] if kind_of(run).draw is not None else []
        ended = (run.directory / "manifest.json").stat().st_mtime_ns
        for name in pictures if film is None else [*pictures, f"{FILM}.{film}"]:
            picture = run.directory / name
            if not picture.exists() or picture.stat().st_mtime_ns < ended:
                draw(run, picture)
    except (KeyboardInterrupt, Exception) as cause:
        if CTRL_C.pressed or isinstance(cause, KeyboardInterrupt):
            _stop(run, as_json=as_json)
        if not isinstance(cause, HomewardError):
            reason = f"failed: {type(cause).__name__}: {cause}"
            sys.stderr.write(f"{reason}; to try again: {resume_command(run)}\n")
            raise typer.Exit(1) from None
        if run.explorer is not None and run.status is not RunStatus.FINISHED:
            sys.stderr.write(f"the steps so far are saved; to resume: {resume_command(run)}\n")
        raise
    files = sorted(path for path in run.directory.iterdir() if path.is_file())
    outputs = [path for path in files if path.name not in RECORD and path.name[0] != "."]
    _report(run, outputs, as_json=as_json)


def _report(run: Run, outputs: list[Path], *, as_json: bool) -> None:
    """Print the results of a run and the files that it wrote."""
    from homeward.kinds.outcome import describe_bounds, describe_conflict
    from homeward.kinds.promises import SafeConfig, place_of, promise_of

    facts, config = facts_of(run), config_of(run)
    missing = facts.pop("missing", None)
    if as_json:
        say_json({**facts, "directory": str(run.directory), "outputs": [str(p) for p in outputs]})
        if missing is not None:
            sys.stderr.write(f"{missing}\n")
        return
    safe = config if isinstance(config, SafeConfig) else None
    level: float | None = getattr(config, "delta", None)
    kept = "no safety level" if level is None else f"safe at δ = {level:g}"
    promise = f"{kind_of(run).title}, {kept}" if safe is None else promise_of(safe)
    say(f"{run.directory}: {promise}")
    say(f"{counted(facts['steps'], 'step')} taken" if facts["steps"] else "no step was taken")
    say(facts["why"])
    amounts = [
        form.format(facts[name], s="s" * (facts[name] != 1))
        for name, form in AMOUNTS.items()
        if name in facts
    ]
    if "stranded" in facts and safe is not None:
        verb = "stranded: it can't return" if facts["stranded"] else "it can return"
        amounts.insert(0, f"{verb} to {place_of(safe)}")
    if amounts:
        say("; ".join(amounts))
    if "certificate" in facts:
        say(facts["certificate"])
    if safe is not None:
        for line in describe_bounds(safe, facts["criteria"]):
            say(line)
    if targets := facts.get("targets"):
        reached = sum(target["step"] is not None for target in targets)
        say(f"{reached} of {len(targets)} targets reached")
    for used in facts.get("used", ()):
        say(f"used {used['used']:,.1f} of {used['limit']:g} {used['unit']}")
    for caution in facts.get("cautions", ()):
        say(f"caution: {caution}")
    if facts.get("infeasible_steps"):
        say(f"steps in which no policy met all criteria: {facts['infeasible_steps']:,}")
    if facts.get("levels"):
        say(" ".join(levels_said(facts["levels"])))
    if facts.get("conflict"):
        say(f"at the end {describe_conflict(facts['conflict'])}")
    for path in outputs:
        say(f"  {path}")
    if missing is not None:
        say(missing)


def facts_of(run: Run) -> dict[str, Any]:
    """Return the results of a run as JSON values.

    They are from its record and, if the run is finished, from the file `SUMMARY` of its kind.
    """
    from homeward.files import read_json
    from homeward.runs import RunStatus

    manifest, status = run.manifest, run.status
    facts: dict[str, Any] = {"kind": run.kind, "status": str(status), "end": manifest.end}
    facts |= {"steps": sum(1 for _ in run.records()), "criteria": [], "why": None}
    path = run.directory / SUMMARY
    if status is RunStatus.FINISHED and path.exists():
        written = read_json(path)
        if not isinstance(written, dict) or "steps" not in written:
            raise InvalidFileError(f"{path}: is damaged: the key steps is missing")
        facts |= written
    if manifest.end is not None and facts["why"] is None:
        facts["why"] = why_ended(manifest.end, manifest.steps)
    return facts


def draw(run: Run, out: Path) -> None:
    """Write a picture of a run; if the suffix is .gif or .mp4, write a film."""
    from homeward.plots.films import completed

    is_film = out.suffix.lower() in (".gif", ".mp4")
    kind = kind_of(run)
    write, what = (kind.film, "film") if is_film else (kind.draw, "picture")
    if write is None or (is_film and run.is_mission):
        raise InvalidInputError(
            f"{run.directory}: a {run.kind} {'mission' if run.is_mission else 'run'} has no {what}"
        )
    if is_film:
        write(run, out)
    else:
        check_writable(out)
        with completed(out) as part:
            write(run, part)


def config_of(run: Run) -> Config:
    """Return the configuration of a run."""
    from homeward.runs.config import checked

    return checked(kind_of(run).config, run.config, str(run.directory / "config.json"))


def kind_of(run: Run) -> Kind:
    """Return the kind of a run."""
    from homeward.runs import find_kind

    return find_kind(run.kind)


def resume_command(run: Run) -> str:
    """Return the command that resumes a run."""
    return f"homeward runs resume {shlex.quote(str(run.directory))}"


def _begin(settings: Settings, out: Path | None, stem: str) -> tuple[Run, int | None]:
    """Return the run in the folder `out`, created if missing, and its new step limit.

    The limit is None if the run is new or keeps its limit.
    """
    from homeward.files import refusing
    from homeward.runs import Run, find_kind

    if out is None:
        return _create(settings.kind, settings.checked(), stem), None
    with refusing(out, "can't be read"):
        exists = out.is_dir() and any(out.iterdir())
    if not exists:
        return Run.create(out, settings.kind, settings.checked()), None
    run, kind = Run.open(out), find_kind(settings.kind)
    if find_kind(run.kind) is not kind:
        raise InvalidFileError(f"{out}: is a {run.kind} run, not a {kind.name} run")
    given = settings.given()
    if given.keys() - CHANGEABLE:
        _check_same(run, kind, settings)
    return run, new_limit(run, given.get("limit"))


def _create(kind: str, config: Config, stem: str) -> Run:
    """Create a run in the first free folder of `RUNS`: stem-1, stem-2, and so on."""
    from homeward.runs import Run

    for folder in (RUNS / f"{stem}-{number}" for number in count(1)):
        try:
            if not folder.exists():
                return Run.create(folder, kind, config)
        except InvalidFileError:
            if not folder.exists():  # otherwise another process created it first
                raise
    raise AssertionError("unreachable")


def _check_same(run: Run, kind: Kind, settings: Settings) -> None:
    """Raise if the recorded configuration of a run differs from the requested one.

    If given settings differ, the message names only these. If all settings that differ are computed
    when a run is created (`Kind.settle`), a file has changed since then.
    """
    from homeward.cli.settings import flag_of, text_of

    recorded, given = run.config, settings.given().keys() - CHANGEABLE
    config = settings.checked()
    plain = config.model_dump(mode="json")
    try:
        settled = config if kind.settle is None else kind.settle(config)
        requested = settled.model_dump(mode="json")
    except HomewardError:
        requested = {**recorded, **{key: plain.get(key) for key in given}}
        if all(recorded.get(key) == requested[key] for key in given):
            raise
    keys = [key for key in {**requested, **recorded} if key not in CHANGEABLE]
    differ = [key for key in keys if recorded.get(key) != requested.get(key)]
    computed = {key for key in keys if key not in given and requested.get(key) != plain.get(key)}
    named = [k for k in differ if k in given] or [k for k in differ if k not in computed]
    reasons = []
    for key in named:
        old, new = text_of(recorded.get(key)), text_of(requested.get(key))
        values = f"{old}, {'given' if key in given else 'by default'} {new}"
        reasons.append(
            f"{flag_of(settings.model, key)}: recorded {'other values' if old == new else values}"
        )
    if reasons:
        raise InvalidFileError(
            f"{run.directory}: is a run with another configuration ({'; '.join(reasons)}); name "
            f"another folder, or resume this run: {resume_command(run)}"
        )
    if differ:
        kind.set_up(config_of(run))  # names the file that has changed
        raise InvalidFileError(
            f"{run.directory}: {', '.join(differ)} changed since the run was created; name another "
            "folder for a new run"
        )


def new_limit(run: Run, limit: int | None) -> int | None:
    """Return the new step limit, or None if the run keeps its limit.

    Raise if an unfinished run has already taken more steps than `limit`.
    """
    from homeward.runs import RunStatus

    own = run.config.get("limit") if run.manifest.limit is None else run.manifest.limit
    taken = sum(1 for _ in run.records())
    if limit is None or limit == own:
        return None
    if limit >= taken:
        return limit
    reason = f"{run.directory}: has already taken {taken} steps, more than --steps {limit}"
    if run.status is not RunStatus.FINISHED:
        raise InvalidInputError(f"{reason}; to resume: {resume_command(run)}")
    sys.stderr.write(f"{reason}; nothing was changed\n")
    return None


def _stop(run: Run | None, *, as_json: bool) -> NoReturn:
    """Print the command that resumes a run after Ctrl-C, and exit with code 130."""
    if as_json:
        facts = {"status": None, "steps": 0} if run is None else facts_of(run)
        say_json({**facts, "directory": run and str(run.directory), "outputs": []})
    if run is None:
        sys.stderr.write("stopped before anything was written\n")
    else:
        done = "the run has ended, but its picture is missing" if run.manifest.end else "stopped"
        taken = sum(1 for _ in run.records())
        sys.stderr.write(f"{done}, {taken} steps; to resume: {resume_command(run)}\n")
    raise typer.Exit(STOPPED)
