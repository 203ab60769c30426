"""Replay of a recorded run at any of its steps; a process may still be writing the run.

Beliefs are computed from the records without planning (`history`). If the level holds for the whole
run, a decision is repeated from the recorded `RunState`. For the paper's Algorithm 1, a
plan is repeated from its recorded warm start. If a step has no warm start, all steps since the last
recorded warm start are planned again, so that the plan is identical to the bit. This takes long on
large maps. There the plan is first made from the nearest warm start, and used if it has the
recorded action, value and bounds; its evidence on other actions may differ.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from homeward.agents.agent import unplanned
from homeward.agents.setup import ActingAgent
from homeward.errors import HomewardError, InvalidInputError
from homeward.planning.ends import End
from homeward.planning.explained import Explanation, explain, unexplained
from homeward.planning.explorer import Decision, decide
from homeward.planning.plan import Plan
from homeward.planning.promise import RunState
from homeward.replay.ghosts import ghosts_of
from homeward.replay.history import Decisions, History
from homeward.replay.log_reader import LogReader
from homeward.replay.moment import Moment
from homeward.replay.reasons import ended, reasons, stopped, told_of, told_of_plan
from homeward.replay.scene import Scene
from homeward.runs import Kind, Run, RunStatus, Setup, WarmStart, find_kind
from homeward.runs.run import FIRST_LOOK, STEPS

PLAN_TOLERANCE = 1e-9  # relative tolerance on bounds and values of the same plan
MAX_PLANS = 8  # maximum number of cached plans; on large maps it is 1
MAX_WARM_START_BYTES = 32 << 20  # of the warm starts that are kept for later steps
SMALL, LARGE = (
    20_000,
    100_000,
)  # states: up to SMALL all steps are planned again, up to LARGE if needed


class NotRecordedError(InvalidInputError):
    """The run does not have the requested step, cell, layer or map."""


class InterruptedReplayError(HomewardError):
    """Another request interrupted planning; the client should ask again."""


class Replay:
    """A run to inspect by `at`, `plan`, `layers`, `why` and `way` after any of its steps."""

    def __init__(self, directory: Path | str) -> None:
        self.run = Run.open(directory)
        self.log = LogReader(Path(directory) / STEPS)
        self.log.read_on()
        self.interrupted: Callable[[], bool] = lambda: False  # whether to interrupt planning
        self.identity = self._identity()
        self._decided: tuple[int, Decision] | None = None  # the last decision, after its step
        self._scales: dict[str, tuple[float, float] | None] = {}
        self._plans: OrderedDict[int, tuple[Plan | Explanation, bool]] = OrderedDict()
        self._warm_starts: OrderedDict[int, WarmStart] = OrderedDict()

    def refresh(self) -> bool:
        """Read the new steps; return False if another run has replaced this one."""
        return self.identity == self._identity() and self.log.read_on()

    def _identity(self) -> tuple[str, str, bool]:
        """Return an identifier of the run that stays the same while the run grows."""
        manifest, first = self.run.manifest, self.run.directory / FIRST_LOOK
        return manifest.config_sha256, manifest.created, first.exists()

    @cached_property
    def kind(self) -> Kind:
        """The kind of the run."""
        return find_kind(self.run.kind)

    @cached_property
    def setup(self) -> Setup:
        """The setup of the run: planner, first belief and world."""
        return self.run.setup(*self.run.load())

    @cached_property
    def scene(self) -> Scene:
        """The map layers of the run."""
        if self.kind.scene is None:
            raise NotRecordedError(f"{self.run.directory}: a {self.kind.name} run has no map")
        scene: Scene = self.kind.scene(self.run.load()[1], self.setup)
        return scene

    @cached_property
    def history(self) -> History:
        """The beliefs of the run."""
        return History(self.setup, self.scene, self.log, self.kind.observations)

    @cached_property
    def decisions(self) -> Decisions | None:
        """What the run carries after each step; None for Algorithm 1 and agents without plans."""
        if self.setup.agent.paper or isinstance(self.setup.agent, ActingAgent):
            return None
        return Decisions(self.setup, self.history.start, self.history.at(0), self.log)

    @property
    def is_set_up(self) -> bool:
        """Whether the world and the history exist already."""
        return "history" in vars(self)

    def at(self, step: int) -> Moment:
        """Return the moment after a number of steps."""
        if not 0 <= step <= len(self.log):
            raise NotRecordedError(f"the run has {len(self.log)} steps, there is no step {step}")
        start = np.array([self.history.start], np.int32)
        path = self.log.path_to(step) if step else start
        belief, planner = self.history.at(step), self.setup.planner
        refuted = self.log.refuted(step) or (step == len(self.log) and self._ends_refuted)
        return Moment(step, int(path[-1]), belief, path, planner, self.decisions, refuted)

    @property
    def _ends_refuted(self) -> bool:
        """Whether the run ended since its belief was refuted; records of plans do not say so."""
        return self.setup.agent.paper and self.run.manifest.end is End.REFUTED

    def layers(self, step: int, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the layers [R, C] by name, after a number of steps."""
        kept, at_end = self.kind.kept_layers, step == len(self.log) and not self.is_set_up
        if kept is not None and at_end and self.run.status is RunStatus.FINISHED:
            stored = kept(self.run.fields())
            if names and set(names) <= stored.keys():
                return {name: stored[name] for name in names}
        moment = self.at(step)
        known = {entry["name"] for entry in self.scene.layers}
        for name in names:
            if name not in known:
                raise NotRecordedError(f"there is no layer {name[:40]!r} in this run")
        return self.scene.maps(names, moment)

    def scale(self, name: str) -> tuple[float, float] | None:
        """Return the ends of a layer's colour scale, which are the same at every step.

        These are the smallest and largest value before the first step; believed and true heights
        have a common scale. Return None if the layer has categories, probabilities or no values.
        """
        if name not in self._scales:
            facts = {entry["name"]: entry for entry in self.scene.layers}
            heights = {"height", "truth"} & facts.keys()
            names = sorted(heights) if name in heights else [name]
            ends = None
            if facts[name]["scale"] == "sequential":
                maps = self.scene.maps(names, self.at(0)).values()
                values = np.concatenate([each[np.isfinite(each)] for each in maps])
                ends = (float(values.min()), float(values.max())) if values.size else None
            self._scales[name] = ends
        return self._scales[name]

    def way(self, step: int, cell: int, with_profile: bool = False) -> dict[str, Any]:
        """Return the path home from a cell, given the belief after a step, as JSON values.

        ``profile`` is None unless it is asked for, and if the path has no moves or no heights.
        """
        moment, profile = self._moment(step, cell), None
        way = moment.way(cell)
        if with_profile and way["edges"]:
            profile = self.scene.profile(moment, [cell, *(edge["to"] for edge in way["edges"])])
        return {**way, "profile": None if profile is None else profile._asdict()}

    def _moment(self, step: int, cell: int) -> Moment:
        """Return the moment after a number of steps; raise if the map does not have the cell."""
        rows, columns = self.scene.shape
        if not 0 <= cell < rows * columns:
            raise NotRecordedError(f"there is no cell {cell} on this map")
        return self.at(step)

    def ghosts(self, step: int, cell: int, seed: int) -> dict[str, Any]:
        """Return how the way home from a cell ends in worlds drawn from the belief, as JSON."""
        return ghosts_of(self._moment(step, cell), cell, seed, self.check_interrupted)

    def check_interrupted(self) -> None:
        """Raise `InterruptedReplayError` if another request waits."""
        if self.interrupted():
            raise InterruptedReplayError("another request interrupted this one; ask again")

    def why(self, step: int) -> dict[str, Any]:
        """Return the plan made after a number of steps, or why the run ended, as JSON values."""
        moment = self.at(step)
        recorded = None
        if step < len(self.log) and self.log.decided[step]:
            bounds = self.log.bounds_of(step + 1)
            recorded = {"action": self.log.actions[step], "bounds": bounds}
        columns = self.scene.shape[1]
        if self.decisions is not None:
            decision = self._decision(moment)
            if decision.action is None:
                goals = self.decisions.rules().goals
                return {**ended(decision, moment, goals, columns), "recorded": recorded}
        elif step == len(self.log) and (
            isinstance(self.setup.agent, ActingAgent) or self._ends_refuted
        ):
            return {**stopped(self.run.manifest.end, moment), "recorded": recorded}
        plan, agrees = self.plan(step)
        if isinstance(plan, Plan):
            told = told_of_plan(plan, moment, columns)
        else:
            told = told_of(plan, moment, columns)
        facts = reasons(told, moment, self.setup)
        return {**facts, "recorded": recorded, "agrees": agrees}

    def plan(self, step: int) -> tuple[Plan | Explanation, bool]:
        """Return the decision made after a number of steps, and whether it agrees with the record.

        It is a `Plan` of Algorithm 1, or a decision of the explorer or of an agent, explained.
        """
        if step in self._plans:
            self._plans.move_to_end(step)
            return self._plans[step]
        moment = self.at(step)
        plan: Plan | Explanation | None = None
        if isinstance(self.setup.agent, ActingAgent):
            if step < len(self.log):
                given = moment.model, moment.state, self.log.actions[step], RunState()
                plan = unexplained(moment.belief, unplanned(*given))
        elif self.decisions is None:
            plan = self._plan_again(moment)
        else:
            decision = self._decision(moment)
            if decision.action is not None:
                run = self.decisions.kept.at(step)
                plan = explain(self.decisions.rules(), moment.belief, run, decision)
        if plan is None:
            raise NotRecordedError("the run ends here, so there is no further decision")
        self._plans[step] = plan, self._agrees(plan, step)
        is_large = self.decisions is None and moment.model.states > LARGE
        while len(self._plans) > (1 if is_large else MAX_PLANS):
            self._plans.popitem(last=False)
        return self._plans[step]

    def _plan_again(self, moment: Moment) -> Plan:
        """Compute the plan of the paper's Algorithm 1 at a moment again, and return it."""
        step, states = moment.step, moment.model.states
        warm_start: Any
        first, warm_start = self.log.warm_start_at(step) or (0, None)
        for number, known in self._warm_starts.items():
            if first < number <= step:
                first, warm_start = number, known
        if first == step:
            return self._plan(moment, warm_start)
        if states > SMALL:
            plan = self._plan(moment, warm_start, keep=False)
            if states > LARGE or self._agrees(plan, step):
                return plan
        for number in range(first, step):
            if number > first:
                self.check_interrupted()
            warm_start = WarmStart.of(self._plan(self.at(number), warm_start))
        return self._plan(moment, warm_start)

    def _plan(self, moment: Moment, warm_start: Any, *, keep: bool = True) -> Plan:
        """Return the plan from a warm start; if `keep`, store the warm start of the next step."""
        found = moment.planner.plan(moment.belief, moment.state, moment.start, warm_start)
        if keep:
            self._warm_starts[moment.step + 1] = WarmStart.of(found)
            while sum(kept.nbytes for kept in self._warm_starts.values()) > MAX_WARM_START_BYTES:
                self._warm_starts.popitem(last=False)
        return found

    def _decision(self, moment: Moment) -> Decision:
        """Return the decision of the run at a moment."""
        assert self.decisions is not None
        if self._decided is None or self._decided[0] != moment.step:
            run = self.decisions.kept.at(moment.step)
            found = decide(self.decisions.rules(), moment.belief, run, moment.state)
            self._decided = moment.step, found
        return self._decided[1]

    def _agrees(self, plan: Plan | Explanation, step: int) -> bool:
        """Return whether a plan has the recorded action, value and bounds."""
        if step >= len(self.log) or not self.log.decided[step]:
            return True
        logged = [self.log.values[step], *self.log.bounds_of(step + 1)]
        action: int | None
        if isinstance(plan, Plan):
            action, planned = plan.action, [plan.exploration_value, *plan.bounds]
        else:
            decision = plan.decision
            action, bounds = decision.action, [each.bound for each in decision.bounds]
            planned = [decision.rate, *bounds]
        alike = np.allclose(planned, logged, PLAN_TOLERANCE, PLAN_TOLERANCE)
        return alike and action == self.log.actions[step]
