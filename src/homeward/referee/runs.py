r"""Audit of a run whose level δ holds for the whole run, step by step.

After each step, a run relies on a set E of edges. Let Y = Pr(every edge of E works | observations)
if E contains a path home from the current state, and Y = 0 otherwise. Observations do not change
the expectation of Y; only a change of E does. Let b(e) be the probability that edge e never works.
A change from E to E' lowers Y by at most each of

- Σ b(e) over the edges of E' that are not in E, if E' contains a path home;
- (1 − max b(e) over the path home in E) − max(0, 1 − Σ b(e) over E'). Without a path home in E or
  E', the respective term is 0;
- what the belief knows: Pr(E works) − Pr(E' works), or the loss by adding the new edges.

The run must have spent at least the smallest of these. Then Y plus the spent risk is a
submartingale: if at most 1 − δ is spent, E[Y] ≥ δ at every recall. If a claim limits the way home,
in steps or amounts such as energy, only the first attempt of each edge counts. A move's outcome
that the belief held impossible ends all claims. `audit_sampled` judges runs on general models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import IntArray
from homeward.beliefs import Belief
from homeward.beliefs.base import MoveSets
from homeward.models import Moves
from homeward.referee.certificate import HomeVerdict
from homeward.referee.exact import GIVE_UP, dense_transitions, exact_return

BUDGET_TOLERANCE = 1e-9  # largest amount by which the spent risk may exceed 1 − δ
SUM_TOLERANCE = 1e-12  # largest relative error of a sum
JOINT_TOLERANCE = 5e-10  # largest error of a joint probability that a belief integrates
MAX_REASONS = 5  # most reasons that are listed per home; others are only counted
WORLDS = 500  # number of worlds that `audit_sampled` draws for each step
DOUBT = 1e-3  # α: largest probability that a run with correct estimates is refuted
RATE = 0.5  # λ of the inequality of `audit_sampled`
SEED = 20_000  # seed of its worlds
ROUNDING = 1e-12  # a row of a drawn world that lacks less than this does not end the process
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, OverflowError)

Edge = tuple[int, int]  # a state and an action


class HomeClaim(NamedTuple):
    """A run's claim that it can return home with probability at least `level`."""

    name: str
    homes: frozenset[int]  # states that count as home
    level: float  # δ of the whole run
    within: int | None = None  # largest number of moves of a return; None for any number
    limits: tuple[Any, ...] = ()  # each `criteria.Limit`: an amount the run may use

    @property
    def at_once(self) -> bool:
        """Whether every move of a return must work at its first attempt."""
        return self.within is not None or bool(self.limits)


def why_not_auditable(belief: Belief) -> str | None:
    """Return the reason why a run with this belief can't be audited; None if it can."""
    model = belief.mean()
    if not isinstance(model, Moves):
        return "its model is not a move-or-stay graph"
    if (np.isfinite(model.reward) & (model.reward != 0.0)).any():
        return "its model has rewards"
    return None


def audit(
    claims: Sequence[HomeClaim], steps: Iterable[tuple[Any, Belief]]
) -> tuple[HomeVerdict, ...]:
    """Return one verdict per home: whether every step kept a path home and spent enough risk.

    A step is a pair: its record (`step`, `state`, `action`, `next_state`, `holding`), and the
    belief before the step.
    """
    accounts = [_Account(claim, k) for k, claim in enumerate(claims)]
    for record, belief in steps:
        risks = _Risks(belief)
        for account in accounts:
            account.check(record, risks)
    return tuple(account.verdict() for account in accounts)


