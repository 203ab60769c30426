r"""Monte Carlo: draw worlds from the belief, follow the plan in each, and count.

One episode: draw a world; draw one of the mixture's policies; follow it until the recall, which
comes before each step with chance 1 − γ, or at the fixed step; then follow the return policy of
each criterion in turn. Each episode has a world of its own, so episodes are independent and counts
are binomial.

- *Return*: counts if it is home, within the limit if there is one. Giving up does not, nor does an
  end of the process. A way back that can't reach home any more, in circles or stuck, is known not
  to: reachability in the drawn world says so, exactly.
- *Stay*: counts if no action before the recall was outside the set and the process did not end.
- *Earn*: at a fixed recall, what was earned. Else R/(1 − γ) of the action that the recall
  interrupts: its mean is Σ γᵗ E[R_t], and unlike the sum until the recall it is bounded.

Walks of more than `LIMIT` steps are cut. What they would have come to is not known, so a cut
episode counts for the claim in the upper limit and against it in the lower one: neither can make a
true claim look refuted, or a false one confirmed.

The episodes come in chunks, each with random numbers of its own from the seed and its number. The
result is the same on any number of processes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.beliefs import DirichletBelief, FiniteBelief, HeightBelief, TerrainBelief
from homeward.certificates.chain import reachable
from homeward.certificates.intervals import bernstein, clopper_pearson
from homeward.certificates.walks import ENDED, HOME, LONG, find_hope, walk_back, walk_out
from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.certificates.stored import Part, StoredPlan
    from homeward.models import Model
    from homeward.planning.plan import CriterionEvidence

KNOWN = (FiniteBelief, DirichletBelief, HeightBelief, TerrainBelief)
"""The beliefs that say what their worlds pay."""

LIMIT = 1_000_000
"""Steps, out or back, after which a walk is cut."""

CHUNK = 250
"""Episodes that share one stream of random numbers."""

STARTING = 6.0
"""Seconds that processes must save before they are started: about what starting them takes."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """What an interval says of one claim."""

    estimate: float
    low: float
    high: float
    episodes: int
    cut: int  # episodes that were too long


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What was counted; axes are parts of the plan and criteria [P, K]."""

    hits: IntArray
    cut: IntArray
    total: FloatArray  # [2, P, K] sums of what was earned: cut episodes at their least, their most
    squares: FloatArray  # [2, P, K]

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.hits + other.hits,
            self.cut + other.cut,
            self.total + other.total,
            self.squares + other.squares,
        )


