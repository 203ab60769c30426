"""`check_world`, and `Findings`: the wrong claims that a check found, with their report.

A claim that a bounded variable has the mean μ is tested with n draws. Two tests hold for every
distribution:

- if values are in [0, 1] and m > μ, the mean of the draws is ≥ m with probability at most
  exp(−n KL(m ‖ μ)); the same holds for m < μ and a mean ≤ m (Hoeffding);
- with sample variance V, range R and any l > 0, the mean of the draws is within
  √(2 V l / n) + 7 R l / (3 (n − 1)) of μ with probability at least 1 − 2 e^−l (Maurer and Pontil's
  empirical Bernstein bound).

The probability that any test of a check calls a true claim wrong is at most 1 − confidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from homeward.arrays import BoolArray, FloatArray, index
from homeward.beliefs.base import need_belief, updated
from homeward.beliefs.observations import Transition, Visit
from homeward.errors import (
    HomewardError,
    ImpossibleObservationError,
    InvalidInputError,
    InvalidProblemError,
)

MAX_LISTED = 10  # largest number of offences that a message lists
MAX_REPEATED = 50  # most steps that are taken again in a world made again
GROUPS = 20  # number of groups of tests, which share 1 − confidence equally
ROUNDING = 1e-9  # largest difference of exact numbers that counts as rounding


@dataclass(frozen=True, slots=True)
class Offence:
    """One claim that is wrong.

    Attributes
    ----------
    code : str
        What is wrong: ``protocol``, ``shape``, ``range``, ``mean``, ``support``, ``reward``,
        ``correction``, ``moves``, ``blocked``, ``bounds``, ``limits``, ``gain``, ``sample``,
        ``update``, ``impossible``, ``counts``, ``together``, ``base`` or ``world``.
    where : str
        The state and action, or the method.
    expected : str
        The value that follows from the samples, or from another claim.
    found : str
        The value that the object claims.
    """

    code: str
    where: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"[{self.code}] {self.where}: {self.found}; expected {self.expected}"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The report of a check that found nothing wrong.

    Attributes
    ----------
    subject : str
        Name of the checked class.
    samples : int
        Number of drawn worlds, or steps of a world.
    confidence : float
        Lower bound on the probability that a check of a correct object reports nothing.
    checked : tuple of str
        Names of the claims that were checked.
    resolution : float
        Half-width of the widest interval of a mean probability. Smaller errors may be missed.
        0 if nothing was estimated.
    """

    subject: str
    samples: int
    confidence: float
    checked: tuple[str, ...]
    resolution: float

    def __str__(self) -> str:
        if self.confidence == 1.0:
            checked = ", ".join(self.checked)
            return f"{self.subject}: nothing wrong in {self.samples:,} steps. Checked: {checked}."
        return (
            f"{self.subject}: nothing wrong in {self.samples:,} draws at confidence "
            f"{self.confidence:g}. Checked: {', '.join(self.checked)}. Errors of mean "
            f"probabilities below {self.resolution:.2g} may pass; more samples find smaller ones."
        )


class Findings:
    """Collects the offences of a check and the names of the checked claims."""

    def __init__(self, subject: str, samples: int, confidence: float) -> None:
        self.subject, self.samples, self.confidence = subject, samples, confidence
        self.offences: list[Offence] = []
        self.checked: dict[str, None] = {}
        self.resolution = 0.0

    def log_inverse_alpha(self, tests: int) -> float:
        """Return ln(1/α), with α the error probability of each of a group's `tests`."""
        return math.log(2.0 * GROUPS * max(1, tests) / (1.0 - self.confidence))

    def add(self, code: str, where: str, expected: str, found: str) -> None:
        """Report an offence, once."""
        offence = Offence(code, where, expected, found)
        if offence not in self.offences:
            self.offences.append(offence)

    def finish(self, error: type[InvalidInputError]) -> CheckReport:
        """Return the report; raise `error` with all offences if there are any."""
        if not self.offences:
            parts = tuple(self.checked)
            return CheckReport(self.subject, self.samples, self.confidence, parts, self.resolution)
        lines = [f"  {offence}" for offence in self.offences[:MAX_LISTED]]
        more = len(self.offences) - MAX_LISTED
        if more > 0:
            lines.append(f"  and {more} more")
        count = f"{len(self.offences)} offence{'s' * (len(self.offences) != 1)}"
        raise error("\n".join([f"{self.subject} is wrong ({count}):", *lines]))


def slack(values: FloatArray, log_inverse_alpha: float, width: float) -> FloatArray:
    """Return the half-width of the empirical Bernstein interval of a mean of `values` [n, ...].

    A single row counts as exact.
    """
    count = len(values)
    if count == 1 or width == 0.0:
        return np.full(values.shape[1:], ROUNDING)
    spread = np.sqrt(2.0 * values.var(axis=0, ddof=1) * log_inverse_alpha / count)
    half: FloatArray = spread + 7.0 * width * log_inverse_alpha / (3.0 * (count - 1)) + ROUNDING
    return half


