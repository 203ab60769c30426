"""Decisions of a run that plans until the next news, made again after any of its steps.

Such a run carries along what it holds: ways home that are paid for, and what it pursues. Records
hold the differences from step to step. They are folded once; every so many steps the result is
kept, so that any step is near.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.planning.graph import graph_of
from homeward.planning.guide import Guide
from homeward.planning.held import Held
from homeward.solvers import ReturnSolution, Status

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.beliefs import Belief
    from homeward.planning.guide import Decision
    from homeward.planning.held import Proposal
    from homeward.replay.log_reader import LogTail
    from homeward.replay.moment import Moment
    from homeward.runs import Setup

SPACING = 32
"""Steps between two that are kept, while there is room."""

ROOM = 64 << 20
"""Bytes that what is kept of one run may take."""


class Pursuits:
    """What a run held and decided after each of its steps."""

    def __init__(self, setup: Setup, start: int, first: Belief, tail: LogTail) -> None:
        self.setup, self.start, self.tail = setup, start, tail
        held = self._guide().open(first)
        self.spacing = SPACING
        self._kept: dict[int, Held] = {0: held}
        self._recent: tuple[int, Held] = (0, held)
        self._size = max(1, sum(account.way.nbytes for account in held.accounts))

    def held(self, step: int) -> Held:
        """Return what was held after so many steps."""
        first = min(step - step % self.spacing, max(self._kept))
        number, held = first, self._kept[first]
        if first < self._recent[0] <= step:
            number, held = self._recent
        while number < step:
            held = Held.decode(self.tail.holdings[number], held)
            number += 1
            if number % self.spacing == 0:
                self._keep(number, held)
        self._recent = step, held
        return held

    def decide(self, moment: Moment) -> Decision:
        """Return the decision that was made after a moment.

        Each has a guide of its own: what a guide remembers of gains holds for later steps only.
        """
        return self._guide().decide(moment.belief, moment.state, self.held(moment.step))

    def returns(self, moment: Moment) -> tuple[IntArray, ReturnSolution] | None:
        """Return the first home that is kept and the ways there as the run sees them.

        Moves that it relies on already are taken before surer ones. None if no home is kept.
        """
        ledgers = self._guide().ledgers(moment.belief)
        if not ledgers:
            return None
        graph = graph_of(moment.belief, moment.model, self.setup.planner.correction)
        account = self.held(moment.step).accounts[0]
        survey = ledgers[0].survey(graph, account, moment.state, whole=True)
        value = np.clip(1.0 - survey.total, 0.0, 1.0)
        found = ReturnSolution(value, survey.choice, 0.0, Status.OPTIMAL, 1)
        return ledgers[0].homes.astype(np.int32), found

    def _guide(self) -> Guide:
        return Guide(self.setup.planner, self.start, self.setup.floor)

    def _keep(self, number: int, held: Held) -> None:
        self._kept[number] = held
        while len(self._kept) > 2 and len(self._kept) * self._size > ROOM:
            self.spacing *= 2
            self._kept = {n: kept for n, kept in self._kept.items() if n % self.spacing == 0}


def heading(proposal: Proposal, unit: str | None, columns: int) -> str:
    """Say where a proposal leads and what is expected of it, in one sentence."""
    counted = f" {unit}" if unit else ""
    steps = "1 step" if proposal.steps == 1.0 else f"{proposal.steps:.3g} steps"
    rate = f"{proposal.rate:.3g}{counted} per step"
    expects = f"expects {proposal.gain:.3g}{counted} within {steps}: {rate}"
    if len(proposal.path) == 1:
        return f"It {expects}."
    row, column = divmod(proposal.path[-1], columns)
    return f"It heads for row {row}, column {column} and {expects}."


def proposal_told(proposal: Proposal, unit: str | None) -> dict[str, Any]:
    """Return a proposal as JSON values."""
    return {
        "path": list(proposal.path),
        "gain": proposal.gain,
        "steps": proposal.steps,
        "rate": proposal.rate,
        "share": proposal.share if np.isfinite(proposal.share) else None,
        "unit": unit,
    }
