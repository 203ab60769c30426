from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.web.page.looking import PACKAGE

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.skipif(
    not (shutil.which("node") and ESBUILD.exists()), reason="the page can't be built here"
)
def test_a_small_question_does_not_replace_a_large_one_that_waits(tmp_path: Path) -> None:
    source, target = PAGE / "src" / "run" / "latest.ts", tmp_path / "latest.mjs"
    words = [str(ESBUILD), str(source), "--bundle", "--format=esm", f"--outfile={target}"]
    subprocess.run([*words, "--platform=node", "--log-level=error"], check=True, cwd=PAGE)
    (tmp_path / "script.mjs").write_text(SCRIPT)
    done = subprocess.run(["node", "script.mjs"], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(done.stdout) == [False, True, False, False]
