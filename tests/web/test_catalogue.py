from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeward.replay import Replay
from homeward.replay.events import trapped_at
from homeward.runs import Run, RunStatus
from homeward.runs.kind import find_kind
from homeward.runs.lock import locked
from homeward.runs.log import Record, to_line
from homeward.web.catalogue import (
    Catalogue,
    QueueState,
    check_name,
    plain_file,
    status_of,
)
from homeward.web.refusals import RefusalError
from homeward.words import why_ended

if TYPE_CHECKING:
    from collections.abc import Callable

BAD_NAMES = [
    *("", ".", "..", "../runs", "a/b", "a\\b", ".hidden", "/etc", "a\0b", "%2e%2e", "a b", "ä"),
    *("<script>", "a" * 101, "a\n", "~", "grid-safe/", "grid-safe/../grid-safe"),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_what_is_no_name_finds_no_run(runs: Path, name: str) -> None:
    with pytest.raises(RefusalError) as refusal:
        Catalogue(runs).find(name)
    assert refusal.value.status == 404
    with pytest.raises(RefusalError) as refusal:
        check_name(name)
    assert refusal.value.status == 400


@given(st.text())
def test_a_name_that_is_let_pass_stays_in_the_folder(name: str) -> None:
    root = Path("/some/folder")
    try:
        check_name(name)
    except RefusalError:
        return
    assert os.path.normpath(root / name) == str(root / name)
    assert (root / name).parent == root


def test_the_runs_are_listed(runs: Path) -> None:
    names = ["grid-paper", "grid-safe", "grid-unsafe", "meadow", "rover", "rover-paper"]
    assert Catalogue(runs).names() == names


def test_a_link_is_no_run(own: Path) -> None:
    (own / "linked").symlink_to(own / "grid-safe")
    catalogue = Catalogue(own)
    assert catalogue.names() == ["grid-safe"]
    with pytest.raises(RefusalError):
        catalogue.find("linked")


@pytest.mark.parametrize(
    "part", ["config.json", "manifest.json", "steps.jsonl", "plan_ms.f32", "fields.npz", "lock"]
)
def test_a_run_with_a_link_in_it_is_none(own: Path, tmp_path: Path, part: str) -> None:
    there = own / "grid-safe" / part
    if part == "lock":
        there.touch()
    there.rename(tmp_path / "elsewhere")
    there.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusalError, match=r"link|no run"):
        Catalogue(own).find("grid-safe")


def test_a_line_longer_than_what_is_read_at_once_is_counted(tmp_path: Path) -> None:
    path, counter = tmp_path / "steps", StepCounter()

    def line(step: int, size: int) -> bytes:
        bounds = (1.0,)
        seen = "x" * size
        return to_line(Record(step, 0, 0, 0, seen, "optimal", 1.0, 1.0, bounds, bounds))

    long = line(4, 2 << 20)
    path.write_bytes(line(1, 1) + line(2, 5 << 19) + line(3, 1) + long[:99])
    assert counter.count(path) == 3
    for part, count in ((long[99 : 1 << 20], 3), (long[1 << 20 :] + line(5, 1), 5)):
        with open(path, "ab") as file:
            file.write(part)
        assert counter.count(path) == count


def test_nobody_waits_at_a_pipe_that_is_named_like_a_log(own: Path) -> None:
    (own / "grid-safe" / "steps.jsonl").unlink()
    os.mkfifo(own / "grid-safe" / "steps.jsonl")
    assert Catalogue(own).count("grid-safe")[0] == 0


def test_a_folder_that_is_no_run_is_not_listed(own: Path) -> None:
    (own / "notes").mkdir()
    (own / "file").write_text("")
    assert Catalogue(own).names() == ["grid-safe"]


def test_a_summary_says_how_a_run_stands(runs: Path) -> None:
    found = Catalogue(runs).summary("grid-safe")
    manifest = Run(runs / "grid-safe").manifest
    assert found["kind"] == "grid"
    assert found["status"] == "finished"
    assert (found["explorer"], found["delta"], found["seed"]) == ("safe", 0.7, 10)
    assert (found["steps"], found["end"]) == (manifest.steps, manifest.end)
    assert manifest.end is not None
    assert found["why"] == why_ended(manifest.end, manifest.steps)
    assert found["shape"] == [6, 6]
    assert not found["live"]


def test_an_unsafe_explorer_has_no_level(runs: Path) -> None:
    assert Catalogue(runs).summary("grid-unsafe")["delta"] is None


