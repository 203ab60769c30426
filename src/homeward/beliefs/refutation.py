"""What contradicts a belief, and what a contradicted belief still learns.

A belief is *refuted* if something happened to which it gave a probability of at most
`SURELY_NOT`: a move that it held certain failed, or one that it ruled out worked, or what was
measured later rules out the outcome of a move. A probability as small can't be told from 0: it is
what rounding may hide (`planning.promise.BUDGET_TOLERANCE`), so a run charges nothing for it and
calls the move certain. Above it, Bayes' rule applies: a move of probability .9999999 may fail, and
the belief learns from that. If the belief is right, a run of n moves refutes it with a probability
of the order of n · `SURELY_NOT` (``docs/theory.md``, section 11).

A refuted belief proves nothing any more. It still learns what was measured, but not what refuted
it: conditioning on an event of probability 0 has no meaning. So it stays consistent, and each
further report can be taken. `learned` is the one place where claims meet outcomes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from homeward.arrays import IntArray
from homeward.beliefs.base import Belief, need_updated
from homeward.beliefs.observations import Labels, Transition
from homeward.errors import ImpossibleObservationError
from homeward.models import Moves

SURELY_NOT = 1e-9  # largest probability of an outcome that refutes a belief

B = TypeVar("B", bound=Belief)


class Learned(NamedTuple, Generic[B]):
    """The result of `absorbed`."""

    belief: B  # the belief after the observation
    refuted: bool  # whether what happened refutes the belief before
    changed: IntArray | None  # the changed states [n], as from `Belief.absorb`


def learned(belief: B, observation: Any, moved: Transition | None = None) -> tuple[B, bool]:
    """Return the belief after an observation, and whether what happened refutes the belief before.

    `moved` is the move before the observation; None without a move.
    """
    return absorbed(belief.copy(), observation, moved)[:2]


def absorbed(belief: B, observation: Any, moved: Transition | None = None) -> Learned[B]:
    """Do what `learned` does, in place where the belief can; it must not be used afterwards."""
    tried = _transition_in(observation) or moved
    if tried is not None and is_ruled_out(belief, tried):
        return Learned(_measured(belief, observation), True, None)
    try:
        after, changed = _absorb(belief, observation)
    except ImpossibleObservationError:
        return Learned(_measured(belief, observation), True, None)
    refuted = tried is not None and tried is moved and is_ruled_out(after, tried)
    return Learned(after, refuted or after.is_contradicted(), changed)


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
        return _absorb(belief, observation)[0]
    except ImpossibleObservationError:
        return belief


def _absorb(belief: B, observation: Any) -> tuple[B, IntArray | None]:
    """Return what `Belief.absorb` returns; raise unless the belief after it is a belief."""
    after, changed = belief.absorb(observation)
    return need_updated(belief, after), changed
