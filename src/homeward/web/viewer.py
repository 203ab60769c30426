"""A viewer of one run: its records, what was known after any step, and why it went on as it did.

Records are read on while the run grows. What was known is learned again from them without planning
(`history`). A run that plans until the next news decides again with what it held then (`pursuits`).
A plan of the paper's Algorithm 1 is made again from the warm start that the record holds. Where it
holds none for that step, the steps since the last that has some are planned again, so that it is
the same plan to the bit. On large maps that would take long: there the nearest warm start is tried
first, and if the plan has the recorded action, value and bounds, it is taken; what it says of other
actions may differ.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.bonuses import unit_of
from homeward.errors import InvalidFileError
from homeward.files import read_json
from homeward.replay.decisions import Pursuits, heading, proposal_told
from homeward.replay.log_reader import LogTail
from homeward.replay.moment import Moment
from homeward.runs import Run, RunStatus, WarmStart, find_kind
from homeward.runs.config import checked
from homeward.runs.run import CONFIG, STEPS, TIMES
from homeward.runs.stopwatch import read_times
from homeward.web.catalogue import BUILT_IN
from homeward.web.frames import pack
from homeward.web.history import ROOM, History
from homeward.web.refusals import Refusal, RefusalError, told
from homeward.web.scenes import Scene, actions_of, kept_maps, scene_of
from homeward.words import VERDICTS, why_ended

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from homeward.planning.guide import Decision
    from homeward.planning.plan import CriterionEvidence, Plan
    from homeward.runs import Setup

AT_ONCE = 0.25
"""Seconds of learning that an answer may wait for, if it can do without."""

SAME = 1e-9
"""How near the recorded bounds and value those of the same plan are, relative to their size."""

PLANS = 8
"""How many plans are kept; of large maps one."""

SMALL, LARGE = 20_000, 100_000
"""States up to which steps in between are planned again in any case, or where it is needed."""


class Viewer:
    """One run, to be looked at."""

    def __init__(self, directory: Path, room: int = ROOM) -> None:
        self.run = Run.open(directory)
        self.kind = self.run.kind
        self.room = room
        self.tail = LogTail(directory / STEPS)
        self.damage: str | None = None  # what is wrong with the log after its last step
        self._read_on()
        self.others: Callable[[], bool] = lambda: False  # whether somebody else asks
        self.made = self.run.manifest.config_sha256, self.run.manifest.created
        self._scene: tuple[Setup, Scene | None, History | None] | None = None
        self._pursuits: Pursuits | None = None
        self._decided: tuple[int, Decision] | None = None  # the last, and the step before it
        self._plans: OrderedDict[int, tuple[Plan, bool]] = OrderedDict()
        self._seeds: OrderedDict[int, WarmStart] = OrderedDict()

    def refresh(self) -> bool:
        """Read on; False where another run has taken this one's place."""
        manifest = self.run.manifest
        return self.made == (manifest.config_sha256, manifest.created) and self._read_on()

    def _read_on(self) -> bool:
        """Read on as far as the log is sound; False where it is another now, or may be."""
        known, before = self.damage, len(self.tail)
        self.damage = None
        try:
            return self.tail.read_on()
        except InvalidFileError as error:
            if not self.tail.path.is_file():
                raise
            self.damage = told(error, self.run.directory)
            return self.damage == known or not before

    @property
    def behind(self) -> bool:
        """Whether there are steps that were not learned yet."""
        history = None if self._scene is None else self._scene[2]
        return history is not None and history.reached < len(self.tail)

    def advance(self, seconds: float) -> None:
        """Learn on for so long at most, if there is a map to be drawn."""
        if self._scene is not None and self._scene[2] is not None:
            self._scene[2].advance(len(self.tail), seconds)

    def details(self) -> dict[str, Any]:
        """Give what is to be known of the run beyond its summary, as JSON values.

        Where the log is damaged, the status, the steps and the error are this viewer's own.
        """
        own: dict[str, Any] = {}
        if self.damage is not None:
            said = f"{self.damage}; what is before it is shown"
            own = {"status": "damaged", "end": None, "why": None, "error": said}
            own |= {"steps": len(self.tail)}
        if self.kind not in BUILT_IN:
            return {**_NOTHING, **own}
        setup, scene, history = self._set_up()
        if scene is None or history is None:
            return {**_NOTHING, **own}
        return {
            **own,
            "limit": setup.limit if self.run.manifest.limit is None else self.run.manifest.limit,
            "home": _home_of(setup),
            "start": history.start,
            "shape": list(scene.shape),
            "cell": None if scene.cell is None else list(scene.cell),
            "layers": list(scene.layers),
            "criteria": [_criterion(c) for c in setup.planner.criteria],
            "actions": actions_of(setup),
        }

    def records(self, after: int, to: int | None) -> bytes:
        """Give the frame of the steps ``after < step <= to``."""
        total = len(self.tail)
        last = total if to is None else min(to, total)
        first = min(after, last)
        columns = self.tail.columns(first, last)
        columns["plan_ms"] = read_times(self.run.directory / TIMES, first, last)
        if self.kind == "grid":  # which takes no time
            self._set_up()
        history = self._scene[2] if self._scene is not None else None
        if history is not None and self._learned(history, last):
            columns["known"] = np.array(history.known[first + 1 : last + 1], np.float64)
        return pack(columns, step=last, total=total)

    def _learned(self, history: History, step: int) -> bool:
        """Learn up to a step, for a moment; whoever asks for a map is told why it can't be."""
        try:
            return history.advance(step, AT_ONCE)
        except InvalidFileError:
            return False

    def fields(self, step: int, names: Sequence[str]) -> bytes:
        """Give the frame of maps of what was known after so many steps."""
        self._check_step(step)
        total = len(self.tail)
        if self._scene is None and step == total and self.run.status is RunStatus.FINISHED:
            kept = kept_maps(self.kind, self.run.fields(), names)
            if kept is not None:
                return pack(kept, step=step, total=total)
        scene, moment = self._moment(step)
        known = {entry["name"] for entry in scene.layers}
        for name in names:
            if name not in known:
                raise RefusalError(
                    Refusal.NOT_FOUND, f"there is no layer {name[:40]!r} in this run"
                )
        return pack(scene.maps(names, moment), step=step, total=total)

    def way(self, step: int, cell: int) -> dict[str, Any]:
        """Give the way home from a cell as it was seen after so many steps."""
        self._check_step(step)
        scene, moment = self._moment(step)
        if not 0 <= cell < scene.shape[0] * scene.shape[1]:
            raise RefusalError(Refusal.NOT_FOUND, f"there is no cell {cell} on this map")
        return moment.way(cell)

    def why(self, step: int) -> dict[str, Any]:
        """Return the plan that was made after so many steps, or why there is none, as JSON."""
        self._check_step(step)
        scene, moment = self._moment(step)
        setup = self._set_up()[0]
        columns, unit = scene.shape[1], unit_of(setup.planner.bonus)

        def placed(text: str) -> str:
            """Say rows and columns where a plan says the number of a state."""
            return re.sub(
                r"\bstate (\d+)\b",
                lambda found: "row {}, column {}".format(*divmod(int(found[1]), columns)),
                text,
            )

        recorded = None
        if step < len(self.tail):
            bounds = self.tail.bounds_of(step + 1)
            recorded = {"action": self.tail.actions[step], "bounds": bounds}
        told: dict[str, Any] = {"step": step, "state": moment.state, "recorded": recorded}
        decision = None if moment.pursuits is None else self._decision(moment)
        if decision is not None and decision.plan is None:
            assert decision.end is not None
            ending = placed(why_ended(decision.end, step, decision.remainder(unit)))
            here = float(moment.returns[1].value[moment.state])
            told |= {"end": decision.end, "explanation": ending, "sentence": ending}
            told |= {"way_home": here}
            return {**_NO_PLAN, **told, "criteria": _kept(decision, placed)}
        plan, agrees = self.plan(step)
        ways = [c.way_home for c in plan.criteria if c.home.size]
        ways = ways or [moment.returns[1].value]
        explanation = placed(plan.explain())
        words = [line for line in explanation.splitlines() if not line.startswith("  ")]
        proposal = plan.proposal
        if proposal is not None:
            words = [words[0], heading(proposal, unit, columns)]
        actions = actions_of(setup)
        return {
            **told,
            "end": None,
            "action": plan.action,
            "status": str(plan.status),
            "sentence": " ".join(words),
            "explanation": explanation,
            "criteria": [_evidence(c, placed(c.name)) for c in plan.criteria],
            "actions": [
                {
                    "action": e.action,
                    **actions[e.action],
                    "leaves": e.leaves,
                    "exploration": _plain(e.exploration),
                    "safety": list(e.safety),
                    "weight": e.weight,
                    "verdict": e.verdict,
                    "words": VERDICTS[e.verdict],
                }
                for e in plan.evidence
            ],
            "value": _plain(plan.exploration_value),
            "upper": _plain(plan.upper_bound),
            "gap": _plain(plan.gap),
            "way_home": max(float(way[plan.state]) for way in ways),
            "proposal": None if proposal is None else proposal_told(proposal, unit),
            "agrees": agrees,
        }

    def plan(self, step: int) -> tuple[Plan, bool]:
        """Give the plan made after so many steps, and whether it is the recorded one."""
        if step in self._plans:
            self._plans.move_to_end(step)
            return self._plans[step]
        _, moment = self._moment(step)
        if moment.pursuits is not None:
            decided = self._decision(moment).plan
            if decided is None:
                raise RefusalError(
                    Refusal.NOT_FOUND, "the run ends here: there is nothing left to decide"
                )
            return self._keep_plan(step, decided, self._agrees(decided, step), PLANS)
        first, seeds = self._nearest(step)
        exact, states = first == step, moment.model.states
        found: Plan | None = None
        if exact or states > SMALL:
            found = self._plan(moment, seeds)
        if not exact and (found is None or (states <= LARGE and not self._agrees(found, step))):
            for number in range(first, step):
                if number > first and self.others():
                    raise RefusalError(
                        Refusal.ASK_AGAIN, "something else was asked for first; ask again"
                    )
                seeds = WarmStart.of(self._plan(self._moment(number)[1], seeds))
                self._note(number + 1, seeds)
            found, exact = self._plan(moment, seeds), True
        assert found is not None
        agrees = self._agrees(found, step)
        if exact:
            self._note(step + 1, WarmStart.of(found))
        return self._keep_plan(step, found, agrees, PLANS if states <= LARGE else 1)

    def _keep_plan(self, step: int, plan: Plan, agrees: bool, most: int) -> tuple[Plan, bool]:
        """Keep a plan, beside the last others."""
        self._plans[step] = plan, agrees
        while len(self._plans) > most:
            self._plans.popitem(last=False)
        return plan, agrees

    def _plan(self, moment: Moment, seeds: WarmStart | None) -> Plan:
        previous: Any = seeds
        return moment.planner.plan(moment.belief, moment.state, moment.start, previous)

    def _decision(self, moment: Moment) -> Decision:
        """Return what a run decided that plans until the next news."""
        if self._decided is None or self._decided[0] != moment.step:
            assert moment.pursuits is not None
            self._decided = moment.step, moment.pursuits.decide(moment)
        return self._decided[1]

    def _nearest(self, step: int) -> tuple[int, WarmStart | None]:
        """Give the last step, up to this one, whose seeds are known, and those; 0 has none."""
        found = self.tail.seeds_at(step)
        best: tuple[int, WarmStart | None] = (0, None) if found is None else found
        for number, seeds in self._seeds.items():
            if best[0] < number <= step:
                best = number, seeds
        return best

    def _note(self, step: int, seeds: WarmStart) -> None:
        """Keep the seeds that a step left, for a while."""
        self._seeds[step] = seeds
        while len(self._seeds) > 8 * PLANS:
            self._seeds.popitem(last=False)

    def _agrees(self, plan: Plan, step: int) -> bool:
        """Tell whether a plan is the recorded one, as far as that can be told."""
        if step >= len(self.tail):
            return True
        pairs = [(plan.exploration_value, self.tail.values[step])]
        pairs += zip(plan.bounds, self.tail.bounds_of(step + 1), strict=True)
        alike = all(math.isclose(a, b, rel_tol=SAME, abs_tol=SAME) for a, b in pairs)
        return alike and plan.action == self.tail.actions[step]

    def _moment(self, step: int) -> tuple[Scene, Moment]:
        """Give what was known after so many steps; refuse where nothing can be drawn."""
        setup, scene, history = self._set_up()
        if scene is None or history is None:
            raise RefusalError(Refusal.NOT_FOUND, "this kind of run has no map")
        path = self.tail.path_to(step) if step else np.array([history.start], np.int32)
        belief = history.at(step)
        pursuits = None if setup.algorithm == "paper" else self._pursuing(setup, history)
        return scene, Moment(step, int(path[-1]), belief, path, setup.planner, pursuits)

    def _pursuing(self, setup: Setup, history: History) -> Pursuits:
        if self._pursuits is None:
            self._pursuits = Pursuits(setup, history.start, history.at(0), self.tail)
        return self._pursuits

    def _set_up(self) -> tuple[Setup, Scene | None, History | None]:
        """Set the explorer out again, once."""
        if self._scene is None:
            if self.kind not in BUILT_IN:
                raise RefusalError(Refusal.NOT_FOUND, "this kind of run has no map")
            kind = find_kind(self.kind)
            path = self.run.directory / CONFIG
            version = read_json(path)["version"]
            if version != kind.version:
                newer = isinstance(version, int) and version > kind.version
                whose = "newer version of Homeward" if newer else "version not read any more"
                raise InvalidFileError(
                    f"{path}: was made by a {whose}: a {kind.name} run of version {version}, and "
                    f"this is {kind.version}"
                )
            config = checked(kind.config, self.run.config, str(path))
            setup = kind.make(config)
            scene = scene_of(setup)
            history = None if scene is None else History(setup, scene, self.tail, self.room)
            self._scene = setup, scene, history
        return self._scene

    def _check_step(self, step: int) -> None:
        if not 0 <= step <= len(self.tail):
            raise RefusalError(
                Refusal.NOT_FOUND, f"the run has {len(self.tail)} steps, there is no step {step}"
            )


