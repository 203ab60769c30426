"""Ways home on general models, and the risk that each action adds to them.

The charge of an action is the expected decrease of v, a lower bound on the probability Y that the
held way home works. On a `FiniteBelief` v is Y itself: the way home is evaluated in each world. On
a `DirichletBelief` v is the corrected value of the way home, before the action and after an update
on each of its outcomes; the charge is negative if v is expected to rise. On other beliefs it is
1 − (σ[s, a] + Σ_t p[s, a, t] v_t), by the one-step lemma (``docs/theory.md``, section 11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, eye_array
from scipy.sparse.linalg import spsolve

from homeward.arrays import frozen
from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.planning.graph import mask_of
from homeward.planning.held import Account
from homeward.solvers import GIVE_UP, solve_return

if TYPE_CHECKING:
    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import SparseMDP
    from homeward.planning.ledger import Ledger
    from homeward.solvers import ReturnSolution

SOLVE_TOLERANCE = 1e-14
"""Allowance for the rounding of a linear solve, in probability."""


class Returns(NamedTuple):
    """The ways home on a general model; the charge is exact in the present state only."""

    account: Account  # what is held
    value: FloatArray  # lower bound [S] on the probability that the held way home works
    charge: FloatArray  # risk [S, A] that each action would add; below 0 if the way home gets safer
    lost: bool  # whether no way home is left

    def pay(self, state: int, action: int) -> Account:
        """Return the account after an action; a negative charge refunds what was spent."""
        cost = 0.0 if self.lost else float(self.charge[state, action])
        return Account(self.account.way, min(1.0, max(0.0, self.account.spent + cost)))


def returns_of(
    belief: Any,
    model: SparseMDP,
    ledger: Ledger,
    account: Account | None,
    state: int,
    correction: Correction | None,
) -> Returns:
    """Return the ways home and the charge of each action; `account` is None before a run."""
    sigma, solved = _corrected(belief, model, ledger, correction)
    policy, value = solved.policy, solved.value
    shape = (model.states, model.actions)
    if isinstance(belief, FiniteBelief) and correction is not Correction.NAIVE:
        worlds = [world.sparse().transitions for world in belief.worlds]
        chances = _in_worlds(worlds, policy, ledger.homes, model)
        if account is not None:
            held = _in_worlds(worlds, account.way, ledger.homes, model)
            if belief.weights @ held[:, state] > belief.weights @ chances[:, state]:
                policy, chances = account.way, held
        value = belief.weights @ chances
        after = sum(
            weight * (rows @ chance).reshape(shape)
            for weight, rows, chance in zip(belief.weights, worlds, chances, strict=True)
        )
        charge = np.maximum(0.0, value[:, None] - after + SOLVE_TOLERANCE)
        value = np.maximum(0.0, value - SOLVE_TOLERANCE)
    else:
        after = sigma + (model.transitions @ value).reshape(shape)
        if isinstance(belief, DirichletBelief):
            charge = np.maximum(0.0, value[:, None] - after)
            charge[state] = (
                value[state] + SOLVE_TOLERANCE - _returns_after(belief, state, ledger, correction)
            )
        else:
            charge = np.clip(1.0 - after, 0.0, 1.0)
            if account is not None and account.way[state] >= 0 and (account.way == policy).all():
                charge[state, account.way[state]] = 0.0
    charge[np.abs(charge) <= 2.0 * SOLVE_TOLERANCE] = 0.0
    at_home = mask_of(model.states, ledger.homes)
    ways = [policy] if account is None else [account.way, policy]
    lost = not any(
        _reaches(model.transitions, model.actions, way, at_home)[1][state] for way in ways
    )
    spent = 1.0 - float(value[state]) if account is None else account.spent
    return Returns(Account(frozen(policy), spent), value, charge, lost)


def way_home_of(belief: DirichletBelief, ledger: Ledger, correction: Correction | None) -> IntArray:
    """Return the corrected way home [S] of the present belief."""
    return frozen(_corrected(belief, belief.mean(), ledger, correction)[1].policy)


def _corrected(
    belief: Any, model: SparseMDP, ledger: Ledger, correction: Correction | None
) -> tuple[FloatArray, ReturnSolution]:
    """Return the correction σ[S, A] and the best way home under it."""
    kind = Correction.NAIVE if correction is Correction.NAIVE else Correction.GENERAL
    sigma = corrections_of(belief, model, 0.5, kind).returning
    return sigma, solve_return(model, sigma, ledger.homes)


def _returns_after(
    belief: DirichletBelief, state: int, ledger: Ledger, correction: Correction | None
) -> FloatArray:
    """Return the expected lower bound [A] on coming home after each action and its update."""
    model = belief.mean()
    found = np.zeros(model.actions)
    values: dict[tuple[int, int], FloatArray] = {}
    for a in range(model.actions):
        row = model.transitions[[state * model.actions + a]]
        for there, probability in zip(row.indices.tolist(), row.data.tolist(), strict=True):
            tied = int(belief.kinds[state, a])
            leads = (belief.outcomes[state, a] == there) & (belief.alpha[tied] > 0.0)
            taught = tied, int(np.argmax(leads))  # tied actions have the same update
            if taught not in values:
                after = belief.update(Transition(state, a, there))
                values[taught] = _corrected(after, after.mean(), ledger, correction)[1].value
            found[a] += probability * values[taught][there]
    return found


def _in_worlds(
    worlds: list[csr_array], policy: IntArray, homes: IntArray, model: SparseMDP
) -> FloatArray:
    """Return the probability [M, S] that a policy reaches home, in each world."""
    at_home = mask_of(model.states, homes)
    found = np.zeros((len(worlds), model.states))
    for m, transitions in enumerate(worlds):
        rows, reaches = _reaches(transitions, model.actions, policy, at_home)
        active = np.flatnonzero(reaches & (policy != GIVE_UP) & ~at_home)
        found[m, at_home] = 1.0
        if len(active):
            part = rows[active]
            system = (eye_array(len(active)) - part[:, active]).tocsc()
            into = np.asarray(part[:, at_home].sum(axis=1)).ravel()
            found[m, active] = np.clip(spsolve(system, into), 0.0, 1.0)
    return found


def _reaches(
    transitions: csr_array, actions: int, policy: IntArray, at_home: BoolArray
) -> tuple[csr_array, BoolArray]:
    """Return the rows [S, S] of a policy, and the mask [S] of states from which it may reach home.

    Transitions too rare for a linear solve to distinguish from 0 are ignored.
    """
    rows = transitions[np.arange(len(policy)) * actions + np.maximum(policy, 0)]
    moving = (policy != GIVE_UP) & ~at_home
    links = (rows > 2.0**-53).astype(np.int8)
    found = at_home.copy()
    while True:
        more = found | (moving & ((links @ found.astype(np.int8)) > 0))
        if (more == found).all():
            return rows, found
        found = more
