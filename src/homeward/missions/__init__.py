"""Missions: runs whose world is outside, such as a real vehicle. Nothing is simulated."""

from homeward.missions.mission import Mission
from homeward.missions.reports import Fault, ReportError

__all__ = ["Fault", "Mission", "ReportError"]
