from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from homeward.planning.returning.moves import Limits, MoveOptions
from lab.check.shown import GROUNDS, Ground, examine

if TYPE_CHECKING:
    from homeward.arrays import FloatArray
    from homeward.planning.promise import Promise


@pytest.mark.parametrize("ground", GROUNDS)
def test_no_number_is_above_that_of_a_return_policy_that_knows_the_world(ground: Ground) -> None:
    found = [examine(ground, seed) for seed in range(3)]
    assert sum(each.numbers for each in found) > 50
    assert [offence for each in found for offence in each.offences] == []


def test_the_mean_model_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the mean model, the outcome of an action tells nothing about the rest of the way."""

    def on_average(self: MoveOptions) -> FloatArray:
        return np.asarray(self.belief.mean().ahead(self.state, self.value()[None])[0])

    monkeypatch.setattr(MoveOptions, "after", on_average)
    for ground in ("chancy moves", "independent", "correlated"):
        found = [offence for seed in range(8) for offence in examine(ground, seed).offences]
        assert any(offence.what.startswith("after action") for offence in found)


def test_a_way_home_beyond_the_limit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    left = Limits.left

    def unlimited(self: Limits, promise: Promise) -> FloatArray:
        return np.full_like(left(self, promise), 1e9)

    monkeypatch.setattr(Limits, "left", unlimited)
    found = [offence for seed in range(12) for offence in examine("heights", seed).offences]
    assert any(offence.what.startswith("from state") for offence in found)
