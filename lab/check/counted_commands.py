"""Commands that check by sampling worlds: calibration, certification and conservativeness."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from homeward.cli.options import Json
from homeward.cli.show import check_writable, save, track
from lab.report import Beliefs, Seed, Steps, Tolerance, conclude

BROKEN = ("beyond", "along", "missing", "closed")  # columns that count broken limits
Worlds = Annotated[int, typer.Option(help="Worlds drawn from the belief.", min=1)]


def calibration(
    worlds: Worlds = 2000,
    plans: Annotated[int, typer.Option(help="Number of plans, all bound by δ.", min=1)] = 25,
    runs: Annotated[int, typer.Option(help="Runs of each kind, each in a world.", min=1)] = 1000,
    sampled: Annotated[
        int, typer.Option(help="Runs of each kind with sampled certificates.", min=0)
    ] = 1000,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw worlds from the belief, follow plans or whole runs in them, and count the returns.

    Plans are on grids of heights at δ = .9 and .8, and on terrain also at .98: after a first look,
    after an exploration, and with independent or correlated heights that moves were observed on.
    Runs keep δ = .9 or .7, proven or with sampled certificates. They are recalled at their end,
    or once their way home looks doubtful. Neither δ nor the bounds may be refuted at 99%
    confidence. Plans without a correction are counted for comparison.
    """
    from homeward.beliefs.corrections import Correction
    from lab.check import sampled_runs
    from lab.check.calibration import (
        RUN_LIMITS,
        SETTINGS,
        PlanCalibration,
        calibrate_runs,
        examine,
    )
    from lab.check.sampled_runs import DELTAS, PRIORS

    def counted(found: PlanCalibration) -> dict[str, Any]:
        """Return the last entries of a row."""
        limits = {"fraction": found.fraction, "99% at least": found.lower}
        return {**limits, "mean bound": found.bound, "holds": found.holds}

    rows: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    cases = [(s, d, c) for s in SETTINGS for d in s.deltas for c in Correction]
    for setting, delta, correction in track(cases, "following plans", quiet=as_json):
        found = examine(setting, delta, correction, plans, worlds, seed)
        rows[correction is not Correction.NAIVE].append(
            {
                "belief": setting.title,
                "δ": delta,
                "correction": str(correction),
                "plans": found.plans,
                "worlds": found.worlds,
                "back home": found.home,
                **counted(found),
            }
        )
    whole = [
        {
            "belief": belief,
            "δ": delta,
            "recall": rule,
            "runs": runs,
            "way home works": found.home,
            **counted(found),
        }
        for belief, delta in track(list(RUN_LIMITS), "running", quiet=as_json)
        for rule, found in calibrate_runs(belief, delta, runs, seed).items()
    ]
    samples = list(product(PRIORS, DELTAS)) if sampled else []
    estimated = [
        row
        for title, delta in track(samples, "exploring", quiet=as_json)
        for row in sampled_runs.examine(title, delta, range(seed, seed + sampled))
    ]
    claims = rows[True] + whole + estimated
    refuted, naive = (sum(not row["holds"] for row in table) for table in (claims, rows[False]))
    conclude(
        {
            "rows": rows[True],
            "runs": whole,
            "sampled": estimated,
            "naive": rows[False],
            "refuted": refuted,
            "holds": refuted == 0,
        },
        {
            "rows": "One plan followed out and back, in worlds drawn from its belief",
            "runs": "Whole runs, each in a world drawn from its prior",
            "sampled": "Whole runs with sampled certificates, each in a world drawn from its prior",
            "naive": "The same plans without a correction, for comparison",
        },
        f"{refuted} of {len(claims)} claims are refuted at 99% confidence; without a "
        f"correction {naive} of {len(rows[False])}",
        as_json,
    )


