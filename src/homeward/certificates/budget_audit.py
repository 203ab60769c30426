"""Audit of the risk budget of a run whose level δ holds for the whole run.

After each step, a run relies on a set E of edges. Let Y = Pr(every edge of E works | observations)
if E contains a path home from the current state, and Y = 0 otherwise. Observations do not change
the expectation of Y; only a change of E does. Let b(e) be the probability that edge e never works,
given the observations before the step. A change from E to E' lowers Y by at most each of

- Σ b(e) over the edges of E' that are not in E, if E' contains a path home: Y' ≥ Y − Pr(a new edge
  never works);
- (1 − max b(e) over the path home in E) − max(0, 1 − Σ b(e) over E'): the largest possible Y minus
  the smallest possible Y'. Without a path home in E or E', the respective term is 0;
- Y − Y' itself, if the belief knows the probability that all edges work (`joint_check`);
- the first sum less the probabilities that a new edge and the next edge on the way home both never
  work, if the belief knows them.

The run must have spent at least the smallest of these. Then Y plus the spent risk is a
submartingale. If at most 1 − δ is spent, E[Y] ≥ δ at every recall.

Some claims limit the way home: its number of steps, or amounts such as energy that the whole run
may use. Then only the first attempt of each edge counts. After each step, the path home must need
no more steps than are allowed, and no more of each amount than earlier attempts have left. After a
failed attempt of the first edge of the path home, the amounts are not checked until the next step.

A move's outcome that the belief held impossible ends all claims (`beliefs.refutation`), so a record
that goes on to claim something is refuted.

The audit uses only the records of the planner and the probabilities b of the beliefs: an upper
bound on b in sums, and a lower bound on b in the maximum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import Belief
from homeward.certificates.joint_check import together
from homeward.certificates.verdicts import HomeVerdict
from homeward.models import Moves

BUDGET_TOLERANCE = 1e-9  # largest amount by which the spent risk may exceed 1 − δ
SUM_TOLERANCE = 1e-12  # largest relative error of a sum
MAX_REASONS = 5  # most reasons that are listed per home; others are only counted

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


class EdgeRisks(NamedTuple):
    """A graph and the probabilities that its edges never work, each [S, A]."""

    dest: IntArray  # next state if the edge works
    most: FloatArray  # upper bound on the probability that the edge never works
    least: FloatArray  # lower bound on this probability
    at_once: bool  # whether an edge that ever works does so at the first attempt


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
    accounts = [_Account(claim) for claim in claims]
    for record, belief in steps:
        edges = _edges(belief)
        for k, account in enumerate(accounts):
            account.check(record, k, edges, belief)
    return tuple(account.verdict() for account in accounts)


def _edges(belief: Any) -> EdgeRisks:
    """Return the edges of a belief's mean model; an edge that can't be chosen never works."""
    model = belief.mean()
    most = np.asarray(belief.blocked_probability(), np.float64)
    least = most.copy()
    moves, known = belief.least_blocked()
    least.reshape(-1)[moves] = known
    closed = ~np.isfinite(model.reward)
    if closed.any():
        most, least = np.where(closed, 1.0, most), np.where(closed, 1.0, least)
    return EdgeRisks(model.dest, most, least, belief.moves_work_or_never)


class _Account:
    """The state of the audit of one home after the last record: edges and spent risk."""

    def __init__(self, claim: HomeClaim) -> None:
        self.claim, self.unread = claim, False
        self.way: IntArray | None = None  # [S] action of the edge out of each state, −1 for none
        self.spent, self.charged, self.steps = 0.0, 0.0, 0
        self.used = [0.0] * len(claim.limits)
        self.level = claim.level  # δ; it falls when someone moves the explorer
        self.reasons: list[str] = []

    def check(self, step: Any, k: int, edges: EdgeRisks, belief: Any = None) -> None:
        """Check the record of one step for this home, which is number `k` in the record.

        After a record that can't be read, no further step is checked.
        """
        if self.unread:
            return
        try:
            charge = 0.0
            if self.way is None:  # the path home from the start is charged before the first step
                nothing = np.full(len(edges.dest), -1)
                self.way = changed(nothing, step.holding["opened"][k], edges.dest.shape)
                charge = _new_risk(nothing, self.way, edges)
                works = self._works(self.way, edges, belief) if charge > 0.0 else None
                charge = charge if works is None else min(charge, 1.0 - works[0])
            way = changed(self.way, step.holding["ways"][k], edges.dest.shape)
            spent = [float(x) for x in step.holding["spent"]]
            kept = float(step.holding["kept"])
            paid = spent[k] - self.spent
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as cause:
            self.unread = True
            self._object(step, f"the record can't be read ({type(cause).__name__}: {cause})")
            return
        if step.action >= 0 and self._is_ruled_out(step, edges):
            self._object(step, "the belief rules out the move's outcome, but claims go on")
        before = self._path(self.way, step.state, edges)
        after = self._path(way, step.next_state, edges)
        # The risk that the step has to spend: an upper bound on the decrease of Y.
        most = 0.0 if before is None else 1.0
        most = min([most, *(1.0 - float(edges.least[edge]) for edge in before or ())])
        if after is not None:
            new = _new_risk(self.way, way, edges)
            most = min(new, max(0.0, most - max(0.0, 1.0 - _risk(way, edges))))
            pair = [self._works(w, edges, belief) if most > 0.0 else None for w in (self.way, way)]
            if pair[0] is not None and pair[1] is not None:
                most = min(most, max(0.0, pair[0][1] - pair[1][0]))
        charge = min(1.0, charge + most)
        within = self.claim.within
        moved = getattr(step, "status", None) == "moved"
        if after is None and not (moved and spent[k] >= 1.0):
            if before is not None and not any(edges.least[e] >= 1.0 for e in before):
                here = f"state {step.next_state}"
                self._object(step, f"the recorded edges contain no path home from {here}")
        elif after is not None and within is not None and len(after) > within:
            self._object(step, f"the path home has {len(after)} moves, but {within} are allowed")
        elif self.claim.at_once and after and not edges.at_once:
            self._object(step, "moves may need several attempts, so the steps are not bounded")
        self._check_use(step, k, before, None if moved and spent[k] >= 1.0 else after)
        if kept != max(0.0, 1.0 - max(spent)):
            claim = f"the record claims a return probability of {kept:.6g}"
            self._object(step, f"{claim}, but {max(spent):.6g} is spent")
        if paid < 0.0:
            self._object(step, f"the spent risk falls from {self.spent:.6g} to {spent[k]:.6g}")
        elif not paid >= charge * (1.0 - SUM_TOLERANCE) - 4.0 * np.finfo(float).eps:
            self._object(step, f"the step spent {paid:.6g}, but had to spend {charge:.6g}")
        if moved:  # the record says what is left of the claim
            self.level = min(self.level, 1.0 - spent[k])
        budget = 1.0 - self.level
        if not spent[k] <= budget + BUDGET_TOLERANCE + SUM_TOLERANCE:
            self._object(step, f"{spent[k]:.6g} is spent, but the budget is {budget:.6g}")
        self.way, self.spent = way, max(spent[k], self.spent)
        self.charged += charge
        self.steps += 1

    def _check_use(
        self, step: Any, k: int, before: list[Edge] | None, after: list[Edge] | None
    ) -> None:
        """Check the amounts, such as energy, that are used after a step.

        `before` and `after` are the paths home of home number `k` before and after the step. The
        used amount and the amount that the path home will use must not exceed the limit.
        """
        if not self.claim.limits:
            return
        works = step.next_state != step.state
        tried = (step.state, step.action)
        reported: Any = [0.0] * len(self.used)
        if step.action < 0:
            reported = (step.report or {}).get("used") or reported
        paid_for = not works and before is not None and before[:1] == [tried]
        for n, limit in enumerate(self.claim.limits):
            use = limit.use if works else limit.lost
            self.used[n] += reported[n] if step.action < 0 else float(use[tried])
            used = f"{self.used[n]:.6g} {limit.unit}"
            try:
                recorded = float(step.holding["used"][k][n])
            except (KeyError, TypeError, ValueError, IndexError, OverflowError):
                recorded = np.nan
            if not abs(recorded - self.used[n]) <= BUDGET_TOLERANCE * max(1.0, self.used[n]):
                self._object(step, f"{recorded:.6g} {limit.unit} are recorded, not {used}")
            home = sum(float(limit.use[edge]) for edge in after or ())
            most = limit.amount * (1.0 + BUDGET_TOLERANCE) + BUDGET_TOLERANCE
            if after is not None and not paid_for and self.used[n] + home > most:
                self._object(
                    step,
                    f"{used} are used and the path home uses {home:.6g}, but "
                    f"{limit.amount:.6g} are allowed",
                )

    def verdict(self) -> HomeVerdict:
        """Return the verdict after the last step."""
        claim, kept = self.claim, max(0.0, 1.0 - self.spent)
        reasons = self.reasons[:MAX_REASONS]
        if len(self.reasons) > MAX_REASONS:
            reasons.append(f"and {len(self.reasons) - MAX_REASONS} more")
        return HomeVerdict(claim.name, claim.level, kept, self.charged, self.steps, tuple(reasons))

    def _works(self, way: IntArray, edges: EdgeRisks, belief: Any) -> tuple[float, float] | None:
        """Return bounds on the probability that all edges `way` [S] work; None if unknown."""
        if self.claim.at_once and not edges.at_once:
            return None
        states = np.flatnonzero(way >= 0)
        relied = [(int(s), int(way[s])) for s in states if edges.most[s, way[s]] > 0.0]
        return together(belief, relied)

    def _path(self, way: IntArray, state: int, edges: EdgeRisks) -> list[Edge] | None:
        """Return the edges of the path home from a state; None if there is no path."""
        passed: list[Edge] = []
        while state not in self.claim.homes:
            action = int(way[state])
            if action < 0 or len(passed) > len(way):
                return None
            passed.append((state, action))
            state = int(edges.dest[state, action])
        return passed

    def _is_ruled_out(self, step: Any, edges: EdgeRisks) -> bool:
        """Return whether the belief held the opposite outcome of a move certain."""
        tried = step.state, step.action
        there = edges.dest[tried]
        if there == step.state:
            return bool(step.next_state != there)
        if step.next_state == step.state:
            return edges.at_once and float(edges.most[tried]) <= BUDGET_TOLERANCE
        return bool(step.next_state != there or 1.0 - edges.least[tried] <= BUDGET_TOLERANCE)

    def _object(self, step: Any, reason: str) -> None:
        """Add a reason against the claim."""
        self.reasons.append(f"step {step.step}: {reason}")


def _new_risk(before: IntArray, after: IntArray, edges: EdgeRisks) -> float:
    """Return an upper bound on the probability that some edge in `after` only never works.

    `before` and `after` [S] have one action per state, or −1.
    """
    return _risk(np.where(after == before, -1, after), edges)


def _risk(way: IntArray, edges: EdgeRisks) -> float:
    """Return Σ Pr(edge never works) over the edges `way` [S], one action per state or −1."""
    states = np.flatnonzero(way >= 0)
    return float(edges.most[states, way[states]].sum())


def changed(way: IntArray, difference: Any, shape: tuple[int, ...]) -> IntArray:
    """Return the edges [S] after a recorded `difference`: a list of states, and of new actions."""
    result = way.copy()
    for state, action in zip(*difference, strict=True):
        if not (0 <= state < shape[0] and -1 <= action < shape[1]):
            raise ValueError(f"there is no edge ({state}, {action})")
        result[state] = action
    return result
