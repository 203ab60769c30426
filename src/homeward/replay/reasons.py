"""The reasons for a decision, or for the end of a run, as JSON values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from homeward.arrays import IntArray
from homeward.bonuses import LookingBonus, unit_of
from homeward.criteria import ReturnHome
from homeward.models import Moves
from homeward.planning.explorer import End
from homeward.planning.guide import Decision
from homeward.planning.ledger import Ledger
from homeward.planning.plan import Plan, Verdict
from homeward.planning.promise import MAX_FREE_SHARE, Proposal
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


def reasons(plan: Plan, moment: Moment, setup: Setup, columns: int) -> dict[str, Any]:
    """Return the plan made at a moment and its evidence as JSON values.

    Cells are named by row and column of a map with `columns` columns.
    """
    if plan.state_names is None:
        names: Any = CellNames(columns)
        criteria = tuple(
            replace(c, name=names.way_home(c.home, c.within)) if c.kind == "return" else c
            for c in plan.criteria
        )
        plan = replace(plan, state_names=names, criteria=criteria)
    ways = [c.way_home for c in plan.criteria if c.home.size] or [moment.returns[1].value]
    explanation, actions, proposal = plan.explain(), actions_of(setup), None
    looks, homes = looks_of(moment), None
    if not any(c.home.size for c in plan.criteria):  # else the plan's evidence has such bounds
        homes = moment.after.tolist()
    if plan.proposal is not None:
        proposal = {
            "path": list(plan.proposal.path),
            "gain": plan.proposal.gain,
            "steps": plan.proposal.steps,
            "rate": plan.proposal.rate,
            "share": _finite(plan.proposal.share),
            "unit": unit_of(setup.planner.bonus),
            "rule": _rule(plan.proposal, moment),
        }
    # If no move works and no action stays, the plan has a move that never works.
    chosen = actions[plan.action]
    stuck = isinstance(moment.model, Moves) and not any(e.leaves > 0.0 for e in plan.evidence)
    stuck = stuck and (chosen["dr"], chosen["dc"]) != (0, 0)
    first = sentence(ENDS["stuck"]) if stuck else explanation.partition("\n")[0]
    return {
        "step": moment.step,
        "state": moment.state,
        "end": None,
        "trapped": stuck,
        "action": None if stuck else plan.action,
        "status": str(plan.status),
        "sentence": first,
        "reasons": "",
        "explanation": explanation,
        "criteria": [
            {
                "name": criterion.name,
                "kind": criterion.kind,
                "level": criterion.level,
                "bound": criterion.bound,
                "kept_bound": criterion.kept_bound,
                "evaluator": str(criterion.evaluator),
                "multiplier": _finite(criterion.multiplier),
            }
            for criterion in plan.criteria
        ],
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
            for each in plan.evidence
            for verdict in (Verdict.UNAVAILABLE if stuck else _verdict(each, actions[each.action]),)
        ],
        "value": _finite(plan.exploration_value),
        "upper": _finite(plan.upper_bound),
        "gap": _finite(plan.gap),
        "way_home": max(float(way[plan.state]) for way in ways),
        "proposal": proposal,
    }


def ended(
    decision: Decision, moment: Moment, ledgers: Sequence[Ledger], columns: int
) -> dict[str, Any]:
    """Return why a run ends at a moment, as JSON values with the keys of `reasons`."""
    assert decision.end is not None
    rest = decision.remainder(unit_of(moment.planner.bonus))
    names = [ledger.name for ledger in ledgers]
    if moment.model.state_names is None:
        names = [CellNames(columns).way_home(each.homes, each.within) for each in ledgers]
    if rest is not None:
        budgets = zip(names, rest.budgets, strict=False)
        rest = rest._replace(budgets=tuple((name, *budget[1:]) for name, budget in budgets))
    kept = zip(names, decision.budgets, decision.held.promises, strict=False)
    return {
        **stopped(decision.end, moment, rest),
        "criteria": [
            {
                "name": name,
                "kind": "return",
                "level": level,
                "bound": 1.0 - account.spent,
                "kept_bound": 1.0 - account.spent,
                "multiplier": 0.0,
            }
            for name, (_, level, _), account in kept
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
    """Return the rule of `planning.rate` that preferred a proposal to one with a higher rate.

    - ``tour``: it is the first stop of a tour of all near looks.
    - ``near``: gains are divided by a power of the steps, so near gains are preferred.
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
        limited = any(isinstance(c, ReturnHome) and c.limits for c in moment.planner.criteria)
        return "tour" if looks is not None and looks.make_tour and not limited else "near"
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
