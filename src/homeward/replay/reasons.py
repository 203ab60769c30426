"""The reasons for a decision, or for the end of a run, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import IntArray
from homeward.bonuses import LookingBonus, unit_of
from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explained import Explanation
from homeward.planning.explorer import Decision
from homeward.planning.plan import Plan, Verdict
from homeward.planning.promise import MAX_FREE_SHARE, Proposal
from homeward.planning.returning import Goal
from homeward.referee.claims import ActionEvidence
from homeward.replay.moment import Moment, looks_of
from homeward.replay.scene import actions_of
from homeward.runs import Setup
from homeward.words import ENDS, NO_DECISION, VERDICTS, Remainder, counted, ending, sentence


class CellNames:
    """Names of states as cells of a map with `columns` columns."""

    def __init__(self, columns: int) -> None:
        self.columns = columns

    def __getitem__(self, state: int) -> str:
        return "row {}, column {}".format(*divmod(int(state), self.columns))

    def way_home(self, homes: IntArray, within: int | None) -> str:
        """Return the name of a return criterion with these homes and the step limit `within`."""
        limit = "" if within is None else f" within {counted(within, 'step')}"
        return f"return to {', '.join(self[home] for home in homes)}{limit}"


class Told(NamedTuple):
    """What is told of a decision, of a plan of Algorithm 1 as of the explorer's."""

    action: int
    status: str
    text: str
    criteria: list[dict[str, Any]]
    evidence: Sequence[ActionEvidence]
    value: float
    upper: float
    way_home: float  # lower bound on coming home from the present state
    proposal: Proposal | None = None
    has_homes: bool = True  # whether some criterion requires a return


def told_of_plan(plan: Plan, moment: Moment, columns: int) -> Told:
    """Return what is told of a plan; cells are named by row and column of `columns` columns."""
    if plan.state_names is None:
        names: Any = CellNames(columns)
        criteria = tuple(
            replace(c, name=names.way_home(c.home, c.within)) if c.kind == "return" else c
            for c in plan.criteria
        )
        plan = replace(plan, state_names=names, criteria=criteria)
    ways = [c.way_home for c in plan.criteria if c.home.size]
    facts = [
        {
            "name": c.name,
            "kind": c.kind,
            "level": c.level,
            "bound": c.bound,
            "kept_bound": c.kept_bound,
            "evaluator": str(c.evaluator),
            "multiplier": _finite(c.multiplier),
        }
        for c in plan.criteria
    ]
    here = max(float(way[plan.state]) for way in ways or [moment.returns[1].value])
    value, upper = plan.exploration_value, plan.upper_bound
    given = plan.action, str(plan.status), plan.explain(), facts, plan.evidence, value, upper, here
    return Told(*given, None, bool(ways))


def told_of(explanation: Explanation, moment: Moment, columns: int) -> Told:
    """Return what is told of a decision of the explorer or of an agent."""
    decision = explanation.decision
    if decision.labels.state_names is None:
        names: Any = CellNames(columns)
        bounds = tuple(
            c._replace(name=names.way_home(np.array(c.homes), c.within)) if c.homes else c
            for c in decision.bounds
        )
        labels = decision.labels._replace(state_names=names)
        decision = replace(decision, labels=labels, bounds=bounds)
        explanation = replace(explanation, decision=decision)
    facts = [
        {
            "name": c.name,
            "kind": c.kind,
            "level": c.level,
            "bound": c.bound,
            "kept_bound": c.bound,
            "evaluator": c.evaluator,
            "multiplier": 0.0,
        }
        for c in decision.bounds
    ]
    assert decision.action is not None
    here = max(explanation.here or (float(moment.returns[1].value[moment.state]),))
    given = decision.status, str(explanation), facts, explanation.evidence
    numbers = decision.rate, decision.upper, here
    return Told(decision.action, *given, *numbers, decision.proposal, bool(explanation.here))


