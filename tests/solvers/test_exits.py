from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import DISCOUNTS, dense, models, value_of

from homeward.solvers import engine
from homeward.solvers.problems import end_at

if TYPE_CHECKING:
    from homeward.models import Model


@given(models(4, 3), DISCOUNTS, st.data())
def test_an_exit_is_worth_what_it_pays_and_nothing_more(
    model: Model, discount: float, data: st.DataObject
) -> None:
    shape = (model.states, model.actions)
    size = model.states * model.actions
    marks = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    exits = np.array(marks).reshape(shape)
    plain = np.arange(float(size)).reshape(shape) + 1.0
    totals = np.stack([plain, np.full(shape, 0.5), plain / 7.0, plain])
    before = totals.copy()
    value, worth = np.linspace(1.0, 2.0, model.states), plain / size
    first = np.repeat(worth[:, :1], model.actions, axis=1)
    ending = end_at(model, discount, exits, totals, value, [first, worth, 0.0])
    policy = np.isfinite(model.reward).argmax(axis=1).astype(np.int32)
    found = engine(ending, discount, totals).evaluate(policy)

    rows = dense(model)
    once = [
        before[0] + discount * rows @ value,
        first,
        worth,
        np.zeros(shape),
    ]
    rows[exits] = 0.0
    for k in range(4):
        reward = np.where(exits, once[k], before[k])
        expected = value_of(rows, policy, reward, discount)
        assert found[k] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(models(4, 3))
def test_the_model_that_is_handed_in_stays_as_it_is(model: Model) -> None:
    rows = dense(model)
    exits = np.ones((model.states, model.actions), bool)
    totals = np.ones((1, model.states, model.actions))
    ending = end_at(model, 0.5, exits, totals, np.ones(model.states), [])
    assert (dense(model) == rows).all()
    assert ending is not model
