"""Server-sent events: a run's new steps and changes of status, and changes of the list.

A stream looks at the run's files ten times a second while somebody listens. It begins after the
step that the browser names, so that one that connects again misses nothing.
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

STREAMS = 64
PAUSE, LIST_PAUSE = 0.1, 0.5
"""Seconds between two looks at a run, and at the list."""

ALIVE = 15.0
"""Seconds after which a comment shows that the stream is alive."""

TELLING = ("status", "place", "end", "error")
"""What of a summary counts as a change of status."""


class Streams:
    """All streams; so many at once."""

    def __init__(self, catalogue: Catalogue, jobs: Jobs, most: int = STREAMS) -> None:
        self.catalogue, self.jobs, self.most = catalogue, jobs, most
        self.going = 0
        self.closing = False

    def of_run(self, name: str, last: int) -> EventStream:
        """Give the stream of a run, from after a step."""
        return EventStream(self, self._run(name, last))

    def of_list(self) -> EventStream:
        """Give the stream of the list of runs."""
        return EventStream(self, self._list())

    def summary(self, name: str) -> dict[str, Any]:
        """Tell of a run."""
        return self.catalogue.summary(name, self.jobs.standing(name))

    def _glance(self, name: str, seen: Any) -> tuple[Any, dict[str, Any] | None, int] | None:
        """Look at a run's files, which may take long: its stamp, what there is to tell, its steps.

        There is nothing to tell where the stamp is the one that was `seen`; None if it is gone.
        """
        stamp = self.catalogue.stamp(name)
        if stamp is None:
            return None
        # In this order: a run takes its last step before it says that it has ended.
        now = (stamp, self.jobs.revision)
        try:
            summary = self.summary(name) if now != seen else None
        except RefusalError:
            return None
        steps = self.catalogue.steps(name)
        return None if self.catalogue.stamp(name) is None else (now, summary, steps)

    async def _run(self, name: str, last: int) -> AsyncIterator[str]:
        seen: Any = None
        told: list[Any] | None = None
        status, spoke = "", time.monotonic()
        while not self.closing:
            glance = await run_in_threadpool(self._glance, name, seen)
            if glance is None:
                yield event("gone", {"id": name})
                return
            seen, summary, total = glance
            if summary is not None:
                status = summary["status"]
            if total != last:
                first = last if total > last else 0  # it was made anew
                yield event("steps", {"from": first, "to": total, "status": status}, total)
                last, spoke = total, time.monotonic()
            if summary is not None:
                telling = [summary[key] for key in TELLING]
                if telling != told:
                    told, spoke = telling, time.monotonic()
                    yield event("status", {**summary, "steps": total}, total)
            if time.monotonic() - spoke > ALIVE:
                spoke = time.monotonic()
                yield ": \n\n"
            await asyncio.sleep(PAUSE)

    async def _list(self) -> AsyncIterator[str]:
        seen: dict[str, Any] | None = None
        spoke = time.monotonic()
        while not self.closing:
            stamps = await run_in_threadpool(self.catalogue.stamps)
            now = {name: (stamp, self.jobs.standing(name)) for name, stamp in stamps}
            if now != seen:
                before = now if seen is None else seen
                changed = [name for name in now if now[name] != before.get(name)]
                gone = [name for name in before if name not in now]
                seen, spoke = now, time.monotonic()
                yield event("runs", {"count": len(now), "changed": changed, "gone": gone})
            if time.monotonic() - spoke > ALIVE:
                spoke = time.monotonic()
                yield ": \n\n"
            await asyncio.sleep(LIST_PAUSE)


class EventStream:
    """One stream, as an answer; it takes its place when it begins and leaves it when it ends."""

    def __init__(self, streams: Streams, events: AsyncIterator[str]) -> None:
        if streams.going >= streams.most:
            raise RefusalError(Refusal.BUSY, f"{streams.most} streams are open, which is the most")
        self.streams, self.events = streams, events
        streams.going += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until somebody hangs up."""
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        answer = StreamingResponse(self.events, media_type="text/event-stream", headers=headers)
        try:
            await answer(scope, receive, send)
        finally:
            self.streams.going -= 1


def event(name: str, data: dict[str, Any], number: int | None = None) -> str:
    """Write an event; its id is the last step."""
    identity = "" if number is None else f"id: {number}\n"
    return f"event: {name}\n{identity}data: {json.dumps(data)}\n\n"
