from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.rasters import geotiff

from homeward.files import replace_json
from homeward.terrain import read_elevation
from homeward.web import uploads as module
from homeward.web.limits import ServerSettings
from homeward.web.refusals import RefusalError
from homeward.web.uploads import (
    AREA_SUFFIXES,
    Uploads,
    files_of,
    path_of,
    shown_config,
    stored_name,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def body(*chunks: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(pause)
        yield chunk


def refused(
    uploads: Uploads,
    status: int,
    said: str,
    name: str,
    length: int | None = None,
    *chunks: bytes,
    pause: float = 0.0,
) -> None:
    with pytest.raises(RefusalError, match=said) as refusal:
        asyncio.run(uploads.take(name, length, body(*chunks, pause=pause), None))
    assert refusal.value.status == status
    assert not uploads.folder.exists() or os.listdir(uploads.folder) == []


def test_an_upload_becomes_a_terrain(tmp_path: Path) -> None:
    data = geotiff()
    uploads = Uploads(tmp_path)
    about = asyncio.run(uploads.take("hills.tif", len(data), body(data[:99], data[99:]), None))
    assert about["name"] == "hills.tif"
    path = path_of(about["upload"], "terrain", (), tmp_path)
    assert read_elevation(path).shape == (40, 60)
    folder = Path(path).parent
    assert sorted(os.listdir(folder)) == ["about.json", "hills.tif"]
    assert os.listdir(uploads.folder) == [folder.name]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("gale 1 m.TIF", "gale-1-m.tif"),
        ("../../etc/passwd.npy", "etc-passwd.tif"),
        ("гора.img", "terrain.tif"),
        (".hidden.tif", "hidden.tif"),
        (f"{'x' * 190}.tif", f"{'x' * 80}.tif"),
    ],
)
def test_a_file_is_stored_under_the_letters_of_its_name(sent: str, stored: str) -> None:
    assert stored_name(sent, ".tif") == stored


def test_the_name_of_an_upload_is_told_as_it_was_sent(tmp_path: Path) -> None:
    data = geotiff()
    about = asyncio.run(Uploads(tmp_path).take("my hills.tif", len(data), body(data), None))
    config = {"terrain": path_of(about["upload"], "terrain", (), tmp_path), "seed": 0}
    digest = hashlib.sha256(data).hexdigest()
    assert files_of(config, tmp_path) == {"terrain": {"name": "my hills.tif", "sha256": digest}}
    assert files_of({"terrain": "mars"}, tmp_path) == {}


ROCKS = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"note": "<script>"},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]],
            },
        }
    ],
}


def taken(uploads: Uploads, name: str, content: bytes) -> dict[str, Any]:
    return asyncio.run(uploads.take(name, None, body(content), None, AREA_SUFFIXES))


def test_uploaded_polygons_are_kept_without_the_rest(tmp_path: Path) -> None:
    about = taken(Uploads(tmp_path), "rocks.geojson", json.dumps(ROCKS).encode())
    assert (about["polygons"], about["corners"]) == (1, 5)
    path = Path(path_of(about["upload"], "obstacles", (), tmp_path))
    assert sorted(os.listdir(path.parent)) == ["about.json", "rocks.geojson"]
    ring = [[0.0, 0.0], [9.0, 0.0], [9.0, 9.0], [0.0, 9.0], [0.0, 0.0]]
    assert json.loads(path.read_text()) == {"type": "MultiPolygon", "coordinates": [[ring]]}
    shown = shown_config({"obstacles": str(path)}, tmp_path)
    assert shown == {"obstacles": about["upload"]}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.geojson", b"{", "a.geojson can't be used as an area"),
        ("a.geojson", b'{"type": "Point", "coordinates": [0, 0]}', "expected a Polygon"),
        ("a.geojson", b"[" * 100_000, "a.geojson can't be used as an area"),
        ("a.tif", b"", r"must end in one of \.geojson, \.json"),
    ],
)
def test_what_is_no_area_is_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    with pytest.raises(RefusalError, match=said):
        taken(Uploads(tmp_path), name, content)


def kept(root: Path, number: str, age: float) -> Path:
    """Lay down an upload of an age in seconds."""
    folder = root / ".uploads" / number
    folder.mkdir(parents=True)
    (folder / "terrain.tif").touch()
    then = time.time() - age
    os.utime(folder, (then, then))
    return folder


def refer(root: Path, run: str, upload: Path, end: str = "}") -> None:
    (root / run).mkdir()
    (root / run / "config.json").write_text(f'{{"terrain": "{upload}/terrain.tif"{end}')


def test_what_no_run_refers_to_is_removed_after_a_day(tmp_path: Path) -> None:
    day = 86_400.0
    young = kept(tmp_path, "0" * 16, day - 60.0)
    old = kept(tmp_path, "1" * 16, day + 60.0)
    used = kept(tmp_path, "2" * 16, day + 60.0)
    doubtful = kept(tmp_path, "3" * 16, day + 60.0)
    refer(tmp_path, "run", used)
    refer(tmp_path, "damaged", doubtful, end="")
    Uploads(tmp_path).open()
    assert [p.exists() for p in (young, old, used, doubtful)] == [True, False, True, True]


