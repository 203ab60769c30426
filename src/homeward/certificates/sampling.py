r"""Monte Carlo check of a plan: episodes in worlds drawn from the belief, and intervals.

In one episode, a world and one of the mixture's policies are drawn. The policy is followed until
the recall, which comes before each step with probability 1 − γ, or at the fixed step. Then, for
each criterion, its return policy is followed from the state at the recall. Each episode has its own
world, so episodes are independent and counts are binomial.

- *Return*: an episode is a hit if it reaches home, within the limit of steps if there is one. An
  episode is no hit if the policy gives up, if the process ends, or in a state from which the return
  policy can't reach home in the drawn world.
- *Stay*: an episode is a hit if every action before the recall was in the set and the process did
  not end.
- *Earn*: at a fixed recall, the value of an episode is the sum of rewards. Otherwise it is
  R/(1 − γ), with R the reward of the action at the recall. Its mean is Σ γᵗ E[R_t], and it is
  bounded, unlike the sum of rewards until the recall.

Walks of more than `MAX_STEPS` steps are cut, so their outcome is unknown. The upper limit of the
interval counts a cut episode as the best outcome, the lower limit as the worst. So a cut episode
can neither refute a true claim nor confirm a false one.

Episodes are simulated in chunks. The random numbers of a chunk depend only on the seed and the
chunk's number, so the result is the same for any number of processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import DirichletBelief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.certificates.confidence import bernstein, clopper_pearson
from homeward.certificates.policy_evaluation import reachable
from homeward.certificates.simulation import (
    ENDED,
    HOME,
    LONG,
    Rows,
    can_reach,
    rows_of,
    walk_back,
    walk_out,
)
from homeward.models import Model, Moves

if TYPE_CHECKING:
    from homeward.certificates.claims import CriterionClaims
    from homeward.certificates.plan_case import PlanCase

KNOWN_BELIEFS = (FiniteBelief, DirichletBelief, HeightBelief, TerrainBelief)
"""Types of belief for which the rewards of all worlds are known."""

MAX_STEPS = 1_000_000  # largest number of steps of a walk, outbound or back; longer walks are cut
CHUNK = 250  # number of episodes that share one stream of random numbers
HITS, CUT, TOTAL, SQUARES = 0, 1, slice(2, 4), slice(4, 6)
"""Rows of a tally [6, P, K] for P mixtures and K criteria.

