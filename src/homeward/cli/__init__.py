"""The `homeward` command."""

# The module `signal` makes enumerations of this one first, which takes a while.
import _signal as signal  # type: ignore[import-not-found]


def main() -> None:
    """Run the `homeward` command.

    Until the handler of Ctrl-C is installed, the signal ends the process silently: nothing was
    written yet. To make this time short, this module and `homeward` import as little as possible.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from homeward.cli.command import run

        run()
    finally:
        if raises:  # a program that calls `main` goes on
            signal.signal(signal.SIGINT, signal.default_int_handler)
