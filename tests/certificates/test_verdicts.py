from __future__ import annotations

from dataclasses import dataclass, replace

from homeward.certificates.verdicts import (
    Certificate,
    CheckedClaim,
    ClaimVerdict,
    RunVerdict,
    ValueVerdict,
)


@dataclass(frozen=True, slots=True)
class Weighed(CheckedClaim):
    weight: float
    reasons: tuple[str, ...] = ()


def test_a_claim_stands_while_nothing_speaks_against_it() -> None:
    assert Weighed(2.0).as_dict() == {
        "weight": 2.0,
        "refuted": False,
        "reasons": [],
        "verdict": "confirmed",
    }


def test_a_refuted_claim_says_why() -> None:
    verdict = Weighed(2.0, ("it is too light", "and too late"))
    assert verdict.refuted
    assert verdict.words == "refuted: it is too light; and too late"
    assert verdict.as_dict()["reasons"] == ["it is too light", "and too late"]


def test_a_run_is_confirmed_or_refuted() -> None:
    assert not RunVerdict(0.8, 0.9, 0.9).refuted
    assert RunVerdict(0.8, 0.9, None, ("the log lies",)).words == "refuted: the log lies"


def test_a_certificate_is_printed_as_sentences() -> None:
    claim = ClaimVerdict("return to camp", "return", "plan", 0.9, 0.95, 1.0, exact=0.98)
    found = Certificate((claim,), ValueVerdict(3.0, 3.0), 0.99, 0, 0, 0.1, ("not sampled: why",))
    assert str(found).splitlines() == [
        "return to camp (plan): claimed 0.95, exactly 0.98; confirmed: true of the belief's "
        "worlds, exactly.",
        "not sampled: why.",
    ]
    refuted = replace(found, worth=ValueVerdict(3.0, 3.0, reasons=("it is 2",)))
    assert "Refuted: it is 2." in str(refuted).splitlines()
