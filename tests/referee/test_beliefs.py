from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import homeward as hw
from homeward.beliefs import CorrelatedTerrainBelief, Matern
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
    return belief.update(hw.Reveal(np.array([0, 1, 3, 4]), np.array([2, 1, 3, 2]), 0))


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


class Wrong(hw.Belief):
    """A right belief over two move-or-stay worlds; subclasses break one thing."""

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


class Mute(Wrong):
    def update(self, observation: Any) -> Any:
        return None


def test_an_offence_is_listed_once() -> None:
    with pytest.raises(hw.InvalidBeliefError, match=r"\(1 offence\):\n.* a NoneType; expected a"):
        hw.check_belief(Mute(), samples=100)


@dataclass(frozen=True, eq=False)
class SmallCorrection(hw.FiniteBelief):
    """Its correction is too small by 1 %; the claims are those of a finite belief."""

    def correction(self) -> Any:
        return 0.99 * hw.FiniteBelief.correction(self)


class SmallSureCorrection(Wrong):
    """The same where moves work or never do, in a belief of one's own."""

    moves_work_or_never = True

    def __init__(self, inner: Any = None) -> None:
        super().__init__(hw.FiniteBelief(SURE) if inner is None else inner)

    def correction(self) -> Any:
        return 0.99 * self.inner.correction()


class HalfCorrection(Wrong):
    def correction(self) -> Any:
        return 0.5 * self.inner.correction()


class NoReturningCorrection(Wrong):
    def move_corrections(self, discount: float) -> Any:
        returning, exploring = self.inner.move_corrections(discount)
        return 0.0 * returning, exploring


class SmallExploringCorrection(Wrong):
    def move_corrections(self, discount: float) -> Any:
        returning, exploring = self.inner.move_corrections(discount)
        return returning, 0.4 * exploring


class PositiveCorrection(Wrong):
    def correction(self) -> Any:
        return -self.inner.correction()


class WrongMean(Wrong):
    def mean(self) -> Any:
        model = self.inner.mean()
        return replace(model, success=np.clip(model.success + 0.08 * (DEST == 1), 0, 1))


class WrongReward(Wrong):
    def mean(self) -> Any:
        model = self.inner.mean()
        return replace(model, reward=model.reward + 0.2)


class RandomMean(Wrong):
    def mean(self) -> Any:
        model = self.inner.mean()
        noise = np.random.default_rng().uniform(0.0, 1e-4, model.success.shape)
        return replace(model, success=np.clip(model.success - noise, 0, 1))


class NarrowLimits(Wrong):
    def reward_limits(self) -> Any:
        low, high = self.inner.reward_limits()
        return low + 0.1, high


class SmallBlocked(Wrong):
    def blocked_probability(self) -> Any:
        return 0.8 * self.inner.blocked_probability()


class NotSure(Wrong):
    moves_work_or_never = True


class Ignoring(Wrong):
    def update(self, observation: Any) -> Any:
        return type(self)(self.inner)


class Mutating(Wrong):
    def update(self, observation: Any) -> Any:
        self.inner = self.inner.update(observation)
        return self


class Overconfident(Wrong):
    """Every observation counts twice."""

    def update(self, observation: Any) -> Any:
        return type(self)(self.inner.update(observation).update(observation))


class Forgetful(Wrong):
    """It learns, but keeps no counts."""

    def update(self, observation: Any) -> Any:
        after = self.inner.update(observation)
        kept = replace(after, visited=self.inner.visited, counts=self.inner.counts)
        return type(self)(kept)


class Credulous(Wrong):
    """It accepts what is impossible."""

    def __init__(self, inner: Any = None) -> None:
        super().__init__(hw.FiniteBelief(SURE[:1]) if inner is None else inner)

    def update(self, observation: Any) -> Any:
        try:
            return super().update(observation)
        except hw.ImpossibleObservationError:
            return self


class Refusing(Wrong):
    """It refuses what is possible."""

    def update(self, observation: Any) -> Any:
        if observation.next_state == 1:
            raise hw.ImpossibleObservationError("no")
        return super().update(observation)


class Deaf(Wrong):
    def update(self, observation: Any) -> Any:
        raise hw.InvalidBeliefError("it learns from nothing")


class Unrepeatable(Wrong):
    def sample(self, rng: Any) -> Any:
        return self.inner.sample(np.random.default_rng())


class Sharing(Wrong):
    """All drawn worlds share one array."""

    buffer = np.ones((3, 2))

    def sample(self, rng: Any) -> Any:
        world = self.inner.sample(rng)
        self.buffer[:] = world.success
        return world.with_success(self.buffer, valid=True)


class Biased(Wrong):
    """Worlds are drawn with equal probability, whatever their weights are."""

    def sample(self, rng: Any) -> Any:
        return self.inner.worlds[int(rng.integers(len(self.inner.worlds)))]


class Shapeless(Wrong):
    def correction(self) -> Any:
        return self.inner.correction()[0]


class OtherWorlds(Wrong):
    """It draws worlds of another form than its mean."""

    def sample(self, rng: Any) -> Any:
        return self.inner.sample(rng).sparse()


