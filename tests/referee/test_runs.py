"""Sound books are confirmed; forged ones are refuted, and the step is named."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.runs.kinds import meadow

from homeward.beliefs import Belief, DirichletBelief, FiniteBelief
from homeward.criteria import Limit
from homeward.models import Moves
from homeward.referee.runs import (
    HomeClaim,
    audit,
    audit_sampled,
    why_not_auditable,
)
from homeward.runs import Run
from homeward.runs.log import to_line
from homeward.runs.verification import plan_of_step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from homeward.referee.certificate import HomeVerdict

# Five places in a line: action 0 goes back, action 1 goes on.
PLACES = np.arange(5)
DEST = np.stack([np.maximum(PLACES - 1, 0), np.minimum(PLACES + 1, 4)], axis=1)
Audited = tuple[Any, FiniteBelief]
HOME = HomeClaim("return to 0", frozenset({0}), 0.5)


def belief(*doubts: float) -> FiniteBelief:
    """Make a belief in which going back from place n + 1 never works with probability `doubts[n]`.

    One way at most is closed in each world.
    """
    sure = np.ones((5, 2))
    worlds, weights = [Moves(DEST, sure)], [1.0 - sum(doubts)]
    for n, doubt in enumerate(doubts):
        closed = sure.copy()
        closed[n + 1, 0] = 0.0
        worlds.append(Moves(DEST, closed))
        weights.append(doubt)
    return FiniteBelief(worlds, np.array(weights))


def holding(spent: float, ways: Any, opened: Any = None) -> dict[str, Any]:
    """Return what a record says is held for one home."""
    value = {"kept": 1.0 - spent, "spent": [spent], "ways": [ways]}
    return value if opened is None else {**value, "opened": [opened]}


NOTHING: Any = [[], []]


def step(number: int, state: int, there: int, held: Any, known: FiniteBelief) -> Audited:
    record = SimpleNamespace(step=number, state=state, action=-1, next_state=there, holding=held)
    return record, known


def verdict(*steps: Audited, claim: HomeClaim = HOME) -> HomeVerdict:
    (found,) = audit([claim], steps)
    return found


KNOWN = belief(0.1, 0.2)
FIRST = step(1, 0, 1, holding(0.1, [[1], [0]], NOTHING), KNOWN)


def test_each_new_edge_is_paid_for_once() -> None:
    onward = step(2, 1, 2, holding(0.3, [[2], [0]]), KNOWN)
    back = step(3, 2, 1, holding(0.3, NOTHING), KNOWN)
    again = step(4, 1, 2, holding(0.3, NOTHING), KNOWN)
    found = verdict(FIRST, onward, back, again)
    assert found.reasons == ()
    assert (found.kept, found.steps) == (0.7, 4)
    assert found.charged == pytest.approx(0.3)
    assert found.words.startswith("confirmed: the risks of 4 steps are within the budget")


class Loose(Belief):
    """A belief of one's own: blocked probabilities are upper bounds."""

    def __init__(self, inner: FiniteBelief, blocked: float) -> None:
        self.inner, self.blocked = inner, blocked

    def mean(self) -> Any:
        return self.inner.mean()

    def update(self, observation: Any) -> Any:
        return Loose(self.inner.update(observation), self.blocked)

    def sample(self, rng: Any) -> Any:
        return self.inner.sample(rng)

    def blocked_probability(self) -> Any:
        blocked = self.inner.blocked_probability().copy()
        blocked[2, 0] = self.blocked
        return blocked


def test_a_way_home_is_not_given_up_at_the_price_of_an_upper_bound_on_its_risk() -> None:
    # From 2 on there are two ways back, as action 1 leads home too; the old one always works.
    dest = DEST.copy()
    dest[2, 1] = 0
    shut = np.ones((5, 2))
    shut[2, 1] = 0.0
    worlds = FiniteBelief([Moves(dest, np.ones((5, 2))), Moves(dest, shut)], np.array([0.6, 0.4]))
    known, doubtful = Loose(worlds, 0.0), Loose(worlds, 0.5)
    out = step(1, 1, 2, holding(0.0, [[1, 2], [0, 0]], NOTHING), known)  # type: ignore[arg-type]
    news = step(2, 2, 2, holding(0.0, [[2], [1]]), doubtful)  # type: ignore[arg-type]
    found = verdict(out, news)
    assert found.reasons == ("step 2: the step spent 0, but had to spend 0.4",)


def test_an_edge_that_was_not_paid_for_is_found() -> None:
    found = verdict(FIRST, step(2, 1, 2, holding(0.1, [[2], [0]]), KNOWN))
    assert found.reasons == ("step 2: the step spent 0, but had to spend 0.2",)


