"""Agents by name, and what a name means for the configuration of a run."""

from __future__ import annotations

from typing import Any

import pytest

from homeward.agents import catalogue
from homeward.agents.catalogue import agent_names, find_agent, register_agent, shipped
from homeward.agents.setup import OURS, PAPER, ActingAgent, PlanningAgent
from homeward.bonuses import RMax
from homeward.errors import InvalidInputError
from homeward.kinds.grid.config import GridConfig
from homeward.kinds.rover.config import RoverConfig
from homeward.kinds.tabular.config import ToyTextConfig
from homeward.runs.config import checked
from homeward.words import AGENTS


def test_every_shipped_agent_is_described() -> None:
    assert list(shipped()) == list(AGENTS)
    assert agent_names()[: len(AGENTS)] == list(AGENTS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bold", "no agent named 'bold': expected one of best-rate, .*, or module:name"),
        ("tests.agents.own:Empty", "without a method act"),
        ("tests.agents.own:NUMBER", "is a int without a method act"),
        ("tests.agents.own:Nobody", "has no Nobody"),
        ("no.such.module:X", "can't be imported"),
    ],
)
def test_what_is_not_an_agent_is_refused(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        find_agent(name)
    with pytest.raises(InvalidInputError, match=message):
        checked(GridConfig, {"agent": name})


def test_classes_functions_and_plans_of_a_module_are_agents() -> None:
    assert isinstance(find_agent("tests.agents.own:Counting"), ActingAgent)
    assert isinstance(find_agent("tests.agents.own:first_move"), ActingAgent)
    assert find_agent("tests.agents.own:PLANS") == PlanningAgent(True, False, bonus=RMax(2.0))


def test_a_name_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "_REGISTERED", {})
    register_agent("mine", OURS)
    register_agent("mine", OURS)
    assert find_agent("mine") is OURS
    for name, agent in (("mine", PAPER), ("ours", PAPER), ("a:b", OURS)):
        with pytest.raises(InvalidInputError, match="name"):
            register_agent(name, agent)


@pytest.mark.parametrize(
    ("model", "agent", "keys"),
    [
        (GridConfig, "ours", {}),
        (GridConfig, "paper", {"algorithm": "paper"}),
        (GridConfig, "best-rate", {"explorer": "uncover"}),
        (GridConfig, "rmax", {"explorer": "rmax", "algorithm": "paper"}),
        (RoverConfig, "naive", {"explorer": "naive", "algorithm": "paper"}),
        (RoverConfig, "unsafe", {"explorer": "unsafe", "algorithm": "paper"}),
        (ToyTextConfig, "paper", {"algorithm": "paper"}),
    ],
)
def test_an_agent_that_other_keys_can_name_has_the_record_of_these_keys(
    model: Any, agent: str, keys: dict[str, str]
) -> None:
    named, spelled = checked(model, {"agent": agent}), checked(model, keys)
    assert named.model_dump(mode="json") == spelled.model_dump(mode="json")
    assert named.explores_with() == find_agent(agent)


@pytest.mark.parametrize("agent", ["random", "mbie-eb", "tests.agents.own:Counting"])
def test_other_agents_are_recorded_by_name_and_come_back(agent: str) -> None:
    config = checked(GridConfig, {"agent": agent})
    written = config.model_dump(mode="json")
    assert written["agent"] == agent
    assert checked(GridConfig, written) == config
    assert config.promises() == ()


def test_an_agent_and_another_explorer_exclude_each_other() -> None:
    with pytest.raises(InvalidInputError, match="agent and explorer exclude each other"):
        checked(GridConfig, {"agent": "random", "explorer": "rmax"})
    with pytest.raises(InvalidInputError, match="agent and algorithm exclude each other"):
        checked(GridConfig, {"agent": "ours", "algorithm": "paper"})


def test_a_level_is_refused_for_an_agent_that_keeps_none() -> None:
    config = checked(GridConfig, {"agent": "random", "delta": 0.9})
    with pytest.raises(InvalidInputError, match="delta needs an explorer with a safety level"):
        config.check_use(["delta"])
    with pytest.raises(InvalidInputError, match="delta needs an agent with a safety level"):
        checked(ToyTextConfig, {"agent": "random", "delta": 0.9}).check_use(["delta"])
