"""What an attacker may try, each over a socket of its own: nothing is sent as a browser would."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.web.rasters import boast, geotiff, packed
from tests.web.site import CHANGE, Site, serving, until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def fort(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve one run, with limits that are soon met."""
    root = tmp_path_factory.mktemp("fort") / "runs"
    shutil.copytree(runs / "grid-safe", root / "grid-safe")
    (root.parent / "secret.json").write_text("secret")
    static = root.parent / "static"
    static.mkdir()
    (static / "index.html").write_text("the page")
    (static / "part.json").write_text("{}")
    (static / "linked.json").symlink_to(root.parent / "secret.json")
    with serving(root, static=static, viewers=1, upload=1 << 20, stalled=0.5) as found:
        yield found


def talk(site: Site, request: bytes) -> tuple[int, bytes]:
    """Send bytes and give the status and the rest of the answer."""
    with socket.create_connection(("127.0.0.1", site.port), 20) as line:
        line.sendall(request)
        answer = b""
        while b"\r\n\r\n" not in answer or not whole(answer):
            part = line.recv(65536)
            if not part:
                break
            answer += part
    return int(answer.split(b" ", 2)[1]), answer


def whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.split(b":")[1])
    return False


def ask(site: Site, path: str, method: str = "GET", host: str | None = None, **more: str) -> Any:
    host = host or f"127.0.0.1:{site.port}"
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    return talk(site, ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../secret.json", "/static/%2e%2e/secret.json", "/static/..%2fsecret.json"),
        *("/static/./../secret.json", "/static//secret.json", "/static/linked.json", "/static/"),
        *("/static/%2e%2e%2fsecret.json", "/static/..\\secret.json", "/static/part.json%00.js"),
    ],
)
def test_no_part_of_the_page_is_elsewhere(fort: Site, path: str) -> None:
    assert ask(fort, "/static/part.json")[0] == 200
    status, answer = ask(fort, path)
    assert status == 404
    assert b"this address does not exist" in answer


