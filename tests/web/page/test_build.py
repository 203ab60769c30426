"""What the page is built of, and by."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from tests.web.page.looking import PACKAGE, STATIC

PAGE = PACKAGE / "web" / "page"
HOOK = Path(__file__).parents[3] / "hatch_build.py"
LARGEST = 150_000


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load the build hook; hatchling itself is there only while a package is built."""
    parts = ["hatchling", "builders", "hooks", "plugin", "interface"]
    for end in range(1, len(parts) + 1):
        module: Any = types.ModuleType(".".join(parts[:end]))
        monkeypatch.setitem(sys.modules, module.__name__, module)

    class Interface:
        def __class_getitem__(cls, item: object) -> type:
            return cls

    module.BuildHookInterface = Interface
    spec = importlib.util.spec_from_file_location("hatch_build", HOOK)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture
def project(tmp_path: Path, hook: Any) -> Path:
    """Lay out a project whose page is built."""
    page, static = tmp_path / hook.PAGE, tmp_path / hook.STATIC
    (page / "src").mkdir(parents=True)
    (page / "src" / "main.tsx").write_text("1")
    (page / "package.json").write_text("{}")
    static.mkdir(parents=True)
    (static / hook.STAMP).write_text(hook.digest(page))
    return tmp_path


def test_a_page_whose_sources_stay_is_not_built_again(hook: Any, project: Path) -> None:
    assert hook.is_built(project)
    modules = project / hook.PAGE / "node_modules" / "preact"
    modules.mkdir(parents=True)
    (modules / "index.js").touch()
    assert hook.is_built(project)


@pytest.mark.parametrize("change", ["content", "name", "more", "unstamped"])
def test_a_page_whose_sources_change_is_built_again(hook: Any, project: Path, change: str) -> None:
    source = project / hook.PAGE / "src" / "main.tsx"
    if change == "content":
        source.write_text("2")
    elif change == "name":
        source.rename(source.with_name("other.tsx"))
    elif change == "more":
        source.with_name("more.css").touch()
    else:
        (project / hook.STATIC / hook.STAMP).unlink()
    assert not hook.is_built(project)


def test_node_is_asked_for_only_where_there_is_none_and_something_is_to_be_built(
    hook: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = hook.PageHook()
    asking.root = str(project)
    monkeypatch.setenv("PATH", os.devnull)
    assert asking.dependencies() == []
    (project / hook.STATIC / hook.STAMP).unlink()
    assert asking.dependencies() == [hook.NODE]
    monkeypatch.setenv(hook.WITHOUT, "1")
    assert asking.dependencies() == []


def test_a_build_that_fails_says_what_failed(
    hook: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    false = ["/bin/sh", "-c", "echo no such package >&2; exit 3"]
    monkeypatch.setattr(hook, "node_here", lambda: (false, false))
    with pytest.raises(RuntimeError, match=r"can't be built(?s:.*)no such package"):
        hook.build(project)


def test_the_page_that_is_tested_is_made_of_the_sources_that_are_here() -> None:
    found = hashlib.sha256()
    for path in sorted(PAGE.rglob("*")):
        name = path.relative_to(PAGE)
        if path.is_file() and "node_modules" not in name.parts:
            content = path.read_bytes()
            found.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    stamp = (STATIC / "sources.sha256").read_text().strip()
    assert stamp == found.hexdigest(), "pip install -e . builds the page anew"


def test_the_script_is_small() -> None:
    size = sum(len(gzip.compress(path.read_bytes(), 9)) for path in STATIC.glob("*.js"))
    assert 10_000 < size < LARGEST


def test_nothing_is_inline_and_nothing_points_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=", page)
    addresses = set()
    for path in STATIC.iterdir():
        addresses |= set(re.findall(r"(?:https?:)?//[\w.-]+\.\w+[^\s\"'`)]*", path.read_text()))
    assert {a for a in addresses if not a.startswith("http://www.w3.org/")} == set()


def test_the_lock_file_names_versions_and_no_registry() -> None:
    text = (PAGE / "package-lock.json").read_text()
    assert "resolved" not in text
    packages = json.loads(text)["packages"]
    assert all("integrity" in about for name, about in packages.items() if name)
