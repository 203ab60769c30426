"""What contradicts a belief, and what a contradicted belief still learns.

A belief is *refuted* if something happened to which it gave a probability of at most
`SURELY_NOT`: a move that it held certain failed, or one that it ruled out worked. A probability as
small can't be told from 0: it is what rounding may hide (`planning.promise.BUDGET_TOLERANCE`), so a
run charges nothing for it and calls the move certain. Above it, Bayes' rule applies: a move of
probability .9999999 may fail, and the belief learns from that. If the belief is right, a run of n
moves refutes it with probability at most n · `SURELY_NOT` (``docs/theory.md``, section 11).

A refuted belief proves nothing any more. It still learns what was measured, but not what refuted
it: conditioning on an event of probability 0 has no meaning. So it stays consistent, and each
further report can be taken. `learned` is the one place where claims meet outcomes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from homeward.beliefs.base import Belief, updated
from homeward.beliefs.observations import Labels, Transition
from homeward.errors import ImpossibleObservationError
from homeward.models import Moves

SURELY_NOT = 1e-9  # largest probability of an outcome that refutes a belief

B = TypeVar("B", bound=Belief)


def learned(belief: B, observation: Any, moved: Transition | None = None) -> tuple[B, bool]:
    """Return the belief after an observation, and whether what happened refutes the belief before.

    `moved` is the move before the observation; None without a move.
    """
    tried = _transition_in(observation) or moved
    refuted = tried is not None and is_ruled_out(belief, tried)
    try:
        after = updated(belief, observation) if not refuted else _measured(belief, observation)
    except ImpossibleObservationError:
        return _measured(belief, observation), True
    if tried is not None and not refuted and tried is moved:  # the observation has no move
        refuted = is_ruled_out(after, tried)
    return after, refuted


def is_ruled_out(belief: Belief, moved: Transition) -> bool:
    """Return whether the probability of a move's outcome is at most `SURELY_NOT`."""
    model = belief.mean()
    state, action, after = moved.numbers(Labels.of(model))
    if after is None:  # the process ended
        return False
    if not isinstance(model, Moves):
        return float(model.row(state, action)[after]) <= SURELY_NOT
    there, works = int(model.dest[state, action]), float(model.success[state, action])
    if after not in (state, there):
        return True
    if there == state:
        return False
    if after == state:
        return 1.0 - works <= SURELY_NOT
    if works <= SURELY_NOT:  # it may be only a lower bound
        works = float(belief.success_bounds()[1][state, action])
    return works <= SURELY_NOT


def _transition_in(observation: Any) -> Transition | None:
    """Return the last move that an observation, or a list of them, tells of; None without one."""
    if isinstance(observation, Transition):
        return observation
    if isinstance(observation, tuple | list):
        moves = [move for part in observation if (move := _transition_in(part)) is not None]
        return moves[-1] if moves else None
    found = getattr(observation, "moved", None)
    return found if isinstance(found, Transition) else None


def _measured(belief: B, observation: Any) -> B:
    """Return the belief after all parts of an observation that are no moves and not impossible."""
    if isinstance(observation, tuple | list):
        for part in observation:
            belief = _measured(belief, part)
        return belief
    if isinstance(observation, Transition):
        return belief
    if is_dataclass(observation) and "moved" in {field.name for field in fields(observation)}:
        observation = replace(observation, moved=None)  # type: ignore[type-var]
    try:
        return updated(belief, observation)
    except ImpossibleObservationError:
        return belief
