"""Runs on disk: record every step, resume to the same result, list all runs of a folder."""

from homeward.planning.warm_start import WarmStart
from homeward.runs.config import Config
from homeward.runs.kind import Ended, Kind, Setup, find_kind, register
from homeward.runs.lock import BusyError
from homeward.runs.log import Record
from homeward.runs.manifest import Manifest, RunStatus
from homeward.runs.observation_codec import Digest
from homeward.runs.run import Run, list_runs

__all__ = [
    "BusyError",
    "Config",
    "Digest",
    "Ended",
    "Kind",
    "Manifest",
    "Record",
    "Run",
    "RunStatus",
    "Setup",
    "WarmStart",
    "find_kind",
    "list_runs",
    "register",
]