class Sampler:
    """A plan made ready to be played out many times.

    The walks are compiled once more for arrays that can't be written to, so those are copied.
    """

    def __init__(self, stored: StoredPlan, limit: int = LIMIT) -> None:
        plan = stored.plan
        self.stored, self.limit = stored, limit
        self.fixed = plan.steps is not None
        criteria = plan.criteria
        shape = stored.bonus.shape
        self.states, self.actions = int(shape[0]), int(shape[1])
        self.stays = [k for k, c in enumerate(criteria) if c.kind == "stay"]
        self.earns = [k for k, c in enumerate(criteria) if c.kind == "earn"]
        self.returns = [(k, _Way(c)) for k, c in enumerate(criteria) if c.kind == "return"]
        sets = [criteria[k].allowed for k in self.stays]
        self.allowed = np.array(sets, bool).reshape(len(sets), *shape)
        exits = stored.exits
        self.exits: BoolArray = np.zeros(shape, bool) if exits is None else np.array(exits)
        self.parts = [(part, np.cumsum(part.weights), self._by_step(part)) for part in stored.parts]
        long = shape[0] if plan.steps is None else plan.steps * shape[0]
        after = np.zeros(long, np.int64) if plan.afterwards is None else plan.afterwards
        self.afterwards = after.astype(np.int64, order="C").reshape(-1, shape[0])
        self.ranges = {k: range_of(stored, k) for k in self.earns}
        self._dest: IntArray | None = None
        self._rows: tuple[IntArray, IntArray] | None = None

    def _by_step(self, part: Part) -> IntArray:
        """See policies as [J, n, S]."""
        policies: IntArray = part.outbound.astype(np.int64, order="C")
        return policies if self.fixed else policies[:, None, :]

    def chunk(self, seed: int, number: int, episodes: int) -> Tally:
        """Play so many episodes; the same ones for the same seed and number."""
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        shape = (len(self.parts), len(self.stored.plan.criteria))
        hits, cut = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        total, squares = np.zeros((2, *shape)), np.zeros((2, *shape))
        for world, count in self._worlds(rng, episodes):
            rows = self._rows_of(world)
            paid = self._paid(world)
            hope = [way.hope(rows, self.actions) for _, way in self.returns]
            for p, (_, shares, policies) in enumerate(self.parts):
                ends = np.empty(count, np.int64)
                stayed = np.empty((len(self.stays), count), bool)
                earned = np.empty((len(self.earns), count))
                walk_out(
                    rng,
                    *rows,
                    self.stored.plan.state,
                    self.stored.plan.discount,
                    self.fixed,
                    self.limit,
                    shares,
                    policies,
                    self.afterwards,
                    self.exits,
                    self.allowed,
                    paid,
                    ends,
                    stayed,
                    earned,
                )
                long = ends < ENDED
                for i, k in enumerate(self.stays):
                    cut[p, k] += np.count_nonzero(long)
                    hits[p, k] += np.count_nonzero(stayed[i] & ~long)
                for i, k in enumerate(self.earns):
                    cut[p, k] += np.count_nonzero(long)
                    for side, extreme in enumerate(self.ranges[k]):
                        got = np.where(long, extreme, earned[i] * self._long)
                        total[side, p, k] += got.sum()
                        squares[side, p, k] += (got * got).sum()
                for (k, way), hopeful in zip(self.returns, hope, strict=True):
                    came = np.empty(count, np.int64)
                    walk_back(
                        rng,
                        *rows,
                        self.actions,
                        ends,
                        way.at_home,
                        way.layers,
                        way.since,
                        way.within,
                        hopeful,
                        self.limit,
                        came,
                    )
                    hits[p, k] += np.count_nonzero(came == HOME)
                    cut[p, k] += np.count_nonzero(came == LONG)
        return Tally(hits, cut, total, squares)

    @property
    def _long(self) -> float:
        """What the reward at a recall counts: 1/(1 − γ), or 1 for a sum over fixed steps."""
        return 1.0 if self.fixed else 1.0 / (1.0 - self.stored.plan.discount)

    def _worlds(self, rng: np.random.Generator, episodes: int) -> Iterator[tuple[Model, int]]:
        """Draw a world for each episode; of a finite belief, how often each of them comes."""
        belief = self.stored.belief
        if isinstance(belief, FiniteBelief):
            counts = rng.multinomial(episodes, belief.weights / belief.weights.sum())
            for world, count in zip(belief.worlds, counts, strict=True):
                if count:
                    yield world, int(count)
            return
        for _ in range(episodes):
            yield belief.sample(rng), 1

    def _rows_of(self, world: Model) -> tuple[IntArray, IntArray, FloatArray]:
        """See a world as sparse rows; what moves share is made once."""
        if not isinstance(world, Moves):
            rows = world.transitions
            starts, columns = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
            return starts, columns, np.array(rows.data)
        if self._rows is None or self._dest is not world.dest:
            here = np.repeat(np.arange(self.states), self.actions)
            both = np.stack([world.dest.ravel(), here], axis=1).ravel().astype(np.int64)
            self._dest, self._rows = world.dest, (np.arange(0, len(both) + 1, 2), both)
        go = world.success.ravel()
        return *self._rows, np.stack([go, 1.0 - go], axis=1).ravel()

    def _paid(self, world: Model) -> FloatArray:
        """Give what counts as earned [K, S, A] in a world."""
        paid = np.zeros((len(self.earns), self.states, self.actions))
        for i, k in enumerate(self.earns):
            given = self.stored.rewards[k]
            rewards = world.reward if given is None else given
            paid[i] = np.where(np.isfinite(world.reward), rewards, 0.0)
        return paid

    def judge(self, tally: Tally, episodes: int, doubt: float) -> dict[str, tuple[Sampled, ...]]:
        """Turn counts into intervals, each wrong with chance ≤ `doubt`; by part of the plan."""
        kinds = [c.kind for c in self.stored.plan.criteria]
        return {
            part.name: tuple(
                self._earned(tally, p, k, episodes, doubt)
                if kind == "earn"
                else _counted(int(tally.hits[p, k]), int(tally.cut[p, k]), episodes, doubt)
                for k, kind in enumerate(kinds)
            )
            for p, (part, _, _) in enumerate(self.parts)
        }

    def _earned(self, tally: Tally, p: int, k: int, episodes: int, doubt: float) -> Sampled:
        least, most = self.ranges[k]
        limits: list[float] = []
        means = tally.total[:, p, k] / episodes
        for side, sign in ((0, -1.0), (1, 1.0)):
            spread = tally.squares[side, p, k] - episodes * means[side] ** 2
            variance = max(0.0, float(spread)) / max(1, episodes - 1)
            off = bernstein(variance, episodes, most - least, doubt)
            limits.append(min(most, max(least, float(means[side]) + sign * off)))
        low, high = limits
        estimate = min(most, max(least, float(means.mean())))  # a mean is rounded
        return Sampled(estimate, low, high, episodes, int(tally.cut[p, k]))


