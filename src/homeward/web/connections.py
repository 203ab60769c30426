"""HTTP connections that close if they are idle or if the client does not read.

This limits the number of connections and the memory of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

CHECK_SECONDS = 10.0  # time between two checks; a connection without a new request is closed
SEND_SECONDS, MIN_SENT_BYTES = 20.0, 64 << 10  # a client must read this many bytes in this time


class IdleTimeout(H11Protocol):
    """A connection that closes if it is idle between two checks, or if its client reads slowly."""

    _last: Any = None  # the latest request, as of the last check
    _stalled: asyncio.TimerHandle | None = None  # the scheduled check that the client reads

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Schedule the first check."""
        super().connection_made(transport)
        self.loop.call_later(CHECK_SECONDS, self._check)

    def _check(self) -> None:
        """Close the connection if there was no new request since the last check."""
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
        """Schedule the check that the client reads."""
        waiting = self.transport.get_write_buffer_size()
        self._stalled = self.loop.call_later(SEND_SECONDS, self._check_reader, waiting)

    def _check_reader(self, before: int) -> None:
        """Abort the connection if the client read too little; `before` bytes were waiting."""
        if self.transport.get_write_buffer_size() > before - MIN_SENT_BYTES:
            self.transport.abort()
        else:
            self._watch()
