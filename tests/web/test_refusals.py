from __future__ import annotations

from pathlib import Path

from homeward.errors import InvalidFileError
from homeward.web.refusals import MAX_SENTENCE_LENGTH, Refusal, client_text, last_line


def test_every_refusal_has_a_status() -> None:
    assert all(400 <= r.status < 600 for r in Refusal if r is not Refusal.ASK_AGAIN)


def test_what_is_told_is_one_line_without_folders() -> None:
    error = InvalidFileError("/data/runs/a/config.json: is not JSON\nand more")
    assert client_text(error, Path("/data/runs")) == "a/config.json: is not JSON"


def test_folders_of_what_is_elsewhere_are_nobodys_business() -> None:
    said = client_text(
        "/home/me/runs/.uploads/12ab/terrain.tif: can't be read: '/home/me/a.tif' is gone"
    )
    assert said == "terrain.tif: can't be read: 'a.tif' is gone"
    assert (
        client_text("1/2 of a/b and http://127.0.0.1:80/x/y")
        == "1/2 of a/b and http://127.0.0.1:80/x/y"
    )


def test_what_is_told_is_not_without_end() -> None:
    assert len(client_text("x" * 10_000)) == MAX_SENTENCE_LENGTH


def test_the_last_line_of_a_report_is_its_message() -> None:
    report = 'Traceback (most recent call last):\n  File "secret.py", line 3\n'
    ours = report + "homeward.errors.InfeasibleError: no one action keeps it\n"
    assert last_line(ours) == "no one action keeps it"
    assert last_line(report + "RuntimeError: thunder\n") == "RuntimeError: thunder"
