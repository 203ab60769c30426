"""HTTP connections that close when idle, so that the server stays within its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

CHECK_SECONDS = 10.0
"""Seconds between two checks; a connection without a request between two checks is closed."""


class IdleTimeout(H11Protocol):
    """A connection that closes if it is idle between two checks."""

    _last: Any = None  # the latest request, as of the last check

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
