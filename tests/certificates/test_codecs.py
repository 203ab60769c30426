"""Codecs, beside what `test_archive` asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.certificates.cases import far, made, ridge

from homeward.beliefs import FiniteBelief, TerrainBelief
from homeward.certificates import Codec, certify, register_codec
from homeward.certificates.archive import pack, unpack
from homeward.certificates.codecs import _CODECS
from homeward.certificates.mean_model import mean_model
from homeward.errors import InvalidInputError
from homeward.safety import ReturnHome

if TYPE_CHECKING:
    from collections.abc import Mapping


class Guess(FiniteBelief):
    """Another kind of belief."""


def encode(belief: Guess) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"sure": 3}, {"weights": belief.weights}


def decode(values: Mapping[str, Any], arrays: Mapping[str, Any]) -> Guess:
    assert values == {"sure": 3}
    return Guess(ridge().worlds, arrays["weights"])


def test_a_kind_of_ones_own_can_be_made_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("homeward.certificates.codecs._CODECS", dict(_CODECS))
    codec = register_codec(Codec("guess", Guess, encode, decode))
    assert register_codec(codec) is codec
    belief = Guess(ridge().worlds, np.array([0.25, 0.75]))
    again = unpack(pack(made(belief, [ReturnHome(0.5)], far))).belief
    assert isinstance(again, Guess)
    np.testing.assert_array_equal(again.weights, [0.25, 0.75])


def test_a_name_is_given_once() -> None:
    with pytest.raises(InvalidInputError, match="another codec is already named finite"):
        register_codec(Codec("finite", Guess, encode, decode))


def test_limits_of_moves_on_terrain_are_kept_and_checked() -> None:
    drop, rise = np.full((4, 9), 0.5), np.full((4, 9), 0.7)
    drop[0, 3] = rise[0, 3] = -np.inf
    belief = TerrainBelief((2, 2), np.arange(4.0) / 4, np.full(4, 0.1), limits=(drop, rise))
    stored = made(belief, [ReturnHome(0.5)], lambda belief: np.ones((4, 9)))
    again = unpack(pack(stored)).belief
    assert isinstance(again, TerrainBelief)
    assert again.limits is not None
    np.testing.assert_array_equal(again.limits, (drop, rise))
    assert not certify(stored, episodes=500).refuted
    recomputed = mean_model(belief)
    assert recomputed.graph is not None
    model = belief.mean()
    moves = model.dest[:, 1:] != np.arange(4)[:, None]
    np.testing.assert_allclose(
        recomputed.graph.success[:, 1:][moves], model.success[:, 1:][moves], rtol=0.0, atol=1e-12
    )
