from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from homeward.extras import EXTRAS, missing

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def without(modules: tuple[str, ...], code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process in which some modules are not installed."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))\n"
    return subprocess.run([sys.executable, "-c", hidden + code], capture_output=True, text=True)


def test_the_core_plans_without_any_extra() -> None:
    code = """
import homeward as hw
world = hw.SparseMDP.from_names({"a": {"go": "b", "wait": "a"}, "b": {"back": "a", "wait": "b"}})
belief = hw.FiniteBelief([world]).update(hw.Visit(0))
print(hw.Planner(hw.RMax(), [hw.ReturnHome(0.9)]).plan(belief, 0).action)
"""
    told = without((*EXTRAS, "PIL"), code)
    assert (told.returncode, told.stdout, told.stderr) == (0, "0\n", "")


def test_the_command_line_names_its_extra() -> None:
    told = without(("typer",), "from homeward.cli import main; main()")
    said = "homeward: the command line needs typer: pip install 'homeward[commands]'\n"
    assert (told.returncode, told.stderr) == (2, said)


def test_a_name_that_needs_an_extra_says_which() -> None:
    told = without(("gymnasium",), "import homeward; homeward.Rover")
    said = "homeward.Rover needs gymnasium: pip install 'homeward[commands]'"
    assert told.stderr.endswith(f"MissingExtraError: {said}\n")


def test_other_missing_modules_stay_as_they_are() -> None:
    cause = ModuleNotFoundError(name="homeward.nowhere")
    assert missing(cause, "it") is cause


def test_every_optional_module_belongs_to_an_extra_of_the_project() -> None:
    extras = PROJECT["optional-dependencies"]
    assert {*EXTRAS.values()} <= {*extras}
    (everything,) = extras["all"]
    for extra in {*EXTRAS.values()}:
        assert extra in everything


@pytest.mark.parametrize("made", ["from_gymnasium(None)", "GymWorld(None, None)"])
def test_an_environment_names_its_extra(made: str) -> None:
    told = without(("gymnasium",), f"import homeward; homeward.{made}")
    said = "Gymnasium's environments need gymnasium: pip install 'homeward[commands]'"
    assert told.stderr.endswith(f"MissingExtraError: {said}\n")
