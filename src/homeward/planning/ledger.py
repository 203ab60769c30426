"""The budget of a whole run: which edges its way home relies on, and what has been spent.

At any time the run relies on a set E of edges that contains a way home from the current state. Let
Y = Pr(every edge of E works | observations). Adding edges costs the probability that one of them
never works, at most the sum of ``blocked`` over them; dropping edges costs nothing. With c the cost
of a step, known before it, E[Y after the step | observations] ≥ Y − c. So Y plus what was spent is
a submartingale. If at most 1 − δ is ever spent, E[Y] ≥ δ at any stopping time of the observations
at which the run is called off (``docs/theory.md``, section 11).

E is stored as one action per state, ``way`` [S]. Ways home are found on the graph in which edges of
E are free. If an edge of the held way has become doubtful (bad news), another way replaces it if
that costs nothing or the budget allows it.

If home must be reached within a number of steps, only the first attempt of an edge counts:
Y = E[Π P over E | observations], an edge adds 1 − E[P], and a way has as many steps as edges. The
same proof holds for this Y, also if moves fail at random within a world.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homeward.arrays import frozen
from homeward.planning.graph import Graph
from homeward.planning.held import Account
from homeward.planning.ways import new_risk, relied_on, ways_home, with_way
from homeward.solvers.graphs import ways_to

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray

BUDGET_TOLERANCE = 1e-9
"""Probability that may be spent beyond 1 − δ: an allowance for rounding."""

MAX_TRUSTED_SHARE = 0.1
"""Share of what is left: up to this risk, an edge that was paid for stays free."""


class Survey(NamedTuple):
    """The ways home from everywhere, as a ledger sees them.

    Attributes
    ----------
    account
        What is held, after bad news has been dealt with.
    added
        Risk [S] that the best way home from a state would add; infinite where there is none.
    total
        Its risk [S] with the edges that are relied on already.
    steps
        Its expected steps [S].
    choice
        Its first action [S]; −1 at home and where there is no way.
    free
        Edges [S] that can be used at no charge.
    lost
        Whether there is surely no way home left.
    """

    account: Account
    added: FloatArray
    total: FloatArray
    steps: FloatArray
    choice: IntArray
    free: IntArray
    lost: bool


@dataclass(frozen=True, slots=True, eq=False)
class Ledger:
    """Keeps one home reachable with probability `delta` over a whole run.

    Attributes
    ----------
    homes
        Home states [n]; any of them will do.
    delta
        Safety level δ.
    within
        Steps that a way home may take; None for any number.
    """

    name: str
    homes: IntArray
    delta: float
    within: int | None = None

    def left(self, account: Account) -> float:
        """Return the probability that may still be spent."""
        return max(0.0, 1.0 - self.delta + BUDGET_TOLERANCE - account.spent)

    def open(self, graph: Graph, state: int) -> Account:
        """Return the first account of a run that starts in `state`: it pays for a way home."""
        if self.within is not None:
            graph = self._with_deadline(graph)
        nothing = frozen(np.full(graph.model.states, -1, np.int32))
        _, total, steps, choice = self._search(graph, nothing)
        if not self._in_time(steps[state]):
            return Account(nothing, 1.0)
        way = with_way(graph.model.dest, choice, self.homes, state, nothing)
        return Account(frozen(way), min(1.0, float(total[state])))

    def survey(self, graph: Graph, account: Account, state: int, *, whole: bool = False) -> Survey:
        """Find the ways home; if the held one has become doubtful, look for a better one.

        Ways that cost more than the remaining budget are left out, unless `whole`.
        """
        if self.within is not None:
            graph = self._with_deadline(graph)
        trusted = MAX_TRUSTED_SHARE * self.left(account)
        edges = graph.model.dest, graph.blocked, graph.least
        free, total, worst = relied_on(*edges, account.way, trusted, self.homes, state)
        lost = False
        if total > trusted:
            account, lost = self._after_bad_news(graph, account, state, free, total, worst)
            trusted = MAX_TRUSTED_SHARE * self.left(account)
            free, _, _ = relied_on(*edges, account.way, trusted, self.homes, state)
        most = 1.0 if whole or lost else self.left(account)
        return Survey(account, *self._search(graph, free, most), free, lost)

    def pay(self, graph: Graph, survey: Survey, state: int, action: int) -> Account:
        """Return the account after an action: the way home from its destination may add edges."""
        dest, account = graph.model.dest, survey.account
        there = int(dest[state, action])
        if survey.lost or there == state:
            return account
        blocked = graph.blocked if self.within is None else self._with_deadline(graph).blocked
        cost = float(new_risk(dest, blocked, survey.free, survey.choice, self.homes, there))
        way = with_way(dest, survey.choice, self.homes, there, account.way)
        return Account(frozen(way), min(1.0, account.spent + cost))

    def _after_bad_news(
        self,
        graph: Graph,
        account: Account,
        state: int,
        free: IntArray,
        total: float,
        worst: float,
    ) -> tuple[Account, bool]:
        """Return the account with another way home if that is better, and whether all are lost.

        Two charges are valid. Keeping the held edges and adding the new way's costs the sum of the
        added risks. Relying on the new way alone costs the difference of the bounds: the new way
        works with probability ≥ 1 − risk, the old one with probability ≤ 1 − `worst`. A risk of 1
        or more does not prove that a way is lost; an edge that surely never works does.
        """
        nothing = np.full(graph.model.states, -1, np.int32)
        _, risks, steps, choice = self._search(graph, nothing)
        risk = float(risks[state]) if self._in_time(steps[state]) else np.inf
        if risk >= 1.0 and worst >= 1.0:
            return account, True
        if risk >= total:
            return account, False
        adding = new_risk(graph.model.dest, graph.blocked, free, choice, self.homes, state)
        alone = max(0.0, risk - worst)
        if min(adding, alone) > self.left(account):
            return account, False
        way, cost = (account.way, adding) if adding <= alone else (nothing, alone)
        longer = with_way(graph.model.dest, choice, self.homes, state, way)
        return Account(frozen(longer), min(1.0, account.spent + cost)), False

    def _search(
        self, graph: Graph, free: IntArray, most: float = 1.0
    ) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
        """Return `Survey.added`, `total`, `steps` and `choice`; `free` [S] edges add no risk."""
        shortest = self.within is not None
        if shortest:
            most = 1.0 - self.delta + BUDGET_TOLERANCE
        edges = graph.success, graph.blocked, free, self.homes, *ways_to(graph.model)
        found: tuple[FloatArray, FloatArray, FloatArray, IntArray]
        found = ways_home(*edges, most, shortest)
        return found

    def _with_deadline(self, graph: Graph) -> Graph:
        """Return the graph on which only first attempts count."""
        model = graph.model
        moves = model.dest != np.arange(model.states)[:, None]
        failed = np.where(moves, 1.0 - graph.success, 0.0)
        return Graph(model, np.ones_like(graph.success), failed, graph.least)

    def _in_time(self, steps: float) -> bool:
        return bool(steps <= (np.inf if self.within is None else self.within))
