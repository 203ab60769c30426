"""``homeward serve``: the web page that shows, explains and starts runs."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Annotated, NoReturn
from urllib.parse import quote

import typer

from homeward.cli.interrupts import STOPPED
from homeward.cli.show import say

PORT = 8765


def serve(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with the runs.")] = Path(
        "runs"
    ),
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
    in the same world. If the server stops during a run, the run continues at its next start.

    Example: homeward serve runs --port 8080
    """
    from homeward.web.serving import bind, claimed, kept_token, make_demo, need_web
    from homeward.web.serving import serve as serve_page

    need_web()
    from homeward.compiling import announce
    from homeward.errors import InvalidInputError
    from homeward.web.pool import prepare

    if token is not None and (
        len(token) < 8
        or not token.isascii()
        or not token.isprintable()
        or any(c in token for c in ' ;,"\\')
    ):
        raise InvalidInputError(
            "a token needs 8 or more ASCII characters, without spaces, commas, semicolons, quotes "
            "or backslashes"
        )
    announce()
    prepare()
    listener = bind(host, port)
    taken = listener.getsockname()[1]
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else "[::1]" if host == "::" else host
    shown = f"[{shown}]" if ":" in shown and not shown.startswith("[") else shown

    def begins() -> None:
        say(f"There are no runs in {directory}: creating two examples.")
        sys.stdout.flush()

    def started() -> None:
        if port and taken != port:
            say(f"Port {port} is in use, so this is port {taken}.")
        address = f"http://{shown}:{taken}/?token={quote(given, safe='')}"
        say(f"Homeward serves {directory} at {address}")
        say("Stop it with Ctrl-C.")
        sys.stdout.flush()
        if sys.stdout.isatty() if open_page is None else open_page:
            import webbrowser

            webbrowser.open(address)

    most = max(2, (os.cpu_count() or 2) - 1) if workers is None else workers
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        with claimed(directory), listener:
            given = kept_token(directory) if token is None else token
            make_demo(directory, begins)
            serve_page(directory, listener, host, given, most, started)
    except KeyboardInterrupt:
        raise typer.Exit(STOPPED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: object) -> NoReturn:
    """Exit on a signal, with the same cleanup as after Ctrl-C."""
    sys.exit(128 + number)