class OtherPlaces(Wrong):
    def sample(self, rng: Any) -> Any:
        world = self.inner.sample(rng)
        return hw.Moves(np.roll(DEST, 1, axis=1), world.success, world.reward)


class Unsupported(Wrong):
    """A drawn world has a transition that the mean excludes."""

    def __init__(self, inner: Any = None) -> None:
        super().__init__(hw.FiniteBelief(GENERAL) if inner is None else inner)

    def mean(self) -> Any:
        rows = self.inner.mean().transitions.toarray()
        rows[0, 0] = 0.0
        return hw.SparseMDP.from_dense(rows.reshape(3, 2, 3))


class LargeGain(Wrong):
    """It says that there is more to learn than its variances allow."""

    variance = np.array([1.0, 2.0, 3.0])

    def gain_left(self, weight: float, enough: float = np.inf) -> tuple[float, float]:
        return 1.1 * float(nats_of(self.variance, weight, enough).sum()), 3.0


class SmallSureBlocked(Wrong):
    """A hundredth too little, where each move works in one of two worlds."""

    moves_work_or_never = True

    def __init__(self, inner: Any = None) -> None:
        works = np.array([[1.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
        worlds = [
            hw.Moves(DEST, works),
            hw.Moves(DEST, np.where(DEST[:, :1] == DEST, 1, 1 - works)),
        ]
        super().__init__(hw.FiniteBelief(worlds) if inner is None else inner)

    def blocked_probability(self) -> Any:
        return 0.99 * self.inner.blocked_probability()


class LooseBlocked(Wrong):
    """It declares an upper bound as exact."""

    def blocked_probability(self) -> Any:
        return np.minimum(1.0, 1.5 * self.inner.blocked_probability())

    def least_blocked(self) -> Any:
        return np.zeros(0, np.int64), np.zeros(0)


class SingleCorrection(Wrong):
    def move_corrections(self, discount: float) -> Any:
        return super().move_corrections(discount)[0]


class Elsewhere(Wrong):
    """What it absorbs is not what an update tells."""

    def absorb(self, observation: Any) -> Any:
        return self, None


class Silent(Wrong):
    """It names no changed state."""

    def absorb(self, observation: Any) -> Any:
        return self.update(observation), np.zeros(0, np.int64)


class NoSample:
    mean = Wrong.mean
    correction = Wrong.correction
    update = Wrong.update


WRONG: list[tuple[Any, str]] = [
    (lambda: SmallCorrection(MOVES), "correction"),
    (SmallSureCorrection, "correction"),
    (HalfCorrection, "correction"),
    (NoReturningCorrection, "correction"),
    (SmallExploringCorrection, "correction"),
    (PositiveCorrection, "range"),
    (WrongMean, "mean"),
    (WrongReward, "reward"),
    (RandomMean, "mean"),
    (NarrowLimits, "limits"),
    (SmallBlocked, "blocked"),
    (SmallSureBlocked, "blocked"),
    (LooseBlocked, "blocked"),
    (SingleCorrection, "shape"),
    (NotSure, "moves"),
    (Ignoring, "update"),
    (Elsewhere, "update"),
    (Silent, "update"),
    (Mutating, "update"),
    (Overconfident, "update"),
    (Forgetful, "counts"),
    (Credulous, "impossible"),
    (Refusing, "impossible"),
    (Deaf, "update"),
    (Unrepeatable, "sample"),
    (Sharing, "sample"),
    (Biased, "mean"),
    (Shapeless, "shape"),
    (OtherWorlds, "sample"),
    (OtherPlaces, "sample"),
    (Unsupported, "support"),
    (LargeGain, "gain"),
    (NoSample, "base"),
]


def test_the_right_belief_behind_the_wrong_ones_passes() -> None:
    hw.check_belief(Wrong(), samples=3000)


@pytest.mark.parametrize(("make", "code"), WRONG)
def test_a_wrong_belief_is_refused_by_what_is_wrong(make: Any, code: str) -> None:
    with pytest.raises(hw.InvalidBeliefError, match=rf"\[{code}\] .*; expected"):
        hw.check_belief(make(), samples=3000)


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
        hw.check_belief(Wrong(), **options)


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


class Certain(Wrong):
    """Claims that a move always works, which never works in one of 200 worlds."""

    def __init__(self, inner: Any = None) -> None:
        worlds = [hw.Moves(DEST, np.full((3, 2), 1.0)), hw.Moves(DEST, SURE[1].success)]
        super().__init__(
            hw.FiniteBelief(worlds, np.array([0.995, 0.005])) if inner is None else inner
        )

    def mean(self) -> Any:
        return hw.Moves(DEST, np.ones((3, 2)))


def test_no_message_expects_an_interval_that_has_the_mean_it_refutes() -> None:
    with pytest.raises(hw.InvalidBeliefError, match=r"mean\(\) has 1; expected") as refused:
        hw.check_belief(Certain(), samples=3000)
    told = re.findall(r"has ([\d.]+); expected probability ([\d.]+) ± ([\d.]+)", str(refused.value))
    assert all(abs(float(claim) - float(mean)) > float(half) for claim, mean, half in told)
