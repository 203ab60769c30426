"""What the README shows is what a reader gets."""

import contextlib
import io
import re
import tomllib
from pathlib import Path

from tests.test_extras import without

from homeward.extras import EXTRAS

README = (Path(__file__).parents[1] / "README.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_the_example_has_at_most_twenty_lines_and_prints_what_is_shown() -> None:
    source = block("python")
    assert len(source.strip().splitlines()) <= 20
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "README", "exec"), {})
    assert printed.getvalue() == block("text")


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text()
    for line in block("sh").strip().splitlines():
        target = line.split("#")[0].split()[1]
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_what_it_links_to_is_there() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        is_here = (Path(__file__).parents[1] / target).exists()
        assert is_here or target.startswith("https://"), target


def test_the_example_needs_no_extra() -> None:
    told = without((*EXTRAS, "PIL"), block("python"))
    assert (told.returncode, told.stdout, told.stderr) == (0, block("text"), "")


def test_the_table_lists_every_extra() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    (table,) = re.findall(r"\| extra \| adds \|\n\|---\|---\|\n((?:\|.*\n)*)", README)
    listed = [
        name for row in table.splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[1])
    ]
    assert sorted(listed) == sorted(project["optional-dependencies"])
