from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs.field_archive import field_shape, read_fields, write_fields

if TYPE_CHECKING:
    from pathlib import Path

TYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64]
ARRAYS = hnp.arrays(
    st.sampled_from(TYPES),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(st.dictionaries(st.sampled_from(["a", "way_home", "B-2"]), ARRAYS, max_size=3))
def test_numpy_reads_the_same_arrays(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("run") / "fields.npz"
    write_fields(path, arrays)
    ours, theirs = read_fields(path), dict(np.load(path))
    assert set(ours) == set(arrays) == set(theirs)
    for name, array in arrays.items():
        assert field_shape(path, name) == array.shape
        for found in (ours[name], theirs[name]):
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array, strict=True)


def test_arrays_of_other_orders_are_written_as_they_read(tmp_path: Path) -> None:
    turned = np.arange(6).reshape(2, 3).T
    swapped = np.arange(3).astype(">i4")
    write_fields(tmp_path / "f.npz", {"turned": turned, "swapped": swapped})
    found = read_fields(tmp_path / "f.npz")
    assert found["turned"].tolist() == turned.tolist()
    assert found["swapped"].tolist() == [0, 1, 2]
    assert not found["turned"].flags.writeable


def test_new_fields_take_the_place_of_old_ones(tmp_path: Path) -> None:
    write_fields(tmp_path / "f.npz", {"a": np.zeros(2), "b": np.zeros(2)})
    write_fields(tmp_path / "f.npz", {"b": np.ones(3)})
    assert {k: v.tolist() for k, v in read_fields(tmp_path / "f.npz").items()} == {"b": [1.0] * 3}
    assert [p.name for p in tmp_path.iterdir()] == ["f.npz"]


def test_the_same_arrays_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("f.npz", "g.npz"):
        write_fields(tmp_path / name, {"a": np.arange(100)})
    assert (tmp_path / "f.npz").read_bytes() == (tmp_path / "g.npz").read_bytes()


def test_there_are_no_fields_where_none_were_kept(tmp_path: Path) -> None:
    assert read_fields(tmp_path / "f.npz") == {}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a/b": np.zeros(1)}, "a field can't be named 'a/b'"),
        ({"": np.zeros(1)}, "a field can't be named ''"),
        ({"a": np.array(["x"])}, "field a holds <U1, expected numbers"),
        ({"a": np.array([object()])}, "field a holds object"),
    ],
)
def test_what_is_no_field_is_refused_and_the_old_ones_stay(
    tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    write_fields(tmp_path / "f.npz", {"old": np.zeros(1)})
    with pytest.raises(InvalidInputError, match=message):
        write_fields(tmp_path / "f.npz", arrays)
    assert list(read_fields(tmp_path / "f.npz")) == ["old"]


@pytest.mark.parametrize("data", [b"", b"PK", b"\x93NUMPY\x01\x00", b"gone"])
def test_damaged_fields_are_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.npz"
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=r"f\.npz: is not an archive of a run's arrays"):
        read_fields(path)
    assert field_shape(path, "a") is None


def test_fields_with_a_wrong_byte_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.npz"
    write_fields(path, {"a": np.arange(100)})
    data = bytearray(path.read_bytes())
    data[150] ^= 1
    path.write_bytes(data)
    with pytest.raises(InvalidFileError, match=r"f\.npz: is not an archive of a run's arrays"):
        read_fields(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match=r"gone/f\.npz: can't be written"):
        write_fields(tmp_path / "gone" / "f.npz", {})
