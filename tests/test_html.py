from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import homeward as hw
from homeward.html import card
from homeward.words import VERDICTS

if TYPE_CHECKING:
    from pathlib import Path


class Read(HTMLParser):
    """The texts of the cells of each row, the bold ones, and what is loaded."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.tags: list[str] = []
        self._is_bold = False
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._is_bold = "font-weight:bold" in (dict(attrs).get("style") or "")
        if tag == "tr":
            self.rows.append([])

    def handle_data(self, data: str) -> None:
        if self.tags[-1] in ("td", "th"):
            self.rows[-1].append(data)
        if self._is_bold:
            self.bold.append(data)


def corridor() -> hw.FiniteBelief:
    model = hw.SparseMDP.from_names(
        {"hut": {"go": "ridge", "wait": "hut"}, "ridge": {"back": "hut", "wait": "ridge"}}
    )
    return hw.FiniteBelief([model]).update(hw.Visit(0))


def test_texts_are_escaped() -> None:
    made = card("<b>", ["a & b"], [["<i>"], ["<script>"]])
    assert not {"b", "i", "script"} & set(Read(made).tags)
    assert "a &amp; b" in made


def test_it_is_self_contained_and_takes_the_colours_of_the_notebook() -> None:
    made = card("title", ["one"], [["head"], ["cell"]], 0)
    assert not any(word in made for word in ("http", "src=", "<style", "#", "black", "white"))


def test_a_plan_shows_its_decision_and_marks_the_chosen_action() -> None:
    plan = hw.Planner(hw.RMax(), [hw.ReturnHome(0.9)]).plan(corridor(), 0)
    read = Read(plan._repr_html_())
    heads, *rows = read.rows
    assert heads == ["action", "leaves", "explores", "safety", "verdict"]
    assert len(rows) == len(plan.evidence)
    assert read.bold[:2] == ["In hut: take go.", "go"]
    assert VERDICTS["chosen"] in read.bold


def test_a_run_shows_its_settings_and_why_it_ended(tmp_path: Path) -> None:
    config: dict[str, Any] = {"size": 4, "seed": 3, "delta": 0.9, "limit": 2}
    run = hw.Run.create(tmp_path / "one", "grid", config)
    assert "0 steps" in run._repr_html_()
    run.resume()
    made = run._repr_html_()
    assert "one: grid run, finished, 2 steps" in made
    assert "The step limit of 2 was reached." in made
    assert Read(made).rows[0][-3:] == ["seed", "δ", "lowest bound"]
    assert Read(made).rows[1][-3:-1] == ["3", "0.9"]


def test_a_run_without_a_criterion_shows_no_level(tmp_path: Path) -> None:
    run = hw.Run.create(tmp_path / "one", "grid", {"size": 4, "explorer": "uncover", "limit": 1})
    run.resume()
    assert not {"δ", "lowest bound"} & set(Read(run._repr_html_()).rows[0])


def test_an_explorer_shows_how_far_it_is(tmp_path: Path) -> None:
    run = hw.Run.create(tmp_path / "one", "grid", {"size": 4, "seed": 3, "limit": 1})
    run.resume()
    assert run.explorer is not None
    assert "1 step" in run.explorer._repr_html_()
