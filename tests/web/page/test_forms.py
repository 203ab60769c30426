"""The forms of the page: what is typed into them is kept, explained or refused, never lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.web.rasters import geotiff

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator
    from tests.web.page.looking import Looking, Site

RUNS = [("first", "grid", {"size": 3})]  # or two would be made


def unfold(look: Looking, title: str) -> None:
    look.find("summary").filter(has_text=title).click()


def field(look: Looking, label: str) -> Locator:
    return look.page.get_by_label(label, exact=False).first


def drawn(look: Looking) -> list[str]:
    return look.find("textarea").input_value().splitlines()


def complaint(box: Locator) -> str:
    """Give what the browser says of a field, "" where it will do."""
    return str(box.evaluate("box => box.validationMessage"))


def says(box: Locator, said: str) -> None:
    """Wait until a field is complained of in words that begin so; "" for no complaint."""
    for _ in range(100):
        found = complaint(box)
        if found.startswith(said) and bool(found) == bool(said):
            return
        box.page.wait_for_timeout(20)
    raise AssertionError(f"of the field is said {complaint(box)!r}")


def to_terrain(look: Looking) -> None:
    look.open("#/new")
    look.page.get_by_text("Terrain", exact=True).first.click()


def small_mars(look: Looking) -> None:
    """Choose synthetic Mars of 200 x 400 m in cells of 20 m, and wait for it."""
    to_terrain(look)
    field(look, "North to south").fill("200")
    field(look, "West to east").fill("400")
    look.sees(".preview", "20 columns × 10 rows of cells, 20 × 20 m each")


def test_a_number_of_rows_is_taken_when_it_is_whole(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    before = drawn(look)
    rows = field(look, "Rows")
    rows.focus()
    rows.press("Control+A")
    look.page.keyboard.type("1")
    assert drawn(look) == before
    look.page.keyboard.type("2")
    look.page.keyboard.press("Enter")
    expect(look.find("[data-square]")).to_have_count(96)
    assert drawn(look)[:6] == before
    rows.fill("99")
    rows.blur()
    expect(rows).to_have_value("16")
    rows.fill("")
    rows.blur()
    expect(rows).to_have_value("16")


def test_what_was_cut_comes_back_with_growing(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    rows, columns = field(look, "Rows"), field(look, "Columns")
    look.find('[data-square="5,7"]').focus()
    look.page.keyboard.press("s")
    before = drawn(look)
    assert before[5] == "3333333c"
    for box, value in ((rows, "2"), (columns, "3")):
        box.fill(value)
        box.blur()
    assert drawn(look) == ["333", "33c"]
    look.find('[data-square="0,0"]').click()
    for box, value in ((rows, "6"), (columns, "8")):
        box.fill(value)
        box.blur()
    assert drawn(look) == ["53333333", *before[1:]]


def test_the_keyboard_still_comes_to_a_board_that_was_cut(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    look.find('[data-square="5,7"]').focus()
    field(look, "Rows").fill("3")
    field(look, "Rows").blur()
    expect(look.find('[data-square][tabindex="0"]')).to_have_attribute("data-square", "2,7")


def test_painting_loading_and_resizing_are_taken_back(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    undo = look.button("Undo")
    expect(undo).to_be_disabled()
    first = drawn(look)
    near, far = (look.find(f'[data-square="0,{c}"]').bounding_box() for c in (1, 4))
    assert near is not None
    assert far is not None
    look.page.mouse.move(near["x"] + 9, near["y"] + 9)
    look.page.mouse.down()
    look.page.mouse.move(far["x"] + 9, far["y"] + 9, steps=12)
    look.page.mouse.up()
    stroke = drawn(look)
    assert stroke[0] == "35555333"
    look.button("The gamble").click()
    gamble = drawn(look)
    field(look, "Rows").fill("9")
    field(look, "Rows").press("Enter")
    expect(look.find("[data-square]")).to_have_count(72)
    look.page.keyboard.press("Control+z")
    look.sees('[role="status"] .message', "Undone: resizing.")
    assert drawn(look) == gamble
    expect(field(look, "Rows")).to_have_value("5")
    undo.click()
    assert drawn(look) == stroke
    undo.click()
    assert drawn(look) == first
    expect(undo).to_be_disabled()


def test_a_text_with_two_starts_is_refused_and_a_good_one_hushes(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    text = look.find("textarea")
    text.fill("12a\nb21")
    text.blur()
    alert = look.find('[role="alert"] .message')
    expect(alert).to_contain_text("The map has 2 starts, the second in line 2")
    expect(look.find("[data-square]")).to_have_count(48)
    text.fill("12a\n221")
    text.blur()
    expect(alert).to_have_count(0)
    expect(look.find("[data-square]")).to_have_count(6)
    text.fill("12")
    text.blur()
    look.button("Undo").click()
    look.sees('[role="status"] .message', "Undone: changing the text.")
    expect(look.find("[data-square]")).to_have_count(48)
    for wrong, said in (
        ("12\n22", "The map has no start"),
        ("12x", "Line 1 of the map has “x”"),
        ("a" + "1" * 40, "at most 40 of each"),
    ):
        text.fill(wrong)
        text.blur()
        expect(alert).to_contain_text(said)


def test_a_wrong_text_is_unfolded_and_not_run(look: Looking) -> None:
    look.open("#/draw")
    unfold(look, "Size")
    look.find("textarea").fill("12\n22")
    unfold(look, "Size")
    expect(look.find("textarea")).to_be_hidden()
    look.button("Run both and compare").click()
    expect(look.find("textarea")).to_be_focused()
    look.sees('[role="alert"] .message', "The map has no start")
    look.sees("h1", "Draw a world")


def test_a_file_without_a_pixel_size_is_asked_for_it_and_sent(
    look: Looking, tmp_path: Path
) -> None:
    path = tmp_path / "bare.npy"
    np.save(path, np.add.outer(np.arange(250.0), np.arange(348.0)) / 100)
    to_terrain(look)
    look.page.get_by_text("Your file").click()
    expect(look.page.get_by_label("Pixel size")).to_have_count(0)
    look.find(".drop input[type=file]").set_input_files(path)
    look.sees(".lacking", "bare.npy has no pixel size")
    assert look.find(".drop input[type=file]").input_value() == ""
    look.button("Start and watch").click()
    expect(look.page.get_by_label("Pixel size")).to_be_focused()
    assert complaint(look.page.get_by_label("Pixel size")) != ""
    look.page.get_by_label("Pixel size").fill("2")
    look.page.keyboard.press("Enter")
    look.sees("[data-upload]", "348 columns × 250 rows of pixels, 2 × 2 m each")
    expect(look.page.get_by_label("Cell size")).to_have_value("6")
    look.sees(".preview", "116 columns × 83 rows of cells, 6 × 6 m each.")
    field(look, "Cell size").fill("6.96")
    look.sees(".preview", "not 6.96 m: a cell is a whole number of pixels")
    look.page.get_by_label("Pixel size").fill("3")
    look.button("Send again").click()
    look.sees("[data-upload]", "rows of pixels, 3 × 3 m each")


def upload(look: Looking, place: Path) -> None:
    """Choose a terrain of one's own in the form."""
    own = place / "own.tif"
    own.write_bytes(geotiff())
    to_terrain(look)
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(own)


