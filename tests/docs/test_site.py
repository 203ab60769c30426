"""The site builds without a warning, links nowhere in vain, loads nothing and misses no name."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import pytest

import homeward
from homeward.planning.ends import End

if TYPE_CHECKING:
    from homeward.arrays import FloatArray, IntArray

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTEBOOKS = sorted(DOCS.glob("**/*.ipynb"))


class Page(HTMLParser):
    """What a page of the site links to, loads, and offers as targets."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("img", "script", "iframe") and "src" in given:
            self.loads.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, warnings as errors, but without running notebooks."""
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-d", str(made / "doctrees")]
    command += ["-D", "nb_execution_mode=off"]  # `test_blocks` runs them, at a fraction of the cost
    done = subprocess.run(
        [*command, str(DOCS), str(made / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return made / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_every_internal_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    assert len(pages) > 20
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = target.exists()
            if found and parts.fragment and target in pages:
                found = unquote(parts.fragment) in pages[target].ids
            if not found:
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_another_server(pages: dict[Path, Page], site: Path) -> None:
    loaded = {load for page in pages.values() for load in page.loads}
    assert loaded
    assert not [load for load in loaded if urlsplit(load).scheme or urlsplit(load).netloc]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?https?:", sheet.read_text()), sheet.name


def test_every_public_name_is_in_the_reference_once() -> None:
    pages = [path.read_text() for path in (DOCS / "reference").glob("*.md")]
    listed = [
        name for page in pages for name in re.findall(r"^\.\. auto\w+:: (\w+)$", page, re.MULTILINE)
    ]
    assert sorted(listed) == sorted(homeward.__all__), "docs/reference lists the public names"


def without_shape(kind: type) -> list[str]:
    """Return the array attributes of a class whose shape its docstring does not say."""
    said = inspect.getdoc(kind) or ""
    arrays = [
        name
        for name, of in vars(kind).get("__annotations__", {}).items()
        if re.search(r"(?:Float|Int|Bool)Array", str(of)) and not name.startswith("_")
    ]
    return [name for name in arrays if not re.search(rf"\b{name}\b.*\n?.*\[", said)]


@pytest.mark.parametrize("name", sorted(homeward.__all__))
def test_the_reference_says_the_shapes_of_arrays(name: str) -> None:
    thing = getattr(homeward, name)
    assert not (inspect.isclass(thing) and without_shape(thing))


def test_an_array_without_a_shape_is_found() -> None:
    class Heights:
        """Measured `cells` [n]."""

        cells: IntArray
        heights: FloatArray

    assert without_shape(Heights) == ["heights"]


def test_every_command_is_on_the_page_of_commands(pages: dict[Path, Page]) -> None:
    (commands,) = (page for path, page in pages.items() if path.name == "commands.html")
    for name in ("homeward", "homeward-explore", "homeward-run-grid", "homeward-paper-mars"):
        assert name in commands.ids


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)


def test_the_guide_to_refusals_explains_every_end() -> None:
    guide = (DOCS / "how-to/refusals.md").read_text()
    assert set(re.findall(r"^\| `(\w+)` \|", guide, re.MULTILINE)) == set(End)
