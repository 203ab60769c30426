r"""Monte Carlo check of a plan: episodes in worlds drawn from the belief, and intervals.

In one episode, a world and one of the mixture's policies are drawn. The policy is followed until
the recall, which comes before each step with probability 1 − γ, or at the fixed step. Then each
return policy is followed from the state at the recall. Each episode has its own world, so episodes
are independent and counts are binomial.

- *Return*: a hit is an episode that reaches home, within the limit of steps if there is one.
- *Stay*: a hit is an episode whose actions before the recall were all in the set, unless the
  process ended.
- *Earn*: at a fixed recall, the value is the sum of rewards. Otherwise it is R/(1 − γ), with R the
  reward of the action at the recall: its mean is Σ γᵗ E[R_t], and it is bounded.

Walks of more than `MAX_STEPS` steps are cut. The upper limit of an interval counts a cut episode as
the best outcome, the lower limit as the worst, so it neither refutes nor confirms a claim. The
random numbers of a chunk depend on the seed and its number only, not on the number of processes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betainccinv, betaincinv

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import DirichletBelief, FiniteBelief
from homeward.compiling import njit
from homeward.models import Model, Moves
from homeward.referee.bounds import reachable

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.referee.claims import PlanCase

Rows = tuple[IntArray, IntArray, FloatArray]
"""Sparse rows as in `SparseMDP`: row starts [S·A + 1], next states, probabilities."""

MAX_STEPS = 1_000_000  # largest number of steps of a walk, outbound or back; longer walks are cut
CHUNK = 250  # number of episodes that share one stream of random numbers
PATIENCE = 6.0  # seconds of work after which processes are started
ENDED, CUT = -1, -2  # codes instead of a state: the process ended; the walk was too long
LOST, HOME, LONG = 0, 1, 2  # outcomes of a walk back: not home, at home, too long
HITS, CUTS, TOTAL, SQUARES = 0, 1, slice(2, 4), slice(4, 6)
"""Rows of a tally [6, P, K] for P mixtures and K criteria.