def test_another_terrain_has_its_own_cells_and_sensor(look: Looking, tmp_path: Path) -> None:
    upload(look, tmp_path)
    cell, reach = look.page.get_by_label("Cell size"), look.page.get_by_label("Sensor range")
    hint = look.find(".field:has-text('Sensor range') small")
    expect(cell).to_have_value("10")
    expect(reach).to_have_value("50")
    expect(hint).to_have_count(0)
    reach.fill("")
    expect(hint).to_have_text("five cells, as none is given")
    reach.fill("50")
    for source, side, metres in (
        ("Synthetic Mars", "20", ""),
        ("Your file", "10", "50"),
        ("Sample", "277.987", "1389.94"),
    ):
        look.page.get_by_text(source, exact=True).click()
        expect(cell).to_have_value(side)
        expect(reach).to_have_value(metres)
    reach.fill("70")
    look.page.get_by_text("Synthetic Mars").click()
    expect(cell).to_have_value("20")
    expect(reach).to_have_value("70")  # as it was typed


def test_what_a_terrain_sets_is_told_and_what_was_typed_stays(
    look: Looking, tmp_path: Path
) -> None:
    upload(look, tmp_path)
    told, cell = look.find(".adjusted"), look.page.get_by_label("Cell size")
    expect(told).to_contain_text("cell size 10\u00a0m, sensor range 50\u00a0m")
    cell.fill("25")
    expect(look.page.get_by_label("Sensor range")).to_have_value("")  # five of the typed cells
    for setting in ("cell size", "sensor range"):
        expect(told).not_to_contain_text(setting)
    look.page.get_by_label("Maximum climb").fill("15")
    look.page.get_by_text("Synthetic Mars", exact=True).click()
    expect(told).to_contain_text("maximum climb 5° (it was 15°), maximum descent 45° (it was 30°)")
    expect(told).to_contain_text("stay with the kind of terrain that you typed them for")
    look.page.get_by_text("Your file", exact=True).click()
    expect(cell).to_have_value("25")
    expect(look.page.get_by_label("Sensor range")).to_have_value("")
    expect(look.page.get_by_label("Maximum climb")).to_have_value("15")


