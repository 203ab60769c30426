"""The result types of a search for the next proposal, which the explorer's `Guide` reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.held import Account, Held, Proposal


class Limit(NamedTuple):
    """Why a search made no proposal.

    Attributes
    ----------
    left
        Gain that remains anywhere.
    gain
        Gain of the least risky place that exceeds the budget; 0 if there is none.
    share
        Its risk over the remaining budget, above 1; infinite if there is no such place.
    rate
        Best gain per step without risk, if that is below the floor; 0 if there is none.
    """

    left: float
    gain: float = 0.0
    share: float = np.inf
    rate: float = 0.0


class HomeValue(NamedTuple):
    """The way home of one budget, from everywhere.

    Attributes
    ----------
    value
        Lower bound [S] on the probability of coming home.
    policy
        Action [S] to take; −1 at home and where there is no way.
    """

    value: FloatArray
    policy: IntArray


class ActionFacts(NamedTuple):
    """Evidence on each action in the present state.

    Attributes
    ----------
    rates
        Best gain per step [A] that starts with the action.
    homes
        Lower bound [K, S] on the probability of coming home, for each budget.
    share
        Share [A] of the remaining budget that the action would spend.
    """

    rates: FloatArray
    homes: FloatArray
    share: FloatArray


class Choice(NamedTuple):
    """What a search chose.

    Attributes
    ----------
    held
        State of the run before the action: accounts updated for bad news, and idle decisions.
    limit
        Why there is no proposal, if there is none.
    proposal
        What to pursue; None if nothing is worth it.
    policy
        The way out [S]; its action in the present state is the one to take.
    paid
        The accounts [K] after the action, one per budget.
    homes
        The ways home, one for each budget.
    facts
        Callable that computes the evidence on each action.
    method
        Name of the search, for the plan.
    """

    held: Held
    limit: Limit
    proposal: Proposal | None = None
    policy: IntArray = np.empty(0, np.int32)
    paid: tuple[Account, ...] = ()
    homes: tuple[HomeValue, ...] = ()
    facts: Callable[[], ActionFacts] | None = None
    method: str = "rate"
