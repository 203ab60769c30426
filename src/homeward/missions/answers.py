"""The answers of a mission from its record: the next move, the way home, and the status."""

from __future__ import annotations

from typing import Any

from homeward.errors import InvalidInputError
from homeward.missions.reports import Fault, ReportError
from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explorer import WayHome
from homeward.replay import Replay
from homeward.runs.config import Config
from homeward.runs.kind import Kind
from homeward.runs.run import Run
from homeward.runs.vehicle import Vehicle
from homeward.words import why_ended


def describe_place(vehicle: Vehicle, state: int) -> list[int] | str:
    """Return a state as row and column, or by its name."""
    shape = getattr(vehicle.setup.belief, "shape", None)
    if shape is not None:
        return list(divmod(int(state), shape[1]))
    return vehicle.setup.belief.mean().state_name(state)


class Answers:
    """The answers of a mission after its last report."""

    def __init__(self, run: Run, kind: Kind, config: Config) -> None:
        self.replay = Replay(run.directory)
        self.vehicle = kind.vehicle_class()(config)

    def next(self) -> dict[str, Any]:
        """Return the next move with its evidence; see `Mission.next`."""
        self._check()
        step, state = len(self.replay.log), self.state
        model, final = self.vehicle.setup.belief.mean(), self.vehicle.world.final
        why: dict[str, Any]
        if final is not None and final[state]:
            text = why_ended(End.LOST, step)
            why = {"action": None, "end": End.LOST, "sentence": text, "explanation": text}
        else:
            why = self.replay.why(step)
        action, to, move, line = why["action"], None, None, None
        if action is not None:
            move = model.action_name(action)
            if isinstance(model, Moves):
                there = int(model.dest[state, action])
                to, line = describe_place(self.vehicle, there), self.vehicle.line(state, there)
        shared = ("end", "sentence", "explanation", "criteria", "actions", "proposal")
        return {
            "step": step,
            "position": describe_place(self.vehicle, state),
            "move": move,
            "action": action,
            "to": to,
            "line": line,
            **{key: why.get(key) for key in shared},
            **self._told(self._ways()),
        }

    def recall(self) -> dict[str, Any]:
        """Return the way home; see `Mission.recall`."""
        self._check()
        ways = self._ways()
        return {
            "step": len(self.replay.log),
            "position": describe_place(self.vehicle, self.state),
            **self._told(ways),
            **self.vehicle.on_map(ways),
        }

    def status(self) -> dict[str, Any]:
        """Return the status of the mission; see `Mission.status`."""
        manifest = self.replay.run.manifest
        world: Any = self.replay.setup.world
        status: dict[str, Any] = {
            "kind": self.replay.run.kind,
            "steps": len(self.replay.log),
            "created": manifest.created,
            "updated": manifest.updated,
            "start": describe_place(self.vehicle, world.start),
            "has_first_look": world.first is not None,
        }
        if world.first is None:
            return {**status, "position": status["start"], "promise": None}
        place = describe_place(self.vehicle, self.state)
        return {**status, "position": place, "promise": self._promise(self._ways())}

    @property
    def state(self) -> int:
        """The state of the vehicle."""
        log = self.replay.log
        return int(log.nexts[-1]) if len(log) else int(self.replay.history.start)

    def _check(self) -> None:
        """Raise if there is no first look yet, or if the record is damaged."""
        world: Any = self.replay.setup.world
        if world.first is None:
            raise ReportError(
                Fault.NO_LOOK, "nothing was reported yet: report a first look from the start"
            )
        if self.replay.log.damage is not None:
            raise InvalidInputError(f"{self.replay.log.path}: {self.replay.log.damage}")

    def _ways(self) -> list[WayHome]:
        """Return the way home that is relied on for each return criterion."""
        step, decisions = len(self.replay.log), self.replay.decisions
        assert decisions is not None
        belief, run = self.replay.history.at(step), decisions.kept.at(step)
        return decisions.rules().ways_home(belief, run, self.state)

    def _told(self, ways: list[WayHome]) -> dict[str, Any]:
        """Return the ways home, and what is still promised of them, as JSON values."""
        return {"ways_home": [self._way(way) for way in ways], "promise": self._promise(ways)}

    def _way(self, way: WayHome) -> dict[str, Any]:
        """Return a way home as JSON values."""
        model = self.vehicle.setup.belief.mean()
        moves = [
            {"move": model.action_name(a), "action": a, "to": describe_place(self.vehicle, s)}
            for a, s in zip(way.actions, way.states[1:], strict=True)
        ]
        value: dict[str, Any] = {
            "homes": [describe_place(self.vehicle, home) for home in way.homes],
            "is_home": self.state in way.homes,
            "probability": way.probability,
            "moves": moves,
        }
        if way.policy is not None:  # on a general model: the action in each state
            value["policy"] = {
                str(describe_place(self.vehicle, state)): model.action_name(action)
                for state, action in enumerate(way.policy.tolist())
                if action >= 0
            }
        return value

    def _promise(self, ways: list[WayHome]) -> dict[str, Any]:
        """Return whether the safety levels hold, and for each level what is spent and left.

        ``end`` is `End.REFUTED` if what happened contradicts the belief, and else None. A level is
        ``lost`` if nothing is proven of its way home, which it allows with probability 1 − δ.
        """
        decisions, step = self.replay.decisions, len(self.replay.log)
        assert decisions is not None
        goals, run = decisions.rules().goals, decisions.kept.at(step)
        budgets = [
            {
                "level": goal.delta,
                "kept": max(0.0, 1.0 - promise.spent),
                "spent": promise.spent,
                "left": max(0.0, 1.0 - goal.delta - promise.spent),
                "used": list(promise.used),
                "lost": way.probability <= 0.0 and self.state not in way.homes,
            }
            for goal, promise, way in zip(goals, run.promises, ways, strict=True)
        ]
        holds = bool(budgets) and not run.refuted and not any(b["lost"] for b in budgets)
        holds = holds and all(b["kept"] >= b["level"] - 1e-9 for b in budgets)  # type: ignore[operator]
        end = End.REFUTED if run.refuted else None
        return {"end": end, "holds": holds, "kept": run.kept, "budgets": budgets}