def test_the_picture_of_another_terrain_goes_at_once(look: Looking, tmp_path: Path) -> None:
    upload(look, tmp_path)
    look.sees(".preview canvas")
    look.page.route("**/terrain/preview*", lambda route: None)  # the answer never comes
    look.page.get_by_label("Cell size").fill("20")
    look.sees(".preview-box.outdated")
    look.sees(".preview", "Reading the terrain…")
    look.page.get_by_text("Synthetic Mars", exact=True).click()
    expect(look.find(".preview canvas")).to_be_hidden()
    look.sees(".preview", "Reading the terrain…")


def test_a_terrain_of_ones_own_is_explored_alone_unless_a_pair_is_wanted(
    look: Looking, tmp_path: Path
) -> None:
    to_terrain(look)
    pair = look.page.get_by_label("Also run an unsafe explorer")
    expect(pair).to_be_checked()
    look.page.get_by_text("Your file", exact=True).click()
    expect(pair).not_to_be_checked()
    pair.check()
    look.page.get_by_text("Sample", exact=True).click()
    look.page.get_by_text("Your file", exact=True).click()
    expect(pair).to_be_checked()


def test_the_start_that_is_chosen_for_one_is_marked(look: Looking, tmp_path: Path) -> None:
    upload(look, tmp_path)
    look.sees(".pin.proposed")
    told = look.find(".preview p").first
    expect(told).to_contain_text(re.compile(r"chosen for you, row \d+, column \d+ \(white ring\)"))
    look.find(".preview canvas").click(position={"x": 30, "y": 30})
    expect(look.find(".pin")).to_have_class("pin")
    look.button("Choose it for me").click()
    look.sees(".pin.proposed")
    look.page.get_by_text("Synthetic Mars", exact=True).click()
    look.sees(".preview", "rows of cells, 20 × 20 m each")
    expect(look.find(".pin")).to_have_count(0)  # there it depends on limits that are not sent


def test_the_step_limit_is_in_sight(look: Looking) -> None:
    look.open("#/new")
    expect(look.page.get_by_label("Maximum steps")).to_be_visible()


