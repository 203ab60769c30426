"""``python -m lab`` as a developer meets it."""

import subprocess
import sys
from pathlib import Path

from lab.bench import commands as bench
from lab.check import commands as check

ROOT = Path(__file__).parents[2]


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lab", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_it_names_its_two_parts() -> None:
    result = lab("--help")
    assert "check" in result.stdout
    assert "bench" in result.stdout


def test_a_mistake_is_one_line_and_exit_code_two() -> None:
    result = lab("bench", "scale", "--largest", "5")
    assert result.returncode == 2
    assert result.stderr.startswith("lab: ")
    assert len(result.stderr.strip().splitlines()) == 1


def test_make_runs_every_check_and_every_bench_but_the_one_in_a_browser() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for part, app in (("check", check.app), ("bench", bench.app)):
        for command in app.registered_commands:
            assert command.callback is not None
            name = command.name or command.callback.__name__
            assert (f"-m lab {part} {name}" in makefile) == (name != "page"), name
