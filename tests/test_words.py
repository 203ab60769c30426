from __future__ import annotations

import re

import pytest

from homeward.kinds.promises import surely
from homeward.planning.ends import End
from homeward.planning.plan import Verdict
from homeward.words import (
    CHANGES,
    ENDS,
    VERDICTS,
    Remainder,
    amount,
    at_least,
    floored,
    promise_left,
    recalled,
    sentence,
    why_ended,
)


def test_every_end_and_every_verdict_has_words_of_its_own() -> None:
    for codes, words in ((End, ENDS), (End, CHANGES), (Verdict, VERDICTS)):
        assert list(words) == [code.value for code in codes]
    for words in (ENDS, VERDICTS):
        assert len(set(words.values())) == len(words)


def test_a_code_holds_no_prose() -> None:
    assert all(code.value == code.name.lower() for codes in (End, Verdict) for code in codes)


@pytest.mark.parametrize(
    ("value", "shown", "short"),
    [
        (0.99999998, "0.999999", "0.9999"),
        (0.9999999995, "0.999999", "0.9999"),
        (1.0 - 1e-14, "1.000000", "1"),
        (1.0, "1.000000", "1"),
        (0.57, "0.570000", "0.57"),
        (0.98015, "0.980150", "0.9801"),
        (0.0, "0.000000", "0"),
    ],
)
def test_a_lower_bound_is_cut_and_not_rounded_up(value: float, shown: str, short: str) -> None:
    assert floored(value) == shown
    assert at_least(value, 4) == short


@pytest.mark.parametrize(
    ("kept", "shown"),
    [(0.95, "0.95"), (0.96, "0.95"), (0.95 - 5e-10, "0.9499999995")],
)
def test_a_promise_states_no_more_than_is_kept(kept: float, shown: str) -> None:
    budget = {"level": 0.95, "kept": kept, "left": 0.0, "lost": False}
    said = promise_left({"end": None, "budgets": [budget]})
    assert said.startswith(
        f"Promise: at any recall it can come home with probability at least {shown};"
    )


def test_a_level_just_below_one_is_not_said_to_be_one() -> None:
    assert surely(0.98) == "with probability at least 0.98"
    assert surely(1.0 - 1e-10) == "with probability at least 0.9999999999"
    assert recalled(True, 0.99999998, 2).endswith("at least 0.999999 was promised.")


def test_earnings_are_cut_downwards_too() -> None:
    assert [at_least(value, 4) for value in (12.3456, -12.341, 1e-15)] == ["12.34", "-12.35", "0"]


def test_a_clause_becomes_a_sentence() -> None:
    assert sentence("the δ is Home's") == "The δ is Home's."


@pytest.mark.parametrize("end", End)
@pytest.mark.parametrize("steps", [0, 7])
def test_every_end_says_why_and_what_one_could_change(end: End, steps: int) -> None:
    why, change = re.split(r"[.;] ", why_ended(end, steps), maxsplit=1)
    assert change == CHANGES[end]
    if end is not End.STEPS:
        assert f"{why}." == sentence(ENDS[end])


def test_a_step_limit_is_named() -> None:
    said = "The step limit of 2,000 was reached. With a higher limit the explorer goes on."
    assert why_ended(End.STEPS, 2000) == said


def test_an_end_by_the_budget_names_the_level_that_would_allow_more() -> None:
    rest = Remainder(left=3.0, unit="squares", share=2.0, budgets=(("return", 0.875, 0.125),))
    assert why_ended(End.BUDGET, 0, rest) == (
        "Going on would risk more than the safety level allows. Going on would risk 0.25, but only "
        "0.125 is left. Left within reach: at most 3 squares. δ = 0.75 would allow it."
    )


def test_where_no_level_would_allow_more_that_is_said() -> None:
    rest = Remainder(left=1.0, unit="squares", share=10.0, budgets=(("return", 0.9, 0.1),))
    assert why_ended(End.BUDGET, 4, rest).endswith("No δ above 0 would allow it.")


def test_where_several_homes_are_kept_every_budget_is_named() -> None:
    budgets = (("return to state 0", 0.9, 0.1), ("return to state 3", 0.5, 0.25))
    said = why_ended(End.BUDGET, 4, Remainder(left=1.0, share=2.5, budgets=budgets))
    allowed = "0.1 for “return to state 0” and 0.25 for “return to state 3”"
    assert f"Going on would risk 2.5 times what is left: {allowed}." in said
    assert said.endswith(CHANGES[End.BUDGET])


def test_no_sentence_names_an_option_of_the_command_line() -> None:
    assert not any("--" in text for words in (ENDS, CHANGES, VERDICTS) for text in words.values())


def test_an_end_by_the_floor_says_what_the_best_would_bring() -> None:
    said = why_ended(End.TOO_LITTLE, 4, Remainder(left=2.0, rate=0.01, unit="nats"))
    assert "The best option left gains 0.01 nats per step." in said
    assert said.endswith(CHANGES[End.TOO_LITTLE])


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (1.0, "squares", "1 square"),
        (2.5, "nats", "2.5 nats"),
        (1.0, None, "1 unit of bonus"),
        (0.0, None, "0 units of bonus"),
    ],
)
def test_an_amount_has_its_unit(value: float, unit: str | None, said: str) -> None:
    assert amount(value, unit) == said