class _Risks:
    """The probabilities that the edges of a belief's graph never work."""

    def __init__(self, belief: Any) -> None:
        model = belief.mean()
        self.belief, self.dest = belief, model.dest  # [S, A] next state if the edge works
        most = np.asarray(belief.blocked_probability(), np.float64)
        least = most.copy()
        moves, known = belief.least_blocked()
        least.reshape(-1)[moves] = known
        shut = ~np.isfinite(model.reward)  # an edge that can't be chosen never works
        self.most, self.least = np.where(shut, 1.0, most), np.where(shut, 1.0, least)  # [S, A]
        # Whether an edge that ever works does so at the first attempt.
        self.at_once: bool = belief.moves_work_or_never

    def total(self, way: IntArray) -> float:
        """Return Σ Pr(edge never works) over the edges `way` [S], one action per state or −1."""
        states = np.flatnonzero(way >= 0)
        return float(self.most[states, way[states]].sum())

    def path(self, way: IntArray, state: int, homes: frozenset[int]) -> list[Edge] | None:
        """Return the edges of the path home from a state; None if there is no path."""
        passed: list[Edge] = []
        while state not in homes:
            action = int(way[state])
            if action < 0 or len(passed) > len(way):
                return None
            passed.append((state, action))
            state = int(self.dest[state, action])
        return passed

    def lost(self, before: IntArray, after: IntArray, *, joint: bool) -> float:
        """Return an upper bound on Pr(all edges `before` work) − Pr(all edges `after` work).

        Without `joint`, only the sum of the risks of new edges is used.
        """
        new = np.where(after == before, -1, after)
        risk = self.total(new)
        if risk <= 0.0 or not joint:
            return risk
        held, later, added = self._edges(before), self._edges(after), self._edges(new)
        known: float = self.belief.lost_by_adding(_sets(held, [*held, *added]))
        bounds = self.belief.work_together(_sets(held, later))
        known = min(known, float(bounds.high[0] - bounds.low[1]))
        rounding = 0.0 if self.belief.evaluator == "exact" else JOINT_TOLERANCE
        return min(risk, max(0.0, known - rounding))

    def _edges(self, way: IntArray) -> list[Edge]:
        """Return the edges of `way` [S] that may never work."""
        edges = ((int(s), int(way[s])) for s in np.flatnonzero(way >= 0))
        return [edge for edge in edges if self.most[edge] > 0.0]

    def rules_out(self, step: Any) -> bool:
        """Return whether the belief held the opposite outcome of a recorded move certain."""
        tried = step.state, step.action
        there = self.dest[tried]
        if there == step.state:
            return bool(step.next_state != there)
        if step.next_state == step.state:
            return self.at_once and float(self.most[tried]) <= BUDGET_TOLERANCE
        return bool(step.next_state != there or 1.0 - self.least[tried] <= BUDGET_TOLERANCE)


