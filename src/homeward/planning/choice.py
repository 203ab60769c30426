"""What a search for the next thing to do hands to the explorer's guide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from homeward.arrays import FloatArray, IntArray
    from homeward.planning.held import Account, Held, Proposal


class Limit(NamedTuple):
    """Why a run does not go on.

    Attributes
    ----------
    left
        Gain that is still to be had somewhere.
    gain
        Gain of the place of least risk outside the budget; 0 if there is none.
    share
        Share of what is left of a budget that it would take, above 1; infinite if there is none.
    rate
        Best gain per step that is free but below the floor; 0 if there is none.
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
    """What is known of each action in the present state.

    Attributes
    ----------
    rates
        Best gain per step [A] that starts with the action.
    homes
        Lower bound [K, S] on the probability of coming home, for each budget.
    share
        Share [A] of what is left of a budget that the action would take.
    """

    rates: FloatArray
    homes: FloatArray
    share: FloatArray


class Choice(NamedTuple):
    """What a search chose.

    Attributes
    ----------
    held
        What the run holds before the action: accounts after bad news, and whether there was news.
    limit
        What is left where there is no proposal.
    proposal
        What to pursue; None where nothing is worth it.
    policy
        The way out [S]; its action in the present state is the one to take.
    paid
        The accounts after the action, one for each budget.
    homes
        The ways home, one for each budget.
    facts
        Returns what is known of each action, for the evidence; computed only if it is asked for.
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
