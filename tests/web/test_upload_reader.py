from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.web.rasters import boast, geotiff, label, packed, virtual

from homeward.terrain import read_elevation
from homeward.web import upload_reader

if TYPE_CHECKING:
    from pathlib import Path

Read = Callable[..., dict[str, Any]]


SCRIPT = """
import json, sys
import homeward.web.upload_reader as upload_reader
upload_reader.limit()
for line in sys.stdin:
    print(json.dumps(upload_reader.main(json.loads(line))), flush=True)
"""


@pytest.fixture(scope="module")
def reader() -> Iterator[subprocess.Popen[str]]:
    """Start one process that reads files as each upload's own would."""
    others = ",".join(sorted(upload_reader.drivers() - set(upload_reader.DRIVERS)))
    here = {**os.environ, **upload_reader.QUIET, upload_reader.SKIP: others}
    words = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(words, stdin=-1, stdout=-1, text=True, env=here) as process:
        yield process


@pytest.fixture
def read(reader: subprocess.Popen[str], tmp_path: Path) -> Read:
    def ask(data: bytes, name: str = "hills.tif", *more: str) -> dict[str, Any]:
        source = tmp_path / f"sent{os.path.splitext(name)[1]}"
        source.write_bytes(data)
        assert reader.stdin is not None
        assert reader.stdout is not None
        words = [str(source), str(tmp_path / "terrain.tif"), name, *more]
        reader.stdin.write(json.dumps(words) + "\n")
        reader.stdin.flush()
        found: dict[str, Any] = json.loads(reader.stdout.readline())
        return found

    return ask


def test_a_process_of_its_own_has_few_drivers_and_prints_what_it_read(tmp_path: Path) -> None:
    (tmp_path / "sent.tif").write_bytes(geotiff())
    words = [sys.executable, "-m", "homeward.web.upload_reader", str(tmp_path / "sent.tif")]
    done = subprocess.run([*words, str(tmp_path / "t.tif"), "hills.tif"], stdout=-1, check=True)
    assert json.loads(done.stdout)["shape"] == [40, 60]


def test_where_all_drivers_are_there_nothing_is_read(tmp_path: Path) -> None:
    (tmp_path / "sent.tif").write_bytes(geotiff())
    found = upload_reader.main([str(tmp_path / "sent.tif"), str(tmp_path / "t.tif"), "hills.tif"])
    assert "can't be restricted" in found["error"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_raster_is_written_anew_with_the_same_heights(
    read: Read, tmp_path: Path, dtype: str
) -> None:
    about = read(geotiff(dtype=dtype))
    assert about["shape"] == [40, 60]
    assert about["size"] == [10.0, 10.0]
    assert about["crs"] == "WGS 84 / UTM zone 33N"
    before = read_elevation(tmp_path / "sent.tif")
    after = read_elevation(tmp_path / "terrain.tif")
    np.testing.assert_array_equal(after.heights, before.heights)
    assert after.transform == before.transform
    assert after.crs == before.crs
    assert about["preview"][2][3] is None
    assert about["preview"][0][0] == pytest.approx(before.heights[0, 0], abs=1e-3)


def test_a_preview_is_small(read: Read) -> None:
    preview = read(geotiff(200, 70))["preview"]
    assert len(preview) <= 64
    assert len(preview[0]) <= 64


def test_an_array_needs_a_pixel_size(read: Read, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.random.default_rng(0).random((20, 30)))
    data = (tmp_path / "a.npy").read_bytes()
    refused = read(data, "a.npy")
    assert (refused["code"], "in metres" in refused["error"]) == ("no_pixel_size", True)
    about = read(data, "a.npy", "2.5")
    assert (about["shape"], about["size"]) == ([20, 30], [2.5, 2.5])


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (packed(), "hills.tif", "not an elevation raster"),
        (boast(), "hills.tif", "1000000 x 1000000 pixels are more than"),
        (b"not a raster at all", "hills.tif", "not an elevation raster"),
        (geotiff()[:600], "hills.tif", "hills.tif"),
        (virtual("/etc/passwd"), "hills.tif", "not an elevation raster"),
        (virtual("/etc/passwd"), "hills.img", "not an elevation raster"),
        (b"\x93NUMPY\x01\x00 and then nothing", "a.npy", "not a NumPy array"),
    ],
)
def test_what_is_no_raster_is_refused_in_a_sentence(
    read: Read, tmp_path: Path, data: bytes, name: str, said: str
) -> None:
    error = read(data, name, *(["1.0"] if name == "a.npy" else []))["error"]
    assert said in error
    assert str(tmp_path) not in error
    assert not (tmp_path / "terrain.tif").exists()


def test_an_array_may_not_be_larger_than_a_raster(read: Read, tmp_path: Path) -> None:
    heights = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.uint8, (8001, 8000))
    heights.flush()
    error = read((tmp_path / "a.npy").read_bytes(), "a.npy", "1.0")["error"]
    assert "8001 x 8000 pixels are more than 64,000,000" in error


def test_the_reading_process_has_little_of_everything() -> None:
    script = (
        "import json, resource as r; from homeward.web import upload_reader; upload_reader.limit();"
        "limits = (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE);"
        "print(json.dumps([r.getrlimit(which)[0] for which in limits]))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert json.loads(said) == [
        upload_reader.MAX_MEMORY_BYTES,
        upload_reader.MAX_CPU_SECONDS,
        upload_reader.MAX_OUTPUT_BYTES,
    ]


def test_a_label_that_names_another_file_is_refused(read: Read, tmp_path: Path) -> None:
    secret = tmp_path / "secret.img"
    secret.write_bytes(bytes(range(32)))
    assert "refers to other files" in read(label("secret.img"), "hills.img")["error"]
    assert "not an elevation raster" in read(label(str(secret)), "hills.img")["error"]
    assert not (tmp_path / "terrain.tif").exists()


def test_it_has_little_memory(tmp_path: Path) -> None:
    script = (
        "import homeward.web.upload_reader as r; r.MAX_MEMORY_BYTES = 1 << 30; r.limit()\n"
        "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "refused"


def test_the_drivers_that_its_user_skips_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "sent.tif").write_bytes(geotiff())
    words = [sys.executable, "-m", "homeward.web.upload_reader", str(tmp_path / "sent.tif")]
    here = {**os.environ, upload_reader.SKIP: "NITF,GTiff"}
    done = subprocess.run(
        [*words, str(tmp_path / "t.tif"), "hills.tif"], stdout=-1, check=True, env=here
    )
    assert json.loads(done.stdout).get("shape") == [40, 60]


def test_degrees_are_refused_with_a_command_that_names_no_file_of_ours(
    read: Read, tmp_path: Path
) -> None:
    error = read(geotiff(crs="EPSG:4326", pixel=1e-4), "hills.tif")["error"]
    assert error.endswith("hills.tif hills_metres.tif")
    assert str(tmp_path) not in error


def test_a_system_of_coordinates_that_is_new_has_its_name(read: Read) -> None:
    assert read(geotiff(crs="EPSG:8088"))["crs"] == "ISN2016 / Lambert 2016"


def test_a_height_that_is_no_height_has_no_preview(read: Read, tmp_path: Path) -> None:
    heights = np.random.default_rng(0).random((20, 30))
    heights[3, 4] = 1e308
    np.save(tmp_path / "a.npy", heights)
    about = read((tmp_path / "a.npy").read_bytes(), "a.npy", "2.5")
    assert about["preview"][3][4] is None


def test_a_file_of_several_bands_tells_how_many_they_are(read: Read) -> None:
    for bands in (1, 3):
        assert read(geotiff(bands=bands))["bands"] == bands
