from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import homeward as hw
from homeward.beliefs import CorrelatedTerrainBelief, Matern, Reveal
from homeward.bonuses import nats_of
from homeward.terrain.synthetic import draw_belief

DEST = np.array([[0, 1], [1, 2], [2, 0]])
SUCCESS = np.array([[[1, 0.9], [1, 0.3], [1, 0.5]], [[1, 0.0], [1, 0.8], [1, 0.5]]])
MOVES = [hw.Moves(DEST, chance, np.full((3, 2), float(k))) for k, chance in enumerate(SUCCESS)]
SURE = [hw.Moves(DEST, np.round(chance)) for chance in SUCCESS]
GENERAL = [
    hw.SparseMDP.from_dense(np.random.default_rng(k).dirichlet(np.ones(3), (3, 2)))
    for k in range(3)
]


def tied() -> hw.DirichletBelief:
    """Outcomes 1 and 2 fall together in state 0 only."""
    outcomes = np.array([[[1, 0, 0]], [[2, 0, 1]], [[2, 2, 2]]])
    alpha = np.array([[2.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    return hw.DirichletBelief(outcomes, alpha, np.array([[0], [0], [1]]))


def seen_heights() -> hw.HeightBelief:
    """A grid of which some squares are known."""
    belief = hw.HeightBelief((3, 3), walls=0.1)
    return belief.update(Reveal(np.array([0, 1, 3, 4]), np.array([2, 1, 3, 2]), 0))


def terrain() -> hw.TerrainBelief:
    return draw_belief((3, 3), np.random.default_rng(1))


def correlated() -> CorrelatedTerrainBelief:
    return CorrelatedTerrainBelief((3, 3), Matern(0.5, 2.0), cell=1.0, climb=25.0)


OURS: dict[str, Any] = {
    "finite moves": lambda: hw.FiniteBelief(MOVES, np.array([0.3, 0.7])),
    "finite sure moves": lambda: hw.FiniteBelief(SURE),
    "finite general": lambda: hw.FiniteBelief(GENERAL),
    "dirichlet": lambda: hw.DirichletBelief.independent(np.ones((2, 2, 2))),
    "dirichlet with walls": tied,
    "heights": seen_heights,
    "heights of seven levels, climb 2": lambda: replace(
        seen_heights(), prior=np.full(7, 1 / 7), climb=2
    ),
    "terrain": terrain,
    "correlated terrain": correlated,
}


@pytest.mark.parametrize("name", OURS)
def test_our_beliefs_pass(name: str) -> None:
    report = hw.check_belief(OURS[name](), samples=1500)
    assert {"mean", "correction", "sample", "update"} <= set(report.checked)
    assert "nothing wrong" in str(report)


def test_a_belief_after_updates_passes() -> None:
    belief = hw.DirichletBelief.independent(np.ones((2, 2, 2)))
    hw.check_belief(belief.update([hw.Transition(0, 0, 1), hw.Transition(0, 0, 1)]), samples=1500)


class Unpacking(hw.Belief):
    """A belief whose `update` expects a pair, and so breaks on a `Transition`."""

    def __init__(self, inner: Any) -> None:
        self.inner: Any = inner

    def mean(self) -> Any:
        return self.inner.mean()

    def correction(self) -> Any:
        return self.inner.correction()

    def sample(self, rng: Any) -> Any:
        return self.inner.sample(rng)

    def update(self, observation: Any) -> Any:
        action, works = observation
        return Unpacking(self.inner.update(hw.Transition(0, action, 1 if works else 0)))


def test_a_belief_that_breaks_on_a_transition_needs_observations_of_its_own() -> None:
    belief = Unpacking(hw.FiniteBelief(MOVES, np.array([0.4, 0.6])))
    with pytest.raises(hw.InvalidBeliefError, match="the option observe"):
        hw.check_belief(belief, samples=300)

    def observe(belief: Any, rng: Any) -> Any:
        return 1, rng.random() < belief.mean().success[0, 1]

    assert "update" in hw.check_belief(belief, samples=300, observe=observe).checked


class Right(hw.Belief):
    """A belief that asks another one; `broken` replaces some of its methods."""

    def __init__(self, inner: Any = None) -> None:
        self.inner: Any = hw.FiniteBelief(MOVES, np.array([0.4, 0.6])) if inner is None else inner

    def mean(self) -> Any:
        return self.inner.mean()

    def correction(self) -> Any:
        return self.inner.correction()

    def move_corrections(self, discount: float) -> Any:
        return self.inner.move_corrections(discount)

    def blocked_probability(self) -> Any:
        return self.inner.blocked_probability()

    def reward_limits(self) -> Any:
        return self.inner.reward_limits()

    @property
    def visited(self) -> Any:
        return self.inner.visited

    @property
    def counts(self) -> Any:
        return self.inner.counts

    def update(self, observation: Any) -> Any:
        return type(self)(self.inner.update(observation))

    def sample(self, rng: Any) -> Any:
        return self.inner.sample(rng)


def broken(inner: Any = None, **methods: Any) -> Any:
    """Return a belief with other methods."""
    return type("Broken", (Right,), methods)(inner)


@dataclass(frozen=True, eq=False)
class SmallCorrection(hw.FiniteBelief):
    """Its correction is too small by 1 %; the claims are those of a finite belief."""

    def correction(self) -> Any:
        return 0.99 * hw.FiniteBelief.correction(self)


def sure() -> hw.FiniteBelief:
    """Return two worlds, in each of which every move works or not."""
    works = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    other = np.where(DEST[:, :1] == DEST, 1, 1 - works)
    return hw.FiniteBelief([hw.Moves(DEST, works), hw.Moves(DEST, other)])


def with_success(change: Any) -> Any:
    """Return a method `mean` whose success probabilities are changed."""

    def mean(self: Any) -> Any:
        model = self.inner.mean()
        return replace(model, success=np.clip(change(model.success), 0, 1))

    return mean


def with_reward(self: Any) -> Any:
    model = self.inner.mean()
    return replace(model, reward=model.reward + 0.2)


def mutating(self: Any, observation: Any) -> Any:
    self.inner = self.inner.update(observation)
    return self


def forgetful(self: Any, observation: Any) -> Any:
    after = self.inner.update(observation)
    return type(self)(replace(after, visited=self.inner.visited, counts=self.inner.counts))


def credulous(self: Any, observation: Any) -> Any:
    try:
        return Right.update(self, observation)
    except hw.ImpossibleObservationError:
        return self


def refusing(self: Any, observation: Any) -> Any:
    if observation.next_state == 1:
        raise hw.ImpossibleObservationError("no")
    return Right.update(self, observation)


def deaf(self: Any, observation: Any) -> Any:
    raise hw.InvalidBeliefError("it learns from nothing")


BUFFER = np.ones((3, 2))


def sharing(self: Any, rng: Any) -> Any:
    """All drawn worlds share one array."""
    world = self.inner.sample(rng)
    BUFFER[:] = world.success
    return world.with_success(BUFFER, valid=True)


def unsupported(self: Any) -> Any:
    """A drawn world has a transition that the mean excludes."""
    rows = self.inner.mean().transitions.toarray()
    rows[0, 0] = 0.0
    return hw.SparseMDP.from_dense(rows.reshape(3, 2, 3))


def corrections(returning: float, exploring: float) -> Any:
    """Return a method `move_corrections` that multiplies the right ones."""

    def changed(self: Any, discount: float) -> Any:
        both = self.inner.move_corrections(discount)
        return returning * both[0], exploring * both[1]

    return changed


VARIANCE = np.array([1.0, 2.0, 3.0])
NOISE = np.random.default_rng()

WRONG: list[tuple[str, str, Any]] = [
    ("1 % of a finite belief", "correction", lambda: SmallCorrection(MOVES)),
    ("1 % of sure moves", "correction", lambda: broken(
        hw.FiniteBelief(SURE), moves_work_or_never=True,
        correction=lambda self: 0.99 * self.inner.correction())),
    ("half", "correction", lambda: broken(correction=lambda self: 0.5 * self.inner.correction())),
    ("no returning", "correction", lambda: broken(move_corrections=corrections(0.0, 1.0))),
    ("small exploring", "correction", lambda: broken(move_corrections=corrections(1.0, 0.4))),
    ("positive", "range", lambda: broken(correction=lambda self: -self.inner.correction())),
    ("mean", "mean", lambda: broken(mean=with_success(lambda p: p + 0.08 * (DEST == 1)))),
    ("mean by 5 %", "mean", lambda: broken(mean=with_success(lambda p: 0.95 * p))),
    ("reward", "reward", lambda: broken(mean=with_reward)),
    ("random mean", "mean", lambda: broken(
        mean=with_success(lambda p: p - NOISE.uniform(0.0, 1e-4, p.shape)))),
    ("narrow limits", "limits", lambda: broken(
        reward_limits=lambda self: (self.inner.reward_limits()[0] + 0.1, 9.0))),
    ("small risk", "blocked", lambda: broken(
        blocked_probability=lambda self: 0.8 * self.inner.blocked_probability())),
    ("1 % of a sure risk", "blocked", lambda: broken(
        sure(), moves_work_or_never=True,
        blocked_probability=lambda self: 0.99 * self.inner.blocked_probability())),
    ("an upper bound declared exact", "blocked", lambda: broken(
        blocked_probability=lambda self: np.minimum(1.0, 1.5 * self.inner.blocked_probability()),
        least_blocked=lambda self: (np.zeros(0, np.int64), np.zeros(0)))),
    ("unsound joint bound", "together", lambda: broken(
        all_work=lambda self, state, action: (0.99, 1.0))),
    ("one correction", "shape", lambda: broken(
        move_corrections=lambda self, discount: self.inner.move_corrections(discount)[0])),
    ("not sure", "moves", lambda: broken(moves_work_or_never=True)),
    ("ignoring", "update", lambda: broken(update=lambda self, _: type(self)(self.inner))),
    ("absorbing nothing", "update", lambda: broken(absorb=lambda self, seen: (self, None))),
    ("naming no changed state", "update", lambda: broken(
        absorb=lambda self, seen: (self.update(seen), np.zeros(0, np.int64)))),
    ("mutating", "update", lambda: broken(update=mutating)),
    ("counting twice", "update", lambda: broken(
        update=lambda self, seen: type(self)(self.inner.update(seen).update(seen)))),
    ("forgetful", "counts", lambda: broken(update=forgetful)),
    ("credulous", "impossible", lambda: broken(hw.FiniteBelief(SURE[:1]), update=credulous)),
    ("refusing", "impossible", lambda: broken(update=refusing)),
    ("deaf", "update", lambda: broken(update=deaf)),
    ("unrepeatable", "sample", lambda: broken(sample=lambda self, _: self.inner.sample(NOISE))),
    ("sharing", "sample", lambda: broken(sample=sharing)),
    ("biased", "mean", lambda: broken(
        sample=lambda self, rng: self.inner.worlds[int(rng.integers(len(self.inner.worlds)))])),
    ("shapeless", "shape", lambda: broken(correction=lambda self: self.inner.correction()[0])),
    ("other worlds", "sample", lambda: broken(
        sample=lambda self, rng: self.inner.sample(rng).sparse())),
    ("other places", "sample", lambda: broken(
        sample=lambda self, rng: hw.Moves(np.roll(DEST, 1, axis=1), self.inner.sample(rng).success)
    )),
    ("unsupported", "support", lambda: broken(hw.FiniteBelief(GENERAL), mean=unsupported)),
    ("large gain", "gain", lambda: broken(
        variance=VARIANCE, gain_left=lambda self, weight, enough=np.inf:
        (1.1 * float(nats_of(VARIANCE, weight, enough).sum()), 3.0))),
    ("no belief", "base", lambda: object()),
]  # fmt: skip
"""Names, codes of the offence, and beliefs that break one thing."""


def test_the_right_belief_behind_the_wrong_ones_passes() -> None:
    hw.check_belief(Right(), samples=3000)


@pytest.mark.parametrize(("code", "make"), [case[1:] for case in WRONG], ids=[w[0] for w in WRONG])
def test_a_wrong_belief_is_refused_by_what_is_wrong(code: str, make: Any) -> None:
    with pytest.raises(hw.InvalidBeliefError, match=rf"\[{code}\] .*; expected"):
        hw.check_belief(make(), samples=3000)


def test_an_offence_is_listed_once() -> None:
    mute = broken(update=lambda self, observation: None)
    with pytest.raises(hw.InvalidBeliefError, match=r"\(1 offence\):\n.* a NoneType; expected a"):
        hw.check_belief(mute, samples=100)


def test_an_offence_names_the_action_what_is_claimed_and_what_was_expected() -> None:
    names = {"state_names": ("hut", "ridge", "lake"), "action_names": ("wait", "walk")}
    worlds = [replace(world, **names) for world in MOVES]  # type: ignore[arg-type]
    said = (
        r"\[correction\] correction\(\), walk in hut \(s=0, a=1\): -0.4455; expected -0.45 or less"
    )
    with pytest.raises(hw.InvalidBeliefError, match=said):
        hw.check_belief(SmallCorrection(worlds), samples=500)


@pytest.mark.parametrize(
    "options",
    [
        {"samples": 5},
        {"confidence": 1.0},
        {"samples": 2.5},
        {"seed": "zero"},
        {"seed": -1},
        {"observe": 3},
    ],
)
def test_options_that_make_no_sense_are_refused(options: Any) -> None:
    with pytest.raises(hw.InvalidBeliefError, match=r"expected|outside"):
        hw.check_belief(Right(), **options)


@dataclass(frozen=True, eq=False)
class Rise(hw.Belief):
    """A move from 0 to 1 works if a normal rise is at most 1 m; going back always works.

    Attributes
    ----------
    mode, variance
        Mean and variance of the rise, in m and m².
    gain
        Factor on the gain of an update; 1 is right.
    spread
        Factor on the variance after an update; 1 is right.
    """

    mode: float = 0.5
    variance: float = 1.0
    gain: float = 1.0
    spread: float = 1.0
    dest: Any = field(default_factory=lambda: np.array([[0, 1], [1, 0]]))

    def mean(self) -> hw.Moves:
        works = norm.cdf((1.0 - self.mode) / np.sqrt(self.variance))
        return hw.Moves(self.dest, np.array([[1.0, works], [1.0, 1.0]]))

    def correction(self) -> Any:
        return -2.0 * self.mean().success * (1.0 - self.mean().success)

    def sample(self, rng: Any) -> hw.Moves:
        works = float(rng.normal(self.mode, np.sqrt(self.variance)) <= 1.0)
        return hw.Moves(self.dest, np.array([[1.0, works], [1.0, 1.0]]))

    def observe(self, rng: Any) -> float:
        return float(rng.normal(self.mode, np.sqrt(self.variance + 1.0)))

    def update(self, measured: float) -> Rise:
        right = self.variance / (self.variance + 1.0)
        mode = self.mode + self.gain * right * (measured - self.mode)
        return replace(self, mode=mode, variance=self.spread * self.variance * (1.0 - right))


def test_a_right_update_of_a_normal_rise_passes() -> None:
    assert "update" in hw.check_belief(Rise(), observe=Rise.observe).checked


@pytest.mark.parametrize("wrong", [{"gain": 2.0}, {"gain": 0.0}, {"spread": 0.3}, {"spread": 2.0}])
def test_more_samples_find_a_wrong_gain_or_variance_after_an_observation(wrong: Any) -> None:
    with pytest.raises(hw.InvalidBeliefError, match=r"\[update\] .*the mean after predicted"):
        hw.check_belief(Rise(**wrong), observe=Rise.observe)


def test_no_message_expects_an_interval_that_has_the_mean_it_refutes() -> None:
    # The mean claims that a move always works, which never works in one of 200 worlds.
    worlds = [hw.Moves(DEST, np.ones((3, 2))), hw.Moves(DEST, SURE[1].success)]
    rare = hw.FiniteBelief(worlds, np.array([0.995, 0.005]))
    certain = broken(rare, mean=lambda self: hw.Moves(DEST, np.ones((3, 2))))
    with pytest.raises(hw.InvalidBeliefError, match=r"mean\(\) has 1; expected") as refused:
        hw.check_belief(certain, samples=3000)
    told = re.findall(r"has ([\d.]+); expected probability ([\d.]+) ± ([\d.]+)", str(refused.value))
    assert all(abs(float(claim) - float(mean)) > float(half) for claim, mean, half in told)
