"""HTTP connections that close when idle or when the client does not read.

So the server stays within its limits of connections and memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

CHECK_SECONDS = 10.0  # between two checks; a connection without a request is closed
SEND_SECONDS, MIN_SENT_BYTES = 20.0, 64 << 10  # a client must read so many bytes in so many seconds


class IdleTimeout(H11Protocol):
    """A connection that closes if it is idle between two checks, or if its client reads slowly."""

    _last: Any = None  # the latest request, as of the last check
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Schedule the first check."""
        super().connection_made(transport)
        self.loop.call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        if self.transport.is_closing():
            return
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._last is self.cycle:
            self.transport.close()
            return
        self._last = self.cycle
        self.loop.call_later(CHECK_SECONDS, self._check)

    def pause_writing(self) -> None:
        """Note that data waits for the client, and schedule the check that it is read."""
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        """Note that the client has read most of the data."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _watch(self) -> None:
        waiting = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(SEND_SECONDS, self._check_reader, waiting)

    def _check_reader(self, before: int) -> None:
        if self.transport.get_write_buffer_size() > before - MIN_SENT_BYTES:
            self.transport.abort()
        else:
            self._watch()
