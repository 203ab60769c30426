from __future__ import annotations

import time
from typing import Any, cast

import pytest

from homeward.runs.manifest import Manifest, RunStatus, Session
from homeward.runs.stopwatch import Stopwatch


class Slow:
    """Plans in a time of its own and gives back what it was asked."""

    def __init__(self) -> None:
        self.times = iter((0.01, 0.03, 0.05))

    def plan(self, *asked: Any) -> Any:
        time.sleep(next(self.times))
        return asked


def manifest() -> Manifest:
    sessions = [Session(started="a", ended=None, first=n, versions={}) for n in (1, 5)]
    return Manifest(
        format=1,
        kind="slow",
        config_sha256="",
        seed=0,
        created="a",
        updated="a",
        status=RunStatus.RUNNING,
        steps=0,
        limit=None,
        end=None,
        error=None,
        sessions=tuple(sessions),
    )


def test_plans_are_handed_on_and_their_median_is_noted_in_the_last_session() -> None:
    watch = Stopwatch(cast("Any", Slow()))
    asked: Any = [(object(), n, 0, None) for n in range(3)]
    assert [watch.plan(*each) for each in asked] == asked
    first, last = watch.read(manifest()).sessions
    assert (first.seconds, first.plan_ms) == (0.0, None)
    assert last.plan_ms is not None
    assert last.plan_ms >= 30.0
    assert last.plan_ms <= 1e3 * max(watch.plans)
    assert last.plan_ms == pytest.approx(1e3 * sorted(watch.plans)[1], abs=1e-3)
    assert last.seconds >= 0.09


def test_who_has_not_planned_has_no_median() -> None:
    last = Stopwatch(cast("Any", Slow())).read(manifest()).sessions[-1]
    assert last.plan_ms is None