def test_the_shape_of_terrain_is_told(runs: Path, tmp_path: Path) -> None:
    assert Catalogue(runs).summary("rover")["shape"] == [8, 10]
    config = {"rows": 100, "columns": 140, "limit": 5}
    Run.create(tmp_path / "new", "rover", config)
    assert Catalogue(tmp_path).summary("new")["shape"] == [5, 7]


def test_the_shape_of_a_drawn_map_is_told(tmp_path: Path) -> None:
    Run.create(tmp_path / "new", "grid", {"map": "\n  1a1\n  222\n"})
    assert Catalogue(tmp_path).summary("new")["shape"] == [2, 3]


@pytest.mark.parametrize(
    ("part", "text", "said"),
    [
        ("manifest.json", "{", "is not JSON"),
        ("config.json", '{"format": 1, "kind": "grid"}', "was changed"),
        ("manifest.json", '{"format": 1}', "kind is missing"),
    ],
)
def test_a_damaged_run_is_listed_with_the_reason(
    own: Path, part: str, text: str, said: str
) -> None:
    (own / "grid-safe" / part).write_text(text)
    found = Catalogue(own).summary("grid-safe")
    assert found["status"] == "damaged"
    assert said in found["error"]
    assert str(own) not in json.dumps(found)


class StepCounter:
    """Counts as a catalogue does."""

    def count(self, path: Path) -> int:
        folder = path.parent / "run"
        folder.mkdir(exist_ok=True)
        if not hasattr(self, "catalogue"):
            self.catalogue = Catalogue(path.parent)
        (folder / "steps.jsonl").unlink(missing_ok=True)
        if path.exists():
            os.link(path, folder / "steps.jsonl")
        steps, self.broken = self.catalogue.count("run")
        return steps


STRANGE = "config.json: has an unexpected format"


@pytest.mark.parametrize(
    "changed",
    [
        *({"config": []}, {"config": {"delta": float("nan")}}, {"config": {"map": 7}}),
        {"kind": "rover", "config": {"terrain": "mars", "cell": float("inf")}},
        {"kind": "rover", "config": {"terrain": "mars", "cell": 1.0, "pixel": 0}},
        {"kind": "rover", "config": {"terrain": "mars", "window": "all of it", "cell": 1.0}},
        {"kind": "rover", "config": {}},
    ],
)
def test_a_run_that_says_strange_things_is_damaged_and_the_rest_is_listed(
    own: Path, changed: dict[str, Any]
) -> None:
    shutil.copytree(own / "grid-safe", own / "strange")
    config = own / "strange" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | changed))
    manifest = json.loads((own / "strange" / "manifest.json").read_text())
    manifest["config_sha256"] = hashlib.sha256(config.read_bytes()).hexdigest()
    (own / "strange" / "manifest.json").write_text(json.dumps(manifest))
    catalogue = Catalogue(own)
    found = catalogue.summary("strange")
    json.dumps(found, allow_nan=False)
    assert catalogue.summary("grid-safe")["status"] == "finished"
    assert found["status"] in ("damaged", "finished")
    if "delta" in changed["config"] or "pixel" in changed["config"]:
        assert (found["status"], found["error"]) == ("damaged", STRANGE)
    if changed["config"] == []:
        said = "config.json: is damaged: config is []"
        assert (found["status"], found["error"]) == ("damaged", said)


@pytest.mark.parametrize("part", ["config.json", "manifest.json"])
def test_what_is_nested_without_end_is_damaged(own: Path, part: str) -> None:
    (own / "grid-safe" / part).write_text("[" * 100_000)
    assert Catalogue(own).summary("grid-safe")["status"] == "damaged"


@pytest.mark.parametrize("part", ["manifest.json", "steps.jsonl", "config.json"])
def test_a_half_written_run_is_damaged(own: Path, part: str) -> None:
    (own / "grid-safe" / part).unlink()
    found = Catalogue(own).summary("grid-safe")
    assert found["status"] == "damaged"
    assert part in found["error"]


def test_a_summary_and_that_of_a_damaged_run_have_the_same_keys(own: Path) -> None:
    before = Catalogue(own).summary("grid-safe")
    (own / "grid-safe" / "manifest.json").write_text("{")
    assert Catalogue(own).summary("grid-safe").keys() == before.keys()


def test_of_a_failed_run_the_last_line_is_told(own: Path) -> None:
    path = own / "grid-safe" / "manifest.json"
    manifest = json.loads(path.read_text())
    report = 'Traceback (most recent call last):\n  File "x.py", line 1\nRuntimeError: thunder\n'
    path.write_text(json.dumps({**manifest, "status": "failed", "error": report}))
    assert Catalogue(own).summary("grid-safe")["error"] == "RuntimeError: thunder"


