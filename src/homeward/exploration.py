"""One call that explores: `explore` runs an explorer in a world and returns an `Exploration`.

An `Exploration` runs when its steps are iterated, or to its end as soon as a result is asked for.
It has the steps as a table, the belief, why it ended, and what is still promised. `recall` walks
the way home in the world. Read `planning.explorer` next: the loop that this runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import index
from homeward.beliefs.base import Belief, need_belief
from homeward.bonuses import Bonus, InformationGain, RMax, Uncover
from homeward.criteria import Criterion, ReturnHome
from homeward.errors import InvalidProblemError
from homeward.extras import need
from homeward.html import card
from homeward.models import Model, Moves, SparseMDP
from homeward.planning.algorithm1 import Planner
from homeward.planning.ends import End
from homeward.planning.explorer import Explorer, Step
from homeward.words import at_least, counted, recalled
from homeward.worlds import ModelWorld, World

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Error = InvalidProblemError
LEVEL = 0.95  # δ, unless criteria are given
LIMIT = 1000  # most steps, unless a limit is given
RECALL_STEPS = 100  # most steps of a recall, per state of the model; moves may fail many times


class StepRow(NamedTuple):
    """One step of an exploration.

    Attributes
    ----------
    step : int
        Number of the step, from 1.
    state, action, next_state : int
        The state before the action, the action, and the state after it.
    rate : float
        Expected gain per step of what the explorer pursued, in the unit of the bonus.
    kept : float
        Lower bound on the probability of coming home after the step, for the whole run.
    seconds : float
        Time to decide, in seconds.
    """

    step: int
    state: int
    action: int
    next_state: int
    rate: float
    kept: float
    seconds: float


class StepTable(tuple[StepRow, ...]):
    """The steps of an exploration, one row each."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """Return the steps as a pandas DataFrame with the columns of `StepRow`."""
        pandas = need("pandas", "all", "a DataFrame needs pandas")
        return pandas.DataFrame(list(self), columns=StepRow._fields)


class Recall(NamedTuple):
    """How a recall went.

    Attributes
    ----------
    home : bool
        Whether the explorer is in a home state.
    promised : float
        Lower bound on the probability of coming home when the recall began.
    states : tuple of int
        The states on the way, the first and the last one included; failed attempts repeat a state.
    """

    home: bool
    promised: float
    states: tuple[int, ...]

    def __str__(self) -> str:
        return recalled(self.home, self.promised, len(self.states) - 1)


class Exploration:
    """A run of an explorer in a world; made by `explore`.

    Iterate over it to see each `Step` as it is taken. Any result below takes all steps first.

    Attributes
    ----------
    explorer : Explorer
        The explorer, with its planner and its world.
    limit : int
        Most steps of the run.
    """

    def __init__(self, explorer: Explorer, limit: int) -> None:
        self.explorer, self.limit = explorer, limit
        self._rows: list[StepRow] = []

    def __iter__(self) -> Iterator[Step]:
        """Yield each further step after it was taken."""
        for step in self.explorer.explore(self.limit):
            assert step.run_state is not None
            self._rows.append(
                StepRow(
                    step.number,
                    step.decision.state,
                    step.action,
                    int(step.state),
                    float(step.decision.rate),
                    step.run_state.kept,
                    step.seconds,
                )
            )
            yield step

    def run(self) -> Exploration:
        """Take all steps up to the end of the run, and return the exploration."""
        for _ in self:
            pass
        return self

    def go_on(self, more: int = LIMIT) -> Exploration:
        """Allow `more` steps, from here, and take them."""
        self.limit = self.explorer.steps + index(more, 2**62, "the number of steps", Error)
        self.explorer.end = None
        return self.run()

    @property
    def end(self) -> End:
        """The code of why the run ended."""
        end = self.run().explorer.end
        assert end is not None
        return end

    @property
    def why(self) -> str:
        """Why the run ended, and what would let it go on, as text."""
        return self.run().explorer.why()

    @property
    def steps(self) -> StepTable:
        """All steps as a table; `to_frame` makes it a DataFrame."""
        return StepTable(self.run()._rows)

    @property
    def belief(self) -> Belief:
        """The belief after the last step."""
        return self.run().explorer.belief

    @property
    def state(self) -> int:
        """The state after the last step."""
        return self.run().explorer.here

    @property
    def visited(self) -> int:
        """The number of different states that the explorer has been in."""
        rows = self.steps
        return len({self.explorer.start, *(row.next_state for row in rows)})

    @property
    def promise(self) -> float:
        """Lower bound on the probability of coming home whenever the run is recalled."""
        return self.run().explorer.run_state.kept

    def recall(self) -> Recall:
        """Walk the way home in the world, and return how it went. Afterwards the run may go on."""
        explorer = self.run().explorer
        rules, goals = explorer.rules, explorer.rules.goals
        if not goals:
            raise Error("the exploration has no way home to walk: it has no return criterion")
        states, promised = [explorer.here], explorer.run_state.kept
        for _ in range(RECALL_STEPS * explorer.belief.mean().states):
            here = explorer.here
            way = rules.ways_home(explorer.belief, explorer.run_state, here)[0]
            if here in way.homes or explorer.world.ended:
                break
            action = way.actions[0] if way.actions else -1
            if way.policy is not None:
                action = int(way.policy[here])
            if action < 0:
                break
            explorer.take(action)
            states.append(explorer.here)
        home = explorer.here in goals[0].homes
        explorer.go_on_from(replace(explorer.run_state, proposal=None))
        return Recall(home, promised, tuple(states))

    def plot(self) -> Figure:
        """Return a figure: the path on a grid, or the states over the steps; and the promise."""
        need("matplotlib", "commands", "a picture needs Matplotlib")
        from homeward.plots.exploration import draw

        rows, belief = self.steps, self.belief
        states = np.array([self.explorer.start, *(row.next_state for row in rows)])
        levels = [goal.delta for goal in self.explorer.rules.goals]
        kept = np.array([row.kept for row in rows])
        return draw(states, kept, levels, getattr(belief, "shape", None))

    def __str__(self) -> str:
        """Return the number of steps and why the run ended; it takes all steps first."""
        return f"Exploration: {counted(len(self.steps), 'step')}. {self.why}"

    def __repr__(self) -> str:
        """Return the same without taking a step."""
        if self.explorer.end is None:
            done = counted(self.explorer.steps, "step")
            return f"Exploration: {done} of at most {self.limit:,}; run() takes the others."
        return str(self)

    def _repr_html_(self) -> str:
        """Return the figures of the run as HTML for notebooks."""
        rows = [
            ["steps", "different states", "kept", "state"],
            [
                f"{len(self.steps):,}",
                f"{self.visited:,}",
                at_least(self.promise, 4),
                f"{self.state}",
            ],
        ]
        return card("Exploration", [self.why], rows)


def explore(
    world: World | Model | None,
    belief: Belief,
    criteria: Criterion | Sequence[Criterion] | None = None,
    bonus: Bonus | None = None,
    *,
    limit: int = LIMIT,
    start: int | str = 0,
    seed: int = 0,
    floor: float | None = None,
    strict: bool = False,
) -> Exploration:
    """Explore a world and keep a way home.

    Parameters
    ----------
    world
        A world such as `GymWorld`; or a model, which is simulated; or None: then a model is drawn
        from the belief.
    belief
        What is believed of the world before the first look.
    criteria
        What must stay true. The default is `ReturnHome` with a level of 0.95.
    bonus
        What is worth exploring. The default follows the belief: `InformationGain` on terrain,
        `Uncover` on a grid of levels, and else `RMax`.
    limit
        Most steps of the run.
    start
        First state of a simulated model, a number or a name.
    seed
        Random seed of a simulated model, and of its draw.
    floor
        Smallest gain per step that is worth pursuing; see `Explorer`.
    strict
        If a level can't be met, raise `InfeasibleError` instead of ending the run.
    """
    need_belief(belief)
    index(seed, 2**63, "the seed", Error)
    if world is None:
        world = belief.sample(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,))))
    if isinstance(world, Moves | SparseMDP):
        world = ModelWorld(world, start, seed)
    if criteria is None:
        criteria = ReturnHome(LEVEL)
    given = list(criteria) if isinstance(criteria, Sequence) else [criteria]
    planner = Planner(_bonus_for(belief, world) if bonus is None else bonus, given)
    return Exploration(Explorer(planner, belief, world, strict=strict, floor=floor), limit)


def _bonus_for(belief: Belief, world: Any) -> Bonus:
    """Return the bonus that suits a belief."""
    if hasattr(belief, "variance"):
        sensor = getattr(world, "sensor", None)
        return InformationGain() if sensor is None else InformationGain(sensor)
    return Uncover() if hasattr(belief, "uncovers") else RMax()
