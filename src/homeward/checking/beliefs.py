"""`check_belief`: compare what a belief claims with worlds drawn from it.

Claims are checked exactly where one follows from another (shapes, signs, moves that always or never
work, the worlds of a `FiniteBelief`, Bayes' rule averaged over outcomes), and otherwise by sampling
(see `offences`). A correction σ ≤ 0 is wrong if it is too close to 0: bounds would be too high. One
that is too far below 0 only makes bounds loose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, index, number, place
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.finite import FiniteBelief
from homeward.beliefs.protocol import (
    BlockedMoves,
    BoundedMoves,
    MoveBelief,
    RewardLimits,
    SureMoves,
)
from homeward.checking.draws import Drawn, draw_worlds, entries_of, fingerprint
from homeward.checking.offences import ROUNDING, CheckReport, Findings, refutes, slack
from homeward.checking.updates import check_updates
from homeward.errors import InvalidBeliefError
from homeward.models import Model, Moves, SparseMDP

DISCOUNTS = (0.5, 0.99)  # discounts for which moves corrections are checked


def check_belief(
    belief: Any,
    *,
    samples: int = 4000,
    confidence: float = 0.999,
    seed: int = 0,
    observe: Callable[[Any, np.random.Generator], Any] | None = None,
) -> CheckReport:
    """Return a report if what a belief claims agrees with what it draws; raise if it does not.

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
        It lists each offence: the state and action, what is claimed and what was expected.
    """
    error = InvalidBeliefError
    if not 0.0 < number(confidence, "the confidence", error) < 1.0:
        raise error(f"the confidence is {confidence:g}, expected 0 < confidence < 1")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 100:
        raise error(f"samples is {samples!r}, expected a whole number of 100 or more")
    index(seed, 2**63, "the seed", error)
    if observe is not None and not callable(observe):
        raise error(f"observe is {observe!r}, expected a function of the belief and a generator")
    said = Findings(type(belief).__name__, samples, confidence)
    found = None if isinstance(belief, type) else belief
    methods = ("mean", "correction", "update", "sample")
    lacks = [name for name in methods if not callable(getattr(found, name, None))]
    if lacks:
        said.add("protocol", ", ".join(lacks), "a method of each name", "no such method")
        return said.finish(error)
    claims = _claims(belief, said)
    if claims is None:
        return said.finish(error)
    before = fingerprint(belief)
    drawn = draw_worlds(belief, claims.model, said, samples, seed)
    if drawn is not None:
        said.samples = len(drawn.chance)
        _check_mean(claims, drawn, said)
        _check_rewards(belief, claims, drawn, said)
        _check_shortfall(claims, claims.correction, drawn.shortfall(), 1.0, "correction()", said)
        said.checked["correction"] = None
        _check_moves(belief, claims, drawn, said)
        _check_worlds(belief, claims, said)
        _check_gain(belief, said)
        check_updates(belief, drawn, said, seed, observe)
    if fingerprint(belief) != before:
        said.add("sample", "the belief", "sample and update to leave it as it is", "it changed")
    return said.finish(error)


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What a belief claims: its mean model, and corrections [S, A]."""

    model: Model
    correction: FloatArray
    changes: Any  # mask [S, A] of moves to another state; None for a general model

    def at(self, state: int, action: int) -> str:
        """Return a state-action as text, with names if there are any."""
        where = place((state, action), "sa")
        if self.model.state_names is None and self.model.action_names is None:
            return where
        return f"{self.model.action_name(action)} in {self.model.state_name(state)} {where}"


def _claims(belief: Any, said: Findings) -> Claims | None:
    """Return the claims if their types and shapes are right."""
    model = belief.mean()
    if not isinstance(model, Moves | SparseMDP):
        said.add("shape", "mean()", "Moves or SparseMDP", f"a {type(model).__name__}")
        return None
    again = belief.mean()
    if not np.array_equal(entries_of(model).chance, entries_of(again).chance):
        said.add("mean", "mean()", "the same model twice", "two different models")
    sigma = _array(belief.correction(), "correction()", model, said)
    if sigma is None:
        return None
    changes = changes_state(model.dest) if isinstance(model, Moves) else None
    claims = Claims(model, sigma, changes)
    _check_range(claims, sigma, "correction", -1.0 if changes is None else -2.0, said)
    said.checked["shapes"] = None
    return claims


