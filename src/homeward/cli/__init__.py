"""The `homeward` command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    from homeward.cli.app import app
    from homeward.errors import HomewardError
    from homeward.memory import keep_freed

    keep_freed()
    try:
        app()
    except HomewardError as error:
        sys.stderr.write(f"homeward: {error}\n")
        sys.exit(2)
