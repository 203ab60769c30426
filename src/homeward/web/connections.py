"""Connections that ask for nothing are closed, so that they take nobody's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

IDLE = 10.0
"""Seconds between two looks; a connection that has begun nothing since the last is closed."""


class Patient(H11Protocol):
    """A connection, looked at now and then."""

    _seen: Any = None  # the request that was under way, or the last before, at the last look

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to look."""
        super().connection_made(transport)
        self.loop.call_later(IDLE, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        idle = self.cycle is None or self.cycle.response_complete
        if idle and self._seen is self.cycle:
            self.transport.close()
            return
        self._seen = self.cycle
        self.loop.call_later(IDLE, self._look)
