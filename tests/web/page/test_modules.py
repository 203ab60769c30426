"""Parts of the page that need no browser, run by Node."""

from __future__ import annotations

import colorsys
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.web.page.looking import PACKAGE

PAGE = PACKAGE / "web" / "page"
ESBUILD = PAGE / "node_modules" / "esbuild" / "bin" / "esbuild"
SCRIPT = """
import { Latest } from "./latest.mjs";
const asked = [];
let free;
const busy = () => new Promise((resolve) => (free = resolve));
const one = (joined) => new Latest(async (all) => { asked.push(all); await busy(); }, joined);
const join = (waiting, all) => waiting || all;
for (const latest of [one(join), one()]) {
  latest.ask(false);
  latest.ask(true);
  latest.ask(false);
  free();
  await new Promise((resolve) => setTimeout(resolve));
  free();
}
console.log(JSON.stringify(asked));
"""


pytestmark = pytest.mark.skipif(
    not (shutil.which("node") and ESBUILD.exists()), reason="the page can't be built here"
)


def said(folder: Path, source: str, script: str) -> Any:
    """Bundle a source of the page and give what a script that imports it prints."""
    target = folder / f"{Path(source).stem}.mjs"
    words = [str(ESBUILD), str(PAGE / "src" / source), "--bundle", "--format=esm"]
    options = [f"--outfile={target}", "--platform=node", "--log-level=error"]
    subprocess.run([*words, *options], check=True, cwd=PAGE)
    (folder / "script.mjs").write_text(script)
    done = subprocess.run(["node", "script.mjs"], cwd=folder, capture_output=True, check=True)
    return json.loads(done.stdout)


def test_a_small_question_does_not_replace_a_large_one_that_waits(tmp_path: Path) -> None:
    assert said(tmp_path, "run/latest.ts", SCRIPT) == [False, True, False, False]


COLOURS = """
import { HEIGHTS, MARK_COLOURS, surroundings, table } from "./colours.mjs";
const palettes = ["viridis", "cividis", "ground", "greys", "slates"];
console.log(JSON.stringify({
  heights: HEIGHTS, marks: MARK_COLOURS,
  light: surroundings(false), dark: surroundings(true),
  tables: palettes.map((name) => Array.from(table(name))),
}));
"""


def lightness(colour: Any) -> float:
    red, green, blue = ((float(value) / 255) ** 2.2 for value in colour)
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def test_colours_tell_heights_by_order_and_marks_from_the_ground(tmp_path: Path) -> None:
    found = said(tmp_path, "map/colours.ts", COLOURS)
    for scale in (found["heights"], *(np.reshape(t, (256, 3)) for t in found["tables"])):
        assert (np.diff([lightness(colour) for colour in scale]) > -1e-3).all()
        assert lightness(scale[-1]) > lightness(scale[0]) + 0.05
    for name, mark in found["marks"].items():  # the ground is orange; its hues are 10° to 50°
        red, green, blue = (int(mark[at : at + 2], 16) / 255 for at in (1, 3, 5))
        assert not 0.03 < colorsys.rgb_to_hsv(red, green, blue)[0] < 0.14, name
    for theme, low, high in (("light", 200, 255), ("dark", 0, 60)):
        around = found[theme]
        line = [int(value) for value in re.findall(r"\d+", around["line"])[:3]]
        for colour in (around["floor"], line):
            assert all(low <= value <= high for value in colour), theme


WORDS = """
import { reading } from "./words.mjs";
const layers = [{ name: "height", title: "", unit: "m", scale: "sequential", costs: "belief" }];
const values = [-4231.2345, 12.3456, 0.12345];
console.log(JSON.stringify(values.map((value) => reading({ layers }, "height", value))));
"""


def test_heights_are_told_to_the_centimetre(tmp_path: Path) -> None:
    assert said(tmp_path, "words.ts", WORDS) == ["−4231.23 m", "12.35 m", "0.123 m"]


CALLED = """
import { calledFrom } from "./words.mjs";
console.log(JSON.stringify([calledFrom(13, 13, 12), calledFrom(13, 0, 12)]));
"""


def test_a_run_called_off_at_home_is_said_to_be_so_after_its_next_move(tmp_path: Path) -> None:
    here, next_ = said(tmp_path, "words.ts", CALLED)
    assert here == "from row 1, column 1"
    assert next_ == "after the next move, from row 1, column 1"


BLOCKED = """
import { blockedWord, mayBlock } from "./words.mjs";
const layers = ["height", "slope", "seen"].map((name) => ({
  name, scale: name === "seen" ? "categorical" : "sequential",
}));
const rover = (config) => ({ kind: "rover", layers, config });
const real = { terrain: "hills.tif" };
const runs = [
  rover(real), rover({ ...real, ground: "paper" }), rover({ obstacles: "rocks.tif" }),
  rover({ ...real, keep_out: [[1, 2]] }), { kind: "grid", layers, config: {} },
];
console.log(JSON.stringify([
  ...runs.map((run) => blockedWord(run, { height: NaN, slope: NaN, seen: 0 })),
  blockedWord(runs[0], { height: 4, slope: NaN, seen: NaN }),
  [...runs, rover({})].map(mayBlock),
]));
"""