def _array(value: Any, name: str, model: Model, said: Findings) -> FloatArray | None:
    """Return `value` as an array [S, A] of numbers; report it and return None if it is not one."""
    shape = (model.states, model.actions)
    found = np.asarray(value)
    if found.shape != shape or found.dtype.kind not in "iuf":
        said.add("shape", name, f"numbers [S, A] = {shape}", f"{found.dtype} of {found.shape}")
        return None
    return np.asarray(found, np.float64)


def _check_range(
    claims: Claims, sigma: FloatArray, what: str, least: float, said: Findings
) -> None:
    """Report corrections that are not numbers between `least` and 0."""
    wrong = ~((sigma <= 0.0) & (sigma >= least - ROUNDING))
    for s, a in np.argwhere(wrong)[:3].tolist():
        said.add("range", claims.at(s, a), f"a {what} from {least:g} to 0", f"{sigma[s, a]:g}")


def _check_mean(claims: Claims, drawn: Drawn, said: Findings) -> None:
    """Report probabilities whose mean over the draws differs from the mean model's."""
    chance, entries, count = drawn.chance, drawn.entries, len(drawn.chance)
    log_limit = said.log_inverse_alpha(2 * chance.shape[1])
    mean, half = chance.mean(axis=0), slack(chance, log_limit, 1.0)
    said.resolution = float(half.max(initial=0.0))
    low, high = entries.chance, drawn.most
    wrong = (mean < low - half) | (mean > high + half)
    wrong |= refutes(mean, np.clip(mean, low, high), count, log_limit)
    for k in _worst(wrong, np.abs(mean - entries.chance)):
        s, a, t = entries.where(k)
        to = f" to {claims.model.state_name(t)}"
        told = f"probability {mean[k]:.6g} ± {half[k]:.2g} (mean of the draws)"
        if low[k] - half[k] <= mean[k] <= high[k] + half[k]:  # the other test is the sharper one
            told = f"probability {mean[k]:.6g} (mean of {count:,} draws, too far from it)"
        said.add("mean", claims.at(s, a) + to, told, f"mean() has {entries.chance[k]:.6g}")
    said.checked["mean"] = None


def _check_rewards(belief: Any, claims: Claims, drawn: Drawn, said: Findings) -> None:
    """Report mean rewards and limits that the draws contradict."""
    usable = np.isfinite(claims.model.reward)
    paid = drawn.reward[:, usable]
    if isinstance(belief, RewardLimits):
        low, high = belief.reward_limits()
        scale = ROUNDING * max(1.0, abs(low), abs(high))
        if paid.min() < low - scale or paid.max() > high + scale:
            worst = np.argwhere((drawn.reward < low - scale) | (drawn.reward > high + scale))
            worst = worst[usable[worst[:, 1], worst[:, 2]]]
            _, s, a = worst[0].tolist()
            said.add(
                "limits",
                f"reward_limits(), {claims.at(s, a)}",
                f"a range that has the drawn reward {drawn.reward[tuple(worst[0])]:g}",
                f"({low:g}, {high:g})",
            )
        said.checked["reward limits"] = None
    width = float(paid.max() - paid.min())
    given = claims.model.reward[usable]
    half = (
        slack(paid, said.log_inverse_alpha(paid.shape[1]), width)
        if width
        else ROUNDING + 0.0 * given
    )
    half = half + ROUNDING * np.abs(given)
    wrong = np.abs(paid.mean(axis=0) - given) > half
    for k in _worst(wrong, np.abs(paid.mean(axis=0) - given)):
        s, a = np.argwhere(usable)[k].tolist()
        told = f"{paid.mean(axis=0)[k]:.6g} ± {half[k]:.2g} (mean of the draws)"
        said.add("reward", claims.at(s, a), told, f"the mean reward is {given[k]:.6g}")
    said.checked["rewards"] = None


