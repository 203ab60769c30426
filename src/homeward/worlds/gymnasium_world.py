"""A Gymnasium environment as a `World`.

States are numbered by a `Discrete` observation space, or by `from_gymnasium`. The process ends if
the environment is ``terminated``. A time limit (``truncated``) does not end it, since a time limit
is not a property of the world.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from homeward.arrays import index, named_index
from homeward.beliefs.observations import Likelihood, Transition, Visit
from homeward.errors import ImpossibleObservationError, InvalidProblemError
from homeward.extras import need

if TYPE_CHECKING:
    from homeward.worlds.gymnasium_table import GymnasiumTable

Key = Any  # what identifies a state: hashable, such as a number or (column, row, direction)


class GymWorld:
    """A Gymnasium environment as a world for an explorer.

    An environment is in one episode at a time. If it is reset for another world, or converted by
    `from_gymnasium`, this world can't go on, and raises `InvalidProblemError`.

    Parameters
    ----------
    env : gymnasium.Env
        The environment; its action space is `Discrete`.
    seed : int
        Seed of its reset.
    state : callable, optional
        Function from the unwrapped environment to a hashable key of its state. Without it, the
        observation is the key, and the observation space must be discrete.
    table : GymnasiumTable, optional
        Result of `from_gymnasium`, which numbers the keys. Without it, keys must be state numbers.

    Attributes
    ----------
    env : gymnasium.Env
        The environment.
    state : int
        The current state.
    ended : bool
        Whether the episode has terminated.
    reward : float
        Sum of the rewards so far.
    """

    def __init__(
        self,
        env: Any,
        seed: int = 0,
        *,
        state: Callable[[Any], Key] | None = None,
        table: GymnasiumTable | None = None,
    ) -> None:
        error = InvalidProblemError
        self.env, self._state_of, self._table = env, state, table
        self._first = first_action(env)
        from gymnasium.spaces import Discrete

        self._keys: Mapping[Key, int] | None = None if table is None else table.numbers
        is_discrete = isinstance(env.observation_space, Discrete)
        if table is None and (state is not None or not is_discrete):
            raise error(
                f"{name_of(env)} has observations of {env.observation_space}: number its states "
                "with from_gymnasium(env, ...).world()"
            )
        number, self._is_taken = index(seed, 2**31, "the seed", error), False
        take(env, self)
        seen, _ = env.reset(seed=number)
        self.ended, self.reward, self._seen = False, 0.0, seen
        self.state = self._number(key_of(env, seen, state))

    def look(self) -> Any:
        """Return a `Visit` of the current state; add a `Likelihood` if there are several worlds."""
        self._check_own()
        return self._with_view(Visit(self.state))

    def act(self, action: int | str) -> Any:
        """Take an action; return a `Transition`; add a `Likelihood` if there are several worlds."""
        error, table, before = InvalidProblemError, self._table, self.state
        known = None if table is None else table.models[0].action_names
        count = int(self.env.action_space.n)
        action = named_index(action, known, count, "the action", error)
        if self.ended:
            raise error("the episode has ended: no further action can be taken")
        self._check_own()
        self._seen, reward, done, _, _ = self.env.step(self._first + action)
        self.reward += float(reward)
        self.ended = bool(done)
        key = key_of(self.env, self._seen, self._state_of)
        if self.ended and table is not None and key not in table.final:
            return Transition(before, action, None)
        self.state = self._number(key)
        return self._with_view(Transition(before, action, self.state))

    def _check_own(self) -> None:
        """Raise if the environment is no longer in the episode of this world."""
        if self._is_taken:
            raise InvalidProblemError(
                f"{name_of(self.env)} was reset for another world or conversion, so this world "
                "can't go on: give each world an environment of its own"
            )

    def _with_view(self, event: Visit | Transition) -> Any:
        """Return the event; if there are several worlds, add the observation's `Likelihood`."""
        table = self._table
        if table is None or len(table.models) == 1 or self.ended:
            return event
        shown = digest(self._seen)
        views = [view.get(self.state) for view in table.views]
        alike = np.array([1.0 if view in (None, shown) else 0.0 for view in views])
        if not alike.any():
            raise ImpossibleObservationError(
                f"the observation of {name_of(self.env)} in state {table.keys[self.state]!r} fits "
                "no converted world: add the seed of this world to the seeds of the conversion"
            )
        return event, Likelihood(tuple(alike.tolist()))

    def _number(self, key: Key) -> int:
        """Return the index of the state with a key; raise if the conversion did not find it."""
        if self._keys is None:
            return int(key) - int(self.env.observation_space.start)
        if key not in self._keys:
            raise InvalidProblemError(
                f"{name_of(self.env)} is in state {key!r}, which the conversion did not find: "
                "convert with more tries or more seeds"
            )
        return self._keys[key]


PRESENT: WeakValueDictionary[int, GymWorld] = WeakValueDictionary()
"""The world whose episode an environment is in, by the ``id`` of the unwrapped environment."""


def take(env: Any, world: GymWorld | None = None) -> None:
    """Take an environment, which is about to be reset, from the world that it has been for."""
    last = PRESENT.pop(id(env.unwrapped), None)
    if last is not None:
        last._is_taken = True
    if world is not None:
        PRESENT[id(env.unwrapped)] = world


def key_of(env: Any, seen: Any, state: Callable[[Any], Key] | None) -> Key:
    """Return the key of the state that `env` is in, given its observation `seen`."""
    if state is not None:
        key = state(env.unwrapped)
    elif isinstance(seen, tuple | list):
        key = tuple(int(part) for part in seen)
    elif isinstance(seen, np.ndarray) and seen.ndim:
        key = tuple(int(part) for part in seen.ravel().tolist())
    else:
        key = int(seen)
    try:
        hash(key)
    except TypeError as cause:
        raise InvalidProblemError(
            f"the key of a state is {key!r}, which can't be hashed"
        ) from cause
    return key


def first_action(env: Any) -> int:
    """Return the number of the environment's first action; raise if actions are not discrete."""
    need("gymnasium", "commands", "Gymnasium's environments need gymnasium")
    import gymnasium

    if not isinstance(env, gymnasium.Env):
        raise InvalidProblemError(f"the environment is {env!r}, expected a gymnasium.Env")
    if not isinstance(env.action_space, gymnasium.spaces.Discrete):
        raise InvalidProblemError(
            f"{name_of(env)} has actions of {env.action_space}, expected a Discrete space: "
            "Homeward plans with finitely many actions"
        )
    return int(env.action_space.start)


def name_of(env: Any) -> str:
    """Return the ID of an environment, or the name of its class."""
    return str(env.spec.id) if env.spec is not None else type(env.unwrapped).__name__


def digest(seen: Any) -> Key:
    """Return a hashable value that is equal for equal observations."""
    if isinstance(seen, dict):
        return tuple((key, digest(seen[key])) for key in sorted(seen))
    if isinstance(seen, tuple | list):
        return tuple(digest(part) for part in seen)
    return seen.tobytes() if isinstance(seen, np.ndarray) else seen
