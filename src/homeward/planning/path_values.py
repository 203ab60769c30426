"""Tighter bounds on a plan's policies in worlds in which each move always works or never does.

An outbound policy then follows one path s₀, s₁, … up to the first move that fails, and stays there;
so does a return policy. Let A_k be the event that the first k moves and the way home from s_k work,
and B_k the event that the next move out works as well. A recall comes before each step with
probability 1 − γ, so the explorer comes home with probability

    Σ_k  (1 − γ) γᵏ Pr(A_k) + γᵏ⁺¹ (Pr(A_k) − Pr(B_k)).

Each term is at least 0, so the sum may end early. Where the path runs into a cycle, all moves are
known to work from then on and the rest is a geometric series. An action that leaves a set to stay
inside ends the sum. `StayInside` needs no way home; for `EarnAtLeast` term k is weighted by the
reward in s_k (``docs/theory.md``, section 14).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs.base import Belief, MoveSets
from homeward.compiling import njit
from homeward.models import Moves
from homeward.solvers.tolerances import ROUNDING

if TYPE_CHECKING:
    from homeward.criteria import Requirement
    from homeward.planning.world_values import Followed

MIN_WEIGHT = 1e-6  # the sum ends at a term whose γᵏ times success probabilities is smaller
MAX_MOVES = 2**22  # largest number of moves in all sets; later terms are left out


def path_values(
    belief: Belief, followed: Followed, requirement: Requirement, policies: Iterable[IntArray]
) -> tuple[FloatArray, str] | None:
    """Return a lower bound [J] on a criterion's total under each policy [S], and the evaluator.

    Returns None if the recall is fixed, or if moves can fail at random.
    """
    model, r = belief.mean(), requirement
    if followed.steps is not None or not isinstance(model, Moves) or not belief.moves_work_or_never:
        return None
    each = np.arange(model.states)
    at_home = np.zeros(model.states, dtype=bool)
    at_home[r.home] = True
    layers = r.returns.policy[None] if r.returns.layers is None else r.returns.layers
    since = np.zeros(1, np.int64) if r.returns.since is None else r.returns.since
    limit = -1 if r.kind != "return" else model.states if r.within is None else r.within
    γ, bounds = followed.discount, []
    for policy in policies:
        exits = np.zeros(model.states, dtype=bool)
        if followed.exits is not None:
            exits = followed.exits[each, policy]
        worth: FloatArray = np.broadcast_to(1.0, model.states)
        if r.kind == "earn" and r.worth is not None:
            worth = r.worth[each, policy]
        first, states, actions, places, pairs, weights = walk_sets(
            model.dest,
            model.success,
            policy.astype(np.int64),
            exits,
            layers.astype(np.int64),
            since.astype(np.int64),
            at_home,
            limit,
            followed.state,
            γ,
        )
        together = belief.work_together(MoveSets(first, states, actions))
        low = np.where(places >= 0, together.low, 0.0)
        high = np.where(places >= 0, together.high, 0.0)
        out, on, powers = low[: 2 * pairs : 2], high[1 : 2 * pairs : 2], γ ** np.arange(pairs)
        least, exact = (1.0 - γ) * powers * out, powers * out - γ * powers * on
        total = worth[places[: 2 * pairs : 2]] @ np.maximum(least, exact)
        total += worth[places[2 * pairs :]] @ (weights * low[2 * pairs :])
        bounds.append(float(total) - ROUNDING * (len(low) + model.states))
    return np.array(bounds), belief.evaluator


@njit(cache=True)
def walk_sets(
    dest: IntArray,
    success: FloatArray,
    policy: IntArray,
    exits: BoolArray,
    layers: IntArray,
    since: IntArray,
    at_home: BoolArray,
    limit: int,
    state: int,
    discount: float,
) -> tuple[IntArray, IntArray, IntArray, IntArray, int, FloatArray]:
    """Return the sets of moves of the events A₀, B₀, A₁, B₁, …, then single sets.

    A single set is the event A_k of a state of a final cycle, or of the last state of the path.
    Sets are as in `MoveSets`, without moves that always work. Also returns the state s_k [N] of
    each set (−1 if it has no way home), the number of pairs A_k, B_k, and the weights of the single
    sets in the sum. A way home takes at most `limit` moves. With n steps left it follows the last
    return policy of `layers` [L, S] whose `since` [L] is at most n. No way home is needed if
    `limit` is negative.
    """
    states, actions = np.empty(256, np.int64), np.empty(256, np.int64)
    first, places = np.zeros(256, np.int64), np.empty(256, np.int64)
    weights = np.empty(len(dest) + 1)
    path, met = np.empty(len(dest) + 1, np.int64), np.full(len(dest), -1, np.int64)
    sets, used, pairs, singles, k, power, likely = 0, 0, 0, 0, 0, 1.0, 1.0
    turn, cycle, length = state, -1, 0
    while True:
        if cycle < 0:
            s = turn
            met[s], path[k] = k, s
        else:
            s = path[cycle]
        need = used + k + max(limit, 0) + 2
        if need > MAX_MOVES or power * likely < MIN_WEIGHT:
            break
        if sets + 3 > len(places):
            first = np.concatenate((first, np.empty_like(first)))
            places = np.concatenate((places, np.empty_like(places)))
        if 2 * need > len(states):  # room for the sets of two events
            states = np.concatenate((states, np.empty(2 * need, np.int64)))
            actions = np.concatenate((actions, np.empty(2 * need, np.int64)))
        for i in range(k):
            a = policy[path[i]]
            if success[path[i], a] < 1.0:
                states[used], actions[used] = path[i], a
                used += 1
        here, left = s, limit
        while limit >= 0 and not at_home[here] and left > 0:
            layer = max(0, int(np.searchsorted(since, left, side="right")) - 1)
            a = layers[layer, here]
            if a < 0:
                break
            if success[here, a] < 1.0:
                states[used], actions[used] = here, a
                used += 1
            here, left = dest[here, a], left - 1
        places[sets] = s if limit < 0 or at_home[here] else -1
        sets += 1
        first[sets] = used
        a = policy[s]
        if cycle >= 0:
            weights[singles] = (1.0 - discount) * power / (1.0 - discount**length)
            singles, cycle, power = singles + 1, cycle + 1, power * discount
            if cycle == k:
                break
            continue
        if exits[s] or dest[s, a] == s or success[s, a] <= 0.0:
            weights[singles] = (1.0 - discount) * power if exits[s] else power
            singles += 1
            break
        begin = first[sets - 1]
        for e in range(begin, used):
            states[used + e - begin], actions[used + e - begin] = states[e], actions[e]
        used += used - begin
        states[used], actions[used] = s, a
        used += 1
        places[sets] = places[sets - 1]
        sets += 1
        first[sets] = used
        power, likely = power * discount, likely * success[s, a]
        pairs, k, turn = pairs + 1, k + 1, dest[s, a]
        if met[turn] >= 0:
            cycle, length = met[turn], k - met[turn]
    return first[: sets + 1], states[:used], actions[:used], places[:sets], pairs, weights[:singles]
