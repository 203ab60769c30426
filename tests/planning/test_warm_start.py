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
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.grid.kind import make as make_grid
from homeward.runs import WarmStart
from homeward.runs.config import checked


@given(
    hnp.arrays(np.int32, hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=6)),
    st.lists(st.floats(allow_nan=False), max_size=3),
    st.none() | hnp.arrays(np.int32, st.integers(0, 6)),
)
def test_seeds_come_back_to_the_bit(
    outbound: Any, multipliers: list[float], afterwards: Any
) -> None:
    seeds = WarmStart(outbound, tuple(multipliers), afterwards)
    back = WarmStart.decode(json.loads(json.dumps(seeds.encode(), allow_nan=False)))
    assert back.outbound.dtype == np.int32
    assert back.outbound.shape == outbound.shape
    assert back.outbound.tolist() == outbound.tolist()
    assert [m.hex() for m in back.multipliers] == [m.hex() for m in multipliers]
    assert (back.afterwards is None) == (afterwards is None)
    if back.afterwards is not None:
        assert back.afterwards.dtype == np.int32
        assert back.afterwards.tolist() == afterwards.tolist()
    assert back.steps == (outbound.shape[1] if outbound.ndim == 3 else None)


def test_seeds_from_before_there_were_sets_to_stay_inside_are_read() -> None:
    value = WarmStart(np.array([[0, 1]], np.int32), (1.0,)).encode()
    assert set(value) == {"shape", "type", "policies", "multipliers"}
    assert WarmStart.decode(value).afterwards is None


@pytest.mark.parametrize(
    ("actions", "narrow"), [(9, "|u1"), (256, "|u1"), (257, "<u2"), (70_000, "<u4")]
)
def test_policies_take_the_narrowest_type(actions: int, narrow: str) -> None:
    seeds = WarmStart(np.array([[0, actions - 1]], np.int32), ())
    assert seeds.encode()["type"] == narrow


def test_a_plan_from_seeds_is_the_plan_from_the_plan() -> None:
    setup = make(MeadowConfig(moody=False, delta=0.9))
    belief = setup.belief.update(Visit(0))
    first = setup.planner.plan(belief, 0, 0)
    belief = belief.update(setup.world.act(first.action))
    state = setup.world.state
    ones = setup.planner.plan(belief, state, 0, first)
    others = setup.planner.plan(belief, state, 0, WarmStart.of(first))  # type: ignore[arg-type]
    assert str(ones) == str(others)
    assert ones.outbound.tobytes() == others.outbound.tobytes()
    assert ones.rounds == others.rounds


@pytest.mark.parametrize("recall", [None, 3])
def test_whatever_is_asked_a_plan_from_seeds_is_the_plan_from_the_plan(recall: int | None) -> None:
    asked = {"size": 5, "seed": 2, "delta": 0.8, "keep_in": [[0, 3], [0, 4]], "back_within": 6}
    asked |= {"algorithm": "paper"}
    config = checked(GridConfig, {**asked, "recall": recall, "start": 12}, "a grid")
    setup = make_grid(config)
    belief = setup.belief.update(setup.world.look())
    first = setup.planner.plan(belief, 12)
    belief = belief.update(setup.world.act(first.action))
    state = setup.world.state
    seeds = WarmStart.decode(WarmStart.of(first).encode())
    ones = setup.planner.plan(belief, state, 12, first)
    others = setup.planner.plan(belief, state, 12, seeds)  # type: ignore[arg-type]
    cold = setup.planner.plan(belief, state, 12)
    assert str(ones) == str(others)
    assert ones.outbound.tobytes() == others.outbound.tobytes()
    assert ones.rounds == others.rounds < cold.rounds
    assert seeds.steps == recall
    assert (seeds.afterwards is None) == (recall is not None)
    if seeds.afterwards is not None:
        assert first.afterwards is not None
        assert seeds.afterwards.tolist() == first.afterwards.tolist()


def test_seeds_count_as_many_criteria_as_the_plan_had() -> None:
    seeds = WarmStart.of(make(MeadowConfig()).planner.plan(make(MeadowConfig()).belief, 0))
    assert len(seeds.criteria) == 1


def test_a_plan_without_policies_leaves_none() -> None:
    plan: Any = SimpleNamespace(outbound=np.array([]), multipliers=(np.inf,), afterwards=None)
    seeds = WarmStart.decode(WarmStart.of(plan).encode())
    assert tuple(seeds.outbound) == ()
    assert seeds.multipliers == (np.inf,)


@pytest.mark.parametrize(
    "change",
    [
        *({"policies": "!"}, {"policies": "AAAA"}, {"shape": [7]}, {"type": "?!"}),
        *({"multipliers": "z"}, {"afterwards": 1}, {"afterwards": 9}, {"afterwards": -2}),
        {"afterwards": "z"},
    ],
)
def test_what_can_not_be_read_is_refused(change: dict[str, Any]) -> None:
    value = WarmStart(np.zeros((1, 2), np.int32), (1.0,)).encode()
    with pytest.raises(InvalidFileError, match="recorded warm start"):
        WarmStart.decode(value | change)
    if change.keys() <= value.keys():
        with pytest.raises(InvalidFileError, match="recorded warm start"):
            WarmStart.decode({k: v for k, v in value.items() if k not in change})


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidFileError, match="recorded warm start"):
        WarmStart.decode([])
