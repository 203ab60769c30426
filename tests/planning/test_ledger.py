from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.planning.graphs import graph_from

from homeward.arrays import frozen
from homeward.planning.ledger import Ledger
from homeward.planning.promise import BUDGET_TOLERANCE

if TYPE_CHECKING:
    from homeward.planning.graph import Graph

HOME = np.zeros(1, np.int64)
STAY, OUT, BACK, SHORTCUT = range(4)


def line(blocked_back: list[float], shortcut: float = 1.0, *, exact: bool = True) -> Graph:
    """Return rooms in a line from home on: out is sure, each way back is blocked with a chance.

    The last room has a shortcut home that is blocked with the chance `shortcut`.
    """
    rooms = np.arange(len(blocked_back) + 1)
    last = len(blocked_back)
    dest = np.stack([rooms, np.minimum(rooms + 1, last), np.maximum(rooms - 1, 0), rooms], axis=1)
    dest[last, SHORTCUT] = 0
    blocked = np.zeros(dest.shape)
    blocked[1:, BACK] = blocked_back
    blocked[last, SHORTCUT] = shortcut
    success = 1.0 - blocked
    least = blocked if exact else np.zeros(dest.shape)
    return graph_from(dest, success, blocked, least)


def test_a_run_that_starts_at_home_has_spent_nothing() -> None:
    ledger = Ledger("home", HOME, 0.9)
    account = ledger.open(line([0.1, 0.2]), 0)
    assert account.spent == 0.0
    assert ledger.budget - account.spent == pytest.approx(0.1)


def test_one_that_starts_elsewhere_pays_for_its_first_way_home() -> None:
    ledger = Ledger("home", HOME, 0.5)
    account = ledger.open(line([0.1, 0.2]), 2)
    assert account.spent == pytest.approx(0.3)
    assert account.way.tolist() == [-1, BACK, BACK]


def test_without_a_way_home_everything_is_spent() -> None:
    assert Ledger("home", HOME, 0.5).open(line([1.0, 1.0]), 2).spent == 1.0


@pytest.mark.parametrize(("risk", "again"), [(0.01, 0.0), (0.2, 0.2)])
def test_an_edge_is_paid_for_once_unless_its_risk_is_a_large_part_of_what_is_left(
    risk: float, again: float
) -> None:
    graph, ledger = line([0.1, risk]), Ledger("home", HOME, 0.2)
    account = ledger.open(graph, 0)
    for state, action, cost in ((0, OUT, 0.1), (1, OUT, risk), (2, BACK, 0.0), (1, OUT, again)):
        survey = ledger.survey(graph, account, state)
        paid = ledger.pay(survey, state, action)
        assert paid.spent == pytest.approx(survey.account.spent + cost)
        account = paid


def test_to_stay_costs_nothing() -> None:
    graph, ledger = line([0.1]), Ledger("home", HOME, 0.5)
    account = ledger.open(graph, 0)
    survey = ledger.survey(graph, account, 0)
    assert ledger.pay(survey, 0, STAY) is survey.account


def out_there(ledger: Ledger, graph: Graph) -> Any:
    account = ledger.open(graph, 0)
    for state in range(len(graph.dest) - 1):
        account = ledger.pay(ledger.survey(graph, account, state), state, OUT)
    return account


def test_after_bad_news_a_better_way_takes_the_place_of_the_held_one_for_nothing() -> None:
    ledger = Ledger("home", HOME, 0.9)
    account = out_there(ledger, line([0.0, 0.0]))
    survey = ledger.survey(line([1.0, 0.0], shortcut=0.5), account, 2)
    assert survey.account.way[2] == SHORTCUT
    assert survey.account.spent == account.spent  # what surely fails has nothing to lose
    assert not survey.lost


def test_a_better_way_that_is_not_surely_better_is_charged_for_the_difference() -> None:
    ledger = Ledger("home", HOME, 0.5)
    account = out_there(ledger, line([0.0, 0.0]))
    survey = ledger.survey(line([0.4, 0.4], shortcut=0.5), account, 2)
    assert survey.account.way[2] == SHORTCUT
    assert survey.account.spent == pytest.approx(account.spent + 0.1)


def test_where_the_way_home_surely_is_blocked_and_no_other_is_left_all_is_lost() -> None:
    ledger = Ledger("home", HOME, 0.9)
    account = out_there(ledger, line([0.0, 0.0]))
    survey = ledger.survey(line([1.0, 0.0]), account, 2)
    assert survey.lost
    assert ledger.pay(survey, 2, OUT) is survey.account


def test_a_union_bound_of_one_is_no_certainty() -> None:
    # Both ways back are blocked in the same half of the worlds, so home is near with one half.
    ledger = Ledger("home", HOME, 0.9)
    account = out_there(ledger, line([0.0, 0.0]))
    assert not ledger.survey(line([0.5, 0.5]), account, 2).lost


def test_nor_is_an_upper_bound_of_one() -> None:
    ledger = Ledger("home", HOME, 0.9)
    account = out_there(ledger, line([0.0, 0.0]))
    news = line([1.0, 0.0], shortcut=0.5, exact=False)
    maybe = news._replace(success=frozen(np.where(news.success > 0.0, news.success, 0.5)))
    survey = ledger.survey(maybe, account, 2)
    assert not survey.lost
    assert survey.account.way[2] == BACK  # another way would cost .5, which is not left
    assert survey.account.spent == account.spent


def test_a_deadline_is_about_the_number_of_steps() -> None:
    graph = line([0.0, 0.0, 0.0])
    for within, spent in ((3, 0.0), (2, 1.0)):
        assert Ledger("home", HOME, 0.9, within).open(graph, 3).spent == spent


def test_with_a_deadline_an_attempt_that_fails_is_a_risk() -> None:
    graph = line([0.0])
    slips = graph._replace(success=frozen(np.where(graph.success > 0.0, 0.75, 0.0)))
    assert Ledger("home", HOME, 0.5).open(slips, 1).spent == 0.0
    assert Ledger("home", HOME, 0.5, within=9).open(slips, 1).spent == pytest.approx(0.25)


def test_what_is_left_allows_for_rounding_alone() -> None:
    ledger = Ledger("home", HOME, 1.0)
    assert ledger.budget == BUDGET_TOLERANCE
    assert ledger.open(line([0.1]), 0).spent == 0.0
