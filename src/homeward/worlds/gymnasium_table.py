"""The model of a Gymnasium environment with finitely many states, found in one of three ways.

*table*: the environment has its transition table in ``P``, as Gymnasium's toy-text ones do. The
model is exact.

*probed*: copies of the environment are stepped. From every state that is found, each action is
tried twice, with the same effect, and draws no random number from ``np_random``. The model is
deterministic.

*counted*: some actions draw random numbers or had different effects, and were tried more often; or
the environment can't be copied, and episodes of random actions were counted. The model is only
estimated, so the belief about a random row is Dirichlet: every outcome that was counted has 1 plus
its count, and all outcomes that were not counted have 1 together. They count as the end of the
process, from which no way leads home: after n tries with one effect, the end has probability
1/(n + 2). An action that was never tried ends the process.

Several seeds give several worlds, if the environment draws its map from the seed. The explorer
does not know in which world it is. It learns this from transitions and from the environment's
observations: a world that would give another observation in the same state is ruled out.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from homeward.arrays import index
from homeward.beliefs.dirichlet import END, DirichletBelief
from homeward.beliefs.finite import FiniteBelief
from homeward.errors import InvalidProblemError
from homeward.models import SparseMDP
from homeward.worlds.gymnasium_world import (
    GymWorld,
    Key,
    digest,
    first_action,
    key_of,
    name_of,
    take,
)

MAX_STATES = 20_000  # default limit of the number of states
TRIES = 100  # default number of tries of an action that draws random numbers
COUNTED_STEPS = 20_000  # random actions counted in an environment that can't be copied


class Source(StrEnum):
    """How the model of an environment was found; see the module docstring."""

    TABLE = "table"
    PROBED = "probed"
    COUNTED = "counted"


SOURCES = {
    Source.TABLE: "read from its table P, so it is exact",
    Source.PROBED: "probed: each action was tried in each state, and nothing was random",
    Source.COUNTED: "counted: effects are random, and their probabilities are estimated",
}


@dataclass(frozen=True, eq=False)
class GymnasiumTable:
    """The model of a Gymnasium environment.

    Attributes
    ----------
    env : gymnasium.Env
        The environment.
    models : tuple of SparseMDP
        One model for each different world that the seeds gave. Where an episode terminates, the
        model stays for ever.
    weights : [M] array
        Fraction of the seeds that gave each world.
    source : Source
        How the model was found: ``table``, ``probed`` or ``counted``.
    keys : [S] tuple
        Key of each state: the observation, or the value that `state` returned.
    final : frozenset
        Keys of the states in which an episode ends.
    counts : [S·A] tuple of Counter
        For ``counted``, how often each state-action led to each state: ``counts[s·A + a][t]``, with
        −1 for the end of the process.
    certain : frozenset of int
        For ``counted``, the rows s·A + a whose effect is not random.
    views : tuple of dict
        For each world, the observation in each state, as a hashable value (`digest`).
    state : callable, optional
        The function `state` of `from_gymnasium`.
    """

    env: Any
    models: tuple[SparseMDP, ...]
    weights: np.ndarray
    source: Source
    keys: tuple[Key, ...]
    final: frozenset[Key]
    counts: tuple[Counter[int], ...] = ()
    certain: frozenset[int] = frozenset()
    views: tuple[Mapping[int, Any], ...] = ()
    state: Callable[[Any], Key] | None = None

    @cached_property
    def numbers(self) -> Mapping[Key, int]:
        """The index of the state, by key."""
        return {key: s for s, key in enumerate(self.keys)}

    def belief(self) -> FiniteBelief | DirichletBelief:
        """Return the belief that follows from the conversion.

        It is a `FiniteBelief` over the worlds of the seeds. If outcomes were counted, it is a
        `DirichletBelief`.
        """
        if self.source is not Source.COUNTED:
            belief = FiniteBelief(self.models, self.weights)
            return belief.as_moves() or belief
        model = self.models[0]
        width = 1 + max(map(len, self.counts))
        shape = (model.states, model.actions)
        outcomes = np.tile(np.arange(model.states)[:, None, None], (1, model.actions, width))
        outcomes = outcomes.reshape(-1, width)
        alpha = np.zeros((len(self.counts), width))
        for row, counted in enumerate(self.counts):
            is_certain = row in self.certain
            expected = counted if is_certain else {END: 0} | counted
            for o, (target, count) in enumerate(sorted(expected.items())):
                outcomes[row, o], alpha[row, o] = target, 1.0 if is_certain else 1.0 + count
        return DirichletBelief(
            outcomes.reshape(*shape, width),
            alpha,
            reward=model.reward,
            state_names=model.state_names,
            action_names=model.action_names,
        )

    def world(self, seed: int = 0) -> GymWorld:
        """Return a world of its own: a copy of the environment, reset with `seed`.

        If the environment can't be copied, the world takes the environment itself, and a world that
        had it before can't go on.
        """
        env = _copied(self.env)
        return GymWorld(self.env if env is None else env, seed, state=self.state, table=self)

    def __str__(self) -> str:
        model, worlds = self.models[0], len(self.models)
        how = SOURCES[self.source]
        several = f" {worlds} different worlds were found." if worlds > 1 else ""
        return (
            f"{name_of(self.env)}: {model.states} states, {model.actions} actions. "
            f"The model was {how}.{several}"
        )


def from_gymnasium(
    env: Any,
    *,
    state: Callable[[Any], Key] | None = None,
    seeds: Iterable[int] = (0,),
    tries: int = TRIES,
    rewards: bool = False,
    action_names: Iterable[str] | None = None,
    max_states: int = MAX_STATES,
) -> GymnasiumTable:
    """Return the model of a Gymnasium environment with finitely many states.

    Parameters
    ----------
    env : gymnasium.Env
        The environment. Its action space is `Discrete`.
    state : callable, optional
        Function from the unwrapped environment to a hashable key of its state, such as
        ``lambda env: (*env.agent_pos, env.agent_dir)``. Not needed for discrete observations.
    seeds : iterable of int
        Seeds of the worlds that are possible. With one seed, the world is known.
    tries : int
        How often each action is tried in each state if it draws random numbers; twice otherwise.
        More tries leave less probability to outcomes that were not seen.
    rewards : bool
        Whether the model has the environment's mean rewards; if not, all rewards are 0.
    action_names : iterable of str, optional
        Names of the actions.
    max_states : int
        Raise if there are more states than this.

    Returns
    -------
    GymnasiumTable
        The models, how they were found (`source`), and methods `belief` and `world`.
    """
    error = InvalidProblemError
    first_action(env)
    if not hasattr(seeds, "__iter__"):
        raise error(f"seeds is {seeds!r}, expected a list of whole numbers, such as [0]")
    chosen = [index(seed, 2**31, "a seed", error) for seed in seeds]
    if not chosen:
        raise error("the list of seeds is empty")
    if index(tries, 2**31, "the number of tries", error) < 1:
        raise error("the number of tries is 0, expected 1 or more")
    index(max_states, 2**63, "max_states", error)
    if state is not None and not callable(state):
        raise error(f"state is {state!r}, expected a function of the unwrapped environment")
    if isinstance(action_names, str) or not isinstance(action_names, Iterable | None):
        raise error(f"action_names is {action_names!r}, expected a list of names")
    table = getattr(env.unwrapped, "P", None)
    if state is None and isinstance(table, dict | list) and len(chosen) == 1:
        worlds = [_from_table(env, table)]
        source = Source.TABLE
    else:
        _check_space(env, state)
        worlds = [_probe(env, state, seed, tries, max_states) for seed in chosen]
        is_counted = any(world.is_random or world.by_chance for world in worlds)
        source = Source.COUNTED if is_counted else Source.PROBED
    if source is Source.COUNTED and len(worlds) > 1:
        raise error(
            f"{name_of(env)} has random outcomes, which can be counted only in the world of one "
            f"seed: {len(chosen)} seeds are given, expected 1"
        )
    keys = tuple(dict.fromkeys(key for world in worlds for key in world.keys))
    is_numbered = all(isinstance(key, int) for key in keys)
    named = None if is_numbered else tuple(str(key) for key in keys)
    names = named, None if action_names is None else tuple(action_names)
    actions, frequency = int(env.action_space.n), Counter[bytes]()
    distinct: dict[bytes, tuple[_Found, SparseMDP]] = {}
    for world in worlds:
        model = world.model(keys, actions, names, rewards=rewards)
        rows = model.transitions
        parts = rows.indptr, rows.indices, rows.data, model.reward
        content = b"".join(part.tobytes() for part in parts)
        distinct.setdefault(content, (world, model))
        frequency[content] += 1
    numbers = {key: s for s, key in enumerate(keys)}
    is_counted = source is Source.COUNTED
    return GymnasiumTable(
        env,
        tuple(model for _, model in distinct.values()),
        np.array([*frequency.values()]) / len(worlds),
        source,
        keys,
        frozenset(key for world in worlds for key in world.final),
        worlds[0].rows(keys, actions) if is_counted else (),
        worlds[0].certain_rows(keys, actions) if is_counted else frozenset(),
        tuple({numbers[k]: view for k, view in w.views.items()} for w, _ in distinct.values()),
        state,
    )


class _Found:
    """The transitions that were found in the world of one seed."""

    def __init__(self, name: str, max_states: int, *, by_chance: bool = False) -> None:
        self.name, self.max_states = name, max_states
        self.by_chance = by_chance  # random actions were counted: some may never have been tried
        self.keys: dict[Key, None] = {}
        self.views: dict[Key, Any] = {}  # observations in the states in which an episode goes on
        # How often, or from a table how likely, (key, action) led to each (key, ended).
        self.counts: dict[tuple[Key, int], Counter[tuple[Key, bool]]] = {}
        self.paid: dict[tuple[Key, int], float] = {}  # sum of the rewards of (key, action)
        self.drew: set[tuple[Key, int]] = set()  # (key, action) that drew a random number

    def enter(self, key: Key, view: Any) -> None:
        """Add a state in which an episode goes on, with the observation in it."""
        self.keys[key] = None
        self.views.setdefault(key, view)

    def add(
        self, at: tuple[Key, int], after: Key, reward: float, times: float = 1, *, done: bool
    ) -> None:
        """Count a transition from (key, action) `at`."""
        self.keys[after] = None
        self.counts.setdefault(at, Counter())[after, done] += times  # type: ignore[assignment]
        self.paid[at] = self.paid.get(at, 0.0) + times * reward
        if len(self.keys) > self.max_states:
            raise InvalidProblemError(
                f"{self.name} has more than {self.max_states:,} states: give a coarser state=, or "
                "a higher max_states"
            )

    @property
    def is_random(self) -> bool:
        """Whether the effect of some action is random."""
        return bool(self.drew) or any(len(counted) > 1 for counted in self.counts.values())

    @cached_property
    def final(self) -> frozenset[Key]:
        """Keys of the states that are entered only by transitions that end the episode."""
        return frozenset(self.keys) - set(self.views)

    def rows(self, keys: tuple[Key, ...], actions: int) -> tuple[Counter[int], ...]:
        """Return how often each row s·A + a led to each state number, or to the `END`.

        A transition that ends the episode in a state that is not final ends the process. So does
        an action that was never tried. Actions in final states stay, and so do actions in states
        that this world does not have.
        """
        numbers, rows = {key: s for s, key in enumerate(keys)}, []
        for key in keys:
            for a in range(actions):
                counted = Counter[int]()
                for (after, done), times in self.counts.get((key, a), {}).items():
                    ends = done and after not in self.final
                    counted[END if ends else numbers[after]] += times
                untried = END if key in self.views else numbers[key]
                rows.append(counted or Counter({untried: 1}))
        return tuple(rows)

    def certain_rows(self, keys: tuple[Key, ...], actions: int) -> frozenset[int]:
        """Return the rows s·A + a whose effect is not random."""
        pairs = ((key, a) for key in keys for a in range(actions))
        rows = enumerate(zip(pairs, self.rows(keys, actions), strict=True))
        return frozenset(r for r, (at, row) in rows if at not in self.drew and len(row) == 1)

    def model(
        self,
        keys: tuple[Key, ...],
        actions: int,
        names: tuple[tuple[str, ...] | None, tuple[str, ...] | None],
        *,
        rewards: bool,
    ) -> SparseMDP:
        """Return the model over `keys`; states that this world does not have stay for ever."""
        entries = [
            (row, target, count / total)
            for row, counted in enumerate(self.rows(keys, actions))
            for total in [sum(counted.values())]
            for target, count in sorted(counted.items())
            if target != END
        ]
        row, target, chance = (np.array(part) for part in zip(*entries, strict=True))
        matrix = csr_array((chance, (row, target)), (len(keys) * actions, len(keys)))
        paid, numbers = np.zeros((len(keys), actions)), {key: s for s, key in enumerate(keys)}
        if rewards:
            for (key, a), total in self.paid.items():
                paid[numbers[key], a] = total / sum(self.counts[key, a].values())
        return SparseMDP(matrix, paid, *names)


def _from_table(env: Any, table: Any) -> _Found:
    """Return the world of a table ``P[s][a] = [(probability, next state, reward, done), ...]``."""
    states, actions = range(int(env.observation_space.n)), range(int(env.action_space.n))
    rows: dict[tuple[Key, int], list[tuple[float, int, float, bool]]] = {}
    try:
        for at in ((s, a) for s in states for a in actions):
            given = table[at[0]][at[1]]
            rows[at] = [(float(p), int(t), float(r), bool(d)) for p, t, r, d in given if p > 0.0]
    except (KeyError, TypeError, ValueError, IndexError) as cause:
        raise InvalidProblemError(
            f"the table P of {name_of(env)} can't be read: {cause!r}; expected "
            "P[state][action] = [(probability, next state, reward, terminated), ...]"
        ) from cause
    going = _going(env, rows, len(states))
    entered = {(t, done) for (s, _), row in rows.items() if s in going for _, t, _, done in row}
    found = _Found(name_of(env), len(states))
    for s in states:
        found.keys[s] = None
        if (s, True) not in entered or (s, False) in entered:
            found.enter(s, None)
    for (s, a), row in rows.items():
        for p, t, reward, done in row if s in found.views else ():
            found.add((s, a), t, reward, p, done=done)
    return found


def _going(env: Any, rows: Mapping[tuple[Key, int], Any], states: int) -> set[int]:
    """Return the states of an episode before its end; all states if its starts are unknown."""
    starts = getattr(env.unwrapped, "initial_state_distrib", None)
    if starts is None:
        return set(range(states))
    reached = {int(s) for s in np.flatnonzero(np.asarray(starts) > 0.0)}
    waiting = list(reached)
    while waiting:
        state = waiting.pop()
        for a in range(int(env.action_space.n)):
            new = {t for _, t, _, done in rows[state, a] if not done} - reached
            reached |= new
            waiting.extend(new)
    return reached


def _check_space(env: Any, state: Callable[[Any], Key] | None) -> None:
    """Raise unless the observation identifies one of finitely many states."""
    from gymnasium import spaces

    def finite(space: Any) -> bool:
        if isinstance(space, spaces.Tuple):
            return all(finite(part) for part in space.spaces)
        return isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary)

    if state is None and not finite(env.observation_space):
        raise InvalidProblemError(
            f"{name_of(env)} has observations of {env.observation_space}, which do not number "
            "finitely many states: give state=, a function from the unwrapped environment to a key "
            "of its state, or discretise the observations with a wrapper"
        )


def _probe(
    env: Any, state: Callable[[Any], Key] | None, seed: int, tries: int, max_states: int
) -> _Found:
    """Return the world of one seed: each action is tried in copies of the environment."""
    take(env)
    observation, _ = env.reset(seed=seed)
    start, first = key_of(env, observation, state), first_action(env)
    found = _Found(name_of(env), max_states)
    found.enter(start, digest(observation))
    waiting = [(start, _copied(env))]
    while waiting:
        key, here = waiting.pop()
        for action in range(int(env.action_space.n)):
            for turn in range(tries):
                there = _copied(here)
                if there is None:
                    return _count(env, state, seed, max_states)
                rng = np.random.default_rng([seed, turn, len(found.keys)])
                there.unwrapped.np_random, before = rng, rng.bit_generator.state
                observation, reward, done, _, _ = there.step(first + action)
                after = key_of(there, observation, state)
                found.add((key, action), after, float(reward), done=bool(done))
                if not done and after not in found.views:
                    found.enter(after, digest(observation))
                    waiting.append((after, there))
                if rng.bit_generator.state != before:
                    found.drew.add((key, action))
                elif turn and len(found.counts[key, action]) == 1:
                    break
    return found


def _copied(env: Any) -> Any:
    """Return a copy of the environment in its current state; None if it can't be copied."""
    try:
        return copy.deepcopy(env)
    except Exception:  # whatever an environment's parts raise
        return None


def _count(env: Any, state: Callable[[Any], Key] | None, seed: int, max_states: int) -> _Found:
    """Return the world of an environment that can't be copied: random actions are counted."""
    rng, first = np.random.default_rng(seed), first_action(env)
    found = _Found(name_of(env), max_states, by_chance=True)
    here: Key = None
    for step in range(COUNTED_STEPS):
        if here is None:
            observation, _ = env.reset(seed=seed)  # the same world, with other random numbers
            env.unwrapped.np_random = np.random.default_rng([seed, step])
            here = key_of(env, observation, state)
            found.enter(here, digest(observation))
        action = int(rng.integers(env.action_space.n))
        before = env.unwrapped.np_random.bit_generator.state
        observation, reward, done, _, _ = env.step(first + action)
        after = key_of(env, observation, state)
        found.add((here, action), after, float(reward), done=bool(done))
        if env.unwrapped.np_random.bit_generator.state != before:
            found.drew.add((here, action))
        if not done:
            found.enter(after, digest(observation))
        here = None if done else after
    return found
