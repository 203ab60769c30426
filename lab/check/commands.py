"""``python -m lab check``: check the guarantees of the planner on random problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import astuple
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from homeward.cli.options import Json
from homeward.cli.show import track
from lab.check import counted_commands, progress_command
from lab.report import Beliefs, Seed, Tolerance, conclude

if TYPE_CHECKING:
    import numpy as np

    from homeward.beliefs.corrections import Correction
    from lab.check.soundness import BoundCase

app = typer.Typer(help="Check the planner's guarantees on random problems.", no_args_is_help=True)
for command in (
    progress_command.progress,
    counted_commands.calibration,
    counted_commands.certify,
    counted_commands.conservative,
    counted_commands.ground,
    counted_commands.interrupt,
    counted_commands.sight,
    counted_commands.standing,
):
    app.command()(command)

Problems = Annotated[int, typer.Option(help="Random problems of each kind.", min=1)]
Together = Annotated[
    int, typer.Option(help="Beliefs for each combination of criteria; 0 skips them.", min=0)
]

Found = TypeVar("Found")


@app.command()
def locality(
    runs: Annotated[int, typer.Option(help="Random runs, of every kind of world.", min=1)] = 200,
    limit: Annotated[int, typer.Option(help="Steps of each run.", min=1)] = 200,
    as_json: Json = False,
) -> None:
    """Repeat runs with everything computed from scratch at each step, and compare bit by bit."""
    from homeward.studies.table import grouped
    from lab.check.locality import cases_of, compare

    found = [compare(*case) for case in track(cases_of(runs, limit), "runs", quiet=as_json)]
    rows = [
        {
            "ground": ground,
            "runs": len(group),
            "steps": sum(run["steps"] for run in group),
            "different": sum(run["differs"] is not None for run in group),
        }
        for (ground,), group in grouped(found, ("ground",)).items()
    ]
    different = sum(row["different"] for row in rows)
    conclude(
        {"rows": rows, "runs": len(found), "different": different, "holds": different == 0},
        {"rows": "Runs against runs from nothing"},
        f"{different} of {len(found)} runs differ",
        as_json,
    )


@app.command()
def refuted(
    runs: Annotated[int, typer.Option(help="Random runs, of every kind of world.", min=1)] = 400,
    limit: Annotated[int, typer.Option(help="Steps of each run.", min=1)] = 100,
    as_json: Json = False,
) -> None:
    """Let a move fail that the belief holds certain: from then on a run must claim nothing.

    In worlds drawn from the belief, no run may say that its belief is contradicted.
    """
    from homeward.studies.table import grouped
    from lab.check.refuted import cases_of, examine

    found = [examine(*case) for case in track(cases_of(runs, limit), "runs", quiet=as_json)]
    rows = [
        {
            "ground": ground,
            "runs": len(group),
            "lied to": sum(run["lied"] for run in group),
            "wrong": sum(run["wrong"] is not None for run in group),
        }
        for (ground,), group in grouped(found, ("ground",)).items()
    ]
    wrong = [run["wrong"] for run in found if run["wrong"] is not None]
    lied = sum(row["lied to"] for row in rows)
    conclude(
        {"rows": rows, "wrong": wrong[:5], "holds": not wrong and lied > 0},
        {"rows": "Runs, and the same in a world that lies"},
        f"{len(wrong)} of {len(found)} runs are wrong; {lied} were lied to",
        as_json,
    )


@app.command()
def agreement(
    problems: Problems = 300,
    together: Together = 1000,
    tolerance: Tolerance = 1e-7,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Solve random constrained problems by column generation and by the paper's LP, and compare.

    Problems have either kind of model (move-or-stay, general) and 1, 2 or 3 constraints; some are
    infeasible, some have δ = 1. Statuses must be equal and objectives must agree. Then plans for
    every criterion, pair and triple, with a recall at any step or at a fixed step, are compared
    with an LP that states the same problem directly.
    """
    import numpy as np

    from lab.check.agreement import KINDS, compare, random_problem
    from lab.check.direct_lp import compare_together

    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for kind, constraints in product(KINDS, (1, 2, 3)):
        label = f"{kind}, {constraints} constraint{'s' * (constraints > 1)}"
        found = [
            compare(random_problem(kind, constraints, rng))
            for _ in track(range(problems), label, quiet=as_json)
        ]
        rows.append(
            {
                "kind": kind,
                "constraints": constraints,
                "problems": len(found),
                **_statuses(found),
                "at delta 1": sum(a.sure for a in found),
                "disagreements": sum(not a.agrees for a in found),
                "worst difference": max(a.difference for a in found),
            }
        )
    combined = []
    for head, met in _combinations(together, rng, compare_together, as_json):
        combined.append(
            {
                **head,
                **_statuses(met),
                "not sure": sum(not a.sure for a in met),
                "at the edge": sum(a.agrees and a.sure and a.status is not a.referee for a in met),
                "disagreements": sum(not a.agrees for a in met),
                "worst difference": max(a.difference for a in met),
                "worst shortfall": max(a.shortfall for a in met),
            }
        )
    worst = max(row["worst difference"] for row in [*rows, *combined])
    short = max((row["worst shortfall"] for row in combined), default=0.0)
    apart = sum(row["disagreements"] for row in [*rows, *combined])
    conclude(
        {
            "rows": rows,
            "together": combined,
            "worst_difference": worst,
            "disagreements": apart,
            "holds": max(worst, short) <= tolerance and apart == 0,
        },
        {
            "rows": "Column generation against the occupancy LP",
            "together": "Plans against an LP stated directly",
        },
        f"worst relative difference {worst:.2e}, {apart} disagreements on status",
        as_json,
    )


