"""Audit of a run whose risk was estimated in drawn worlds.

Before and after each step a run holds a return policy. W_before(s) and W_after(s) are the
probabilities of coming home from state s by these policies in one world. In this world, a step by
action a lowers the probability of coming home by d = W_before(s) − Σ_t P[s, a, t] W_after(t). The
risk that the step has to spend is c = E[d] over the belief. For every step, the audit draws worlds
of its own and evaluates the recorded policies by elimination. Let D = Σ d and V = Σ d² over all
worlds of all steps. By the inequality of ``docs/theory.md``, section 16, with 0 as every guess,

    Pr(D − Σ c > (ln(1/α) + ψ(λ) V) / λ) ≤ α,      ψ(λ) = −ln(1 − λ) − λ.

So Σ c is at least D − (ln(1/α) + ψ(λ) V) / λ with confidence 1 − α. A run that has spent less is
refuted. The audit can't confirm an estimate; it reports the risk that the run spent in its worlds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief, DirichletBelief
from homeward.beliefs.dirichlet import END
from homeward.certificates.budget_audit import BUDGET_TOLERANCE, HomeClaim, changed
from homeward.certificates.policy_values import dense_transitions
from homeward.certificates.verdicts import HomeVerdict
from homeward.solvers import GIVE_UP

WORLDS = 500  # number of worlds that the referee draws for each step
DOUBT = 1e-3  # α: largest probability that a run with correct estimates is refuted
RATE = 0.5  # λ of the inequality
SEED = 20_000  # seed of the referee's worlds


def audit_sampled(
    claims: Sequence[HomeClaim], steps: Iterable[tuple[Any, Belief]]
) -> tuple[HomeVerdict, ...]:
    """Return one verdict per home; a step is a pair of its record and the belief before it."""
    rng, records = np.random.default_rng(SEED), 0
    ways: list[IntArray | None] = [None] * len(claims)
    total, squares, kept = np.zeros((3, len(claims)))
    reasons: list[list[str]] = [[] for _ in claims]
    for step, belief in steps:
        rows = _rows(belief, rng)
        records += 1
        for k, claim in enumerate(claims):
            shape = rows.shape[1:3]
            try:
                before = ways[k]
                drops = np.zeros(len(rows))
                if before is None:
                    nothing = np.full(shape[0], GIVE_UP)
                    before = changed(nothing, step.holding["opened"][k], shape)
                    drops += 1.0 - _returning(rows, before, claim)[:, step.state]
                after = changed(before, step.holding["ways"][k], shape)
                spent = float(step.holding["spent"][k])
                tallies = step.holding.get("sampled", ())
                chance = float(tallies[k][3]) if tallies and len(tallies[k]) > 3 else 1.0
            except (KeyError, TypeError, ValueError, IndexError, OverflowError) as cause:
                reasons[k].append(f"step {step.step}: the record can't be read ({cause})")
                continue
            ahead = _returning(rows, after, claim)
            drops += _returning(rows, before, claim)[:, step.state]
            drops -= (rows[:, step.state, step.action, :-1] * ahead).sum(axis=1)
            drops *= chance  # below 1 if the action was taken at random
            total[k] += drops.mean()
            squares[k] += float((drops**2).sum())
            ways[k], kept[k] = after, 1.0 - spent
            growth = -math.log1p(-RATE) - RATE
            margin = (math.log(1.0 / DOUBT) + growth * squares[k]) / (RATE * len(rows))
            if total[k] - margin > spent + BUDGET_TOLERANCE:
                reasons[k].append(
                    f"step {step.step}: {spent:.6g} is spent, but in the referee's worlds at least "
                    f"{total[k] - margin:.6g} (confidence {1.0 - DOUBT:g})"
                )
            if spent > 1.0 - claim.level + 2.0 * BUDGET_TOLERANCE:
                reasons[k].append(f"step {step.step}: {spent:.6g} is spent, more than the budget")
    return tuple(
        HomeVerdict(c.name, c.level, kept[k], total[k], records, tuple(reasons[k][:5]), WORLDS)
        for k, c in enumerate(claims)
    )


def _rows(belief: Any, rng: np.random.Generator) -> FloatArray:
    """Return the transitions [n, S, A, S + 1] of drawn worlds; the last column ends the process."""
    if not isinstance(belief, DirichletBelief):
        worlds = np.array([dense_transitions(belief.sample(rng)) for _ in range(WORLDS)])
        missing = 1.0 - worlds.sum(axis=3, keepdims=True)
        return np.append(worlds, np.where(missing > 1e-12, missing, 0.0), axis=3)
    shares = belief.draws(rng, WORLDS)
    states, actions, outcomes = belief.outcomes.shape
    rows = np.zeros((WORLDS, states, actions, states + 1))
    for s, a, o in np.ndindex(states, actions, outcomes):
        there = int(belief.outcomes[s, a, o])
        rows[:, s, a, states if there == END else there] += shares[:, belief.kinds[s, a], o]
    return rows


def _returning(rows: FloatArray, policy: IntArray, claim: HomeClaim) -> FloatArray:
    """Return the probability [n, S] of coming home by a policy [S] in each of n worlds.

    States are eliminated without subtractions, so that no digits are lost.
    """
    states = len(policy)
    walk = rows[:, np.arange(states), np.maximum(policy, 0)].copy()  # [n, S, S + 1]
    walk[:, policy == GIVE_UP] = 0.0
    homes = sorted(claim.homes)
    inner = [s for s in range(states) if s not in claim.homes]
    for k in inner:
        walk[:, k, k] = 0.0
        leaving = walk[:, k].sum(axis=1)
        walk[:, k] /= np.where(leaving > 0.0, leaving, 1.0)[:, None]
        walk[leaving == 0.0, k, states] = 1.0
        into = walk[:, inner, k].copy()
        into[:, inner.index(k)] = 0.0
        walk[:, inner] += into[:, :, None] * walk[:, None, k]
        walk[:, [s for s in inner if s != k], k] = 0.0
    value = np.zeros((len(rows), states))
    value[:, homes] = 1.0
    value[:, inner] = walk[:, inner][:, :, homes].sum(axis=2)
    return value
