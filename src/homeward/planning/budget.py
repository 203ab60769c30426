"""A budget for a whole run: whenever it is called off, the way home that is held works with δ.

The run starts at home. At any time t a return policy ρ is *held*, and Y = Pr(ρ brings us home from
where we are | all that was seen). At first Y = 1. A step takes an action, after which another ρ'
may be held, and is charged a factor κ ≤ 1 with

    E[Y after the step | all that was seen] ≥ κ · Y.

With B the product of the factors, Y/B is a submartingale that starts at 1. So if B ≥ δ always, then
E[Y] ≥ δ at whatever time the run is called off, by any rule that looks only at what was seen.
``docs/theory.md``, section 11, has the proof, how κ is certified, and what is not promised.

On a move-or-stay model a way home is a path. It works if no edge of it is broken, and q ≥ Pr(P = 0)
bounds each edge's chance to be. Going on by a step is charged with the edges that the new ways home
have and the held one has not, weighed against what is held; or, if that is cheaper, with the
ratio of a lower bound on the new ways to an upper bound on the held one. Following ρ itself is
free, and so is walking about where every move back is known. On a general model following ρ is
free, and anything else is charged with its corrected one-step value; where ρ can't lead home any
more, Y = 0, and nothing costs anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numba import njit

from homeward.arrays import FloatArray, IntArray, frozen, number, unless_given
from homeward.errors import InvalidFileError, InvalidProblemError
from homeward.models import Moves, SparseMDP
from homeward.planning.plan import Evidence, Verdict
from homeward.planning.planner import Planner
from homeward.safety import Correction, ReturnHome
from homeward.solvers import GIVE_UP

if TYPE_CHECKING:
    from homeward.beliefs import Belief, MoveBelief
    from homeward.planning.plan import ActionEvidence, Plan
    from homeward.safety import Requirement, Situation

SLACK = 1e-9
"""How far B may be below δ: rounding, which adds up over a run."""

UNIT = 2.0**-52
LEAST = 1e-250
"""A chance of success below this is not counted on."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Called off at any time, a run comes home with probability δ, over the worlds of the prior.

    For an `Explorer` whose planner has one `ReturnHome` with ``home="start"``: the level of that is
    then set anew for each plan, by what is left.
    """

    delta: float

    def __post_init__(self) -> None:
        if not 0.0 < number(self.delta, "δ of the budget", InvalidProblemError) <= 1.0:
            raise InvalidProblemError(f"δ of the budget is {self.delta:g}, expected 0 < δ <= 1")


@dataclass(frozen=True, slots=True, eq=False)
class Holding:
    """What a run holds: a way home, and how much of certainty is kept."""

    policy: IntArray  # [S] ρ; −1 at home and where it does not lead
    kept: float = 1.0  # B, the product of all κ
    homing: bool = False  # the run is over but for the way home

    @classmethod
    def at_home(cls, states: int) -> Holding:
        """Hold what a run starts with: it is at home."""
        return cls(frozen(np.full(states, GIVE_UP, np.int32)))

    def encode(self) -> dict[str, Any]:
        """Give a JSON value; the way is written as states and the actions in them."""
        states = np.flatnonzero(self.policy != GIVE_UP)
        way = [states.tolist(), self.policy[states].tolist()]
        return {"kept": self.kept, "homing": self.homing, "way": way}

    @classmethod
    def decode(cls, value: Any, states: int) -> Holding:
        """Read what `encode` gave, of a model with so many states."""
        try:
            policy = np.full(states, GIVE_UP, np.int32)
            there, actions = value["way"]
            policy[np.array(there, np.intp)] = actions
            kept, homing = float(value["kept"]), bool(value["homing"])
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as cause:
            raise InvalidFileError(f"what the run holds can't be read: {cause}") from cause
        return cls(frozen(policy), kept, homing)


class Ration:
    """The start criterion of a run with a budget; `share` of the way home is to be kept.

    The level is relative to the way home v there is from here. A plan is recalled before its first
    step with chance 1 − γ and then keeps v, so to keep a share of v after it the whole must keep
    v·(1 − γ(1 − share)). It is what steers a plan; what proves anything is the charge.
    """

    def __init__(self, share: float) -> None:
        self.share = share

    def require(self, situation: Situation, out: FloatArray | None = None) -> Requirement:
        """Ask for a way home to the start."""
        asked = ReturnHome(1.0, "start").require(situation, out)
        onward = situation.discount if situation.steps is None else 1.0
        sure = float(asked.returns.value[situation.state])
        return replace(asked, level=sure * (1.0 - onward * (1.0 - self.share)))


class Treasurer:
    """Says what a run can afford: its planner's start criterion is rationed, its steps charged."""

    def __init__(self, budget: Budget, planner: Planner, home: int) -> None:
        if not isinstance(budget, Budget):
            raise InvalidProblemError(f"the budget is {budget!r}, expected a Budget")
        criteria = list(planner.criteria)
        found = [k for k, c in enumerate(criteria) if isinstance(c, ReturnHome)]
        starts = [k for k in found if _is_start(criteria[k])]
        if len(starts) != 1:
            others = ", ".join(repr(criteria[k]) for k in found if k not in starts)
            raise InvalidProblemError(
                f'a budget needs one ReturnHome with home="start", the planner has {len(starts)}'
                + (f", and {others}" if others else "")
            )
        if planner.correction is Correction.NAIVE:
            raise InvalidProblemError("a budget needs bounds that hold, not the naive correction")
        self.budget = budget
        self.home = home
        self.ration = Ration(budget.delta)
        self._which = starts[0]
        criteria[self._which] = self.ration
        self.planner = replace(planner, criteria=tuple(criteria))
        self._homing = Planner(
            _nothing, (self.ration,), planner.discount, planner.correction, planner.method
        )

    def divide(self, holding: Holding) -> None:
        """Let the next plan have what is left."""
        self.ration.share = min(1.0, self.budget.delta / holding.kept)

    def afford(self, holding: Holding, belief: Belief, plan: Plan) -> Holding | None:
        """Give what is held after the plan's action, None if it costs more than is left."""
        ground = self._ground(belief, plan, self._which)
        held = ground.improved(holding.policy, plan.state)
        charge = ground.charge(held, plan.state, plan.action)
        kept = holding.kept * charge.factor
        if kept < self.budget.delta - SLACK:
            return None
        return Holding(charge.policy, kept)

    def lead(
        self, holding: Holding, belief: Belief, state: int, previous: Plan | None
    ) -> tuple[Plan, Holding] | None:
        """Give the next step on the way home, which costs nothing; None where there is none.

        A way home that is certainly no worse takes the place of the one that is held.
        """
        self.divide(holding)
        plan = self._homing.plan(belief, state, self.home, previous)
        ground = self._ground(belief, plan, 0)
        policy = ground.improved(holding.policy, state)
        action = int(policy[state])
        if state == self.home or action == GIVE_UP or not ground.hopeful(policy, state):
            return None
        held = Holding(policy, holding.kept, homing=True)
        return _on_the_way_home(plan, policy, ground.least(policy, state)), held

    def after(self, holding: Holding, belief: Belief, state: int) -> Holding:
        """Forget what of a held policy can't be met from a state on a move-or-stay model."""
        model = belief.mean()
        if not isinstance(model, Moves):
            return holding
        return replace(holding, policy=frozen(pruned(model.dest, holding.policy, state, self.home)))

    def _ground(self, belief: Belief, plan: Plan, which: int) -> Ground:
        model = belief.mean()
        way = plan.criteria[which]
        if not isinstance(model, Moves):
            return General(belief, way.return_policy, way.way_home, self.home)
        exact = hasattr(belief, "move_corrections")
        returning = (
            cast("MoveBelief", belief).move_corrections(plan.discount)[0]
            if exact
            else np.full(model.success.shape, -np.inf)
        )
        bounds = getattr(belief, "success_bounds", None)
        likely = model.success if bounds is None else bounds()[1]
        return Paths(model, returning, exact, way.return_policy, self.home, likely)


