"""Worlds that are drawn from a belief, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs.base import Belief
from homeward.errors import InvalidBeliefError
from homeward.models import Model, Moves

if TYPE_CHECKING:
    from homeward.checking.offences import Findings

MAX_NUMBERS = 20_000_000  # most drawn probabilities that are kept; they limit the worlds


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """The K probabilities of a model: of each move to work, or of each transition above 0.

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

    def keys(self, states: int) -> IntArray:
        """Return one number [K] for each entry, row · states + target; they ascend."""
        keys: IntArray = self.row.astype(np.int64) * states + self.target
        return keys

    def where(self, k: int) -> tuple[int, int, int]:
        """Return the state, the action and the next state of entry `k`."""
        state, action = divmod(int(self.row[k]), self.shape[1])
        return state, action, int(self.target[k])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """N drawn worlds."""

    entries: Entries  # the mean model's entries [K]
    chance: FloatArray  # [N, K] probability of each entry in each world
    most: FloatArray  # [K] the mean's probability; its upper bound if the belief has only bounds
    reward: FloatArray  # [N, S, A]
    is_moves: bool  # whether the worlds are `Moves`

    def shortfall(self) -> FloatArray:
        """Return Σ_t min(0, P − p) [N, S, A] of each world, with p the mean model.

        Staying put is an outcome of a move too: it adds min(0, p − P).
        """
        states, actions = self.entries.shape
        gap, row = self.chance - self.entries.chance, self.entries.row
        if self.is_moves:
            total = np.where(self.entries.target == row // actions, 0.0, -np.abs(gap))
        else:
            total = np.zeros((len(gap), states * actions))
            np.add.at(total.T, row, np.minimum(0.0, gap).T)
        return total.reshape(-1, states, actions)


def entries_of(model: Model) -> Entries:
    """Return the K probabilities of a model, in the order of states, actions and next states."""
    shape = (model.states, model.actions)
    if isinstance(model, Moves):
        row = np.arange(model.dest.size)
        return Entries(row, model.dest.ravel(), model.success.ravel(), shape)
    rows = model.transitions.tocoo()
    order = np.lexsort((rows.col, rows.row))
    return Entries(rows.row[order], rows.col[order], rows.data[order], shape)


def draw_worlds(
    belief: Belief, mean: Model, findings: Findings, samples: int, seed: int
) -> Drawn | None:
    """Return drawn worlds; None, and an offence, if draws don't repeat or don't fit the mean."""
    entries = entries_of(mean)
    keys = entries.keys(mean.states)
    count = int(min(samples, max(100, MAX_NUMBERS // max(1, len(keys)))))
    if not _is_reproducible(belief, mean, findings):
        return None
    rng = np.random.default_rng(seed)
    chance = np.zeros((count, len(keys)))
    reward = np.zeros((count, mean.states, mean.actions))
    for n in range(count):
        world = belief.sample(rng)
        if not _fits(world, mean, findings):
            return None
        reward[n] = world.reward
        if isinstance(world, Moves):
            chance[n] = world.success.ravel()
            continue
        drawn = entries_of(world)
        drawn_keys, positive = drawn.keys(mean.states), drawn.chance > 0.0
        at = np.minimum(np.searchsorted(keys, drawn_keys), len(keys) - 1)
        odd = (keys[at] != drawn_keys) & positive
        if odd.any():
            k = int(np.argmax(odd))
            s, a, t = drawn.where(k)
            where = f"{mean.action_name(a)} in {mean.state_name(s)} to {mean.state_name(t)}"
            expected = f"a mean above 0: a world has {drawn.chance[k]:g}"
            findings.add("support", where, expected, "mean() has 0")
            return None
        chance[n, at[positive]] = drawn.chance[positive]
    most = entries.chance
    if isinstance(mean, Moves):
        low, most = (np.asarray(part, np.float64).ravel() for part in belief.success_bounds())
        wrong = (np.abs(low - entries.chance) > 1e-12) | (most < entries.chance)
        for k in np.flatnonzero(wrong)[:3].tolist():
            s, a, _ = entries.where(k)
            expected = f"low = mean = {entries.chance[k]:g} <= high"
            given = f"({low[k]:g}, {most[k]:g})"
            findings.add("bounds", f"success_bounds() (s={s}, a={a})", expected, given)
        findings.checked["success bounds"] = None
    return Drawn(entries, chance, most, reward, isinstance(mean, Moves))


def _fits(world: Any, mean: Model, findings: Findings) -> bool:
    """Return whether a drawn world has the form of the mean model; add an offence if not."""
    if type(world) is not type(mean):
        findings.add("sample", "sample()", f"a {type(mean).__name__}", f"a {type(world).__name__}")
    elif (world.states, world.actions) != (mean.states, mean.actions):
        expected = f"{mean.states} states and {mean.actions} actions"
        findings.add("shape", "sample()", expected, f"{world.states} and {world.actions}")
    elif (
        isinstance(mean, Moves)
        and isinstance(world, Moves)
        and not np.array_equal(world.dest, mean.dest)
    ):
        s, a = np.argwhere(world.dest != mean.dest)[0].tolist()
        expected = f"the mean's destination {int(mean.dest[s, a])}"
        findings.add("sample", f"sample() (s={s}, a={a})", expected, f"{int(world.dest[s, a])}")
    elif not np.array_equal(np.isfinite(world.reward), np.isfinite(mean.reward)):
        findings.add("sample", "sample()", "the mean's actions to choose from", "others")
    else:
        return True
    return False


def _is_reproducible(belief: Belief, mean: Model, findings: Findings) -> bool:
    """Return whether the same seed gives the same world, and a drawn world never changes."""
    first = belief.sample(np.random.default_rng(7))
    if not _fits(first, mean, findings):
        return False
    kept = _bytes(first)
    for number in range(7, 23):
        pair = [_bytes(belief.sample(np.random.default_rng(number))) for _ in range(2)]
        if pair[0] != pair[1]:
            findings.add(
                "sample", "sample(rng)", "the same world from equal generators", "two worlds"
            )
            return False
        if _bytes(first) != kept:
            expected = "drawn worlds that stay as they are"
            findings.add("sample", "sample()", expected, "a later draw wrote into an earlier world")
            return False
    findings.checked["sample"] = None
    return True


def _bytes(model: Model) -> bytes:
    """Return all arrays of a model as bytes, to compare two models."""
    if isinstance(model, Moves):
        parts: tuple[Any, ...] = (model.dest, model.success, model.reward)
    else:
        rows = model.transitions
        parts = (rows.indptr, rows.indices, rows.data, model.reward)
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def has_bounds(belief: Belief) -> bool:
    """Return whether the mean model of a belief over moves may have lower bounds, not means."""
    return type(belief).success_bounds is not Belief.success_bounds


def fingerprint(belief: Belief) -> tuple[bytes, ...]:
    """Return the bytes of a belief's mean, correction and counts, to notice a change."""
    arrays = belief.correction(), *counts_of(belief).values()
    return _bytes(belief.mean()), *(np.asarray(array).tobytes() for array in arrays)


def counts_of(belief: Belief) -> dict[str, Any]:
    """Return the mask of visited states and the counts of a belief, by name, if it has them."""
    try:
        return {"visited": np.asarray(belief.visited), "counts": np.asarray(belief.counts)}
    except InvalidBeliefError:
        return {}