Sums of earnings and of their squares have two rows: cut episodes count with the least possible
earnings in the first row, and with the greatest in the second.
"""

POOL_START_SECONDS = 6.0  # processes are started if they save more than this


@dataclass(frozen=True, slots=True)
class SampledEstimate:
    """The estimated value of one claim and its confidence interval from `low` to `high`."""

    estimate: float
    low: float
    high: float
    episodes: int  # number of simulated episodes
    cut: int  # number of episodes that were cut


class Sampler:
    """Simulates episodes of one plan.

    All arrays are copied, so that kernels are compiled for writable arrays only.
    """

    def __init__(self, case: PlanCase, limit: int = MAX_STEPS) -> None:
        plan, shape = case.plan, case.bonus.shape
        self.case, self.limit, self.fixed = case, limit, plan.steps is not None
        self.states, self.actions = int(shape[0]), int(shape[1])
        kinds = [criterion.kind for criterion in plan.criteria]
        self.stays = [k for k, kind in enumerate(kinds) if kind == "stay"]
        self.earns = [k for k, kind in enumerate(kinds) if kind == "earn"]
        self.returns = [
            (k, _way_back(c)) for k, c in enumerate(plan.criteria) if c.kind == "return"
        ]
        sets = [plan.criteria[k].allowed for k in self.stays]
        self.allowed = np.array(sets, bool).reshape(len(sets), *shape)
        exits = case.exits
        self.exits: BoolArray = np.zeros(shape, bool) if exits is None else np.array(exits)
        steps = 1 if plan.steps is None else plan.steps

        def by_step(policies: IntArray) -> IntArray:
            return policies.astype(np.int64, order="C").reshape(-1, steps, self.states)

        self.mixtures = [(np.cumsum(p.weights), by_step(p.outbound)) for p in case.parts]
        after = np.zeros((steps, self.states), np.int64)
        self.afterwards = by_step(after if plan.afterwards is None else plan.afterwards)[0]
        self.ranges = {k: range_of(case, k) for k in self.earns}
        self._dest: IntArray | None = None
        self._rows: tuple[IntArray, IntArray] | None = None

    def chunk(self, seed: int, number: int, episodes: int) -> FloatArray:
        """Return the tally [6, P, K] (see `HITS`) of chunk `number`, for P mixtures, K criteria.

        Equal arguments give equal tallies.
        """
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        plan = self.case.plan
        tally = np.zeros((6, len(self.mixtures), len(plan.criteria)))
        counted = 1.0 if self.fixed else plan.expected_steps
        for world, count in self._worlds(rng, episodes):
            rows, rewards = self._rows_of(world), np.zeros((len(self.earns), *self.exits.shape))
            for i, k in enumerate(self.earns):
                given = self.case.rewards[k]
                reward = world.reward if given is None else given
                rewards[i] = np.where(np.isfinite(world.reward), reward, 0.0)
            hopeful = [  # masks [S] of states from which each return policy can reach home
                at_home if within else can_reach(rows, self.actions, policies[0], at_home)
                for _, (at_home, policies, _, within) in self.returns
            ]
            for p, mixture in enumerate(self.mixtures):
                recall = plan.state, plan.discount, self.fixed, self.limit
                leaving = self.afterwards, self.exits
                ends, stayed, earned = walk_out(
                    rng, rows, *recall, mixture, *leaving, self.allowed, rewards, count
                )
                long = ends < ENDED
                tally[CUT, p, [*self.stays, *self.earns]] += np.count_nonzero(long)
                for i, k in enumerate(self.stays):
                    tally[HITS, p, k] += np.count_nonzero(stayed[i] & ~long)
                for i, k in enumerate(self.earns):
                    for side, extreme in enumerate(self.ranges[k]):
                        got = np.where(long, extreme, earned[i] * counted)
                        tally[TOTAL, p, k][side] += got.sum()
                        tally[SQUARES, p, k][side] += (got * got).sum()
                for (k, way), mask in zip(self.returns, hopeful, strict=True):
                    outcomes = walk_back(rng, rows, self.actions, ends, *way, mask, self.limit)
                    tally[HITS, p, k] += np.count_nonzero(outcomes == HOME)
                    tally[CUT, p, k] += np.count_nonzero(outcomes == LONG)
        return tally

    def _worlds(self, rng: np.random.Generator, episodes: int) -> Iterator[tuple[Model, int]]:
        """Yield worlds drawn from the belief, each with its number of episodes."""
        belief = self.case.belief
        if not isinstance(belief, FiniteBelief):
            yield from ((belief.sample(rng), 1) for _ in range(episodes))
            return
        counts = rng.multinomial(episodes, belief.weights / belief.weights.sum())
        for world, count in zip(belief.worlds, counts, strict=True):
            if count:
                yield world, int(count)

    def _rows_of(self, world: Model) -> Rows:
        """Return the sparse rows of a world; worlds with the same `dest` share their indices."""
        if not isinstance(world, Moves):
            return rows_of(world.transitions)
        if self._rows is None or self._dest is not world.dest:
            here = np.repeat(np.arange(self.states), self.actions)
            both = np.stack([world.dest.ravel(), here], axis=1).ravel().astype(np.int64)
            self._dest, self._rows = world.dest, (np.arange(0, len(both) + 1, 2), both)
        go = world.success.ravel()
        return *self._rows, np.stack([go, 1.0 - go], axis=1).ravel()

    def interval(self, k: int, tally: FloatArray, episodes: int, doubt: float) -> SampledEstimate:
        """Return the estimate of criterion k from its tally [6].

        Its interval is wrong with probability at most `doubt`.
        """
        hits, cut = int(tally[HITS]), int(tally[CUT])
        if k not in self.ranges:
            low, _ = clopper_pearson(hits, episodes, doubt)
            _, high = clopper_pearson(hits + cut, episodes, doubt)  # a cut episode may be a hit
            return SampledEstimate((hits + 0.5 * cut) / episodes, low, high, episodes, cut)
        least, most = self.ranges[k]
        means = tally[TOTAL] / episodes
        numbers = [float(means.mean())]
        for side, sign in ((0, -1.0), (1, 1.0)):
            spread = tally[SQUARES][side] - episodes * means[side] ** 2
            variance = max(0.0, float(spread)) / max(1, episodes - 1)
            half_width = bernstein(variance, episodes, most - least, doubt)
            numbers.append(float(means[side]) + sign * half_width)
        estimate, low, high = (min(most, max(least, value)) for value in numbers)
        return SampledEstimate(estimate, low, high, episodes, cut)


def _way_back(criterion: CriterionClaims) -> tuple[BoolArray, IntArray, IntArray, int]:
    """Return four arguments of `walk_back`: `at_home`, `policies`, `since` and `within`."""
    at_home = np.zeros(len(criterion.return_policy), dtype=bool)
    at_home[criterion.home] = True
    policies, within = criterion.return_policies.astype(np.int64), criterion.within
    if within is None or criterion.return_since is None:
        return at_home, policies, np.ones(1, np.int64), 0
    return at_home, policies, criterion.return_since.astype(np.int64), within


def range_of(case: PlanCase, k: int) -> tuple[float, float]:
    """Return the least and the greatest possible earnings of criterion k in any world."""
    low, high = _rewards_range(case, k)
    if not isinstance(case.belief.mean(), Moves):  # after the process ends, the reward is 0
        low, high = min(low, 0.0), max(high, 0.0)
    return low * case.plan.expected_steps, high * case.plan.expected_steps


def unit_of(case: PlanCase, k: int, *, anywhere: bool = False) -> float:
    """Return the unit of a claim on criterion k: 1 for a probability, else the range of earnings.

    By default the range covers the states that the plan can reach; with `anywhere`, all states.
    """
    if case.plan.criteria[k].kind != "earn":
        return 1.0
    low, high = _rewards_range(case, k, anywhere=anywhere)
    if not isinstance(case.belief.mean(), Moves):
        low = min(low, 0.0)
    return (high - low if high > low else 1.0) * case.plan.expected_steps


def _rewards_range(case: PlanCase, k: int, *, anywhere: bool = False) -> tuple[float, float]:
    """Return the least and the greatest reward of one step that counts for criterion k.

    By default the range covers the states that the plan can reach; with `anywhere`, all states. If
    the criterion uses the rewards of the worlds and these are unknown, its limits are returned.
    """
    belief, given, limits = case.belief, case.rewards[k], case.limits[k]
    mean = belief.mean()
    usable = np.isfinite(mean.reward)
    if not anywhere:
        near = reachable(mean.sparse().transitions, usable, case.plan.state)
        usable &= np.isin(np.arange(mean.states), near)[:, None]
    if given is None and limits is not None and not isinstance(belief, KNOWN_BELIEFS):
        return limits
    worlds = belief.worlds if isinstance(belief, FiniteBelief) else [mean]
    rewards = [world.reward for world in worlds] if given is None else [given]
    paid = np.concatenate([reward[usable] for reward in rewards])
    return float(paid.min()), float(paid.max())


def sample(
    case: PlanCase,
    episodes: int,
    doubt: float,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
    limit: int = MAX_STEPS,
) -> dict[str, tuple[SampledEstimate, ...]]:
    """Simulate a plan in drawn worlds; return the intervals of all criteria for each mixture.

    The keys are the names in `PlanCase.parts`. Each interval is wrong with probability ≤ `doubt`.
    Up to `jobs` processes share the work. `progress` is called with the number of episodes
    simulated since its last call.
    """
    sampler = Sampler(case, limit)
    sizes = [min(CHUNK, episodes - done) for done in range(0, episodes, CHUNK)]
    count = len(case.plan.criteria)
    tally = np.zeros((6, len(case.parts), count))
    for size, part in zip(sizes, _tallies(sampler, seed, sizes, jobs), strict=True):
        tally += part
        if progress is not None:
            progress(size)
    return {
        part.name: tuple(sampler.interval(k, tally[:, p, k], episodes, doubt) for k in range(count))
        for p, part in enumerate(case.parts)
    }


def _tallies(sampler: Sampler, seed: int, sizes: list[int], jobs: int) -> Iterator[FloatArray]:
    """Yield the tallies of all chunks in order; start a process pool if it saves time."""
    began = time.perf_counter()
    for number, size in enumerate(sizes):
        if number == 1:  # the first chunk also loads compiled code
            began = time.perf_counter()
        rest = range(number, len(sizes))
        if jobs > 1 and number > 1:
            left = (time.perf_counter() - began) / (number - 1) * len(rest)
            if left * (1.0 - 1.0 / jobs) > POOL_START_SECONDS:
                break
        yield sampler.chunk(seed, number, size)
    else:
        return
    context = get_context("spawn")  # a fork would copy the locks of compiled threads
    pool = ProcessPoolExecutor(min(jobs, len(rest)), mp_context=context)
    try:
        yield from pool.map(sampler.chunk, [seed] * len(rest), rest, sizes[number:])
    finally:
        pool.shutdown(cancel_futures=True)