class Charge(NamedTuple):
    """What a step costs, and what is held after it."""

    factor: float  # κ
    policy: IntArray  # [S]


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """A move-or-stay model, on which a way home is a path."""

    model: Moves
    returning: FloatArray  # [S, A] −p·Pr(P = 0), or less
    exact: bool  # it is not less
    best: IntArray  # [S] the best way home that is known
    home: int
    likely: FloatArray = unless_given()  # [S, A] ≥ the chance of success; the model's unless given

    def __post_init__(self) -> None:
        if self.likely is None:
            object.__setattr__(self, "likely", self.model.success)

    def improved(self, held: IntArray, state: int) -> IntArray:
        """Give the best way home where it is certainly no worse than the held one."""
        _, most = self._follow(held, state)
        least, _ = self._follow(self.best, state)
        return self.best if least >= most else held

    def least(self, held: IntArray, state: int) -> float:
        """Bound from below the probability that a way home works."""
        return self._follow(held, state)[0]

    def hopeful(self, held: IntArray, state: int) -> bool:
        """Tell whether the next move of a way home may work."""
        return bool(self.likely[state, held[state]] > 0.0)

    def charge(self, held: IntArray, state: int, action: int) -> Charge:
        """Find the cheapest way to take an action and hold a way home after it."""
        dest, success = self.model.dest, self.model.success
        there = int(dest[state, action])
        least, most = self._follow(held, state)
        wide = 1.0 + (len(held) + 8) * UNIT
        candidates = [
            self.best,
            joined(dest, held, self.best, state, there, self.home),
            turned(
                dest,
                np.where(np.isfinite(self.model.reward[there]), success[there], 0.0),
                self.returning[there],
                held,
                state,
                there,
                self.home,
            ),
        ]
        found = Charge(0.0, held)
        for policy in candidates:
            likely = self.likely[state, action]
            loss, total = prices(
                dest, success, self.returning, held, policy, state, action, likely, self.home
            )
            factor = 1.0
            if loss > 0.0 and total > 0.0 and most > 0.0:
                difference = 1.0 - loss * wide / least if loss * wide < least else 0.0
                ratio = (1.0 - total * wide) / most
                factor = min(1.0, max(0.0, difference, ratio) * (1.0 - 4.0 * UNIT))
            if factor > found.factor:
                found = Charge(factor, policy)
        return found

    def _follow(self, policy: IntArray, state: int) -> tuple[float, float]:
        return bounds_of(
            self.model.dest,
            self.model.success,
            self.returning,
            self.likely,
            self.exact,
            policy,
            state,
            self.home,
        )


