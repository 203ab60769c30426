"""An explorer whose vehicle is outside of the program: decisions and reports may be days apart.

A step is that of `Explorer`: decide, or use the decision that was already made; then learn from the
observation, which is reported (`Outside`). Three more things can happen to a vehicle. A *look* adds
observations without a move; it spends no risk. A move of the user's *own choice* is charged like a
decided move, before its outcome is learned. If the vehicle *was moved*, the run pays for a way home
from where the vehicle is now (``docs/theory.md``, section 17).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from homeward.arrays import BoolArray, IntArray
from homeward.beliefs.observations import Transition
from homeward.beliefs.refutation import is_ruled_out
from homeward.errors import InvalidInputError
from homeward.models import Moves
from homeward.planning.explorer import Explorer
from homeward.planning.general import GeneralSearch

if TYPE_CHECKING:
    from homeward.beliefs import Belief
    from homeward.planning.guide import Decision, Guide
    from homeward.planning.promise import Held


class Outside:
    """A world outside of the program: after an action it returns the reported observation.

    The explorer starts in `state`; states in the mask `final` [S], if given, end the process.
    """

    def __init__(self, state: int, final: BoolArray | None = None) -> None:
        self.start = self.state = state
        self.final = final
        self.first: Any = None  # the first observation; None until it is reported
        self._answer: tuple[int, Any] | None = None  # next state and observation

    @property
    def ended(self) -> bool:
        """Whether the vehicle is in a state that ends the process."""
        return self.final is not None and bool(self.final[self.state])

    def look(self) -> Any:
        """Return the first observation; raise if nothing was reported yet."""
        if self.first is None:
            raise InvalidInputError("nothing was reported yet: report a first look")
        return self.first

    def report(self, state: int, observation: Any) -> None:
        """Set the state and the observation after the next action."""
        self._answer = state, observation

    def act(self, action: int) -> Any:
        """Return the reported observation; raise if there is none."""
        if self._answer is None:
            raise InvalidInputError(f"the outcome of action {action} was not reported")
        (self.state, observation), self._answer = self._answer, None
        return observation


class HeldWay(NamedTuple):
    """The held way home from the present state: a path, or a policy on a general model."""

    name: str  # name of the return criterion
    homes: tuple[int, ...]
    states: tuple[int, ...]  # states of the path to a home, both ends included
    actions: tuple[int, ...]  # actions of the path, one less than `states`
    probability: float  # lower bound on the probability of coming home, given all reports
    policy: IntArray | None = None  # [S] actions on a general model; −1 at home and for none


def held_ways(guide: Guide, belief: Belief, state: int, held: Held) -> list[HeldWay]:
    """Return the held way home for each return criterion.

    A lost one has probability 0, and so has each one of a run whose belief is refuted.
    """
    model, ways = belief.mean(), []
    for k, (ledger, account) in enumerate(zip(guide.ledgers(belief), held.promises, strict=True)):
        homes = tuple(int(home) for home in ledger.homes)
        if held.refuted:
            way, path = account.way, [state]
            policy = None if isinstance(model, Moves) else way
            while policy is None and way[path[-1]] >= 0 and path[-1] not in homes:
                path.append(int(model.dest[path[-1], way[path[-1]]]))  # type: ignore[union-attr]
            moves = tuple(int(way[s]) for s in path[:-1])
            ways.append(HeldWay(ledger.name, homes, tuple(path), moves, 0.0, policy))
            continue
        if not isinstance(model, Moves) or guide.relearns:
            assert guide.search is not None
            now = GeneralSearch(guide.search.task).options(belief, held, state)[k]
            policy = now.promise.way
            ways.append(HeldWay(ledger.name, homes, (state,), (), now.works(), policy))
            continue
        (survey,), sharp = guide.surveys(belief, state, held, (k,))
        way, states, actions = survey.account.way, [state], list[int]()
        while states[-1] not in homes and way[states[-1]] >= 0 and len(actions) < len(way):
            actions.append(int(way[states[-1]]))
            states.append(int(model.dest[states[-1], actions[-1]]))
        chance = 0.0
        if states[-1] in homes and not survey.lost:
            edges = np.array(states[:-1], np.int64), np.array(actions, np.int64)
            chance = max(0.0, 1.0 - float(survey.graph.blocked[edges].sum()))
            if chance < 1.0:
                chance = max(chance, ledger.bounds(sharp, survey.graph, edges)[0][0])
        ways.append(HeldWay(ledger.name, homes, tuple(states), tuple(actions), chance))
    return ways


class RemoteExplorer(Explorer):
    """An explorer in a world `Outside`, which learns from reports."""

    world: Outside
    seconds = 0.0  # time of the last decision

    def decide(self) -> Decision:
        """Return the decision in the present state; it is the same until the next report."""
        if self.advised is None:
            began = time.perf_counter()
            self.advised = self.guide.decide(self.belief, self.world.state, self.held)
            self.seconds = time.perf_counter() - began
        return self.advised

    def outcomes(self, action: int) -> IntArray:
        """Return the states [n] to which an action may lead from the present state.

        A real vehicle may fail to leave its state, even if the model rules that out.
        """
        model, state = self.belief.mean(), self.world.state
        if isinstance(model, Moves):
            return np.unique([state, int(model.dest[state, action])])
        row = model.transitions[[state * model.actions + action]]
        return np.union1d(row.indices.astype(np.int64), [state])

    def look(self, observation: Any) -> None:
        """Learn from an observation without an action."""
        self.learn(observation)
        self.steps += 1

    def allows(self, action: int, state: int) -> Held | None:
        """Return the run's state after an action of the user's own choice that led to `state`.

        The result is None if the levels or limits forbid the action. An action whose outcome
        refutes the belief is not charged, since no promise is left after it.
        """
        moved = Transition(self.world.state, action, state)
        if self.refuted or is_ruled_out(self.belief, moved):
            return self.held
        return self.guide.chosen(self.belief, self.world.state, self.held, action)

    def choose(self, action: int, state: int, observation: Any) -> bool:
        """Learn from an action of the user's own choice and return True.

        If the levels or limits forbid the action, nothing changes and the result is False.
        """
        before, held = self.world.state, self.allows(action, state)
        if held is None:
            return False
        self.held = held
        if self.guide.is_limited:
            self.held = self.guide.attempted(self.held, before, action, state)
        self.world.state = state
        self.learn(observation, Transition(before, action, state))
        self.steps += 1
        return True

    def relocate(self, state: int, observation: Any, used: Sequence[float] = ()) -> None:
        """Learn that the vehicle was moved to another `state`, not by an action of the model.

        `used` is how much of each limited amount, such as energy, the move used.
        """
        self.learn(observation)
        self.held = self.guide.moved(self.belief, self.world.state, state, self.held, used)
        self.world.state = state
        if self.refuted:
            self.held = self.guide.refuted(self.belief, state, self.held, self.driven)
        self.steps += 1

    def learn(self, observation: Any, moved: Transition | None = None) -> None:
        """Update the belief and the return policies; discard the decision made before."""
        super().learn(observation, moved)
        self.advised = None