def _statuses(answers: Iterable[Any]) -> dict[str, int]:
    """Return the numbers of optimal and of infeasible answers."""
    found = Counter(str(answer.status) for answer in answers)
    return {name: found[name] for name in ("optimal", "infeasible")}


def _combinations(
    count: int,
    rng: np.random.Generator,
    examine: Callable[[BoundCase, Correction], Found],
    quiet: bool,
) -> list[tuple[dict[str, Any], list[Found]]]:
    """Examine `count` random cases of every combination of criteria, with either kind of recall.

    Return for each combination the first entries of its table row, and the results of `examine`.
    """
    from lab.check.soundness import TOGETHER, random_case

    rows = []
    for fixed, kinds in product((False, True), TOGETHER) if count else ():
        found: list[Found] = []
        for number in track(range(count), " and ".join(kinds), quiet=quiet):
            case = random_case(kinds, number, rng, fixed=fixed)
            found += [examine(case, correction) for correction in case.corrections]
        head = {
            "criteria": " and ".join(kinds),
            "recall": "at a step" if fixed else "at any step",
            "beliefs": count,
            "plans": len(found),
        }
        rows.append((head, found))
    return rows


@app.command()
def soundness(
    beliefs: Beliefs = 2000,
    together: Together = 1000,
    tolerance: Tolerance = 1e-9,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare every bound with the exact value, by enumeration, on random correlated beliefs.

    Beliefs have moves that succeed with probability 0 or 1, moves with any probability, or general
    models. A deliberately wrong correction, −p(1−p) for exploring, must be caught. Then every
    criterion, pair and triple is checked at random levels, with a recall at any step or at a fixed
    step.
    """
    import numpy as np

    from homeward.beliefs.corrections import Correction
    from lab.check.soundness import (
        DISCOUNTS,
        KINDS,
        examine,
        examine_together,
        half_exploring,
        random_belief,
    )

    rng = np.random.default_rng(seed)
    worst: dict[tuple[str, str], tuple[float, ...]] = {}
    caught = 0
    for kind in KINDS:
        for _ in track(range(beliefs), kind, quiet=as_json):
            belief, discount = random_belief(kind, rng), float(rng.choice(DISCOUNTS))
            home = int(rng.integers(belief.worlds[0].states))
            for correction in (Correction.GENERAL, Correction.MOVES):
                if kind == "general" and correction is Correction.MOVES:
                    continue
                found = examine(belief, correction, discount, home)
                key, excess = (kind, str(correction)), astuple(found)[:4]
                worst[key] = tuple(map(max, worst.get(key, excess), excess))
            if kind == "moves":
                wrong = examine(belief, Correction.MOVES, discount, home, half_exploring)
                caught += wrong.exploring > tolerance
    rows = [
        {
            "worlds": kind,
            "correction": correction,
            "beliefs": beliefs,
            "excess returning": excess[0],
            "excess out and back": excess[1],
            "excess planned": excess[2],
            "excess of other actions": excess[3],
        }
        for (kind, correction), excess in worst.items()
    ]
    combined: list[dict[str, Any]] = [
        {
            **head,
            "feasible": sum(str(t.status) == "optimal" for t in met),
            "excess any way": max(t.any_way for t in met),
            "excess planned": max(t.planned for t in met),
            "mean looseness": sum(t.looseness for t in met) / len(met),
        }
        for head, met in _combinations(
            together, rng, lambda case, used: examine_together(case, used, rng), as_json
        )
    ]
    most = max(
        *(max(excess) for excess in worst.values()),
        *(max(row["excess any way"], row["excess planned"]) for row in combined),
    )
    conclude(
        {
            "rows": rows,
            "together": combined,
            "worst_excess": most,
            "wrong_caught": int(caught),
            "holds": most <= tolerance and caught > 0,
        },
        {
            "rows": "Bounds against exact values",
            "together": "Criteria together, against exact values",
        },
        f"largest excess {most:.2e}; the wrong correction was caught on {caught} of "
        f"{beliefs} beliefs",
        as_json,
    )


@app.command()
def promise(
    beliefs: Beliefs = 250, tolerance: Tolerance = 1e-9, seed: Seed = 0, as_json: Json = False
) -> None:
    """Follow every history of runs on small random beliefs, with the worst-case recall.

    Beliefs are correlated worlds, move-or-stay graphs or general models, with one or two homes at
    random levels. For every recall rule that depends only on observations, the return policy of the
    run must reach home with probability at least δ. This probability plus the risk spent must be at
    least 1.
    """
    import numpy as np

    from lab.check.run_promise import KINDS, examine, random_case

    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for kind in KINDS:
        found = [
            examine(random_case(kind, rng)) for _ in track(range(beliefs), kind, quiet=as_json)
        ]
        rows.append(
            {
                "worlds": kind,
                "beliefs": beliefs,
                "feasible": sum(p.feasible for p in found),
                "with risk": sum(p.spent > 0.0 for p in found),
                "steps": sum(p.steps for p in found),
                "below δ": max(p.excess for p in found),
                "charged too little": max(p.unbalanced for p in found),
            }
        )
    most = max(max(row["below δ"], row["charged too little"]) for row in rows)
    conclude(
        {"rows": rows, "worst_excess": most, "holds": most <= tolerance},
        {"rows": "Runs with a recall at the worst time"},
        f"largest excess {most:.2e} on {beliefs * len(KINDS)} beliefs",
        as_json,
    )


@app.command()
def shown(
    runs: Annotated[int, typer.Option(help="Runs of each kind of world.", min=1)] = 150,
    tolerance: Tolerance = 1e-9,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare every number that is shown of a way home with a return policy that knows the world.

    The numbers are lower bounds on the probability of coming home: after each action, also after
    those that are not taken, from each state, and by the held way home. Worlds are enumerated where
    the belief is finite, else drawn from it.
    """
    from lab.check.shown import GROUNDS, examine

    rows: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []
    for ground in GROUNDS:
        numbers = range(seed * runs, (seed + 1) * runs)
        found = [examine(ground, n, tolerance) for n in track(numbers, ground, quiet=as_json)]
        high = [offence for each in found for offence in each.offences]
        wrong += [offence._asdict() for offence in high]
        rows.append(
            {
                "belief": ground,
                "runs": runs,
                "numbers": sum(each.numbers for each in found),
                "too high": len(high),
                "by at most": max((each.shown - each.most for each in high), default=0.0),
            }
        )
    total = sum(row["numbers"] for row in rows)
    conclude(
        {"rows": rows, "wrong": wrong, "holds": not wrong},
        {"rows": "Numbers against a return policy that knows the world", "wrong": "Too high"},
        f"{len(wrong)} of {total} numbers are too high",
        as_json,
    )


@app.command()
def edges(
    problems: Problems = 32, tolerance: Tolerance = 1e-7, seed: Seed = 0, as_json: Json = False
) -> None:
    """Solve random problems with extreme numbers, and compare with exact rational answers.

    The extremes are δ = 1, γ = .99999, probabilities of 1e-12 and 1 − 1e-12, bonuses of 1e6, zero
    and unbounded multipliers, ties, and zero rewards. Each problem is solved without a warm start
    and with one from a nearby problem. A solution must be right, or its status must be neither
    optimal nor infeasible. The value of a return policy must never exceed the optimum.
    """
    from lab.check.edges import FAMILIES, draw, examine

    rows: list[dict[str, Any]] = []
    wrong: dict[tuple[str, str, str], list[int]] = {}
    for family in FAMILIES:
        found = [
            examine(draw(family, number, seed), tolerance)
            for number in track(range(problems), family.name, quiet=as_json)
        ]
        answers = [verdict for e in found for verdict in (e.cold, e.warm)]
        ends = _statuses(answers)
        rows.append(
            {
                "family": family.name,
                "problems": len(found),
                "answers": len(answers),
                **ends,
                "other": len(answers) - sum(ends.values()),
                "LP off": sum(a.referee == "proof" for a in answers),
                "disagreements": sum(bool(a.faults) for a in answers),
                "worst difference": max(a.difference for a in answers),
                "wrong ways home": sum(bool(e.way_home.faults) for e in found),
            }
        )
        for e in found:
            for answer, fault in e.faults:
                wrong.setdefault((family.name, answer, fault), []).append(e.edge.number)
    total, apart, astray = (
        sum(row[column] for row in rows)
        for column in ("problems", "disagreements", "wrong ways home")
    )
    worst = max(row["worst difference"] for row in rows)
    conclude(
        {
            "rows": rows,
            "wrong": [
                dict(zip(("family", "answer", "fault"), what, strict=True))
                | {"times": len(numbers), "first problem": numbers[0]}
                for what, numbers in wrong.items()
            ],
            "problems": total,
            "worst_difference": worst,
            "disagreements": apart,
            "wrong_ways_home": astray,
            "holds": not wrong,
        },
        {"rows": "Solvers against exact answers", "wrong": "Wrong answers"},
        f"{total} problems: worst relative difference {worst:.2e}, {apart} disagreements, "
        f"{astray} wrong return policies",
        as_json,
    )


@app.command()
def dirichlet(
    samples: Annotated[int, typer.Option(help="Samples of each row.", min=100)] = 1_000_000,
    allowed: Annotated[float, typer.Option(help="Allowed distance in standard errors.")] = 4.5,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare the closed-form Dirichlet correction with Monte Carlo.

    Rows have 2 to 50 outcomes and concentrations from 0.01 to 1,000.
    """
    import numpy as np

    from lab.check.dirichlet_correction import examine_row, rows

    rng = np.random.default_rng(seed)
    found = [
        examine_row(alpha, scale, samples, rng)
        for alpha, scale in track(rows(rng), "rows", quiet=as_json)
    ]
    worst = max(row["apart (sigmas)"] for row in found)
    conclude(
        {"rows": found, "worst_sigmas": worst, "holds": bool(worst <= allowed)},
        {"rows": "The Dirichlet correction"},
        f"the difference is at most {worst:.2f} standard errors in {len(found)} rows",
        as_json,
    )
