"""Ways home whose risk is estimated in new worlds, drawn after each choice: sampled certificates.

If a correction proves nothing, the ways home can still be evaluated in worlds drawn from the
belief. A run holds a return policy; let W(s) be the probability that it leads home from state s in
a world, and Y = E[W] given the observations. Before an action is taken, the policy that is held
after it is fixed. In a world with the transitions P, the action lowers that probability by

    d = W_held(s) − Σ_t P[s, a, t] W_next(t),

which GTH elimination computes without subtractions (`come_home`). E[d] over the belief is the
charge c of the action. The worlds are drawn after the choice, so each d − c is a martingale
difference. Let V = Σ (d − d̂)², d̂ in [0, 1] any guess that does not depend on that world. Then for
any probability of error α, rate λ and weight w,

    Pr(some time: Σ (c − d) > (ln(1 / (α w)) + ψ(λ) V) / λ) ≤ α w,      ψ(λ) = −ln(1 − λ) − λ.

`Sampled.margin` is the least of these bounds over a few λ with weights w that sum to 1. So one
interval covers all steps of a run, with probability 1 − α. The run spends α, the sum of the
estimates and the margin. Its level holds over both random worlds and random draws
(``docs/theory.md``, section 16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, number
from homeward.beliefs import DirichletBelief
from homeward.beliefs.dirichlet import END
from homeward.compiling import njit
from homeward.errors import InvalidProblemError
from homeward.planning.promise import Promise, Tally
from homeward.planning.returning.policies import (
    PolicyOptions,
    PolicyReturning,
    common_transitions,
    leads_home,
    mask_of,
    quick_way,
)
from homeward.solvers import GIVE_UP
from homeward.threads import on_one_thread

RATES = (0.9, 0.6, 0.35, 0.2, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003)
"""λ of the bounds; the k-th has the weight 2⁻ᵏ, k = 1, 2, …."""

PLAN_WORLDS = 200  # worlds in which an action is chosen; its cost is estimated in other worlds
CHUNK = 500  # largest number of worlds that are evaluated at once
ROW_ROUNDING = 1e-12  # a row that lacks no more than this to 1 does not end the process
LEAST_CHARGE = 1e-13  # a planned charge up to this is rounding
MIN_LOT = 0.05  # least probability with which lots decide to take an action
LOT_SHARE = 0.95  # fraction of the remaining budget that such an action spends in expectation
PLANNING, FRESH, LOT = range(3)  # random streams: to choose, to estimate, to draw lots


@dataclass(frozen=True, slots=True)
class Sampled:
    """Settings of certificates by sampling, for runs on general models.

    Attributes
    ----------
    confidence : probability, in (0, 1), that the interval holds; the rest is spent from the budget
    worlds : number of worlds drawn for each step
    seed : random seed of the worlds
    lots : whether to draw lots once nothing else is worth its risk: an action that would spend
        more than is left is taken with a probability that makes its expected risk affordable;
        otherwise the run ends
    """

    confidence: float = 0.999
    worlds: int = 2000
    seed: int = 0
    lots: bool = False

    def __post_init__(self) -> None:
        error = InvalidProblemError
        if not 0.0 < number(self.confidence, "the confidence", error) < 1.0:
            raise error(f"the confidence is {self.confidence:g}, expected 0 < confidence < 1")
        for name, least in (("worlds", 1), ("seed", 0)):
            count = getattr(self, name)
            if not isinstance(count, int) or isinstance(count, bool) or count < least:
                raise error(f"{name} is {count!r}, expected a whole number of {least} or more")

    def margin(self, spread: float) -> float:
        """Return the margin of the sum of all estimates; `spread` is V of the module docstring."""
        doubt = math.log(1.0 / (1.0 - self.confidence))
        return (
            min(
                (doubt + (k + 1) * math.log(2.0) - (math.log1p(-rate) + rate) * spread) / rate
                for k, rate in enumerate(RATES)
            )
            / self.worlds
        )

    def spent(self, tally: Tally) -> float:
        """Return the probability that a run has spent: 1 − confidence, estimates and margin."""
        used = (1.0 - self.confidence) + tally.total + self.margin(tally.spread)
        return min(1.0, max(0.0, used))

    def after(self, tally: Tally, drops: FloatArray, guess: float, share: float = 1.0) -> Tally:
        """Return the tally after an action that lowers the probability of coming home by `drops`.

        `drops` [n] is d in each new world, `guess` an estimate of it from other worlds. The action
        is taken with probability `share`.
        """
        before = np.cumsum(np.concatenate([[guess * PLAN_WORLDS], drops[:-1]]))
        guesses = np.clip(before / (PLAN_WORLDS + np.arange(len(drops))), 0.0, 1.0)
        spread = share**2 * float(((drops - guesses) ** 2).sum())
        total = tally.total + share * float(drops.mean())
        return Tally(total, tally.spread + spread, tally.draws + 1, share)

    def wins(self, tally: Tally, chance: float) -> bool:
        """Return True with probability `chance`."""
        return chance >= 1.0 or bool(self.stream(tally, 0, LOT).random() < chance)

    def stream(self, tally: Tally, home: int, purpose: int) -> np.random.Generator:
        """Return the random generator for one purpose, one step and one home."""
        key = home, tally.draws, purpose
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


class Draws(NamedTuple):
    """N possible transitions and their probabilities in n worlds drawn from the belief.

    Row s·A + a belongs to action a in state s.
    """

    actions: int
    row: IntArray  # [N] row of the state and action
    there: IntArray  # [N] next state, or END
    chance: FloatArray  # [n, N]

    def returning(self, policy: IntArray, at_home: BoolArray, wanted: IntArray) -> FloatArray:
        """Return the probability [n, S] of coming home by a policy [S] in each world.

        It is computed for the states `wanted` [k] and the states that they reach; else it is 0.
        """
        states = len(policy)
        state, action = np.divmod(self.row, self.actions)
        moving = (policy != GIVE_UP) & ~at_home
        followed = np.flatnonzero(moving[state] & (policy[state] == action))
        source, there = state[followed], self.there[followed]
        met = np.zeros(states + 1, dtype=bool)  # END, −1, is the last
        met[wanted] = True
        while True:
            onward = there[met[source]]
            if met[onward].all():
                break
            met[onward] = True
        inside = np.flatnonzero(met[:-1] & moving)
        place = np.full(states + 1, END)  # index of each state in `inside`
        place[:-1][at_home] = len(inside)
        place[inside] = np.arange(len(inside))
        used = met[source]
        value = np.zeros((len(self.chance), states))
        value[:, at_home] = 1.0
        chance = np.ascontiguousarray(self.chance[:, followed[used]])
        value[:, inside] = come_home(place[source[used]], place[there[used]], chance, len(inside))
        return value

    def drops(
        self, held: FloatArray, onward: FloatArray, state: int, which: IntArray
    ) -> FloatArray:
        """Return d [n] of an action in `state`, whose transitions have the indices `which` [k].

        `held` and `onward` [n, S] are the probabilities of coming home before and after the action.
        """
        ahead = np.where(self.there[which] == END, 0.0, onward[:, self.there[which]])
        drops: FloatArray = held[:, state] - (self.chance[:, which] * ahead).sum(axis=1)
        return drops

    def transitions(self, state: int, action: int) -> IntArray:
        """Return the indices [k] of the possible transitions of an action in a state."""
        return np.flatnonzero(self.row == state * self.actions + action)


@njit(cache=True)
def come_home(source: IntArray, target: IntArray, chance: FloatArray, states: int) -> FloatArray:
    """Return the probability [n, S] of coming home from each of S `states` in n worlds.

    Transition k leads from `source` [N] to `target` [N] with probability `chance` [n, N]. Target S
    is home, −1 the end of the process. States are eliminated from the last to the first without
    subtractions, so that no digits are lost.
    """
    home, end = states, states + 1
    value = np.zeros((len(chance), states))
    work = np.empty((states, states + 2))  # probability of each target that is not eliminated
    for m in range(len(chance)):
        work[:] = 0.0
        for k in range(len(source)):
            work[source[k], target[k] if target[k] >= 0 else end] += chance[m, k]
        for s in range(states - 1, -1, -1):
            leaving = work[s, home] + work[s, end]
            for t in range(s):
                leaving += work[s, t]
            if leaving > 0.0:
                work[s, home] /= leaving
                work[s, end] /= leaving
                for t in range(s):
                    work[s, t] /= leaving
            else:
                work[s, end] = 1.0  # no transition leaves the state
            for r in range(s):
                into = work[r, s]
                if into > 0.0:
                    work[r, home] += into * work[s, home]
                    work[r, end] += into * work[s, end]
                    for t in range(s):
                        work[r, t] += into * work[s, t]
        for s in range(states):
            total = work[s, home]
            for t in range(s):
                total += work[s, t] * value[m, t]
            value[m, s] = min(1.0, total)
    return value


def draw(belief: Any, rng: np.random.Generator, count: int) -> Draws:
    """Return `count` worlds drawn from a belief."""
    if isinstance(belief, DirichletBelief):  # all at once
        states, actions, outcomes = belief.outcomes.shape
        row = np.repeat(np.arange(states * actions), outcomes)
        chance = belief.draws(rng, count)[:, belief.kinds].reshape(count, -1)
        return Draws(actions, row, belief.outcomes.ravel(), chance)
    worlds = [belief.sample(rng).sparse() for _ in range(count)]
    row, there, chance = common_transitions([world.transitions.tocoo() for world in worlds])
    missing = np.array([1.0 - world.transitions.sum(axis=1) for world in worlds])
    chance = np.hstack([chance, np.where(missing > ROW_ROUNDING, missing, 0.0)])
    ends = np.arange(missing.shape[1])
    row, there = np.append(row, ends), np.append(there, np.full(len(ends), END))
    return Draws(worlds[0].actions, row, there, chance)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SampledOptions(PolicyOptions):
    """What an estimated promise allows in one state."""

    belief: Any
    guesses: FloatArray  # [A] estimated drop of each action


@dataclass(frozen=True, slots=True, eq=False)
class SampledReturning(PolicyReturning):
    """Keeps a promise by estimates in worlds drawn from the belief; see `returning.Returning`.

    After an action, the run holds the best policy on the mean model, or the policy held before if
    that is better in `PLAN_WORLDS` worlds. The charge is estimated in other worlds.
    """

    sampled: Sampled
    home: int = 0  # number of the goal, which selects its random stream

    evaluator: ClassVar[str] = "sampled"

    @on_one_thread
    def open(self, belief: Any, start: int) -> Promise:
        """Return the promise of a run before its first step; it pays for the way home."""
        model, tally = belief.mean().sparse(), Tally()
        at_home = mask_of(model.states, self.goal.homes)
        way = quick_way(model.transitions, ~np.isfinite(model.reward), at_home)
        if not at_home[start]:
            rng, here = self.sampled.stream(tally, self.home, FRESH), np.array([start])
            drops = [
                1.0 - draw(belief, rng, count).returning(way, at_home, here)[:, start]
                for count in chunks(self.sampled.worlds)
            ]
            tally = self.sampled.after(tally, np.concatenate(drops), 0.0)
        return Promise.of(way, self.sampled.spent(tally), tally=tally)

    @on_one_thread
    def options(
        self, belief: Any, promise: Promise, state: int, changed: IntArray | None
    ) -> SampledOptions:
        """Return what the promise allows in a state; all numbers are estimates."""
        model, sampled, tally = belief.mean().sparse(), self.sampled, tally_of(promise)
        at_home, closed = mask_of(model.states, self.goal.homes), ~np.isfinite(model.reward)
        best = quick_way(model.transitions, closed, at_home)
        draws = draw(belief, sampled.stream(tally, self.home, PLANNING), PLAN_WORLDS)
        ways = promise.way, best
        values = [draws.returning(way, at_home, np.arange(model.states)) for way in ways]
        value = values[1].mean(axis=0)
        ahead = np.where(draws.there == END, 0.0, values[1][:, draws.there])
        mean = np.bincount(draws.row, (draws.chance * ahead).mean(axis=0), closed.size)
        charge = np.maximum(0.0, value[:, None] - mean.reshape(closed.shape))
        renewed = Promise.of(best, promise.spent, tally=tally)
        guesses, chosen = np.zeros(model.actions), []
        for a in range(model.actions):
            which = draws.transitions(state, a)
            drops = [draws.drops(values[0], onward, state, which) for onward in values]
            k = int(drops[1].mean() <= drops[0].mean())
            guesses[a] = drops[k].mean()
            spread = sampled.worlds * float(drops[k].var())
            more = sampled.margin(tally.spread + spread) - sampled.margin(tally.spread)
            charge[state, a] = guesses[a] + more
            chosen.append((promise, renewed)[k])
        charge[np.abs(charge) <= LEAST_CHARGE] = 0.0
        links = model.transitions, model.actions
        now = float(values[0][:, state].mean())
        return SampledOptions(
            goal=self.goal,
            state=state,
            promise=promise,
            best=renewed,
            bounds=value,
            charge=charge,
            ahead=np.clip(now - guesses, 0.0, 1.0),
            least=now,
            most=now,
            lost=not any(leads_home(*links, way, at_home)[state] for way in ways),
            choices=tuple(chosen),
            belief=belief,
            guesses=guesses,
        )

    def take(self, options: PolicyOptions, state: int, action: int, chance: float = 1.0) -> Promise:
        """Return the promise after an action; its cost is estimated in new worlds."""
        assert isinstance(options, SampledOptions)
        held, onward = options.promise, options.choices[action]
        if options.lost:
            return options.promise
        tally, drops = tally_of(held), []
        way, next_way = held.way, onward.way
        rng, at_home = (
            self.sampled.stream(tally, self.home, FRESH),
            mask_of(held.size, self.goal.homes),
        )
        for count in chunks(self.sampled.worlds):
            draws = draw(options.belief, rng, count)
            which = draws.transitions(state, action)
            to = draws.there[which]
            now = draws.returning(way, at_home, np.array([state]))
            then = draws.returning(next_way, at_home, to[to != END])
            drops.append(draws.drops(now, then, state, which))
        tally = self.sampled.after(tally, np.concatenate(drops), options.guesses[action], chance)
        return replace(onward, spent=self.sampled.spent(tally), tally=tally)

    def moved(
        self, belief: Any, options: PolicyOptions, there: int, used: tuple[float, ...]
    ) -> Promise:
        """Raise: no estimate tells what a move from outside costs."""
        raise InvalidProblemError(
            "sampled certificates can't tell what is left of the budget after the explorer was "
            "moved: start a new run from there"
        )


def tally_of(promise: Promise) -> Tally:
    """Return the estimates behind a promise."""
    assert promise.tally is not None
    return promise.tally


def chunks(count: int) -> list[int]:
    """Return the sizes of the chunks in which `count` worlds are drawn."""
    return [min(CHUNK, count - done) for done in range(0, count, CHUNK)]
