from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import shutil
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from tests.web.frames import unpack
from tests.web.rasters import geotiff
from tests.web.site import CHANGE, Site, serving, until

from homeward import __version__
from homeward.runs import Run
from homeward.web.listing import paired
from homeward.web.openapi import API
from homeward.web.refusals import Refusal, RefusalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGE = {"size": 40, "seed": 1, "walls": 0.2, "delta": 0.9}


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a folder in which runs are made; one goes at a time."""
    root = tmp_path_factory.mktemp("busy")
    with serving(root, jobs=1, viewers=1) as found:
        yield found


def test_it_says_who_answers(site: Site) -> None:
    about = site.get("/api/v1/about").json()
    assert about["version"] == __version__
    assert about["runs"] == "runs"
    assert set(about["limits"]) == {"uploads", "stored", "runs", "queued", "streams", "cells"}


def test_the_list_has_every_run_and_the_newest_first(site: Site) -> None:
    found = site.get("/api/v1/runs").json()["runs"]
    assert {r["id"] for r in found} == {
        *("grid-safe", "grid-unsafe", "grid-paper", "meadow", "rover", "rover-paper")
    }
    newest = [max(run["created"] for run in row) for row in paired(found)]
    assert newest == sorted(newest, reverse=True)


def test_details_say_all_of_a_run(site: Site) -> None:
    found = site.get("/api/v1/runs/grid-safe").json()
    assert found["shape"] == [6, 6]
    assert found["config"]["size"] == 6
    assert found["limit"] == 20 * 36
    home = {"kind": "return", "level": 0.7, "home": "start", "within": None}
    assert found["criteria"] == [home]
    assert (found["pair"], found["home"]) == ("grid-unsafe", "start")
    assert len(found["actions"]) == 9
    rover = site.get("/api/v1/runs/rover").json()
    assert rover["cell"] == [20.0, 20.0]
    assert rover["start"] == 10 * rover["config"]["start"][0] + rover["config"]["start"][1]
    meadow = site.get("/api/v1/runs/meadow").json()
    assert (meadow["shape"], meadow["layers"]) == (None, [])


def test_records_fields_why_and_way_answer(site: Site, runs: Path) -> None:
    _, records = unpack(site.get("/api/v1/runs/rover/records?from=10&to=20").content)
    known = [r.state for r in Run(runs / "rover").records()]
    assert records["state"].tolist() == known[10:20]
    frame = site.get("/api/v1/runs/rover/steps/60/fields?layers=height,uncertainty")
    _, fields = unpack(frame.content)
    kept = Run(runs / "rover").fields()
    np.testing.assert_array_equal(fields["height"], kept["height"].astype(np.float32))
    np.testing.assert_array_equal(fields["uncertainty"], kept["deviation"].astype(np.float32))
    assert site.get("/api/v1/runs/rover/steps/3/why").json()["agrees"]
    assert site.get("/api/v1/runs/rover/steps/3/way?cell=7").json()["cell"] == 7


def test_a_run_is_told_as_a_whole(site: Site) -> None:
    found = site.get("/api/v1/runs/grid-safe/playback?level=0.8").json()
    assert (found["level"], found["delta"]) == (0.8, 0.7)
    assert site.get("/api/v1/runs/grid-safe/timeline").json()["events"] == found["events"]
    assert site.get("/api/v1/runs/grid-safe/glance").json()["trapped"] is None
    for level in ("2", "nan", "x"):
        refused = site.get(f"/api/v1/runs/grid-safe/playback?level={level}")
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")
    assert site.get("/api/v1/runs/meadow/glance").status_code == 404


def test_what_one_takes_along_is_sent_as_files(site: Site, runs: Path) -> None:
    run = f"{API}/runs/rover"
    names = {file["name"]: file["bytes"] for file in site.get(f"{run}/files").json()["files"]}
    assert {"path.geojson", "terrain.tif", "terrain.qml", "summary.md"} <= names.keys()
    assert not {"config.json", "manifest.json", "steps.jsonl"} & names.keys()
    got = site.get(f"{run}/files/terrain.tif")
    assert got.content == (runs / "rover" / "terrain.tif").read_bytes()
    assert got.headers["content-disposition"] == 'attachment; filename="rover-terrain.tif"'
    for name in ("config.json", "steps.jsonl", "..%2Fgrid-safe%2Fsummary.json", "absent.md"):
        assert site.get(f"{run}/files/{name}").status_code == 404
    way = site.get(f"{run}/steps/5/way/home.geojson")
    assert way.json()["type"] == "FeatureCollection"
    assert site.get(f"{run}/steps/5/way/home.exe").status_code == 404
    page = site.get(f"{API}/runs/grid-safe/play.html", params={"beside": "grid-unsafe"})
    assert page.headers["Content-Disposition"] == 'attachment; filename="grid-safe-compared.html"'
    assert "<title>grid-safe and grid-unsafe" in page.text
    assert site.get(f"{API}/runs/grid-safe/play.html?beside=none").status_code == 404
    found = site.get(f"{API}/runs/grid-safe/certificate").json()
    assert (found["run"], found["refuted"]) == ("grid-safe", False)
    record, there = found["details"]["record"], runs / "grid-safe"
    assert record["steps_sha256"] == sha256((there / "steps.jsonl").read_bytes()).hexdigest()
    assert record["config_sha256"] == sha256((there / "config.json").read_bytes()).hexdigest()
    assert record["config"] == Run.open(there).config
    assert record["homeward"] == __version__


def test_a_run_is_made_again_at_other_levels(busy: Site) -> None:
    config = {"size": 5, "seed": 3, "walls": 0.1, "delta": 0.9, "limit": 3}
    busy.post(f"{API}/runs", {"kind": "grid", "name": "first", "config": config})
    busy.wait("first", "finished")
    made = busy.post(f"{API}/runs/first/again", {"deltas": [0.7, 1]})
    assert made.status_code == 201
    runs = made.json()["runs"]
    assert [run["delta"] for run in runs] == [0.7, 1.0]
    assert [run["id"] for run in runs] == ["first-delta-0.7", "first-delta-1"]
    more = busy.post(f"{API}/runs/first-delta-1/again", {"deltas": [0.7]}).json()["runs"]
    assert [run["id"] for run in more] == ["first-1-delta-0.7"]
    busy.wait("first-1-delta-0.7", "finished")
    busy.delete(f"{API}/runs/first-1-delta-0.7")
    for run in runs:
        busy.wait(run["id"], "finished")
        there = Run.open(busy.root / run["id"]).config
        assert {**there, "delta": 0.9} == Run.open(busy.root / "first").config
        busy.delete(f"{API}/runs/{run['id']}")
    wrong: list[dict[str, Any]] = [{"deltas": []}, {"deltas": [2]}, {"deltas": ["x"]}, {}]
    for body in (*wrong, {"deltas": [0.5], "a": 1}):
        assert busy.post(f"{API}/runs/first/again", body).status_code == 400
    busy.delete(f"{API}/runs/first")


def test_what_is_true_only_now_is_not_kept(site: Site) -> None:
    for path in ("/api/v1/runs", "/api/v1/runs/grid-safe", "/api/v1/runs/grid-safe/steps/1/why"):
        assert site.get(path).headers["cache-control"] == "no-store"


def test_there_are_sixteen_layers_at_most(site: Site) -> None:
    layers = ",".join(f"layer{number}" for number in range(17))
    answer = site.get(f"/api/v1/runs/grid-safe/steps/1/fields?layers={layers}")
    assert answer.status_code == 400
    assert "1 to 16 layers" in answer.json()["error"]


def test_a_stream_goes_on_after_the_last_step_that_was_heard_of(site: Site) -> None:
    last = site.get("/api/v1/runs/grid-safe").json()["steps"]
    heard = {"Last-Event-ID": f"grid-safe@{last - 2}"}
    with site.client.stream("GET", "/api/v1/events?runs=grid-safe", headers=heard) as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: steps"
        said = json.loads(next(line for line in lines if line.startswith("data"))[6:])
    assert (said["from"], said["to"]) == (last - 2, last)


def test_one_answer_does_not_wait_for_a_preview(site: Site) -> None:
    assert site.server.pool.worker_of("") is not site.server.pool.worker_of("grid-safe")
    assert site.server.pool.worker_of("") not in site.server.pool.viewers


def test_the_event_loop_does_not_hash(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = []

    def tag(body: bytes) -> str:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        hashed.append(len(body))
        return '"tag"'

    monkeypatch.setattr("homeward.web.transport.tag_of", tag)
    answer = site.get("/api/v1/runs/rover/steps/3/fields")
    assert (answer.status_code, answer.headers["etag"]) == (200, '"tag"')
    assert hashed == [len(answer.content)]


def test_an_unchanged_frame_is_not_sent_again(site: Site) -> None:
    path = "/api/v1/runs/grid-safe/steps/2/fields?layers=seen"
    first = site.get(path)
    assert first.headers["cache-control"] == "private, no-cache"
    again = site.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = site.get(path.replace("/2/", "/3/"), headers={"If-None-Match": first.headers["etag"]})
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/runs/nobody", 404),
        ("/api/v1/runs/grid-safe/steps/999/why", 404),
        ("/api/v1/runs/grid-safe/steps/-1/why", 404),
        ("/api/v1/runs/grid-safe/steps/x/fields", 404),
        ("/api/v1/runs/grid-safe/steps/1/fields?layers=magic", 404),
        ("/api/v1/runs/grid-safe/steps/1/fields?layers=", 400),
        ("/api/v1/runs/grid-safe/steps/1/way", 400),
        ("/api/v1/runs/grid-safe/steps/1/way?cell=99", 404),
        ("/api/v1/runs/grid-safe/steps/1/ghosts?cell=99", 404),
        ("/api/v1/runs/grid-safe/steps/1/ghosts?cell=1&seed=x", 400),
        ("/api/v1/runs/grid-safe/records?from=-2", 400),
        ("/api/v1/runs/grid-safe/records?from=1e9", 400),
        ("/api/v1/runs/meadow/steps/1/fields", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/terrain/preview?rows=4000000&columns=4000000", 400),
        ("/api/v1/terrain/preview?terrain=/etc/passwd", 400),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(site: Site, path: str, status: int) -> None:
    answer = site.get(path)
    assert answer.status_code == status
    assert len(answer.json()["error"]) > 10
    assert Refusal(answer.json()["code"]).status == status
    assert "Traceback" not in answer.text


def test_kinds_examples_and_a_preview_are_there(site: Site) -> None:
    assert set(site.get("/api/v1/kinds").json()) == {"grid", "rover"}
    assert len(site.get("/api/v1/examples").json()["worlds"]) == 3
    _, arrays = unpack(site.get("/api/v1/terrain/preview?rows=100&columns=160&cell=10").content)
    assert arrays["height"].shape == (10, 16)


def test_where_the_page_is_not_built_it_says_so(site: Site) -> None:
    answer = site.get("/")
    assert answer.status_code == 200
    assert "not built" in answer.text


def test_the_page_and_its_parts_are_served(tmp_path: Path) -> None:
    static = tmp_path / "no static"
    static.mkdir()
    (static / "index.html").write_text("<p>page")
    (static / "page.js").write_text("1")
    (static / "chunk-AB12CD34.js").write_text("2")
    (static / "secret.py").write_text("3")
    (static / "link.js").symlink_to("/etc/passwd")
    with serving(tmp_path, viewers=1) as site:
        assert site.get("/").text == "<p>page"
        assert site.get("/").headers["cache-control"] == "no-cache"
        script = site.get("/static/page.js")
        assert script.headers["content-type"].startswith("text/javascript")
        assert script.headers["cache-control"] == "no-cache"
        assert "immutable" in site.get("/static/chunk-AB12CD34.js").headers["cache-control"]
        for path in ("secret.py", "link.js", "../app.py", "%2e%2e/app.py", "nothing.js", ""):
            assert site.get(f"/static/{path}").status_code == 404


def test_a_new_run_is_watched_to_its_end_and_removed(busy: Site) -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    def listen() -> None:
        with busy.client.stream("GET", "/api/v1/events?runs=mine") as stream:
            name = ""
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    name = line[7:]
                elif line.startswith("data: "):
                    told.append((name, json.loads(line[6:])))
                    if name == "gone":
                        return

    made = busy.post("/api/v1/runs", {"kind": "grid", "name": "mine", "config": {"size": 5}})
    assert made.status_code == 201
    assert made.json()["status"] in ("running", "queued")
    watcher = threading.Thread(target=listen)
    watcher.start()
    busy.wait("mine", "finished")
    total = busy.get("/api/v1/runs/mine").json()["steps"]
    until(lambda: any(n == "status" and d["status"] == "finished" for n, d in told))
    assert busy.delete("/api/v1/runs/mine").status_code == 204
    watcher.join(10)
    assert told[-1][0] == "gone"
    steps = [d for n, d in told if n == "steps"]
    assert [steps[0]["from"], steps[-1]["to"]] == [0, total]
    assert all(a["to"] == b["from"] for a, b in itertools.pairwise(steps))
    assert not (busy.root / "mine").exists()
    assert busy.get("/api/v1/runs/mine").status_code == 404


def test_a_run_is_paused_resumed_and_cancelled_while_another_waits(busy: Site) -> None:
    for name in ("first", "second"):
        assert busy.post("/api/v1/runs", {"kind": "grid", "name": name, "config": LARGE}).is_success
    waiting = busy.get("/api/v1/runs/second").json()
    assert (waiting["status"], waiting["place"]) == ("queued", 1)
    until(lambda: busy.get("/api/v1/runs/first").json()["steps"])
    assert busy.delete("/api/v1/runs/first").status_code == 409
    assert busy.post("/api/v1/runs/first/pause").json()["status"] == "paused"
    assert busy.wait("second", "running")
    assert busy.post("/api/v1/runs/first/pause").status_code == 409
    assert busy.post("/api/v1/runs/first/resume").json()["status"] == "queued"
    assert busy.post("/api/v1/runs/first/cancel").json()["status"] == "cancelled"
    assert busy.post("/api/v1/runs/second/cancel").json()["status"] == "cancelled"
    frame = busy.get("/api/v1/runs/first/steps/1/fields?layers=seen,v")
    assert set(unpack(frame.content)[1]) == {"seen", "v"}


def test_two_tabs_that_start_the_same_name_make_one_run(busy: Site) -> None:
    answers: list[httpx.Response] = []
    wanted = {"kind": "grid", "name": "same", "config": {"size": 4}}

    def tab() -> None:
        answers.append(httpx.post(f"{busy.address}/api/v1/runs", json=wanted, headers=CHANGE))

    tabs = [threading.Thread(target=tab) for _ in range(4)]
    for one in tabs:
        one.start()
    for one in tabs:
        one.join()
    assert sorted(a.status_code for a in answers) == [201, 409, 409, 409]
    assert all("same" in a.json()["error"] for a in answers if a.status_code == 409)
    assert busy.post("/api/v1/runs", wanted).status_code == 409
    assert busy.post("/api/v1/runs/same/resume").status_code == 409


def test_a_pair_is_made_as_a_whole_or_not_at_all(
    busy: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask, asked = busy.server.pool.ask, []

    async def once(run: str, name: str, *given: Any, **more: Any) -> Any:
        asked.append(name)
        if asked.count("make") == 2:
            raise RefusalError(Refusal.UNUSABLE, "the second can't be made")
        return await ask(run, name, *given, **more)

    monkeypatch.setattr(busy.server.pool, "ask", once)
    answer = busy.post("/api/v1/pairs", {"kind": "grid", "name": "two", "config": {"size": 3}})
    assert answer.status_code == 422
    assert not [path for path in busy.root.iterdir() if "two" in path.name]


def test_a_run_that_is_deleted_is_forgotten(busy: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    Run.create(busy.root / "brief", "grid", {"size": 3}).resume()
    ask, asked = busy.server.pool.ask, []

    async def noted(run: str, name: str, *given: Any, **more: Any) -> Any:
        asked.append((run, name))
        return await ask(run, name, *given, **more)

    monkeypatch.setattr(busy.server.pool, "ask", noted)
    assert busy.delete("/api/v1/runs/brief").status_code == 204
    until(lambda: ("brief", "forget") in asked)
    assert busy.delete("/api/v1/runs/brief").status_code == 404


def test_a_pair_is_made_in_the_same_world(busy: Site) -> None:
    wanted = {"kind": "grid", "config": {"map": "b11\n151\n111", "delta": 0.9}}
    pair = busy.post("/api/v1/pairs", wanted).json()
    assert (pair["safe"]["explorer"], pair["unsafe"]["explorer"]) == ("safe", "uncover")
    configs = [Run(busy.root / pair[end]["id"]).config for end in ("safe", "unsafe")]
    assert configs[0] == {**configs[1], "explorer": "safe", "delta": 0.9}
    assert busy.get(f"/api/v1/runs/{pair['safe']['id']}").json()["pair"] == pair["unsafe"]["id"]
    bad = busy.post("/api/v1/pairs", {"kind": "grid", "name": "bad", "config": {"delta": 7}})
    assert bad.status_code == 400
    assert not [p for p in busy.root.iterdir() if p.name.startswith("bad")]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"kind": "grid", "config": {"delta": 1.5}}, "delta is 1.5"),
        ({"kind": "grid", "config": {"map": "b1\n1"}}, "the row has 1 squares"),
        ({"kind": "toytext", "config": {}}, "kind of run"),
        ({"kind": "grid", "config": []}, "config, the configuration, is not a JSON object"),
        ({"kind": "grid", "config": None}, "config, the configuration, is not a JSON object"),
        ({"kind": "grid", "name": "../up"}, "the name of a run"),
        ({"kind": "grid", "name": 5}, "the name of a run"),
        ({"kind": "grid", "speed": 5}, "'speed' is not a key"),
        (
            {"kind": "rover", "config": {"start": [900, 900], "rows": 99, "columns": 99}},
            "off the map",
        ),
        ([1, 2], "not a JSON object"),
    ],
)
def test_a_run_that_can_not_be_made_is_refused_and_leaves_nothing(
    busy: Site, wanted: Any, said: str
) -> None:
    before = sorted(p.name for p in busy.root.iterdir())
    answer = busy.post("/api/v1/runs", wanted)
    assert answer.status_code in (400, 422)
    assert said in answer.json()["error"]
    assert sorted(p.name for p in busy.root.iterdir()) == before


def test_what_is_not_json_is_refused(busy: Site) -> None:
    for kind, body, status in (
        ("text/plain", b"{}", 415),
        ("application/json", b"{", 400),
        ("application/json", b"[" * 100_000, 400),
        ("application/json", b" " * (9 << 20), 413),
    ):
        answer = busy.client.post(
            "/api/v1/runs", content=body, headers={**CHANGE, "Content-Type": kind}
        )
        assert answer.status_code == status


def test_an_uploaded_raster_is_explored(busy: Site) -> None:
    sent = busy.client.put("/api/v1/uploads/my%20hills.tif", content=geotiff(), headers=CHANGE)
    assert sent.status_code == 201
    upload = sent.json()["upload"]
    query = f"terrain={upload}&cell=40"
    _, preview = unpack(busy.get(f"/api/v1/terrain/preview?{query}").content)
    assert preview["height"].shape == (10, 15)
    config = {"terrain": upload, "cell": 40.0, "limit": 3, "climb": 20.0}
    made = busy.post("/api/v1/runs", {"kind": "rover", "name": "hills", "config": config})
    assert made.json()["shape"] == [10, 15]
    recorded = json.loads((busy.root / "hills" / "config.json").read_text())["config"]["terrain"]
    assert recorded == f"../.uploads/{upload.removeprefix('upload:')}/my-hills.tif"
    busy.wait("hills", "finished")
    found = busy.get("/api/v1/runs/hills").json()
    assert found["config"]["terrain"] == upload
    digest = hashlib.sha256(geotiff()).hexdigest()
    assert found["files"] == {"terrain": {"name": "my hills.tif", "sha256": digest}}
    record = busy.get("/api/v1/runs/hills/certificate").json()["details"]["record"]
    assert (record["files"], record["crs"]) == (found["files"], found["crs"])
    assert record["transform"] == found["transform"]
    assert "terrain_sha256" not in record["config"]  # of the cells, not of the file
    path = busy.get("/api/v1/runs/hills/files/path.geojson").content
    assert record["outputs"]["path.geojson"] == hashlib.sha256(path).hexdigest()
    assert str(busy.root) not in json.dumps(found)
    kept = busy.root / ".uploads" / upload.removeprefix("upload:")
    assert kept.exists()
    assert busy.delete("/api/v1/runs/hills").status_code == 204
    assert not kept.exists()


def test_a_run_that_ended_at_its_limit_goes_on_for_more_steps(busy: Site) -> None:
    config = {"size": 8, "seed": 5, "limit": 3}
    busy.post("/api/v1/runs", {"kind": "grid", "name": "brief", "config": config})
    assert busy.wait("brief", "finished")["end"] == "steps"
    for body, status in (({"steps": 3}, 409), ({"steps": 0}, 400), ({"more": 4}, 400)):
        assert busy.post("/api/v1/runs/brief/resume", body).status_code == status
    assert busy.status("brief") == "finished"
    told = busy.post("/api/v1/runs/brief/resume", {"steps": 7}).json()
    assert (told["limit"], told["end"]) == (7, None)
    assert busy.wait("brief", "finished")["steps"] == 7
    assert busy.get("/api/v1/runs/brief").json()["config"]["limit"] == 7
    busy.post("/api/v1/runs/brief/again", {"deltas": [0.5]})
    assert busy.wait("brief-delta-0.5", "finished")["steps"] == 7  # a fair comparison
    busy.post("/api/v1/runs/brief/resume", {"steps": 1000})
    assert busy.wait("brief", "finished")["end"] != "steps"
    refused = busy.post("/api/v1/runs/brief/resume", {"steps": 2000})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "did not end at its step limit" in refused.json()["error"]


def test_a_damaged_run_is_told_of_and_the_rest_goes_on(site: Site, runs: Path) -> None:
    folder = site.root / "broken"
    shutil.copytree(runs / "grid-safe", folder)
    lines = (folder / "steps.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "steps.jsonl").write_bytes(b"".join([*lines[:2], b"noise\n", *lines[3:]]))
    details = site.get("/api/v1/runs/broken").json()
    assert (details["status"], details["steps"]) == ("damaged", 2)
    assert "line 3 is damaged" in details["error"]
    assert details["layers"]
    _, arrays = unpack(site.get("/api/v1/runs/broken/records").content)
    assert arrays["state"].size == 2
    assert site.get("/api/v1/runs/broken/steps/2/fields").status_code == 200
    for text, said in (("{", "broken is damaged"), ('{"format": 3}', "a newer version")):
        (folder / "manifest.json").write_text(text)
        answer = site.get("/api/v1/runs/broken")
        assert answer.status_code == 409
        assert said in answer.json()["error"]
    listed = {r["id"]: r["status"] for r in site.get("/api/v1/runs").json()["runs"]}
    assert (listed["broken"], listed["grid-safe"]) == ("newer", "finished")
    assert site.delete("/api/v1/runs/broken").status_code == 204
    assert not folder.exists()
