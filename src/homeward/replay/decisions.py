"""Decisions of a run with a level for the whole run, made again after any of its steps.

Such a run carries along what it holds: ways home that are paid for, and its proposal. Records hold
the differences from step to step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from homeward.models import Moves
from homeward.planning.graph import graph_of
from homeward.planning.guide import Guide
from homeward.planning.held import Held
from homeward.planning.returns import returns_of
from homeward.replay.checkpoints import Checkpoints
from homeward.solvers import ReturnSolution, Status

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.beliefs import Belief
    from homeward.planning.guide import Decision
    from homeward.replay.log_reader import LogReader
    from homeward.replay.moment import Moment
    from homeward.runs import Setup

SPACING = 32
"""Initial number of steps between two checkpoints."""

MAX_BYTES = 64 << 20
"""Maximum size of the checkpoints of one run, in bytes."""


class Decisions:
    """What a run held and decided after each of its steps."""

    def __init__(self, setup: Setup, start: int, first: Belief, log: LogReader) -> None:
        self.setup, self.start = setup, start
        held = self._guide().open(first)
        size = max(1, sum(account.way.nbytes for account in held.accounts))
        self.kept = Checkpoints(
            held,
            lambda step, before: Held.decode(log.holdings[step - 1], before),
            lambda held, before: size,
            SPACING,
            MAX_BYTES,
        )

    def held(self, step: int) -> Held:
        """Return what was held after a number of steps."""
        return self.kept.at(step)

    def decide(self, moment: Moment) -> Decision:
        """Return the decision that was made after a moment.

        Each has its own guide, since the gains that a guide remembers hold for later steps only.
        """
        return self._guide().decide(moment.belief, moment.state, self.held(moment.step))

    def returns(self, moment: Moment) -> tuple[IntArray, ReturnSolution] | None:
        """Return the first home of the criteria and the ways there, by what the run knows.

        Moves that it already relies on are preferred to surer ones. None without a home.
        """
        ledgers = self._guide().ledgers(moment.belief)
        if not ledgers:
            return None
        ledger, correction = ledgers[0], self.setup.planner.correction
        account, model = self.held(moment.step).accounts[0], moment.model
        if isinstance(model, Moves):
            graph = graph_of(moment.belief, model, correction)
            survey = ledger.survey(graph, account, moment.state, whole=True)
            value, policy = survey.value, survey.choice
        else:
            sparse = model.sparse()
            ways = returns_of(moment.belief, sparse, ledger, account, moment.state, correction)
            value, policy = ways.value, ways.account.way
        found = ReturnSolution(value, policy, 0.0, Status.OPTIMAL, 1)
        return ledger.homes.astype(np.int32), found

    def _guide(self) -> Guide:
        return Guide(self.setup.planner, self.start, self.setup.floor)