def test_a_blocked_cell_says_what_may_block_it(tmp_path: Path) -> None:
    stand = "the vehicle can't stand or turn here"
    assert said(tmp_path, "words.ts", BLOCKED) == [
        f"Blocked: no data or {stand}.",
        "Blocked: no data.",
        "Blocked: an obstacle.",
        f"Blocked: no data, the area to keep out of or {stand}.",
        "Blocked: a wall.",
        "",  # an open cell among blocked ones has no slope
        [True, True, True, True, True, False],
    ]


PREFERENCE = """
import { preference } from "./why.mjs";
const move = (action, name, exploration, verdict) => ({ action, name, exploration, verdict });
const actions = [
  move(0, "N", 2, "chosen"), move(1, "S", 3, "not_chosen"), move(2, "E", 4, "not_chosen"),
  move(3, "W", 9, "unsafe"),
];
const why = (rule, all = actions) =>
  ({ action: 0, actions: all, proposal: { rule, unit: "nats" } });
const rules = ["near", "path", "place", "home", null];
console.log(JSON.stringify([...rules.map((rule) => preference(why(rule))),
  preference(why("near", [actions[0], actions[3]]))]));
"""


def test_a_move_is_not_said_to_learn_most_where_another_would(tmp_path: Path) -> None:
    *told, best = said(tmp_path, "parts/why.tsx", PREFERENCE)
    assert all(each.endswith("a look after E has up to 4 nats per step.") for each in told)
    assert told[0].startswith("It prefers near looks")
    assert told[1].startswith("It compares whole paths by their gain")
    assert len(set(told)) == len(told)
    assert best == ""


TRAIL = """
import { Trail } from "./trail.mjs";
const trail = new Trail();
const told = [];
const follow = (...next) => {
  const stays = trail.follow(0, Int32Array.from(next));
  const row = (_, i) => [trail.from[i], trail.to[i], trail.step[i]];
  const moves = Array.from({ length: trail.count }, row);
  told.push([stays, moves, trail.upTo(2)]);
};
follow(1, 1, 2);
follow(1, 1, 2, 1, 0, 3);
follow(4, 1, 2, 1, 0, 3, 5);
console.log(JSON.stringify(told));
"""


def test_a_path_that_goes_on_keeps_its_moves_and_another_one_does_not(tmp_path: Path) -> None:
    _, longer, other = said(tmp_path, "map/trail.ts", TRAIL)
    assert longer == [True, [[0, 1, 1], [1, 2, 3], [0, 3, 6]], 1]
    assert other[0] is False
    assert other[1][0] == [0, 4, 1]


ENDED = """
import { endWord } from "./words.mjs";
const why = "The explorer can't reach what is left to explore.";
const ended = [null, 106].map((trapped) => ({ status: "finished", why, trapped }));
console.log(JSON.stringify([...ended, { status: "paused", why: "", trapped: null }].map(endWord)));
"""


def test_a_trapped_run_is_said_to_have_been_trapped(tmp_path: Path) -> None:
    free, trapped, paused = said(tmp_path, "words.ts", ENDED)
    assert free == "The run ended here. The explorer can't reach what is left to explore."
    assert trapped.endswith("trapped at step 106: no way home was left from then on.")
    assert paused == "The run is paused here."


BOUNDS = """
import { beside, keeps, least, levelName } from "./words.mjs";
const values = [0.99999998, 0.999999995, 1, 0.86186];
console.log(JSON.stringify([
  ...values.map((value) => beside(value, 1)),
  ...values.map((value) => beside(value, null)),
  ...[12.3456, -12.341, 0, 0.00001239, 1.239e7].map((value) => least(value, 4)),
  ...[0.95, 0.95 - 1e-9, 0.97996].map((value) => beside(value, 0.95)),
  ...[0.95, 0.95 - 1e-9].map((value) => keeps(value, 0.95)),
  ...[0.95, 0.9999999].map((level) => levelName(level)),
]));
"""


def test_a_lower_bound_is_cut_and_not_rounded_up(tmp_path: Path) -> None:
    shown = said(tmp_path, "words.ts", BOUNDS)
    assert shown[:4] == [">0.9999", ">0.9999", "1", "0.8618"]
    assert shown[4:8] == [">0.9999", ">0.9999", "1", "0.8618"]
    assert shown[8:11] == ["12.34", "−12.35", "0"]
    assert [each[:4] for each in shown[11:13]] == ["1.23", "1.23"]
    assert shown[13:16] == ["0.9500", "0.949999", "0.9799"]
    assert shown[16:] == [True, False, "0.95", "0.9999999"]
