"""``homeward serve``: serve the web page that shows, explains and starts runs."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.parse import quote

import typer

from homeward.cli.interrupts import STOPPED
from homeward.cli.options import RunsFolder
from homeward.cli.show import say

PORT = 8765
TOKEN = re.compile(r"[!-~]{8,}")  # ASCII characters that are visible


def serve(
    directory: RunsFolder = Path("runs"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port; if it is in use, the next free one.")
    ] = PORT,
    host: Annotated[
        str, typer.Option(help="Host to listen on; 0.0.0.0 lets other machines in.")
    ] = "127.0.0.1",
    token: Annotated[
        str | None,
        typer.Option(
            help="Access token, part of the printed address.",
            show_default="random, kept in the folder",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of simultaneous runs.", show_default="cores - 1"),
    ] = None,
    open_page: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open", help="Open the page in a browser.", show_default="on a terminal"
        ),
    ] = None,
) -> None:
    """Serve a web page that shows and starts runs, until Ctrl-C.

    If the folder has no run, the server creates two small examples: a safe and an unsafe explorer
    in the same world. If the server stops during a run, its next start continues the run.

    Example: homeward serve runs --port 8080
    """
    from homeward.web.serving import bind, claimed, kept_token, make_demo, need_web
    from homeward.web.serving import serve as serve_page

    need_web()
    from homeward.compiling import announce
    from homeward.errors import InvalidInputError
    from homeward.web.pool import prepare

    if token is not None and (not TOKEN.fullmatch(token) or set(token) & set(';,"\\')):
        raise InvalidInputError(
            "a token needs 8 or more ASCII characters, without spaces, commas, semicolons, quotes "
            "or backslashes"
        )
    announce()
    prepare()
    listener = bind(host, port)
    used_port = listener.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
    name = f"[{name}]" if ":" in name and not name.startswith("[") else name

    def before_demo() -> None:
        say(f"There are no runs in {directory}: creating two examples.")
        sys.stdout.flush()

    def started() -> None:
        if port and used_port != port:
            say(f"Port {port} is in use, so this is port {used_port}.")
        address = f"http://{name}:{used_port}/?token={quote(page_token, safe='')}"
        say(f"Homeward serves {directory} at {address}")
        say("Stop it with Ctrl-C.")
        sys.stdout.flush()
        if sys.stdout.isatty() if open_page is None else open_page:
            import webbrowser

            webbrowser.open(address)

    max_runs = max(2, (os.cpu_count() or 2) - 1) if workers is None else workers
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        with claimed(directory), listener:
            page_token = kept_token(directory) if token is None else token
            make_demo(directory, before_demo)
            serve_page(directory, listener, host, page_token, max_runs, started)
    except KeyboardInterrupt:
        raise typer.Exit(STOPPED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: object) -> NoReturn:
    """Exit on signal `number`, with the same cleanup as after Ctrl-C."""
    sys.exit(128 + number)
