"""What is drawn: the map's own pixels, its legend, ways home, plots, and the rose of a decision.

Numbers on view are compared with the server's answers; of the map, pixels are read at known places.
"""

from __future__ import annotations

import math
import re
import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect
from tests.web.frames import unpack
from tests.web.page.looking import MARGIN, PATIENCE

from homeward.planning.plan import Verdict
from homeward.runs import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from playwright.sync_api import Route
    from tests.web.page.looking import Looking, Site

WORLD = {"size": 8, "seed": 5, "walls": 0.15, "home": "start", "algorithm": "paper"}
WINDOW = {"keep_in": [[1, 7], [0, 5]], "keep_in_delta": 0.5}
RUNS = [
    ("based", "grid", {**WORLD, "delta": 0.7, "limit": 12}),
    ("fenced", "grid", {**WORLD, "delta": 0.6, "limit": 4, **WINDOW}),
]
SHAPE = (8, 8)
STEP = 6
BESIDE = np.array([-0.17, 0.17])
HILL = (25, 25)
APEX = (12, 12)
HOLE = (slice(2, 5), slice(18, 21))

READ = """(canvas, places) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height);
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const ratio = canvas.width / canvas.clientWidth;
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  return places.map(([x, y]) => {
    const at = 4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio));
    return [data[at], data[at + 1], data[at + 2]];
  });
}"""


FRAMES = "new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go)))"


