"""`check_belief`: compare what a belief claims with worlds drawn from it.

Claims are checked exactly where one follows from another (shapes, signs, moves that always or never
work, the worlds of a `FiniteBelief`, Bayes' rule averaged over outcomes), and otherwise by sampling
(see `offences`). A correction σ ≤ 0 is wrong if it is too close to 0: bounds would be too high. A
correction that is too far below 0 only makes bounds loose.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from homeward.arrays import FloatArray, index, number, place
from homeward.beliefs.base import NO_MOVES, Belief, MoveSets, claim_of_moves
from homeward.beliefs.corrections import changes_state
from homeward.beliefs.finite import FiniteBelief
from homeward.bonuses import nats_of
from homeward.checking.draws import Drawn, draw_worlds, entries_of, fingerprint, has_bounds
from homeward.checking.offences import ROUNDING, CheckReport, Findings, refutes, slack
from homeward.checking.updates import UpdateCheck
from homeward.errors import InvalidBeliefError
from homeward.models import Model, Moves, SparseMDP

DISCOUNTS = (0.5, 0.99)  # discounts for which moves corrections are checked
PATHS, MOST_MOVES = 30, 6  # random paths whose moves are checked together, and their length
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
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 100:
        raise error(f"samples is {samples!r}, expected a whole number of 100 or more")
    index(seed, 2**63, "the seed", error)
    if observe is not None and not callable(observe):
        raise error(f"observe is {observe!r}, expected a function of the belief and a generator")
    findings = Findings(type(belief).__name__, samples, confidence)
    if not isinstance(belief, Belief):
        kind = f"the class {belief.__name__}" if isinstance(belief, type) else type(belief).__name__
        findings.add("base", "the belief", "an object of a subclass of homeward.Belief", kind)
        return findings.finish(error)
    claims = _claims(belief, findings)
    if claims is None:
        return findings.finish(error)
    before = fingerprint(belief)
    drawn = draw_worlds(belief, claims.model, findings, samples, seed)
    if drawn is not None:
        findings.samples = len(drawn.chance)
        claims.check_mean(drawn)
        claims.check_rewards(drawn)
        claims.check_shortfall(claims.correction, drawn.shortfall(), "correction()")
        findings.checked["correction"] = None
        claims.check_moves(drawn)
        claims.check_worlds()
        _check_gain(belief, findings)
        UpdateCheck(belief, claims.model, drawn, findings).run(seed, observe)
    if fingerprint(belief) != before:
        findings.add("sample", "the belief", "sample and update to leave it as it is", "it changed")
    return findings.finish(error)


def _claims(belief: Belief, findings: Findings) -> Claims | None:
    """Return the claims of a belief; None, and an offence, if a type or a shape is wrong."""
    for name, given in QUESTIONS.items():
        with suppress(InvalidBeliefError):  # the belief itself says that it does not know
            if getattr(belief, name)(*given) is None:
                findings.add("shape", f"{name}()", "a value: has it a return?", "None")
                return None
    model = belief.mean()
    if not isinstance(model, Moves | SparseMDP):
        findings.add("shape", "mean()", "Moves or SparseMDP", f"a {type(model).__name__}")
        return None
    if not np.array_equal(entries_of(model).chance, entries_of(belief.mean()).chance):
        findings.add("mean", "mean()", "the same model twice", "two different models")
    changes = changes_state(model.dest) if isinstance(model, Moves) else None
    claims = Claims(belief, model, np.empty(0), changes, findings)
    sigma = claims.array(belief.correction(), "correction()")
    if sigma is None:
        return None
    claims.check_range(sigma, "correction", -1.0 if changes is None else -2.0)
    findings.checked["shapes"] = None
    return replace(claims, correction=sigma)


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """The claims of a belief: its mean model and its correction; offences go to `findings`."""

    belief: Belief
    model: Model
    correction: FloatArray  # [S, A]
    changes: Any  # mask [S, A] of moves to another state; None for a general model
    findings: Findings

    def at(self, state: int, action: int) -> str:
        """Return a state-action as text, with names if there are any."""
        where = place((state, action), "sa")
        if self.model.state_names is None and self.model.action_names is None:
            return where
        return f"{self.model.action_name(action)} in {self.model.state_name(state)} {where}"

    def array(self, value: Any, name: str) -> FloatArray | None:
        """Return `value` as numbers [S, A]; None, and an offence, if it has another form."""
        shape = (self.model.states, self.model.actions)
        given = np.asarray(value)
        if given.shape != shape or given.dtype.kind not in "iuf":
            expected = f"numbers [S, A] = {shape}"
            self.findings.add("shape", name, expected, f"{given.dtype} of {given.shape}")
            return None
        return np.asarray(given, np.float64)

    def check_range(self, sigma: FloatArray, what: str, least: float) -> None:
        """Report corrections that are not numbers between `least` and 0."""
        wrong = ~((sigma <= 0.0) & (sigma >= least - ROUNDING))
        for s, a in np.argwhere(wrong)[:3].tolist():
            expected = f"a {what} from {least:g} to 0"
            self.findings.add("range", self.at(s, a), expected, f"{sigma[s, a]:g}")

    def check_mean(self, drawn: Drawn) -> None:
        """Report probabilities whose mean over the draws differs from the mean model's."""
        chance, entries, count = drawn.chance, drawn.entries, len(drawn.chance)
        log_limit = self.findings.log_inverse_alpha(2 * chance.shape[1])
        mean, half = chance.mean(axis=0), slack(chance, log_limit, 1.0)
        self.findings.resolution = float(half.max(initial=0.0))
        low, high = entries.chance, drawn.most
        far = (mean < low - half) | (mean > high + half)
        wrong = far | refutes(mean, np.clip(mean, low, high), count, log_limit)
        for k in _worst(wrong, np.abs(mean - entries.chance)):
            s, a, t = entries.where(k)
            where = f"{self.at(s, a)} to {self.model.state_name(t)}"
            how = f"± {half[k]:.2g} (mean of the draws)"
            if not far[k]:  # only the other test refutes it
                how = f"(mean of {count:,} draws, too far from it)"
            expected = f"probability {mean[k]:.6g} {how}"
            self.findings.add("mean", where, expected, f"mean() has {entries.chance[k]:.6g}")
        self.findings.checked["mean"] = None

    def check_rewards(self, drawn: Drawn) -> None:
        """Report mean rewards and limits that the draws contradict."""
        findings, usable = self.findings, np.isfinite(self.model.reward)
        paid = drawn.reward[:, usable]
        limits = self.belief.reward_limits()
        if limits is not None:
            low, high = limits
            rounding = ROUNDING * max(1.0, abs(low), abs(high))
            outside = (drawn.reward < low - rounding) | (drawn.reward > high + rounding)
            for n, s, a in np.argwhere(outside & usable)[:1].tolist():
                where = f"reward_limits(), {self.at(s, a)}"
                expected = f"a range that has the drawn reward {drawn.reward[n, s, a]:g}"
                findings.add("limits", where, expected, f"({low:g}, {high:g})")
            findings.checked["reward limits"] = None
        width = float(paid.max() - paid.min())
        given, mean = self.model.reward[usable], paid.mean(axis=0)
        half = ROUNDING + ROUNDING * np.abs(given)
        if width:
            log_limit = findings.log_inverse_alpha(paid.shape[1])
            half = slack(paid, log_limit, width) + ROUNDING * np.abs(given)
        for k in _worst(np.abs(mean - given) > half, np.abs(mean - given)):
            s, a = np.argwhere(usable)[k].tolist()
            expected = f"{mean[k]:.6g} ± {half[k]:.2g} (mean of the draws)"
            findings.add("reward", self.at(s, a), expected, f"the mean reward is {given[k]:.6g}")
        findings.checked["rewards"] = None

    def check_shortfall(self, sigma: FloatArray, values: FloatArray, name: str) -> None:
        """Report corrections [S, A], or their sum, above the mean of `values` [n, S, A]."""
        log_limit = self.findings.log_inverse_alpha(sigma.size)
        mean, half = values.mean(axis=0), slack(values, log_limit, 1.0)
        wrong = sigma > mean + half
        total, widest = values.reshape(len(values), -1).sum(axis=1), float(sigma.size)
        if sigma.sum() > total.mean() + slack(total[:, None], log_limit, widest)[0]:
            wrong |= sigma - mean >= (sigma - mean).max()
        for s, a in _worst_pairs(wrong, sigma - mean):
            expected = f"{mean[s, a]:.6g} ± {half[s, a]:.2g} or less (mean of the draws)"
            where = f"{name}, {self.at(s, a)}"
            self.findings.add("correction", where, expected, f"{sigma[s, a]:.6g}")

    def check_moves(self, drawn: Drawn) -> None:
        """Report claims on moves that the draws or other claims contradict."""
        if not isinstance(self.model, Moves):
            name = claim_of_moves(self.belief)
            if name is not None:
                expected = "mean() is a Moves, as this is about moves that work or fail"
                self.findings.add("moves", f"{name}()", expected, "mean() is a SparseMDP")
            return
        belief, findings, p = self.belief, self.findings, self.model.success
        success = drawn.chance.reshape(-1, *p.shape)
        sure = bool(belief.moves_work_or_never)
        if sure:
            odd = (success > 0.0) & (success < 1.0) & self.changes
            for _, s, a in np.argwhere(odd)[:1].tolist():
                given = f"a world has {float(success[odd].max()):g}"
                findings.add("moves", self.at(s, a), "success of 0 or 1 in each world", given)
            findings.checked["moves that work or never do"] = None
        # If P is 0 or 1 and p is known exactly, all corrections follow from p.
        exact = sure and not has_bounds(belief)
        if exact:
            self.check_exactly(self.correction, -2.0 * p * (1.0 - p), "correction()", FOLLOWS)
        blocked = self.array(belief.blocked_probability(), "blocked_probability()")
        if blocked is not None:
            self.check_blocked(blocked, success, 1.0 - p if exact else None)
        self.check_together(success)
        for discount in DISCOUNTS:
            if not self.check_move_corrections(discount, success, exact=exact):
                return
        findings.checked["moves corrections"] = None

    def check_together(self, success: FloatArray) -> None:
        """Report bounds on moves that all work, on random paths, which the draws contradict."""
        model, findings, rng = self.model, self.findings, np.random.default_rng(PATHS)
        assert isinstance(model, Moves)
        works = (success > 0.0) | ~self.changes
        log_limit = findings.log_inverse_alpha(2 * PATHS)
        for _ in range(PATHS):
            path, s = [], int(rng.integers(model.states))
            for _ in range(int(rng.integers(2, MOST_MOVES + 1))):
                likely = np.flatnonzero(self.changes[s] & (model.success[s] > 0.0))
                if not len(likely):
                    break
                path.append((s, int(rng.choice(likely))))
                s = int(model.dest[path[-1]])
            moves = np.array(sorted(dict(path).items()), np.int64).reshape(-1, 2)
            sets = MoveSets(np.array([0, len(moves)]), moves[:, 0], moves[:, 1])
            found = self.belief.work_together(sets)
            low, high = float(found.low[0]), float(found.high[0])
            drawn = works[:, moves[:, 0], moves[:, 1]].all(axis=1)
            share, count = float(drawn.mean()), len(drawn)
            half = float(slack(drawn[:, None].astype(np.float64), log_limit, 1.0)[0])
            near = np.array([min(max(share, low), high)])
            far = share < low - half or share > high + half
            if far or refutes(np.array([share]), near, count, log_limit)[0]:
                at = ", ".join(self.at(*move) for move in moves.tolist())
                expected = f"{share:.6g} ± {half:.2g} (fraction of the draws)"
                findings.add("together", at, expected, f"from {low:.6g} to {high:.6g}")
                break
        findings.checked["moves that work together"] = None

    def check_move_corrections(self, discount: float, success: FloatArray, *, exact: bool) -> bool:
        """Report moves corrections that the drawn `success` [n, S, A], or p, contradict.

        Return False if the belief does not return a pair of corrections.
        """
        p, name = self.model.success, f"move_corrections({discount:g})"  # type: ignore[union-attr]
        pair = self.belief.move_corrections(discount)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            expected = "a pair (returning, exploring)"
            self.findings.add("shape", name, expected, f"a {type(pair).__name__}")
            return False
        stretch = (1.0 - discount) / (1.0 - discount + discount * success)
        drawn = -p * (success == 0.0), -np.abs(success - p) * stretch
        implied = -p * (1.0 - p), -(2.0 - discount) * p * (1.0 - p)
        sigmas = [self.array(value, f"{name}[{k}]") for k, value in enumerate(pair)]
        for k, sigma in enumerate(sigmas):
            if sigma is not None:
                self.check_range(sigma, "moves correction", -2.0)
                values = np.where(self.changes, drawn[k], 0.0)
                self.check_shortfall(sigma, values, f"{name}[{k}]")
                if exact:
                    self.check_exactly(sigma, implied[k], f"{name}[{k}]", FOLLOWS)
        return True

    def check_exactly(self, sigma: FloatArray, most: FloatArray, name: str, why: str) -> None:
        """Report corrections above `most` [S, A], the value that another claim implies."""
        if self.changes is not None:
            most = np.where(self.changes, most, 0.0)
        for s, a in _worst_pairs(sigma > most + ROUNDING, sigma - most):
            where, expected = f"{name}, {self.at(s, a)}", f"{most[s, a]:.9g} or less{why}"
            self.findings.add("correction", where, expected, f"{sigma[s, a]:.9g}")

    def check_blocked(
        self, blocked: FloatArray, success: FloatArray, least: FloatArray | None
    ) -> None:
        """Report blocked probabilities below the fraction of worlds in which a move never works.

        They must not be below `least` [S, A] either, if that is given.
        """
        findings = self.findings
        never = (success == 0.0) & self.changes
        mean, log_limit = never.mean(axis=0), findings.log_inverse_alpha(blocked.size)
        for s, a in np.argwhere(~((blocked >= 0.0) & (blocked <= 1.0)))[:3].tolist():
            findings.add("range", self.at(s, a), "a blocked probability", f"{blocked[s, a]:g}")
        wrong = (mean > blocked) & refutes(mean, blocked, len(success), log_limit)
        wrong |= mean > blocked + slack(never.astype(np.float64), log_limit, 1.0)
        cases = [(wrong, mean, " (fraction of the draws)")]
        if least is not None:
            least = np.where(self.changes, least, 0.0)
            cases.append((blocked < least - ROUNDING, least, FOLLOWS))
        for wrong, expected, why in cases:
            for s, a in _worst_pairs(wrong, expected - blocked):
                given = f"blocked_probability() is {blocked[s, a]:.6g}"
                findings.add("blocked", self.at(s, a), f"{expected[s, a]:.6g} or more{why}", given)
        known = blocked.copy()
        moves, least_known = self.belief.least_blocked()
        known.reshape(-1)[moves] = least_known
        wrong = (mean < known) & refutes(mean, known, len(success), log_limit)
        for s, a in _worst_pairs(wrong, known - mean):
            given = f"least_blocked() implies {known[s, a]:.6g}"
            expected_here = f"{mean[s, a]:.6g} or less (fraction of the draws)"
            findings.add("blocked", self.at(s, a), expected_here, given)
        findings.checked["blocked probability"] = None

    def check_worlds(self) -> None:
        """Report claims of a finite belief that its own worlds contradict, exactly."""
        belief, model = self.belief, self.model
        if not isinstance(belief, FiniteBelief):
            return
        plain = FiniteBelief(belief.worlds, belief.weights)
        truth = FiniteBelief.mean(plain)
        given, right = (np.asarray(m.sparse().transitions.toarray()) for m in (model, truth))
        differ = np.abs(given - right)
        if differ.max() > ROUNDING:
            row, t = np.unravel_index(int(differ.argmax()), differ.shape)
            where = f"{self.at(*divmod(int(row), model.actions))} to {model.state_name(int(t))}"
            expected = f"probability {right[row, t]:.9g} (over its worlds)"
            self.findings.add("mean", where, expected, f"mean() has {given[row, t]:.9g}")
        pairs = [("correction()", self.correction, FiniteBelief.correction(plain))]
        for discount in DISCOUNTS if self.changes is not None else ():
            name = f"move_corrections({discount:g})"
            sigmas = belief.move_corrections(discount)
            limits = FiniteBelief.move_corrections(plain, discount)
            pairs += [(f"{name}[{k}]", np.asarray(sigmas[k]), limits[k]) for k in range(2)]
        for name, sigma, most in pairs:
            self.check_exactly(sigma, most, name, " (over its worlds)")
        self.findings.checked["worlds of a finite belief, exactly"] = None