class _Way:
    """A way back, as the walks take it."""

    def __init__(self, criterion: CriterionEvidence) -> None:
        self.at_home = np.zeros(len(criterion.return_policy), dtype=bool)
        self.at_home[criterion.home] = True
        layers, since = criterion.return_layers, criterion.return_since
        self.within = 0 if criterion.within is None else criterion.within
        if self.within == 0 or layers is None or since is None:
            layers, since = criterion.return_policy[None], np.ones(1, np.int64)
        self.layers: IntArray = layers.astype(np.int64)
        self.since: IntArray = since.astype(np.int64)

    def hope(self, rows: tuple[IntArray, IntArray, FloatArray], actions: int) -> BoolArray:
        """Tell from where [S] home can be reached in a world; not asked where steps are limited."""
        if self.within:
            return self.at_home
        hopeful: BoolArray = find_hope(*rows, actions, self.layers[0], self.at_home)
        return hopeful


def range_of(stored: StoredPlan, k: int) -> tuple[float, float]:
    """Give the least and the greatest that can be earned until recall, in any world."""
    low, high = _paid_by(stored, k)
    if not isinstance(stored.belief.mean(), Moves):  # an end of the process pays nothing more
        low, high = min(low, 0.0), max(high, 0.0)
    long = _until_recall(stored)
    return low * long, high * long


def unit_of(stored: StoredPlan, k: int, *, anywhere: bool = False) -> float:
    """Return what a claim is judged against: 1 for a probability, else the range of earnings.

    What is paid where the plan can't come to counts only if `anywhere`.
    """
    if stored.plan.criteria[k].kind != "earn":
        return 1.0
    low, high = _paid_by(stored, k, anywhere=anywhere)
    if not isinstance(stored.belief.mean(), Moves):
        low = min(low, 0.0)
    return (high - low if high > low else 1.0) * _until_recall(stored)