def test_details_name_a_terrain_by_its_file_alone(own: Path) -> None:
    config = {"terrain": "/home/somebody/terrain/gale.tif"}
    from homeward.web.uploads import shown_config

    assert shown_config(config, own) == {"terrain": "gale.tif"}


def test_a_run_that_goes_while_it_is_told_of_is_none(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(folder: Path) -> Run:
        shutil.rmtree(folder)
        return Run(folder)

    monkeypatch.setattr(Run, "open", opened)
    with pytest.raises(RefusalError, match="there is no run named grid-safe"):
        Catalogue(own).summary("grid-safe")


def test_the_other_of_a_pair_is_found(runs: Path) -> None:
    catalogue = Catalogue(runs)
    assert catalogue.summary("grid-safe")["pair"] == "grid-unsafe"
    assert catalogue.summary("grid-unsafe")["pair"] == "grid-safe"
    assert catalogue.summary("rover")["pair"] is None


@pytest.mark.parametrize(
    ("status", "queue_state", "told"),
    [
        (RunStatus.FINISHED, None, "finished"),
        (RunStatus.INTERRUPTED, QueueState("queued", 1), "queued"),
        (RunStatus.INTERRUPTED, QueueState("going"), "running"),
        (RunStatus.INTERRUPTED, QueueState("paused"), "paused"),
        (RunStatus.INTERRUPTED, QueueState("cancelled"), "cancelled"),
        (RunStatus.INTERRUPTED, QueueState("refused", error="why"), "failed"),
        (RunStatus.FINISHED, QueueState("paused"), "finished"),
        (RunStatus.RUNNING, QueueState("paused"), "running"),
    ],
)
def test_what_the_server_knows_goes_first(
    status: RunStatus, queue_state: QueueState | None, told: str
) -> None:
    assert status_of(status, queue_state) == told


def test_a_stamp_changes_with_the_manifest_and_the_lock(own: Path) -> None:
    catalogue, path = Catalogue(own), own / "grid-safe" / "manifest.json"
    first = catalogue.stamp("grid-safe")
    with locked(own / "grid-safe" / "lock", "run"):
        assert catalogue.stamp("grid-safe") != first
    assert catalogue.stamp("grid-safe") == first
    os.utime(path, ns=(1, 1))
    assert catalogue.stamp("grid-safe") != first
    shutil.rmtree(own / "grid-safe")
    assert catalogue.stamp("grid-safe") is None


def test_steps_are_counted_as_they_come(tmp_path: Path, runs: Path) -> None:
    path, counter = tmp_path / "steps", StepCounter()
    lines = (runs / "grid-safe" / "steps.jsonl").read_bytes().splitlines(keepends=True)
    assert counter.count(path) == 0
    path.write_bytes(b"".join(lines[:2]) + lines[2][:9])
    assert counter.count(path) == 2
    with open(path, "ab") as file:
        file.write(lines[2][9:] + lines[3])
    assert counter.count(path) == 4
    path.write_bytes(lines[0])
    assert counter.count(path) == 1
    assert counter.broken is None


def test_steps_are_counted_up_to_a_damaged_line(tmp_path: Path, runs: Path) -> None:
    lines = (runs / "grid-safe" / "steps.jsonl").read_bytes().splitlines(keepends=True)
    path, counter = tmp_path / "steps", StepCounter()
    path.write_bytes(b"".join([*lines[:3], lines[3].replace(b":", b";", 1), *lines[4:]]))
    for _ in range(2):
        assert counter.count(path) == 3
        assert counter.broken == "line 4 is damaged"
    path.write_bytes(b"".join(lines))
    assert counter.count(path) == len(lines)
    assert counter.broken is None


def test_another_file_under_the_same_number_is_counted_anew(tmp_path: Path, runs: Path) -> None:
    path, counter = tmp_path / "steps", StepCounter()
    lines = (runs / "grid-safe" / "steps.jsonl").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:4]))
    assert counter.count(path) == 4
    path.write_bytes(b"".join(lines[6:8] + lines[:5]))
    assert counter.count(path) == 7
    assert counter.broken is None


def test_a_damaged_last_line_is_left_out(tmp_path: Path, runs: Path) -> None:
    lines = (runs / "grid-safe" / "steps.jsonl").read_bytes().splitlines(keepends=True)
    path, counter = tmp_path / "steps", StepCounter()
    path.write_bytes(b"".join(lines[:3]) + b"noise\n")
    assert counter.count(path) == 3
    assert counter.broken is None


