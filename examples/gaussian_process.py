"""A belief of one's own: a Gaussian process over the heights along a trail.

The trail has 12 cells. A step works if it rises or falls by at most `CLIMB`, and fails otherwise,
for ever. Heights are measured with an error, in the cell and its neighbours. The belief is checked
against its own draws, explored with, and its plan is certified.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

import homeward as hw

CELLS, CLIMB, ERROR = 12, 1.0, 0.05
DEST = np.array([[s, max(s - 1, 0), min(s + 1, CELLS - 1)] for s in range(CELLS)])
MOVES = np.arange(CELLS)[:, None] != DEST


@dataclass(frozen=True)
class Measured:
    """Heights [n] in m that were measured in cells [n], with variance `ERROR`²."""

    cells: np.ndarray
    heights: np.ndarray


@dataclass(frozen=True)
class TrailBelief(hw.Belief):
    """Normal heights with a mean [S] and a covariance [S, S]: a Gaussian process on a grid."""

    height: np.ndarray
    covariance: np.ndarray
    moves_work_or_never = True  # the ground does not change

    @classmethod
    def prior(cls, deviation: float = 1.2, length: float = 3.0) -> "TrailBelief":
        """Return a prior with a squared-exponential kernel."""
        away = np.subtract.outer(np.arange(CELLS), np.arange(CELLS))
        kernel = deviation**2 * np.exp(-0.5 * (away / length) ** 2) + 1e-9 * np.eye(CELLS)
        return cls(np.zeros(CELLS), kernel)

    def mean(self) -> hw.Moves:
        """Return the probability that each move works: that its rise is within the limits."""
        here = np.arange(CELLS)[:, None]
        rise = self.height[DEST] - self.height[here]
        variance = np.diag(self.covariance)
        spread = variance[DEST] + variance[here] - 2.0 * self.covariance[here, DEST]
        spread = np.sqrt(np.where(MOVES, np.maximum(spread, 1e-18), 1.0))
        works = ndtr((CLIMB - rise) / spread) - ndtr((-CLIMB - rise) / spread)
        names = ("stay", "west", "east")
        return hw.Moves(DEST, np.where(MOVES, np.clip(works, 0, 1), 1.0), action_names=names)

    def correction(self) -> np.ndarray:
        """Return the general correction σ [S, A] for moves that always or never work."""
        return self.move_corrections(0.0)[1]

    def move_corrections(self, discount: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the tighter corrections for moves, each [S, A]."""
        works = self.mean().success
        returning = np.where(MOVES, -works * (1.0 - works), 0.0)
        return returning, (2.0 - discount) * returning

    def blocked_probability(self) -> np.ndarray:
        """Return the probability [S, A] that a move never works."""
        return np.where(MOVES, 1.0 - self.mean().success, 0.0)

    def update(self, seen: Measured) -> "TrailBelief":
        """Return the posterior of the Gaussian process."""
        if not isinstance(seen, Measured):
            raise hw.InvalidBeliefError(f"a trail belief can't learn from {seen!r}")
        known = self.covariance[:, seen.cells]
        noise = ERROR**2 * np.eye(len(seen.cells))
        gain = np.linalg.solve(known[seen.cells] + noise, known.T).T
        height = self.height + gain @ (seen.heights - self.height[seen.cells])
        return replace(self, height=height, covariance=self.covariance - gain @ known.T)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return heights [S] drawn from the belief."""
        return rng.multivariate_normal(self.height, self.covariance, method="eigh")

    def sample(self, rng: np.random.Generator) -> hw.Moves:
        """Return a world: each move works or never does."""
        heights = self.draw(rng)
        works = np.abs(heights[DEST] - heights[:, None]) <= CLIMB
        return replace(self.mean(), success=np.where(MOVES, works, 1.0).astype(float))


class Trail:
    """The world: its state is the walker's cell, and it answers with measurements."""

    ended = False

    def __init__(self, heights: np.ndarray, seed: int) -> None:
        self.heights, self.state, self.rng = heights, 0, np.random.default_rng(seed)
        self.seen = self._measure()

    def _measure(self) -> Measured:
        cells = np.arange(max(0, self.state - 1), min(CELLS, self.state + 2))
        error = ERROR * self.rng.standard_normal(len(cells))
        return Measured(cells, self.heights[cells] + error)

    def look(self) -> Measured:
        """Return the measurements from here."""
        return self.seen

    def act(self, action: int) -> Measured:
        """Try to move; return the measurements after it."""
        there = DEST[self.state, action]
        if abs(self.heights[there] - self.heights[self.state]) <= CLIMB:
            self.state = int(there)
        self.seen = self._measure()
        return self.seen


def information(belief: TrailBelief) -> np.ndarray:
    """Return the bonus [S, A]: nats that a measurement of the next cells tells, each by itself."""
    told = 0.5 * np.log1p(np.diag(belief.covariance) / ERROR**2)
    around = np.convolve(told, np.ones(3), mode="same")
    return np.repeat(around[:, None], 3, axis=1)


def predicted(belief: TrailBelief, rng: np.random.Generator) -> Measured:
    """Return a measurement that the belief predicts, for its check."""
    return Trail(belief.draw(rng), int(rng.integers(2**31))).look()


belief = TrailBelief.prior()
print(hw.check_belief(belief, observe=predicted))

truth = belief.draw(np.random.default_rng(4))
planner = hw.Planner(information, [hw.ReturnHome(0.9)])
explorer = hw.Explorer(planner, belief, Trail(truth, seed=1))
cells = [step.state for step in explorer.explore(60)]
print(f"Reached cell {max(cells)} in {explorer.steps} steps. {explorer.why()}")

plan = planner.plan(explorer.belief, state=0)
certificate = hw.certify(plan, explorer.belief, planner, method="sampling", episodes=200)
for verdict in certificate.verdicts:
    print(f"{verdict.criterion}: {verdict.words}")
print("refuted" if certificate.refuted else "not refuted")