def _paid_by(stored: StoredPlan, k: int, *, anywhere: bool = False) -> tuple[float, float]:
    """Return the least and the greatest that a step may pay, where the plan can come to.

    By the given rewards, or by the worlds where those are known to say; else by the limits that
    were given, which may be wide.
    """
    belief, given, limits = stored.belief, stored.rewards[k], stored.limits[k]
    mean = belief.mean()
    usable = np.isfinite(mean.reward)
    if not anywhere:
        near = reachable(mean.sparse().transitions, usable, stored.plan.state)
        usable &= np.isin(np.arange(mean.states), near)[:, None]
    if given is not None:
        return float(given[usable].min()), float(given[usable].max())
    if limits is not None and not isinstance(belief, KNOWN):
        return limits
    worlds = belief.worlds if isinstance(belief, FiniteBelief) else [mean]
    paid = np.concatenate([world.reward[usable] for world in worlds])
    return float(paid.min()), float(paid.max())


def _until_recall(stored: StoredPlan) -> float:
    """Give how many steps count in a total: 1/(1 − γ), or a fixed number."""
    plan = stored.plan
    return 1.0 / (1.0 - plan.discount) if plan.steps is None else float(plan.steps)


def _counted(hits: int, cut: int, episodes: int, doubt: float) -> Sampled:
    """Give the interval of a probability; cut episodes count for it above, against it below."""
    low, _ = clopper_pearson(hits, episodes, doubt)
    _, high = clopper_pearson(hits + cut, episodes, doubt)
    return Sampled((hits + 0.5 * cut) / episodes, low, high, episodes, cut)


def sample(
    stored: StoredPlan,
    episodes: int,
    doubt: float,
    seed: int = 0,
    jobs: int = 1,
    progress: Callable[[int], None] | None = None,
    limit: int = LIMIT,
) -> dict[str, tuple[Sampled, ...]]:
    """Play a plan out so often, and give an interval for each claim, by part of the plan.

    Each interval is wrong with chance ≤ `doubt`. With more than one of `jobs`, so many processes
    share the work. `progress` is told of the episodes that were played since it was last told.
    """
    sampler = Sampler(stored, limit)
    sizes = [min(CHUNK, episodes - done) for done in range(0, episodes, CHUNK)]
    tally: Tally | None = None
    for size, part in zip(sizes, _play(sampler, seed, sizes, jobs), strict=True):
        tally = part if tally is None else tally + part
        if progress is not None:
            progress(size)
    assert tally is not None
    return sampler.judge(tally, episodes, doubt)


def _play(sampler: Sampler, seed: int, sizes: list[int], jobs: int) -> Iterator[Tally]:
    """Give the chunks' tallies in their order; by a pool once that is worth starting one."""
    tasks = [(seed, number, size) for number, size in enumerate(sizes)]
    began, done = time.perf_counter(), 0
    while done < len(tasks):
        if done == 1:  # the first one also loads what is compiled
            began = time.perf_counter()
        if jobs > 1 and done > 1:
            left = (time.perf_counter() - began) / (done - 1) * (len(tasks) - done)
            if left * (1.0 - 1.0 / jobs) > STARTING:
                break
        yield sampler.chunk(*tasks[done])
        done += 1
    if done < len(tasks):
        yield from _together(sampler, tasks[done:], jobs)


def _together(sampler: Sampler, tasks: list[tuple[int, int, int]], jobs: int) -> Iterator[Tally]:
    """Give the tallies of tasks that several processes share, in the tasks' order."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(
        min(jobs, len(tasks)),
        mp_context=get_context("spawn"),  # a fork would take over locks of compiled threads
        initializer=_settle,
        initargs=(sampler.stored, sampler.limit),
    )
    try:
        yield from pool.map(_chunk, tasks)
    finally:
        pool.shutdown(cancel_futures=True)


_here: dict[str, Any] = {}
"""What a process of the pool was handed."""


def _settle(stored: StoredPlan, limit: int) -> None:
    """Make a process of the pool ready."""
    _here["sampler"] = Sampler(stored, limit)


def _chunk(task: tuple[int, int, int]) -> Tally:
    """Play a chunk in a process of the pool."""
    tally: Tally = _here["sampler"].chunk(*task)
    return tally