def test_the_preview_judges_the_ground_by_the_vehicle(look: Looking, tmp_path: Path) -> None:
    upload(look, tmp_path)
    dark = look.find(".preview .dark-cells")
    expect(dark).to_contain_text("1 cell that the vehicle never enters")  # the hole
    look.page.get_by_label("Cell size").fill("20")  # within one pixel nothing is steep
    for limit in ("climb", "descent", "side slope"):
        look.page.get_by_label(f"Maximum {limit}").fill("0.2")
    expect(dark).to_contain_text(re.compile(r"^Dark: \d{3} cells that the vehicle never enters"))
    look.find("summary").filter(has_text="More settings").click()
    with look.page.expect_request(lambda request: "wheelbase=30" in request.url):
        look.page.get_by_label("Wheelbase").fill("30")
    climb = look.page.get_by_label("Maximum climb")
    for source, limit in (("Synthetic Mars", "5"), ("Your file", "0.2")):
        look.page.get_by_text(source, exact=True).click()
        expect(climb).to_have_value(limit)  # limits stay with the vehicle that they were given to


def bare_tiff(path: Path) -> Path:
    rasterio = pytest.importorskip("rasterio")
    options = {"driver": "GTiff", "height": 30, "width": 40, "count": 1, "dtype": "float32"}
    with pytest.warns(), rasterio.open(path, "w", **options) as file:
        file.write(np.ones((30, 40), np.float32), 1)
    return path


def test_a_pixel_size_is_asked_for_where_the_server_misses_one_and_is_not_left_over(
    look: Looking, tmp_path: Path
) -> None:
    look.allowed = ("422",)
    own = tmp_path / "own.tif"
    own.write_bytes(geotiff())
    to_terrain(look)
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(bare_tiff(tmp_path / "bare.tif"))
    look.sees('[role="alert"] .message', "has no pixel size")
    look.page.get_by_label("Pixel size").fill("5")
    look.button("Send").click()
    look.sees("[data-upload]", "40 columns × 30 rows of pixels, 5 × 5 m each")
    expect(look.find('[role="alert"] .message')).to_have_count(0)
    with look.page.expect_request("**/api/v1/uploads/*") as request:
        look.find(".drop input[type=file]").set_input_files(own)
    assert "pixel" not in request.value.url
    look.sees("[data-upload]", "60 columns × 40 rows of pixels, 10 × 10 m each")
    expect(look.page.get_by_label("Pixel size")).to_have_count(0)


def test_a_wrong_field_that_is_folded_away_comes_on_view(look: Looking) -> None:
    look.open("#/new")
    unfold(look, "More settings")
    field(look, "Minimum rate").fill("-3")
    unfold(look, "More settings")
    expect(field(look, "Minimum rate")).to_be_hidden()
    look.button("Start and watch").click()
    expect(field(look, "Minimum rate")).to_be_focused()
    look.sees("h1", "New run")


def test_an_empty_field_without_a_default_is_refused(look: Looking) -> None:
    look.open("#/new")
    size = field(look, "Squares per side")
    size.fill("")
    look.button("Start and watch").click()
    expect(size).to_be_focused()
    assert complaint(size) != ""
    size.fill("5")
    walls = field(look, "Fraction of walls")
    walls.fill("0.33")
    assert complaint(size) == complaint(walls) == ""


def test_a_start_stays_where_it_is_on_the_map(look: Looking) -> None:
    look.allowed = ("400",)
    small_mars(look)
    canvas = look.find(".preview canvas")
    box = canvas.bounding_box()
    assert box is not None
    canvas.click(position={"x": box["width"] * 0.76, "y": box["height"] * 0.57})
    row, column = field(look, "Start row"), field(look, "Start column")
    expect(row).to_have_value("5")
    expect(column).to_have_value("15")
    field(look, "Cell size").fill("10")
    look.sees(".preview", "40 columns × 20 rows of cells, 10 × 10 m each")
    expect(row).to_have_value("11")
    expect(column).to_have_value("30")
    enough = {"status": 400, "json": {"error": "enough"}}
    look.page.route("**/api/v1/pairs", lambda route: route.fulfill(**enough))
    field(look, "Cell size").fill("20")
    with look.page.expect_request("**/api/v1/pairs") as request:
        look.button("Start and watch").click()  # before the ground of the new cells has come
    sent: Any = request.value.post_data_json
    assert sent["config"]["start"] == [5, 15]
    look.sees('[role="alert"] .message', "enough")


