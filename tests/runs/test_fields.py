from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from homeward.errors import InvalidFileError, InvalidInputError
from homeward.runs.fields import read_fields, write_fields

if TYPE_CHECKING:
    from pathlib import Path

TYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64]
ARRAYS = hnp.arrays(
    st.sampled_from(TYPES),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)


@given(st.dictionaries(st.sampled_from(["a", "way_home", "B-2"]), ARRAYS, max_size=3))
def test_another_program_reads_the_same_arrays(
    tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, Any]
) -> None:
    group = tmp_path_factory.mktemp("run") / "fields"
    write_fields(group, arrays)
    ours = read_fields(group)
    theirs = zarr.open_group(group, mode="r")
    assert set(ours) == set(arrays) == set(theirs.array_keys())
    for name, array in arrays.items():
        for found in (ours[name], np.asarray(theirs[name])):
            assert found.dtype == array.dtype
            np.testing.assert_array_equal(found, array, strict=True)


def test_arrays_of_other_orders_are_written_as_they_read(tmp_path: Path) -> None:
    turned = np.arange(6).reshape(2, 3).T
    swapped = np.arange(3).astype(">i4")
    write_fields(tmp_path / "f", {"turned": turned, "swapped": swapped})
    found = read_fields(tmp_path / "f")
    assert found["turned"].tolist() == turned.tolist()
    assert found["swapped"].tolist() == [0, 1, 2]
    assert not found["turned"].flags.writeable


def test_new_fields_take_the_place_of_old_ones(tmp_path: Path) -> None:
    write_fields(tmp_path / "f", {"a": np.zeros(2), "b": np.zeros(2)})
    write_fields(tmp_path / "f", {"b": np.ones(3)})
    assert {k: v.tolist() for k, v in read_fields(tmp_path / "f").items()} == {"b": [1.0] * 3}
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_the_same_arrays_are_the_same_bytes(tmp_path: Path) -> None:
    for name in ("f", "g"):
        write_fields(tmp_path / name, {"a": np.arange(100)})
    assert (tmp_path / "f/a/c.0").read_bytes() == (tmp_path / "g/a/c.0").read_bytes()


def test_there_are_no_fields_where_none_were_kept(tmp_path: Path) -> None:
    assert read_fields(tmp_path / "f") == {}


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
    write_fields(tmp_path / "f", {"old": np.zeros(1)})
    with pytest.raises(InvalidInputError, match=message):
        write_fields(tmp_path / "f", arrays)
    assert list(read_fields(tmp_path / "f")) == ["old"]


def test_damaged_fields_are_refused_by_name(tmp_path: Path) -> None:
    write_fields(tmp_path / "f", {"a": np.arange(100)})
    chunk = tmp_path / "f/a/c.0"
    chunk.write_bytes(chunk.read_bytes()[:-9])
    with pytest.raises(InvalidFileError, match="f/a: is not one of our arrays"):
        read_fields(tmp_path / "f")
    chunk.unlink()
    with pytest.raises(InvalidFileError, match=r"f/a/c\.0: can't be read"):
        read_fields(tmp_path / "f")
    (tmp_path / "f/a/zarr.json").write_text("{}")
    with pytest.raises(InvalidFileError, match="f/a: is not one of our arrays"):
        read_fields(tmp_path / "f")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidFileError, match="gone/f: can't be written"):
        write_fields(tmp_path / "gone" / "f", {})
