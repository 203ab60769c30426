"""Codecs, beside what `test_archive` asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.certificates.cases import far, made, ridge

from homeward.beliefs import FiniteBelief
from homeward.certificates import Codec, register_codec
from homeward.certificates.archive import pack, unpack
from homeward.certificates.codecs import _CODECS
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
