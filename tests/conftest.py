"""What several test files share: random models, and referees that know nothing of the library.

Test files import from here as ``from tests.conftest import ...``. The referees work on dense arrays
[S, A, S] with plain NumPy, so that nothing under test is used to judge itself.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from homeward.beliefs import Belief, FiniteBelief
from homeward.beliefs.corrections import changes_state
from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.models import Model

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite that was started in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

setattr(os, "fsync", lambda handle: None)  # noqa: B010  (no test cuts the power, and disks are slow)

# The suite draws the same examples every time; `--hypothesis-profile=search` looks for new ones.
settings.register_profile(
    "suite",
    deadline=None,
    derandomize=True,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "search", parent=settings.get_profile("suite"), derandomize=False, max_examples=2000
)
settings.load_profile("suite")

ORDINARY = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0.01, 1.0))
"""Probabilities that no rounding can touch."""

EXTREME = st.one_of(st.sampled_from([1e-12, 1.0 - 1e-12]), ORDINARY)
"""Probabilities that rounding can touch."""

DISCOUNTS = st.sampled_from([0.1, 0.5, 0.9, 0.99])


@st.composite
def tables(
    draw: Callable[..., Any], entries: st.SearchStrategy[float], *shape: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Draw an array of floats."""
    size = int(np.prod(shape))
    return np.array(draw(st.lists(entries, min_size=size, max_size=size)), float).reshape(shape)


@st.composite
def availabilities(draw: Callable[..., Any], states: int, actions: int) -> FloatArray:
    """Draw rewards of 0 and −inf [S, A] that leave each state an action."""
    size = states * actions
    closed = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    closed = closed.reshape(states, actions)
    kept = draw(st.lists(st.integers(0, actions - 1), min_size=states, max_size=states))
    closed[np.arange(states), kept] = False
    return np.where(closed, -np.inf, 0.0)


@st.composite
def move_graphs(
    draw: Callable[..., Any],
    success: st.SearchStrategy[float] = ORDINARY,
    max_states: int = 5,
    max_actions: int = 3,
) -> Moves:
    """Draw a move-or-stay model, some of whose actions can't be chosen."""
    states = draw(st.integers(1, max_states))
    actions = draw(st.integers(1, max_actions))
    where = st.integers(0, states - 1)
    dest = draw(st.lists(where, min_size=states * actions, max_size=states * actions))
    return Moves(
        np.array(dest).reshape(states, actions),
        draw(tables(success, states, actions)),
        draw(availabilities(states, actions)),
    )


@st.composite
def general_models(
    draw: Callable[..., Any], max_states: int = 4, max_actions: int = 3
) -> SparseMDP:
    """Draw a general model, some of whose rows may end the process."""
    states = draw(st.integers(1, max_states))
    actions = draw(st.integers(1, max_actions))
    parts = draw(tables(st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0]), states, actions, states + 1))
    parts[:, :, -1] += parts.sum(axis=2) == 0.0
    rows = (parts / parts.sum(axis=2, keepdims=True))[:, :, :states]
    return SparseMDP.from_dense(rows, draw(availabilities(states, actions)))


def models(max_states: int = 4, max_actions: int = 3) -> st.SearchStrategy[Model]:
    """Draw either kind of model."""
    return st.one_of(
        move_graphs(ORDINARY, max_states, max_actions), general_models(max_states, max_actions)
    )


@st.composite
def move_beliefs(
    draw: Callable[..., Any],
    success: st.SearchStrategy[float] = ORDINARY,
    max_states: int = 4,
    max_actions: int = 3,
) -> FiniteBelief:
    """Draw up to four move-or-stay worlds with the same destinations, and their weights."""
    first = draw(move_graphs(success, max_states, max_actions))
    count = draw(st.integers(1, 4))
    worlds = [
        Moves(first.dest, draw(tables(success, first.states, first.actions)), first.reward)
        for _ in range(count)
    ]
    return FiniteBelief(worlds, draw(tables(st.floats(0.1, 1.0), count)))


@dataclass(frozen=True)
class Silent(Belief):
    """A belief over moves that knows only an upper bound on the risk of a move.

    Once it has observed something it takes a broken move for as likely as `broken` [S, A] says,
    or more likely.
    """

    exact: FiniteBelief
    broken: FloatArray

    def mean(self) -> Model:
        return self.exact.mean()

    def correction(self) -> FloatArray:
        return self.exact.correction()

    def blocked_probability(self) -> FloatArray:
        blocked, mean = self.exact.blocked_probability(), self.exact.mean()
        assert isinstance(mean, Moves)
        if self.exact.counts.any():
            blocked = np.maximum(blocked, self.broken * changes_state(mean.dest))
        return np.minimum(blocked, 1.0 - mean.success)

    def move_corrections(self, discount: float) -> tuple[FloatArray, FloatArray]:
        return super().move_corrections(discount)[0], self.exact.move_corrections(discount)[1]

    def update(self, observation: Any) -> Silent:
        return replace(self, exact=self.exact.update(observation))

    def sample(self, rng: np.random.Generator) -> Model:
        return self.exact.sample(rng)

    @property
    def visited(self) -> BoolArray:
        return self.exact.visited

    @property
    def counts(self) -> IntArray:
        return self.exact.counts


def dense(model: Model) -> FloatArray:
    """Write the transitions out, [S, A, S]."""
    if isinstance(model, SparseMDP):
        full = np.asarray(model.transitions.toarray(), float)
        return full.reshape(model.states, model.actions, model.states)
    rows = np.zeros((model.states, model.actions, model.states))
    for s, a in product(range(model.states), range(model.actions)):
        rows[s, a, model.dest[s, a]] += model.success[s, a]
        rows[s, a, s] += 1.0 - model.success[s, a]
    return rows


def value_of(rows: FloatArray, policy: IntArray, reward: FloatArray, discount: float) -> FloatArray:
    """Evaluate a policy [S] by a dense linear solve: its value [S] under a reward [S, A]."""
    states = np.arange(len(rows))
    among = np.eye(len(rows)) - discount * rows[states, policy]
    return np.asarray(np.linalg.solve(among, reward[states, policy]), float)


def all_policies(available: FloatArray) -> Iterator[IntArray]:
    """List every deterministic policy that keeps to the finite entries of `available` [S, A]."""
    for choice in product(*(np.flatnonzero(np.isfinite(row)) for row in available)):
        yield np.array(choice, np.int32)
