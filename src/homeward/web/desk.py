"""What a viewing process does: it keeps a few viewers and answers one request after another.

While nobody asks, it learns on in the run that was looked at last, so that any of its steps is near
when it is asked for.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from homeward.errors import HomewardError, InvalidFileError, MissingExtraError
from homeward.web.refusals import Refusal, RefusalError, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from homeward.web.viewer import Viewer

VIEWERS = 3
SLICE = 0.01
"""Seconds that it learns on before it looks whether somebody asks."""

PATIENCE = 120.0
"""Seconds after the last request for which it learns on."""

logger = logging.getLogger("homeward")


class Desk:
    """Answers requests, each a name and its arguments."""

    def __init__(self, root: Path, others: Callable[[], bool] = lambda: False) -> None:
        self.root, self.others = root, others  # whether somebody else asks
        self.viewers: OrderedDict[str, Viewer] = OrderedDict()
        self.asked = 0.0

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Give the answer; a `HomewardError` says why there is none."""
        task: Callable[..., Any] = getattr(self, f"do_{name}")
        return task(*arguments)

    def work(self) -> bool:
        """Learn on for a moment; tell whether there is more."""
        if not self.viewers or time.monotonic() - self.asked > PATIENCE:
            return False
        viewer = next(reversed(self.viewers.values()))
        if not viewer.behind:
            return False
        try:
            viewer.advance(SLICE)
        except HomewardError:
            return False  # whoever asks is told
        return viewer.behind

    def viewer(self, run: str) -> Viewer:
        """Give the viewer of a run, which has read on."""
        from homeward.web.viewer import Viewer

        self.asked = time.monotonic()
        known = self.viewers.pop(run, None)
        if known is None or not known.refresh():
            known = Viewer(self.root / run)
        self.viewers[run] = known
        while len(self.viewers) > VIEWERS:
            self.viewers.popitem(last=False)
        return known

    def do_ready(self) -> None:
        """Import and load what is needed for the first answer."""
        import homeward.kinds.rover.kind
        import homeward.web.viewer  # noqa: F401
        from homeward.kinds.grid.config import GridConfig
        from homeward.kinds.grid.kind import make
        from homeward.runs.config import checked

        make(checked(GridConfig, {"size": 3}, "ready"))

    def do_details(self, run: str) -> dict[str, Any]:
        """Give what is to be known of a run beyond its summary."""
        return self.viewer(run).details()

    def do_records(self, run: str, after: int, to: int | None) -> bytes:
        """Give a frame of records."""
        return self.viewer(run).records(after, to)

    def do_fields(self, run: str, step: int, layers: tuple[str, ...]) -> bytes:
        """Give a frame of maps."""
        return self.viewer(run).fields(step, layers)

    def do_why(self, run: str, step: int) -> dict[str, Any]:
        """Give a plan."""
        viewer = self.viewer(run)
        viewer.others = self.others
        return viewer.why(step)

    def do_way(self, run: str, step: int, cell: int) -> dict[str, Any]:
        """Give a way home."""
        return self.viewer(run).way(step, cell)

    def do_forget(self, run: str) -> None:
        """Let go of a run that was removed."""
        self.viewers.pop(run, None)

    def do_make(self, run: str, kind: str, config: dict[str, Any]) -> None:
        """Make a run with no steps."""
        from homeward.runs import Run
        from homeward.web.making import settled

        target = self.root / run
        if target.exists():
            raise RefusalError(Refusal.CONFLICT, f"there is a run named {run} already")
        complete = settled(kind, config, self.root)
        try:
            Run.create(target, kind, complete)
        except InvalidFileError as cause:
            code = Refusal.CONFLICT if target.exists() else Refusal.UNUSABLE
            raise RefusalError(code, told(cause, self.root)) from cause

    def do_preview(self, config: dict[str, Any]) -> bytes:
        """Give a frame of the mean heights of a configuration's cells."""
        from homeward.web.making import preview_of

        return preview_of(config, self.root)

    def do_kinds(self) -> dict[str, Any]:
        """Give the schema of each kind's configuration."""
        from homeward.web.making import schemas

        return schemas()

    def do_examples(self) -> dict[str, Any]:
        """Give the example worlds and the counterexamples."""
        from homeward.web.examples import examples

        return examples()


def serve(connection: Connection, root: Path) -> None:
    """Answer what comes over a connection, until it is closed."""
    import multiprocessing
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's to handle
    # Numba then needs no semaphore, which would be left behind where this process is killed.
    multiprocessing.set_start_method("spawn", force=True)
    desk = Desk(root, connection.poll)
    while True:
        try:
            while not connection.poll(0.0 if desk.work() else None):
                pass
            name, arguments = connection.recv()
        except (EOFError, OSError):
            return
        if name == "stop":  # what was to be stopped has ended
            continue
        try:
            answer: tuple[str, Any] = "done", desk.answer(name, arguments)
        except Exception as error:
            answer = "refused", refusal_of(error, root)
        try:
            connection.send(answer)
        except OSError:
            return


def refusal_of(error: Exception, root: Path) -> tuple[Refusal, str]:
    """Return the code and the sentence for an exception; what was not meant is logged."""
    if isinstance(error, RefusalError):
        return error.code, told(error, root)
    if isinstance(error, InvalidFileError):
        return Refusal.CONFLICT, told(error, root)
    if isinstance(error, MissingExtraError):
        return Refusal.UNUSABLE, told(error, root)
    if isinstance(error, HomewardError):
        return Refusal.INVALID, told(error, root)
    if isinstance(error, MemoryError):
        return Refusal.NO_MEMORY, "there is not enough memory for that"
    logger.error("%s: %s", type(error).__name__, told(error, root))
    return Refusal.FAILED, "something went wrong here; the server's log says what"
