"""The command line as a stranger meets it."""

import subprocess
import sys

import pytest


def homeward(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from homeward.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_arguments_it_teaches() -> None:
    result = homeward()
    assert "demo" in result.stdout
    assert "Exit codes" in result.stdout


def test_it_knows_its_version() -> None:
    assert homeward("--version").stdout.startswith("homeward 0.")


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("demo", "--delta", "1.5", "--out", "x.png"), "delta is 1.5"),
        (("demo", "--out", "no/such/folder/x.png"), "no/such/folder/x.png"),
        (("demo", "--out", "x.gif"), ".png"),
        (("paper", "sat", "no-such-file.cnf"), "no-such-file.cnf"),
        (("check",), "python -m lab check"),
        (("check", "soundness", "--beliefs", "9"), "python -m lab check soundness --beliefs 9"),
        (("bench", "peers", "--help"), "python -m lab bench peers --help"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_two(
    arguments: tuple[str, ...], culprit: str
) -> None:
    result = homeward(*arguments)
    assert result.returncode == 2
    assert culprit in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr
