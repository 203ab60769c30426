from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import homeward

SOURCE = Path(str(homeward.__file__))


def names_for_type_checkers() -> dict[str, set[str]]:
    """Read the imports under ``if TYPE_CHECKING`` of homeward/__init__.py, by module."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(SOURCE.read_text()).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for line in node.body:
                assert isinstance(line, ast.ImportFrom)
                assert line.module is not None
                module = line.module.removeprefix("homeward.")
                assert module not in found, f"{module} is listed twice"
                found[module] = {alias.asname or alias.name for alias in line.names}
    return found


@pytest.mark.parametrize("name", homeward.__all__)
def test_every_name_in_all_can_be_imported(name: str) -> None:
    assert getattr(homeward, name) is not None


@pytest.mark.parametrize("name", [n for n in homeward.__all__ if n != "__version__"])
def test_every_name_is_the_one_of_its_home_module(name: str) -> None:
    home = importlib.import_module(f"homeward.{homeward._MODULE_OF[name]}")
    assert getattr(homeward, name) is getattr(home, name)


def test_all_is_exactly_what_can_be_loaded() -> None:
    assert set(homeward.__all__) == {*homeward._MODULE_OF, "__version__"}


def test_all_is_sorted_and_lists_nothing_twice() -> None:
    assert list(homeward.__all__) == sorted(set(homeward.__all__))


def test_no_name_has_two_homes() -> None:
    assert len(homeward._MODULE_OF) == sum(len(names) for names in homeward._HOME.values())


def test_type_checkers_see_the_same_names_from_the_same_modules() -> None:
    assert names_for_type_checkers() == {m: set(names) for m, names in homeward._HOME.items()}


def test_dir_lists_the_public_names() -> None:
    assert set(dir(homeward)) == set(homeward.__all__)


def test_an_unknown_name_is_an_attribute_error_that_says_which() -> None:
    with pytest.raises(AttributeError, match="'homeward' has no attribute 'teleport'"):
        homeward.teleport  # noqa: B018


def test_an_unknown_name_can_not_be_imported() -> None:
    with pytest.raises(ImportError, match="teleport"):
        from homeward import teleport  # noqa: F401


def test_every_exception_is_public() -> None:
    raised = {
        name
        for name, value in vars(importlib.import_module("homeward.errors")).items()
        if inspect.isclass(value) and issubclass(value, homeward.HomewardError)
    }
    assert raised <= set(homeward.__all__)


def test_every_exception_is_in_one_tree() -> None:
    for name in homeward._HOME["errors"]:
        assert issubclass(getattr(homeward, name), homeward.HomewardError)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [("InvalidInputError", ValueError), ("MissingExtraError", ImportError)],
)
def test_a_builtin_handler_catches_it_too(error: str, builtin: type[Exception]) -> None:
    assert issubclass(getattr(homeward, error), builtin)


def loaded_after(statement: str) -> set[str]:
    """Run a statement in a fresh interpreter; give the top-level modules that it loaded."""
    script = f"{statement}\nimport sys\nprint(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_homeward_alone_loads_nothing_heavy() -> None:
    assert not loaded_after("import homeward") & {"numpy", "numba", "scipy", "matplotlib"}


def test_a_name_is_loaded_when_it_is_used() -> None:
    assert {"numpy", "scipy"} <= loaded_after("import homeward; homeward.Moves")


@pytest.mark.parametrize("part", ["beliefs", "worlds"])
def test_a_part_that_loads_late_has_all_the_names_that_it_lists(part: str) -> None:
    module = importlib.import_module(f"homeward.{part}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"'homeward.{part}' has no attribute 'teleport'"):
        module.teleport  # noqa: B018


@pytest.mark.parametrize("part", ["beliefs", "worlds", "bonuses"])
def test_what_needs_no_compiler_or_environment_loads_none(part: str) -> None:
    assert not loaded_after(f"import homeward.{part}") & {"numba", "gymnasium", "matplotlib"}


def test_an_exception_can_be_had_without_anything_heavy() -> None:
    loaded = loaded_after("from homeward import HomewardError, InfeasibleError")
    assert not loaded & {"numpy", "numba", "scipy", "matplotlib"}
