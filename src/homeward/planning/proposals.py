"""Where to look next on a move-or-stay graph, at the most gain per step, with a way home.

A failed attempt leaves the explorer where it was, so moving out has no risk. But every state of a
path must have a way home within the budgets. The search has three stages:

1. Outward, for the state with the most gain per step. Its path needs at most `MAX_FREE_SHARE` of
   each remaining budget.
2. Near by, for a path on which looks gain more together (`look_ahead`): gain − price·steps.
3. If nothing reaches the floor, for the most gain per unit of risk within the budgets.

A proposal is pursued until there is news (the remaining gain fell by the floor or more), until it
is done or unsafe, or until another one is better by `SWITCH_MARGIN`. While nothing is learned, its
rate rises with every step, so a run makes progress (``docs/theory.md``, section 13). If only first
looks gain, all will be collected in the end and short tours are best: near gains are preferred, and
cells that are hemmed in by seen ones, for which one would have to come back (`hemmed_in`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, frozen, is_default_zero
from homeward.bonuses import Bonus, Looks, checked_bonus, once
from homeward.models import Moves
from homeward.planning.gain_kernels import (
    EVERYWHERE,
    NO_REACH,
    Ground,
    Reach,
    Scratch,
    follow,
    look_ahead,
    search_outward,
)
from homeward.planning.promise import MAX_FREE_SHARE, Proposal
from homeward.planning.returning import Found
from homeward.planning.returning.shortest_ways import MIN_SUCCESS

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.returning.moves import MoveOptions

MIN_LEFT = 1e-300  # smallest remaining budget, to avoid division by 0
SWITCH_MARGIN = 0.1  # fraction by which another proposal must be better to replace one
BEAM_PRICE = 0.7  # price of a step in the beam search, as a fraction of the best rate
BEAM_WIDTH, BEAM_DEPTH = 24, 12  # of the beam search: width for nine cells, depth in steps
NEAR_POWER = 2.5  # gain / steps**power is maximised if only first looks gain
HEMMED_WEIGHT, HEMMED_POWER = 7.0, 3.0  # see `hemmed_in`; −7 % steps on grids with .2 walls


class Problem(NamedTuple):
    """The search problem in the current state."""

    ground: Ground  # where a path may go, and the risk of coming back
    state: int
    whole: Looks  # all looks, whatever their risk
    left: float  # the remaining gain of all looks
    bonus: FloatArray | None  # [S, A] if a look takes an action, with 0 if that is not allowed

    def looks(self, most: float) -> Looks:
        """Return the looks; those that take a too risky action gain 0.

        An action is too risky if the way home from its destination would spend more than the share
        `most` of a remaining budget.
        """
        if self.bonus is None:
            return self.whole
        share = self.ground.shares(np.arange(len(self.ground.dest)))
        return once(np.where(share[self.ground.dest] <= most, self.bonus, 0.0))

    @property
    def power(self) -> float:
        """The power of the steps by which gains are divided."""
        return 1.0 if self.whole.logarithmic else NEAR_POWER

    def worth(self, proposal: Proposal) -> float:
        """Return the gain of a proposal over its steps to the power."""
        return float(proposal.gain / proposal.steps**self.power)


@dataclass(slots=True, eq=False)
class MoveSearch:
    """Finds proposals on a move-or-stay graph; see `planning.returning.Search`."""

    bonus: Bonus
    floor: float  # smallest gain per step that is worth pursuing, above 0
    allowed: BoolArray | None = None  # mask [S, A] of the actions that may be taken; None: all
    looks_far: ClassVar[bool] = True  # whether to compare the best state with a beam search
    _bounds: FloatArray | None = field(default=None, init=False)  # [S] on gains, which only shrink
    _scratch: Scratch | None = field(default=None, init=False)
    _looking: Callable[[Belief], Looks] | None = field(init=False)  # looks of a bonus that has them

    def __post_init__(self) -> None:
        self._looking = getattr(self.bonus, "looks", None)

    def find(
        self,
        belief: Belief,
        options: Sequence[MoveOptions],
        state: int,
        pursued: Proposal | None,
        *,
        news: float,
        idle: int,
        learn: bool,
    ) -> Found:
        """Return an action and its proposal, or why there is none; see `Search`."""
        if pursued is not None and pursued.max_share > MAX_FREE_SHARE:
            for each in options:
                each.extend()
        problem = self.problem(belief, options, state)
        proposal = None if problem.left <= news else self.pursue(problem, pursued)
        most = MAX_FREE_SHARE if proposal is None else proposal.max_share
        if proposal is None or problem.whole.logarithmic or problem.bonus is not None:
            other = self.best(problem)
            if proposal is None or (
                other is not None
                and problem.worth(other) > problem.worth(proposal) * (1.0 + SWITCH_MARGIN)
            ):
                proposal, most = other, MAX_FREE_SHARE
        rate, gain, share = 0.0, 0.0, np.inf
        if proposal is None or proposal.rate < self.floor:
            rate, most = 0.0 if proposal is None else proposal.rate, 1.0
            for each in options:
                each.extend()
            problem = self.problem(belief, options, state)
            proposal, gain, share = self.risky(problem)
            if proposal is None:  # to report the risk of going on
                whole = [each.whole() for each in options]
                _, gain, share = self.risky(self.problem(belief, whole, state))
        found = Found(None, None, problem.left, rate, gain, share)
        if proposal is None or not learn:
            return self.retreat(belief, options, state, found)
        path = np.array(proposal.path)
        actions, *_ = follow(problem.ground, np.inf, path, problem.whole, False, 0.0, self.scratch)
        action = int(actions[0] if len(actions) else problem.looks(most).action[state])
        return found._replace(action=action, proposal=proposal)

    def retreat(
        self, belief: Belief, options: Sequence[MoveOptions], state: int, refused: Found
    ) -> Found:
        """Return the first move of the way home if the run is limited and away from home."""
        none = refused._replace(action=None, proposal=None)
        for each in options:
            limits, homes = each.returning.goal.limits, each.returning.goal.homes
            if limits is None or not limits.count or each.lost or state in homes:
                continue
            states, actions = each.relied_way()
            if not actions or each.returning.take(each, state, actions[0]).spent == np.inf:
                return none
            proposal = Proposal(tuple(states), 0.0, float(len(actions)))
            return none._replace(action=actions[0], proposal=proposal)
        return none

    def problem(self, belief: Belief, options: Sequence[MoveOptions], state: int) -> Problem:
        """Return the search problem in a state, with the ways home of `options`."""
        model = belief.mean()
        assert isinstance(model, Moves)
        if self._scratch is None:
            self._scratch = Scratch.of(model.states)
        success, allowed = model.success, EVERYWHERE if self.allowed is None else self.allowed
        if not is_default_zero(model.reward):
            success = frozen(np.where(np.isfinite(model.reward), success, 0.0))
        added = options[0].added[None] if len(options) == 1 else np.zeros((0, model.states))
        if len(options) > 1:
            added = np.stack([each.added for each in options])
        left, reach = np.empty(len(options)), NO_REACH
        for k, each in enumerate(options):
            left[k] = -1.0 if each.lost else max(each.left, MIN_LEFT)
            limits = each.returning.goal.limits
            if limits is None or not limits.count:
                continue
            n = limits.count
            home = frozen(np.ascontiguousarray(each.need[:n]))
            amounts = frozen(limits.left(each.promise)[:n])
            reach = Reach(limits.use[:n], limits.lost[:n], amounts, home, limits.pace)
            if each.lost:
                added[k], left[k] = np.inf, 1.0
        ground = Ground(model.dest, success, allowed, added, left, reach)
        if self._looking is not None:
            looks = self._looking(belief)
            return Problem(ground, state, looks, looks.total, None)
        given = checked_bonus(self.bonus, belief, model.reward)
        looks = once(given)
        return Problem(ground, state, looks, looks.total, np.where(allowed, given, 0.0))

    @property
    def scratch(self) -> Scratch:
        """The arrays of the searches."""
        assert self._scratch is not None
        return self._scratch

    def best(self, problem: Problem) -> Proposal | None:
        """Return the proposal with the most gain per step without risk; None without one."""
        looks, ground = problem.looks(MAX_FREE_SHARE), problem.ground
        chosen = looks if looks.logarithmic or looks.extra_steps else hemmed_in(looks)
        reached = self.outward(problem, problem.state, chosen)
        path, gain, steps, share = reached[:4]
        if not len(path):
            return None
        along = False
        if chosen is not looks:
            given = ground, MAX_FREE_SHARE, path, looks, False, 0.0, self.scratch
            gain = follow(*given)[1]
        rate = gain / steps
        if self.looks_far and looks.logarithmic and rate >= self.floor:
            price, width = BEAM_PRICE * rate, BEAM_WIDTH * 9 // len(looks.weight)
            beam = price, max(4, min(BEAM_WIDTH, width)), BEAM_DEPTH
            near = look_ahead(ground, MAX_FREE_SHARE, problem.state, looks, *beam, self.scratch)
            if len(near[0]) > 1 and near[1] - price * near[2] > gain - price * steps:
                (path, gain, steps, share), along = near, True
        return Proposal(tuple(path.tolist()), gain, steps, share, along)

    def outward(
        self, problem: Problem, state: int, looks: Looks, after: float = 0.0, power: float = 0.0
    ) -> tuple[IntArray, float, float, float]:
        """Return the best path without risk from a state, `after` some steps; its gain and steps.

        Also returns its share. The default `power` of the steps is that of the problem.
        """
        if self._bounds is None or not looks.logarithmic or after:
            bounds = np.full(len(looks.amount), np.inf)
            self._bounds = bounds if self._bounds is None else self._bounds
        else:
            bounds = self._bounds
        extra, power = looks.extra_steps + after, power or problem.power
        given = problem.ground, MAX_FREE_SHARE, state, looks, extra, power, 0.0
        reached = search_outward(*given, bounds, looks.highest, False, self.scratch)
        return reached.path, reached.gain, reached.steps, reached.share

    def risky(self, problem: Problem) -> tuple[Proposal | None, float, float]:
        """Return the proposal with the most gain per risk within the budgets.

        Also returns the gain and the share of the least risky state beyond the budgets; 0 and
        infinity without one.
        """
        ground, nowhere = problem.ground, (None, 0.0, np.inf)
        for looks in (problem.looks(1.0), problem.looks(np.inf)):
            bounds = np.full(len(looks.amount), np.inf)
            given = ground, np.inf, problem.state, looks, looks.extra_steps, 1.0, self.floor
            found = search_outward(*given, bounds, looks.highest, True, self.scratch)
            if not len(found.path):
                if found.over_share < np.inf:
                    return None, found.over_gain, found.over_share
                continue
            share = found.share
            if looks.extra_steps:
                end = ground.dest[found.path[-1], looks.action[found.path[-1]]]
                there = float(ground.shares(np.array([end]))[0])
                if there > 1.0:  # the budgets allow the path, but not the action at its end
                    return None, found.gain, there
                share = max(share, there)
            proposal = Proposal(tuple(found.path.tolist()), found.gain, found.steps, share)
            return proposal, found.over_gain, found.over_share
        return nowhere

    def pursue(self, problem: Problem, last: Proposal | None) -> Proposal | None:
        """Return the proposal of the last step, updated; None if it is done, unsafe or too slow."""
        if last is None or problem.state not in last.path[1:]:
            return None
        path, looks = last.path[last.path.index(problem.state, 1) :], problem.looks(last.max_share)
        extra = looks.extra_steps
        if len(path) == 1 and extra == 0.0:
            return None
        given = problem.ground, last.max_share, np.array(path), looks, last.along, extra
        _, gain, steps = follow(*given, self.scratch)
        now = Proposal(path, gain, steps, last.share, last.along)
        return now if gain >= self.floor * steps else None

    def rates(
        self, belief: Belief, options: Sequence[MoveOptions], state: int, found: Found
    ) -> FloatArray:
        """Return the best gain per step [A] of a state without risk, reached after each action."""
        for each in options:
            each.extend()
        problem = self.problem(belief, options, state)
        ground, looks = problem.ground, problem.looks(MAX_FREE_SHARE)
        rates, ends = np.zeros(ground.dest.shape[1]), ground.dest[state]
        for a, share in enumerate(ground.shares(ends)):
            p, there = ground.success[state, a], int(ends[a])
            if p >= MIN_SUCCESS and there != state and share <= 1.0:
                reach = ground.reach
                if len(reach.left):
                    reach = reach._replace(left=frozen(reach.left - reach.use[:, state, a]))
                after = problem._replace(ground=ground._replace(reach=reach))
                _, gain, steps, _ = self.outward(after, there, looks, 1.0 / float(p), 1.0)
                rates[a] = gain / steps
        if found.action is not None and found.proposal is not None:
            rates[found.action] = found.proposal.rate
        return rates


def hemmed_in(looks: Looks) -> Looks:
    """Return looks that gain more from unseen cells whose neighbours are seen.

    An explorer that leaves them behind has to come back for them. With h the share of the eight
    neighbours that have no gain, a gain grows by the factor 1 + `HEMMED_WEIGHT`·h**`HEMMED_POWER`.
    """
    rows, columns = looks.shape
    unseen = np.pad(looks.amount.reshape(rows, columns) > 0.0, 1).astype(np.int64)
    around = sum(
        unseen[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    )
    seen = (8 - np.asarray(around)) / 8.0
    more = 1.0 + HEMMED_WEIGHT * seen**HEMMED_POWER
    return looks._replace(amount=looks.amount * more.ravel())
