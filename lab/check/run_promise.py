"""Checks the safety level of whole runs, over every history of small random correlated beliefs.

A belief here is a few explicit worlds. Decisions depend only on observations, so all histories form
a tree. Each node has one decision, and a branch for every outcome that some world allows. With the
exact probability of each history in each world, backward induction finds the worst recall rule: at
each node, the run is recalled or goes on, whichever is worse. The return policy of the run must
then reach home with probability at least δ. This probability plus the expected risk spent must be
at least 1.

A belief of a user's own is a `FiniteBelief` that planners can't look into. Its blocked
probabilities may be upper bounds, and change with every observation. Its world may answer with an
exact row besides the transition.

The check does not use evaluations of the planner: `certificates.policy_values` evaluates return
policies in every world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray
from homeward.beliefs import Belief, FiniteBelief, Rows, Transition, Visit
from homeward.beliefs.corrections import changes_state
from homeward.bonuses import Bonus, RMax
from homeward.criteria import Criterion, Home, ReturnHome, StayInside
from homeward.models import Model, Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Rules, decide
from homeward.planning.promise import Promise, RunState
from homeward.referee.exact import dense_transitions, exact_return
from homeward.solvers import GIVE_UP

Kind = Literal[
    "moves",
    "chancy moves",
    "general",
    "paid moves",
    "own moves",
    "own paid moves",
    "own general",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DELTAS = (1.0, 0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.1)

DEPTH = 8  # number of steps after which every history is recalled
RAREST = 2e-2  # probability below which a history is recalled instead of followed


def exact_return_within(
    transitions: FloatArray, policies: Sequence[IntArray], home: IntArray
) -> FloatArray:
    """Return the probability [S] of reaching `home` within as many steps as there are policies.

    ``policies[k]`` [S] is followed when k + 1 steps are left.
    """
    states = np.arange(transitions.shape[0])
    value = np.zeros(len(states))
    value[home] = 1.0
    for policy in policies:
        value = transitions[states, np.maximum(policy, 0)] @ value * (policy != GIVE_UP)
        value[home] = 1.0
    return value


@dataclass(frozen=True, slots=True, eq=False)
class OwnBelief(Belief):
    """A belief of a user's own, with the required methods and counts."""

    inner: FiniteBelief
    loose: FloatArray  # [n, S, A] looseness of a bound after 0, 1, … transitions, from 0 to 1

    def mean(self) -> Model:
        """Return the mean model."""
        return self.inner.mean()

    def correction(self) -> FloatArray:
        """Return the general correction σ [S, A]."""
        return self.inner.correction()

    def update(self, observation: Any) -> Self:
        """Return the belief after an observation."""
        return replace(self, inner=self.inner.update(observation))

    def sample(self, rng: np.random.Generator) -> Model:
        """Return one of the worlds."""
        return self.inner.sample(rng)

    @property
    def counts(self) -> IntArray:
        """Number of transitions [S, A]."""
        return self.inner.counts

    @property
    def visited(self) -> BoolArray:
        """Mask [S] of the visited states."""
        return self.inner.visited