class _Account:
    """The state of the audit of one home after the last record: edges and spent risk."""

    def __init__(self, claim: HomeClaim, k: int) -> None:
        self.claim, self.k, self.unread = claim, k, False  # number `k` in the records
        self.way: IntArray | None = None  # [S] action of the edge out of each state, −1 for none
        self.spent, self.charged, self.steps = 0.0, 0.0, 0
        self.used = [0.0] * len(claim.limits)
        self.level = claim.level  # δ; it falls when someone moves the explorer
        self.reasons: list[str] = []

    def check(self, step: Any, risks: _Risks) -> None:
        """Check the record of one step, unless an earlier one can't be read."""
        if self.unread:
            return
        k, shape, charge = self.k, risks.dest.shape, 0.0
        joint = risks.at_once or not self.claim.at_once
        try:
            if self.way is None:  # the path home from the start is charged before the first step
                nothing = np.full(shape[0], -1)
                self.way = changed(nothing, step.holding["opened"][k], shape)
                charge = risks.lost(nothing, self.way, joint=joint)
            way = changed(self.way, step.holding["ways"][k], shape)
            spent = [float(x) for x in step.holding["spent"]]
            kept = float(step.holding["kept"])
            paid = spent[k] - self.spent
        except UNREADABLE as cause:
            self.unread = True
            reason = f"the record can't be read ({type(cause).__name__}: {cause})"
            self.reasons.append(f"step {step.step}: {reason}")
            return
        before = risks.path(self.way, step.state, self.claim.homes)
        after = risks.path(way, step.next_state, self.claim.homes)
        # The risk that the step has to spend: an upper bound on the decrease of Y.
        most = 0.0 if before is None else 1.0
        most = min([most, *(1.0 - float(risks.least[edge]) for edge in before or ())])
        if after is not None:
            alone = max(0.0, most - max(0.0, 1.0 - risks.total(way)))
            most = min(alone, risks.lost(self.way, way, joint=joint and alone > 0.0))
        charge = min(1.0, charge + most)
        moved = getattr(step, "status", None) == "moved"
        given_up = moved and spent[k] >= 1.0
        if moved:  # the record says what is left of the claim
            self.level = min(self.level, 1.0 - spent[k])
        budget, within = 1.0 - self.level, self.claim.within
        lost = after is None and not given_up and before is not None
        for wrong, reason in (
            (step.action >= 0 and risks.rules_out(step),
             "the belief rules out the move's outcome, but claims go on"),
            (lost and not any(risks.least[e] >= 1.0 for e in before or ()),
             f"the recorded edges contain no path home from state {step.next_state}"),
            (within is not None and len(after or ()) > within,
             f"the path home has {len(after or ())} moves, but {within} are allowed"),
            (self.claim.at_once and bool(after) and not risks.at_once,
             "moves may need several attempts, so the steps are not bounded"),
            *self._uses(step, before, None if given_up else after),
            (kept != max(0.0, 1.0 - max(spent)),
             f"the record claims a return probability of {kept:.6g}, "
             f"but {max(spent):.6g} is spent"),
            (paid < 0.0, f"the spent risk falls from {self.spent:.6g} to {spent[k]:.6g}"),
            (0.0 <= paid < charge * (1.0 - SUM_TOLERANCE) - 4.0 * np.finfo(float).eps,
             f"the step spent {paid:.6g}, but had to spend {charge:.6g}"),
            (not spent[k] <= budget + BUDGET_TOLERANCE + SUM_TOLERANCE,
             f"{spent[k]:.6g} is spent, but the budget is {budget:.6g}"),
        ):  # fmt: skip
            if wrong:
                self.reasons.append(f"step {step.step}: {reason}")
        self.way, self.spent = way, max(spent[k], self.spent)
        self.charged += charge
        self.steps += 1

    def _uses(
        self, step: Any, before: list[Edge] | None, after: list[Edge] | None
    ) -> Iterator[tuple[bool, str]]:
        """Yield pairs for each amount, such as energy: whether a record is wrong, and a reason.

        `before` and `after` are the paths home before and after the step. What is used and what
        the path home will use must not exceed the limit. After a failed attempt of the first edge
        of the path home, this is not checked until the next step.
        """
        works, tried = step.next_state != step.state, (step.state, step.action)
        paid_for = not works and before is not None and before[:1] == [tried]
        for n, limit in enumerate(self.claim.limits):
            if step.action < 0:  # someone else moved the explorer, and reported what it used
                self.used[n] += ((step.report or {}).get("used") or [0.0] * len(self.used))[n]
            else:
                self.used[n] += float((limit.use if works else limit.lost)[tried])
            used = f"{self.used[n]:.6g} {limit.unit}"
            try:
                recorded = float(step.holding["used"][self.k][n])
            except UNREADABLE:
                recorded = np.nan
            same = abs(recorded - self.used[n]) <= BUDGET_TOLERANCE * max(1.0, self.used[n])
            yield not same, f"{recorded:.6g} {limit.unit} are recorded, not {used}"
            home = sum(float(limit.use[edge]) for edge in after or ())
            most = limit.amount * (1.0 + BUDGET_TOLERANCE) + BUDGET_TOLERANCE
            over = after is not None and not paid_for and self.used[n] + home > most
            allowed = f"{limit.amount:.6g} are allowed"
            yield over, f"{used} are used and the path home uses {home:.6g}, but {allowed}"

    def verdict(self) -> HomeVerdict:
        """Return the verdict after the last step."""
        claim, kept = self.claim, max(0.0, 1.0 - self.spent)
        reasons = self.reasons[:MAX_REASONS]
        if len(self.reasons) > MAX_REASONS:
            reasons.append(f"and {len(self.reasons) - MAX_REASONS} more")
        return HomeVerdict(claim.name, claim.level, kept, self.charged, self.steps, tuple(reasons))


