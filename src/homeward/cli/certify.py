"""``homeward certify``: check what a plan, or a step of a run, claims."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003  (Typer reads it)
from typing import TYPE_CHECKING, Annotated

import typer

from homeward.cli.options import STOPPED, Json, Workers, find_modules_here
from homeward.cli.show import print_table, progress_bar, say, say_json
from homeward.words import sentence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from homeward.certificates import Certificate
    from homeward.runs.verification import RecordedPlan

PARTS = {"plan": "the plan", "action": "its action's part"}


def certify(
    what: Annotated[
        Path, typer.Argument(metavar="PLAN_OR_RUN", help="A saved plan, or a run's folder.")
    ],
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
    recorded = plan_of_step(Run.open(what), step) if what.is_dir() else None
    if recorded is None:
        if step is not None or out is not None:
            raise InvalidInputError(f"{what}: --step and --out are for a run's folder")
        stored, title = load_plan(what), str(what)
    elif recorded.stored is None:
        options = {"episodes": episodes, "confidence": confidence, "method": method, "seed": seed}
        for name, value in options.items():
            if value is not None:
                raise InvalidInputError(
                    f"{what}: --{name} is for plans of the paper's algorithm; this run is audited "
                    "and planned again"
                )
        if out is not None:
            raise InvalidInputError(f"{what}: --out is for runs of the paper's algorithm")
        _tell_run(recorded, what, as_json=as_json)
        raise typer.Exit(1 if recorded.refuted else 0)
    else:
        stored, title = recorded.stored, f"{what}, step {recorded.record.step}"
    if out is not None:
        save_stored(stored, out)
    episodes = 10_000 if episodes is None else episodes
    method = "all" if method is None else method
    sampled = stored.parts and stored.plan.criteria and method in ("all", "sampling")
    try:
        with progress_bar("playing episodes", episodes, quiet=as_json or not sampled) as advance:
            found = certificate.certify(
                stored,
                method=method,  # type: ignore[arg-type]
                episodes=episodes,
                confidence=0.99 if confidence is None else confidence,
                seed=seed or 0,
                jobs=cores() if workers is None else max(1, workers),
                progress=advance,
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
        for line in _told(found, title):
            say(line)
        if out is not None:
            say(f"plan: {out}")
    raise typer.Exit(1 if found.refuted else 0)


def _tell_run(recorded: RecordedPlan, what: Path, *, as_json: bool) -> None:
    """Print the verdict on a run with a level for the whole run."""
    from homeward.planning.plan import floored

    run = recorded.run
    assert run is not None
    if as_json:
        found = {"plan": str(what), "step": recorded.record.step, "run": run.as_dict()}
        found |= {"homes": [home.as_dict() for home in recorded.homes]}
        said = {"reasons": list(recorded.reasons), "notes": list(recorded.notes)}
        say_json({**found, "refuted": recorded.refuted, **said})
        return
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
        say(sentence(note))


def _told(found: Certificate, title: str) -> Iterator[str]:
    """Print a certificate as a table; yield sentences on what was checked and what was found."""
    if not found.verdicts:
        yield from (f"{title}: {note}" for note in found.notes)
        return

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    rows = []
    for verdict in found.verdicts:
        between = "exact" if verdict.method == "exact" else None
        between = between or f"{number(verdict.low)} and {number(verdict.high)}"
        if verdict.low is None or verdict.high is None:
            between = "-"
        row = {"criterion": verdict.criterion, "of": PARTS[verdict.part]}
        row |= {"asked": number(verdict.level), "claimed": number(verdict.claimed)}
        row |= {"estimate": number(verdict.estimate), "between": between}
        rows.append({**row, "verdict": verdict.words})
    red = [i for i, verdict in enumerate(found.verdicts) if verdict.refuted]
    right = ("asked", "claimed", "estimate", "between")
    print_table(rows, f"What {title} claims", right, red)
    worth, count = found.worth, len(found.verdicts)
    yield from (f"Refuted: {reason}." for reason in (*worth.reasons, *found.said))
    if worth.recomputed_value is not None:
        upper = ""
        if worth.recomputed_upper is not None:
            upper = f"; no safe plan is worth more than {worth.recomputed_upper:.6g}"
        yield f"Arithmetic done again: the plan is worth {worth.recomputed_value:.6g}{upper}."
    if found.episodes:
        cut = max(v.sampled.cut for v in found.verdicts if v.sampled is not None)
        long = f"; up to {cut} were cut" if cut else ""
        together = "the interval holds" if count == 1 else f"all {count} intervals hold together"
        yield (
            f"Sampling: {found.episodes} episodes, seed {found.seed}{long}; {together} with "
            f"probability {found.confidence:g} or more."
        )
    yield from map(sentence, found.notes)
    yield (
        f"{len(red)} of {count} bounds refuted, in {found.seconds:.1f} s."
        if red or not found.refuted
        else f"No bound is refuted, but another claim is, in {found.seconds:.1f} s."
    )
