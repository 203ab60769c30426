"""How long a session has been at a run, and how long its plans take.

Times are no part of the step log, which is the same however often a run was stopped; they stand in
the manifest.
"""

from __future__ import annotations

import time
from array import array
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.plan import Plan
    from homeward.planner import Planner
    from homeward.runs.manifest import Manifest


class Stopwatch:
    """Stands in for a planner and times each of its plans."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.began = time.perf_counter()
        self.plans = array("d")  # s

    def plan(
        self,
        belief: Belief,
        state: int,
        start: int | None = None,
        previous: Plan | None = None,
    ) -> Plan:
        """Plan as the planner does."""
        began = time.perf_counter()
        plan = self.planner.plan(belief, state, start, previous)
        self.plans.append(time.perf_counter() - began)
        return plan

    def read(self, manifest: Manifest) -> Manifest:
        """Write the times of its last session into a manifest."""
        seconds = round(time.perf_counter() - self.began, 3)
        typical = round(1e3 * median(self.plans), 3) if self.plans else None
        last = manifest.sessions[-1].model_copy(update={"seconds": seconds, "plan_ms": typical})
        return manifest.model_copy(update={"sessions": (*manifest.sessions[:-1], last)})
