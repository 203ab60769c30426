"""Imports go downward only, and none leaves the product for the lab.

They are read from the source, so that no import can hide in a branch.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surface import MODULE_OF

import homeward

ROOT = Path(str(homeward.__file__)).parent

LAYERS: tuple[tuple[str, ...], ...] = (
    (
        "errors",
        "words",
        "arrays",
        "compiling",
        "environments",
        "extras",
        "files",
        "html",
        "memory",
        "registry",
    ),
    ("models",),
    ("threads",),
    ("solvers",),
    ("beliefs",),
    ("criteria", "bonuses", "worlds", "referee"),
    ("planning",),
    ("agents",),
    ("terrain",),
    ("runs",),
    ("replay", "studies", "plots"),
    ("exploration",),
    ("missions",),
    ("kinds",),
    ("paper",),
    ("web", "cli"),
    ("__main__",),
)
RANK = {part: rank for rank, layer in enumerate(LAYERS) for part in layer}

STRICTER = {
    "beliefs": ("errors", "arrays", "compiling", "models", "threads"),
    "solvers": ("errors", "arrays", "compiling", "models"),
}
"""Parts that may not use all that lies below them: what they may, by the start of its name."""


def imports(source: str, module: str, *, package: bool) -> set[str]:
    """Return the modules of homeward (without that prefix) and of lab that a source imports.

    `module` is the importer's own dotted name; a name that is imported from the package's root is
    traced to the module that it lives in.
    """
    parents = module.split(".") if package else module.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            if origin == "homeward":
                found |= {f"homeward.{MODULE_OF.get(a.name, a.name)}" for a in node.names}
            else:
                found |= {f"{origin}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {str(a.value) for a in node.args if isinstance(a, ast.Constant)}
    ours = {name for name in found if name.partition(".")[0] in ("homeward", "lab")}
    return {name.removeprefix("homeward.") for name in ours - {"homeward"}}


def offences(source: str, module: str, *, package: bool = False) -> set[str]:
    """Return the parts that a module of homeward imports and must not, the lab among them."""
    here = module.removeprefix("homeward.").partition(".")[0]
    broken = set()
    for name in imports(source, module, package=package):
        there = name.partition(".")[0]
        if there in (here, "__version__"):
            continue
        below = there in RANK and RANK[there] <= RANK[here]
        allowed = STRICTER.get(here, (there,))
        if not below or not any(f"{name}.".startswith(f"{start}.") for start in allowed):
            broken.add(there)
    return broken


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Give the parts that can't be put in an order, because they import each other in a circle."""
    left = dict(edges)
    while free := [part for part, needs in left.items() if not needs & left.keys() - {part}]:
        for part in free:
            del left[part]
    return sorted(left)


