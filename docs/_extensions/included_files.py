"""Files of the repository's root as pages: their links are pointed at the pages of the site."""

from __future__ import annotations

import re
from typing import Any

PAGES = {
    "ARCHITECTURE.md": "about/architecture.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
}
"""The page that includes each file, relative to the folder of the site."""


def point_links(app: Any, path: Any, parent: str, content: list[str]) -> None:
    """Rewrite the links of an included file as paths from the folder of the site."""

    def rewritten(link: re.Match[str]) -> str:
        target = link[1].removeprefix("docs/")
        return f"](/{PAGES.get(target, target)}{link[2] or ''})"

    content[0] = re.sub(r"\]\(([\w./-]+\.(?:md|png))(#[\w-]+)?\)", rewritten, content[0])


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("include-read", point_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
