"""What the forms send: each setting as it was given, under its own name."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Route
    from tests.web.page.looking import Looking

Sent = list[tuple[str, dict[str, Any]]]
RUNS = [("first", "grid", {"size": 3})]  # or two would be made
REFUSED = {"error": "That will do."}
LEVELS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 1.0]


@pytest.fixture
def sent(look: Looking) -> Sent:
    """Collect what would be started, by the address it is sent to; nothing is."""
    found: Sent = []

    def take(route: Route) -> None:
        if route.request.method != "POST":
            route.continue_()
            return
        body: Any = route.request.post_data_json
        found.append((route.request.url.rpartition("/")[2], body))
        route.fulfill(status=409, content_type="application/json", body=json.dumps(REFUSED))

    look.allowed = ("409",)
    look.page.route("**/api/v1/runs", take)
    look.page.route("**/api/v1/pairs", take)
    return found


def fill(look: Looking, label: str, value: str) -> None:
    look.page.get_by_label(label).first.fill(value)


def choose(look: Looking, text: str) -> None:
    look.page.get_by_text(text, exact=True).first.click()


def set_level(look: Looking, level: float) -> None:
    """Move the slider of δ from one end, as keys do."""
    slider = look.page.get_by_label("Safety level")
    slider.press("Home")
    for _ in range(LEVELS.index(level)):
        slider.press("ArrowRight")
    expect(look.find(".level-number")).to_have_value(f"{level:g}")


def alone(look: Looking) -> None:
    """Ask for the safe explorer only."""
    look.page.get_by_label("Also run an unsafe explorer").uncheck()


def submit(look: Looking, button: str) -> None:
    look.button(button).click()
    look.sees('[role="alert"] .message', "That will do.")


@pytest.mark.parametrize("level", [0.7, 0.998])
def test_a_new_run_has_the_level_that_was_set(look: Looking, sent: Sent, level: float) -> None:
    look.open("#/new")
    set_level(look, level)
    alone(look)
    fill(look, "Squares per side", "7")
    fill(look, "Fraction of walls", "0.35")
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Name", "levelled")
    fill(look, "Seed", "11")
    fill(look, "Maximum steps", "13")
    submit(look, "Start and watch")
    config = {
        "size": 7,
        "walls": 0.35,
        "explorer": "safe",
        "algorithm": "rate",
        "delta": level,
        "home": "start",
        "seed": 11,
        "limit": 13,
    }
    assert sent == [("runs", {"kind": "grid", "name": "levelled", "config": config})]


def test_a_pair_is_asked_for_with_the_level_that_was_set(look: Looking, sent: Sent) -> None:
    look.open("#/new")
    set_level(look, 0.8)
    submit(look, "Start and watch")
    [(where, body)] = sent
    assert where == "pairs"
    expected = {"explorer": "safe", "delta": 0.8, "home": "start"}
    assert {key: body["config"].get(key) for key in expected} == expected


def test_an_explorer_that_keeps_nothing_is_sent_without_a_level(look: Looking, sent: Sent) -> None:
    look.open("#/new")
    choose(look, "R-max")
    submit(look, "Start and watch")
    [(where, body)] = sent
    assert where == "runs"
    assert body["config"]["explorer"] == "rmax"
    assert "delta" not in body["config"]


def test_a_vehicles_limits_and_a_clicked_start_are_sent_as_given(look: Looking, sent: Sent) -> None:
    look.open("#/new")
    choose(look, "Terrain")
    for label, value in (
        ("Terrain seed", "3"),
        ("North to south", "200"),
        ("West to east", "600"),
        ("Cell size", "10"),
        ("Maximum climb", "7"),
        ("Maximum descent", "33"),
        ("Sensor range", "80"),
    ):
        fill(look, label, value)
    set_level(look, 0.9)
    alone(look)
    look.sees(".preview", "60 columns × 20 rows of cells")
    ground = look.find(".preview-box canvas")
    ground.scroll_into_view_if_needed()
    box = ground.bounding_box()
    assert box is not None
    row, column = 4, 51
    look.page.mouse.click(
        box["x"] + box["width"] * (column + 0.5) / 60, box["y"] + box["height"] * (row + 0.5) / 20
    )
    expect(look.find(".preview .pin")).to_be_visible()
    submit(look, "Start and watch")
    [(where, body)] = sent
    assert (where, body["kind"]) == ("runs", "rover")
    expected = {
        "terrain": "mars",
        "terrain_seed": 3,
        "rows": 200,
        "columns": 600,
        "cell": 10,
        "climb": 7,
        "descend": 33,
        "sensor_range": 80,
        "start": [row, column],
        "delta": 0.9,
    }
    assert {key: body["config"].get(key) for key in expected} == expected


def square(path: Path, left: float, top: float) -> Path:
    """Write a square whose sides are 60 m."""
    right, bottom = left + 60, top - 60
    ring = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    path.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    return path


def test_obstacles_and_an_area_to_keep_out_of_are_sent_beside_the_terrain(
    look: Looking, sent: Sent, tmp_path: Path
) -> None:
    look.open("#/new")
    choose(look, "Terrain")
    fill(look, "North to south", "200")
    fill(look, "West to east", "400")
    alone(look)
    look.sees(".preview", "20 columns × 10 rows of cells")
    look.page.get_by_label("Obstacles").set_input_files(square(tmp_path / "rocks.json", 40, 160))
    look.sees(".closed-file", "rocks.json: 1 polygon.")
    off = square(tmp_path / "far.geojson", 4000, 160)
    look.allowed = ("409", "422")
    look.page.get_by_label("Keep out of").set_input_files(off)
    look.sees(".preview", "off the map, which reaches")
    look.button("Remove far.geojson").click()
    look.sees(".preview", "20 columns × 10 rows of cells")
    near = square(tmp_path / "near.geojson", 240, 160)
    look.page.get_by_label("Keep out of").set_input_files(near)
    look.sees(".closed-file:nth-child(2)", "near.geojson: 1 polygon.")
    submit(look, "Start and watch")
    [(_, body)] = sent
    for key in ("obstacles", "keep_out"):
        assert re.fullmatch(r"upload:[0-9a-f]{16}", body["config"][key])
    assert body["config"]["obstacles"] != body["config"]["keep_out"]


def test_what_is_no_area_is_refused_beside_its_terrain(look: Looking, tmp_path: Path) -> None:
    look.allowed = ("422",)
    look.open("#/new")
    choose(look, "Terrain")
    (tmp_path / "note.json").write_text('{"type": "Point", "coordinates": [1, 2]}')
    look.page.get_by_label("Keep out of").set_input_files(tmp_path / "note.json")
    look.sees('[role="alert"]', "note.json can't be used as an area: it is a Point")


def test_a_drawn_world_is_sent_with_its_level(look: Looking, sent: Sent) -> None:
    look.open("#/draw")
    submit(look, "Run both and compare")
    set_level(look, 0.85)
    submit(look, "Run both and compare")
    drawn = "33333333\n33333333\n3c311133\n33311133\n33311133\n33333333"
    assert sent == [
        ("pairs", {"kind": "grid", "config": {"map": drawn, "delta": delta}}) for delta in (1, 0.85)
    ]


def test_a_setting_without_a_place_of_its_own_comes_from_the_schema(
    look: Looking, sent: Sent
) -> None:
    look.open("#/new")
    alone(look)
    look.find("summary").filter(has_text="More settings").click()
    fill(look, "Discount", "0.95")
    expect(look.page.get_by_label("Discount")).to_have_attribute("max", "1")
    look.page.get_by_label("Correction").select_option("general")
    submit(look, "Start and watch")
    config = sent[-1][1]["config"]
    assert (config["discount"], config["correction"]) == (0.95, "general")
    assert "stay" not in config
