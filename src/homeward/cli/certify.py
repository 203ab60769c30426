"""``homeward certify``: check the bounds that a recorded run claims."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from homeward.cli.interrupts import STOPPED
from homeward.cli.options import Json, Workers, find_modules_here
from homeward.cli.show import print_table, progress_bar, say, say_json
from homeward.words import at_least, floored, sentence

if TYPE_CHECKING:
    from homeward.referee.certificate import Certificate
    from homeward.runs.verification import RecordedPlan

PARTS = {"plan": "the plan", "action": "the chosen action"}


def certify(
    what: Annotated[Path, typer.Argument(metavar="RUN", help="The run's folder.")],
    step: Annotated[
        int | None,
        typer.Option(min=1, help="The step to check.", show_default="the last step"),
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
            help="exact, sampling, arithmetic, or all methods that apply.", show_default="all"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed.", show_default="0")] = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Check every bound that a run claims, without trusting the planner.

    There are three methods. exact enumerates the worlds of a finite belief. sampling draws worlds
    from any belief, follows the plan until a recall at a random time, then the return policy, and
    counts the returns. arithmetic recomputes the numbers of the plan without the planner's code.

    For a run of the paper's algorithm, the plan of a step is made again from the record and
    compared with the log. In any other run the level holds for the whole run. Then an audit, which
    does not use the planner, checks that each step has a return policy and that its risk was
    charged to the risk budget; and every step is planned again.

    Exit codes: 0 nothing is refuted, 1 a bound is refuted, 2 invalid input.

    Examples: homeward certify runs/valley

    homeward certify runs/valley --step 12 --episodes 50000 --confidence 0.999
    """
    from homeward.compiling import announce
    from homeward.errors import InvalidInputError
    from homeward.referee import certificate
    from homeward.runs import Run
    from homeward.runs.verification import compare, plan_of_step
    from homeward.studies.crews import cores

    announce()
    find_modules_here()
    recorded = plan_of_step(Run.open(what), step)
    case = recorded.case
    if case is None:
        options = {"episodes": episodes, "confidence": confidence, "method": method, "seed": seed}
        for name, value in options.items():
            if value is not None:
                raise InvalidInputError(
                    f"{what}: --{name} applies only to the paper's algorithm; this run is checked "
                    "by an audit and by planning again"
                )
        _print_run(recorded, what, as_json=as_json)
        raise typer.Exit(1 if recorded.refuted else 0)
    episodes = 10_000 if episodes is None else episodes
    method = "all" if method is None else method
    sampled = case.parts and case.plan.criteria and method in ("all", "sampling")
    try:
        with progress_bar("sampling episodes", episodes, quiet=as_json or not sampled) as advance:
            report = certificate.judge(
                case,
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
    if report.verdicts:
        report = compare(report, recorded)
    if as_json:
        say_json({"plan": str(what), "step": recorded.record.step, **report.as_dict()})
    else:
        _print_certificate(report, f"{what}, step {recorded.record.step}")
    raise typer.Exit(1 if report.refuted else 0)


def _print_run(recorded: RecordedPlan, what: Path, *, as_json: bool) -> None:
    """Print the verdict on a run whose level holds for the whole run."""
    run = recorded.run
    assert run is not None
    if as_json:
        facts = {"plan": str(what), "step": recorded.record.step, **recorded.facts()}
        say_json({**facts, "refuted": recorded.refuted, "reasons": list(recorded.reasons)})
        return
    claimed = f"the run claims a lower bound of {floored(run.kept)}; required is {run.level:g}"
    say(f"{what}: {claimed if run.level > 0.0 else 'the run has no safety level'}")
    for home in recorded.homes:
        say(
            f"Audit of “{home.name}” at {home.level:g}: lower bound {floored(home.kept)}, risk to "
            f"be charged at least {home.charged:.3g}; {home.words}."
        )
    say(f"Planned again: {run.words}.")
    for reason in recorded.reasons:
        say(f"Refuted: {reason}.")
    for note in recorded.notes:
        say(sentence(note))


def _print_certificate(report: Certificate, title: str) -> None:
    """Print the verdicts of a certificate as a table, then sentences on its checks."""
    if not report.verdicts:
        for note in report.notes:
            say(f"{title}: {note}")
        return

    def number(value: float | None) -> str:
        return "-" if value is None else f"{value:.6g}"

    rows = []
    for verdict in report.verdicts:
        between = f"{number(verdict.low)} and {number(verdict.high)}"
        if verdict.low is None or verdict.high is None:
            between = "-"
        elif verdict.method == "exact":
            between = "exact"
        row = {"criterion": verdict.criterion, "of": PARTS[verdict.part]}
        row |= {"required": number(verdict.level), "claimed": at_least(verdict.claimed)}
        row |= {"estimate": number(verdict.estimate), "between": between}
        rows.append({**row, "verdict": verdict.words})
    red = [i for i, verdict in enumerate(report.verdicts) if verdict.refuted]
    right = ("required", "claimed", "estimate", "between")
    print_table(rows, f"Bounds claimed by {title}", right, red)
    worth, count = report.worth, len(report.verdicts)
    for reason in (*worth.reasons, *report.said):
        say(f"Refuted: {reason}.")
    if worth.recomputed_value is not None:
        upper = ""
        if worth.recomputed_upper is not None:
            upper = f"; the value of every safe plan is at most {worth.recomputed_upper:.6g}"
        say(f"Arithmetic: the value of the plan is {worth.recomputed_value:.6g}{upper}.")
    if report.episodes:
        cut = max(v.sampled.cut for v in report.verdicts if v.sampled is not None)
        stopped = f"; up to {cut} were stopped early" if cut else ""
        together = "the interval holds" if count == 1 else f"all {count} intervals hold jointly"
        say(
            f"Sampling: {report.episodes} episodes, seed {report.seed}{stopped}; {together} with "
            f"probability at least {report.confidence:g}."
        )
    for note in report.notes:
        say(sentence(note))
    result = f"{len(red)} of {count} bounds are refuted."
    if report.refuted and not red:
        result = "No bound is refuted, but another claim is."
    say(f"{result} The check took {report.seconds:.1f} s.")