def _check_shortfall(
    claims: Claims, sigma: FloatArray, values: FloatArray, width: float, name: str, said: Findings
) -> None:
    """Report corrections [S, A], or their sum, above the mean of `values` [n, S, A] in `width`."""
    log_limit = said.log_inverse_alpha(sigma.size)
    mean, half = values.mean(axis=0), slack(values, log_limit, width)
    wrong = sigma > mean + half
    total, widest = values.reshape(len(values), -1).sum(axis=1), width * sigma.size
    if sigma.sum() > total.mean() + slack(total[:, None], log_limit, widest)[0]:
        wrong |= sigma - mean >= (sigma - mean).max()
    for k in _worst(wrong.ravel(), (sigma - mean).ravel()):
        s, a = divmod(k, sigma.shape[1])
        told = f"{mean[s, a]:.6g} ± {half[s, a]:.2g} or less (mean of the draws)"
        said.add("correction", f"{name}, {claims.at(s, a)}", told, f"{sigma[s, a]:.6g}")


def _check_moves(belief: Any, claims: Claims, drawn: Drawn, said: Findings) -> None:
    """Report claims on moves that the draws or other claims contradict."""
    if claims.changes is None or not isinstance(claims.model, Moves):
        return
    changes, p = claims.changes, claims.model.success
    success = drawn.chance.reshape(-1, *p.shape)
    sure = isinstance(belief, SureMoves) and bool(belief.moves_work_or_never)
    if sure:
        odd = (success > 0.0) & (success < 1.0) & changes
        for _, s, a in np.argwhere(odd)[:1].tolist():
            where, most = claims.at(s, a), float(success[odd].max())
            said.add("moves", where, "success of 0 or 1 in each world", f"a world has {most:g}")
        said.checked["moves that work or never do"] = None
    bounded = isinstance(belief, BoundedMoves)
    if sure and not bounded:  # P is 0 or 1, so all corrections follow from p
        _check_exactly(claims, claims.correction, -2.0 * p * (1.0 - p), "correction()", said)
    if isinstance(belief, BlockedMoves):
        blocked = _array(belief.blocked_probability(), "blocked_probability()", claims.model, said)
        if blocked is not None:
            _check_blocked(claims, blocked, success, said)
            if sure and not bounded:
                _check_sure_blocked(claims, blocked, 1.0 - p, said)
    if isinstance(belief, MoveBelief):
        for discount in DISCOUNTS:
            given = belief.move_corrections(discount)
            if not isinstance(given, tuple | list) or len(given) != 2:
                name, told = f"move_corrections({discount:g})", "a pair (returning, exploring)"
                said.add("shape", name, told, f"a {type(given).__name__}")
                return
            names = [f"move_corrections({discount:g})[{k}]" for k in (0, 1)]
            pair = [_array(x, n, claims.model, said) for x, n in zip(given, names, strict=True)]
            stretch = (1.0 - discount) / (1.0 - discount + discount * success)
            expected = -p * (success == 0.0), -np.abs(success - p) * stretch
            exact = -p * (1.0 - p), -(2.0 - discount) * p * (1.0 - p)
            for sigma, name, values, follows in zip(pair, names, expected, exact, strict=True):
                if sigma is None:
                    continue
                _check_range(claims, sigma, "moves correction", -2.0, said)
                _check_shortfall(claims, sigma, np.where(changes, values, 0.0), 1.0, name, said)
                if sure and not bounded:
                    _check_exactly(claims, sigma, follows, name, said)
        said.checked["moves corrections"] = None


def _check_exactly(
    claims: Claims, sigma: FloatArray, expected: FloatArray, name: str, said: Findings
) -> None:
    """Report moves corrections that exceed the value implied by the mean model."""
    expected = np.where(claims.changes, expected, 0.0)
    wrong = sigma > expected + ROUNDING
    for k in _worst(wrong.ravel(), (sigma - expected).ravel()):
        s, a = divmod(k, sigma.shape[1])
        told = f"{expected[s, a]:.6g} or less, as each move always or never works"
        said.add("correction", f"{name}, {claims.at(s, a)}", told, f"{sigma[s, a]:.6g}")


def _check_blocked(
    claims: Claims, blocked: FloatArray, success: FloatArray, said: Findings
) -> None:
    """Report blocked probabilities below the fraction of worlds in which a move never works."""
    never = (success == 0.0) & claims.changes
    mean, log_limit = never.mean(axis=0), said.log_inverse_alpha(blocked.size)
    for s, a in np.argwhere(~((blocked >= 0.0) & (blocked <= 1.0)))[:3].tolist():
        said.add("range", claims.at(s, a), "a blocked probability", f"{blocked[s, a]:g}")
    wrong = (mean > blocked) & refutes(mean, blocked, len(success), log_limit)
    wrong |= mean > blocked + slack(never.astype(np.float64), log_limit, 1.0)
    for k in _worst(wrong.ravel(), (mean - blocked).ravel()):
        s, a = divmod(k, blocked.shape[1])
        told = f"{mean[s, a]:.6g} or more (fraction of the draws)"
        said.add("blocked", claims.at(s, a), told, f"blocked_probability() is {blocked[s, a]:.6g}")
    said.checked["blocked probability"] = None


