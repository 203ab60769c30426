"""A viewing process of the server: it answers requests about runs one by one, from cached replays.

While it is idle, it computes the beliefs of the last run, so that later responses are fast.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.errors import (
    HomewardError,
    InvalidFileError,
    InvalidInputError,
    MissingExtraError,
)
from homeward.missions import Mission, ReportError
from homeward.replay import InterruptedReplayError, NotRecordedError, Replay
from homeward.replay.events import events_of, refused_actions, trapped_at
from homeward.replay.playback import glance_of, playback_of
from homeward.replay.scene import actions_of
from homeward.runs import BusyError, Run
from homeward.runs.kind import find_kind, kind_names
from homeward.runs.log import read_times
from homeward.runs.run import TIMES
from homeward.web import forms
from homeward.web.catalogue import ONLY_EARLIER_STEPS
from homeward.web.downloads import (
    certificate_of,
    location_of,
    way_home_file,
    way_home_suffixes,
)
from homeward.web.examples import examples
from homeward.web.frames import differences, narrow, pack
from homeward.web.player import html_of
from homeward.web.refusals import Refusal, RefusalError, client_text

MAX_REPLAYS = 3  # in the cache
MAX_DRAWN_BYTES = 64 << 20  # of the layers in the cache
MAX_TRAP_CELLS = 500_000  # maximum number of cells of a map on which traps are computed
LEARNING_SECONDS = 0.01  # time of computing beliefs between two polls for requests
IDLE_SECONDS = 120.0  # time after the last request during which beliefs are computed
WAIT_SECONDS = 0.25  # maximum time that a response waits for the optional column `known`
VIEWS = ("why", "way", "ghosts")  # requests that are methods of a replay
NO_MAP: dict[str, Any] = {
    **dict.fromkeys(("home", "start", "shape", "cell", "transform", "crs")),
    **{name: [] for name in ("targets", "way_files", "layers", "criteria", "actions")},
}
"""Details of a run without maps."""

logger = logging.getLogger("homeward")


class ViewingService:
    """Answers requests: a name in `VIEWS` by a method of the replay, others by ``do_NAME``.

    `interrupted` returns whether another request waits.
    """

    def __init__(self, root: Path, interrupted: Callable[[], bool] = lambda: False) -> None:
        self.root, self.interrupted = root, interrupted
        self.replays: OrderedDict[str, Replay] = OrderedDict()
        self.drawn: OrderedDict[tuple[str, int], dict[str, NDArray[Any]]] = OrderedDict()
        self.missions: OrderedDict[str, Mission] = OrderedDict()
        self.last_request = 0.0  # time of `time.monotonic`

    def answer(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Return the answer to a request; raise `HomewardError` to refuse it."""
        if name in VIEWS:
            run, *given = arguments
            return getattr(self.mapped(run), name)(*given)
        return getattr(self, f"do_{name}")(*arguments)

    def work(self) -> bool:
        """Compute beliefs of the last run for `LEARNING_SECONDS`; return whether steps are left."""
        if not self.replays or time.monotonic() - self.last_request > IDLE_SECONDS:
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
        self.last_request = time.monotonic()
        known = self.replays.pop(run, None)
        if known is None or not known.refresh():
            self.do_forget(run)
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
        """Return the details that a summary lacks, and the error if the log is damaged."""
        replay = self.replay(run)
        facts: dict[str, Any] = {}
        if replay.log.damage is not None:
            error = f"{replay.log.path.name}: {replay.log.damage}; {ONLY_EARLIER_STEPS}"
            facts = {"status": "damaged", "steps": len(replay.log), "error": error}
            facts |= dict.fromkeys(("end", "why", "outcome", "trapped", "seen"))
        if not has_map(replay):
            return {**NO_MAP, **facts}
        located = location_of(replay.run)
        setup, scene, limit = replay.setup, replay.scene, replay.run.manifest.limit
        trapped = self.trapped(replay)
        if trapped is not None:
            facts |= {"outcome": "trapped", "trapped": trapped}
        homes = [getattr(criterion, "home", None) for criterion in setup.planner.criteria]
        home: Any = next((each for each in homes if each is not None), None)
        return {
            **facts,
            "limit": setup.limit if limit is None else limit,
            "home": home if home is None or isinstance(home, str) else np.atleast_1d(home).tolist(),
            "start": replay.history.start,
            "targets": scene.targets,
            "shape": list(scene.shape),
            "cell": None if scene.cell is None else list(scene.cell),
            "transform": None if located is None else list(located.transform),
            "crs": None if located is None else located.crs,
            "way_files": way_home_suffixes(replay.run),
            "layers": scene.layers,
            "criteria": [criterion_facts(c) for c in setup.planner.criteria],
            "actions": actions_of(setup),
        }

    def trapped(self, replay: Replay) -> int | None:
        """Return the number of steps after which no way home existed.

        Return None if a way home always existed, or if the map is large.
        """
        rows, columns = replay.scene.shape
        return trapped_at(replay) if rows * columns <= MAX_TRAP_CELLS else None

    def do_records(self, run: str, after: int, to: int | None) -> bytes:
        """Return a frame with the columns of the steps ``after < step <= to``."""
        replay = self.replay(run)
        total = len(replay.log)
        last = total if to is None else min(to, total)
        first = min(after, last)
        columns = replay.log.columns(first, last)
        facts: dict[str, Any] = {"known_at_start": None, "trapped": None}
        columns["value"] = narrow(columns["value"])
        columns["plan_ms"] = read_times(replay.run.directory / TIMES, first, last)
        # Kinds without digests have small worlds, which are set up quickly.
        if has_map(replay) and (replay.is_set_up or not replay.kind.digests):
            try:
                if replay.history.advance(last, WAIT_SECONDS):
                    known = replay.history.known[first + 1 : last + 1]
                    columns["known"] = np.array(known, np.float32)
                facts = {"known_at_start": replay.history.known[0], "trapped": self.trapped(replay)}
            except InvalidFileError:
                pass  # a request for a map will report the error
        return pack(columns, step=last, total=total, **facts)

    def do_fields(
        self, run: str, step: int, layers: tuple[str, ...], since: int | None = None
    ) -> bytes:
        """Return a frame with map layers after a number of steps.

        `since` is a step whose layers the client has. If they are in the cache, the frame has only
        the differences, see `frames.differences`.
        """
        replay = self.mapped(run)
        before = {} if since is None else self.drawn.get((run, since), {})
        maps, total = self.maps(replay, run, step, layers), len(replay.log)
        facts: dict[str, Any] = {"scales": {name: replay.scale(name) for name in layers}}
        if before.keys() >= set(layers):
            maps, facts["since"] = differences(before, maps), since
        return pack(maps, step=step, total=total, **facts)

    def maps(
        self, replay: Replay, run: str, step: int, layers: tuple[str, ...]
    ) -> dict[str, NDArray[Any]]:
        """Return layers after a step; recent layers are cached."""
        known = {**self.drawn.get((run, step), {})}
        missing = tuple(name for name in layers if name not in known)
        if missing:
            wide = {each["name"] for each in replay.scene.layers if each["scale"] == "probability"}
            found = replay.layers(step, missing)
            known |= {name: a if name in wide else narrow(a) for name, a in found.items()}
        self.drawn[run, step] = known
        self.drawn.move_to_end((run, step))
        while len(self.drawn) > 2 and self._drawn_bytes() > MAX_DRAWN_BYTES:
            self.drawn.popitem(last=False)
        return {name: known[name] for name in layers}

    def do_timeline(self, run: str) -> dict[str, Any]:
        """Return the events of a run; refused actions are included only if it has ended."""
        replay = self.mapped(run)
        events, complete = events_of(replay), replay.run.manifest.end is not None
        if complete:
            try:
                events = sorted([*events, *refused_actions(replay)])
            except InterruptedReplayError:
                complete = False
        facts = [event._asdict() for event in events]
        return {"events": facts, "trapped": trapped_at(replay), "complete": complete}

    def do_glance(self, run: str) -> dict[str, Any]:
        """Return a thumbnail of a run's last step (`glance_of`); a new replay is not cached."""
        replay = self.replays.get(run)
        if replay is None or not replay.refresh():
            replay = Replay(self.root / run)
        if not has_map(replay):
            raise Refusal.NOT_FOUND("this kind of run has no map")
        return glance_of(replay)

    def do_playback(self, run: str, level: float | None) -> dict[str, Any]:
        """Return a run as JSON values that can be played without the server."""
        return playback_of(self.mapped(run), level)

    def do_play(self, run: str, others: list[str]) -> bytes:
        """Return runs as an HTML file that plays them side by side without a server."""
        return html_of(*(self.root / each for each in (run, *others))).encode()

    def do_certificate(self, run: str) -> dict[str, Any]:
        """Return the verdict on the bounds that a run claims."""
        return certificate_of(self.root / run)

    def do_extend(self, run: str, limit: int) -> None:
        """Raise the step limit of a run that ended at it, if the run can be resumed."""
        replay = self.replay(run)
        replay.setup  # noqa: B018  (raises if the terrain has changed)
        try:
            replay.run.extend(limit)
        except InvalidInputError as cause:
            raise Refusal.CONFLICT(client_text(cause, self.root)) from cause

    def do_way_file(self, run: str, step: int, suffix: str) -> bytes:
        """Return the way home after a step as the content of a file."""
        replay = self.mapped(run)
        replay.at(step)
        return way_home_file(replay.run, step, suffix)

    def _drawn_bytes(self) -> int:
        """Return the bytes of all layers in the cache."""
        return sum(layer.nbytes for maps in self.drawn.values() for layer in maps.values())

    def do_forget(self, run: str) -> None:
        """Remove a deleted run from the cache."""
        self.replays.pop(run, None)
        self.missions.pop(run, None)
        for key in [key for key in self.drawn if key[0] == run]:
            del self.drawn[key]

    def mission(self, run: str) -> Mission:
        """Return the mission of a run; raise if the run is not a mission."""
        known = self.missions.pop(run, None)
        try:
            same = known is not None and known.run.manifest.created == known.created
        except InvalidFileError:
            same = False  # it was deleted
        self.missions[run] = known if known is not None and same else Mission.open(self.root / run)
        while len(self.missions) > MAX_REPLAYS:
            self.missions.popitem(last=False)
        return self.missions[run]

    def do_mission(self, run: str, what: str) -> dict[str, Any]:
        """Return the next move, the way home or the status of a mission."""
        mission = self.mission(run)
        return {"next": mission.next, "recall": mission.recall, "status": mission.status}[what]()

    def do_observe(self, run: str, report: dict[str, Any]) -> dict[str, Any]:
        """Record a report of a mission."""
        return self.mission(run).observe(report)

    def do_make(self, run: str, kind: str, config: dict[str, Any], mission: bool = False) -> None:
        """Create a run without steps, or a mission without reports."""
        target = self.root / run
        if target.exists():
            raise Refusal.CONFLICT(f"a run named {run} already exists")
        complete, uploaded = forms.completed(kind, config, self.root)
        try:
            Run.create(target, kind, complete, uploaded, is_mission=mission)
        except InvalidFileError as cause:
            code = Refusal.CONFLICT if target.exists() else Refusal.UNUSABLE
            raise RefusalError(code, client_text(cause, self.root)) from cause

    def do_preview(self, config: dict[str, Any]) -> bytes:
        """Return the frame with the preview of a configuration."""
        return forms.preview(config, self.root)

    do_kinds = staticmethod(forms.schemas)
    do_examples = staticmethod(examples)


