"""A worker process of the server: it answers requests about runs one by one, from cached replays.

While idle, it computes the beliefs of the last run, so that it answers later requests quickly.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.errors import HomewardError, InvalidFileError, MissingExtraError
from homeward.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.replay.scene import actions_of
from homeward.runs import Run
from homeward.runs.kind import find_kind, kind_names
from homeward.runs.log import read_times
from homeward.runs.run import TIMES
from homeward.web import forms
from homeward.web.catalogue import ONLY_EARLIER_STEPS
from homeward.web.examples import examples
from homeward.web.frames import pack
from homeward.web.refusals import Refusal, RefusalError, told

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

MAX_REPLAYS = 3
LEARNING_SECONDS = 0.01  # seconds of computing beliefs between two polls for requests
IDLE_SECONDS = 120.0  # seconds after the last request during which beliefs are computed
WAIT_SECONDS = 0.25  # maximum seconds that an answer waits for the optional column `known`
NO_MAP: dict[str, Any] = {
    **dict.fromkeys(("home", "start", "shape", "cell")),
    **{name: [] for name in ("layers", "criteria", "actions")},
}
"""Details of a run without maps."""

logger = logging.getLogger("homeward")


class ViewingService:
    """Answers requests; request NAME is answered by the method ``do_NAME``."""

    def __init__(self, root: Path, interrupted: Callable[[], bool] = lambda: False) -> None:
        self.root, self.interrupted = root, interrupted  # returns whether another request waits
        self.replays: OrderedDict[str, Replay] = OrderedDict()
        self.asked = 0.0

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to a request; raise `HomewardError` to refuse it."""
        return getattr(self, f"do_{name}")(*arguments)

    def work(self) -> bool:
        """Compute beliefs of the last run for `LEARNING_SECONDS`; return whether steps are left."""
        if not self.replays or time.monotonic() - self.asked > IDLE_SECONDS:
            return False
        replay = next(reversed(self.replays.values()))
        try:
            return is_behind(replay) and not replay.history.advance(
                len(replay.log), LEARNING_SECONDS
            )
        except HomewardError:
            return False  # the next request will report the error

    def replay(self, run: str) -> Replay:
        """Return the replay of a run, with its newest steps."""
        self.asked = time.monotonic()
        known = self.replays.pop(run, None)
        if known is None or not known.refresh():
            known = Replay(self.root / run)
        known.interrupted = self.interrupted
        self.replays[run] = known
        while len(self.replays) > MAX_REPLAYS:
            self.replays.popitem(last=False)
        return known

    def mapped(self, run: str) -> Replay:
        """Return the replay of a run; raise if its kind is not installed or has no maps."""
        replay = self.replay(run)
        if not has_map(replay):
            raise Refusal.NOT_FOUND("this kind of run has no map")
        return replay

    def do_ready(self) -> None:
        """Import the modules of all kinds before the first request."""
        for name in kind_names():
            find_kind(name)

    def do_details(self, run: str) -> dict[str, Any]:
        """Return the details of a run that its summary does not have.

        If the log is damaged, also return status, number of valid steps and error.
        """
        replay = self.replay(run)
        found: dict[str, Any] = {}
        if replay.log.damage is not None:
            said = f"{replay.log.path.name}: {replay.log.damage}; {ONLY_EARLIER_STEPS}"
            found = {"status": "damaged", "steps": len(replay.log), "error": said}
            found |= {"end": None, "why": None}
        if not has_map(replay):
            return {**NO_MAP, **found}
        setup, scene, limit = replay.setup, replay.scene, replay.run.manifest.limit
        homes = [getattr(criterion, "home", None) for criterion in setup.planner.criteria]
        home: Any = next((each for each in homes if each is not None), None)
        return {
            **found,
            "limit": setup.limit if limit is None else limit,
            "home": home if home is None or isinstance(home, str) else np.atleast_1d(home).tolist(),
            "start": replay.history.start,
            "shape": list(scene.shape),
            "cell": None if scene.cell is None else list(scene.cell),
            "layers": scene.layers,
            "criteria": [criterion_facts(c) for c in setup.planner.criteria],
            "actions": actions_of(setup),
        }

    def do_records(self, run: str, after: int, to: int | None) -> bytes:
        """Return the frame of the steps ``after < step <= to``."""
        replay = self.replay(run)
        total = len(replay.log)
        last = total if to is None else min(to, total)
        first = min(after, last)
        columns = replay.log.columns(first, last)
        columns["plan_ms"] = read_times(replay.run.directory / TIMES, first, last)
        # Kinds without digests have small worlds, which are set up quickly.
        if has_map(replay) and (replay.is_set_up or not replay.kind.digests):
            try:
                if replay.history.advance(last, WAIT_SECONDS):
                    known = replay.history.known[first + 1 : last + 1]
                    columns["known"] = np.array(known, np.float64)
            except InvalidFileError:
                pass  # a request for a map will report the error
        return pack(columns, step=last, total=total)

    def do_fields(self, run: str, step: int, layers: tuple[str, ...]) -> bytes:
        """Return the frame of map layers after a number of steps."""
        replay = self.mapped(run)
        return pack(replay.layers(step, layers), step=step, total=len(replay.log))

    def do_why(self, run: str, step: int) -> dict[str, Any]:
        """Return the plan after a step and its reasons, as JSON values."""
        return self.mapped(run).why(step)

    def do_way(self, run: str, step: int, cell: int) -> dict[str, Any]:
        """Return the path home from a cell, given the belief after a step, as JSON values."""
        return self.mapped(run).way(step, cell)

    def do_forget(self, run: str) -> None:
        """Remove a deleted run from the cache."""
        self.replays.pop(run, None)

    def do_make(self, run: str, kind: str, config: dict[str, Any]) -> None:
        """Create a run without steps."""
        target = self.root / run
        if target.exists():
            raise Refusal.CONFLICT(f"a run named {run} already exists")
        complete = forms.completed(kind, config, self.root)
        try:
            Run.create(target, kind, complete)
        except InvalidFileError as cause:
            code = Refusal.CONFLICT if target.exists() else Refusal.UNUSABLE
            raise RefusalError(code, told(cause, self.root)) from cause

    def do_preview(self, config: dict[str, Any]) -> bytes:
        """Return the frame with the preview of a configuration."""
        return forms.preview(config, self.root)

    do_kinds = staticmethod(forms.schemas)
    do_examples = staticmethod(examples)