def test_a_start_that_is_no_longer_on_the_ground_goes_with_a_sentence(look: Looking) -> None:
    small_mars(look)
    row, column = field(look, "Start row"), field(look, "Start column")
    row.fill("9")
    column.fill("19")
    pin = look.find(".pin")
    expect(pin).to_have_attribute("style", "left: 97.5%; top: 95%;")
    look.sees(".preview", "The start is row 9, column 19.")
    column.fill("")
    expect(pin).to_have_count(0)
    look.button("Start and watch").click()
    expect(column).to_be_focused()
    assert complaint(column) == "Give both the row and the column of the start, or neither."
    column.fill("19")
    field(look, "West to east").fill("300")
    look.sees(".preview", "The start, at x 390 m and y 10 m, is not on this terrain")
    expect(row).to_have_value("")
    expect(pin).to_have_count(0)


@pytest.mark.parametrize(
    ("label", "text", "said"),
    [
        ("Positions of the bases", "", "Give the bases as row,column"),
        ("Positions of the bases", "a,b", "“a,b” is not a base: give each as row,column"),
        ("Positions of the bases", "1,2 -1,3", "“-1,3” is not a base"),
        ("Stay inside rows", "abc", "“abc” is not a range"),
        ("Stay inside columns", "7:2", "The first, 7, is after the last, 2."),
        ("Home within", "1", ""),
        ("with probability", "0", "Give a probability above 0"),
    ],
)
def test_what_is_expected_is_said_at_the_field(
    look: Looking, label: str, text: str, said: str
) -> None:
    look.open("#/new")
    look.page.get_by_text("Bases", exact=True).click()
    field(look, "Positions of the bases").fill("3,4 7, 0")
    unfold(look, "More criteria")
    field(look, "Home within").fill("9")
    field(look, label).fill(text)
    says(field(look, label), said)
    if said:
        look.button("Start and watch").click()
        expect(field(look, label)).to_be_focused()
        look.sees("h1", "New run")


def test_polygons_and_parts_are_checked_at_their_fields(look: Looking) -> None:
    small_mars(look)
    unfold(look, "More criteria")
    area = field(look, "Stay inside polygons")
    for text, said in (
        ("area.geojson", "“area.geojson” in line 1 is not a corner"),
        ("0,0 9,0 9,9\n0,0 1,1", "The polygon in line 2 has 2 corners"),
        ("0,0 9,0 9, 9 0,0", ""),
    ):
        area.fill(text)
        says(area, said)
    targets = field(look, "Targets")
    for text, said in (("120,80\n1,2,3,4", "“1,2,3,4” is not a target"), ("120,80,2", "")):
        targets.fill(text)
        says(targets, said)
    unfold(look, "More settings")
    look.allowed = ("400", "422")
    field(look, "Part of the terrain").fill("1,2")
    says(field(look, "Part of the terrain"), "Give the part as column,row,width,height")


def test_the_name_that_a_run_will_have_is_shown(look: Looking, site: Site) -> None:
    look.open("#/new")
    expect(look.find(".choice-label").get_by_text("Explorer", exact=True)).to_have_count(0)
    unfold(look, "More settings")
    name = field(look, "Name")
    name.fill("ünïcode <b>")
    look.sees(".field:has-text('Name') small", "unicode-b-safe and unicode-b-unsafe")
    look.page.get_by_label("Also run an unsafe explorer").uncheck()
    look.sees(".field:has-text('Name') small", "the run will be called unicode-b")
    name.fill("日本")
    look.sees(".field:has-text('Name') small", "chosen for you")
    name.fill("ünïcode <b>")
    field(look, "Squares per side").fill("4")
    look.button("Start and watch").click()
    look.page.wait_for_url("**/#/run/unicode-b*")
    assert (site.root / "unicode-b").is_dir()


