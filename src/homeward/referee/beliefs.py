"""`check_belief`: compare what a belief claims with worlds drawn from it.

A claim is a `Law`: the mean of some numbers that every world has lies between two bounds. The laws
are tested by sampling (see `worlds`), or exactly where one claim follows from another (moves that
always or never work, the worlds of a `FiniteBelief`, Bayes' rule averaged over outcomes). A
correction σ ≤ 0 is wrong if it is too close to 0: bounds would be too high. Too far below 0, it
only makes bounds loose.

An update conditions on what was observed. With p(t) the probabilities of the outcomes t of a
state-action, the posterior means weighted by p(t) give the prior mean, exactly. With q the
posterior mean after t, E[P(t) (P − q)] = 0 over the drawn worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from homeward.arrays import BoolArray, FloatArray, IntArray, index, number, place
from homeward.beliefs.base import NO_MOVES, Belief, MoveSets, claim_of_moves
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.observations import Transition
from homeward.bonuses import nats_of
from homeward.errors import (
    ImpossibleObservationError,
    InvalidBeliefError,
    InvalidInputError,
)
from homeward.models import Model, Moves, SparseMDP
from homeward.referee.worlds import ROUNDING, CheckReport, Findings, refutes, slack

DISCOUNTS = (0.5, 0.99)  # discounts for which moves corrections are checked
PATHS, MOST_MOVES = 30, 6  # random paths whose moves are checked together, and their length
MAX_NUMBERS = 20_000_000  # most drawn probabilities that are kept; they limit the worlds
MIN_WORLDS = 100  # least number of drawn worlds
MIN_PREDICTED = 400  # least number of predictions; the number of drawn worlds if that is more
MAX_PAIRS = 12  # most state-actions whose updates are checked: the most uncertain ones
REPEATS = range(7, 23)  # seeds whose worlds are drawn twice
MIXING = 100.0  # factor on the rounding of a mixture of posterior means
NO_SETS = MoveSets(np.zeros(1, np.int64), NO_MOVES, NO_MOVES)
QUESTIONS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("mean", "correction", "success_bounds", "blocked_probability"), ()),
    **dict.fromkeys(("least_blocked", "possible_walls"), ()),
    "move_corrections": (0.5,),
    "all_work": (NO_MOVES, NO_MOVES),
    "work_together": (NO_SETS,),
}
"""The methods of a belief that always return something, and arguments for each."""

FOLLOWS = ", as each move always or never works"  # why a claim follows from the mean model
WORLDS = " (over its worlds)"
LEARNS = "a belief that learns from Transition, or the option observe"


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """A claim on K means: each mean of `draws` [n, K] is at least `low` and at most `high` [K].

    A single row of draws is exact.
    """

    code: str
    where: Callable[[int], str]
    draws: FloatArray  # [n, K]
    low: FloatArray | float
    high: FloatArray | float
    found: Callable[[int], str]  # what the belief claims
    expected: str = "{}"  # text around the mean of the draws
    why: str = " (mean of the draws)"
    width: float = 1.0  # of the interval that has all draws
    is_probability: bool = False
    laws: int = 1  # number of laws that are tested in this group
    origin: FloatArray | float = 0.0  # a report shows origin + factor·mean, with origin [K]
    factor: float = 1.0

    def judge(self, findings: Findings) -> None:
        """Report at most three means that are outside their bounds, the farthest first."""
        if not self.draws.size:
            return
        count, columns = self.draws.shape
        log_limit = findings.log_inverse_alpha(2 * columns * self.laws)
        mean, half = self.draws.mean(axis=0), slack(self.draws, log_limit, self.width)
        low, high = np.broadcast_to(self.low, mean.shape), np.broadcast_to(self.high, mean.shape)
        excess = np.maximum(low - mean, mean - high)
        wrong = far = excess > half
        if self.is_probability and count > 1:
            wrong = far | refutes(mean, np.clip(mean, low, high), count, log_limit)
            if self.code == "mean":
                findings.resolution = max(findings.resolution, float(half.max()))
        worst, digits = np.flatnonzero(wrong), ".9g" if count == 1 else ".6g"
        shown = self.origin + self.factor * mean
        for k in worst[np.argsort(-excess[worst], kind="stable")][:3].tolist():
            text, why = f"{shown[k]:{digits}}", self.why
            if not far[k]:  # only the other test refutes it
                why = f" (mean of {count:,} draws, too far from it)"
            elif count > 1:
                text += f" ± {self.factor * half[k]:.2g}"
            findings.add(self.code, self.where(k), self.expected.format(text) + why, self.found(k))


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The mean model and n drawn worlds, by the K probabilities of the mean model.

    These are the probability of each move to work, or of each transition above 0.
    """

    mean: Model
    row: IntArray  # [K] state·A + action
    target: IntArray  # [K] next state
    claimed: FloatArray  # [K] probabilities of the mean model
    chance: FloatArray  # [n, K] probabilities in the drawn worlds
    reward: FloatArray  # [n, S, A]

    def at(self, state: int, action: int, target: int | None = None) -> str:
        """Return a state-action as text, with names if there are any, and its next state."""
        where, model = place((state, action), "sa"), self.mean
        if model.state_names is not None or model.action_names is not None:
            where = f"{model.action_name(action)} in {model.state_name(state)} {where}"
        return where if target is None else f"{where} to {model.state_name(target)}"

    def entry(self, k: int) -> str:
        """Return entry `k` as text."""
        return self.at(*divmod(int(self.row[k]), self.mean.actions), int(self.target[k]))

    def pair(self, k: int) -> str:
        """Return state-action `k` of a flat array [S·A] as text."""
        return self.at(*divmod(k, self.mean.actions))

    def shortfall(self) -> FloatArray:
        """Return Σ_t min(0, P − p) [n, S·A] of each world, with p the mean model.

        Staying put is an outcome of a move too: it adds min(0, p − P).
        """
        gap = self.chance - self.claimed
        if isinstance(self.mean, Moves):
            changes = self.target != self.row // self.mean.actions
            return np.where(changes, -np.abs(gap), 0.0)
        total = np.zeros((len(gap), self.mean.states * self.mean.actions))
        np.add.at(total.T, self.row, np.minimum(0.0, gap).T)
        return total

    def chances(self, model: Any) -> FloatArray:
        """Return the probabilities [K] that another model has of the entries of the mean model."""
        if isinstance(model, Moves):
            return model.success.ravel()
        rows = np.asarray(model.sparse().transitions.toarray(), np.float64)
        found: FloatArray = rows[self.row, self.target]
        return found