def refutes(
    mean: FloatArray, claimed: FloatArray, count: int, log_inverse_alpha: float
) -> BoolArray:
    """Return whether `count` draws in [0, 1] with this `mean` refute a `claimed` mean."""
    m, mu = np.clip(mean, 0.0, 1.0), np.clip(claimed, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(m > 0.0, m * np.log(m / mu), 0.0)
        below = np.where(m < 1.0, (1.0 - m) * np.log((1.0 - m) / (1.0 - mu)), 0.0)
    refuted: BoolArray = (count * (above + below) > log_inverse_alpha) & (np.abs(m - mu) > ROUNDING)
    return refuted


def check_world(
    make: Callable[[], Any], belief: Any, *, steps: int = 200, seed: int = 0
) -> CheckReport:
    """Return a report if a world follows its protocol; raise if it does not.

    Random actions are taken. The world must have a state and the flag `ended`, return observations
    that the belief learns from, and return the same ones when it is made again.

    Parameters
    ----------
    make : callable
        Function that returns the world in its first state, the same at each call.
    belief : Belief
        The belief that the observations update.
    steps : int
        Number of random actions; the world is made again where it ends.
    seed : int
        Random seed of the actions.

    Raises
    ------
    InvalidProblemError
        The message lists each offence.
    """
    error = InvalidProblemError
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise error(f"steps is {steps!r}, expected a whole number of 1 or more")
    if not callable(make):
        raise error(
            f"make is a {type(make).__name__}, expected a function without arguments that returns "
            "the world, such as lambda: MyWorld(seed=0)"
        )
    index(seed, 2**63, "the seed", error)
    need_belief(belief)
    world = make()
    findings = Findings(type(world).__name__, steps, 1.0)  # nothing is estimated
    for name in ("state", "ended", "look", "act"):
        findings.checked[name] = None
        if not hasattr(world, name):
            findings.add("protocol", name, "an attribute or method of that name", "none")
    if not findings.offences:
        first = _walk(make, belief, steps, seed, findings)
        if not findings.offences:
            findings.checked |= dict.fromkeys(("observations", "the same world again"))
            again = _walk(make, belief, min(steps, MAX_REPEATED), seed, findings)
            if again != first[: len(again)]:
                expected = "the same states after the same actions in a world made again"
                findings.add("world", "act()", expected, "others: take random numbers from a seed")
    return findings.finish(error)


def _walk(
    make: Callable[[], Any], belief: Any, steps: int, seed: int, findings: Findings
) -> list[int]:
    """Return the states of a random walk, up to the first offence, which is reported."""
    rng, model = np.random.default_rng(seed), belief.mean()
    path: list[int] = []
    world, learned = None, belief

    def state() -> Any:
        """Return the world's state; None, and an offence, if the belief has no such state."""
        try:
            return index(world.state, model.states, "the state", InvalidProblemError)  # type: ignore[attr-defined]
        except HomewardError as cause:
            expected = f"a number from 0 to {model.states - 1}"
            findings.add("world", "state", expected, str(cause))
            return None

    def learn(observation: Any, where: str) -> Any:
        """Return the belief after an observation; None, and an offence, if it can't learn."""
        try:
            return updated(learned, observation)
        except ImpossibleObservationError as cause:
            findings.add("impossible", where, "an observation that the belief allows", str(cause))
        except HomewardError as cause:
            findings.add("world", where, "one that the belief learns from", str(cause))
        return None

    for step in range(steps):
        if world is None or world.ended:
            world, learned = make(), belief
            if world.ended:
                findings.add("world", "ended", "a world that has not ended at its start", "True")
                return path
            first = state()
            learned = learn(world.look(), "look()")
            if learned is None or first is None:
                return path
            if world.ended or state() != first:
                expected = "a look to change neither state nor ended"
                findings.add("world", "look()", expected, "it does")
                return path
        before = state()
        if before is None:
            return path
        action = int(rng.choice(np.flatnonzero(np.isfinite(model.reward[before]))))
        observation = world.act(action)
        after = state()
        if after is None:
            return path
        right: Transition | Visit | None = None
        if isinstance(observation, Transition):
            is_end = world.ended and observation.next_state is None
            right = Transition(before, action, None if is_end else after)
        elif isinstance(observation, Visit):
            right = Visit(after)
        if right is not None and observation != right:
            findings.add("world", f"act({action}), step {step}", f"{right}", f"{observation}")
            return path
        learned = learn(observation, f"act({action}) in state {before}")
        if learned is None:
            return path
        path.append(after)
    return path