class OwnMoves(OwnBelief):
    """The same on move-or-stay models, with upper bounds on blocked probabilities."""

    @property
    def moves_work_or_never(self) -> bool:
        """Whether every move always or never works in each possible world."""
        return self.inner.moves_work_or_never

    def blocked_probability(self) -> FloatArray:
        """Return an upper bound [S, A] on the probability that a move never works."""
        exact = self.inner.blocked_probability()
        loose = self.loose[min(int(self.counts.sum()), len(self.loose) - 1)]
        dest = self.inner.worlds[0].dest  # type: ignore[union-attr]
        return np.where(changes_state(dest), exact + loose * (1.0 - exact), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RunCase:
    """A belief and the planner of a run on it, from state `start`."""

    kind: Kind
    belief: FiniteBelief | OwnBelief
    planner: Planner
    start: int
    shows: IntArray | None = None  # [S] action whose row is seen in each state; −1 for none


@dataclass(frozen=True, slots=True)
class WorstRecall:
    """Result of a run under the worst recall rule."""

    feasible: bool  # whether the run started at all
    steps: int  # number of decisions in the tree with an action
    spent: float  # maximum risk spent in a history
    excess: float  # maximum of δ − Pr(home) over homes; positive if a level is broken
    unbalanced: float  # maximum of 1 − Pr(home) − E[spent]; positive if a step cost too little


def random_case(kind: Kind, rng: np.random.Generator, delta: float | None = None) -> RunCase:
    """Draw a belief with worlds of the given kind, and a planner for it."""
    general = kind in ("general", "own general")
    worlds = _general(kind, rng) if general else _moves(kind, rng)
    states, actions = worlds.counts.shape
    belief: FiniteBelief | OwnBelief = worlds
    shows: IntArray | None = None
    if kind.startswith("own"):
        own = OwnBelief if general else OwnMoves
        loose = rng.choice([0.0, 0.0, 0.0, 0.1, 0.6, 1.0], (DEPTH, states, actions))
        belief = own(worlds, loose * (rng.random() < 0.8))
        shows = np.asarray(rng.integers(-1, actions, states))
    start = int(rng.integers(states))
    bonus: Bonus = RMax() if rng.random() < 0.3 else _once(rng.random((states, actions)), rng)
    criteria = [_home(kind, states, start, rng, delta) for _ in range(1 + int(rng.random() < 0.2))]
    if not general and rng.random() < 0.1:
        allowed = rng.random((states, actions)) < 0.9
        allowed[:, 0] = True  # to stay
        criteria.append(StayInside(allowed, 1.0))
    return RunCase(kind, belief, Planner(bonus, criteria), start, shows)


def examine(case: RunCase) -> WorstRecall:
    """Follow all histories of a run, and return its result under the worst recall rule."""
    tree = _Tree(case)
    belief = case.belief.update(Visit(case.start))
    run = tree.rules.open(belief, case.start)
    worst = tree.worst(belief, case.start, run, tree.finite.weights, DEPTH)
    levels = np.array([goal.delta for goal in tree.rules.goals])
    return WorstRecall(
        tree.feasible,
        tree.steps,
        tree.spent,
        float((levels - worst[0]).max()) if tree.feasible else 0.0,
        float((1.0 - worst[1]).max()),
    )


class _Tree:
    """All histories of one run."""

    def __init__(self, case: RunCase) -> None:
        belief = case.belief
        self.rules = Rules.of(belief.update(Visit(case.start)), case.planner, case.start)
        self.finite = belief.inner if isinstance(belief, OwnBelief) else belief
        self.worlds = [dense_transitions(world) for world in self.finite.worlds]
        self.shows = case.shows
        self.feasible = True
        self.steps = 0
        self.spent = 0.0

    def worst(
        self, belief: Any, state: int, run: RunState, chances: FloatArray, depth: int
    ) -> FloatArray:
        """Return the minima [2, K] over recall rules of Pr(home) and of Pr(home) + E[spent].

        K is the number of return criteria. `chances` [M] are the joint probabilities of each of M
        worlds and the history so far. Pr and E count only runs with this history. The two minima
        may have different recall rules.
        """
        now = self._recalled(run, state, chances)
        if depth == 0 or chances.sum() < RAREST:
            return now
        decision = decide(self.rules, belief, run, state)
        if decision.end is End.INFEASIBLE and depth == DEPTH:
            self.feasible = False
        now = np.minimum(now, self._recalled(decision.after, state, chances))
        if decision.action is None:
            return now
        self.steps += 1
        self.spent = max(self.spent, *(promise.spent for promise in decision.after.promises))
        action, onward = decision.action, np.zeros_like(now)
        rows = np.array([world[state, action] for world in self.worlds])  # [M, S]
        for there in np.flatnonzero(chances @ rows):
            move, reached = Transition(state, action, int(there)), chances * rows[:, there]
            for answer, alike in self._answers(move, reached):
                seen = belief.update(answer)
                onward += self.worst(seen, int(there), decision.after, alike, depth - 1)
        ended = float(chances @ np.maximum(0.0, 1.0 - rows.sum(axis=1)))
        onward[1] += ended * np.array([promise.spent for promise in decision.after.promises])
        return np.minimum(now, onward)

    def _answers(self, move: Transition, reached: FloatArray) -> list[tuple[Any, FloatArray]]:
        """Return what the worlds answer to a move, with the joint probabilities [M] of each answer.

        `reached` [M] are the joint probabilities of the worlds and the move.
        """
        there = int(move.next_state or 0)
        if self.shows is None or self.shows[there] < 0:
            return [(move, reached)]
        pair, answers = (there, int(self.shows[there])), dict[bytes, tuple[Any, FloatArray]]()
        for m in np.flatnonzero(reached):
            row = self.worlds[m][pair]
            alike = [bool((world[pair] == row).all()) for world in self.worlds]
            answers[row.tobytes()] = (move, Rows((pair,), row[None])), reached * alike
        return [*answers.values()]

    def _recalled(self, run: RunState, state: int, chances: FloatArray) -> FloatArray:
        """Return Pr(home) and Pr(home) + E[spent] [2, K], as in `worst`, of a recall in `state`."""
        kept = np.zeros((2, len(self.rules.goals)))
        for k, (goal, promise) in enumerate(zip(self.rules.goals, run.promises, strict=True)):
            for chance, world in zip(chances, self.worlds, strict=True):
                if chance > 0.0:
                    if goal.within is None:
                        way = self._adaptive(promise, chances > 0.0, world, goal.homes)
                    else:
                        policies = [promise.way] * goal.within
                        way = exact_return_within(world, policies, goal.homes)
                    kept[:, k] += chance * way[state]
            kept[1, k] += chances.sum() * promise.spent
        return kept

    def _adaptive(
        self, promise: Promise, possible: BoolArray, world: FloatArray, homes: IntArray
    ) -> FloatArray:
        """Return the probability [S] that a promised way home works in one world.

        The way home may depend on the set of worlds that the observations still allow. So the
        evaluated process has pairs (set of worlds, state) as its states.
        """
        states = len(promise.way)
        if not promise.policies:
            return exact_return(world, promise.way, homes)
        start = sum(1 << int(m) for m in np.flatnonzero(possible))
        sets = [start]
        rows: dict[tuple[int, int], dict[tuple[int, int], float]] = {}
        for one in sets:  # grows
            policy = promise.policies[one]
            for s in range(states):
                row, action = rows.setdefault((one, s), {}), int(policy[s])
                for there in np.flatnonzero(world[s, action]) if action != GIVE_UP else ():
                    allow = (1 << m for m, w in enumerate(self.worlds) if w[s, action, there] > 0)
                    after = one & sum(allow)
                    if after not in sets:
                        sets.append(after)
                    row[after, int(there)] = float(world[s, action, there])
        size = len(sets) * states
        pairs = np.zeros((size, 1, size))
        for (one, s), row in rows.items():
            for (after, to), chance in row.items():
                pairs[sets.index(one) * states + s, 0, sets.index(after) * states + to] = chance
        at_home = [k * states + int(home) for k in range(len(sets)) for home in homes]
        return exact_return(pairs, np.zeros(size, np.int64), np.array(at_home))[:states]


def _once(worth: FloatArray, rng: np.random.Generator) -> Bonus:
    """Return a bonus: `worth` [S, A] for untried actions, except for half of the actions."""
    paid = np.where(rng.random(worth.shape) < 0.5, worth, 0.0)
    return lambda belief: np.where(belief.counts == 0, paid, 0.0)


def _home(
    kind: Kind, states: int, start: int, rng: np.random.Generator, delta: float | None
) -> Criterion:
    """Draw a return criterion: its home and its level, or the level `delta` if given."""
    level = float(rng.choice(DELTAS)) if delta is None else delta
    home: Home = start
    if rng.random() < 0.4:
        home = rng.integers(states, size=int(rng.integers(1, 3)))
    if kind in ("moves", "own moves") and rng.random() < 0.15:
        return ReturnHome(level, home, within=int(rng.integers(1, 5)))
    return ReturnHome(level, home)


def _moves(kind: Kind, rng: np.random.Generator) -> FiniteBelief:
    """Draw 2 to 5 worlds with 3 to 6 states, one action that stays and 2 or 3 that move."""
    states, moves, count = (int(rng.integers(*span)) for span in ((3, 7), (2, 4), (2, 6)))
    dest = rng.integers(0, states, (states, moves + 1))
    dest[:, 0] = np.arange(states)
    dest[1:, 1] = np.arange(states - 1)  # state 0 is reachable
    often = rng.choice([0.4, 0.7, 0.9, 1.0], dest.shape)
    success = (rng.random((count, *dest.shape)) < often) * 1.0
    if kind != "moves" and (not kind.startswith("own") or rng.random() < 0.5):
        success *= rng.choice([1.0, 1.0, 0.6, 0.2], success.shape)
    reward = np.zeros(dest.shape)
    if kind in ("paid moves", "own paid moves"):
        reward = rng.choice([0.0, 0.0, -0.1], dest.shape)
    reward[:, 1:][rng.random((states, moves)) < 0.1] = -np.inf
    weights = rng.dirichlet(np.full(count, float(rng.choice([0.3, 1.0, 5.0]))))
    return FiniteBelief([Moves(dest, world, reward) for world in success], weights)


def _general(kind: Kind, rng: np.random.Generator) -> FiniteBelief:
    """Draw 2 to 4 worlds with 3 to 5 states and 2 or 3 actions; some are fatal in some worlds."""
    states, actions, count = (int(rng.integers(*span)) for span in ((3, 6), (2, 4), (2, 5)))
    sharp = float(rng.choice([0.02, 0.1, 0.3]))
    rows = rng.dirichlet(np.full(states, sharp), (count, states, actions))
    rows[rows < 0.02] = 0.0
    rows /= rows.sum(axis=3, keepdims=True)
    shared = rng.random((states, actions)) < 0.4  # some rows are known
    rows[:, shared] = rows[0, shared]
    rows[rng.random((count, states, actions)) < 0.05] *= 0.8  # the process may end in some rows
    weights = rng.dirichlet(np.ones(count))
    if kind == "own general" and rng.random() < 0.5:
        rows[:, rng.random((states, actions)) < 0.5] = np.eye(states)[rng.integers(states)]
        rows[1:][rng.random((count - 1, states, actions)) < 0.2] = 0.0
        weights = np.sort(rng.dirichlet(np.full(count, 0.5)))[::-1]
    return FiniteBelief([SparseMDP.from_dense(world) for world in rows], weights)
