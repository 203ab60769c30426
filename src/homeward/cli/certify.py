"""``homeward certify``: check what a plan, or a step of a run, claims."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from homeward.cli.options import STOPPED, Json, Workers, find_modules_here
from homeward.cli.show import say, say_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.certificates import Certificate, StoredPlan
    from homeward.runs.verification import RecordedPlan

What = Annotated[
    Path, typer.Argument(metavar="PLAN_OR_RUN", help="A saved plan, or a run's folder.")
]
PARTS = {"plan": "the plan", "action": "its action's part"}


def certify(
    what: What,
    step: Annotated[
        int | None,
        typer.Option(
            min=1, help="For a run: the step to check.", show_default="the last that has one"
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of worlds to sample from the belief.", show_default="10000"
        ),
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(help="Joint confidence level of all intervals.", show_default="0.99"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="all that is possible, or one of exact, sampling, arithmetic.",
            show_default="all",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.", show_default="0")] = None,
    workers: Workers = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.npz", help="Also write the plan of a run's step.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every bound that a plan claims, without trusting the planner.

    exact enumerates the worlds of a finite belief. sampling draws worlds from any belief, follows
    the plan out, recalls it at a random time, follows its way home, and counts. arithmetic
    recomputes the plan's numbers without the planner's code.

    Of a run of the paper's algorithm, the plan of a step is made again from the record, and must
    say what the log says. Of any other run the level is the whole run's: its budget is audited
    without the planner (does each step hold a way home, and was enough spent?), and every step is
    planned again.

    Exit codes: 0 nothing is refuted, 1 a bound is refuted, 2 the input was wrong.

    Examples: homeward certify plan.npz --episodes 50000 --confidence 0.999

    homeward certify runs/valley --step 12 --out plan.npz
    """
    from homeward.certificates import certificate, load_plan, save_stored
    from homeward.compiling import announce
    from homeward.errors import InvalidInputError
    from homeward.runs import Run
    from homeward.runs.verification import compare, plan_of_step
    from homeward.studies.crews import cores

    announce()
    find_modules_here()
    recorded: RecordedPlan | None = None
    if what.is_dir():
        recorded = plan_of_step(Run.open(what), step)
        title = f"{what}, step {recorded.record.step}"
        if recorded.stored is None:
            for name, value in (
                ("--episodes", episodes),
                ("--confidence", confidence),
                ("--method", method),
                ("--seed", seed),
            ):
                if value is not None:
                    raise InvalidInputError(
                        f"{what}: {name} is for plans of the paper's algorithm; this run is "
                        "audited and planned again"
                    )
            _tell_run(recorded, what, out, as_json=as_json)
        stored: StoredPlan = recorded.stored
    else:
        if step is not None or out is not None:
            raise InvalidInputError(f"{what}: --step and --out are for a run's folder")
        stored, title = load_plan(what), str(what)
    if out is not None:
        save_stored(stored, out)
    episodes = 10_000 if episodes is None else episodes
    method = "all" if method is None else method
    count = len(stored.parts) * len(stored.plan.criteria)
    sampled = count > 0 and method in ("all", "sampling")
    try:
        with _bar("playing episodes", episodes, quiet=as_json or not sampled) as progress:
            found = certificate.certify(
                stored,
                method=method,  # type: ignore[arg-type]
                episodes=episodes,
                confidence=0.99 if confidence is None else confidence,
                seed=0 if seed is None else seed,
                jobs=cores() if workers is None else max(1, workers),
                progress=progress,
            )
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing is certified\n")
        raise typer.Exit(STOPPED) from None
    if recorded is not None and found.verdicts:
        found = compare(found, recorded)
    if as_json:
        where = {} if recorded is None else {"step": recorded.record.step}
        saved = {} if out is None else {"saved": str(out)}
        say_json({"plan": str(what), **where, **saved, **found.as_dict()})
    else:
        _tell(found, title)
        if out is not None:
            say(f"plan: {out}")
    raise typer.Exit(1 if found.refuted else 0)