@dataclass(frozen=True, slots=True, eq=False)
class General:
    """Any other model, on which only what the lemma says of one step is known."""

    belief: Belief
    best: IntArray  # [S]
    value: FloatArray  # [S] v, a lower bound on the probability that it leads home
    home: int

    def improved(self, held: IntArray, state: int) -> IntArray:
        """Give the best way home where it is certain or the held one is lost, else the held one."""
        if state == self.home:
            return held
        return self.best if self.value[state] >= 1.0 or not self.hopeful(held, state) else held

    def least(self, held: IntArray, state: int) -> float:
        """Bound from below the probability that a way home works."""
        return float(self.value[state]) if (held == self.best).all() else 0.0

    def hopeful(self, held: IntArray, state: int) -> bool:
        """Tell whether a policy may lead home: whether home can be reached on the mean model.

        What some world may do, the mean may do. So where home can't be reached Y = 0.
        """
        model = self.belief.mean()
        assert isinstance(model, SparseMDP)
        rows = model.transitions
        return bool(
            leads_home(rows.indptr, rows.indices, rows.data, model.actions, held, state, self.home)
        )

    def charge(self, held: IntArray, state: int, action: int) -> Charge:
        """Charge an action that is not the held way's own with E[W] ≥ σ + Σ p v after it."""
        if state != self.home and action == held[state]:
            return Charge(1.0, held)
        if not self.hopeful(held, state):
            return Charge(1.0, self.best)
        row = self.belief.mean().row(state, action)
        after = float(row @ self.value) + float(self.belief.correction()[state, action])
        allowed = (len(row) + 8) * UNIT
        return Charge(min(1.0, max(0.0, after - allowed)), self.best)