def _sets(*sets: list[Edge]) -> MoveSets:
    """Return sets of edges as a belief takes them."""
    flat = np.array([edge for edges in sets for edge in edges], np.int64).reshape(-1, 2)
    states, actions = flat.T.copy()
    return MoveSets(np.cumsum([0, *map(len, sets)]), states, actions)


def changed(way: IntArray, difference: Any, shape: tuple[int, ...]) -> IntArray:
    """Return the edges [S] after a recorded `difference`: a list of states, and of new actions."""
    result = way.copy()
    for state, action in zip(*difference, strict=True):
        if not (0 <= state < shape[0] and -1 <= action < shape[1]):
            raise ValueError(f"there is no edge ({state}, {action})")
        result[state] = action
    return result


def audit_sampled(
    claims: Sequence[HomeClaim], steps: Iterable[tuple[Any, Belief]]
) -> tuple[HomeVerdict, ...]:
    r"""Return one verdict per home of a run whose risk was estimated in drawn worlds.

    Before and after each step a run holds a return policy. In one world, a step lowers the
    probability of coming home by d = W_before(s) − Σ_t P[s, a, t] W_after(t); it has to spend
    c = E[d]. For every step the audit draws worlds of its own. With D = Σ d and V = Σ d² over all
    worlds of all steps, by the inequality of ``docs/theory.md``, section 16,

        Pr(D − Σ c > (ln(1/α) + ψ(λ) V) / λ) ≤ α,      ψ(λ) = −ln(1 − λ) − λ.

    A run that has spent less than this lower limit of Σ c is refuted; it can't be confirmed.
    """
    rng, records = np.random.default_rng(SEED), 0
    ways: list[IntArray | None] = [None] * len(claims)
    total, squares, kept = np.zeros((3, len(claims)))
    reasons: list[list[str]] = [[] for _ in claims]
    for step, belief in steps:
        worlds = np.array([dense_transitions(belief.sample(rng)) for _ in range(WORLDS)])
        records += 1
        for k, claim in enumerate(claims):
            shape, before, drops = worlds.shape[1:3], ways[k], np.zeros(WORLDS)
            home = np.array(sorted(claim.homes))
            try:
                if before is None:
                    nothing = np.full(shape[0], GIVE_UP)
                    before = changed(nothing, step.holding["opened"][k], shape)
                    drops += 1.0 - exact_return(worlds, before, home, ROUNDING)[:, step.state]
                after = changed(before, step.holding["ways"][k], shape)
                spent = float(step.holding["spent"][k])
                tallies = step.holding.get("sampled", ())
                chance = float(tallies[k][3]) if tallies and len(tallies[k]) > 3 else 1.0
            except UNREADABLE as cause:
                reasons[k].append(f"step {step.step}: the record can't be read ({cause})")
                continue
            drops += exact_return(worlds, before, home, ROUNDING)[:, step.state]
            taken = worlds[:, step.state, step.action]
            drops -= (taken * exact_return(worlds, after, home, ROUNDING)).sum(axis=1)
            drops *= chance  # below 1 if the action was taken at random
            total[k] += drops.mean()
            squares[k] += float((drops**2).sum())
            ways[k], kept[k] = after, 1.0 - spent
            growth = -math.log1p(-RATE) - RATE
            margin = (math.log(1.0 / DOUBT) + growth * squares[k]) / (RATE * WORLDS)
            if total[k] - margin > spent + BUDGET_TOLERANCE:
                reasons[k].append(
                    f"step {step.step}: {spent:.6g} is spent, but in the referee's worlds at least "
                    f"{total[k] - margin:.6g} (confidence {1.0 - DOUBT:g})"
                )
            if spent > 1.0 - claim.level + 2.0 * BUDGET_TOLERANCE:
                reasons[k].append(f"step {step.step}: {spent:.6g} is spent, more than the budget")
    return tuple(
        HomeVerdict(c.name, c.level, kept[k], total[k], records, tuple(reasons[k][:5]), WORLDS)
        for k, c in enumerate(claims)
    )
