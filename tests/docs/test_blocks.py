"""Every code block of the documentation does what the page says.

The blocks of a page run in order, in one namespace and one folder. A ``text`` block after a
``python`` block is its output. In a ``console`` block, lines that start with ``$`` are commands;
the other lines must occur in their output in this order, with ``…`` for any text. A block with a
caption is a file of that name. Two comments change this: ``<!-- setup: code -->`` runs code that
the page does not show, and ``<!-- not run: reason -->`` skips the next block. The cells of a
notebook run in the same way; `make docs` runs them in a kernel, and shows their outputs.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.invoking import invoke

from homeward.errors import HomewardError

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
    if re.search(r"^```(?:python|console)", path.read_text(), re.MULTILINE)
)
NOTEBOOKS = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.ipynb"))
PIECE = re.compile(
    r"^<!-- (?P<kind>setup|not run):(?P<said>.*?)-->$"
    r"|^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """One fenced block: its language, code and line, and why it is not run, if it is not."""

    language: str
    code: str
    line: int
    reason: str | None


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page in order; a hidden setup counts as a ``python`` block."""
    source, found, reason = (ROOT / page).read_text(), [], None
    if page.endswith(".ipynb"):
        cells = [cell for cell in json.loads(source)["cells"] if cell["cell_type"] == "code"]
        codes = ("".join(line for line in c["source"] if line[0] != "%") for c in cells)
        return [Block("python", code, 1, None) for code in codes]
    for piece in PIECE.finditer(source):
        line = source.count("\n", 0, piece.start()) + 1
        if piece["kind"] == "not run":
            reason = piece["said"].strip()
            continue
        if piece["kind"] == "setup":
            found.append(Block("python", piece["said"].strip(" "), line, None))
            continue
        found.append(Block(piece["language"].strip(), piece["code"], line + 1, reason))
        reason = None
    return found


def run_python(block: Block, page: str, space: dict[str, Any]) -> str:
    """Run a block and return what it prints; errors carry the lines of the page."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), space)
    return printed.getvalue()


def run_console(block: Block, shown: str) -> str:
    """Run the commands of a block and return what they print; one that fails must be `shown`."""
    printed = ""
    joined = block.code.replace("\\\n", "")
    for line in (line for line in joined.splitlines() if line.startswith("$ ")):
        words = shlex.split(line[2:], comments=True)
        assert words[0] == "homeward", f"only homeward's commands are run, not {line!r}"
        done = invoke(*words[1:])
        printed += done.output
        if isinstance(done.exception, HomewardError):
            printed += f"homeward: {done.exception}\n"
        assert done.exit_code == 0 or shown, f"{line}\n{printed}"
    return printed


def missing_line(shown: str, printed: str) -> str | None:
    """Return the first shown line that the output does not have in this order."""
    left = iter(printed.splitlines())
    for line in (line.rstrip() for line in shown.splitlines() if line.strip()):
        pattern = ".*".join(map(re.escape, line.split("…")))
        if not any(re.fullmatch(pattern, actual.rstrip()) for actual in left):
            return line
    return None


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS])
def test_the_blocks_of_a_page_do_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    modules = set(sys.modules)
    space: dict[str, Any] = {"__name__": "__main__"}
    printed = ""
    for block in blocks_of(page):
        if block.reason is not None:
            continue
        if block.language.startswith("{code-block}"):
            caption, _, content = block.code.partition("\n\n")
            Path(caption.removeprefix(":caption: ")).write_text(content)
        elif block.language == "python":
            printed = run_python(block, page, space)
        elif block.language == "console":
            shown = re.sub(r"^\$ (?:.*\\\n)*.*$", "", block.code, flags=re.MULTILINE)
            printed = run_console(block, shown.strip())
            assert (line := missing_line(shown, printed)) is None, f"{line}\nis not in\n{printed}"
        elif block.language == "text":
            assert (line := missing_line(block.code, printed)) is None, f"{line}\n≠\n{printed}"
    plt.close("all")
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES)
def test_a_block_that_is_not_run_says_why(page: str) -> None:
    assert all(block.reason is None or len(block.reason) > 5 for block in blocks_of(page))


@pytest.mark.parametrize("page", [path for path in PAGES if path != "README.md"])
def test_every_block_has_a_language(page: str) -> None:
    bare = [block.line for block in blocks_of(page) if not block.language]
    assert not bare, f"blocks without a language in lines {bare}"


def test_a_line_that_differs_is_found() -> None:
    assert missing_line("a\nc", "a\nb\nc") is None
    assert missing_line("took … s", "it\ntook 0.2 s") is None
    assert missing_line("c\na", "a\nb\nc") == "a"
    assert missing_line("took 1 s", "took 2 s") == "took 1 s"
