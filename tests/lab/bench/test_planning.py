"""The planning benchmark, small: what it compares is the same problem."""

from unittest.mock import patch

import pytest

from homeward.solvers import Status
from lab.bench import planning
from lab.bench.peers import PeerAnswer
from lab.bench.planning import SETTINGS, TimedSetting, measure


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_the_lp_solvers_confirm_every_setting(setting: TimedSetting) -> None:
    found = measure(setting, steps=3, samples=1, shape=(6, 10))
    assert set(found.lp) == {"HiGHS ipm", "HiGHS simplex", "Clarabel"}
    assert found.difference is not None
    assert found.difference < 1e-6
    assert found.given > 0.0
    assert min(*found.warm, *found.cold) > 0.0


def test_without_an_answer_there_is_nothing_to_compare_with() -> None:
    silent = PeerAnswer(Status.NOT_CONVERGED, 0.0, 1.0)
    with (
        patch.object(planning, "highs_lp", lambda *_: silent),
        patch.object(planning, "clarabel_lp", lambda *_: silent),
    ):
        found = measure(SETTINGS[0], steps=2, samples=1, shape=(6, 10))
    assert (found.lp, found.difference) == ({}, None)
