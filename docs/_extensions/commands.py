"""The directive ``commands``: every command and option, read from the command line itself."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


def walk(command: Any, context: Any, name: str) -> Any:
    """Yield the full name and the click command of every command, groups before their members."""
    yield name, command, context
    if hasattr(command, "list_commands"):
        for child_name in command.list_commands(context):
            _, child, _ = command.resolve_command(context, [child_name])
            full = f"{name} {child_name}"
            yield from walk(child, type(context)(child, info_name=full), full)


def plain(text: str) -> str:
    """Return the text of a help entry without the markup of the terminal."""
    return re.sub(r"\[/?(?:bold|dim|italic|cyan|green|red|yellow)[^\]]*\]", "", text)


def inline(text: str) -> nodes.paragraph:
    """Return a paragraph in which options are set like code."""
    made = nodes.paragraph()
    for part in re.split(r"(--[a-z][\w-]*)", plain(text)):
        made += nodes.literal(part, part) if part.startswith("--") else nodes.Text(part)
    return made


def paragraphs(text: str) -> list[nodes.Node]:
    """Return a help text as paragraphs; a line that starts with "Example:" becomes a block."""
    made: list[nodes.Node] = []
    for part in re.split(r"\n\s*\n", plain(text).replace("\b", "").strip()):
        said = " ".join(part.split())
        lead, found, example = said.partition("Example: ")
        if said.startswith(("homeward ", "Examples: ")):  # one of several examples
            lead, found, example = "", "Example: ", said.removeprefix("Examples: ")
        if lead:
            made.append(inline(lead.strip()))
        if found:
            made.append(nodes.literal_block(f"$ {example}", f"$ {example}", language="console"))
    return made


def entry(name: str, said: str) -> nodes.definition_list_item:
    """Return one option or argument, from its line in the help."""
    said = re.sub(r"\s*\[default: \(?(.*?)\)?\]$", r" Default: \1.", said)
    said = re.sub(r"\s*\[required\]$", " Required.", said)
    term = nodes.term("", "", nodes.literal(name, name))
    return nodes.definition_list_item("", term, nodes.definition("", inline(said)))


class Commands(Directive):
    """A section for each command, with its help, arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        from typer.main import get_command

        from homeward.cli.app import app

        root = get_command(app)
        context = root.context_class(root, info_name="homeward")
        made: list[nodes.Node] = []
        for name, command, inner in walk(root, context, "homeward"):
            made.append(self.section(name, command, inner))
        return made

    def section(self, name: str, command: Any, context: Any) -> nodes.section:
        """Return the section of one command."""
        section = nodes.section(ids=[nodes.make_id(name)], names=[name])
        section += nodes.title("", "", nodes.literal(name, name))
        section += paragraphs(command.help or "")
        asked = [p for p in command.get_params(context) if "--help" not in p.opts]
        records = [record for p in asked if (record := p.get_help_record(context))]
        if records:
            section += nodes.definition_list("", *(entry(*record) for record in records))
        if not hasattr(command, "list_commands"):
            usage = " ".join([name, *command.collect_usage_pieces(context)])
            section.insert(1, nodes.literal_block(usage, usage, language="text"))
        self.state.document.note_implicit_target(section, section)
        return section


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
