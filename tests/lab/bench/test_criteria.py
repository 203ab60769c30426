"""The criteria's benchmark, small: what is compared is planned on the same ground."""

from __future__ import annotations

from typing import TYPE_CHECKING

from homeward.criteria import ReturnHome, StayInside
from homeward.planning.algorithm1 import Planner
from lab.bench import criteria
from lab.bench.criteria import measure, middle_of, three_criteria

if TYPE_CHECKING:
    import pytest


def test_the_three_are_differ_and_the_first_is_the_one() -> None:
    assert [type(c) for c in three_criteria((10, 20))] == [ReturnHome, ReturnHome, StayInside]


def test_the_middle_leaves_a_margin_along_each_edge() -> None:
    inside = middle_of((10, 20))
    assert inside[2:8, 4:16].all()
    assert inside.sum() == 6 * 12


def test_decisions_are_timed_and_their_prices_counted() -> None:
    found = measure(4, shape=(10, 20))
    assert found.steps == 4
    for middle, low, high in (found.one, found.three):
        assert 0.0 < low <= middle <= high
    assert len(found.binding) == 3
    assert all(0.0 <= part <= 1.0 for part in found.binding)
    assert max(found.binding) > 0.0


def test_every_decision_but_the_first_starts_from_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Watched(Planner):
        def plan(self, belief, state, start=None, previous=None):  # type: ignore[no-untyped-def]
            asked.append((len(self.criteria), previous))
            return super().plan(belief, state, start, previous)

    monkeypatch.setattr(criteria, "Planner", Watched)
    measure(2, shape=(10, 20))
    assert [count for count, _ in asked] == [1, 3] * 3
    assert [previous is None for _, previous in asked] == [True] * 2 + [False] * 4
    assert all(previous is None or len(previous.criteria) == count for count, previous in asked)
