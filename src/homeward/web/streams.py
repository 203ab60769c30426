"""Server-sent events: new steps and status of runs, and changes of the list of runs.

One stream has the events of all runs that a client watches, since a browser opens only six
connections to a server. The stream polls the files while the client is connected. The client names
each run with the last step that it has received, so a client that reconnects misses nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from homeward.web.catalogue import Catalogue, check_name
from homeward.web.refusals import Refusal, RefusalError
from homeward.web.transport import parse_integer

if TYPE_CHECKING:
    from homeward.web.jobs import Jobs

MAX_WATCHED = 64  # runs of one stream
POLL_SECONDS = 0.1
LIST_TURNS = 5  # number of polls of the runs per poll of the list
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = ": \n\n"
STATUS_KEYS = ("status", "place", "end", "error")  # keys of a summary whose change is an event


class Streams:
    """All open streams; at most `most` may be open."""

    def __init__(self, catalogue: Catalogue, jobs: Jobs, most: int) -> None:
        self.catalogue, self.jobs, self.most = catalogue, jobs, most
        self.going, self.closing = 0, False

    def of(self, runs: Mapping[str, int], listing: bool = False) -> EventStream:
        """Return the stream of events of runs, and of the list of runs if `listing`.

        `runs` has the last step that the client has of each run.
        """
        return EventStream(self, self._events(dict(runs), listing))

    def summary(self, name: str) -> dict[str, Any]:
        """Return the summary of a run."""
        return self.catalogue.summary(name, self.jobs.queue_state(name))

    def _poll(self, name: str, seen: Any) -> tuple[Any, dict[str, Any] | None, int] | None:
        """Return a run's revision, its summary and its number of steps; None if it was deleted.

        The revision is a value that changes with the run and with the queue. If it equals `seen`,
        the summary is None.
        """
        stamp = self.catalogue.stamp(name)
        if stamp is None:
            return None
        # Count steps after the summary: a run records its last step before its end.
        now = (stamp, self.jobs.revision)
        try:
            summary = self.summary(name) if now != seen else None
        except RefusalError:
            return None
        steps, _ = self.catalogue.count(name)
        return None if self.catalogue.stamp(name) is None else (now, summary, steps)

    async def _events(self, runs: dict[str, int], listing: bool) -> AsyncIterator[str]:
        """Yield the texts of the events of each poll, then "" at the end of the poll."""
        watches = {name: Watch(last) for name, last in runs.items()}
        listed: dict[str, Any] | None = None
        for turn in count():
            for name, watch in list(watches.items()):
                polled = await run_in_threadpool(self._poll, name, watch.revision)
                if polled is None:
                    del watches[name]
                    yield event("gone", {"id": name}, watches)
                    continue
                for kind, data in watch.news(name, *polled):
                    yield event(kind, data, watches)
            if listing and turn % LIST_TURNS == 0:
                now = await run_in_threadpool(self._list)
                before = now if listed is None else listed
                if now != listed:
                    changed = [name for name in now if now[name] != before.get(name)]
                    gone = [name for name in before if name not in now]
                    yield event("runs", {"count": len(now), "changed": changed, "gone": gone})
                listed = now
            if not (watches or listing):
                return
            yield ""

    def _list(self) -> dict[str, Any]:
        """Return, by run, a value that changes with the run or with its place in the queue."""
        stamps = self.catalogue.stamps()
        return {name: (stamp, self.jobs.queue_state(name)) for name, stamp in stamps}


@dataclass(slots=True)
class Watch:
    """What a stream has already sent about a run."""

    last: int  # last step
    revision: Any = None  # see `Streams._poll`
    status: str = ""
    sent: list[Any] | None = None  # values of `STATUS_KEYS` in the last event

    def news(
        self, name: str, revision: Any, summary: dict[str, Any] | None, total: int
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name and the data of each event of a poll with `total` steps."""
        self.revision = revision
        if summary is not None:
            self.status = summary["status"]
        if total != self.last:
            first = self.last if total > self.last else 0  # the run was replaced
            self.last = total
            yield "steps", {"id": name, "from": first, "to": total, "status": self.status}
        if summary is not None and self.sent != [summary[key] for key in STATUS_KEYS]:
            self.sent = [summary[key] for key in STATUS_KEYS]
            yield "status", {**summary, "steps": total}


class EventStream(StreamingResponse):
    """One stream; it counts as open from its creation until it ends."""

    def __init__(self, streams: Streams, polls: AsyncIterator[str]) -> None:
        if streams.going >= streams.most:
            raise Refusal.BUSY(f"{streams.most} streams are open, the maximum; close one first")
        self.streams, self.events = streams, self._paced(polls)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self.events, 200, headers, "text/event-stream")
        streams.going += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects or the server closes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.streams.going -= 1

    async def _paced(self, polls: AsyncIterator[str]) -> AsyncIterator[str]:
        """Yield the events with a pause after each poll; after a long silence, yield a comment."""
        sent = time.monotonic()
        async for text in polls:
            if text or time.monotonic() - sent > KEEP_ALIVE_SECONDS:
                sent = time.monotonic()
                yield text or KEEP_ALIVE
            if self.streams.closing:
                return
            if not text:
                await asyncio.sleep(POLL_SECONDS)


def event(name: str, data: dict[str, Any], watches: Mapping[str, Watch] | None = None) -> str:
    """Return the text of a server-sent event; its id names the runs with their last steps."""
    last = [] if watches is None else [f"{run}@{watch.last}" for run, watch in watches.items()]
    identity = f"id: {','.join(last)}\n" if last else ""
    return f"event: {name}\n{identity}data: {json.dumps(data)}\n\n"


def watched(text: str) -> dict[str, int]:
    """Return the last step of each run in a text such as ``first@12,second@0``."""
    parts = [part for part in text.split(",") if part]
    if len(parts) > MAX_WATCHED:
        raise Refusal.INVALID(f"one stream watches {MAX_WATCHED} runs at most")
    steps = {}
    for part in parts:
        name, _, last = part.partition("@")
        steps[check_name(name)] = parse_integer(last or "0", "the last step of a run")
    return steps