def _tell_run(recorded: RecordedPlan, what: Path, out: Path | None, *, as_json: bool) -> NoReturn:
    """Print the verdict on a run with a level for the whole run, and exit."""
    from homeward.errors import InvalidInputError
    from homeward.planning.plan import floored

    if out is not None:
        raise InvalidInputError(f"{what}: --out is for runs of the paper's algorithm")
    run = recorded.run
    assert run is not None
    if as_json:
        say_json(
            {
                "plan": str(what),
                "step": recorded.record.step,
                "run": run.as_dict(),
                "homes": [home.as_dict() for home in recorded.homes],
                "refuted": recorded.refuted,
                "reasons": list(recorded.reasons),
                "notes": list(recorded.notes),
            }
        )
    else:
        claimed = f"the whole run says that it keeps {floored(run.kept)}, asked for {run.level:g}"
        say(f"{what}: {claimed if run.level > 0.0 else 'the run promises no way home'}")
        for home in recorded.homes:
            say(
                f"Audit, “{home.name}” at {home.level:g}: keeps {floored(home.kept)}, and had to "
                f"spend {home.charged:.3g} at least; {home.words}."
            )
        say(f"Planned again: {run.words}.")
        for reason in recorded.reasons:
            say(f"Refuted: {reason}.")
        for note in recorded.notes:
            say(f"{note[:1].upper()}{note[1:]}.")
    raise typer.Exit(1 if recorded.refuted else 0)


@contextmanager
def _bar(label: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that shows progress on standard error; None without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda more: progress.advance(task, more)


def _tell(found: Certificate, title: str) -> None:
    """Print a certificate as a table."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    if not found.verdicts:
        for note in found.notes:
            console.print(f"{title}: {note}", soft_wrap=True)
        return
    table = Table(title=f"What {title} claims")
    for name in ("criterion", "of", "asked", "claimed", "estimate", "between"):
        table.add_column(name, justify="left" if name in ("criterion", "of") else "right")
    table.add_column("verdict", overflow="fold")
    for verdict in found.verdicts:
        style = "red" if verdict.refuted else None
        table.add_row(
            verdict.criterion,
            PARTS[verdict.part],
            _number(verdict.level),
            _number(verdict.claimed),
            _number(verdict.estimate),
            _between(verdict.low, verdict.high, verdict.method),
            verdict.words,
            style=style,
        )
    console.print(table)
    for line in _conclusions(found):
        console.print(line, soft_wrap=True)


def _conclusions(found: Certificate) -> Iterator[str]:
    """Yield sentences on what was checked and what was found."""
    worth = found.worth
    for reason in (*worth.reasons, *found.said):
        yield f"Refuted: {reason}."
    if worth.recomputed_value is not None:
        upper = ""
        if worth.recomputed_upper is not None:
            upper = f"; no safe plan is worth more than {worth.recomputed_upper:.6g}"
        yield f"Arithmetic done again: the plan is worth {worth.recomputed_value:.6g}{upper}."
    if found.episodes:
        cut = max(v.sampled.cut for v in found.verdicts if v.sampled is not None)
        long = f"; up to {cut} were cut" if cut else ""
        count = len(found.verdicts)
        together = "the interval holds" if count == 1 else f"all {count} intervals hold together"
        yield (
            f"Sampling: {found.episodes} episodes, seed {found.seed}{long}; {together} with "
            f"probability {found.confidence:g} or more."
        )
    yield from (f"{note[:1].upper()}{note[1:]}." for note in found.notes)
    count = sum(v.refuted for v in found.verdicts)
    yield (
        f"{count} of {len(found.verdicts)} bounds refuted, in {found.seconds:.1f} s."
        if count or not found.refuted
        else f"No bound is refuted, but another claim is, in {found.seconds:.1f} s."
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _between(low: float | None, high: float | None, method: str) -> str:
    if low is None or high is None:
        return "-"
    return "exact" if method == "exact" else f"{low:.6g} and {high:.6g}"
