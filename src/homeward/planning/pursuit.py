"""Build the `Plan`, with its evidence, that pursues the proposal of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs.corrections import Correction
from homeward.models import Moves
from homeward.planning.plan import ActionEvidence, CriterionEvidence, Evidence, Plan, Verdict
from homeward.safety import StayInside
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.models import Model
    from homeward.planning.choice import Choice
    from homeward.planning.held import Proposal
    from homeward.planning.task import Task


def plan_of(task: Task, model: Model, state: int, choice: Choice, proposal: Proposal) -> Plan:
    """Return the plan that pursues a choice's proposal."""
    homes, criteria = zip(task.ledgers, choice.homes, choice.paid, strict=True), []
    for criterion in task.planner.criteria:
        if isinstance(criterion, StayInside):
            criteria.append(_stay_evidence(criterion, model))
            continue
        ledger, home, account = next(homes)
        kept = max(0.0, 1.0 - account.spent)
        criteria.append(
            CriterionEvidence(
                name=ledger.name,
                level=ledger.delta,
                bound=kept,
                kept_bound=kept,
                multiplier=0.0,
                home=ledger.homes.astype(np.int32),
                way_home=home.value,
                return_policy=home.policy,
                within=ledger.within,
            )
        )
    action, policy = int(choice.policy[state]), choice.policy[None]
    kind = Correction.MOVES if isinstance(model, Moves) else Correction.GENERAL
    return Plan(
        state=state,
        action=action,
        status=Status.OPTIMAL,
        weights=np.ones(1),
        outbound=policy,
        exploration_value=proposal.rate,
        upper_bound=proposal.rate,
        gap=0.0,
        kept_weights=np.ones(1),
        kept_outbound=policy,
        kept_value=proposal.rate,
        criteria=tuple(criteria),
        evidence=Evidence(lambda: _action_evidence(task, model, state, action, choice)),
        correction=task.planner.correction or kind,
        discount=task.planner.discount,
        method=choice.method,
        rounds=1,
        bonus_left=choice.method != "earn",
        worthless=False,
        waits=False,
        state_names=model.state_names,
        action_names=model.action_names,
        proposal=proposal,
    )


def _stay_evidence(criterion: StayInside, model: Model) -> CriterionEvidence:
    """Return the evidence on a set to stay inside: no action that might leave it is taken."""
    given = criterion.allowed if criterion.allowed.ndim == 2 else criterion.allowed[:, None]
    what = "state-action" if criterion.allowed.ndim == 2 else "state"
    count = int(criterion.allowed.sum())
    return CriterionEvidence(
        name=f"stay inside the set of {count} {what}{'s' * (count != 1)}",
        level=criterion.delta,
        bound=1.0,
        kept_bound=1.0,
        multiplier=0.0,
        home=np.empty(0, np.int32),
        way_home=np.zeros(model.states),
        return_policy=np.full(model.states, -1, np.int32),
        kind="stay",
        allowed=np.broadcast_to(given, (model.states, model.actions)),
    )


def _action_evidence(
    task: Task, model: Model, state: int, action: int, choice: Choice
) -> tuple[ActionEvidence, ...]:
    """Return for each action the best rate that starts with it, and the ways home after it."""
    assert choice.facts is not None
    rates, homes, share = choice.facts()
    leaving = model.leaving(state)
    ways = model.ahead(state, homes.reshape(-1, model.states))
    found = []
    for a in range(model.actions):
        kept = iter(ways[:, a].tolist())
        safety = tuple(
            1.0 if isinstance(c, StayInside) else next(kept) for c in task.planner.criteria
        )
        if a == action:
            verdict = Verdict.CHOSEN
        elif not np.isfinite(model.reward[state, a]):
            verdict = Verdict.UNAVAILABLE
        elif share[a] > 1.0 or (task.allowed is not None and not task.allowed[state, a]):
            verdict = Verdict.UNSAFE
        else:
            verdict = Verdict.NOT_CHOSEN
        weight = float(a == action)
        found.append(ActionEvidence(a, float(leaving[a]), float(rates[a]), safety, weight, verdict))
    return tuple(found)
