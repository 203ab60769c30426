"""The planning benchmark, small: what it compares is the same problem."""

import pytest

from homeward.studies.bench.planning import SETTINGS, Setting, measure


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_the_lp_solvers_confirm_every_setting(setting: Setting) -> None:
    found = measure(setting, steps=3, samples=1, shape=(6, 10))
    assert set(found.lp) == {"HiGHS ipm", "HiGHS simplex", "Clarabel"}
    assert found.difference < 1e-6
    assert min(*found.warm, *found.cold) > 0.0
