"""Ways home that are kept from step to step, and repaired where the belief or the account changed.

The risks of the graph are compared with those of the last step. If few differ, ways are repaired;
otherwise the search starts from nothing. Both give the same result, bit by bit. Ways home are found
only up to a given risk. States with a larger risk wait until a search needs them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.planning.graph import Graph, Keys, Waiting, free_again, settle, start_keys

if TYPE_CHECKING:
    from homeward.planning.promise import Promise

MAX_CHANGED_SHARE = 0.05  # share of changed edges up to which ways are repaired
MAX_PARTS = 64  # largest number of lists of waiting states; more are merged into one
NO_STATES: IntArray = np.empty(0, np.int64)
NOTHING_WAITS = Waiting(np.empty(0), np.empty(0), NO_STATES)


class Search(NamedTuple):
    """The input of a search for the ways home of one budget."""

    graph: Graph
    account: Promise  # the edges that the run relies on
    trusted: float  # risk up to which such an edge is free
    homes: IntArray  # [n] ascending
    state: int  # where the explorer is
    most: float  # largest risk that a way home may add


class _Known(NamedTuple):
    """The input of the last search."""

    success: FloatArray  # [S, A] of the graph
    blocked: FloatArray  # [S, A] of the graph
    way: Promise
    trusted: float
    most: float
    held: IntArray  # [n] states on the held way home whose edges risk more than `trusted`


class KeptWays:
    """The ways home of K budgets in arrays [K, S], and the input of the last search of each."""

    def __init__(self, budgets: int, states: int) -> None:
        shape = budgets, states
        self.free, self.choice = np.empty(shape, np.int32), np.empty(shape, np.int32)
        self.added, self.steps = np.empty(shape), np.empty(shape)
        self.relied: list[IntArray] = [NO_STATES] * budgets  # states with an edge, ascending
        self._known: list[_Known | None] = [None] * budgets
        self._later: list[list[tuple[float, Waiting]]] = [[] for _ in range(budgets)]

    def find(self, k: int, search: Search, until: float) -> tuple[Keys, float, float]:
        """Return the ways home of budget `k` that add a risk of at most `until`.

        The arrays are views, which the next search overwrites. Also returns two risks of the held
        way home: the sum over its edges, and the largest lower bound on the risk of one edge.
        """
        graph, account, trusted, homes, state, most = search
        way = account.way
        given = graph, way, trusted, homes, state
        keys = Keys(self.free[k], self.added[k], self.steps[k], self.choice[k])
        changes = self._changes(self._known[k], search)
        if changes is None:
            self.relied[k] = np.flatnonzero(account.way >= 0)
            held, risk, worst = start_keys(*given, keys)
            parts = [graph.source[graph.first[h] : graph.first[h + 1]] for h in homes]
            suspects: IntArray = np.concatenate(parts).astype(np.int64)
            self._later[k] = []
        else:
            known, edges, moved = changes
            new = moved[way[moved] >= 0]
            at = np.searchsorted(self.relied[k], new)
            is_new = np.append(self.relied[k], -1)[at] != new
            if is_new.any():
                self.relied[k] = np.insert(self.relied[k], at[is_new], new[is_new])
            suspects = np.concatenate([edges, moved, known.held])
            more = NO_STATES if trusted == known.trusted else self.relied[k]
            suspects, held, risk, worst = free_again(*given, suspects, more, keys.free)
        self._known[k] = _Known(graph.success, graph.blocked, account, trusted, most, held)
        self.extend(k, search, until, suspects)
        return keys, risk, worst

    def extend(self, k: int, search: Search, until: float, suspects: IntArray = NO_STATES) -> None:
        """Find the ways of budget `k` up to the risk `until`, with the input of the last `find`."""
        until = 2.0 ** math.ceil(math.log2(until)) if 0.0 < until < np.inf else until
        later, waiting = self._later[k], NOTHING_WAITS
        due = [part for least, part in later if least <= until]
        if due:
            waiting = Waiting(*(np.concatenate(parts) for parts in zip(*due, strict=True)))
            later[:] = [(least, part) for least, part in later if least > until]
        graph, _, _, homes, _, most = search
        keys = Keys(self.free[k], self.added[k], self.steps[k], self.choice[k])
        late = settle(graph, homes, most, until, suspects, waiting, keys)
        if len(late.state):
            later.append((float(late.risk.min()), late))
        if len(later) > MAX_PARTS:
            parts = zip(*(part for _, part in later), strict=True)
            risk, steps, state = (np.concatenate(part) for part in parts)
            order = np.lexsort((steps, risk, state))
            order = order[np.append(True, np.diff(state[order]) > 0)]
            late = Waiting(risk[order], steps[order], state[order])
            later[:] = [(float(late.risk.min()), late)]

    def _changes(
        self, known: _Known | None, search: Search
    ) -> tuple[_Known, IntArray, IntArray] | None:
        """Return `known`, the states [n] whose edges changed, and the states [m] whose way changed.

        Returns None if there was no search or many changed: then the search starts from nothing.
        """
        if known is None or known.most != search.most:
            return None
        success, blocked = search.graph.success, search.graph.blocked
        differs = (known.success != success) | (known.blocked != blocked)
        if np.count_nonzero(differs) > MAX_CHANGED_SHARE * differs.size:
            return None
        moved = search.account.changes(known.way)[0]
        return known, np.flatnonzero(differs.any(axis=1)), np.sort(moved)
