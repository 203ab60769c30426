"""Runs as one HTML file that plays without a server, and as a widget of a notebook.

The file contains the script, the styles and the recorded runs. Its content security policy allows
only inline content, so the file fetches nothing.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from homeward.errors import InvalidInputError, MissingExtraError
from homeward.files import replace_file
from homeward.replay import Replay
from homeward.replay.playback import playback_of

STATIC = Path(__file__).parent / "static"
MAX_RUNS = 6  # maximum number of runs in one file
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Homeward</title>
<style>{style}</style>
</head>
<body>
<div id="player"></div>
<script id="playbacks" type="application/json">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def html_of(*directories: Path | str, level: float | None = None) -> str:
    """Return recorded runs as an HTML document that plays them side by side.

    Parameters
    ----------
    directories
        Folders of one to six runs of kinds with maps.
    level
        The region of cells whose proven way home has at least this probability is drawn. By
        default it is the level of each run; a run without a level uses that of the first run that
        has one.
    """
    if not 1 <= len(directories) <= MAX_RUNS:
        raise InvalidInputError(f"expected 1 to {MAX_RUNS} runs, got {len(directories)}")
    script, style = (_part(name) for name in ("player.js", "player.css"))
    runs = [playback_of(Replay(directory), level) for directory in directories]
    shared = next((run["delta"] for run in runs if run["delta"] is not None), None)
    if level is None and shared is not None:
        runs = [
            playback_of(Replay(directory), shared) if run["delta"] is None else run
            for directory, run in zip(directories, runs, strict=True)
        ]
    data = json.dumps(runs, allow_nan=False).replace("<", "\\u003c")
    title = " and ".join(str(run["id"]) for run in runs)
    return HTML.format(
        policy=POLICY,
        title=escape(title),
        style=style.replace("</", "<\\/"),
        data=data,
        script=script.replace("</script", "<\\/script"),
    )


def write_html(out: Path, *directories: Path | str, level: float | None = None) -> None:
    """Write recorded runs as an HTML file that plays them, completely or not at all."""
    replace_file(out, html_of(*directories, level=level).encode())


class Player:
    """Recorded runs that a notebook shows and plays.

    ``Player("runs/first")`` as the last line of a cell plays the run below it; several folders are
    played side by side.
    """

    def __init__(
        self, *directories: Path | str, level: float | None = None, height: int = 620
    ) -> None:
        self.document = html_of(*directories, level=level)
        self.height = height

    def _repr_html_(self) -> str:
        """Return a frame that holds the document; its scripts can't reach the notebook."""
        return (
            f'<iframe srcdoc="{escape(self.document)}" sandbox="allow-scripts" '
            f'style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def _part(name: str) -> str:
    """Return the text of a part of the player; raise if the page is not built."""
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except OSError as cause:
        raise MissingExtraError(
            "the player is not built: install Homeward again without HOMEWARD_WITHOUT_PAGE"
        ) from cause