class Map:
    """The pixels of a map of which all is on view; places are rows and columns with fractions."""

    def __init__(self, look: Looking, shape: tuple[int, int]) -> None:
        self.look, self.shape = look, shape
        self.canvas = look.find(".map canvas").first
        box = self.canvas.bounding_box()
        assert box is not None
        self.wide, self.high = box["width"], box["height"]
        self.zoom = min(self.wide / shape[1], self.high / shape[0]) * MARGIN

    def middle(self, cell: int) -> NDArray[np.float64]:
        row, column = divmod(cell, self.shape[1])
        return np.array([row + 0.5, column + 0.5])

    def colours(self, places: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Give red, green and blue [N, 3] at places [N, 2]."""
        rows, columns = self.shape
        points = [
            [
                self.wide / 2 + (column - columns / 2) * self.zoom,
                self.high / 2 + (row - rows / 2) * self.zoom,
            ]
            for row, column in places
        ]
        return np.array(self.canvas.evaluate(READ, points), float)

    def cells(self, cells: Sequence[int]) -> NDArray[np.float64]:
        """Give the colour of each cell, beside what may be marked in its middle."""
        return self.colours([self.middle(cell) + BESIDE for cell in cells])

    def along(self, edge: dict[str, Any], parts: Sequence[float]) -> NDArray[np.float64]:
        """Give the colours on an edge, at parts of it."""
        a, b = self.middle(edge["from"]), self.middle(edge["to"])
        return self.colours([a + part * (b - a) for part in parts])

    def breadth(self, edge: dict[str, Any], parts: Sequence[float]) -> NDArray[np.float64]:
        """Give how broad an edge's ink is at parts of it, in pixels."""
        a, b = self.middle(edge["from"]), self.middle(edge["to"])
        across = np.array([b[1] - a[1], a[0] - b[0]]) / np.hypot(*(b - a)) / self.zoom
        reach = range(-10, 11)
        places = [a + part * (b - a) + pixel * across for part in parts for pixel in reach]
        inked = home_green(self.colours(places)).astype(float)
        return np.array([sum(one) for one in np.split(inked, len(parts))])


def dark(colours: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which colours are close to black."""
    found: NDArray[np.bool_] = colours.max(axis=-1) < 100
    return found


def grey(colours: NDArray[np.float64]) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.ptp(colours, axis=-1) < 20
    return found


def home_green(colours: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which colours are that of ways home."""
    red, green, blue = np.moveaxis(colours, -1, 0)
    found: NDArray[np.bool_] = (red < 90) & (green > 95) & (blue > 75) & (blue < green + 5)
    return found


def soon(look: Looking, check: Callable[[], bool]) -> None:
    """Wait until something holds of the pixels; they follow what is known by a frame or two."""
    end = time.monotonic() + PATIENCE / 1000
    while not check():
        assert time.monotonic() < end, "it never came"
        look.page.wait_for_timeout(60)


def asked(look: Looking, path: str) -> Any:
    """Ask the server itself about a run; a viewer that is busy is asked again."""
    end = time.monotonic() + PATIENCE / 1000
    while (answer := look.get(f"runs/{path}")).status != 200:
        assert time.monotonic() < end, answer.text()
        time.sleep(0.1)
    return answer.json() if "json" in answer.headers["content-type"] else unpack(answer.body())[1]


def path_of(site: Site, name: str) -> list[int]:
    """Give the cells of a run's path, its start first."""
    records = list(Run(site.root / name).records())
    return [records[0].state, *(record.next_state for record in records)]


def opened(look: Looking, name: str, step: int, rest: str = "", layer: str = "height") -> None:
    look.open(f"#/run/{name}?step={step}{rest}")
    look.painted(step, layer)


def chance(value: float, digits: int) -> str:
    """Write a probability as the page does."""
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    text, least = f"{value:.{digits}f}", 10.0**-digits
    if float(text) == 0.0:
        return f"<{least:.{digits}f}"
    return f">{1 - least:.{digits}f}" if float(text) == 1.0 else text


@pytest.fixture(scope="module")
def hill(site: Site, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Let a rover loose at the foot of a round hill, 9 m high, with a hole in the data."""
    rows, columns = np.indices(HILL)
    heights = np.maximum(0.0, 9.0 - np.hypot(rows - APEX[0], columns - APEX[1]))
    heights[HOLE] = np.nan
    path = tmp_path_factory.mktemp("terrain") / "hill.npy"
    np.save(path, heights)
    config = {"terrain": str(path), "pixel": 2.0, "cell": 2.0, "start": [22, 3], "limit": 4}
    config |= {"ground": "paper", "known": 0.01}  # from its foot the hill is known to 0.1 m
    Run.create(site.root / "hill", "rover", config).resume()
    return "hill"


def test_the_path_that_was_gone_is_a_dark_line(look: Looking, site: Site) -> None:
    path = path_of(site, "based")
    back = asked(look, f"based/steps/{STEP}/way?cell={path[STEP]}")["edges"]
    opened(look, "based", STEP)
    shown = Map(look, SHAPE)

    def halfway(moves: Sequence[tuple[int, int]]) -> set[tuple[float, float]]:
        found = [(shown.middle(a) + shown.middle(b)) / 2 for a, b in moves if a != b]
        return {(float(row), float(column)) for row, column in found}

    covered = halfway([(edge["from"], edge["to"]) for edge in back])
    gone = halfway([*pairwise(path[: STEP + 1])]) - covered
    to_come = halfway([*pairwise(path[STEP:])]) - gone - covered
    assert gone
    assert to_come
    soon(look, lambda: bool(dark(shown.colours([np.array(p) for p in gone])).all()))
    assert not dark(shown.colours([np.array(p) for p in to_come])).any()


def test_the_way_home_that_is_kept_is_dashed(look: Looking, site: Site) -> None:
    here = path_of(site, "based")[STEP]
    edges = asked(look, f"based/steps/{STEP}/way?cell={here}")["edges"]
    assert len(edges) > 1
    opened(look, "based", STEP)
    shown = Map(look, SHAPE)
    inner = np.linspace(0.35, 0.65, 40).tolist()

    def inked() -> list[float]:
        return [float(home_green(shown.along(edge, inner)).mean()) for edge in edges]

    soon(look, lambda: min(inked()) > 0.2)
    assert max(inked()) < 0.95  # between the dashes there is none


def test_home_is_marked_by_a_house(look: Looking, site: Site) -> None:
    home, *_ = path_of(site, "based")
    opened(look, "based", STEP)
    shown = Map(look, SHAPE)
    near = [np.array([y, x]) for y in range(-6, 7) for x in range(-6, 7)]
    colours = shown.colours([shown.middle(home) + step / shown.zoom for step in near])
    walls = home_green(colours).mean()
    assert 0.1 < walls < 0.8
    assert (colours.min(axis=-1) > 240).mean() > 0.1  # white within


def test_a_clicked_cells_way_has_arrows_that_point_home(look: Looking, site: Site) -> None:
    path = path_of(site, "based")
    ways = {cell: asked(look, f"based/steps/{STEP}/way?cell={cell}") for cell in set(path[:STEP])}
    sure = [way for way in ways.values() if way["bound"] == 1.0 and len(way["edges"]) > 2]
    way = max(sure, key=lambda way: len(way["edges"]))  # no risks are written over it
    opened(look, "based", STEP)
    look.explained(STEP)
    look.page.mouse.click(*look.point(way["cell"], SHAPE))
    look.sees(".way tbody tr")
    look.page.mouse.move(2, 2)
    shown = Map(look, SHAPE)
    parts = np.linspace(0.2, 0.88, 69)
    middle = way["edges"][1:-1]
    soon(look, lambda: all(shown.breadth(edge, [0.5]).min() > 2 for edge in middle))
    for edge in middle:
        breadth = shown.breadth(edge, parts.tolist())
        line, widest = float(np.median(breadth)), float(parts[breadth.argmax()])
        assert breadth.max() > 2 * line
        assert 0.6 < widest < 0.86, edge  # the broad end of the arrow; its tip is farther on
        assert breadth[parts > widest + 0.06].max() < breadth.max()
        assert breadth[parts < widest - 0.1].max() < line + 2


def test_walls_are_dark(look: Looking, site: Site) -> None:
    heights = np.asarray(Run(site.root / "based").fields()["heights"]).ravel()
    opened(look, "based", 0)
    shown = Map(look, SHAPE)
    for key, layer in (("1", "height"), ("4", "v"), ("6", "success")):
        look.page.keyboard.press(key)
        look.painted(0, layer)
        walls = shown.cells(np.flatnonzero(heights < 0).tolist())
        assert (dark(walls) & grey(walls)).all(), layer
        others = shown.cells(np.flatnonzero(heights > 0).tolist())
        assert not (dark(others) & grey(others)).any(), layer


def test_light_falls_from_the_north_west_and_what_has_no_data_is_dark(
    look: Looking, hill: str
) -> None:
    opened(look, hill, 4)
    shown = Map(look, HILL)
    middle = APEX[0] * HILL[1] + APEX[1]
    south_east = HILL[1] + 1
    lit = shown.cells([middle - far * south_east for far in (2, 3, 4, 5)])
    shaded = shown.cells([middle + far * south_east for far in (2, 3, 4, 5)])
    assert (lit.mean(axis=1) > 1.3 * shaded.mean(axis=1)).all()
    across = HILL[1] - 1  # neither lit nor shaded
    left = shown.cells([middle + far * across for far in (2, 3, 4, 5)])
    right = shown.cells([middle - far * across for far in (2, 3, 4, 5)])
    assert abs(left.mean() - right.mean()) < 0.25 * (lit.mean() - shaded.mean())
    hole = np.arange(HILL[0] * HILL[1]).reshape(HILL)[HOLE].ravel()
    colours = shown.cells(hole.tolist())
    assert (dark(colours) & grey(colours)).all()


def test_a_layer_over_another_is_mixed_with_it(look: Looking) -> None:
    cells = [*range(1, 64, 5)]
    opened(look, "based", 0, "&over=v&mix=0")
    shown = Map(look, SHAPE)
    mixed: dict[str, NDArray[np.float64]] = {}
    for mix in ("0", "0.25", "1"):
        look.find(".blend input").fill(mix)
        look.page.evaluate(FRAMES)
        mixed[mix] = shown.cells(cells)
    assert np.abs(mixed["1"] - mixed["0"]).max() > 60
    assert mixed["0.25"] == pytest.approx(0.75 * mixed["0"] + 0.25 * mixed["1"], abs=3)


def scale(look: Looking, title: str) -> list[float]:
    """Give the numbers along the scale of the layer on view, which is in m."""
    key = look.find(".legend .key").first
    expect(key).to_contain_text(title)
    assert re.search(r"\bm\b", key.inner_text())
    found = re.findall(r"[−\d.]+", " ".join(key.locator(".ticks > *").all_text_contents()))
    return [float(text.replace("−", "-")) for text in found]


def powers(low: float, high: float) -> list[float]:
    """Give 1 and 3 times the powers of ten on a logarithmic scale of two decades at most."""
    found = [digit * 10.0**power for power in range(-6, 3) for digit in (1, 3)]
    return [number for number in found if max(low, high / 100) <= number <= high]


def test_the_legend_says_units_and_spans_the_first_step_too(look: Looking, hill: str) -> None:
    layers = ("height", "uncertainty")
    first, now = (asked(look, f"{hill}/steps/{k}/fields?layers={','.join(layers)}") for k in (0, 4))
    both = {layer: np.stack([first[layer], now[layer]]) for layer in layers}
    span = {layer: (np.nanmin(both[layer]), np.nanmax(both[layer])) for layer in layers}
    titles = {layer["name"]: layer["title"] for layer in asked(look, hill)["layers"]}
    opened(look, hill, 4)
    found = scale(look, titles["height"])
    apart = found[1] - found[0]
    assert np.diff(found) == pytest.approx(apart)
    assert span["height"][0] <= found[0] < span["height"][0] + apart
    assert span["height"][1] - apart < found[-1] <= span["height"][1]
    expected = powers(*span["uncertainty"])
    alone = now["uncertainty"]
    assert expected != powers(np.nanmin(alone), np.nanmax(alone))
    look.page.keyboard.press("2")
    look.painted(4, "uncertainty")
    assert scale(look, titles["uncertainty"]) == pytest.approx(expected)


def test_the_table_of_a_way_home_is_the_servers(look: Looking, site: Site) -> None:
    bounds = asked(look, f"based/steps/{STEP}/fields?layers=v")["v"].ravel()
    cell = int(np.flatnonzero((bounds > 0.0) & (bounds < 1.0))[0])
    way = asked(look, f"based/steps/{STEP}/way?cell={cell}")
    actions = asked(look, "based")["actions"]
    opened(look, "based", STEP)
    look.page.mouse.click(*look.point(cell, SHAPE))
    look.sees(".way tbody tr")
    rows = look.find(".way tbody tr")
    expect(rows).to_have_count(len(way["edges"]))
    for row, edge in zip(rows.all(), way["edges"], strict=True):
        move, to, *numbers = row.locator("th, td").all_text_contents()
        assert move == actions[edge["action"]]["name"]
        assert [int(part) for part in re.findall(r"\d+", to)] == [*divmod(edge["to"], SHAPE[1])]
        said = [float(text.strip("<>")) for text in numbers]
        assert said == pytest.approx([edge["success"], edge["risk"], edge["left"]], abs=6e-4)
    assert f"{way['bound']:.3f}"[:-1] in (look.find(".way p").first.text_content() or "")
    risky = [edge for edge in way["edges"] if 0.0 < edge["risk"] < edge["success"]]
    assert any(abs(edge["left"] - edge["risk"]) > 0.01 for edge in risky)


def test_the_plots_line_goes_with_the_cursor(look: Looking, site: Site) -> None:
    last = len(path_of(site, "based")) - 1
    opened(look, "based", 0)
    look.explained(0)
    expect(look.find(".plot-now")).to_have_count(3)
    steps = (last // 4, last // 2, last)
    found = []
    for step in steps:
        look.scrub(step)
        look.painted(step)
        found.append(
            look.find(".plot-now").evaluate_all(
                "marks => marks.map((mark) => mark.getBoundingClientRect().x)"
            )
        )
    over = look.find(".plot .plot-area").first.bounding_box()
    assert over is not None
    assert found[1][0] == pytest.approx(over["x"] + over["width"] / 2, abs=3)
    for first, second, third in zip(*found, strict=True):  # in each plot alike
        assert second - first > over["width"] / 5
        assert third - second == pytest.approx(2 * (second - first), abs=3)


def test_each_criterion_has_its_own_bound_in_the_plot(look: Looking, site: Site) -> None:
    records = list(Run(site.root / "fenced").records())
    returns, stays = records[1].bounds
    others = (returns, records[0].bounds[1], records[2].bounds[1])
    assert min(abs(stays - other) for other in others) > 0.005
    opened(look, "fenced", 1)
    plot = look.find('.plot-box[aria-label^="Proven safety"]')
    expect(plot).to_be_visible()
    label = plot.get_attribute("aria-label") or ""
    for name, value in (("return to the start", returns), ("stay inside", stays)):
        said = re.search(rf"{name}\D*(\d(?:\.\d+)?)", label)
        assert said is not None
        assert float(said[1]) == pytest.approx(value, abs=1e-3), name


def test_a_saved_picture_says_its_step(look: Looking) -> None:
    look.page.add_init_script(
        "window.written = []; const write = CanvasRenderingContext2D.prototype.fillText;"
        "CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {"
        "  window.written.push(String(text)); return write.call(this, text, ...rest); };"
    )
    opened(look, "based", STEP)
    with look.page.expect_download() as download:
        look.button("Save a picture of this view").click()
    assert download.value.suggested_filename == f"based-{STEP}.png"
    written = look.page.evaluate("window.written")
    assert "based" in written
    assert any(f"after {STEP} steps" in text and "0.7" in text for text in written)
    look.page.close()  # the script would stay


def reads(look: Looking, expected: object, layers: Sequence[str]) -> bool:
    """Tell whether the values at the pointer are those of all layers."""
    shown = look.find(".readout dd[data-layer]").count()
    return shown == len(layers) and {layer: look.reading(layer) for layer in layers} == expected


def test_all_values_at_the_pointer_are_the_servers_in_the_middle_of_a_run(look: Looking) -> None:
    layers = [layer["name"] for layer in asked(look, "based")["layers"]]
    assert {"v", "bonus", "success"} < set(layers)
    fields = asked(look, f"based/steps/{STEP}/fields?layers={','.join(layers)}")
    inside = np.flatnonzero((fields["v"] > 0.0).ravel() & (fields["v"] < 1.0).ravel())[:2]
    wall = np.flatnonzero((fields["truth"] < 0).ravel())[:1]
    opened(look, "based", STEP)
    for cell in [*inside.tolist(), *wall.tolist(), 19]:
        look.point(cell, SHAPE)
        expected = {layer: float(fields[layer].ravel()[cell]) for layer in layers}
        same = pytest.approx(expected, rel=1e-6, nan_ok=True)
        soon(look, partial(reads, look, same, layers))  # the last cell's stay until these come


def test_the_pointer_reads_what_is_on_view_while_more_is_asked_for(
    look: Looking, site: Site
) -> None:
    path = path_of(site, "based")
    cell = next(cell for cell in path[1 : STEP + 1] if cell != path[0])
    held: list[Route] = []
    free = False

    def hold(route: Route) -> None:
        if free:
            route.continue_()
        else:
            held.append(route)

    look.page.route(f"**/steps/{STEP}/fields*", hold)
    opened(look, "based", 0)
    look.explained(0)
    look.scrub(STEP)
    look.sees(".count", f"after {STEP} of")
    look.point(cell, SHAPE)
    visited = look.find('.readout dd[data-layer="visited"]')
    expect(visited).to_have_attribute("data-value", "0")
    look.painted(0)
    free = True
    for route in held:
        route.continue_()
    look.painted(STEP)
    expect(visited).to_have_attribute("data-value", "1")


COMPASS = {
    "N": (-1, 0),
    "NE": (-1, 1),
    "E": (0, 1),
    "SE": (1, 1),
    "S": (1, 0),
    "SW": (1, -1),
    "W": (0, -1),
    "NW": (-1, -1),
}


def test_the_rose_has_north_at_the_top_and_marks_what_was_chosen(look: Looking) -> None:
    why = asked(look, f"based/steps/{STEP}/why")
    opened(look, "based", STEP)
    panel = look.explained(STEP)
    box = panel.locator(".rose svg").bounding_box()
    assert box is not None
    middle = (box["y"] + box["height"] / 2, box["x"] + box["width"] / 2)
    moves = [action for action in why["actions"] if action["dr"] or action["dc"]]
    assert len(moves) == len(COMPASS)
    for action in moves:
        petal = panel.locator(f'.petal[data-action="{action["action"]}"]')
        label = petal.locator("text.direction")
        named, *_ = (label.text_content() or "").split()
        assert COMPASS[named] == (action["dr"], action["dc"])
        for part in (label, petal.locator("path")):
            at = part.bounding_box()
            assert at is not None
            down = at["y"] + at["height"] / 2 - middle[0]
            right = at["x"] + at["width"] / 2 - middle[1]
            turn = math.atan2(down, right) - math.atan2(*COMPASS[named])
            assert abs(math.remainder(turn, 2 * math.pi)) < math.pi / 8, named
        if action["verdict"] != Verdict.UNAVAILABLE:
            assert petal.locator(".chance").text_content() == chance(action["leaves"], 2)
    chosen = panel.locator(".petal.chosen")
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_attribute("data-action", str(why["action"]))