_NOTHING: dict[str, Any] = {
    "home": None,
    "start": None,
    "shape": None,
    "cell": None,
    "layers": [],
    "criteria": [],
    "actions": [],
}

_NO_PLAN: dict[str, Any] = {
    "action": None,
    "status": "ended",
    "criteria": [],
    "actions": [],
    "value": None,
    "upper": None,
    "gap": None,
    "proposal": None,
    "agrees": True,
}
"""What is told in the place of a plan where the run ends."""


def _evidence(criterion: CriterionEvidence, name: str) -> dict[str, Any]:
    """Return what a plan proves of a criterion as JSON values."""
    return {
        "name": name,
        "kind": criterion.kind,
        "level": criterion.level,
        "bound": criterion.bound,
        "kept_bound": criterion.kept_bound,
        "multiplier": _plain(criterion.multiplier),
    }


def _kept(decision: Decision, placed: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return what a run has kept of its ways home where it ends, as JSON values."""
    return [
        {
            "name": placed(name),
            "kind": "return",
            "level": level,
            "bound": 1.0 - account.spent,
            "kept_bound": 1.0 - account.spent,
            "multiplier": 0.0,
        }
        for (name, level, _), account in zip(decision.budgets, decision.held.accounts, strict=False)
    ]


def _home_of(setup: Setup) -> Any:
    """Give where the way home leads: "current", "start", or cells; None where none is kept."""
    for criterion in setup.planner.criteria:
        home = getattr(criterion, "home", None)
        if home is not None:
            return home if isinstance(home, str) else np.atleast_1d(home).tolist()
    return None


def _criterion(criterion: Any) -> dict[str, Any]:
    """Give a criterion as JSON values."""
    level = getattr(criterion, "delta", None)
    if hasattr(criterion, "home"):
        home = criterion.home
        place = {"current": "where it stands", "start": "the start"}
        where = place.get(home, home) if isinstance(home, str) else "one of the bases"
        limit = f" within {criterion.steps} steps" if hasattr(criterion, "steps") else ""
        return {"name": f"return to {where}{limit}", "kind": "return", "level": level}
    if hasattr(criterion, "allowed"):
        return {"name": "stay inside the set", "kind": "stay", "level": level}
    earned = getattr(criterion, "total", level)
    return {"name": type(criterion).__name__, "kind": "earn", "level": earned}


def _plain(value: float) -> float | None:
    """Give a number as JSON, which has no infinities."""
    return float(value) if math.isfinite(value) else None