def has_map(replay: Replay) -> bool:
    """Return whether a run is of an installed kind that has maps."""
    return replay.run.kind in kind_names() and replay.kind.scene is not None


def is_behind(replay: Replay) -> bool:
    """Return whether a recorded step exists whose belief is not computed yet."""
    return replay.is_set_up and replay.history.reached < len(replay.log)


def criterion_facts(criterion: Any) -> dict[str, Any]:
    """Return a criterion as JSON values."""
    if hasattr(criterion, "home"):
        home = criterion.home if isinstance(criterion.home, str) else "bases"
        within = getattr(criterion, "steps", None)
        return {"kind": "return", "level": criterion.delta, "home": home, "within": within}
    if hasattr(criterion, "allowed"):
        return {"kind": "stay", "level": criterion.delta, "home": None, "within": None}
    return {"kind": "earn", "level": criterion.total, "home": None, "within": None}


def serve(connection: Connection, root: Path) -> None:
    """Answer requests over a connection until it is closed."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server handles Ctrl-C
    threading.Thread(target=_end_with_server, daemon=True).start()
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


def _end_with_server() -> None:
    """End this process as soon as the server has died, even during a computation."""
    server = multiprocessing.parent_process()
    if server is not None:
        server.join()
        os._exit(0)


CODES: tuple[tuple[type[Exception], Refusal], ...] = (
    (NotRecordedError, Refusal.NOT_FOUND),
    (InterruptedReplayError, Refusal.ASK_AGAIN),
    (BusyError, Refusal.BUSY),
    (InvalidFileError, Refusal.CONFLICT),
    (MissingExtraError, Refusal.UNUSABLE),
    (HomewardError, Refusal.INVALID),
)
"""Codes by type of exception; the first type that matches applies."""


def refusal_of(error: Exception, root: Path) -> tuple[Refusal, str]:
    """Return the code and the sentence of an exception; log an unexpected exception."""
    if isinstance(error, ReportError):
        return Refusal(f"report_{error.code}"), client_text(error, root)
    for kind, code in CODES:
        if isinstance(error, kind):
            return getattr(error, "code", code), client_text(error, root)
    if isinstance(error, MemoryError):
        return Refusal.NO_MEMORY, "not enough memory for this request"
    logger.error("%s: %s", type(error).__name__, client_text(error, root))
    return Refusal.FAILED, "internal error; see the server's log"