Sums of earnings and of their squares have two rows: cut episodes count with the least possible
earnings in the first row, and with the greatest in the second.
"""

RETURN_DOUBT = 0.01  # largest probability that a limit of a `ReturnCount` is wrong


@dataclass(frozen=True, slots=True)
class SampledEstimate:
    """The estimated value of one claim and its confidence interval from `low` to `high`."""

    estimate: float
    low: float
    high: float
    episodes: int  # number of simulated episodes
    cut: int  # number of episodes that were cut


@dataclass(frozen=True, slots=True)
class ReturnCount:
    """A count of returns; its limits `lower` and `upper` have 99 % one-sided confidence."""

    home: int  # number of worlds in which the explorer came home
    worlds: int  # number of all worlds

    @property
    def fraction(self) -> float:
        """The fraction of worlds in which the explorer came home."""
        return self.home / self.worlds

    @property
    def lower(self) -> float:
        """The lower limit of the probability of coming home."""
        return clopper_pearson(self.home, self.worlds, 2.0 * RETURN_DOUBT)[0]

    @property
    def upper(self) -> float:
        """The upper limit of the probability of coming home."""
        return 1.0 - clopper_pearson(self.worlds - self.home, self.worlds, 2.0 * RETURN_DOUBT)[0]


def clopper_pearson(hits: int, trials: int, doubt: float) -> tuple[float, float]:
    """Return two-sided limits (low, high); each is wrong with probability at most doubt/2."""
    low = float(betaincinv(hits, trials - hits + 1, doubt / 2.0)) if hits else 0.0
    high = float(betainccinv(hits + 1, trials - hits, doubt / 2.0)) if hits < trials else 1.0
    return low, high


def bernstein(variance: float, trials: int, width: float, doubt: float) -> float:
    """Return the half-width of an interval that misses the true mean with probability ≤ `doubt`.

    The values are independent and lie in an interval of length `width`. This is the empirical
    Bernstein bound of Maurer and Pontil (2009), √(2 V ln(4/doubt)/n) +
    7·width·ln(4/doubt)/(3(n − 1)), with V the sample variance and n the number of trials.
    """
    if trials < 2:
        return math.inf
    log = math.log(4.0 / doubt)
    return math.sqrt(2.0 * variance * log / trials) + 7.0 * width * log / (3.0 * (trials - 1))


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
    sizes = [min(CHUNK, episodes - done) for done in range(0, episodes, CHUNK)]
    near = reachable(case.belief.mean(), case.plan.state)
    ranges = [range_of(case, k, near) for k in range(len(case.plan.criteria))]
    tally = np.zeros((6, len(case.parts), len(ranges)))
    began, done = time.perf_counter(), 0

    def add(part: FloatArray) -> None:
        nonlocal done, tally
        tally, done = tally + part, done + 1
        if progress is not None:
            progress(sizes[done - 1])

    work = partial(_chunk, case, ranges, limit, seed)
    while done < len(sizes) and (jobs == 1 or time.perf_counter() - began < PATIENCE):
        add(work(done, sizes[done]))
    if done < len(sizes):
        context = get_context("spawn")  # a fork would copy the locks of compiled threads
        pool = ProcessPoolExecutor(min(jobs, len(sizes) - done), mp_context=context)
        try:
            for part in pool.map(work, range(done, len(sizes)), sizes[done:]):
                add(part)
        finally:
            pool.shutdown(cancel_futures=True)
    return {
        part.name: tuple(
            _interval(case.plan.criteria[k].kind, each, tally[:, p, k], episodes, doubt)
            for k, each in enumerate(ranges)
        )
        for p, part in enumerate(case.parts)
    }


def _chunk(
    case: PlanCase,
    ranges: list[tuple[float, float]],
    limit: int,
    seed: int,
    number: int,
    episodes: int,
) -> FloatArray:
    """Return the tally [6, P, K] (see `HITS`) of chunk `number`; equal arguments, equal tally."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
    plan, shape, criteria = case.plan, case.bonus.shape, case.plan.criteria
    kinds = [criterion.kind for criterion in criteria]
    returns, stays, earns = (
        [k for k, each in enumerate(kinds) if each == kind] for kind in ("return", "stay", "earn")
    )
    sets = [criteria[k].allowed for k in stays]
    allowed = np.array(sets, bool).reshape(len(sets), *shape)
    exits = np.zeros(shape, bool) if case.exits is None else np.array(case.exits)
    fixed, steps = plan.steps is not None, plan.steps or 1

    def by_step(policies: IntArray) -> IntArray:
        return np.array(policies, np.int64, order="C").reshape(-1, steps, shape[0])

    mixtures = [(np.cumsum(p.weights), by_step(p.outbound)) for p in case.parts]
    nothing = np.zeros((steps, shape[0]), np.int64)
    afterwards = by_step(nothing if plan.afterwards is None else plan.afterwards)[0]
    tally = np.zeros((6, len(mixtures), len(criteria)))
    counted = 1.0 if fixed else plan.expected_steps
    for world, count in _worlds(case.belief, rng, episodes):
        rows, rewards = rows_of(world), np.zeros((len(earns), *shape))
        for i, k in enumerate(earns):
            given = case.rewards[k]
            paid = world.reward if given is None else given
            rewards[i] = np.where(np.isfinite(world.reward), paid, 0.0)
        for p, mixture in enumerate(mixtures):
            ends, stayed, earned = walk_out(
                rng, rows, plan.state, plan.discount, fixed, limit, mixture, afterwards, exits,
                allowed, rewards, count,
            )  # fmt: skip
            long = ends == CUT
            tally[CUTS, p, [*stays, *earns]] += np.count_nonzero(long)
            for i, k in enumerate(stays):
                tally[HITS, p, k] += np.count_nonzero(stayed[i] & ~long)
            for i, k in enumerate(earns):
                for side, extreme in enumerate(ranges[k]):
                    got = np.where(long, extreme, earned[i] * counted)
                    tally[TOTAL, p, k][side] += got.sum()
                    tally[SQUARES, p, k][side] += (got * got).sum()
            for k in returns:
                criterion, at_home = criteria[k], np.zeros(shape[0], bool)
                at_home[criterion.home] = True
                policies = criterion.return_policies.astype(np.int64)
                within, since = criterion.within or 0, np.ones(1, np.int64)
                if criterion.return_since is not None and within:
                    since = np.array(criterion.return_since, np.int64)
                hopeful = at_home if within else can_reach(rows, shape[1], policies[0], at_home)
                back = at_home, policies, since, within, hopeful, limit
                outcomes = walk_back(rng, rows, shape[1], ends, *back)
                tally[HITS, p, k] += np.count_nonzero(outcomes == HOME)
                tally[CUTS, p, k] += np.count_nonzero(outcomes == LONG)
    return tally


