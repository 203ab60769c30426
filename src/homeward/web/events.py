"""Server-sent events: new steps and status of a run, and changes of the list of runs.

A stream polls the files while a client is connected. It begins after the step that the client
names, so a client that reconnects misses nothing.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import StreamingResponse

from homeward.web.refusals import Refusal, RefusalError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

    from homeward.web.catalogue import Catalogue
    from homeward.web.jobs import Jobs

MAX_STREAMS = 64
RUN_POLL_SECONDS, LIST_POLL_SECONDS = 0.1, 0.5
KEEP_ALIVE_SECONDS = 15.0
KEEP_ALIVE = ": \n\n"
STATUS_KEYS = ("status", "place", "end", "error")
"""Keys of a summary whose change is sent as an event."""


class Streams:
    """All open streams; at most `most` may be open."""

    def __init__(self, catalogue: Catalogue, jobs: Jobs, most: int = MAX_STREAMS) -> None:
        self.catalogue, self.jobs, self.most = catalogue, jobs, most
        self.going, self.closing = 0, False

    def of_run(self, name: str, last: int) -> EventStream:
        """Return the stream of a run after step `last`."""
        return EventStream(self, self._run(name, last), RUN_POLL_SECONDS)

    def of_list(self) -> EventStream:
        """Return the stream of the list of runs."""
        return EventStream(self, self._list(), LIST_POLL_SECONDS)

    def summary(self, name: str) -> dict[str, Any]:
        """Return the summary of a run."""
        return self.catalogue.summary(name, self.jobs.queue_state(name))

    def _poll(self, name: str, seen: Any) -> tuple[Any, dict[str, Any] | None, int] | None:
        """Return a run's revision, its summary and its number of steps; None if it was deleted.

        The revision changes with the run and with the queue. If it equals `seen`, the summary is
        None.
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

    async def _run(self, name: str, last: int) -> AsyncIterator[str]:
        """Yield the events of a run for each poll, then "" after each poll."""
        seen: Any = None
        sent: list[Any] | None = None
        status = ""
        while True:
            polled = await run_in_threadpool(self._poll, name, seen)
            if polled is None:
                yield event("gone", {"id": name})
                return
            seen, summary, total = polled
            status = status if summary is None else summary["status"]
            if total != last:
                first = last if total > last else 0  # the run was replaced
                last = total
                yield event("steps", {"from": first, "to": total, "status": status}, total)
            if summary is not None and sent != [summary[key] for key in STATUS_KEYS]:
                sent = [summary[key] for key in STATUS_KEYS]
                yield event("status", {**summary, "steps": total}, total)
            yield ""

    async def _list(self) -> AsyncIterator[str]:
        """Yield the event of the list for each poll, then "" after each poll."""
        seen: dict[str, Any] | None = None
        while True:
            stamps = await run_in_threadpool(self.catalogue.stamps)
            now = {name: (stamp, self.jobs.queue_state(name)) for name, stamp in stamps}
            before = now if seen is None else seen
            changed = [name for name in now if now[name] != before.get(name)]
            gone = [name for name in before if name not in now]
            if now != seen:
                seen = now
                yield event("runs", {"count": len(now), "changed": changed, "gone": gone})
            yield ""


class EventStream(StreamingResponse):
    """One stream; it counts as open from its creation until it ends."""

    def __init__(self, streams: Streams, polls: AsyncIterator[str], pause: float) -> None:
        if streams.going >= streams.most:
            raise Refusal.BUSY(f"{streams.most} streams are open, the maximum; close one first")
        self.streams, self.events = streams, self._paced(polls, pause)
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(self.events, 200, headers, "text/event-stream")
        streams.going += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client disconnects or the server closes."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.streams.going -= 1

    async def _paced(self, polls: AsyncIterator[str], pause: float) -> AsyncIterator[str]:
        """Yield events with a pause after each poll, and a comment after a long silence."""
        sent = time.monotonic()
        async for text in polls:
            if text or time.monotonic() - sent > KEEP_ALIVE_SECONDS:
                sent = time.monotonic()
                yield text or KEEP_ALIVE
            if self.streams.closing:
                return
            if not text:
                await asyncio.sleep(pause)


def event(name: str, data: dict[str, Any], number: int | None = None) -> str:
    """Return the text of a server-sent event; its id is `number`, the last step."""
    identity = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{identity}data: {json.dumps(data)}\n\n"
