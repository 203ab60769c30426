"""The task of a whole run: its budgets, allowed actions and floor, from a planner's criteria.

Each way home that a criterion requires becomes a budget (`ledger.Ledger`). Sets to stay inside
become one mask of the actions that surely stay inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import index, is_nothing
from homeward.bonuses import InformationGain, Uncover
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.ledger import Ledger
from homeward.planning.planner import check_rewards
from homeward.safety import ReturnHome, ReturnWithin, StayInside

if TYPE_CHECKING:
    from homeward.arrays import BoolArray
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.planning.planner import Planner

NATS_FLOOR = 0.05
"""Default floor of information gain, in nats per step."""

RELATIVE_FLOOR = 1e-3
"""Default floor of other bonuses per step, as a share of the largest bonus."""

MIN_FLOOR = 1e-300
"""Smallest floor: a gain of 0 is never worth a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The task of a run.

    Attributes
    ----------
    planner
        The bonus to collect, the criteria to keep, the discount and the correction.
    ledgers
        The homes to be kept, each with its budget.
    allowed
        Mask [S, A] of the actions that may be taken; None allows all.
    floor
        Smallest gain per step that is worth pursuing, above 0.
    on_graph
        Whether the run is planned on a move-or-stay graph without rewards. Accounts of the two
        kinds of models differ, so this stays fixed during a run.
    """

    planner: Planner
    ledgers: tuple[Ledger, ...]
    allowed: BoolArray | None
    floor: float
    on_graph: bool = True


def task_of(
    planner: Planner, belief: Belief, model: Model, start: int, floor: float | None
) -> Task:
    """Return the task of a run from `start`; `model` is the mean of the belief."""
    check_rewards(model)
    on_graph = isinstance(model, Moves) and (
        is_nothing(model.reward) or not (np.isfinite(model.reward) & (model.reward != 0.0)).any()
    )
    allowed = _allowed(planner, model)
    if allowed is not None:
        here = allowed[start] & np.isfinite(model.reward[start])
        if not here.any():
            raise InvalidProblemError(
                f"{_place(model, start)} is outside the set to stay inside: no action that can be "
                "chosen there surely stays in it"
            )
    ledgers = []
    for criterion in planner.criteria:
        if isinstance(criterion, StayInside):
            continue
        if not isinstance(criterion, ReturnHome | ReturnWithin):
            raise InvalidProblemError(
                f"{type(criterion).__name__} is kept plan by plan: use PaperExplorer"
            )
        if isinstance(criterion, ReturnWithin) and not on_graph:
            raise InvalidProblemError(
                "ReturnWithin is kept over a whole run where moves work or stay and nothing is "
                "earned; elsewhere it is kept plan by plan: use PaperExplorer"
            )
        if isinstance(criterion.home, str) and criterion.home == "current":
            raise InvalidProblemError(
                'home="current" is the promise of a single plan: use PaperExplorer, or home="start"'
            )
        ledgers.append(_ledger(criterion, model, start))
    if floor is None:
        floor = _default_floor(planner, belief)
    return Task(planner, tuple(ledgers), allowed, max(floor, MIN_FLOOR), on_graph)


def _allowed(planner: Planner, model: Model) -> BoolArray | None:
    """Return the mask [S, A] of actions that all sets to stay inside allow; None without sets.

    An action is allowed if it surely leads to a state in which the set has an action.
    """
    allowed: BoolArray | None = None
    shape = (model.states, model.actions)
    for criterion in planner.criteria:
        if isinstance(criterion, StayInside):
            given = criterion.allowed
            if given.shape != shape[: given.ndim]:
                raise InvalidProblemError(
                    f"the set to stay inside has shape {given.shape}, expected "
                    f"{shape[:1]} or {shape}"
                )
            open_states: BoolArray = given if given.ndim == 1 else np.any(given, axis=1)
            if isinstance(model, Moves):
                leads = open_states[model.dest]
            else:
                outside = (~open_states).astype(np.float64)
                leads = (model.transitions @ outside).reshape(shape) <= 0.0
            mine = leads & (given[:, None] if given.ndim == 1 else given)
            allowed = mine if allowed is None else allowed & mine
    return allowed


def _ledger(criterion: ReturnHome | ReturnWithin, model: Model, start: int) -> Ledger:
    """Return the budget of a criterion."""
    homes = [start] if isinstance(criterion.home, str) else np.atleast_1d(criterion.home).tolist()
    states = np.unique([index(h, model.states, "home", InvalidProblemError) for h in homes])
    within = criterion.steps if isinstance(criterion, ReturnWithin) else None
    name = f"return to {', '.join(_place(model, h) for h in states.tolist())}"
    if within is not None:
        name += f" within {within} step{'s' * (within != 1)}"
    return Ledger(name, states.astype(np.int64), criterion.delta, within)


def _place(model: Model, state: int) -> str:
    return model.state_names[state] if model.state_names else f"state {state}"


def _default_floor(planner: Planner, belief: Belief) -> float:
    """Return the floor of gain per step in the unit of the bonus."""
    bonus = planner.bonus
    if isinstance(bonus, InformationGain):
        return NATS_FLOOR
    if isinstance(bonus, Uncover):
        return RELATIVE_FLOOR * bonus.reward
    most = bonus(belief)  # 1/(2S): longer ways depend on luck
    return max(RELATIVE_FLOOR, 0.5 / len(most)) * float(np.max(most))
