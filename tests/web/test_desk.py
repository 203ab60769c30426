from __future__ import annotations

import logging
from pathlib import Path

import pytest

from homeward.errors import InvalidFileError, InvalidInputError, MissingExtraError
from homeward.runs import Run
from homeward.web.desk import VIEWERS, Desk, refusal_of
from homeward.web.frames import unpack
from homeward.web.refusals import STATUS, Refusal, RefusalError


def test_a_desk_answers_by_name(runs: Path) -> None:
    desk = Desk(runs)
    assert desk.answer("details", ("grid-safe",))["shape"] == [6, 6]
    assert unpack(desk.answer("records", ("grid-safe", 0, 3)))[1]["state"].size == 3
    assert "height" in unpack(desk.answer("fields", ("grid-safe", 2, ("height",))))[1]
    assert desk.answer("why", ("grid-safe", 2))["step"] == 2
    assert desk.answer("way", ("grid-safe", 2, 5))["cell"] == 5
    assert set(desk.answer("kinds", ())) == {"grid", "rover"}


def test_it_keeps_the_last_few_viewers(runs: Path) -> None:
    desk = Desk(runs)
    first = desk.viewer("grid-safe")
    assert desk.viewer("grid-safe") is first
    for name in ("grid-unsafe", "meadow", "rover"):
        desk.viewer(name)
    assert len(desk.viewers) == VIEWERS
    assert desk.viewer("grid-safe") is not first


def test_while_nobody_asks_it_learns_on(runs: Path) -> None:
    desk = Desk(runs)
    desk.answer("details", ("rover",))
    viewer = desk.viewer("rover")
    assert viewer.behind
    while desk.work():
        pass
    assert not viewer.behind


def test_it_makes_runs_and_no_second_of_a_name(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.answer("make", ("new", "grid", {"size": 5}))
    assert Run.open(tmp_path / "new").config["size"] == 5
    with pytest.raises(RefusalError, match="already") as refusal:
        desk.answer("make", ("new", "grid", {"size": 5}))
    assert refusal.value.status == 409


def test_a_run_that_was_removed_is_forgotten(runs: Path) -> None:
    desk = Desk(runs)
    desk.viewer("grid-safe")
    desk.answer("forget", ("grid-safe",))
    assert not desk.viewers


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
    assert STATUS[found] == status
    assert "secret" not in sentence
    assert (status == 500) == ("ZeroDivisionError: secret" in caplog.text)
