"""The paper's Algorithm 1: solve one constrained MDP per step and take its safest action.

Each plan guarantees δ on its own, from the state where it is made. The run as a whole has no
guarantee and may go back and forth for ever (``docs/theory.md``, section 6). The reproductions of
the paper use it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from homeward.arrays import FloatArray
from homeward.beliefs.observations import Labels, Transition
from homeward.errors import InfeasibleError
from homeward.models import Moves
from homeward.planning.ends import End
from homeward.planning.explorer import NOTHING_FOUND, Bound, Decision, Loop, Step
from homeward.planning.promise import RunState
from homeward.solvers import Status
from homeward.words import floored

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.algorithm1 import Planner
    from homeward.planning.plan import Plan
    from homeward.worlds import World

FRUITLESS = 100  # infeasible plans in a row, without news or a new state, until a run ends
CHANCE_TOLERANCE = 1e-12  # largest difference of two probabilities that counts as rounding


class PaperExplorer(Loop):
    """Explores a world by the paper's Algorithm 1.

    If no policy meets the level, it follows the safest one, and the plan's status is infeasible. It
    ends after `FRUITLESS` such steps without progress. With `strict` it raises `InfeasibleError`
    instead, if something is left to explore and the action would not keep every level.
    """

    def __init__(
        self, planner: Planner, belief: Belief, world: World, *, strict: bool = False
    ) -> None:
        super().__init__(planner, belief, world, strict=strict)
        self._fruitless = 0  # infeasible plans in a row without progress
        self._met: frozenset[int] = frozenset()  # states in which such plans were made
        self._learned: FloatArray | None = None  # probabilities of the mean model at the first one

    def step(self) -> Step | None:
        """Plan, act and observe once; or set `end` and return None."""
        began = time.perf_counter()
        plan = self._wanted()
        seconds = time.perf_counter() - began
        if plan is None:
            return None
        before, observation = self.here, self.world.act(plan.action)
        self.learn(observation, Transition(before, plan.action, self.here))
        self.steps += 1
        decision = decision_of(plan)
        return Step(self.steps, decision, observation, self.here, None, seconds, plan)

    def _wanted(self) -> Plan | None:
        """Return the next plan; if the run ends, set `end` and return None."""
        state = self.here
        model = self.belief.mean()
        if self.steps and not all(c.permits(model, state) for c in self.planner.criteria):
            self.end = End.OUTSIDE  # the planner refuses such a start
            return None
        plan = self.planner.plan(self.belief, state, self.start, self.plan)
        self.plan = plan
        infeasible = plan.status is Status.INFEASIBLE
        self.count_fruitless(infeasible)
        if not plan.bonus_left:
            self.end = End.ALL_SEEN
        elif infeasible:
            over = plan.waits or self._fruitless > FRUITLESS
            self.end = End.INFEASIBLE if over else None
        elif plan.worthless or plan.waits:
            is_mixed = any(e.weight > 0 for e in plan.evidence if e.action != plan.action)
            self.end = End.ALL_SAFE_SEEN if plan.criteria else End.OUT_OF_REACH
            if is_mixed and not plan.worthless:
                self.end = End.ONLY_BY_CHANCE
        kept = all(c.kept_by_correction for c in plan.criteria)  # the plan was chosen by these
        if self.strict and not kept and self.end in (None, End.INFEASIBLE):
            self.end = End.INFEASIBLE
            raise InfeasibleError(_refusal(plan))
        return plan if self.end is None else None

    def count_fruitless(self, infeasible: bool) -> None:
        """Count the infeasible plans in a row in states that had one since the last news."""
        state = self.here
        if not infeasible:
            self._fruitless, self._met, self._learned = 0, frozenset(), None
            return
        model = self.belief.mean()
        chances = model.success if isinstance(model, Moves) else model.transitions.data
        old = self._learned
        if old is None or old.shape != chances.shape or abs(old - chances).max() > CHANCE_TOLERANCE:
            self._met, self._learned = frozenset(), chances
        self._fruitless = self._fruitless + 1 if state in self._met else 0
        self._met |= {state}


def decision_of(plan: Plan) -> Decision:
    """Return the decision of a plan, with the bounds of the policies that start with its action."""
    bounds = tuple(
        Bound(c.name, c.kind, c.level, float(c.kept_bound), str(c.evaluator)) for c in plan.criteria
    )
    labels = Labels(0, 0, plan.state_names, plan.action_names)
    found = NOTHING_FOUND._replace(action=plan.action)
    return Decision(plan.state, plan.action, RunState(), found, bounds, labels=labels)


def _refusal(plan: Plan) -> str:
    """Return the message of an infeasible plan: the levels that no action meets."""
    kept = ", ".join(
        f"{c.name} at {c.level:g} (the safest action has {floored(c.kept_corrected, 4)})"
        for c in plan.criteria
    )
    message = f"no action in {plan.state_name(plan.state)} meets {kept}"
    if len(plan.criteria) > 1 and plan.conflict:
        names = [f"{plan.criteria[k].name} at {plan.criteria[k].level:g}" for k in plan.conflict]
        message += f"; no policy meets {' and '.join(names)}"
        message += " together" if len(names) > 1 else ", even alone"
    return message