def test_a_little_less_than_the_charge_is_found() -> None:
    found = verdict(FIRST, step(2, 1, 2, holding(0.3 - 1e-10, [[2], [0]]), KNOWN))
    assert len(found.reasons) == 1


def test_a_way_that_does_not_lead_home_is_found() -> None:
    for ways in (NOTHING, [[2], [1]]):  # nothing is relied on there, or an edge that leads away
        found = verdict(FIRST, step(2, 1, 2, holding(0.5, ways), KNOWN))
        assert found.reasons[0] == "step 2: the recorded edges contain no path home from state 2"


def test_edges_that_go_in_circles_are_no_way_home() -> None:
    circle = step(2, 1, 2, holding(0.5, [[1, 2], [1, 0]]), KNOWN)
    assert "contain no path home from state 2" in verdict(FIRST, circle).reasons[0]


def test_what_was_spent_never_falls() -> None:
    found = verdict(FIRST, step(2, 1, 0, holding(0.05, NOTHING), KNOWN))
    assert found.reasons == ("step 2: the spent risk falls from 0.1 to 0.05",)


def test_no_more_may_be_spent_than_the_level_leaves() -> None:
    claim = HOME._replace(level=0.95)
    assert verdict(FIRST, claim=claim).reasons == ("step 1: 0.1 is spent, but the budget is 0.05",)
    assert verdict(FIRST, claim=HOME._replace(level=0.9)).reasons == ()


def test_what_is_said_to_be_kept_follows_from_what_was_spent() -> None:
    found = verdict(step(1, 0, 1, {**holding(0.1, [[1], [0]], NOTHING), "kept": 1.0}, KNOWN))
    assert found.reasons == (
        "step 1: the record claims a return probability of 1, but 0.1 is spent",
    )


def test_the_way_home_from_the_start_is_paid_for() -> None:
    claim = HomeClaim("return to 0", frozenset({0}), 0.5)
    opened = [[1, 2], [0, 0]]
    paid = step(1, 2, 2, holding(0.3, NOTHING, opened), KNOWN)
    assert verdict(paid, claim=claim).reasons == ()
    unpaid = step(1, 2, 2, holding(0.0, NOTHING, opened), KNOWN)
    assert verdict(unpaid, claim=claim).reasons == (
        "step 1: the step spent 0, but had to spend 0.3",
    )


def test_after_bad_news_another_way_costs_the_difference() -> None:
    # Going back from 1 is now in doubt by .6; the way on to the other home by .1.
    dest = np.array([[1, 1], [0, 2], [2, 2]])
    sure, back, on = np.ones((3, 2)), np.ones((3, 2)), np.ones((3, 2))
    back[1, 0], on[1, 1] = 0.0, 0.0
    claim = HomeClaim("return to 0 or 2", frozenset({0, 2}), 0.5)

    def known(doubt: float) -> FiniteBelief:
        worlds = [Moves(dest, sure), Moves(dest, back), Moves(dest, on)]
        return FiniteBelief(worlds, np.array([0.9 - doubt, doubt, 0.1]))

    first = step(1, 0, 1, holding(0.2, [[1], [0]], NOTHING), known(0.2))
    free = step(2, 1, 1, holding(0.2, [[1], [1]]), known(0.6))
    assert verdict(first, free, claim=claim).reasons == ()
    worse = step(2, 1, 1, holding(0.2, [[1], [1]]), known(0.05))
    assert verdict(first, worse, claim=claim).reasons == (
        "step 2: the step spent 0, but had to spend 0.05",
    )


def test_where_the_way_home_surely_is_lost_there_is_nothing_left_to_lose() -> None:
    closed = belief(1.0)
    lost = step(2, 1, 2, holding(0.1, NOTHING), closed)
    after = step(3, 2, 3, holding(0.1, NOTHING), closed)
    assert verdict(FIRST, lost, after).reasons == ()
    doubtful = step(2, 1, 2, holding(0.1, NOTHING), belief(0.9))
    assert len(verdict(FIRST, doubtful).reasons) == 2


