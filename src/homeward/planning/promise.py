"""The state that a run carries from one decision to the next, and its JSON encoding.

The record of a step has only the changes since the previous step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from homeward.arrays import IntArray, are_among, frozen
from homeward.errors import InvalidFileError
from homeward.files import json_safe

BUDGET_TOLERANCE = 1e-9  # probability that may be spent beyond 1 − δ, because of rounding
MAX_FREE_SHARE = 1e-3  # largest fraction of a remaining budget that counts as no risk


class Tally(NamedTuple):
    """Sums of a run's estimates in worlds drawn from its beliefs; see `returning.sampled`."""

    total: float = 0.0  # sum of the estimated charges
    spread: float = 0.0  # sum of squared errors of guesses, over all worlds
    draws: int = 0  # number of estimates, each in fresh worlds
    chance: float = 1.0  # probability with which the last action was taken


@dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """What a run relies on for one return criterion, and what it has spent and used."""

    size: int  # number of states of the model
    at: IntArray  # [n] states in which the run relies on an action, ascending
    actions: IntArray  # [n] these actions
    spent: float = 0.0  # upper bound on the risk of losing the way home
    policies: Mapping[int, IntArray] = field(default_factory=dict)  # [S] by set of worlds
    used: tuple[float, ...] = ()  # how much of each limited amount the run has used
    tally: Tally | None = None  # the estimates behind `spent`; None if `spent` is proven

    @classmethod
    def of(cls, way: IntArray, spent: float = 0.0, **other: Any) -> Promise:
        """Return the promise that relies on the actions `way` [S]; −1 for none."""
        at = np.flatnonzero(way >= 0)
        return cls(len(way), at, way[at], spent, **other)

    @property
    def way(self) -> IntArray:
        """The action [S] that the run relies on in each state; −1 for none. A new array."""
        way = np.full(self.size, -1, np.int32)
        way[self.at] = self.actions
        return way

    def action(self, state: int) -> int:
        """Return the action that the run relies on in a state; −1 for none."""
        k = int(np.searchsorted(self.at, state))
        return int(self.actions[k]) if k < len(self.at) and self.at[k] == state else -1

    def after(self, at: IntArray, actions: IntArray, spent: float, **other: Any) -> Promise:
        """Return the promise with `actions` [n] in the states `at` [n], and the `other` fields."""
        if not len(at):
            return replace(self, spent=spent, **other)
        kept = ~are_among(np.sort(at), self.at)
        states = np.append(self.at[kept], at[actions >= 0])
        order = np.argsort(states)
        actions = np.append(self.actions[kept], actions[actions >= 0]).astype(np.int32)
        return replace(self, at=states[order], actions=actions[order], spent=spent, **other)

    def changes(self, before: Promise) -> tuple[IntArray, IntArray]:
        """Return the states [n], ascending, where `way` differs from `before`, and its actions."""
        if self.at is before.at and self.actions is before.actions:
            return self.at[:0], self.actions[:0]
        states = np.union1d(before.at, self.at)
        old, new = (np.full(len(states), -1, np.int32) for _ in range(2))
        old[np.searchsorted(states, before.at)] = before.actions
        new[np.searchsorted(states, self.at)] = self.actions
        return states[old != new], new[old != new]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A state to observe from, and the path to it.

    Attributes
    ----------
    path : tuple
        States from the current one to the state to observe from, both included.
    gain : float
        Expected gain, in the unit of the bonus.
    steps : float
        Expected steps until the gain is collected.
    share : float
        Largest fraction of a remaining budget that a way home from a state of the path would spend.
    along : bool
        Whether the gain is that of all observations on the path, not only of the last.
    action : int
        The action that it begins with, on general models; else −1.
    """

    path: tuple[int, ...]
    gain: float
    steps: float
    share: float = 0.0
    along: bool = False
    action: int = -1

    @property
    def rate(self) -> float:
        """Gain per step."""
        return self.gain / self.steps

    @property
    def max_share(self) -> float:
        """Largest fraction of a remaining budget that the proposal may need while it is pursued."""
        return min(1.0, max(MAX_FREE_SHARE, 1.25 * self.share))

    def worth(self, power: float) -> float:
        """Return gain / steps**power."""
        return float(self.gain / self.steps**power)


@dataclass(frozen=True, slots=True, eq=False)
class RunState:
    """What a run carries from one step to the next, besides its belief.

    Attributes
    ----------
    promises : tuple
        One promise for each return criterion.
    proposal : Proposal, optional
        The proposal that the explorer pursues; None before the first decision.
    remaining : float
        Gain that was left at the last news (a decrease of this gain by the floor or more).
    idle : int
        Decisions since the last news.
    memory
        JSON value that an agent carries to its next step; None for our explorers.
    refuted
        Whether what happened contradicts the belief. Then nothing is guaranteed, and the promises
        have the ways home that are best supported by what was driven.
    """

    promises: tuple[Promise, ...] = ()
    proposal: Proposal | None = None
    remaining: float = np.inf
    idle: int = 0
    memory: Any = None
    refuted: bool = False

    @property
    def kept(self) -> float:
        """The guaranteed probability of coming home; 1 if no return is required."""
        if self.refuted:
            return 0.0
        return max(0.0, 1.0 - max((a.spent for a in self.promises), default=0.0))

    def emptied(self) -> RunState:
        """Return a state with as many promises, which rely on nothing and have spent nothing."""
        return RunState(
            tuple(
                replace(a, at=a.at[:0], actions=a.actions[:0], spent=0.0, policies={}, tally=None)
                for a in self.promises
            )
        )

    def encode(self, before: RunState) -> dict[str, Any]:
        """Return the changes since `before` as a JSON value."""
        ways = []
        for old, new in zip(before.promises, self.promises, strict=True):
            at, actions = new.changes(old)
            ways.append([at.tolist(), actions.tolist()])
        value: dict[str, Any] = {
            "kept": self.kept,
            "spent": [a.spent for a in self.promises],
            "ways": ways,
            "remaining": json_safe(float(self.remaining)),
            "idle": self.idle,
        }
        if self.refuted:
            value["refuted"] = True
        if any(a.used for a in self.promises):
            value["used"] = [list(a.used) for a in self.promises]
        pairs = zip(self.promises, before.promises, strict=True)
        if any(a.policies is not b.policies and (a.policies or b.policies) for a, b in pairs):
            value["policies"] = [
                [[subset, policy.tolist()] for subset, policy in a.policies.items()]
                for a in self.promises
            ]
        if any(a.tally is not None for a in self.promises):
            value["sampled"] = [list(a.tally or ()) for a in self.promises]
        if self.memory is not None:
            value["memory"] = self.memory
        if self.proposal is not None:
            known = () if before.proposal is None else before.proposal.path
            path, skip = self.proposal.path, len(known) - len(self.proposal.path)
            same = skip >= 0 and known[skip:] == path
            value["path"] = skip if same else list(path)
            value["worth"] = [self.proposal.gain, self.proposal.steps, self.proposal.share]
            value["along"] = self.proposal.along
            if self.proposal.action >= 0:
                value["begins"] = self.proposal.action
        return value

    @classmethod
    def decode(cls, value: Any, before: RunState) -> RunState:
        """Return the state that `encode` encoded as changes since `before`."""
        try:
            uses = value.get("used") or [()] * len(before.promises)
            promises, changes = [], zip(value["ways"], value["spent"], uses, strict=True)
            for old, ((at, actions), spent, used) in zip(before.promises, changes, strict=True):
                if len(at) and not 0 <= min(at) <= max(at) < old.size:
                    raise IndexError(f"a state is outside 0..{old.size - 1}")
                changed = np.array(at, np.int64), np.array(actions, np.int32)
                promise = old.after(*changed, float(spent), used=tuple(map(float, used)))
                promises.append(promise)
            for k, (total, spread, draws, *chance) in enumerate(value.get("sampled", ())):
                tally = Tally(float(total), float(spread), int(draws), *map(float, chance))
                promises[k] = replace(promises[k], tally=tally)
            for k, given in enumerate(value.get("policies", ())):
                policies = {int(subset): frozen(np.array(p, np.int32)) for subset, p in given}
                promises[k] = replace(promises[k], policies=policies)
            proposal = None
            if "path" in value:
                path = value["path"]
                if isinstance(path, int):
                    path = () if before.proposal is None else before.proposal.path[path:]
                gain, steps, share = (float(x) for x in value["worth"])
                along, action = bool(value.get("along")), int(value.get("begins", -1))
                proposal = Proposal(tuple(path), gain, steps, share, along, action)
            rest = float(value["remaining"]), int(value["idle"]), value.get("memory")
            return cls(tuple(promises), proposal, *rest, value.get("refuted") is True)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError) as cause:
            raise InvalidFileError(f"the state of the run can't be read: {cause}") from cause
