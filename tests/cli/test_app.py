"""The command line as a stranger meets it."""

import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from homeward.cli import main
from homeward.cli.app import app


def homeward(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from homeward.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_without_arguments_it_teaches() -> None:
    result = homeward()
    assert "demo" in result.stdout
    assert "Exit codes" in result.stdout


def test_it_knows_its_version() -> None:
    assert homeward("--version").stdout.startswith("homeward 0.")


def test_a_program_that_calls_it_keeps_its_handler_of_ctrl_c(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(sys, "argv", ["homeward", "--version"])
        with pytest.raises(SystemExit):
            main()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().out.startswith("homeward 0.")


def test_a_mistake_leaves_the_process_with_one_line_and_exit_code_two() -> None:
    result = homeward("demo", "--out", "x.gif")
    assert result.returncode == 2
    assert result.stderr.startswith("homeward: x.gif: ")
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        (("demo", "--delta", "1.5", "--out", "x.png"), "delta is 1.5"),
        (("demo", "--out", "no/such/folder/x.png"), "no/such/folder/x.png"),
        (("demo", "--out", "x.gif"), ".png"),
        (("paper", "sat", "no-such-file.cnf"), "no-such-file.cnf"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_two(
    arguments: tuple[str, ...],
    culprit: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["homeward", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    said = capsys.readouterr().err
    assert exit_.value.code == 2
    assert culprit in said
    assert len(said.strip().splitlines()) == 1


COMMANDS = (
    *("explore", "demo", "certify", "serve", "run", "run grid", "run rover", "run toytext"),
    *("runs list", "runs show", "runs resume", "runs draw", "runs export"),
    *("study run", "study table", "paper coverage", "paper counterexamples", "paper criteria"),
    *("paper examples", "paper levels", "paper mars", "paper sat", "paper timing"),
    *("paper safemdp", "paper toytext"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_by_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert f"homeward {command}" in " ".join(result.stdout.split())
    assert "Example" in result.stdout
