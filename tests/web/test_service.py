from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.web.frames import unpack

from homeward.errors import HomewardError, InvalidFileError, InvalidInputError, MissingExtraError
from homeward.runs import Run
from homeward.runs.log import from_line, to_line
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.service import MAX_REPLAYS, ViewingService, is_behind, refusal_of


def test_a_service_answers_by_name(runs: Path) -> None:
    service = ViewingService(runs)
    assert service.answer("details", ("grid-safe",))["shape"] == [6, 6]
    assert unpack(service.answer("records", ("grid-safe", 0, 3)))[1]["state"].size == 3
    assert "height" in unpack(service.answer("fields", ("grid-safe", 2, ("height",))))[1]
    assert service.answer("why", ("grid-safe", 2))["step"] == 2
    assert service.answer("way", ("grid-safe", 2, 5))["cell"] == 5
    assert set(service.answer("kinds", ())) == {"grid", "rover"}


def test_it_keeps_the_last_few_replays(runs: Path) -> None:
    service = ViewingService(runs)
    first = service.replay("grid-safe")
    assert service.replay("grid-safe") is first
    for name in ("grid-unsafe", "meadow", "rover"):
        service.replay(name)
    assert len(service.replays) == MAX_REPLAYS
    assert service.replay("grid-safe") is not first


def test_while_nobody_asks_it_learns_on(runs: Path) -> None:
    service = ViewingService(runs)
    service.answer("details", ("rover",))
    replay = service.replay("rover")
    assert is_behind(replay)
    while service.work():
        pass
    assert not is_behind(replay)


def test_it_makes_runs_and_no_second_of_a_name(tmp_path: Path) -> None:
    service = ViewingService(tmp_path)
    service.answer("make", ("new", "grid", {"size": 5}))
    assert Run.open(tmp_path / "new").config["size"] == 5
    with pytest.raises(RefusalError, match="already") as refusal:
        service.answer("make", ("new", "grid", {"size": 5}))
    assert refusal.value.status == 409


def test_a_run_that_was_removed_is_forgotten(runs: Path) -> None:
    service = ViewingService(runs)
    service.replay("grid-safe")
    service.answer("forget", ("grid-safe",))
    assert not service.replays


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (RefusalError(Refusal.NO_PIXEL_SIZE, "no"), 422),
        (InvalidFileError("no"), 409),
        (InvalidInputError("no"), 400),
        (MissingExtraError("no"), 422),
        (MemoryError(), 507),
        (ZeroDivisionError("secret"), 500),
    ],
)
def test_each_error_has_its_status(
    error: Exception, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "homeward"):
        found, sentence = refusal_of(error, Path("/runs"))
    assert found.status == status
    assert "secret" not in sentence
    assert (status == 500) == ("ZeroDivisionError: secret" in caplog.text)


def test_records_come_with_what_was_known(runs: Path) -> None:
    about, arrays = unpack(ViewingService(runs).do_records("grid-safe", 2, 5))
    recorded = list(Run(runs / "grid-safe").records())
    assert (about["step"], about["total"]) == (5, len(recorded))
    assert arrays["known"].shape == (3,)
    assert arrays["bound"].shape == (3, 1)
    assert arrays["state"].tolist() == [record.state for record in recorded[2:5]]
    assert 0.0 < arrays["known"][0] <= arrays["known"][2] <= 1.0
    written = np.fromfile(runs / "grid-safe" / "plan_ms.f32", np.float32)
    assert arrays["plan_ms"].tolist() == written[2:5].tolist()
    assert (arrays["plan_ms"] > 0.0).all()


def test_a_bound_is_not_rounded_up_on_its_way_to_the_page(own: Path) -> None:
    path = own / "grid-safe" / "steps.jsonl"
    records = [from_line(line) for line in path.read_bytes().splitlines(keepends=True)]
    bound = (0.99999998,)
    changed = [replace(record, bounds=bound, kept_bounds=bound) for record in records]
    path.write_bytes(b"".join(map(to_line, changed)))
    _, arrays = unpack(ViewingService(own).do_records("grid-safe", 0, None))
    assert set(arrays["bound"].ravel()) == set(arrays["kept"].ravel()) == {0.99999998}


@pytest.mark.parametrize("layer", ["v", "success"])
def test_a_layer_of_probabilities_is_sent_as_it_is(runs: Path, layer: str) -> None:
    service = ViewingService(runs)
    _, arrays = unpack(service.do_fields("rover", 30, (layer, "height")))
    exact = service.replay("rover").layers(30, (layer,))[layer]
    np.testing.assert_array_equal(arrays[layer], exact)
    assert arrays["height"].dtype == np.float32


def test_records_beyond_the_last_are_none(runs: Path) -> None:
    _, arrays = unpack(ViewingService(runs).do_records("grid-safe", 900, 1000))
    assert arrays["state"].shape == (0,)


def test_a_run_of_a_kind_from_elsewhere_is_not_imported(runs: Path) -> None:
    service = ViewingService(runs)
    assert service.do_details("meadow")["shape"] is None
    assert service.do_details("meadow")["layers"] == []
    _, arrays = unpack(service.do_records("meadow", 0, None))
    assert arrays["state"].size == 12
    with pytest.raises(RefusalError, match="no map"):
        service.do_fields("meadow", 3, ("height",))


def test_a_frame_of_maps_says_which_step_it_is_of(runs: Path) -> None:
    about, arrays = unpack(ViewingService(runs).do_fields("rover", 7, ("height", "v")))
    assert (about["step"], about["total"]) == (7, 60)
    assert list(arrays) == ["height", "v"]


@pytest.mark.parametrize("step", [-1, 61])
def test_what_was_not_recorded_is_not_found(runs: Path, step: int) -> None:
    with pytest.raises(HomewardError) as error:
        ViewingService(runs).answer("why", ("rover", step))
    assert refusal_of(error.value, runs)[0] is Refusal.NOT_FOUND


def test_what_is_before_a_damaged_line_is_shown(own: Path) -> None:
    path = own / "grid-safe" / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], b"noise\n", *lines[5:]]))
    service = ViewingService(own)
    details = service.do_details("grid-safe")
    assert (details["status"], details["steps"], details["end"]) == ("damaged", 4, None)
    assert details["error"].startswith("steps.jsonl: line 5 is damaged")
    assert unpack(service.do_records("grid-safe", 0, None))[1]["state"].size == 4
    path.write_bytes(b"".join(lines))
    assert "status" not in service.do_details("grid-safe")


def test_records_that_lead_elsewhere_are_given_without_what_was_known(own: Path) -> None:
    path = own / "grid-safe" / "steps.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    wrong = from_line(lines[2])
    lines[2] = to_line(replace(wrong, next_state=wrong.next_state + 1))
    path.write_bytes(b"".join(lines))
    _, arrays = unpack(ViewingService(own).do_records("grid-safe", 0, None))
    assert arrays["state"].size == len(lines)
    assert "known" not in arrays


def test_what_changed_is_sent_alone_and_gives_the_same_map(runs: Path) -> None:
    service, layers = ViewingService(runs), ("height", "seen", "v")
    _, before = unpack(service.answer("fields", ("grid-safe", 4, layers)))
    head, changes = unpack(service.answer("fields", ("grid-safe", 5, layers, 4)))
    _, after = unpack(ViewingService(runs).answer("fields", ("grid-safe", 5, layers)))
    assert head["since"] == 4
    assert changes["seen.cells"].size < after["seen"].size / 4
    for name in layers:
        found = before[name].ravel().copy()
        if f"{name}.cells" in changes:
            found[changes[f"{name}.cells"]] = changes[name]
        else:
            found = changes[name].ravel()
        np.testing.assert_array_equal(found, after[name].ravel())


def test_a_map_that_is_not_remembered_is_sent_whole(runs: Path) -> None:
    service = ViewingService(runs)
    head, maps = unpack(service.answer("fields", ("grid-safe", 5, ("height",), 4)))
    assert "since" not in head
    assert maps["height"].shape == (6, 6)


def test_the_scale_of_a_layer_is_the_same_at_every_step(runs: Path) -> None:
    layers = ("height", "uncertainty", "truth", "v", "bonus")
    heads = []
    for order in ((0, 5, 9), (9, 0, 5)):
        service = ViewingService(runs)
        for step in order:
            head, maps = unpack(service.answer("fields", ("rover", step, layers)))
            heads.append(head["scales"])
    assert all(each == heads[0] for each in heads)
    low, high = heads[0]["truth"]
    assert low <= np.nanmin(maps["truth"])
    assert high >= np.nanmax(maps["truth"]) - 1e-3
    assert heads[0]["v"] is None


def test_records_say_what_was_known_before_the_first_step(runs: Path) -> None:
    head, columns = unpack(ViewingService(runs).answer("records", ("grid-safe", 0, None)))
    assert 0.0 < head["known_at_start"] < columns["known"][-1]
    assert head["trapped"] is None
