"""The way home: what is proven of a stored return policy.

A state from which the policy can't end, or whose value would be negative, counts as giving up
there: 0 is below any probability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from homeward.certificates.chain import solve

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.believed import Believed
    from homeward.planning.plan import CriterionEvidence


def way_home(world: Believed, correction: str, criterion: CriterionEvidence) -> FloatArray:
    """Give what is proven of the stored way home [S]."""
    at_home = np.zeros(world.shape[0], dtype=bool)
    at_home[criterion.home] = True
    sigma = world.general if correction != "naive" else np.zeros(world.shape)
    at_once = correction == "moves" and world.graph is not None
    if criterion.within is not None:
        return _within(world, sigma, criterion, criterion.within, at_home, at_once)
    if at_once:
        assert world.graph is not None
        sigma = world.graph.returning()
    policy = criterion.return_policy
    active = (policy >= 0) & ~at_home
    value = at_home.astype(np.float64)
    while active.any():
        active &= _can_end(world, policy, active)
        each = np.flatnonzero(active)
        if not len(each):
            break
        rows = world.rows[each * world.shape[1] + policy[each]]
        ending = world.ending[each * world.shape[1] + policy[each]]
        value = at_home.astype(np.float64)
        gain = sigma[each, policy[each]] + rows @ value
        value[each] = solve(rows[:, each], ending + rows[:, ~active].sum(axis=1), gain, 1.0)
        if not (value[each] < 0.0).any():
            break
        active &= value >= 0.0
    return np.clip(np.where(active | at_home, value, 0.0), 0.0, 1.0)


def _within(
    world: Believed,
    sigma: FloatArray,
    criterion: CriterionEvidence,
    steps: int,
    at_home: BoolArray,
    at_once: bool,
) -> FloatArray:
    """Give what is proven of the way home with a limit [S], layer by layer."""
    states, actions = world.shape
    each = np.arange(states)
    assert criterion.return_since is not None
    last = int(criterion.return_since[-1])
    value = at_home.astype(np.float64)
    for left in range(1, steps + 1):
        policy = criterion.return_with(left)
        act = np.maximum(policy, 0).astype(np.int64)
        ahead = sigma[each, act] + world.rows[each * actions + act] @ value
        if at_once:
            assert world.graph is not None
            first = value[world.graph.dest[each, act]] - (1.0 - world.graph.success[each, act])
            ahead = np.maximum(ahead, first)
        after = np.where(policy >= 0, np.clip(ahead, 0.0, 1.0), 0.0)
        after[at_home] = 1.0
        still = left > last and np.abs(after - value).max() <= 1e-16
        value = after
        if still:
            break
    return value


def _can_end(world: Believed, policy: IntArray, active: BoolArray) -> BoolArray:
    """Tell from which active states [S] a policy leaves the active ones, or ends, some time."""
    states, actions = world.shape
    each = np.flatnonzero(active)
    rows = world.rows[each * actions + policy[each]].tocoo()
    real = rows.data > 0.0
    start, there = each[rows.row[real]], rows.col[real]
    ends = each[world.ending[each * actions + policy[each]] > 0.0]
    sink = states
    there = np.where(active[there], there, sink)
    back = (np.concatenate([there, np.full(len(ends), sink)]), np.concatenate([start, ends]))
    graph = csr_array((np.ones(len(back[0])), back), shape=(states + 1, states + 1))
    found = np.zeros(states + 1, dtype=bool)
    found[breadth_first_order(graph, sink, return_predecessors=False)] = True
    return found[:states]