Ground = Paths | General
"""What is known of where we go; it says what a step costs."""


def _is_start(criterion: Any) -> bool:
    return isinstance(criterion.home, str) and criterion.home == "start"


def _nothing(belief: Any) -> FloatArray:
    """Find nothing worth seeing."""
    model = belief.mean()
    return np.zeros((model.states, model.actions))


def _on_the_way_home(plan: Plan, policy: IntArray, least: float) -> Plan:
    """Give a plan that does nothing but follow a way home, and proves what that does."""
    action = int(policy[plan.state])
    (way,) = plan.criteria
    told = plan.evidence

    def verdict(e: ActionEvidence) -> Verdict:
        if e.action == action:
            return Verdict.CHOSEN
        return Verdict.WORTH_LESS if e.verdict is Verdict.CHOSEN else e.verdict

    def tell() -> tuple[ActionEvidence, ...]:
        return tuple(e._replace(verdict=verdict(e)) for e in told)

    followed = np.where(policy == GIVE_UP, 0, policy)[None]
    return replace(
        plan,
        action=action,
        kept_weights=np.ones(1),
        kept_outbound=followed,
        kept_value=0.0,
        criteria=(replace(way, kept_bound=least, return_policy=policy),),
        evidence=Evidence(tell),
        waits=False,
    )


@njit(cache=True)
def leads_home(
    indptr: IntArray,
    indices: IntArray,
    data: FloatArray,
    actions: int,
    policy: IntArray,
    state: int,
    home: int,
) -> bool:
    """Tell whether a policy may lead home, over rows [S·A] of transitions."""
    seen, ahead = np.zeros(len(policy), np.bool_), np.empty(len(policy), np.int64)
    seen[state], ahead[0], count = True, state, 1
    while count > 0:
        count -= 1
        here = ahead[count]
        if here == home:
            return True
        if policy[here] < 0:
            continue
        row = here * actions + policy[here]
        for k in range(indptr[row], indptr[row + 1]):
            there = indices[k]
            if data[k] > 0.0 and not seen[there]:
                seen[there], ahead[count] = True, there
                count += 1
    return False


@njit(cache=True)
def broken(success: float, returning: float) -> float:
    """Bound from above the chance q = Pr(P = 0) that a move never works."""
    if success < LEAST:
        return 1.0
    return min(1.0 - success, -returning / success)


@njit(cache=True)
def arrives(dest: IntArray, policy: IntArray, state: int, home: int, path: IntArray) -> int:
    """Write the states of a way home to `path` [S]; give their number, −1 if it does not arrive."""
    count = 0
    while state != home:
        if count == len(policy) or policy[state] < 0:
            return -1
        path[count] = state
        count += 1
        state = dest[state, policy[state]]
    return count


@njit(cache=True)
def bounds_of(
    dest: IntArray,
    success: FloatArray,
    returning: FloatArray,
    likely: FloatArray,
    exact: bool,
    policy: IntArray,
    state: int,
    home: int,
) -> tuple[float, float]:
    """Bound the probability that a way home works: 1 − Σ q from below, min Pr(P > 0) from above.

    Where `returning` is not exact, or `success` only a lower bound on a chance that may be as much
    as `likely`, a move that may work at all may be one that always does.
    """
    path = np.empty(len(policy), np.int64)
    count = arrives(dest, policy, state, home, path)
    if count < 0:
        return 0.0, 0.0
    lost, most = 0.0, 1.0
    for s in path[:count]:
        p, sigma = success[s, policy[s]], returning[s, policy[s]]
        lost += broken(p, sigma)
        if likely[s, policy[s]] == 0.0:
            most = 0.0
        elif exact and p >= LEAST and likely[s, policy[s]] == p:
            most = min(most, 1.0 + sigma / p * (1.0 - 8.0 * UNIT))
    return max(0.0, 1.0 - lost * (1.0 + (count + 8) * UNIT)), max(0.0, most)