def change_log(folder: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path = folder / "steps.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def test_a_finished_run_whose_log_is_cut_short_is_damaged(own: Path) -> None:
    catalogue = Catalogue(own)
    whole = catalogue.summary("grid-safe")
    change_log(own / "grid-safe", lambda lines: [*lines[:7], lines[7][:20]])
    found = catalogue.summary("grid-safe")
    assert (found["status"], found["steps"], found["end"]) == ("damaged", 7, None)
    assert found["error"] == f"its log has 7 steps, but the run ended after {whole['steps']}"
    assert found["kind"] == "grid"
    assert found["shape"] == whole["shape"]


def test_a_finished_run_whose_log_is_too_long_is_damaged(own: Path) -> None:
    catalogue = Catalogue(own)
    steps = catalogue.summary("grid-safe")["steps"]
    change_log(own / "grid-safe", lambda lines: [*lines, lines[-1]])
    found = catalogue.summary("grid-safe")
    assert found["status"] == "damaged"
    assert f"has {steps + 1} steps" in found["error"]


def test_a_run_with_a_damaged_line_is_damaged_whether_it_has_ended_or_not(own: Path) -> None:
    change_log(own / "grid-safe", lambda lines: [*lines[:3], b"noise\n", *lines[4:]])
    path = own / "grid-safe" / "manifest.json"
    manifest = json.loads(path.read_text())
    for status in ("finished", "interrupted"):
        path.write_text(json.dumps({**manifest, "status": status}))
        found = Catalogue(own).summary("grid-safe")
        assert (found["status"], found["steps"]) == ("damaged", 3)
        assert (
            found["error"]
            == "steps.jsonl: line 4 is damaged; only the steps before that line are shown"
        )
    assert Catalogue(own).summary("grid-safe", QueueState("going"))["status"] == "running"


def test_a_run_that_has_not_ended_may_have_more_steps_than_it_noted(own: Path) -> None:
    path = own / "grid-safe" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "status": "interrupted", "steps": 2}))
    assert Catalogue(own).summary("grid-safe")["status"] == "interrupted"


@pytest.mark.parametrize("part", ["manifest.json", "config.json"])
def test_a_run_of_a_newer_version_is_not_called_damaged(own: Path, part: str) -> None:
    (own / "grid-safe" / part).write_text('{"format": 3}')
    found = Catalogue(own).summary("grid-safe")
    assert found["status"] == "newer"
    assert found["error"].startswith("a newer version of Homeward made it")
    assert "format 3" in found["error"]
    (own / "grid-safe" / part).write_text('{"format": 0}')
    assert Catalogue(own).summary("grid-safe")["status"] == "damaged"


def test_a_free_name_is_free(own: Path) -> None:
    (own / "grid-1").mkdir()
    (own / "grid-2").symlink_to("nowhere")
    catalogue = Catalogue(own)
    assert catalogue.free_name("grid", ("",), {"grid-3"}) == "grid-4"
    (own / "grid-1-unsafe").mkdir()
    assert catalogue.free_name("grid", ("-safe", "-unsafe"), ()) == "grid-2"


def test_a_file_is_found_by_its_parts(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.js").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert plain_file(tmp_path, "a", "b.js") == tmp_path / "a" / "b.js"
    for parts in (("a",), ("a", "c.js"), ("link", "b.js"), ("a", "b.js", "c")):
        assert plain_file(tmp_path, *parts) is None


def test_a_run_that_goes_away_as_it_is_told_of_is_not_damaged(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalogue = Catalogue(own)
    count = catalogue.count

    def gone(name: str) -> tuple[int, str | None]:
        shutil.rmtree(own / name)
        return count(name)

    monkeypatch.setattr(catalogue, "count", gone)
    with pytest.raises(RefusalError, match="grid-safe"):
        catalogue.summary("grid-safe")


def test_a_trapped_explorer_is_told_with_the_step_of_its_trap(tmp_path: Path) -> None:
    demo = find_kind("grid").demo
    Run.create(tmp_path / "run", "grid", demo["demo-unsafe"]).resume()
    found = Catalogue(tmp_path).summary("run")
    assert (found["end"], found["outcome"]) == ("out_of_reach", "trapped")
    assert found["trapped"] == trapped_at(Replay(tmp_path / "run"))
    assert 0 < found["trapped"] <= found["steps"]
    assert 0.0 < found["seen"] < 1.0
