from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from homeward.arrays import frozen
from homeward.errors import InvalidFileError
from homeward.planning.promise import Promise, Proposal, RunState


def random_held(rng: np.random.Generator, before: RunState | None = None) -> RunState:
    """Draw what is held, often with the rest of the path that was held before."""
    accounts = tuple(
        Promise.of(frozen(rng.integers(-1, 4, 9).astype(np.int32)), float(rng.random()))
        for _ in range(2)
    )
    proposal = None
    if rng.random() < 0.8:
        path = tuple(rng.integers(0, 9, int(rng.integers(1, 6))).tolist())
        if before is not None and before.proposal is not None and rng.random() < 0.5:
            path = before.proposal.path[int(rng.integers(len(before.proposal.path))) :]
        proposal = Proposal(path, *rng.random(3).tolist())
    return RunState(accounts, proposal, float(rng.random()), int(rng.integers(9)))


def values(held: RunState) -> Any:
    ways = [(a.way.tolist(), a.spent) for a in held.promises]
    return ways, held.proposal, held.remaining, held.idle


@pytest.mark.parametrize("seed", range(20))
def test_what_is_held_comes_back_from_its_record_whatever_was_held_before(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = random_held(rng)
    read = held
    for _ in range(10):
        new = random_held(rng, held)
        record = json.loads(json.dumps(new.encode(held)))
        held, read = new, RunState.decode(record, read)
        assert values(read) == values(held)


def test_a_record_of_no_change_is_short() -> None:
    held = random_held(np.random.default_rng(0))
    assert held.encode(held)["ways"] == [[[], []], [[], []]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {"ways": [], "spent": [], "remaining": 1.0, "idle": 0},
        {"ways": [[[99], [0]]], "spent": [0.0], "remaining": 1.0, "idle": 0},
        {"ways": [[[], []]], "spent": ["much"], "remaining": 1.0, "idle": 0},
        {"ways": [[[], []]], "spent": [0.0], "remaining": 1.0, "idle": 0, "path": 0},
    ],
)
def test_what_does_not_say_what_is_held_is_refused(value: Any) -> None:
    before = RunState((Promise.of(np.full(3, -1, np.int32)),))
    with pytest.raises(InvalidFileError, match="the state of the run can't be read"):
        RunState.decode(value, before)


def test_what_is_kept_is_what_the_worst_account_has_left() -> None:
    way = np.full(3, -1, np.int32)
    assert RunState().kept == 1.0
    assert RunState((Promise.of(way, 0.1), Promise.of(way, 0.25))).kept == 0.75
