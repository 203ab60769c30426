"""Build the `Plan`, with its evidence, that pursues the proposal of a search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.corrections import Correction
from homeward.criteria import StayInside
from homeward.models import Model, Moves
from homeward.planning.plan import CriterionEvidence, Evidence, Plan, Verdict
from homeward.referee.claims import ActionEvidence
from homeward.shared import Deferred
from homeward.solvers import Status

if TYPE_CHECKING:
    from homeward.planning.guide import Task
    from homeward.planning.promise import Promise, Proposal


class Limit(NamedTuple):
    """The gain that is left, and why a search made no proposal."""

    left: float  # remaining gain of all states; when a run ends, only of those in reach
    gain: float = 0.0  # gain of the least risky state that exceeds the budget; 0 without one
    share: float = np.inf  # risk of that state over the remaining budget; infinite without one
    rate: float = 0.0  # best gain per step without risk, if below the floor; 0 without one


def plan_of(
    task: Task,
    model: Model,
    state: int,
    proposal: Proposal,
    action: int,
    policy: Callable[[], IntArray],
    paid: Sequence[Promise],
    homes: Sequence[tuple[Any, Any]],
    facts: Callable[[], tuple[Model, FloatArray, FloatArray, FloatArray]],
    method: str = "rate",
) -> Plan:
    """Return the plan that pursues a proposal by an `action`.

    `policy` computes the outbound policy [S]. For each ledger, `paid` has the account after the
    action, and `homes` the bound [S] on coming home with the return policy [S], as arrays or
    `Deferred`. `facts` computes the mean model, the best rate [A] of a proposal that starts with
    each action, for each ledger the bound [K, A] on coming home after each action, and the share
    [A] of the budget that each action would spend.
    """
    states = model.states
    kept, criteria = zip(task.ledgers, homes, paid, strict=True), []
    for criterion in task.planner.criteria:
        if isinstance(criterion, StayInside):  # no action that might leave the set is taken
            evidence = CriterionEvidence(
                name=criterion.name,
                level=criterion.delta,
                bound=1.0,
                kept_bound=1.0,
                multiplier=0.0,
                home=np.empty(0, np.int32),
                way_home=cast("FloatArray", Deferred(lambda: np.zeros(states))),
                return_policy=cast("IntArray", Deferred(lambda: np.full(states, -1, np.int32))),
                kind="stay",
                allowed=criterion.mask(model),
            )
        else:
            ledger, (value, way), account = next(kept)
            evidence = CriterionEvidence(
                name=ledger.name,
                level=ledger.delta,
                bound=max(0.0, 1.0 - account.spent),
                kept_bound=max(0.0, 1.0 - account.spent),
                multiplier=0.0,
                home=ledger.homes.astype(np.int32),
                way_home=value,
                return_policy=way,
                within=ledger.within,
                evaluator=task.evaluator,
            )
        criteria.append(evidence)
    outbound: Any = Deferred(lambda: policy()[None])
    kind = Correction.MOVES if isinstance(model, Moves) else Correction.GENERAL
    return Plan(
        state=state,
        action=action,
        status=Status.OPTIMAL,
        weights=np.ones(1),
        outbound=outbound,
        exploration_value=proposal.rate,
        upper_bound=proposal.rate,
        gap=0.0,
        kept_weights=np.ones(1),
        kept_outbound=outbound,
        kept_value=proposal.rate,
        criteria=tuple(criteria),
        evidence=Evidence(lambda: _action_evidence(task, state, action, facts)),
        correction=task.planner.correction or kind,
        discount=task.planner.discount,
        method=method,
        rounds=1,
        bonus_left=method != "earn",
        worthless=False,
        waits=False,
        state_names=model.state_names,
        action_names=model.action_names,
        proposal=proposal,
    )


def _action_evidence(
    task: Task,
    state: int,
    action: int,
    facts: Callable[[], tuple[Model, FloatArray, FloatArray, FloatArray]],
) -> tuple[ActionEvidence, ...]:
    """Return for each action its rate, the bounds on coming home after it, and its verdict."""
    model, rates, after, share = facts()
    leaving, ways = model.leaving(state), after.reshape(-1, model.actions)
    evidence = []
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
        numbers = float(leaving[a]), float(rates[a]), safety, weight
        evidence.append(ActionEvidence(a, *numbers, verdict, float(share[a])))
    return tuple(evidence)