def _worlds(belief: Belief, rng: np.random.Generator, episodes: int) -> Iterator[tuple[Model, int]]:
    """Yield worlds drawn from the belief, each with its number of episodes."""
    if not isinstance(belief, FiniteBelief):
        yield from ((belief.sample(rng), 1) for _ in range(episodes))
        return
    counts = rng.multinomial(episodes, belief.weights / belief.weights.sum())
    yield from ((world, int(n)) for world, n in zip(belief.worlds, counts, strict=True) if n)


def rows_of(world: Model) -> Rows:
    """Return the sparse rows of a world."""
    if not isinstance(world, Moves):
        rows = world.transitions
        return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), np.array(rows.data)
    here = np.repeat(np.arange(world.states), world.actions)
    both = np.stack([world.dest.ravel(), here], axis=1).ravel().astype(np.int64)
    works = world.success.ravel()
    chance = np.stack([works, 1.0 - works], axis=1).ravel()
    return np.arange(0, len(both) + 1, 2), both, chance


def _interval(
    kind: str, limits: tuple[float, float], tally: FloatArray, episodes: int, doubt: float
) -> SampledEstimate:
    """Return the estimate of a criterion from its tally [6]; it is wrong with Pr ≤ `doubt`."""
    hits, cut = int(tally[HITS]), int(tally[CUTS])
    if kind != "earn":
        low, _ = clopper_pearson(hits, episodes, doubt)
        _, high = clopper_pearson(hits + cut, episodes, doubt)  # a cut episode may be a hit
        return SampledEstimate((hits + 0.5 * cut) / episodes, low, high, episodes, cut)
    least, most = limits
    means = tally[TOTAL] / episodes
    numbers = [float(means.mean())]
    for side, sign in ((0, -1.0), (1, 1.0)):
        spread = tally[SQUARES][side] - episodes * means[side] ** 2
        variance = max(0.0, float(spread)) / max(1, episodes - 1)
        half_width = bernstein(variance, episodes, most - least, doubt)
        numbers.append(float(means[side]) + sign * half_width)
    estimate, low, high = (min(most, max(least, value)) for value in numbers)
    return SampledEstimate(estimate, low, high, episodes, cut)


def range_of(case: PlanCase, k: int, near: BoolArray) -> tuple[float, float]:
    """Return the least and the greatest possible total of criterion k in the states `near` [S].

    If the criterion uses the rewards of the worlds and these are unknown, its limits count.
    """
    belief, given, mean = case.belief, case.rewards[k], case.belief.mean()
    if case.plan.criteria[k].kind != "earn":
        return 0.0, 1.0
    limits = case.limits[k] or belief.reward_limits()
    if given is None and limits and not isinstance(belief, FiniteBelief | DirichletBelief):
        low, high = limits
    else:
        worlds = belief.worlds if isinstance(belief, FiniteBelief) else [mean]
        rewards = [world.reward for world in worlds] if given is None else [given]
        usable = np.isfinite(mean.reward) & near[:, None]
        paid = np.concatenate([reward[usable] for reward in rewards])
        low, high = float(paid.min()), float(paid.max())
    if not isinstance(mean, Moves):  # after the process ends, the reward is 0
        low, high = min(low, 0.0), max(high, 0.0)
    return low * case.plan.expected_steps, high * case.plan.expected_steps


@njit(cache=True)
def step(rng: np.random.Generator, rows: Rows, row: int) -> int:
    """Return the next state drawn from a row, or ENDED."""
    starts, next_state, chance = rows
    draw = rng.random()
    for i in range(starts[row], starts[row + 1]):
        draw -= chance[i]
        if draw < 0.0:
            return int(next_state[i])
    return ENDED


