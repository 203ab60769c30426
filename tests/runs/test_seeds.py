from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.runs.kinds import MeadowConfig, make

from homeward.beliefs import Visit
from homeward.errors import InvalidFileError
from homeward.runs import Seeds


@given(
    hnp.arrays(np.int32, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6)),
    st.lists(st.floats(allow_nan=False), max_size=3),
)
def test_seeds_come_back_to_the_bit(outbound: Any, multipliers: list[float]) -> None:
    seeds = Seeds(outbound, tuple(multipliers))
    back = Seeds.decode(json.loads(json.dumps(seeds.encode(), allow_nan=False)))
    assert back.outbound.dtype == np.int32
    assert back.outbound.shape == outbound.shape
    assert back.outbound.tolist() == outbound.tolist()
    assert [m.hex() for m in back.multipliers] == [m.hex() for m in multipliers]


@pytest.mark.parametrize(
    ("actions", "narrow"), [(9, "|u1"), (256, "|u1"), (257, "<u2"), (70_000, "<u4")]
)
def test_policies_take_the_narrowest_type(actions: int, narrow: str) -> None:
    seeds = Seeds(np.array([[0, actions - 1]], np.int32), ())
    assert seeds.encode()["type"] == narrow


def test_a_plan_from_seeds_is_the_plan_from_the_plan() -> None:
    setup = make(MeadowConfig(moody=False, delta=0.9))
    belief = setup.belief.update(Visit(0))
    first = setup.planner.plan(belief, 0, 0)
    belief = belief.update(setup.world.act(first.action))
    state = setup.world.state
    ones = setup.planner.plan(belief, state, 0, first)
    others = setup.planner.plan(belief, state, 0, Seeds.of(first))  # type: ignore[arg-type]
    assert str(ones) == str(others)
    assert ones.outbound.tobytes() == others.outbound.tobytes()
    assert ones.rounds == others.rounds


def test_seeds_count_as_many_criteria_as_the_plan_had() -> None:
    seeds = Seeds.of(make(MeadowConfig()).planner.plan(make(MeadowConfig()).belief, 0))
    assert len(seeds.criteria) == 1


def test_a_plan_without_policies_leaves_none() -> None:
    plan: Any = SimpleNamespace(outbound=np.array([]), multipliers=(np.inf,))
    seeds = Seeds.decode(Seeds.of(plan).encode())
    assert tuple(seeds.outbound) == ()
    assert seeds.multipliers == (np.inf,)


@pytest.mark.parametrize(
    "change",
    [{"policies": "!"}, {"policies": "AAAA"}, {"shape": [7]}, {"type": "?!"}, {"multipliers": "z"}],
)
def test_what_can_not_be_read_is_refused(change: dict[str, Any]) -> None:
    value = Seeds(np.zeros((1, 2), np.int32), (1.0,)).encode()
    with pytest.raises(InvalidFileError, match="policies to start from"):
        Seeds.decode(value | change)
    with pytest.raises(InvalidFileError, match="policies to start from"):
        Seeds.decode({k: v for k, v in value.items() if k not in change})
