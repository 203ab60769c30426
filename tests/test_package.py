"""What the package says about itself agrees, and type checkers know its names."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.surface import STUB

import homeward

ROOT = Path(__file__).parents[1]


def test_every_file_has_the_same_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert homeward.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{version}}}" in (ROOT / "docs/about/citing.md").read_text()
    assert f"this is {version}" in (ROOT / "README.md").read_text()


def test_the_version_has_a_dated_entry_in_the_changelog_and_the_citation() -> None:
    entry = rf"^## \[{re.escape(homeward.__version__)}\] - (\d{{4}}-\d\d-\d\d)$"
    found = re.search(entry, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert found is not None
    assert f"\ndate-released: {found[1]}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_type_checker_knows_the_names_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "homeward").mkdir()
    shutil.copy(STUB, tmp_path / "homeward")  # alone: reading all of the package takes long
    (tmp_path / "use.py").write_text("import homeward as hw\n\nhw.Moves\nhw.Nope\n")
    command = [sys.executable, "-m", "mypy", "--no-site-packages", "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, "use.py"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    error, *_ = done.stdout.splitlines()
    assert error == 'use.py:4: error: Module has no attribute "Nope"  [attr-defined]'


def test_the_package_is_marked_as_typed() -> None:
    assert Path(str(homeward.__file__)).with_name("py.typed").exists()


def test_python_m_homeward_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "homeward", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"homeward {homeward.__version__}\n"


def test_the_workflow_runs_what_the_readme_says() -> None:
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert re.findall(r"- run: (.*)", workflow) == ["make test"]
