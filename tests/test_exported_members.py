from __future__ import annotations

import importlib
import inspect
import subprocess
import sys

import pytest
from tests.surface import MODULE_OF, STUB

import homeward


@pytest.mark.parametrize("name", homeward.__all__)
def test_every_name_in_all_can_be_imported(name: str) -> None:
    assert getattr(homeward, name) is not None


@pytest.mark.parametrize("name", sorted(MODULE_OF))
def test_every_name_is_the_one_of_its_home_module(name: str) -> None:
    home = importlib.import_module(f"homeward.{MODULE_OF[name]}")
    assert getattr(homeward, name) is getattr(home, name)


def test_all_is_exactly_what_the_stub_lists() -> None:
    assert set(homeward.__all__) == {*MODULE_OF}


def test_no_name_is_listed_twice() -> None:
    imports = [line for line in STUB.read_text().splitlines() if line.startswith("from")]
    assert len(imports) == len(MODULE_OF)


def test_dir_lists_the_public_names() -> None:
    assert set(dir(homeward)) == set(homeward.__all__)


def test_an_unknown_name_is_an_attribute_error_that_says_which() -> None:
    with pytest.raises(AttributeError, match="No homeward attribute teleport"):
        homeward.teleport  # type: ignore[attr-defined]  # noqa: B018


def test_an_unknown_name_can_not_be_imported() -> None:
    with pytest.raises(ImportError, match="teleport"):
        from homeward import teleport  # type: ignore[attr-defined]  # noqa: F401


def test_a_newcomer_can_read_all_names() -> None:
    assert len(homeward.__all__) <= 45


def test_every_exception_is_in_one_tree() -> None:
    for value in vars(importlib.import_module("homeward.errors")).values():
        if inspect.isclass(value) and issubclass(value, Exception):
            assert issubclass(value, homeward.HomewardError)


@pytest.mark.parametrize(
    ("error", "builtin"),
    [("InvalidInputError", ValueError), ("InvalidBeliefError", ValueError)],
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


@pytest.mark.parametrize("part", ["beliefs", "terrain"])
def test_a_part_that_loads_late_has_all_the_names_that_it_lists(part: str) -> None:
    module = importlib.import_module(f"homeward.{part}")
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"No homeward.{part} attribute teleport"):
        module.teleport  # noqa: B018


@pytest.mark.parametrize("part", ["beliefs", "worlds", "bonuses"])
def test_what_needs_no_compiler_or_environment_loads_none(part: str) -> None:
    assert not loaded_after(f"import homeward.{part}") & {"numba", "gymnasium", "matplotlib"}


def test_an_exception_can_be_had_without_anything_heavy() -> None:
    loaded = loaded_after("from homeward import HomewardError, InfeasibleError")
    assert not loaded & {"numpy", "numba", "scipy", "matplotlib"}