def test_a_polygon_is_drawn_by_its_corners_in_step_with_its_text(look: Looking) -> None:
    small_mars(look)
    unfold(look, "More criteria")
    text = field(look, "Stay inside polygons")
    canvas = look.find(".preview canvas")
    box = canvas.bounding_box()
    assert box is not None
    wide, high = box["width"], box["height"]

    def click(x: float, y: float, double: bool = False) -> None:
        place: Any = {"x": wide * x / 400, "y": high * (200 - y) / 200}
        (canvas.dblclick if double else canvas.click)(position=place)

    def corners() -> list[list[float]]:
        pairs = text.input_value().splitlines()[-1].split()
        return [[float(value) for value in pair.split(",")] for pair in pairs]

    look.button("Draw a polygon to stay inside").click()
    click(100, 40)
    click(300, 40)
    look.sees(".area-tools", "2 so far")
    click(20, 20)
    look.page.keyboard.press("Backspace")
    click(300, 160)
    expect(look.find(".area polygon")).to_have_count(0)
    look.page.keyboard.press("Enter")
    expect(look.find(".area polygon")).to_have_count(1)
    np.testing.assert_allclose(corners(), [[100, 40], [300, 40], [300, 160]], atol=1)
    expect(look.find(".pin")).to_have_count(0)

    look.button("Draw a polygon to stay inside").click()
    click(20, 20)
    look.page.keyboard.press("Escape")
    expect(look.button("Draw a polygon to stay inside")).to_be_visible()
    assert len(text.input_value().splitlines()) == 1

    look.button("Draw a polygon to stay inside").click()
    click(20, 20)
    click(80, 20)
    click(80, 80, double=True)
    look.sees(".area-tools", "The explorer stays inside 2 polygons")
    np.testing.assert_allclose(corners(), [[20, 20], [80, 20], [80, 80]], atol=1)
    text.fill("0,0 400,0 400,200 0,200")
    look.sees(".area-tools", "The explorer stays inside 1 polygon;")
    expect(look.find(".area polygon")).to_have_attribute("points", "0,10 20,10 20,0 0,0")
    click(100, 40)
    expect(look.find(".pin")).to_have_count(1)


def test_a_limit_that_the_server_refuses_is_told_at_its_field(
    look: Looking, tmp_path: Path
) -> None:
    upload(look, tmp_path)
    look.sees(".preview", "columns ×")
    climb = field(look, "Maximum climb")
    for refused in ("95", "90"):
        climb.fill(refused)
        look.sees(".field .wrong", "Give a number 0 or more and below 90.")
        look.sees(".preview", "The picture waits for a value that is missing or not accepted.")
    look.button("Start and watch").click()
    expect(climb).to_be_focused()
    climb.fill("15")
    expect(look.find(".field .wrong")).to_have_count(0)
    look.sees(".preview", "columns ×")


def test_an_error_goes_when_the_form_is_changed(look: Looking) -> None:
    look.allowed = ("400",)
    look.open("#/new")
    look.page.route(
        "**/api/v1/pairs", lambda r: r.fulfill(status=400, json={"code": "invalid", "error": "No."})
    )
    look.button("Start and watch").click()
    look.sees('[role="alert"] .message', "No.")
    field(look, "Squares per side").fill("7")
    expect(look.find('[role="alert"] .message')).to_have_count(0)


def test_a_file_of_several_bands_says_which_one_is_read(look: Looking, tmp_path: Path) -> None:
    file = tmp_path / "bands.tif"
    file.write_bytes(geotiff(bands=3))
    to_terrain(look)
    look.page.get_by_text("Your file").click()
    look.find(".drop input[type=file]").set_input_files(file)
    look.sees("[data-upload]", "Heights: band 1 of 3.")