def test_what_is_named_is_removed_at_once_unless_a_run_refers_to_it(tmp_path: Path) -> None:
    one, other = kept(tmp_path, "0" * 16, 0.0), kept(tmp_path, "1" * 16, 0.0)
    refer(tmp_path, "run", other)
    Uploads(tmp_path).sweep({one.name, other.name})
    assert [one.exists(), other.exists()] == [False, True]


def test_where_a_configuration_can_not_be_read_all_is_kept(tmp_path: Path) -> None:
    old = kept(tmp_path, "0" * 16, 90_000.0)
    (tmp_path / "run" / "config.json").mkdir(parents=True)
    Uploads(tmp_path).open()
    assert old.exists()


def test_a_name_says_what_kind_of_file_it_is(tmp_path: Path) -> None:
    for name in ("hills", "hills.exe", "hills.vrt", "hills.zip", ".tif.html"):
        refused(
            Uploads(tmp_path), 415, f"{name} can't be used: the name must end", name, None, b"x"
        )
    for name in ("x" * 300 + ".tif", "hills\n.tif"):
        refused(Uploads(tmp_path), 415, "too long, or has control characters", name, None, b"x")


def test_an_oversized_upload_is_refused_before_a_byte_is_read(tmp_path: Path) -> None:
    async def untouched() -> AsyncIterator[bytes]:
        raise AssertionError("a byte was read")
        yield b""

    with pytest.raises(RefusalError, match="larger than 512 MB") as refusal:
        asyncio.run(Uploads(tmp_path).take("hills.tif", 5 << 30, untouched(), None))
    assert refusal.value.status == 413


def test_an_upload_that_is_larger_than_it_says_is_cut_off(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, ServerSettings(upload=1 << 20))
    refused(uploads, 413, "larger than 1 MB", "hills.tif", 5, *[bytes(1 << 16)] * 20)
    refused(uploads, 413, "larger than 1 MB", "hills.tif", None, *[bytes(1 << 16)] * 20)


def test_an_upload_that_stops_midway_is_given_up(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, ServerSettings(stalled=0.1))
    refused(uploads, 400, "no byte of the upload", "hills.tif", None, b"a", pause=0.5)


def test_an_upload_that_trickles_is_given_up(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path, ServerSettings(stalled=1.0, longest=0.2))
    refused(uploads, 400, "took longer than", "hills.tif", None, *[b"a"] * 100, pause=0.02)


def test_an_empty_upload_is_refused(tmp_path: Path) -> None:
    refused(Uploads(tmp_path), 422, "is empty", "hills.tif", 0)


def test_what_is_no_raster_is_removed(tmp_path: Path) -> None:
    refused(Uploads(tmp_path), 422, "not an elevation raster", "hills.tif", None, b"hello")


def test_a_raster_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_READING_SECONDS", 0.01)
    refused(Uploads(tmp_path), 422, "took longer than", "hills.tif", None, geotiff())


def test_so_many_are_taken_at_once(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)
    uploads._going = module.MAX_UPLOADS
    refused(uploads, 429, "uploads are in progress", "hills.tif", None, b"a")


def test_what_was_cut_off_by_a_kill_is_swept(tmp_path: Path) -> None:
    left = tmp_path / ".uploads" / "0123.part"
    left.mkdir(parents=True)
    (left / "sent.tif").write_bytes(b"half")
    Uploads(tmp_path).open()
    assert not left.exists()


def test_a_folder_of_uploads_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".uploads").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusalError, match="is a link"):
        Uploads(tmp_path).open()


def test_uploads_have_so_many_bytes_together(tmp_path: Path) -> None:
    folder = kept(tmp_path, "0" * 16, 0.0)
    (folder / "terrain.tif").write_bytes(bytes(3 << 20))
    uploads = Uploads(tmp_path, ServerSettings(stored=4 << 20))

    async def body() -> AsyncIterator[bytes]:
        yield b"a"

    for length, status, said in ((2 << 20, 507, "4 MB together"), (1 << 19, 422, "not an elev")):
        with pytest.raises(RefusalError, match=said) as refusal:
            asyncio.run(uploads.take("hills.tif", length, body(), None))
        assert refusal.value.status == status
    assert os.listdir(uploads.folder) == [folder.name]


def test_the_event_loop_does_not_wait_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop_thread, used = threading.get_ident(), set()
    sweep, write = Uploads.sweep, replace_json

    def swept(self: Uploads, now: set[str] | tuple[()] = ()) -> None:
        used.add(threading.get_ident())
        sweep(self, now)

    def written(path: Path, value: object) -> None:
        used.add(threading.get_ident())
        write(path, value)

    monkeypatch.setattr(Uploads, "sweep", swept)
    monkeypatch.setattr(module, "replace_json", written)

    async def body() -> AsyncIterator[bytes]:
        yield geotiff()

    assert asyncio.run(Uploads(tmp_path).take("hills.tif", None, body(), None))["unit"] == "m"
    assert used
    assert loop_thread not in used
