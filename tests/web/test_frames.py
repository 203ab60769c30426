from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.web.frames import unpack

from homeward.web.frames import narrow, pack

ARRAYS = st.dictionaries(
    st.text("abcdefgh", min_size=1),
    st.one_of(
        hnp.arrays(np.float64, hnp.array_shapes(max_dims=3, min_side=0)),
        hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, min_side=0)),
        hnp.arrays(np.int32, hnp.array_shapes(max_dims=2)),
        hnp.arrays(np.bool_, hnp.array_shapes(max_dims=2)),
        hnp.arrays(np.uint8, hnp.array_shapes(max_dims=2)),
    ),
    max_size=4,
)


@given(ARRAYS)
def test_what_is_packed_comes_back(arrays: dict[str, np.ndarray]) -> None:
    about, found = unpack(pack(arrays, step=3, total=9))
    assert (about["step"], about["total"]) == (3, 9)
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].shape == array.shape


@given(ARRAYS)
def test_every_array_begins_at_a_multiple_of_eight(arrays: dict[str, np.ndarray]) -> None:
    frame = pack(arrays, step=0, total=0)
    (length,) = struct.unpack_from("<I", frame, 4)
    for entry in json.loads(frame[8 : 8 + length])["arrays"]:
        assert entry["offset"] % 8 == 0


def test_a_frame_is_laid_out_as_it_is_told() -> None:
    frame = pack({"a": np.array([1.5, np.nan], np.float32), "b": np.array([True])}, step=1, total=2)
    assert frame[:4] == b"HWF1"
    (length,) = struct.unpack_from("<I", frame, 4)
    about = json.loads(frame[8 : 8 + length])
    assert about["arrays"] == [
        {"name": "a", "dtype": "float32", "shape": [2], "offset": 0, "min": 1.5, "max": 1.5},
        {"name": "b", "dtype": "uint8", "shape": [1], "offset": 8, "min": 1, "max": 1},
    ]
    first = -(-(8 + length) // 8) * 8
    assert struct.unpack_from("<f", frame, first) == (1.5,)
    assert frame[first + 8] == 1


def test_whole_numbers_are_sent_narrow_and_floats_as_they_are() -> None:
    floats = np.full(2, 0.99999998)
    arrays = {"a": np.arange(3), "b": floats, "c": narrow(floats)}
    _, found = unpack(pack(arrays, step=0, total=0))
    assert [found[name].dtype.name for name in "abc"] == ["int32", "float64", "float32"]
    assert found["b"].tolist() == [0.99999998] * 2


def test_nothing_but_nan_has_no_extremes() -> None:
    about, _ = unpack(pack({"a": np.array([np.nan])}, step=0, total=0))
    assert (about["arrays"][0]["min"], about["arrays"][0]["max"]) == (None, None)


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(ValueError, match="HWF1"):
        unpack(b"PK\x03\x04 and so on")
