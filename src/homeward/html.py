"""HTML for notebooks: small, self-contained, and readable on a light and on a dark page.

Colours and fonts are those of the notebook. Only lines are drawn, in a grey that is visible on both
pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

LINE = "1px solid rgba(127,127,127,.4)"
CELL = f"padding:.2em .7em;text-align:left;background:none;border:0;border-top:{LINE}"


def card(
    title: str,
    sentences: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    marked: int | None = None,
) -> str:
    """Return the HTML of a frame with a title, sentences and a table; all texts are escaped.

    The first of the `rows` has the titles of the columns. `marked` is the index of the row below
    them that is bold.
    """
    parts = [f'<div style="font-weight:bold">{escape(title)}</div>']
    parts += [f"<div>{escape(sentence)}</div>" for sentence in sentences]
    if rows:
        lines = [_row(rows[0], "th", "normal")]
        for number, row in enumerate(rows[1:]):
            lines.append(_row(row, "td", "bold" if number == marked else "normal"))
        table = "border-collapse:collapse;margin:.5em 0 0;color:inherit"
        parts.append(f'<table style="{table}">{"".join(lines)}</table>')
    frame = f"border:{LINE};border-radius:6px;padding:.6em .9em;max-width:60em;overflow-x:auto"
    return f'<div style="{frame}">{"".join(parts)}</div>'


def _row(cells: Sequence[str], tag: str, weight: str) -> str:
    """Return the HTML of one row of a table, with cells of the given tag and font weight."""
    style = f"{CELL};font-weight:{weight}"
    if tag == "th":
        style += ";opacity:.7"
    made = "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell in cells)
    return f'<tr style="background:none">{made}</tr>'
