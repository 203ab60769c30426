from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from homeward.planning.returning.shortest_ways import ShortestWays
from lab.check.locality import compare

if TYPE_CHECKING:
    from homeward.arrays import IntArray
    from homeward.planning.returning.shortest_ways import Wanted

ROVER = {"ground": "mars", "delta": 0.9, "side": 8, "limit": 40}


@pytest.mark.parametrize(
    "cell",
    [
        {**ROVER, "sensor": 1.5, "noise": 1e-4},
        {**ROVER, "sensor": 0.0, "noise": 1e-2},
        {**ROVER, "sensor": 5.0, "noise": 1e-4},
        {**ROVER, "sensor": 2.0, "noise": 1e-4, "options": {"mast": 2.0}},
        {**ROVER, "sensor": 1.5, "noise": 1e-4, "options": {"distance": 1000.0}},
        {**ROVER, "sensor": 1.5, "noise": 1e-4, "options": {"back_within": 30}},
        {**ROVER, "sensor": 1.5, "noise": 1e-4, "options": {"belief": "correlated"}},
        {"ground": "grid, walls .4", "delta": 0.9, "side": 8, "limit": 20},
    ],
)
def test_runs_that_keep_what_did_not_change_are_those_from_nothing(cell: dict[str, object]) -> None:
    found = compare(cell, 3)
    assert found["differs"] is None
    assert found["steps"] > 10


def test_ways_that_are_not_repaired_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    find = ShortestWays.find

    def forget(self: ShortestWays, wanted: Wanted, changed: IntArray | None, until: float) -> Any:
        if self._last is not None:
            return 0.0, 0.0
        return find(self, wanted, changed, until)

    monkeypatch.setattr(ShortestWays, "find", forget)
    assert compare({**ROVER, "sensor": 1.5, "noise": 1e-4}, 3)["differs"] is not None