@njit(cache=True)
def walk_out(
    rng: np.random.Generator,
    rows: Rows,
    start: int,
    discount: float,
    fixed: bool,
    limit: int,
    mixture: tuple[FloatArray, IntArray],
    afterwards: IntArray,
    exits: BoolArray,
    allowed: BoolArray,
    rewards: FloatArray,
    episodes: int,
) -> tuple[IntArray, BoolArray, FloatArray]:
    """Follow a mixture of policies until the recall, in each of E episodes.

    The mixture has cumulative weights [J] and policies [J, n, S]; one is drawn per episode. If
    `fixed`, the recall comes after n steps; otherwise n is 1, and it comes before each step with
    probability 1 − γ. After `limit` steps an episode is cut. After an action in `exits` [S, A], the
    policy `afterwards` [n, S] is followed. `allowed` and `rewards`, each [K, S, A], are sets to
    stay inside and rewards to earn.

    Return the state [E] at the recall, or ENDED, or CUT; the mask [K, E] of episodes in which every
    action was allowed and the process did not end; and the earnings [K, E]: the sum of rewards if
    the recall is fixed, otherwise the reward of the action at the recall.
    """
    shares, outbound = mixture
    ends = np.empty(episodes, np.int64)
    stayed = np.ones((len(allowed), episodes), np.bool_)
    earned = np.zeros((len(rewards), episodes))
    steps, actions = outbound.shape[1], exits.shape[1]
    for e in range(episodes):
        draw, j = rng.random(), 0
        while j < len(shares) - 1 and draw >= shares[j]:
            j += 1
        lasting = float(steps)
        if not fixed:
            lasting = math.floor(math.log(1.0 - rng.random()) / math.log(discount))
        if lasting > limit:
            ends[e] = CUT
            continue
        state, left = start, False
        for t in range(int(lasting)):
            at = t if fixed else 0
            action = afterwards[at, state] if left else outbound[j, at, state]
            for k in range(len(allowed)):
                if not allowed[k, state, action]:
                    stayed[k, e] = False
            if fixed:
                for k in range(len(rewards)):
                    earned[k, e] += rewards[k, state, action]
            left = left or exits[state, action]
            state = step(rng, rows, state * actions + action)
            if state == ENDED:
                stayed[:, e] = False
                break
        ends[e] = state
        if not fixed and state != ENDED:
            action = afterwards[0, state] if left else outbound[j, 0, state]
            for k in range(len(rewards)):
                earned[k, e] = rewards[k, state, action]
    return ends, stayed, earned


@njit(cache=True)
def walk_back(
    rng: np.random.Generator,
    rows: Rows,
    actions: int,
    ends: IntArray,
    at_home: BoolArray,
    policies: IntArray,
    since: IntArray,
    within: int,
    hopeful: BoolArray,
    limit: int,
) -> IntArray:
    """Follow return policies from the states `ends` [E]; return LOST, HOME or LONG for each.

    ``policies[i]`` [S] is followed while at least ``since[i]`` of the `within` steps are left. If
    `within` is 0, steps are not limited, and the only policy is followed while it can reach home
    (`hopeful` [S]). A walk is LOST if its policy gives up or the process has ended.
    """
    came = np.full(len(ends), LOST)
    for e in range(len(ends)):
        state, taken, layer = ends[e], 0, len(since) - 1
        if state == CUT:
            came[e] = LONG
            continue
        while state != ENDED:
            if at_home[state]:
                came[e] = HOME
                break
            if taken == within if within > 0 else not hopeful[state]:
                break
            while layer > 0 and since[layer] > within - taken:
                layer -= 1
            action = policies[layer, state]
            if action < 0:
                break
            if taken == limit:
                came[e] = LONG
                break
            state = step(rng, rows, state * actions + action)
            taken += 1
    return came


@njit(cache=True)
def can_reach(rows: Rows, actions: int, policy: IntArray, goal: BoolArray) -> BoolArray:
    """Return the mask [S] of states from which a policy [S] can reach `goal` [S]; −1 gives up."""
    starts, next_state, chance = rows
    found, grows = goal.copy(), True
    while grows:
        grows = False
        for s in range(len(policy)):
            if found[s] or policy[s] < 0:
                continue
            row = s * actions + policy[s]
            for i in range(starts[row], starts[row + 1]):
                if chance[i] > 0.0 and found[next_state[i]]:
                    found[s], grows = True, True
                    break
    return found
