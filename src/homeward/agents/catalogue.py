"""The agents by name, and agents of other packages.

The name of an agent is a key of `shipped`, a name that this process registered by `register_agent`,
or an entry point in the group ``homeward.agents``. Any other agent is given as ``module:name`` of a
class or function with the interface of `Agent`, or of a `PlanningAgent`.
"""

from __future__ import annotations

from functools import cache, partial
from inspect import isclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from homeward.agents.setup import OURS, PAPER, ActingAgent, PlanningAgent
from homeward.bonuses import MbieEb, NearBayesian, RMax
from homeward.errors import InvalidInputError
from homeward.registry import find, installed
from homeward.words import AGENTS

if TYPE_CHECKING:
    from homeward.agents.agent import Agent

ENTRY_POINTS = "homeward.agents"  # group of the entry points of agents

_REGISTERED: dict[str, Any] = {}  # agents that this process registered


@cache
def shipped() -> dict[str, PlanningAgent | ActingAgent]:
    """Return the agents of this package by name; `words.AGENTS` describes them."""
    from homeward.agents.baselines import NearestFrontier, RandomAction
    from homeward.agents.searches import BestRate, Nearest

    return {
        "ours": OURS,
        "paper": PAPER,
        "naive": PlanningAgent(paper=True, naive=True),
        "unsafe": PlanningAgent(paper=True, safe=False),
        "best-rate": PlanningAgent(safe=False),
        "rmax": PlanningAgent(paper=True, safe=False, bonus=RMax()),
        "mbie-eb": PlanningAgent(paper=True, safe=False, bonus=MbieEb()),
        "near-bayesian": PlanningAgent(paper=True, safe=False, bonus=NearBayesian()),
        "nearest": ActingAgent("nearest", NearestFrontier),
        "random": ActingAgent("random", RandomAction),
        "certified-nearest": PlanningAgent(search=Nearest),
        "certified-rate": PlanningAgent(search=BestRate),
    }


def register_agent(name: str, agent: Any) -> None:
    """Register an agent in this process; raise if the name is already in use."""
    if ":" in name:
        raise InvalidInputError(f"the name of an agent is {name!r}, expected one without a colon")
    if name in shipped() or name in installed_agents() or _REGISTERED.get(name, agent) is not agent:
        raise InvalidInputError(f"another agent is already named {name}: choose another name")
    _entry(name, agent)
    _REGISTERED[name] = agent


def agent_names() -> list[str]:
    """Return the names of all known agents: those of this package first."""
    return list(dict.fromkeys([*AGENTS, *sorted({*_REGISTERED, *installed_agents()})]))


def find_agent(name: str) -> PlanningAgent | ActingAgent:
    """Return an agent by its name or as ``module:name``."""
    return _entry(name, find(name, {**shipped(), **_REGISTERED}, installed_agents(), "agent"))


def _entry(name: str, value: Any) -> PlanningAgent | ActingAgent:
    """Return the object with this name as an agent; raise if it is not an agent."""
    if isinstance(value, PlanningAgent | ActingAgent):
        return value
    if isclass(value) and callable(getattr(value, "act", None)):
        return ActingAgent(name, cast("type[Agent]", value))
    if callable(value) and not isclass(value):
        return ActingAgent(name, cast("type[Agent]", partial(SimpleNamespace, act=value)))
    raise InvalidInputError(
        f"{name} is a {'class' if isclass(value) else type(value).__name__} without a method "
        "act(belief, state, rng), so it is not an agent"
    )


@cache
def installed_agents() -> dict[str, str]:
    """Return the reference ``module:name`` of each agent that an installed package offers."""
    return installed(ENTRY_POINTS)
