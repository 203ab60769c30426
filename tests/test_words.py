from __future__ import annotations

import pytest

from homeward.planning.explorer import End
from homeward.planning.plan import Verdict
from homeward.words import ENDS, VERDICTS, Remainder, amount, sentence, why_ended


def test_every_end_and_every_verdict_has_words_of_its_own() -> None:
    for codes, words in ((End, ENDS), (Verdict, VERDICTS)):
        assert list(words) == [code.value for code in codes]
        assert len(set(words.values())) == len(words)


def test_a_code_holds_no_prose() -> None:
    assert all(code.value == code.name.lower() for codes in (End, Verdict) for code in codes)


def test_a_clause_becomes_a_sentence() -> None:
    assert sentence("the δ is Home's") == "The δ is Home's."


def test_without_a_remainder_an_end_is_one_sentence() -> None:
    assert why_ended(End.ALL_SEEN) == "Nothing is left to explore."


def test_an_end_by_the_budget_names_the_level_that_would_allow_more() -> None:
    rest = Remainder(left=3.0, unit="squares", risk=0.25, budget=0.125, level=0.875)
    assert why_ended(End.BUDGET, rest) == (
        "What is left would risk more than the budget has left. Going on would risk 0.25, and "
        "0.125 is left of the budget. δ = 0.75 would allow it. Left to learn elsewhere: 3 squares."
    )


def test_where_no_level_would_allow_more_none_is_named() -> None:
    rest = Remainder(left=1.0, unit="squares", risk=1.0, budget=0.1, level=0.9)
    assert "would allow it" not in why_ended(End.BUDGET, rest)


def test_an_end_by_the_floor_says_what_the_best_would_bring() -> None:
    said = why_ended(End.TOO_LITTLE, Remainder(left=2.0, rate=0.01, unit="nats"))
    assert "The best that is left brings 0.01 nats per step." in said


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