def test_another_sites_page_can_not_have_something_worked_out(fort: Site) -> None:
    path = "/api/v1/terrain/preview?rows=100&columns=100&cell=10"
    for site in ("cross-site", "same-site"):
        assert ask(fort, path, Sec_Fetch_Site=site)[0] == 403
        assert ask(fort, "/", Sec_Fetch_Site=site)[0] == 200  # a link to it may stand there
    assert ask(fort, path, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_foreign_host_gets_nothing(fort: Site) -> None:
    for path in ("/", "/api/v1/runs", "/api/v1/events?runs=grid-safe"):
        status, answer = ask(fort, path, host="rebound.example")
        assert status == 403
        assert b"grid-safe" not in answer


def test_a_post_from_a_foreign_page_does_nothing(fort: Site) -> None:
    before = sorted(os.listdir(fort.root))
    body = json.dumps({"kind": "grid", "config": {}})
    for headers in (
        {"Origin": "http://evil.example", "X_Homeward": "1"},
        {"Origin": "null", "X_Homeward": "1"},
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded", "Origin": "http://evil.example"},
    ):
        given = {"Content_Length": str(len(body)), **headers}
        assert ask(fort, "/api/v1/runs", "POST", **given)[0] == 403
    assert ask(fort, "/api/v1/runs/grid-safe", "DELETE", Origin="http://evil.example")[0] == 403
    assert ask(fort, "/api/v1/runs", "OPTIONS", Origin="http://evil.example")[0] == 405
    assert sorted(os.listdir(fort.root)) == before


DOTS = ["..", "%2e%2e", "%2E%2e", ".%2e", "..%2f..", "%2e%2e%2f", "..%5c..", "%252e%252e", "..%00"]


@pytest.mark.parametrize("dots", DOTS)
def test_no_path_leads_out_of_the_folder(fort: Site, dots: str) -> None:
    for path in (
        *(
            f"/api/v1/runs/{dots}",
            f"/api/v1/runs/{dots}/secret.json",
            f"/api/v1/runs/{dots}/steps/0/fields",
        ),
        *(
            f"/static/{dots}/app.py",
            f"/static/{dots}/{dots}/{dots}/etc/passwd",
            f"/{dots}/etc/passwd",
        ),
        f"/api/v1/runs/grid-safe/{dots}/{dots}/secret.json",
    ):
        status, answer = ask(fort, path)
        assert status == 404, path
        assert b"secret" not in answer.partition(b"\r\n\r\n")[2]
        assert b"root:" not in answer


def test_a_link_in_the_folder_leads_nowhere(fort: Site, runs: Path) -> None:
    (fort.root / "linked").symlink_to(runs / "grid-safe")
    shutil.copytree(runs / "grid-safe", fort.root / "half")
    (fort.root / "half" / "steps.jsonl").unlink()
    (fort.root / "half" / "steps.jsonl").symlink_to("/etc/passwd")
    for name in ("linked", "half"):
        for path in ("", "/records", "/steps/0/fields", "/thumbnail"):
            assert ask(fort, f"/api/v1/runs/{name}{path}")[0] == 404
        status, _ = ask(fort, f"/api/v1/runs/{name}", "DELETE", X_Homeward="1")
        assert status == 404
    assert {r["id"] for r in fort.get("/api/v1/runs").json()["runs"]} == {"grid-safe"}
    assert (runs / "grid-safe" / "steps.jsonl").exists()


def left(site: Site) -> list[str]:
    """Give what of uploads is on the disk."""
    folder = site.root / ".uploads"
    return os.listdir(folder) if folder.exists() else []


def test_an_oversized_upload_is_refused_at_once(fort: Site) -> None:
    began = time.monotonic()
    given = {"X_Homeward": "1", "Content_Length": str(5 << 30)}
    status, answer = ask(fort, "/api/v1/uploads/big.tif", "PUT", **given)
    assert status == 413
    assert b"larger than 1 MB" in answer
    assert time.monotonic() - began < 5.0
    assert left(fort) == []


def test_an_endless_upload_is_cut_off(fort: Site) -> None:
    head = (
        f"PUT /api/v1/uploads/endless.tif HTTP/1.1\r\nHost: 127.0.0.1:{fort.port}\r\n"
        "X-Homeward: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    sent = 0
    with socket.create_connection(("127.0.0.1", fort.port), 20) as line:
        line.sendall(head.encode())
        try:
            while sent < 64 << 20:
                line.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
                sent += 1 << 16
        except OSError:
            pass  # it hung up on us
    assert sent < 64 << 20
    until(lambda: left(fort) == [])


def test_an_upload_that_stops_midway_leaves_nothing(fort: Site) -> None:
    head = (
        f"PUT /api/v1/uploads/half.tif HTTP/1.1\r\nHost: 127.0.0.1:{fort.port}\r\n"
        "X-Homeward: 1\r\nContent-Length: 1000\r\n\r\nhalf"
    ).encode()
    status, answer = talk(fort, head)
    assert status == 400
    assert b"no byte of the upload arrived" in answer
    with socket.create_connection(("127.0.0.1", fort.port), 20) as line:
        line.sendall(head)
        until(lambda: left(fort))
    until(lambda: left(fort) == [])


@pytest.mark.parametrize(
    ("data", "said"),
    [(packed(), "not an elevation raster"), (boast(), "1000000 x 1000000 pixels are more than")],
)
def test_what_only_looks_like_a_raster_is_refused(fort: Site, data: bytes, said: str) -> None:
    answer = fort.client.put("/api/v1/uploads/hills.tif", content=data, headers=CHANGE)
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert left(fort) == []


@pytest.mark.parametrize("name", ["hills.vrt", "hills.zip", "..%2f..%2fhills.sh", "hills"])
def test_an_upload_of_another_kind_is_refused(fort: Site, name: str) -> None:
    answer = fort.client.put(f"/api/v1/uploads/{name}", content=geotiff(), headers=CHANGE)
    assert answer.status_code in (404, 415)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "a&b", 'a"b', "a'b", "javascript:1", "../x", "\u202ex"]
)
def test_a_script_is_no_name(fort: Site, name: str) -> None:
    answer = fort.post("/api/v1/runs", {"kind": "grid", "name": name, "config": {}})
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("application/json")
    assert "<" not in answer.text
    folder = fort.root / name.replace("/", "_")
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    listed = {r["id"] for r in fort.get("/api/v1/runs").json()["runs"]}
    folder.joinpath("config.json").unlink()
    folder.rmdir()
    assert listed <= {"grid-safe", "half"}


def test_of_two_hundred_streams_the_last_are_refused_and_the_rest_goes_on(fort: Site) -> None:
    head = f"GET /api/v1/events?runs=grid-safe HTTP/1.1\r\nHost: 127.0.0.1:{fort.port}\r\n\r\n"
    lines = []
    try:
        for _ in range(200):
            line = socket.create_connection(("127.0.0.1", fort.port), 20)
            lines.append(line)
            line.sendall(head.encode())
        statuses = [int(line.recv(4096).split(b" ", 2)[1]) for line in lines]
        assert statuses.count(200) == 64
        assert statuses.count(429) == 136
        began = time.monotonic()
        assert fort.get("/api/v1/about").status_code == 200
        assert time.monotonic() - began < 2.0
    finally:
        for line in lines:
            line.close()
    until(lambda: fort.server.streams.going == 0)
    with httpx.stream("GET", f"{fort.address}/api/v1/events?list=1") as stream:
        assert stream.status_code == 200


def test_with_a_token_nothing_is_answered_without_it(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "grid-safe", tmp_path / "grid-safe")
    with serving(tmp_path, token="a-long-enough-secret", viewers=1) as site:
        for path in ("/api/v1/runs", "/api/v1/events?list=1", "/?token=wrong"):
            assert site.get(path).status_code == 401
        shown = {"Authorization": "Bearer a-long-enough-secret"}
        assert site.get("/api/v1/runs", headers=shown).status_code == 200
        led = site.get("/?token=a-long-enough-secret")
        key = led.headers["location"].removeprefix("/?key=")
        assert site.get("/api/v1/runs").status_code == 401
        assert site.get(f"/api/v1/runs?key={key}").status_code == 200


def test_garbage_gets_a_plain_answer(fort: Site) -> None:
    for request in (
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
    ):
        status, answer = talk(fort, request)
        assert status in (400, 403)
        assert b"Traceback" not in answer