def _check_gain(belief: Any, findings: Findings) -> None:
    """Report a remaining gain, or a largest variance, that differs from the belief's variances."""
    if not (hasattr(belief, "gain_left") and hasattr(belief, "variance")):
        return
    is_blocked = np.asarray(getattr(belief, "blocked", np.zeros(belief.variance.shape, bool)))
    variance = np.asarray(belief.variance)[~is_blocked]
    largest = float(variance.max())
    for weight, enough in ((1.0, np.inf), (1e4, np.inf), (1e4, 2.0 / max(largest, 1e-300))):
        gain = float(nats_of(variance, weight, enough).sum())
        expected = (
            (gain, "{:.6g} nats, by its variances"),
            (largest, "a largest variance of {:.6g} m²"),
        )
        for given, (right, text), unit in zip(
            belief.gain_left(weight, enough), expected, ("nats", "m²"), strict=True
        ):
            if abs(given - right) > 1e-6 * max(1.0, right):
                where = f"gain_left({weight:g}, {enough:g})"
                findings.add("gain", where, text.format(right), f"{given:.6g} {unit}")
    findings.checked["gain"] = None


def _worst(wrong: Any, excess: Any) -> list[int]:
    """Return the indices of at most three wrong entries, the largest excess first."""
    indices = np.flatnonzero(wrong)
    return [int(k) for k in indices[np.argsort(-excess[indices], kind="stable")][:3]]


def _worst_pairs(wrong: Any, excess: Any) -> list[tuple[int, int]]:
    """Return at most three wrong state-actions of a mask [S, A], the largest excess first."""
    return [divmod(k, wrong.shape[1]) for k in _worst(wrong.ravel(), excess.ravel())]
