from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from homeward.beliefs import DirichletBelief, FiniteBelief
from homeward.certificates.budget_audit import HomeClaim
from homeward.certificates.policy_values import exact_return
from homeward.certificates.sampled_audit import _returning, _rows, audit_sampled
from homeward.models import SparseMDP

if TYPE_CHECKING:
    from homeward.beliefs import Belief

CLAIM = HomeClaim("return", frozenset([0]), 0.5)


def ledge() -> DirichletBelief:
    """Return home, a ledge and a pit: stepping out is sure, stepping back fails once in ten."""
    alpha = np.zeros((3, 2, 3))
    alpha[0, 0, 0] = alpha[2, :, 2] = 1.0
    alpha[0, 1, 1] = 1.0
    alpha[1, :, 0], alpha[1, :, 2] = 900.0, 100.0
    return DirichletBelief.independent(alpha)


def step(spent: float, **changes: Any) -> SimpleNamespace:
    """Return the record of a step out onto the ledge that spent `spent`."""
    holding = {"opened": [[[], []]], "ways": [[[1], [0]]], "spent": [spent], "kept": 1.0 - spent}
    return SimpleNamespace(step=1, state=0, action=1, next_state=1, holding=holding | changes)


@pytest.mark.parametrize(("spent", "refuted"), [(0.12, False), (0.02, True)])
def test_a_run_that_spent_too_little_is_refuted(spent: float, refuted: bool) -> None:
    (verdict,) = audit_sampled([CLAIM], [(step(spent), ledge())])
    assert verdict.refuted is refuted
    assert verdict.charged == pytest.approx(0.1, abs=0.005)
    assert "estimated, not proven" in verdict.upheld_text


def test_an_action_that_is_taken_by_lot_is_charged_by_its_chance() -> None:
    by_lot = step(0.02, sampled=[[0.02, 0.0, 1, 0.2]])
    (verdict,) = audit_sampled([CLAIM], [(by_lot, ledge())])
    assert not verdict.refuted
    assert verdict.charged == pytest.approx(0.02, abs=0.001)


def test_more_than_the_budget_and_an_unreadable_record_are_refuted() -> None:
    for record in (step(0.6), step(0.12, ways=[[[9], [0]]])):
        (verdict,) = audit_sampled([CLAIM], [(record, ledge())])
        assert verdict.refuted


def test_the_referee_evaluates_as_the_enumeration_does() -> None:
    rng = np.random.default_rng(0)
    world = rng.dirichlet(np.ones(4), (4, 2))
    belief: Belief = FiniteBelief([SparseMDP.from_dense(world)])
    rows = _rows(belief, rng)[:2]
    policy = np.array([-1, 0, 1, 0])
    exact = exact_return(world, policy, np.array([0]))
    assert _returning(rows, policy, CLAIM) == pytest.approx(np.array([exact, exact]))
