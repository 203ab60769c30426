"""The interface of an agent, and the loop of act, observe and update.

An agent promises nothing: its runs have no criteria and no bounds. Random numbers come from the
seed of the run and the number of the step, so the same seed gives the same run. To resume a run,
the agent acts again in every recorded step, and must choose the recorded actions. An agent that
implements `RememberingAgent` resumes from its recorded memory instead.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from homeward.beliefs.observations import Labels, Transition
from homeward.errors import InvalidInputError
from homeward.planning.ends import End
from homeward.planning.explorer import NOTHING_FOUND, Decision, Loop, Step
from homeward.planning.promise import RunState

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.models import Model
    from homeward.planning.algorithm1 import Planner
    from homeward.worlds import World

STREAM = 0xA6E27  # key of the random numbers of agents; worlds have other keys


class Agent(Protocol):
    """Chooses an action in each step.

    An agent may also have a method ``reset(belief, state, rng)``, which is called once, with the
    belief after the first look.
    """

    def act(self, belief: Any, state: int, rng: np.random.Generator, /) -> int | End:
        """Return the number of an action, or why the run ends.

        Parameters
        ----------
        belief
            What is known: ``belief.mean()`` is the mean model, with S states and A actions.
        state
            Where the explorer is, 0 to S − 1.
        rng
            Random numbers of this step.
        """


@runtime_checkable
class RememberingAgent(Protocol):
    """An agent whose memory is recorded, so that a run resumes without acting again."""

    def memory(self) -> Any:
        """Return all that the agent carries to its next step, as a JSON value."""

    def remember(self, memory: Any, /) -> None:
        """Restore the value that `memory` returned; called before each step but the first."""


class AgentLoop(Loop):
    """The loop of an agent that chooses its actions itself, without `Planner` or `Explorer`.

    The `planner` has the bonus that the page shows, and no criteria. `make` returns a new agent,
    whose random numbers come from `seed`; messages call it `name`.
    """

    run_state: RunState

    def __init__(
        self,
        planner: Planner,
        belief: Belief,
        world: World,
        name: str,
        make: Callable[[], Agent],
        seed: int = 0,
    ) -> None:
        super().__init__(planner, belief, world, strict=False)
        self.name, self.seed = name, seed
        self.agent = make()
        self.run_state = RunState(remaining=0.0)
        self._remembering = self.agent if isinstance(self.agent, RememberingAgent) else None
        self.acts_again = self._remembering is None
        reset = getattr(self.agent, "reset", None)
        if reset is not None:
            reset(self.belief, self.start, self._rng(0))

    def step(self) -> Step | None:
        """Let the agent act once and return the step; if it ends the run, return None."""
        if self._remembering is not None and self.steps:
            self._remembering.remember(self.run_state.memory)
        state, rng = self.here, self._rng(self.steps + 1)
        began = time.perf_counter()
        answer = self.agent.act(self.belief, state, rng)
        seconds = time.perf_counter() - began
        model = self.belief.mean()
        action = self._checked(answer, model, state)
        if isinstance(action, End):
            self.end = action
            return None
        memory = None
        if self._remembering is not None:
            memory = self._checked_memory(self._remembering.memory())
        observation = self.world.act(action)
        self.learn(observation, Transition(state, action, self.here))
        self.run_state = RunState(remaining=0.0, memory=memory, refuted=self.refuted)
        self.steps += 1
        decision = unplanned(model, state, action, self.run_state)
        return Step(self.steps, decision, observation, self.here, self.run_state, seconds)

    def _rng(self, step: int) -> np.random.Generator:
        """Return the random generator of a step; 0 is for `reset`."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(STREAM, step)))

    def _checked(self, answer: Any, model: Model, state: int) -> int | End:
        """Return the answer of the agent as an action or an end; raise if it is neither."""
        problem = f"expected an action from 0 to {model.actions - 1}, or an End: {', '.join(End)}"
        is_index = isinstance(answer, int | np.integer) and not isinstance(answer, bool)
        if is_index and 0 <= answer < model.actions:
            if np.isfinite(model.reward[state, answer]):
                return int(answer)
            problem = "that action can't be chosen there"
        elif isinstance(answer, str):
            with suppress(ValueError):
                return End(answer)
        where = f"{model.state_name(state)}, in step {self.steps + 1}"
        raise InvalidInputError(f"agent {self.name} chose {answer!r} in {where}: {problem}")

    def _checked_memory(self, memory: Any) -> Any:
        """Return a memory as a record would restore it; raise if it is not a JSON value."""
        try:
            return json.loads(json.dumps(memory, allow_nan=False))
        except (TypeError, ValueError) as cause:
            raise InvalidInputError(
                f"the memory of agent {self.name} can't be written as JSON: {cause}; return "
                "numbers, texts, lists and dicts, or leave out memory() and remember(): then the "
                "agent acts again in each step when a run is resumed"
            ) from cause


def unplanned(model: Model, state: int, action: int, after: RunState) -> Decision:
    """Return the decision of an action that an agent chose: it has no value and no bound."""
    found = NOTHING_FOUND._replace(action=action)
    return Decision(state, action, after, found, planned=False, labels=Labels.of(model))