def reasons(told: Told, moment: Moment, setup: Setup) -> dict[str, Any]:
    """Return a decision made at a moment and its evidence as JSON values."""
    explanation, actions, proposal = told.text, actions_of(setup), None
    looks, homes = looks_of(moment), None
    if not told.has_homes:  # else the evidence has such bounds
        homes = moment.after.tolist()
    if told.proposal is not None:
        proposal = {
            "path": list(told.proposal.path),
            "gain": told.proposal.gain,
            "steps": told.proposal.steps,
            "rate": told.proposal.rate,
            "share": _finite(told.proposal.share),
            "unit": unit_of(setup.planner.bonus),
            "rule": _rule(told.proposal, moment),
        }
    # If no move works and no action stays, the plan has a move that never works.
    chosen = actions[told.action]
    stuck = isinstance(moment.model, Moves) and not any(e.leaves > 0.0 for e in told.evidence)
    stuck = stuck and (chosen["dr"], chosen["dc"]) != (0, 0)
    first = sentence(ENDS["stuck"]) if stuck else explanation.partition("\n")[0]
    return {
        "step": moment.step,
        "state": moment.state,
        "end": None,
        "trapped": stuck,
        "action": None if stuck else told.action,
        "status": told.status,
        "sentence": first,
        "reasons": "",
        "explanation": explanation,
        "criteria": told.criteria,
        "actions": [
            {
                "action": each.action,
                **actions[each.action],
                "leaves": each.leaves,
                "look": _finite(looks[each.action]),
                "exploration": _finite(each.exploration),
                "safety": list(each.safety),
                "share": _finite(each.share),
                "way_home": None if homes is None else homes[each.action],
                "weight": each.weight,
                "verdict": verdict,
                "words": VERDICTS[verdict],
            }
            for each in told.evidence
            for verdict in (Verdict.UNAVAILABLE if stuck else _verdict(each, actions[each.action]),)
        ],
        "value": _finite(told.value),
        "upper": _finite(told.upper),
        "gap": _finite(told.upper - told.value),
        "way_home": told.way_home,
        "proposal": proposal,
    }


def ended(
    decision: Decision, moment: Moment, goals: Sequence[Goal], columns: int
) -> dict[str, Any]:
    """Return why a run ends at a moment, as JSON values with the keys of `reasons`."""
    assert decision.end is not None
    rest = decision.remainder(unit_of(moment.planner.bonus))
    names = [goal.name for goal in goals]
    if moment.model.state_names is None:
        names = [CellNames(columns).way_home(each.homes, each.within) for each in goals]
    if rest is not None:
        budgets = zip(names, rest.budgets, strict=False)
        rest = rest._replace(budgets=tuple((name, *budget[1:]) for name, budget in budgets))
    kept = zip(names, decision.budgets, decision.after.promises, strict=False)
    return {
        **stopped(decision.end, moment, rest),
        "criteria": [
            {
                "name": name,
                "kind": "return",
                "level": level,
                "bound": 1.0 - promise.spent,
                "kept_bound": 1.0 - promise.spent,
                "multiplier": 0.0,
            }
            for name, (_, level, _), promise in kept
        ],
    }


def stopped(end: End | None, moment: Moment, rest: Remainder | None = None) -> dict[str, Any]:
    """Return as JSON values why there is no decision at a moment.

    `end` is None if the run has not ended. `rest` is what is left to explore, if it is known.
    """
    first, more = NO_DECISION if end is None else ending(end, moment.step, rest)
    return {
        **dict.fromkeys(("action", "value", "upper", "gap", "proposal")),
        "step": moment.step,
        "state": moment.state,
        "end": end,
        "trapped": False,
        "status": "ended",
        "sentence": first,
        "reasons": more,
        "explanation": f"{first} {more}".strip(),
        "criteria": [],
        "actions": [],
        "way_home": float(moment.returns[1].value[moment.state]),
        "agrees": True,
    }


def _rule(proposal: Proposal, moment: Moment) -> str | None:
    """Return the rule of `planning.proposals` that preferred a proposal to one with a higher rate.

    - ``near``: only first looks gain, so near gains and cells that were left behind are preferred.
    - ``path``: its gain is that of all looks on a path.
    - ``place``: by its rate, its risk, and whether it was already pursued.
    - ``home``: it goes home within the limits of the run.

    Return None for models with several outcomes per action, whose search has other rules.
    """
    bonus: Any = moment.planner.bonus
    if not isinstance(moment.model, Moves):
        return None
    if proposal.gain == 0.0:
        return "home"
    if proposal.along:
        return "path"
    if proposal.share > MAX_FREE_SHARE:
        return "place"
    looks = bonus.looks(moment.belief) if isinstance(bonus, LookingBonus) else None
    if looks is None or not looks.logarithmic:
        return "near"
    return "place"


def _verdict(evidence: ActionEvidence, action: Mapping[str, Any]) -> str:
    """Return the verdict on an action; a move that never works is unavailable, not unsafe."""
    moves = (action["dr"] or 0, action["dc"] or 0) != (0, 0)
    never = evidence.leaves <= 0.0 and (moves or evidence.verdict == Verdict.UNSAFE)
    judged = (Verdict.UNSAFE, Verdict.NOT_CHOSEN, Verdict.WORTH_LESS)
    return Verdict.UNAVAILABLE if never and evidence.verdict in judged else evidence.verdict


def _finite(value: float) -> float | None:
    """Return a finite number, or None for an infinite one, which JSON can't express."""
    return float(value) if math.isfinite(value) else None