def certify(
    plans: Annotated[int, typer.Option(help="Number of unchanged plans.", min=1)] = 50,
    forged: Annotated[int, typer.Option(help="Number of forged plans.", min=1)] = 50,
    episodes: Annotated[int, typer.Option(help="Episodes sampled for each plan.", min=1)] = 2000,
    confidence: Annotated[float, typer.Option(help="Joint confidence level of a plan.")] = 0.999,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Certify random plans, and plans with one forged entry.

    Plans have every criterion, alone and combined, either kind of recall, and beliefs over worlds,
    Dirichlet rows or heights. Unchanged plans must be confirmed, and forged plans refuted. A
    forgery changes an entry of a policy so that a bound no longer holds; raises a bound of the plan
    or of its table of actions by 0.05; replaces the chosen action; or calls levels infeasible that
    the plan meets. If a bound is wrong by more than the width of the interval, sampling alone must
    refute it.
    """
    from lab.check.tampering import TAMPERS, try_plans

    trials = try_plans(plans, forged, episodes, confidence, seed)
    found = list(track(trials, "certifying", quiet=as_json, total=plans + forged))
    rows = []
    for tamper in (None, *TAMPERS):
        mine = [trial for trial in found if trial.tamper == tamper]
        if mine:
            rows.append(
                {
                    "changed": "nothing" if tamper is None else tamper,
                    "plans": len(mine),
                    "refuted": sum(trial.refuted for trial in mine),
                    "when read": sum(trial.refused for trial in mine),
                    "by enumeration": sum(trial.exactly for trial in mine),
                    "by sampling": sum(trial.sampled for trial in mine),
                    "by arithmetic": sum(trial.reckoned for trial in mine),
                    "off by an interval": sum(trial.contradicted for trial in mine),
                    "of these missed": sum(trial.missed for trial in mine),
                }
            )
    wrong = sum(trial.refuted == (trial.tamper is None) or trial.missed for trial in found)
    conclude(
        {"rows": rows, "wrong": wrong, "holds": wrong == 0},
        {"rows": "Unchanged and forged plans"},
        f"the verdict is wrong on {wrong} of {len(found)} plans",
        as_json,
    )


def conservative(
    beliefs: Beliefs = 12,
    few: Annotated[int, typer.Option(help="Beliefs over a few worlds.", min=1)] = 100,
    worlds: Worlds = 200,
    tolerance: Tolerance = 1e-9,
    seed: Seed = 0,
    plot: Annotated[Path | None, typer.Option(help="A figure: .png, .pdf or .svg.")] = None,
    as_json: Json = False,
) -> None:
    """Compare each plan's bound with its true probability of being home after a recall.

    Also compare how much plans explore at the same true probability. Plans have levels from 1 to .3
    and the paper's correction (general) or ours (moves), on the same beliefs. On
    beliefs with a few worlds the truth is computed by enumeration, and no bound may be above it. On
    grids of heights and terrain the truth is estimated in worlds drawn from the belief.
    """
    from lab.check.conservative import DELTAS, SETTINGS, averages, distances, gains, study

    if plot is not None:
        check_writable(plot)
    samples = []
    for setting in track(SETTINGS, "planning", quiet=as_json):
        count = few if setting is SETTINGS[0] else beliefs
        samples += study(setting, count, worlds, DELTAS, seed)
    found = averages(samples)
    rows = [
        {
            "belief": a.setting,
            "correction": str(a.correction),
            "δ": a.level,
            "plans": a.plans,
            "mean bound": a.bound,
            "mean truth": a.truth,
            "explored": a.explored,
        }
        for a in found
    ]
    more = [
        {
            "belief": setting,
            "true safety from": min(factors),
            "to": max(factors),
            "least factor": min(factors.values()),
            "greatest factor": max(factors.values()),
        }
        for setting, factors in gains(found).items()
        if factors
    ]
    worst = max(s.excess for s in samples if s.setting == SETTINGS[0].title)
    if plot is not None:
        from lab.check.conservative_figure import draw_conservative

        save(draw_conservative(samples, found, {s.title: worlds for s in SETTINGS[1:]}), plot)
    conclude(
        {
            "rows": rows,
            "distances": distances(samples),
            "gains": more,
            "worst_excess": worst,
            "plot": None if plot is None else str(plot),
            "holds": worst <= tolerance,
        },
        {
            "rows": "Bounds against the truth, level by level",
            "distances": "Distance of bounds from the truth, plan by plan",
            "gains": "Exploration of the moves correction over the general one, at the same safety",
        },
        f"largest difference bound - exact truth: {worst:.2e}",
        as_json,
    )


def ground(
    raster: Annotated[
        list[Path] | None, typer.Option(help="A terrain model to explore; can be repeated.")
    ] = None,
    grounds: Annotated[int, typer.Option(help="Synthetic grounds.", min=0)] = 3,
    steps: Steps = 1000,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Follow the exported paths of safe runs on the terrain model as given.

    Cells have 2, 5, 10 and 20 pixels on each ground. No place of a path may be steeper than the
    vehicle's limits (20° up, 30° down, 20° to the side) over its wheelbase, and no wheel may touch
    missing data. Other runs have random obstacles and areas to keep out of, which no wheel may
    touch either. For comparison, there are runs whose slopes are limited between the centres of the
    cells, as in the paper. The exit code is 1 if a path breaks a limit.
    """
    from lab.check.ground import explore

    terrains = [str(path) for path in raster or []] + [f"mars {i}" for i in range(grounds)]
    closed = {2: "rocks", 5: "polygons", 10: "rocks", 20: "polygons"}
    cases = [
        (terrain, cell, kind)
        for terrain, cell in product(terrains, closed)
        for kind in ("driven", closed[cell], "paper")
    ]
    rows = [explore(*case, steps, seed) for case in track(cases, "exploring", quiet=as_json)]
    safe = [row for row in rows if row["ground"] != "paper"]
    broken = [row for row in safe if any(row[key] for key in BROKEN)]
    conclude(
        {"rows": rows, "holds": not broken},
        {"rows": "Places of the exported path beyond the limits; slopes in degrees"},
        f"{len(broken)} of {len(safe)} paths break a limit",
        as_json,
    )


def interrupt(
    tries: Annotated[int, typer.Option(help="Runs to interrupt.", min=1)] = 50,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Interrupt runs by Ctrl-C at random moments, and resume them.

    The runs are rovers on both grounds and grids, with both algorithms. They are started from a
    shell and interrupted at start-up, while code is compiled, after a step, or while outputs are
    written. The shell must see exit code 130 and no traceback, and every resumed run must have the
    files of an undisturbed one and its log, byte for byte. The exit code is 1 if one does not.
    """
    from lab.check.interrupt import PHASES
    from lab.check.interrupt import interrupt as interrupted

    found = list(track(interrupted(tries, seed), "interrupting", quiet=as_json, total=tries))
    groups = {phase: [one for one in found if one.phase == phase] for phase in PHASES}
    rows = [
        {
            "phase": phase,
            "tries": len(mine),
            "before the first step": sum(one.steps == 0 for one in mine),
            "exit code 130": sum(one.code == 130 for one in mine),
            "no traceback": sum("Traceback" not in one.output for one in mine),
            "resumed to the same run": sum(one.same for one in mine),
        }
        for phase, mine in groups.items()
        if mine
    ]
    wrong = [one._asdict() for one in found if not (one.clean and one.same)]
    conclude(
        {"rows": rows, "wrong": wrong, "holds": not wrong},
        {"rows": "Runs stopped by Ctrl-C", "wrong": "What went wrong"},
        f"{len(found) - len(wrong)} of {tries} runs stopped cleanly and resumed to the same run",
        as_json,
    )


def sight(worlds: Worlds = 1000, seed: Seed = 0, as_json: Json = False) -> None:
    """Follow runs past pits whose exits are hidden from the corridor exactly if they are too low.

    The belief is of independent or of correlated heights, and worlds are drawn from it. The terrain
    model shows all exits from the corridor, or about half of them. Neither δ = .88 nor what runs
    claim may be refuted at 99% confidence.
    """
    from lab.check.sight import BELIEFS, GROUNDS, examine

    rows = []
    for belief, ground in track(list(product(BELIEFS, GROUNDS)), "running", quiet=as_json):
        found = examine(belief, ground, worlds, seed)
        rows.append(
            {
                "belief": belief,
                "exits": ground,
                "δ": found.level,
                "worlds": worlds,
                "way home works": found.home,
                "fraction": found.fraction,
                "99% at least": found.lower,
                "claimed (mean)": found.bound,
                "holds": found.holds,
            }
        )
    refuted = sum(not row["holds"] for row in rows)
    conclude(
        {"rows": rows, "refuted": refuted, "holds": refuted == 0},
        {"rows": "Whole runs past pits, each in a world drawn from its belief"},
        f"{refuted} of {len(rows)} claims are refuted at 99% confidence",
        as_json,
    )


def standing(
    count: Annotated[
        int, typer.Option("--grounds", help="Environments, of 26.", min=1, max=26)
    ] = 26,
    seeds: Annotated[int, typer.Option(help="Runs in each environment.", min=1)] = 10,
    limit: Annotated[int, typer.Option(help="Steps of each run.", min=1)] = 300,
    as_json: Json = False,
) -> None:
    """Check that the explorer does not spend its budget on actions that probably stay.

    It explores Gymnasium environments whose moves slip: small grids with holes, whose model is
    counted, FrozenLake and CliffWalking. Where a step spends some of the budget, as many tries as
    the budget allows must leave the state with probability .4 or more. The exit code is 1 if not.
    """
    from itertools import islice

    from lab.check.standing import grounds, strolls

    rows, broken = [], []
    for ground in track(islice(grounds(), count), "environments", quiet=as_json, total=count):
        runs = list(strolls(ground, seeds, limit))
        rows.append(
            {
                "environment": str(ground),
                "δ": ground.delta,
                "steps": sum(run.steps for run in runs) / seeds,
                "states visited": sum(run.visited for run in runs) / seeds,
                "budget spent": round(sum(run.spent for run in runs) / seeds, 3),
                "lost": sum(run.is_lost for run in runs),
            }
        )
        broken += [
            {"environment": str(ground), "seed": seed, "fault": fault}
            for seed, run in enumerate(runs)
            for fault in run.faults
        ]
    conclude(
        {"rows": rows, "broken": broken, "holds": not broken},
        {"rows": "Runs, means of each environment", "broken": "Steps that break the rule"},
        f"{len(broken)} steps break the rule in {count * seeds} runs",
        as_json,
    )
