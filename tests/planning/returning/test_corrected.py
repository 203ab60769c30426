"""Laws of the bounds and charges on small beliefs, whose worlds tell the true numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from tests.planning.returning.opaque import Opaque

from homeward.beliefs import DirichletBelief, FiniteBelief, Transition, Visit
from homeward.beliefs.corrections import Correction
from homeward.bonuses import RMax
from homeward.criteria import ReturnHome
from homeward.kinds.tabular.world import tile_belief, tile_map
from homeward.models import Moves, SparseMDP
from homeward.paper.toytext import SURE_FOOTED
from homeward.planning.algorithm1 import Planner
from homeward.planning.explorer import Rules, decide
from homeward.planning.promise import Promise
from homeward.planning.returning import Goal
from homeward.planning.returning.corrected import CorrectedReturning, after_rows
from homeward.planning.returning.worlds import WorldReturning

if TYPE_CHECKING:
    from homeward.planning.promise import RunState

HOME = Goal("home", np.zeros(1, np.int64), 0.5)
STATES, ACTIONS, HERE = 4, 2, 2
ROUNDING = 1e-9


class Case(NamedTuple):
    """A belief over a few worlds with transitions [M, S, A, S], some of which end the process."""

    belief: FiniteBelief
    rows: np.ndarray

    def home(self, policy: np.ndarray) -> np.ndarray:
        """Return the probability [M, S] of coming home by a policy in each world."""
        value = np.zeros(self.rows.shape[:2])
        chosen = self.rows[:, np.arange(STATES), np.maximum(policy, 0)]
        chosen = np.where((policy >= 0)[:, None], chosen, 0.0)
        for _ in range(4000):
            value = np.einsum("mst,mt->ms", chosen, value)
            value[:, 0] = 1.0
        return value

    def after(self, policy: np.ndarray) -> np.ndarray:
        """Return the probability [S, A] of coming home after an action, over all worlds."""
        weights, ahead = self.belief.weights, self.home(policy)
        return np.asarray(np.einsum("m,msat,mt->sa", weights, self.rows, ahead))


def case_of(seed: int, worlds: int) -> Case:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(STATES + 1, 0.4), (worlds, STATES, ACTIONS))
    rows[rows < 0.05] = 0.0
    shared = rng.random((STATES, ACTIONS)) < 0.4  # these rows are the same in all worlds
    rows[:, shared] = rows[0, shared]
    rows = (rows / rows.sum(axis=3, keepdims=True))[..., :STATES]
    weights = rng.dirichlet(np.ones(worlds))
    return Case(FiniteBelief([SparseMDP.from_dense(each) for each in rows], weights), rows)


cases = st.builds(case_of, st.integers(0, 10**6), st.integers(1, 3))


@settings(max_examples=60, deadline=None)
@given(cases)
def test_no_bound_is_above_the_truth_in_any_state_or_after_any_action(case: Case) -> None:
    corrected, belief = CorrectedReturning(HOME), Opaque(case.belief)
    found = corrected.options(belief, corrected.open(belief, HERE), HERE, None)
    true = case.belief.weights @ case.home(found.policy())
    assert (found.value() <= true + ROUNDING).all()
    assert (found.after() <= case.after(found.policy())[HERE] + ROUNDING).all()
    assert found.works() <= true[HERE] + ROUNDING
    assert found.most >= true[HERE] - ROUNDING


@settings(max_examples=60, deadline=None)
@given(cases, st.integers(0, 2**STATES - 1))
def test_a_charge_is_at_least_what_the_action_loses_whatever_was_relied_on(
    case: Case, code: int
) -> None:
    corrected, belief = CorrectedReturning(HOME), Opaque(case.belief)
    held = np.array([-1, *((code >> s) & 1 for s in range(1, STATES))], np.int32)
    for promise in (corrected.open(belief, HERE), Promise.of(held, 0.25)):
        found = corrected.options(belief, promise, HERE, None)
        before = float((case.belief.weights @ case.home(promise.way))[HERE])
        assert found.works() <= before + ROUNDING
        assert (found.promise.way == promise.way).all()  # nothing has paid for another one
        for action in range(ACTIONS):
            after = corrected.take(found, HERE, action)
            lost = before - float(case.after(after.way)[HERE, action])
            assert after.spent - promise.spent >= min(lost, 1.0 - promise.spent) - ROUNDING
        for there in range(STATES):
            moved = corrected.moved(belief, found, there, ())
            lost = before - float((case.belief.weights @ case.home(moved.way))[there])
            assert moved.spent - promise.spent >= min(lost, 1.0 - promise.spent) - ROUNDING


@settings(max_examples=30, deadline=None)
@given(cases)
def test_where_all_rows_are_known_charges_are_exact(case: Case) -> None:
    known = FiniteBelief([case.belief.worlds[0]])
    corrected, worlds = CorrectedReturning(HOME), WorldReturning(HOME)
    one = corrected.options(Opaque(known), corrected.open(Opaque(known), HERE), HERE, None)
    other = worlds.options(known, worlds.open(known, HERE), HERE, None)
    assert one.works() == pytest.approx(other.works(), abs=1e-4)  # other policies may be chosen
    alone = Case(known, case.rows[:1])
    true = alone.home(one.policy())[0]
    lost = true[HERE] - alone.after(one.policy())[HERE]
    free = one.charge[HERE] == 0.0
    assert one.charge[HERE][~free] == pytest.approx(lost[~free], abs=ROUNDING)
    assert (lost[free] <= ROUNDING).all()


def test_an_action_that_leads_where_there_is_no_way_back_exactly_if_so_counts_in_full() -> None:
    """P_t is 1 in a world of weight .3, in which V_t is 0: E[P_t V_t] is 0, not .3 · .7."""
    rows = np.zeros((2, 3, 2, 3))
    rows[:, 0, :, 0] = rows[:, 1, 0, 0] = rows[:, 2, 1, 2] = 1.0
    rows[0, 1, 1, 2] = rows[1, 1, 1, 0] = 1.0  # action 1 of state 1 leads to 2 in world 0
    rows[0, 2, 0, 2] = rows[1, 2, 0, 0] = 1.0  # from where only world 1 leads home
    worlds = [SparseMDP.from_dense(each) for each in rows]
    belief = Opaque(FiniteBelief(worlds, np.array([0.3, 0.7])))
    corrected = CorrectedReturning(HOME)
    found = corrected.options(belief, corrected.open(belief, 1), 1, None)
    assert found.after()[1] == pytest.approx(0.7, abs=1e-12)
    assert corrected.take(found, 1, 1).spent == pytest.approx(0.3, abs=1e-12)


def test_the_part_of_an_outcome_that_is_lost_is_its_probability_at_most() -> None:
    rows, value = csr_array([[0.3, 0.7]]), np.array([0.4, 1.0])
    bound = after_rows(rows, np.array([-1.0]), value)
    assert bound == pytest.approx([0.7], abs=1e-12)  # 1 − min(.3, .6), not 1 − .3 · .6
    assert after_rows(rows, np.zeros(1), value) == pytest.approx([0.82], abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_unknown_rows_are_charged_by_the_bound_that_is_expected_after_the_update(seed: int) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0.0, 0.3, 3.0, 20.0], (3, 2, 3))
    alpha[..., 0] += 0.5
    belief, corrected = DirichletBelief.independent(alpha), CorrectedReturning(HOME)
    promise = corrected.open(belief, 1)
    found = corrected.options(belief, promise, 1, None)
    for action in range(2):
        ahead = 0.0
        for there, p in enumerate(belief.mean().row(1, action).tolist()):
            if p > 0.0:
                moved = Transition(1, action, there)
                learned = belief.update(moved)
                after = corrected.observed(
                    learned, corrected.take(found, 1, action), moved, moved, 1
                )
                ahead += p * corrected.options(learned, after, there, None).works()
        assert found.charge[1, action] >= found.works() - ahead - 3e-14
        assert found.charge[1, action] == pytest.approx(found.works() - ahead, abs=1e-12)


def test_moves_with_rewards_use_how_likely_a_move_never_works() -> None:
    class Sure(Opaque):
        """A belief whose moves fail at times, but never for good."""

        def blocked_probability(self) -> np.ndarray:
            return np.zeros((2, 2))

    dest = np.array([[0, 1], [1, 0]])
    worlds = [Moves(dest, np.array([[1.0, 1.0], [1.0, p]]), np.ones((2, 2))) for p in (0.2, 0.8)]
    inner = FiniteBelief(worlds)
    for belief, correction, least in (
        (Sure(inner), None, 1.0),
        (Sure(inner), Correction.GENERAL, 0.5),
        (Opaque(inner), None, 0.5),
    ):
        corrected = CorrectedReturning(HOME, correction)
        assert 1.0 - corrected.open(belief, 1).spent == pytest.approx(least, abs=1e-9)


def worst_of(
    rules: Rules, belief: DirichletBelief, state: int, held: RunState, depth: int
) -> float:
    """Return the least expected way home over all rules of calling off within `depth` steps."""
    now = 1.0 - CorrectedReturning(HOME).open(belief, state).spent
    if depth == 0:
        return now
    decision = decide(rules, belief, held, state)
    if decision.action is None:
        return now
    action = decision.action
    row = belief.mean().row(state, action)
    ahead = sum(
        p
        * worst_of(rules, belief.update(Transition(state, action, t)), t, decision.after, depth - 1)
        for t, p in enumerate(row.tolist())
        if p > 0.0
    )
    return float(min(now, ahead))


@pytest.mark.parametrize("delta", [0.6, 0.8, 0.95])
@pytest.mark.parametrize("seed", range(4))
def test_unknown_dynamics_keep_the_level_whenever_a_run_is_called_off(
    seed: int, delta: float
) -> None:
    rng = np.random.default_rng(seed)
    alpha = rng.choice([0.0, 0.2, 3.0, 20.0], (4, 2, 4))
    alpha[:3, 0, 0] += 20.0  # a way back that mostly works
    alpha[3] = 0.0
    alpha[3, :, 3] = 1.0  # no way out
    belief = DirichletBelief.independent(alpha).update(Visit(0))
    rules = Rules.of(belief, Planner(RMax(), [ReturnHome(delta)]), 0)
    assert worst_of(rules, belief, 0, rules.open(belief, 0), 4) >= delta - 1e-9


def test_a_trial_on_safe_ground_makes_the_way_home_surer() -> None:
    tiles = tile_map("lake")
    belief = tile_belief(tiles, SURE_FOOTED).update(Visit(2))
    corrected = CorrectedReturning(Goal("home", np.array([tiles.start]), 0.5))
    first = corrected.open(belief, 2)
    found = corrected.options(belief, first, 2, None)
    bump, onward = 3, 1  # against the edge of the map, and towards the holes
    assert found.charge[2, bump] < 0.0 < found.charge[2, onward]
    spent = [corrected.take(found, 2, action).spent for action in (bump, onward)]
    assert spent[0] < first.spent < spent[1]


def test_tied_actions_are_told_apart_by_outcomes_that_can_happen() -> None:
    # 0 home, 1 here, 2 a pit, 3 and 4 on both sides; the first outcome of kind 0 never happens.
    outcomes = np.zeros((5, 2, 3), np.int64)
    outcomes[2] = 2
    outcomes[1] = [[3, 3, 4], [4, 3, 4]]
    outcomes[3:] = [0, 0, 2]
    alpha = np.array([[0.0, 2.0, 2.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    kinds = np.array([[1, 1], [0, 0], [2, 2], [0, 0], [0, 0]])
    belief = DirichletBelief(outcomes, alpha, kinds)
    corrected = CorrectedReturning(HOME)
    charge = corrected.options(belief, corrected.open(belief, 1), 1, None).charge[1]
    assert charge[0] == pytest.approx(charge[1], abs=1e-12)
