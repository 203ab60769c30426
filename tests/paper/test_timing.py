from __future__ import annotations

from typing import TYPE_CHECKING, Any

from homeward.paper import timing
from homeward.paper.timing import PAPER, time_settings
from homeward.planning.algorithm1 import Planner

if TYPE_CHECKING:
    import pytest


def test_every_setting_of_the_papers_table_is_timed() -> None:
    found = time_settings(4, 0, 0.2)
    assert [t["setting"] for t in found] == list(PAPER)
    for t in found:
        assert t["steps"] == 4
        assert 0.0 < t["q1"] <= t["median"] <= t["q3"] <= t["longest"]
        assert t["paper"] == 1000.0 * PAPER[t["setting"]][0]
        assert t["shape"] == (10, 20)


def test_only_on_the_papers_own_map_a_step_is_faster_than_the_papers() -> None:
    there, elsewhere = (time_settings(1, 0, scale)[-1] for scale in (1.0, 0.2))
    assert there["times faster"] == 1620.0 / there["median"]
    assert elsewhere["times faster"] is None


def test_each_step_has_the_time_of_its_own_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, clock = Planner.plan, [0.0]

    def slow(*arguments: Any) -> Any:
        clock[0] += 2.0
        return plan(*arguments)

    monkeypatch.setattr(Planner, "plan", slow)
    monkeypatch.setattr(timing, "perf_counter", lambda: clock[0])
    for found in time_settings(3, 0, 0.2):
        assert (found["q1"], found["median"], found["longest"]) == (2000.0, 2000.0, 2000.0)
