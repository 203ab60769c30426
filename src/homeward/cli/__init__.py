"""The `homeward` command."""

# `_signal` is the fast C part of `signal`; importing `signal` creates enumerations first.
import _signal as signal  # type: ignore[import-not-found]


def main() -> None:
    """Run the `homeward` command.

    Before `cli.interrupts` installs its handler, nothing is written, and Ctrl-C ends the process
    without a traceback. To make this time short, this module and `homeward` import little.
    """
    raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if raises:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from homeward.cli.command import run

        run()
    finally:
        if raises:  # restore the handler for a program that calls `main`
            signal.signal(signal.SIGINT, signal.default_int_handler)