@njit(cache=True)
def prices(
    dest: IntArray,
    success: FloatArray,
    returning: FloatArray,
    held: IntArray,
    new: IntArray,
    state: int,
    action: int,
    likely: float,
    home: int,
) -> tuple[float, float]:
    """Bound what may go wrong in a step after which `new` is held instead of `held`.

    First the probability that the held way would have worked and the new one does not, then that
    the new one does not. It leads from where the move leads, or if that fails from here. Some edges
    are on both ways (they may be broken whether it works or not), some on one. The move works with
    its `success` at least and with chance `likely` at most.
    """
    states = len(dest)
    there, p = dest[state, action], success[state, action]
    path, onward = np.empty(states, np.int64), np.empty(states, np.int64)
    on_held, from_here = np.zeros(states, np.bool_), np.zeros(states, np.bool_)
    for s in path[: max(0, arrives(dest, held, state, home, path))]:
        on_held[s] = True
    here_count = arrives(dest, new, state, home, path)
    there_count = arrives(dest, new, there, home, onward)
    for s in path[: max(0, here_count)]:
        from_here[s] = True
    both, here, beyond = np.zeros(2), np.zeros(2), np.zeros(2)  # beyond the held way, and in all
    for s in onward[: max(0, there_count)]:
        q = broken(success[s, new[s]], returning[s, new[s]])
        sums = both if from_here[s] else beyond
        sums[1] += q
        if not (on_held[s] and held[s] == new[s]):
            sums[0] += q
        from_here[s] = False
    for s in path[: max(0, here_count)]:
        if from_here[s]:
            q = broken(success[s, new[s]], returning[s, new[s]])
            here[1] += q
            if not (on_held[s] and held[s] == new[s]):
                here[0] += q
    if here_count < 0:
        here[:] = 1.0
    if there_count < 0:
        beyond[:] = 1.0
    loss = both[0] + min(likely, beyond[0]) + min(1.0 - p, here[0])
    total = both[1] + min(likely, beyond[1]) + min(1.0 - p, here[1])
    return loss, total


@njit(cache=True)
def joined(
    dest: IntArray, held: IntArray, best: IntArray, state: int, there: int, home: int
) -> IntArray:
    """Give the held policy with the best way from `there` on, until that meets the held one."""
    policy, path = held.copy(), np.empty(len(held), np.int64)
    on_held = np.zeros(len(held), np.bool_)
    for s in path[: max(0, arrives(dest, held, state, home, path))]:
        on_held[s] = True
    for _ in range(len(held)):
        if there == home or on_held[there] or best[there] < 0:
            break
        policy[there] = best[there]
        there = dest[there, best[there]]
    return policy


@njit(cache=True)
def turned(
    dest: IntArray,
    success: FloatArray,
    returning: FloatArray,
    held: IntArray,
    state: int,
    there: int,
    home: int,
) -> IntArray:
    """Give the held policy with the surest move back to `state` from `there`.

    `success` and `returning` [A] are those of `there`.
    """
    policy, path = held.copy(), np.empty(len(held), np.int64)
    for s in path[: max(0, arrives(dest, held, state, home, path))]:
        if s == there:
            return policy
    least = 1.0
    for a in range(dest.shape[1]):
        q = broken(success[a], returning[a])
        if dest[there, a] == state and q < least:
            policy[there], least = a, q
    return policy


@njit(cache=True)
def pruned(dest: IntArray, policy: IntArray, state: int, home: int) -> IntArray:
    """Give a policy that says no more than how to get home from `state`."""
    way = np.full(len(policy), -1, policy.dtype)
    for _ in range(len(policy)):
        if state == home or policy[state] < 0:
            break
        way[state] = policy[state]
        state = dest[state, policy[state]]
    return way
