"""Limits of a server."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Limits of a server, and settings of its viewing processes."""

    jobs: int = 2  # maximum number of simultaneous runs
    streams: int = 64  # maximum number of event streams
    upload: int = 512 << 20  # maximum bytes of an upload
    stored: int = 8 << 30  # maximum bytes of all uploads together
    queued: int = 1000  # maximum number of runs that wait
    queued_bytes: int = 256 << 20  # maximum bytes of the configurations of runs that wait
    stalled: float = 15.0  # maximum seconds without a byte of an upload
    longest: float = 900.0  # maximum seconds of an upload
    answer: float = 120.0  # maximum seconds for an answer; the first plan compiles for half of it
    viewers: int = 2  # number of viewing processes
    warm: bool = False  # whether to start viewing processes before the first request


DEFAULTS = ServerSettings()