MODULES = {
    ".".join(["homeward", *path.relative_to(ROOT).with_suffix("").parts]): path
    for path in sorted(ROOT.rglob("*.py"))
    if path != ROOT / "__init__.py"
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_lies_below_it(name: str) -> None:
    package = name.endswith(".__init__")
    broken = offences(MODULES[name].read_text(), name.removesuffix(".__init__"), package=package)
    assert not broken, f"{name} imports {', '.join(sorted(broken))}"


def test_parts_of_one_rank_do_not_import_each_other_in_a_circle() -> None:
    edges: dict[str, set[str]] = {part: set() for part in RANK}
    for name, path in MODULES.items():
        module, package = name.removesuffix(".__init__"), name.endswith(".__init__")
        needs = {n.partition(".")[0] for n in imports(path.read_text(), module, package=package)}
        edges[module.split(".")[1]] |= needs
    assert circle(edges) == []


def test_every_part_of_the_house_has_a_rank() -> None:
    parts = {name.split(".")[1] for name in MODULES}
    assert parts <= set(RANK)


def test_the_walk_found_the_house() -> None:
    assert {"homeward.planning.algorithm1", "homeward.solvers.kernels"} <= set(MODULES)


@pytest.mark.parametrize(
    ("importer", "line", "culprit"),
    [
        ("homeward.models.moves", "import homeward.solvers.policies", "solvers"),
        ("homeward.models.moves", "from homeward.solvers import engine", "solvers"),
        ("homeward.models.moves", "from homeward import Planner", "planning"),
        ("homeward.models.moves", "from homeward import solvers", "solvers"),
        ("homeward.models.moves", "from ..solvers import engine", "solvers"),
        ("homeward.models.moves", "from .. import solvers", "solvers"),
        (
            "homeward.models.moves",
            "def f():\n    from homeward.planning.plan import Plan",
            "planning",
        ),
        ("homeward.models.moves", "if TYPE_CHECKING:\n    import homeward.beliefs", "beliefs"),
        ("homeward.models.moves", "importlib.import_module('homeward.runs')", "runs"),
        ("homeward.models.moves", "from homeward.magic import wand", "magic"),
        ("homeward.solvers.returns", "from homeward.beliefs.corrections import x", "beliefs"),
        ("homeward.solvers.returns", "from homeward.beliefs import Belief", "beliefs"),
        ("homeward.beliefs.finite", "from homeward.solvers import Status", "solvers"),
        ("homeward.beliefs.finite", "from homeward.criteria import ReturnHome", "criteria"),
        ("homeward.beliefs.finite", "from homeward import ReturnHome", "criteria"),
        ("homeward.beliefs.finite", "from homeward.criteria import x", "criteria"),
        ("homeward.beliefs.finite", "import homeward.criteria", "criteria"),
        ("homeward.runs.run", "from homeward.kinds.rover import kind", "kinds"),
        (
            "homeward.referee.claims",
            "from homeward.planning.plan import Plan",
            "planning",
        ),
        ("homeward.referee.claims", "from homeward import Plan", "planning"),
        ("homeward.errors", "from homeward.planning.algorithm1 import Planner", "planning"),
        ("homeward.cli.app", "import lab", "lab"),
        ("homeward.cli.app", "from lab.check import edges", "lab"),
        ("homeward.paper.levels", "def f():\n    import lab.check.calibration", "lab"),
        ("homeward.paper.levels", "importlib.import_module('lab.bench')", "lab"),
    ],
)
def test_an_import_upward_is_found(importer: str, line: str, culprit: str) -> None:
    assert offences(line, importer) == {culprit}


@pytest.mark.parametrize(
    ("importer", "line"),
    [
        ("homeward.beliefs.finite", "from homeward.beliefs.corrections import Correction"),
        ("homeward.beliefs.finite", "import homeward.beliefs.corrections"),
        ("homeward.beliefs.finite", "from .observations import Rows"),
        ("homeward.solvers.returns", "from homeward.models import Moves"),
        (
            "homeward.plots.map_figures",
            "from homeward.worlds import x\nfrom homeward import Plan",
        ),
        ("homeward.cli.app", "from homeward import __version__, Planner"),
        ("homeward.cli.app", "import numpy\nfrom scipy.sparse import csr_array"),
    ],
)
def test_an_import_downward_is_let_pass(importer: str, line: str) -> None:
    assert offences(line, importer) == set()


def test_a_relative_import_of_a_package_starts_at_the_package() -> None:
    assert offences("from .moves import Moves", "homeward.models", package=True) == set()
    assert offences("from ..solvers import engine", "homeward.models", package=True) == {"solvers"}


def test_a_circle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == ["a", "b", "c", "d"]
    assert circle({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a", "d"}}) == []


REFEREE = sorted(name for name in MODULES if name.startswith("homeward.referee."))


@pytest.mark.parametrize("module", REFEREE)
def test_the_referee_shares_no_code_with_the_planner_or_its_solvers(module: str) -> None:
    found = imports(MODULES[module].read_text(), module, package=False)
    parts = {part.partition(".")[0] for part in found}
    below = {"arrays", "beliefs", "bonuses", "referee", "compiling", "errors", "models", "words"}
    assert parts <= below


def loaded_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter; give the modules that it loaded."""
    found = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(found.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import homeward.beliefs.levels",
        "import homeward.beliefs.heights",
        "import homeward.beliefs.corrections",
        "from homeward.beliefs import Correction, Corrections",
        "from homeward import DirichletBelief, FiniteBelief, Transition",
        "from homeward import HeightBelief",
    ],
)
def test_beliefs_never_hear_of_a_solver(statement: str) -> None:
    loaded = loaded_after(statement)
    assert "homeward.beliefs.corrections" in loaded
    assert not {m for m in loaded if m.startswith(("homeward.solvers", "highspy"))}
    assert "homeward.criteria" not in loaded


def test_a_criterion_brings_its_solvers_along() -> None:
    loaded = loaded_after("from homeward.criteria import ReturnHome")
    assert {"homeward.criteria", "homeward.solvers"} <= loaded