def check_belief(
    belief: Any,
    *,
    samples: int = 4000,
    confidence: float = 0.999,
    seed: int = 0,
    observe: Callable[[Any, np.random.Generator], Any] | None = None,
) -> CheckReport:
    """Return a report if the claims of a belief agree with the worlds it draws; raise if not.

    Parameters
    ----------
    belief : Belief
        The belief to check.
    samples : int
        Number of worlds to draw. Four times as many find errors half as large.
    confidence : float
        Probability that a right belief passes.
    seed : int
        Random seed of the draws.
    observe : callable, optional
        Function from the belief and a generator to an observation that the belief predicts, for a
        belief that does not learn from `Transition`. The posterior means, averaged over such
        observations, must equal the prior mean.

    Raises
    ------
    InvalidBeliefError
        The message lists each offence: the state and action, the claim and what was expected.
    """
    error = InvalidBeliefError
    if not 0.0 < number(confidence, "the confidence", error) < 1.0:
        raise error(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < MIN_WORLDS:
        raise error(f"samples is {samples!r}, expected a whole number of {MIN_WORLDS} or more")
    index(seed, 2**63, "the seed", error)
    if observe is not None and not callable(observe):
        raise error(f"observe is {observe!r}, expected a function of the belief and a generator")
    findings = Findings(type(belief).__name__, samples, confidence)
    if not isinstance(belief, Belief):
        kind = f"the class {belief.__name__}" if isinstance(belief, type) else type(belief).__name__
        findings.add("base", "the belief", "an object of a subclass of homeward.Belief", kind)
    elif _has_shapes(belief, findings):
        before = _fingerprint(belief)
        drawn = _draw(belief, findings, samples, seed)
        if drawn is not None:
            findings.samples = len(drawn.chance)
            for part, laws in (
                ("mean, rewards and correction", _claims(belief, drawn, findings)),
                ("moves", _claims_of_moves(belief, drawn, findings)),
                ("worlds of a finite belief, exactly", _claims_of_worlds(belief, drawn)),
                ("update", _updates(belief, drawn, findings, seed, observe)),
            ):
                for law in laws:
                    law.judge(findings)
                    findings.checked[part] = None
            _check_gain(belief, findings)
        if _fingerprint(belief) != before:
            expected = "sample and update to leave it as it is"
            findings.add("sample", "the belief", expected, "it changed")
    return findings.finish(error)


def _has_shapes(belief: Belief, findings: Findings) -> bool:
    """Return whether all answers have the right types and shapes; add an offence if not."""
    for name, given in QUESTIONS.items():
        with suppress(InvalidBeliefError):  # the belief itself says that it does not know
            if getattr(belief, name)(*given) is None:
                findings.add("shape", f"{name}()", "a value: has it a return?", "None")
                return False
    model = belief.mean()
    if not isinstance(model, Moves | SparseMDP):
        findings.add("shape", "mean()", "Moves or SparseMDP", f"a {type(model).__name__}")
        return False
    if _bytes(model) != _bytes(belief.mean()):
        findings.add("mean", "mean()", "the same model twice", "two different models")
    shape, numbers = (model.states, model.actions), {"correction()": belief.correction()}
    if isinstance(model, Moves):
        for discount in DISCOUNTS:
            name = f"move_corrections({discount:g})"
            pair = belief.move_corrections(discount)
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                expected = "a pair (returning, exploring)"
                findings.add("shape", name, expected, f"a {type(pair).__name__}")
                return False
            numbers |= {f"{name}[{k}]": each for k, each in enumerate(pair)}
        numbers["blocked_probability()"] = belief.blocked_probability()
    elif (claim := claim_of_moves(belief)) is not None:
        expected = "mean() is a Moves, as this is about moves that work or fail"
        findings.add("moves", f"{claim}()", expected, "mean() is a SparseMDP")
    for name, value in numbers.items():
        array = np.asarray(value)
        if array.shape != shape or array.dtype.kind not in "iuf":
            found = f"{array.dtype} of {array.shape}"
            findings.add("shape", name, f"numbers [S, A] = {shape}", found)
            return False
        low, high = (-2.0 if isinstance(model, Moves) else -1.0), 0.0
        if name == "blocked_probability()":
            low, high = 0.0, 1.0
        for s, a in np.argwhere(~((array >= low - ROUNDING) & (array <= high)))[:3].tolist():
            where = f"{name}, {place((s, a), 'sa')}"
            findings.add("range", where, f"{low:g} to {high:g}", f"{array[s, a]:g}")
    findings.checked["shapes"] = None
    return True


def _draw(belief: Belief, findings: Findings, samples: int, seed: int) -> Drawn | None:
    """Return drawn worlds; None, and an offence, if draws don't repeat or don't fit the mean."""
    mean = belief.mean()
    row, target, claimed = _entries(mean)
    keys = row.astype(np.int64) * mean.states + target
    count = int(min(samples, max(MIN_WORLDS, MAX_NUMBERS // max(1, len(keys)))))
    first = belief.sample(np.random.default_rng(REPEATS[0]))
    if not _fits(first, mean, findings):
        return None
    kept = _bytes(first)
    for repeat in REPEATS:
        pair = [_bytes(belief.sample(np.random.default_rng(repeat))) for _ in range(2)]
        for wrong, expected, found in (
            (pair[0] != pair[1], "the same world from equal generators", "two worlds"),
            (_bytes(first) != kept, "drawn worlds that stay as they are",
             "a later draw wrote into an earlier world"),
        ):  # fmt: skip
            if wrong:
                findings.add("sample", "sample(rng)", expected, found)
                return None
    rng, chance = np.random.default_rng(seed), np.zeros((count, len(keys)))
    drawn = Drawn(mean, row, target, claimed, chance, np.zeros((count, *mean.reward.shape)))
    for n in range(count):
        world = belief.sample(rng)
        if not _fits(world, mean, findings):
            return None
        drawn.reward[n] = world.reward
        rows, targets, each = _entries(world)
        reached = rows.astype(np.int64) * mean.states + targets
        at = np.minimum(np.searchsorted(keys, reached), len(keys) - 1)
        odd = (keys[at] != reached) & (each > 0.0)
        for k in np.flatnonzero(odd)[:1].tolist():
            where = drawn.at(*divmod(int(rows[k]), mean.actions), int(targets[k]))
            expected = f"a mean above 0: a world has {each[k]:g}"
            findings.add("support", where, expected, "mean() has 0")
            return None
        chance[n, at[each > 0.0]] = each[each > 0.0]
    findings.checked["sample"] = None
    return drawn


def _fits(world: Any, mean: Any, findings: Findings) -> bool:
    """Return whether a drawn world has the form of the mean model; add an offence if not."""
    size = f"{mean.states} states and {mean.actions} actions"
    if type(world) is not type(mean):
        findings.add("sample", "sample()", f"a {type(mean).__name__}", f"a {type(world).__name__}")
    elif (world.states, world.actions) != (mean.states, mean.actions):
        findings.add("shape", "sample()", size, f"{world.states} and {world.actions}")
    elif isinstance(world, Moves) and not np.array_equal(world.dest, mean.dest):
        findings.add("sample", "sample()", "the destinations of the mean", "others")
    elif not np.array_equal(np.isfinite(world.reward), np.isfinite(mean.reward)):
        findings.add("sample", "sample()", "the mean's actions to choose from", "others")
    else:
        return True
    return False


def _claims(belief: Belief, drawn: Drawn, findings: Findings) -> Iterator[Law]:
    """Yield the laws of the mean model, the rewards and the general correction."""
    mean, low, high = drawn.mean, drawn.claimed, drawn.claimed
    findings.checked |= dict.fromkeys(("mean", "rewards", "correction"))
    if isinstance(mean, Moves):
        bounds = [np.asarray(part, np.float64).ravel() for part in belief.success_bounds()]
        high = np.maximum(bounds[1], low)
        wrong = (np.abs(bounds[0] - low) > 1e-12) | (bounds[1] < low)
        for k in np.flatnonzero(wrong)[:3].tolist():
            found = f"({bounds[0][k]:g}, {bounds[1][k]:g})"
            expected = f"low = mean = {low[k]:g} <= high"
            findings.add("bounds", f"success_bounds() {drawn.pair(k)}", expected, found)
        findings.checked["success bounds"] = None
    yield Law(
        "mean", drawn.entry, drawn.chance, low, high,
        _told("mean() has {:.6g}", low), "probability {}", is_probability=True,
    )  # fmt: skip
    usable = np.isfinite(mean.reward)
    cells, paid = np.flatnonzero(usable), drawn.reward[:, usable]
    given: FloatArray = mean.reward[usable]
    limits = belief.reward_limits()
    if limits is not None:
        rounding = ROUNDING * max(1.0, *map(abs, limits))
        outside = (paid < limits[0] - rounding) | (paid > limits[1] + rounding)
        for n, k in np.argwhere(outside)[:1].tolist():
            where = f"reward_limits(), {drawn.pair(int(cells[k]))}"
            expected = f"a range that has the drawn reward {paid[n, k]:g}"
            findings.add("limits", where, expected, f"({limits[0]:g}, {limits[1]:g})")
        findings.checked["reward limits"] = None
    room = ROUNDING * np.abs(given)
    yield Law(
        "reward", lambda k: drawn.pair(int(cells[k])), paid, given - room, given + room,
        _told("the mean reward is {:.6g}", given), width=float(np.ptp(paid)),
    )  # fmt: skip
    yield from _corrected(drawn, "correction()", belief.correction(), drawn.shortfall())


def _corrected(
    drawn: Drawn, name: str, sigma: Any, draws: FloatArray, why: str = "", *, exact: bool = False
) -> Iterator[Law]:
    """Yield the laws that corrections [S, A], and their sum, are at most the mean of `draws`."""
    claimed = np.asarray(sigma, np.float64).ravel()
    yield Law(
        "correction", _prefixed(f"{name}, ", drawn.pair), draws, claimed, np.inf,
        _told("{:.9g}" if exact else "{:.6g}", claimed), "{} or less",
        why or " (mean of the draws)",
    )  # fmt: skip
    if not exact:
        total = draws.sum(axis=1, keepdims=True)
        yield Law(
            "correction", _always(f"{name}, the sum"), total, float(claimed.sum()), np.inf,
            _always(f"{claimed.sum():.6g}"), "{} or less", width=float(claimed.size),
        )  # fmt: skip


def _claims_of_moves(belief: Belief, drawn: Drawn, findings: Findings) -> Iterator[Law]:
    """Yield the laws of moves that work or fail."""
    model = drawn.mean
    if not isinstance(model, Moves):
        return
    p, changes, success = drawn.claimed, changes_state(model.dest).ravel(), drawn.chance
    names = ("moves corrections", "blocked probability", "moves that work together")
    findings.checked |= dict.fromkeys(names)
    sure = bool(belief.moves_work_or_never)
    if sure:
        odd = (success > 0.0) & (success < 1.0) & changes
        for k in np.flatnonzero(odd.any(axis=0))[:1].tolist():
            given = f"a world has {float(success[:, k][odd[:, k]].max()):g}"
            findings.add("moves", drawn.pair(k), "success of 0 or 1 in each world", given)
        findings.checked["moves that work or never do"] = None
    # If P is 0 or 1 and p is known exactly, all corrections and risks follow from p.
    exact = sure and not _has_bounds(belief)
    spread = np.where(changes, p * (1.0 - p), 0.0)
    never = ((success == 0.0) & changes).astype(np.float64)
    blocked = np.asarray(belief.blocked_probability(), np.float64).ravel()
    least = blocked.copy()
    moves, known = belief.least_blocked()
    least[moves] = known
    pair, found = drawn.pair, " (fraction of the draws)"
    claim = "blocked_probability() is {:.6g}"
    yield Law("blocked", pair, never, -np.inf, blocked, _told(claim, blocked),
              "{} or more", found, is_probability=True)  # fmt: skip
    yield Law("blocked", pair, never, least, np.inf, _told(claim + " or more", least),
              "{} or less", found, is_probability=True)  # fmt: skip
    if exact:
        yield from _corrected(
            drawn, "correction()", belief.correction(), -2.0 * spread[None], FOLLOWS, exact=True
        )
        implied = np.where(changes, 1.0 - p, 0.0)[None]
        yield Law("blocked", pair, implied, -np.inf, blocked, _told(claim, blocked),
                  "{} or more", FOLLOWS)  # fmt: skip
    yield from _together(belief, drawn, model, (success > 0.0) | ~changes)
    for discount in DISCOUNTS:
        stretch = (1.0 - discount) / (1.0 - discount + discount * success)
        draws = -p * never, np.where(changes, -np.abs(success - p) * stretch, 0.0)
        follows = -spread, -(2.0 - discount) * spread
        for k, sigma in enumerate(belief.move_corrections(discount)):
            name = f"move_corrections({discount:g})[{k}]"
            yield from _corrected(drawn, name, sigma, draws[k])
            if exact:
                yield from _corrected(drawn, name, sigma, follows[k][None], FOLLOWS, exact=True)


def _together(belief: Belief, drawn: Drawn, model: Moves, works: BoolArray) -> Iterator[Law]:
    """Yield the laws of the bounds that all moves of random paths work; `works` is [n, S·A]."""
    rng, changes = np.random.default_rng(PATHS), changes_state(model.dest)
    for _ in range(PATHS):
        path, s = [], int(rng.integers(model.states))
        for _ in range(int(rng.integers(2, MOST_MOVES + 1))):
            likely = np.flatnonzero(changes[s] & (model.success[s] > 0.0))
            if not len(likely):
                break
            path.append((s, int(rng.choice(likely))))
            s = int(model.dest[path[-1]])
        moves = np.array(sorted(dict(path).items()), np.int64).reshape(-1, 2)
        states, actions = moves.T.copy()
        found = belief.work_together(MoveSets(np.array([0, len(moves)]), states, actions))
        low, high = float(found.low[0]), float(found.high[0])
        where = ", ".join(drawn.at(*move) for move in moves.tolist())
        taken = works[:, states * model.actions + actions]
        share = np.asarray(taken.all(axis=1, keepdims=True), np.float64)
        yield Law(
            "together", _always(where), share, low, high,
            _always(f"from {low:.6g} to {high:.6g}"),
            why=" (fraction of the draws)", is_probability=True, laws=PATHS,
        )  # fmt: skip


def _claims_of_worlds(belief: Belief, drawn: Drawn) -> Iterator[Law]:
    """Yield the laws that the worlds of a finite belief imply, exactly."""
    if not isinstance(belief, FiniteBelief):
        return
    plain = FiniteBelief(belief.worlds, belief.weights)
    truth = drawn.chances(FiniteBelief.mean(plain))[None]
    yield Law("mean", drawn.entry, truth, drawn.claimed, drawn.claimed,
              _told("mean() has {:.9g}", drawn.claimed), "probability {}", WORLDS)  # fmt: skip
    pairs = [("correction()", belief.correction(), FiniteBelief.correction(plain))]
    for discount in DISCOUNTS if isinstance(drawn.mean, Moves) else ():
        sigmas, limits = (FiniteBelief.move_corrections(b, discount) if b is plain else
                          b.move_corrections(discount) for b in (belief, plain))  # fmt: skip
        name = f"move_corrections({discount:g})"
        pairs += [(f"{name}[{k}]", sigmas[k], limits[k]) for k in range(2)]
    for name, sigma, most in pairs:
        yield from _corrected(drawn, name, sigma, most.reshape(1, -1), WORLDS, exact=True)


def _updates(
    belief: Any,
    drawn: Drawn,
    findings: Findings,
    seed: int,
    observe: Callable[[Any, np.random.Generator], Any] | None,
) -> Iterator[Law]:
    """Yield the laws of updates; report updates that fail, or that change the updated belief."""
    before = _fingerprint(belief)

    def is_unchanged(where: str) -> bool:
        if _fingerprint(belief) != before:
            expected, found = "a new belief, and the old one", "update changed the belief itself"
            findings.add("update", where, expected, found)
        return _fingerprint(belief) == before

    if observe is not None:
        yield from _predicted(belief, drawn, findings, np.random.default_rng(seed), observe)
        if not is_unchanged("update()"):
            return
    learned = False
    for s, a in _doubtful(drawn):
        afters = _after(belief, drawn, findings, s, a)
        if isinstance(afters, str):  # `update` breaks on a `Transition`
            if observe is None:
                findings.add("update", "update() of a Transition", LEARNS, afters)
            return
        learned |= afters is not None
        if not is_unchanged(drawn.at(s, a)):
            return
        if afters:
            yield from _conditioned(belief, drawn, findings, (s, a), afters)
    if not learned and observe is None:
        findings.add("update", "update()", LEARNS, "every Transition is refused")


def _doubtful(drawn: Drawn) -> list[tuple[int, int]]:
    """Return the most uncertain state-actions, the most uncertain first, and a certain one."""
    doubt = np.where(np.isfinite(drawn.mean.reward.ravel()), drawn.shortfall().mean(axis=0), 0.0)
    order = np.argsort(doubt, kind="stable").tolist()
    chosen = [k for k in order if doubt[k] < -1e-6][:MAX_PAIRS]
    certain = [k for k in order[::-1] if doubt[k] == 0.0][:1]
    return [divmod(k, drawn.mean.actions) for k in (*chosen, *certain)]


def _after(
    belief: Any, drawn: Drawn, findings: Findings, s: int, a: int
) -> dict[int, Any] | str | None:
    """Return the belief after each outcome of a state-action: empty if one is wrong.

    None if the belief does not learn from transitions here; a text if `update` breaks on one.
    """
    row, afters = drawn.mean.row(s, a), {}
    dest = (s, int(drawn.mean.dest[s, a])) if isinstance(drawn.mean, Moves) else None
    impossible = [t for t in np.flatnonzero(row == 0.0).tolist() if dest is None or t in dest]
    if isinstance(drawn.mean, Moves) and _has_bounds(belief):
        impossible = []
    for t in (*np.flatnonzero(row > 0.0).tolist(), *impossible[:1]):
        try:
            after = belief.update(Transition(s, a, t))
        except InvalidInputError:
            if row[t] > 0.0:
                return None
        except (TypeError, AttributeError) as cause:
            return f"{type(cause).__name__}: {cause}"
        except ImpossibleObservationError:
            if row[t] > 0.0:
                expected = f"{row[t]:g}, the probability that mean() has"
                findings.add("impossible", drawn.at(s, a, t), expected, "update refuses it")
                return {}
        else:
            if not _is_belief(after, drawn, findings):
                return {}
            if not _absorbs_alike(belief, Transition(s, a, t), after, findings):
                return {}
            afters[t] = after
            if row[t] == 0.0:
                expected = "ImpossibleObservationError: its probability is 0"
                findings.add("impossible", drawn.at(s, a, t), expected, "update accepts it")
                return {}
    return afters


def _is_belief(after: Any, drawn: Drawn, findings: Findings) -> bool:
    """Return whether an update returned a belief over models of the same size."""
    mean = after.mean() if callable(getattr(after, "mean", None)) else None
    size = drawn.mean.states, drawn.mean.actions
    if mean is not None and (mean.states, mean.actions) == size:
        return True
    expected = "a belief over {} states and {} actions".format(*size)
    findings.add("update", "update()", expected, f"a {type(after).__name__}")
    return False


def _absorbs_alike(belief: Belief, moved: Transition, after: Belief, findings: Findings) -> bool:
    """Return whether `absorb` does what `update` does, and names every state that changed."""
    if type(belief).absorb is Belief.absorb:  # it calls `update`
        return True
    absorbed, changed = belief.copy().absorb(moved)
    if _fingerprint(absorbed) != _fingerprint(after):
        expected = "the belief that update() returns"
        findings.add("update", f"absorb({moved})", expected, "another mean, correction or counts")
        return False
    if changed is None:
        return True
    same = belief.correction() == after.correction()
    before, model = belief.mean(), after.mean()
    if isinstance(before, Moves) and isinstance(model, Moves):
        same &= before.success == model.success
    missed = np.setdiff1d(np.flatnonzero(~same.all(axis=1)), changed)
    if len(missed):
        given = f"no s={missed[0]}, where it differs"
        findings.add("update", f"absorb({moved})", "all changed states", given)
    return not len(missed)


def _conditioned(
    belief: Any, drawn: Drawn, findings: Findings, pair: tuple[int, int], afters: dict[int, Any]
) -> Iterator[Law]:
    """Yield the laws of the beliefs `afters` each outcome of a state-action."""
    mean, (s, a), row = drawn.mean, pair, drawn.mean.row(*pair)
    bounded = isinstance(mean, Moves) and _has_bounds(belief)
    if not bounded and not belief.teaches(s, a):
        return
    # In states that may be walls, the model assumes that there is none: they are not compared.
    compared = ~np.asarray(belief.possible_walls())[drawn.row // mean.actions]
    at = np.flatnonzero(compared | bounded)

    def where(k: int) -> str:
        return drawn.entry(int(at[k]))

    if not bounded:
        _check_counts(belief, findings, s, a, afters, drawn.at(s, a))
        if sum(float(row[t]) for t in afters) >= 1.0 - ROUNDING:
            each = [float(row[t]) * drawn.chances(after.mean()) for t, after in afters.items()]
            mixed, prior, room = np.sum(each, axis=0), drawn.claimed[at], MIXING * ROUNDING
            found = "{:.6g}, the mean of the means after each outcome"
            yield Law(
                "update", _prefixed(f"{drawn.at(s, a)}, of ", where), prior[None],
                mixed[at] - room, mixed[at] + room, _told(found, mixed[at]),
                why=", the mean before",
            )  # fmt: skip
    for t, after in afters.items():
        sides = after.success_bounds() if bounded else (after.mean(), after.mean())
        low, high = (np.ravel(x) if bounded else drawn.chances(x) for x in sides)
        likely = _likelihood(drawn, s, a, t)
        for bound, limits, side in ((low, (0.0, np.inf), "low"), (high, (-np.inf, 0.0), "high")):
            draws = likely[:, None] * (drawn.chance[:, at] - bound[at])
            claim = f"the {side} bound" if bounded else "mean()"
            yield Law(
                "bounds" if bounded else "update",
                _prefixed(f"after {drawn.at(s, a, t)}: ", where), draws, *limits,
                _told(f"{claim} has {{:.6g}}", bound[at]),
                why=", by Bayes' rule", width=2.0, laws=2 * len(afters) * (MAX_PAIRS + 1),
                origin=bound[at], factor=1.0 / float(likely.mean()),
            )  # fmt: skip


def _told(text: str, values: FloatArray) -> Callable[[int], str]:
    """Return a function that puts value k into a text."""
    return lambda k: text.format(values[k])


def _always(text: str) -> Callable[[int], str]:
    """Return a function that returns a text."""
    return lambda _: text


def _prefixed(text: str, where: Callable[[int], str]) -> Callable[[int], str]:
    """Return a function that puts a text before ``where(k)``."""
    return lambda k: text + where(k)


def _likelihood(drawn: Drawn, s: int, a: int, t: int) -> FloatArray:
    """Return the probability [n] of a transition in each drawn world."""
    mine = drawn.row == s * drawn.mean.actions + a
    if not isinstance(drawn.mean, Moves):
        likely: FloatArray = drawn.chance[:, mine & (drawn.target == t)].sum(axis=1)
        return likely
    works, there = drawn.chance[:, np.flatnonzero(mine)[0]], int(drawn.mean.dest[s, a])
    if there == s:
        return np.ones(len(works))
    return works if t == there else 1.0 - works


def _predicted(
    belief: Any,
    drawn: Drawn,
    findings: Findings,
    rng: np.random.Generator,
    observe: Callable[[Any, np.random.Generator], Any],
) -> Iterator[Law]:
    """Yield the law that posterior means, averaged over predictions, are the prior mean."""
    means = np.zeros((max(MIN_PREDICTED, len(drawn.chance)), len(drawn.claimed)))
    for n in range(len(means)):
        after = belief.update(observe(belief, rng))
        if not _is_belief(after, drawn, findings):
            return
        means[n] = drawn.chances(after.mean())
    is_uncertain = bool((np.abs(belief.correction()) > ROUNDING).any())
    if (means == drawn.claimed).all() and is_uncertain:
        where = f"update() after {len(means)} observations"
        expected = "a belief that learns something from one of them"
        findings.add("update", where, expected, "the same means")
    mean, found = drawn.claimed, "the mean before is {:.6g}"
    yield Law(
        "update", drawn.entry, means, mean, mean, _told(found, mean),
        why=", the mean after predicted observations",
    )  # fmt: skip


def _check_counts(
    belief: Any, findings: Findings, s: int, a: int, afters: dict[int, Any], where: str
) -> None:
    """Report counts and visits that are wrong after an update."""
    counts = _counts(belief)
    if not counts or counts["counts"].dtype.kind not in "iu":
        return  # it does not count
    for name, old in counts.items():
        for t, after in afters.items():
            new = np.asarray(getattr(after, name))
            if new.shape != old.shape:
                expected, given = f"shape {old.shape}", f"{new.shape}"
            elif name == "visited" and not (new[s] and new[t]):
                expected, given = f"states {s} and {t}", "not both"
            elif name == "counts" and not new[s, a] > old[s, a]:
                expected, given = "one more", f"{new[s, a]:g}"
            else:
                continue
            findings.add("counts", f"{name} after {where}", expected, given)
            return


def _check_gain(belief: Any, findings: Findings) -> None:
    """Report a remaining gain, or a largest variance, that differs from the belief's variances."""
    if not (hasattr(belief, "gain_left") and hasattr(belief, "variance")):
        return
    is_blocked = np.asarray(getattr(belief, "blocked", np.zeros(belief.variance.shape, bool)))
    variance = np.asarray(belief.variance)[~is_blocked]
    largest = float(variance.max())
    for weight, enough in ((1.0, np.inf), (1e4, np.inf), (1e4, 2.0 / max(largest, 1e-300))):
        right = float(nats_of(variance, weight, enough).sum()), largest
        for given, value, unit in zip(
            belief.gain_left(weight, enough), right, ("nats", "m² as variance"), strict=True
        ):
            if abs(given - value) > 1e-6 * max(1.0, value):
                where = f"gain_left({weight:g}, {enough:g})"
                findings.add("gain", where, f"{value:.6g} {unit}", f"{given:.6g}")
    findings.checked["gain"] = None


def _entries(model: Any) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, target and chance [K] of a model, in the order of rows and next states."""
    if isinstance(model, Moves):
        return np.arange(model.dest.size), model.dest.ravel(), model.success.ravel()
    rows = model.transitions.tocoo()
    order = np.lexsort((rows.col, rows.row))
    return rows.row[order], rows.col[order], rows.data[order]


def _has_bounds(belief: Belief) -> bool:
    """Return whether the mean model of a belief over moves may have lower bounds, not means."""
    return type(belief).success_bounds is not Belief.success_bounds


def _bytes(model: Any) -> bytes:
    """Return all arrays of a model as bytes, to compare two models."""
    entries = *_entries(model), model.reward
    return b"".join(np.ascontiguousarray(part).tobytes() for part in entries)


def _fingerprint(belief: Belief) -> tuple[bytes, ...]:
    """Return the bytes of a belief's mean, correction and counts, to notice a change."""
    arrays = belief.correction(), *_counts(belief).values()
    return _bytes(belief.mean()), *(np.asarray(array).tobytes() for array in arrays)


def _counts(belief: Belief) -> dict[str, Any]:
    """Return the mask of visited states and the counts of a belief, by name, if it has them."""
    with suppress(InvalidBeliefError):
        return {"visited": np.asarray(belief.visited), "counts": np.asarray(belief.counts)}
    return {}