def _check_sure_blocked(
    claims: Claims, blocked: FloatArray, expected: FloatArray, said: Findings
) -> None:
    """Report blocked probabilities below the value implied by the mean model."""
    expected = np.where(claims.changes, expected, 0.0)
    for k in _worst((blocked < expected - ROUNDING).ravel(), (expected - blocked).ravel()):
        s, a = divmod(k, blocked.shape[1])
        told = f"{expected[s, a]:.6g} or more, as each move always or never works"
        said.add("blocked", claims.at(s, a), told, f"blocked_probability() is {blocked[s, a]:.6g}")


def _check_worlds(belief: Any, claims: Claims, said: Findings) -> None:
    """Report claims of a finite belief that its own worlds contradict, exactly."""
    if not isinstance(belief, FiniteBelief):
        return
    plain = FiniteBelief(belief.worlds, belief.weights)
    truth = FiniteBelief.mean(plain)
    mine, theirs = (np.asarray(m.sparse().transitions.toarray()) for m in (claims.model, truth))
    differ = np.abs(mine - theirs)
    if differ.max() > ROUNDING:
        row, t = np.unravel_index(int(differ.argmax()), differ.shape)
        s, a = divmod(int(row), claims.model.actions)
        where = f"{claims.at(s, a)} to {claims.model.state_name(int(t))}"
        told = f"probability {theirs[row, t]:.9g} (over its worlds)"
        said.add("mean", where, told, f"mean() has {mine[row, t]:.9g}")
    pairs = [("correction()", claims.correction, FiniteBelief.correction(plain))]
    if claims.changes is not None:
        for discount in DISCOUNTS:
            given = belief.move_corrections(discount)
            right = FiniteBelief.move_corrections(plain, discount)
            name = f"move_corrections({discount:g})"
            parts = zip(given, right, strict=True)
            pairs += [(f"{name}[{k}]", np.asarray(x), y) for k, (x, y) in enumerate(parts)]
    for name, sigma, expected in pairs:
        wrong = sigma > expected + ROUNDING
        for k in _worst(wrong.ravel(), (sigma - expected).ravel()):
            s, a = divmod(k, sigma.shape[1])
            told = f"{expected[s, a]:.9g} or less (over its worlds)"
            said.add("correction", f"{name}, {claims.at(s, a)}", told, f"{sigma[s, a]:.9g}")
    said.checked["worlds of a finite belief, exactly"] = None


def _check_gain(belief: Any, said: Findings) -> None:
    """Report a remaining gain that is larger than the variances allow."""
    if not (hasattr(belief, "gain_left") and hasattr(belief, "variance")):
        return
    for weight in (1.0, 1e4):
        left, largest = belief.gain_left(weight)
        open_cells = ~np.asarray(getattr(belief, "blocked", np.zeros(belief.variance.shape, bool)))
        variance = np.asarray(belief.variance)[open_cells]
        expected = float(0.5 * np.log1p(variance * weight).sum())
        if abs(left - expected) > 1e-6 * max(1.0, expected):
            told = f"{expected:.6g} nats, by its variances"
            said.add("gain", f"gain_left({weight:g})", told, f"{left:.6g} nats")
        if abs(largest - float(variance.max())) > 1e-6 * max(1.0, float(variance.max())):
            told = f"a largest variance of {float(variance.max()):.6g} m²"
            said.add("gain", f"gain_left({weight:g})", told, f"{largest:.6g} m²")
    said.checked["gain"] = None


def _worst(wrong: Any, by: Any, most: int = 3) -> list[int]:
    """Return the indices of wrong entries, the largest `by` first, at most `most`."""
    found = np.flatnonzero(wrong)
    return [int(k) for k in found[np.argsort(-by[found], kind="stable")][:most]]