def test_a_way_home_beyond_what_the_run_may_use_is_found() -> None:
    use = np.ones((5, 2))
    claim = HOME._replace(limits=(Limit(3.0, "m", use, 2.0 * use),))

    def taken(number: int, state: int, there: int, spent: float, used: float) -> Audited:
        opened = NOTHING if number == 1 else None
        held = holding(spent, [[number], [0]], opened) | {"used": [[used]]}
        record, known = step(number, state, there, held, KNOWN)
        record.action = 1
        return record, known

    first, onward = taken(1, 0, 1, 0.1, 1.0), taken(2, 1, 2, 0.3, 2.0)
    assert verdict(first, claim=claim).reasons == ()
    told = "step 2: 2 m are used and the path home uses 2, but 3 are allowed"
    assert verdict(first, onward, claim=claim).reasons == (told,)
    wide = HOME._replace(limits=(Limit(4.0, "m", use, 2.0 * use),))
    assert verdict(first, onward, claim=wide).reasons == ()
    forged = taken(2, 1, 2, 0.3, 1.5)
    told = "step 2: 1.5 m are recorded, not 2 m"
    assert verdict(first, forged, claim=wide).reasons == (told,)


def test_a_way_home_in_time_has_few_enough_moves_that_need_no_second_attempt() -> None:
    claim = HOME._replace(within=1)
    onward = step(2, 1, 2, holding(0.3, [[2], [0]]), KNOWN)
    assert verdict(FIRST, onward, claim=claim).reasons[-1] == (
        "step 2: the path home has 2 moves, but 1 are allowed"
    )
    slow = FiniteBelief([Moves(DEST, np.full((5, 2), 0.5))])
    found = verdict(step(1, 0, 1, holding(0.0, [[1], [0]], NOTHING), slow), claim=claim)
    assert found.reasons == (
        "step 1: moves may need several attempts, so the steps are not bounded",
    )


@pytest.mark.parametrize(
    "held",
    [
        None,
        {},
        {"kept": 1.0, "spent": [], "ways": [NOTHING], "opened": [NOTHING]},
        holding(0.0, [[9], [0]], NOTHING),
        holding(0.0, [[1], [7]], NOTHING),
        holding(0.0, [[1, 2], [0]], NOTHING),
        holding(0.0, NOTHING),
    ],
)
def test_a_record_that_can_not_be_read_is_refuted(held: Any) -> None:
    found = verdict(step(1, 0, 1, held, KNOWN), step(2, 1, 0, holding(0.0, NOTHING), KNOWN))
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith("step 1: the record can't be read (")


def test_of_many_reasons_the_first_are_told() -> None:
    steps = [step(n, 3, 3, holding(0.9, NOTHING), KNOWN) for n in range(2, 12)]
    found = verdict(FIRST, *steps, claim=HOME._replace(level=0.95))
    assert found.reasons[-1] == "and 6 more"


def test_only_move_or_stay_graphs_without_rewards_are_audited() -> None:
    model = Moves(DEST, np.ones((5, 2)))
    assert why_not_auditable(FiniteBelief([model])) is None
    assert (
        why_not_auditable(FiniteBelief([model.sparse()])) == "its model is not a move-or-stay graph"
    )
    paid = replace(model, reward=np.ones((5, 2)))
    assert why_not_auditable(FiniteBelief([paid])) == "its model has rewards"


CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "grid": ("grid", {"size": 8, "seed": 3, "delta": 0.3}),
    "bases": (
        "grid",
        {"map": "1111111\n11111a1\n1111111", "bases": [[0, 4], [0, 6]], "each_base": True},
    ),
    "in time": ("grid", {"size": 8, "seed": 3, "delta": 0.5, "back_within": 5}),
    "rover": (
        "rover",
        {"rows": 160, "columns": 160, "sensor_range": 29.0, "sensor_noise": 0.1, "limit": 60}
        | {"delta": 0.7, "truth": "prior"},
    ),
    "rover that sees nothing": (
        "rover",
        {"rows": 160, "columns": 160, "sensor_range": 0.0, "limit": 60, "truth": "prior"},
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_books_of_a_sound_run_are_confirmed(tmp_path: Path, name: str) -> None:
    run = Run.create(tmp_path / "run", *CONFIGS[name])
    run.resume()
    found = plan_of_step(run)
    assert not found.refuted
    assert found.notes == ()
    assert len(found.homes) == (2 if name in ("bases", "in time") else 1)
    assert all(home.steps == run.manifest.steps > 0 for home in found.homes)


@pytest.fixture
def spent(tmp_path: Path) -> Run:
    """Take a run down a meadow, where there may be no way up."""
    for seed in range(20):
        made = meadow(
            tmp_path / f"{seed}", algorithm="rate", steep=True, delta=0.4, seed=seed, limit=30
        )
        made.resume()
        if list(made.records())[-1].holding["kept"] < 1.0:
            return made
    raise AssertionError("no run has spent anything")


def forged(run: Run, change: Callable[[Any, int], dict[str, Any]]) -> tuple[str, ...]:
    """Change what records hold, checksums and all; return what speaks against the run then."""
    records = [
        replace(r, holding={**r.holding, **change(r.holding, r.step)}) for r in run.records()
    ]
    (run.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    (home,) = plan_of_step(run).homes
    return home.reasons


def paying_step(run: Run) -> int:
    """Return the first step in which something was spent."""
    return next(r.step for r in run.records() if r.holding["spent"][0] > 0.0)


def test_a_run_that_has_spent_is_confirmed(spent: Run) -> None:
    assert forged(spent, lambda held, step: {}) == ()


def test_a_log_that_says_that_less_was_spent_is_refuted(spent: Run) -> None:
    number = paying_step(spent)

    def change(held: Any, step: int) -> dict[str, Any]:
        less = [max(0.0, x - 0.01) for x in held["spent"]]
        return {"spent": less, "kept": 1.0 - less[0]}

    assert forged(spent, change)[0].startswith(f"step {number}: ")


def test_a_log_with_an_edge_that_was_never_paid_for_is_refuted(spent: Run) -> None:
    # Relying on a way up from somewhere, at a time at which it is in doubt.
    states, _ = next(iter(spent.records())).holding["ways"][0]
    extra = next(s for s in range(10, 20) if s not in states)

    def change(held: Any, step: int) -> dict[str, Any]:
        (at, actions) = held["ways"][0]
        return {"ways": [[[*at, extra], [*actions, 1]]]} if step == 1 else {}

    assert forged(spent, change)[0].startswith("step 1: the step spent 0, but had to spend 0.5")


def test_a_log_whose_way_does_not_lead_home_is_refuted(spent: Run) -> None:
    number = paying_step(spent)
    there = list(spent.records())[number - 1].next_state

    def change(held: Any, step: int) -> dict[str, Any]:
        (at, actions) = held["ways"][0]
        return {"ways": [[[*at, there], [*actions, 0]]]} if step == number else {}

    reasons = forged(spent, change)
    assert (
        reasons[0] == f"step {number}: the recorded edges contain no path home from state {there}"
    )


def test_a_log_of_another_world_is_refuted(spent: Run) -> None:
    records = list(spent.records())
    records[1] = replace(records[1], next_state=19)
    (spent.directory / "steps.jsonl").write_bytes(b"".join(map(to_line, records)))
    found = plan_of_step(spent)
    assert found.refuted
    assert found.reasons == ("step 2: the world does not reproduce the record",)


CLAIM = HomeClaim("return", frozenset([0]), 0.5)


def ledge() -> DirichletBelief:
    """Return home, a ledge and a pit: stepping out is sure, stepping back fails once in ten."""
    alpha = np.zeros((3, 2, 3))
    alpha[0, 0, 0] = alpha[2, :, 2] = 1.0
    alpha[0, 1, 1] = 1.0
    alpha[1, :, 0], alpha[1, :, 2] = 900.0, 100.0
    return DirichletBelief.independent(alpha)


def sampled_step(spent: float, **changes: Any) -> SimpleNamespace:
    """Return the record of a step out onto the ledge that spent `spent`."""
    holding = {"opened": [[[], []]], "ways": [[[1], [0]]], "spent": [spent], "kept": 1.0 - spent}
    return SimpleNamespace(step=1, state=0, action=1, next_state=1, holding=holding | changes)


@pytest.mark.parametrize(("spent", "refuted"), [(0.12, False), (0.02, True)])
def test_a_run_that_spent_too_little_is_refuted(spent: float, refuted: bool) -> None:
    (verdict,) = audit_sampled([CLAIM], [(sampled_step(spent), ledge())])
    assert verdict.refuted is refuted
    assert verdict.charged == pytest.approx(0.1, abs=0.005)
    assert "estimated, not proven" in verdict.upheld_text


def test_an_action_that_is_taken_by_lot_is_charged_by_its_chance() -> None:
    by_lot = sampled_step(0.02, sampled=[[0.02, 0.0, 1, 0.2]])
    (verdict,) = audit_sampled([CLAIM], [(by_lot, ledge())])
    assert not verdict.refuted
    assert verdict.charged == pytest.approx(0.02, abs=0.001)


def test_more_than_the_budget_and_an_unreadable_record_are_refuted() -> None:
    for record in (sampled_step(0.6), sampled_step(0.12, ways=[[[9], [0]]])):
        (verdict,) = audit_sampled([CLAIM], [(record, ledge())])
        assert verdict.refuted