def has_map(replay: Replay) -> bool:
    """Return whether a run is of an installed kind that has maps."""
    return replay.run.kind in kind_names() and replay.kind.scene is not None


def is_behind(replay: Replay) -> bool:
    """Return whether the beliefs of some recorded steps are not computed yet."""
    return replay.is_set_up and replay.history.reached < len(replay.log)


def criterion_facts(criterion: Any) -> dict[str, Any]:
    """Return a criterion as JSON values."""
    level = getattr(criterion, "delta", None)
    if hasattr(criterion, "home"):
        home = criterion.home
        place = {"current": "the current state", "start": "the start"}
        where = place.get(home, home) if isinstance(home, str) else "one of the bases"
        limit = f" within {criterion.steps} steps" if hasattr(criterion, "steps") else ""
        return {"name": f"return to {where}{limit}", "kind": "return", "level": level}
    if hasattr(criterion, "allowed"):
        return {"name": "stay inside the set", "kind": "stay", "level": level}
    earned = getattr(criterion, "total", level)
    return {"name": type(criterion).__name__, "kind": "earn", "level": earned}


def serve(connection: Connection, root: Path) -> None:
    """Answer requests over a connection until it is closed."""
    import multiprocessing
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C
    # With "spawn" Numba needs no semaphore, which would leak if this process is killed.
    multiprocessing.set_start_method("spawn", force=True)
    service = ViewingService(root, connection.poll)
    while True:
        try:
            while not connection.poll(0.0 if service.work() else None):
                pass
            name, arguments = connection.recv()
        except (EOFError, OSError):
            return
        if name == "stop":  # the interrupted request has already ended
            continue
        try:
            answer: tuple[str, Any] = "done", service.answer(name, arguments)
        except Exception as error:
            answer = "refused", refusal_of(error, root)
        try:
            connection.send(answer)
        except OSError:
            return


CODES: tuple[tuple[type[Exception], Refusal], ...] = (
    (NotRecordedError, Refusal.NOT_FOUND),
    (InterruptedReplayError, Refusal.ASK_AGAIN),
    (InvalidFileError, Refusal.CONFLICT),
    (MissingExtraError, Refusal.UNUSABLE),
    (HomewardError, Refusal.INVALID),
)
"""Codes by type of exception; the first match counts."""


def refusal_of(error: Exception, root: Path) -> tuple[Refusal, str]:
    """Return code and sentence for an exception; log it if it is unexpected."""
    for kind, code in CODES:
        if isinstance(error, kind):
            return getattr(error, "code", code), told(error, root)
    if isinstance(error, MemoryError):
        return Refusal.NO_MEMORY, "not enough memory for this request"
    logger.error("%s: %s", type(error).__name__, told(error, root))
    return Refusal.FAILED, "internal error; see the server's log"
