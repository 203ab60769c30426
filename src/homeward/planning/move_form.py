"""Choice between two forms of a `FiniteBelief`: move-or-stay models, or general transitions.

If each action moves to one destination or stays, a belief over `SparseMDP` has an equal form over
`Moves`, with tighter bounds (``docs/theory.md``, the moves correction). A single plan uses that
form. A run keeps the general form if it can: then its ways home adapt to the observations, which
gains more than tighter bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from homeward.beliefs import Belief, FiniteBelief
from homeward.criteria import Criterion, ReturnHome
from homeward.planning.returning.worlds import MAX_WORLDS


def belief_of_plan(belief: Belief) -> Belief:
    """Return the move-or-stay form of a `FiniteBelief` that has one, else the belief itself."""
    return belief if not isinstance(belief, FiniteBelief) else belief.as_moves() or belief


def belief_of_run(belief: Belief, criteria: Sequence[Criterion]) -> Belief:
    """Return the form of a belief that a run is planned on: general or move-or-stay.

    It is the move-or-stay form if a criterion limits the steps of the return or of the run, or if
    there are more than `MAX_WORLDS` worlds: then ways home do not adapt.
    """
    if not isinstance(belief, FiniteBelief):
        return belief
    limited = any(isinstance(c, ReturnHome) and (c.within or c.limits) for c in criteria)
    many = len(belief.worlds) > MAX_WORLDS
    return belief_of_plan(belief) if limited or many else belief
