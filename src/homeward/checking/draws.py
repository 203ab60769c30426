"""Worlds that are drawn from a belief, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.protocol import BoundedMoves
from homeward.models import Model, Moves

if TYPE_CHECKING:
    from homeward.checking.offences import Findings

MAX_NUMBERS = 20_000_000  # most drawn probabilities that are kept; they limit the worlds


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The probabilities [K] of a model: of moves that work, or of transitions above 0.

    Attributes
    ----------
    row : [K] state·A + action
    target : [K] next state
    chance : [K] probability
    shape : S and A
    """

    row: IntArray
    target: IntArray
    chance: FloatArray
    shape: tuple[int, int]

    def where(self, k: int) -> tuple[int, int, int]:
        """Return the state, the action and the next state of an entry."""
        state, action = divmod(int(self.row[k]), self.shape[1])
        return state, action, int(self.target[k])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """N drawn worlds."""

    entries: Entries  # the mean model's entries [K]
    chance: FloatArray  # [N, K] probability of each entry in each world
    most: FloatArray  # [K] the mean's own value, or its upper bound if a belief knows only bounds
    reward: FloatArray  # [N, S, A]
    is_moves: bool  # whether the worlds are `Moves`

    def shortfall(self) -> FloatArray:
        """Return Σ_t min(0, P − p) [N, S, A] of each world, with p the mean model.

        Staying put is an outcome of a move too: it adds min(0, p − P).
        """
        states, actions = self.entries.shape
        gap = self.chance - self.entries.chance
        below = -np.abs(gap) if self.is_moves else np.minimum(0.0, gap)
        if self.is_moves:
            below = np.where(self.entries.target == self.entries.row // actions, 0.0, below)
            return below.reshape(-1, states, actions)
        total = np.zeros((len(gap), states * actions))
        np.add.at(total.T, self.entries.row, below.T)
        return total.reshape(-1, states, actions)


def entries_of(model: Model) -> Entries:
    """Return the entries of a model."""
    shape = (model.states, model.actions)
    if isinstance(model, Moves):
        row = np.arange(model.dest.size)
        return Entries(row, model.dest.ravel(), model.success.ravel(), shape)
    rows = model.transitions.tocoo()
    order = np.lexsort((rows.col, rows.row))
    return Entries(rows.row[order], rows.col[order], rows.data[order], shape)


def draw_worlds(belief: Any, mean: Model, said: Findings, samples: int, seed: int) -> Drawn | None:
    """Return drawn worlds; None, and a finding, if draws don't repeat or don't fit the mean."""
    entries = entries_of(mean)
    keys = entries.row.astype(np.int64) * mean.states + entries.target
    count = int(min(samples, max(100, MAX_NUMBERS // max(1, len(keys)))))
    if not _is_reproducible(belief, mean, said):
        return None
    rng = np.random.default_rng(seed)
    chance = np.zeros((count, len(keys)))
    reward = np.zeros((count, mean.states, mean.actions))
    for n in range(count):
        world = belief.sample(rng)
        if not _fits(world, mean, said):
            return None
        reward[n] = world.reward
        if isinstance(world, Moves):
            chance[n] = world.success.ravel()
            continue
        mine = entries_of(world)
        at = np.searchsorted(keys, mine.row.astype(np.int64) * mean.states + mine.target)
        known = np.minimum(at, len(keys) - 1)
        odd = keys[known] != mine.row.astype(np.int64) * mean.states + mine.target
        odd &= mine.chance > 0.0
        if odd.any():
            s, a, t = mine.where(int(np.argmax(odd)))
            where = f"{mean.action_name(a)} in {mean.state_name(s)} to {mean.state_name(t)}"
            drawn = f"{float(mine.chance[odd][0]):g}"
            said.add("support", where, f"a mean above 0: a world has {drawn}", "mean() has 0")
            return None
        chance[n, known[mine.chance > 0.0]] = mine.chance[mine.chance > 0.0]
    most = entries.chance
    if isinstance(belief, BoundedMoves):
        low, high = belief.success_bounds()
        most = np.asarray(high, np.float64).ravel()
        wrong = np.abs(np.asarray(low).ravel() - entries.chance) > 1e-12
        wrong |= most < entries.chance
        for k in np.flatnonzero(wrong)[:3].tolist():
            s, a, _ = entries.where(k)
            told = f"low = mean = {entries.chance[k]:g} <= high"
            given = f"({np.asarray(low).ravel()[k]:g}, {most[k]:g})"
            said.add("bounds", f"success_bounds() (s={s}, a={a})", told, given)
        said.checked["success bounds"] = None
    return Drawn(entries, chance, most, reward, isinstance(mean, Moves))


def _fits(world: Any, mean: Model, said: Findings) -> bool:
    """Return whether a drawn world has the form of the mean model; report it if it has not."""
    if type(world) is not type(mean):
        said.add("sample", "sample()", f"a {type(mean).__name__}", f"a {type(world).__name__}")
    elif (world.states, world.actions) != (mean.states, mean.actions):
        told = f"{mean.states} states and {mean.actions} actions"
        said.add("shape", "sample()", told, f"{world.states} and {world.actions}")
    elif (
        isinstance(mean, Moves)
        and isinstance(world, Moves)
        and not np.array_equal(world.dest, mean.dest)
    ):
        s, a = np.argwhere(world.dest != mean.dest)[0].tolist()
        told = f"the mean's destination {int(mean.dest[s, a])}"
        said.add("sample", f"sample() (s={s}, a={a})", told, f"{int(world.dest[s, a])}")
    elif not np.array_equal(np.isfinite(world.reward), np.isfinite(mean.reward)):
        said.add("sample", "sample()", "the mean's actions to choose from", "others")
    else:
        return True
    return False


def _is_reproducible(belief: Any, mean: Model, said: Findings) -> bool:
    """Return whether the same seed gives the same world, and a drawn world never changes."""
    first = belief.sample(np.random.default_rng(7))
    if not _fits(first, mean, said):
        return False
    kept = _bytes(first)
    for number in range(7, 23):
        pair = [_bytes(belief.sample(np.random.default_rng(number))) for _ in range(2)]
        if pair[0] != pair[1]:
            said.add("sample", "sample(rng)", "the same world from equal generators", "two worlds")
            return False
        if _bytes(first) != kept:
            told = "drawn worlds that stay as they are"
            said.add("sample", "sample()", told, "a later draw wrote into an earlier world")
            return False
    said.checked["sample"] = None
    return True


def _bytes(model: Model) -> bytes:
    """Return all arrays of a model as bytes, to compare two models."""
    if isinstance(model, Moves):
        parts: tuple[Any, ...] = (model.dest, model.success, model.reward)
    else:
        rows = model.transitions
        parts = (rows.indptr, rows.indices, rows.data, model.reward)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def fingerprint(belief: Any) -> tuple[bytes, ...]:
    """Return the bytes of a belief's mean, correction and counts, to notice a change."""
    own = [_bytes(belief.mean()), np.asarray(belief.correction()).tobytes()]
    own += [
        np.asarray(getattr(belief, name)).tobytes()
        for name in ("visited", "counts")
        if hasattr(belief, name)
    ]
    return tuple(own)
