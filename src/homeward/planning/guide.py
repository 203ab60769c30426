"""From a belief and a state to one decision with its evidence.

The flow of a step: situation (belief, state, what is held) → ledgers (the homes that criteria ask
for) → surveys (ways home and what they add) → proposals → choice → plan. Nothing here has a memory
of its own; what a run carries along is in `Held`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from homeward.arrays import index, is_nothing, number
from homeward.beliefs import BlockedMoves, BoundedMoves, DirichletBelief, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.bonuses import InformationGain, Uncover, checked_bonus
from homeward.errors import InvalidProblemError
from homeward.models import Moves
from homeward.planning.explorer import End
from homeward.planning.general import best_earning, best_ratio, returns_of, way_home_of
from homeward.planning.held import Account, Held, Proposal
from homeward.planning.ledger import SLACK, Graph, Ledger
from homeward.planning.plan import ActionEvidence, CriterionEvidence, Evidence, Plan, Verdict
from homeward.planning.rate import Limit, RateSearch, move_to
from homeward.safety import ReturnHome, ReturnWithin, StayInside
from homeward.solvers import Status
from homeward.words import Remainder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from homeward.arrays import BoolArray, FloatArray, IntArray
    from homeward.beliefs import Belief
    from homeward.models import Model, SparseMDP
    from homeward.planning.general import Ratio
    from homeward.planning.planner import Planner

PATIENCE = 20
"""Steps per state that a run may take without learning anything."""

LEAST_FLOOR = 1e-300
"""The floor that stands for none: without one, a gain of nothing would be worth a step."""


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What a step comes to.

    Attributes
    ----------
    plan
        What to do and why; None where the run ends.
    held
        What is held after the action.
    end
        Why the run ends.
    limit
        What is left where it ends.
    """

    plan: Plan | None
    held: Held
    end: End | None = None
    limit: Limit | None = None
    budgets: tuple[tuple[str, float, float], ...] = ()  # name, level and what is left of each

    def remainder(self, unit: str | None) -> Remainder | None:
        """Return what is left where the run ends, in `unit`, and what going on would risk."""
        if self.limit is None:
            return None
        rest = Remainder(self.limit.left, self.limit.rate, unit)
        if not np.isfinite(self.limit.share) or len(self.budgets) != 1:
            return rest
        ((_, level, left),) = self.budgets
        return rest._replace(risk=self.limit.share * left, budget=left, level=level)


class Guide:
    """Decides, one step at a time, for an explorer that starts in `start`."""

    def __init__(self, planner: Planner, start: int, floor: float | None = None) -> None:
        if planner.recall is not None:
            raise InvalidProblemError(
                "a recall at a fixed step is the promise of a single plan: use PaperExplorer"
            )
        self.planner = planner
        self.start = start
        self.given_floor = None
        if floor is not None:
            self.given_floor = number(floor, "the floor", InvalidProblemError)
            if not 0.0 <= self.given_floor < np.inf:
                raise InvalidProblemError(f"the floor is {floor:g}, expected 0 or more")
        self.search: RateSearch | None = None
        self._on_graph = False  # whether the run is planned on a move-or-stay graph, for good

    def open(self, belief: Belief) -> Held:
        """Return what a run holds before its first step: a way home from the start, paid for."""
        model = belief.mean()
        search = self._searching(belief, model)
        if self._on_graph and isinstance(model, Moves):
            graph = graph_of(belief, model, self.planner.correction)
            return Held(tuple(ledger.open(graph, self.start) for ledger in search.ledgers))
        sparse, correction = model.sparse(), self.planner.correction
        return Held(
            tuple(
                returns_of(belief, sparse, ledger, None, self.start, correction).account
                for ledger in search.ledgers
            )
        )

    def decide(self, belief: Belief, state: int, held: Held) -> Decision:
        """Return the decision in `state`."""
        model = belief.mean()
        search = self._searching(belief, model)
        inside = search.allowed
        if inside is not None and not inside[state].any():
            return Decision(None, held, End.OUTSIDE)
        kept = zip(search.ledgers, held.accounts, strict=True)
        if any(
            ledger.left(account) == 0.0 < account.spent - 1.0 + ledger.delta - SLACK
            for ledger, account in kept
        ):
            return Decision(None, held, End.INFEASIBLE)
        if self._on_graph and isinstance(model, Moves):
            if self._is_fruitless(held, model):
                return Decision(None, held, End.NOT_LEARNING)
            return self._on_moves(belief, model, state, held, search)
        return self._on_general(belief, model.sparse(), state, held, search)

    @staticmethod
    def _is_fruitless(held: Held, model: Model) -> bool:
        """Tell whether the bonus does not shrink by looking."""
        return held.idle > PATIENCE * model.states + PATIENCE

    def after(self, belief: Belief, held: Held) -> Held:
        """Return what is held once an action's observation has taught its lesson.

        The charges of unknown dynamics are for ways home that follow what is known by then.
        """
        if self._on_graph or not isinstance(belief, DirichletBelief):
            return held
        ledgers = self.ledgers(belief)
        ways = [way_home_of(belief, ledger, self.planner.correction) for ledger in ledgers]
        kept = zip(held.accounts, ways, strict=True)
        return replace(held, accounts=tuple(Account(way, a.spent) for a, way in kept))

    def _on_moves(
        self, belief: Belief, model: Moves, state: int, held: Held, search: RateSearch
    ) -> Decision:
        """Decide on a move-or-stay graph."""
        graph = graph_of(belief, model, self.planner.correction)
        choice = search.choose(belief, graph, state, held)
        accounts = tuple(survey.account for survey in choice.surveys)
        budgets = _budgets(search.ledgers, accounts)
        now = held.at(choice.remaining, search.floor)
        proposal = choice.proposal
        if proposal is None:
            now = replace(now, accounts=accounts, proposal=None)
            return Decision(None, now, _end(choice.limit, search), choice.limit, budgets)
        action = choice.learning
        if action is None:
            action = move_to(graph, state, proposal.path[1], search.allowed)
        paid = tuple(
            ledger.pay(graph, survey, state, action)
            for ledger, survey in zip(search.ledgers, choice.surveys, strict=True)
        )
        after = replace(now, accounts=paid, proposal=proposal)
        policy = np.full(model.states, _stay(model), np.int32)
        for s, t in pairwise(proposal.path):
            policy[s] = move_to(graph, s, t, search.allowed)
        policy[state] = action
        homes = [
            _home_evidence(ledger, account, np.clip(1.0 - survey.total, 0.0, 1.0), survey.choice)
            for ledger, survey, account in zip(search.ledgers, choice.surveys, paid, strict=True)
        ]

        def tell() -> tuple[ActionEvidence, ...]:
            share = search.share(graph, choice.surveys)
            rates = search.rates(belief, graph, state, share)
            rates[action] = proposal.rate
            whole = search.survey(graph, state, held.accounts, whole=True)
            ways = [np.clip(1.0 - survey.total, 0.0, 1.0) for survey in whole]
            return self._actions(model, state, action, rates, ways, share[model.dest[state]])

        plan = self._plan(model, state, action, policy, proposal, homes, tell)
        return Decision(plan, after, None, choice.limit, budgets)

    def _on_general(
        self, belief: Belief, model: SparseMDP, state: int, held: Held, search: RateSearch
    ) -> Decision:
        """Decide on a general model."""
        correction = self.planner.correction
        found = [
            returns_of(belief, model, ledger, account, state, correction)
            for ledger, account in zip(search.ledgers, held.accounts, strict=True)
        ]
        accounts = tuple(returns.account for returns in found)
        budgets = _budgets(search.ledgers, accounts)
        share = np.zeros((model.states, model.actions))
        for ledger, returns in zip(search.ledgers, found, strict=True):
            if not returns.lost:
                left = max(ledger.left(returns.account), 1e-300)
                np.maximum(share, returns.charge / left, out=share)  # a gain of safety is free
        bonus = checked_bonus(self.planner.bonus, belief, model.reward)
        remaining = float(bonus.max(axis=1).sum())
        now = held.at(remaining, search.floor)
        inside = np.ones(share.shape, dtype=bool) if search.allowed is None else search.allowed
        ratio, limit = self._worth_learning(model, bonus, share, inside, state, remaining)
        fruitless = self._is_fruitless(held, model)
        earning = None
        if ratio.action < 0 or fruitless:
            earning = best_earning(model, inside & (share <= 0.0), self.planner.discount, state)
            if earning is None:
                end = End.NOT_LEARNING if fruitless else _end(limit, search)
                return Decision(None, now, end, limit, budgets)
            action = earning.action
            proposal = Proposal((state,), float(earning.rates[action]), 1.0)
        else:
            action = ratio.action
            proposal = Proposal((state,), ratio.gain, ratio.steps, float(share[state, action]))
        paid = tuple(returns.pay(state, action) for returns in found)
        after = replace(now, accounts=paid, proposal=proposal)
        homes = [
            _home_evidence(ledger, account, returns.value, returns.account.way)
            for ledger, returns, account in zip(search.ledgers, found, paid, strict=True)
        ]

        def tell() -> tuple[ActionEvidence, ...]:
            steps = np.ones(share.shape)
            rates = np.array(
                [
                    _rate_of(best_ratio(model, bonus, steps, _only(inside, state, a), state))
                    for a in range(model.actions)
                ]
                if earning is None
                else np.where(np.isfinite(earning.rates), earning.rates, 0.0)
            )
            ways = [returns.value for returns in found]
            return self._actions(model, state, action, rates, ways, share[state])

        policy = np.zeros(model.states, np.int32)
        policy[state] = action
        plan = self._plan(model, state, action, policy, proposal, homes, tell)
        if earning is not None:
            plan = replace(plan, method="earn", bonus_left=False)
        return Decision(plan, after, None, limit, budgets)

    def _worth_learning(
        self,
        model: SparseMDP,
        bonus: FloatArray,
        share: FloatArray,
        inside: BoolArray,
        state: int,
        remaining: float,
    ) -> tuple[Ratio, Limit]:
        """Return the best ratio of what is learned, by steps or else by risk, or why none is."""
        assert self.search is not None
        floor, affordable = self.search.floor, inside & (share <= 1.0)

        steps, limit = np.ones(share.shape), Limit(remaining, 0.0, np.inf)
        free = inside & (share <= 0.0)
        ratio = best_ratio(model, bonus, steps, affordable, state, remaining * share, free)
        if ratio.action >= 0 and ratio.gain >= floor * ratio.steps:
            return ratio, limit
        if _rate_of(ratio) > 1e-6 * floor:  # less comes by luck alone
            limit = limit._replace(rate=_rate_of(ratio))
        priced = np.maximum(share, 0.0) + 1e-6
        # What is not worth the floor a step has no gain beyond it.
        ratio = best_ratio(model, bonus, priced, affordable, state, floor, free)
        if ratio.action >= 0:
            return ratio._replace(gain=ratio.gain + floor * ratio.steps), limit
        unpaid = replace(model, reward=np.where(np.isfinite(model.reward), 0.0, -np.inf))
        beyond = best_ratio(unpaid, bonus, priced, inside, state, floor)
        if beyond.action >= 0:
            gain = beyond.gain + floor * beyond.steps
            limit = limit._replace(gain=gain, share=max(beyond.cost, 1.0 + SLACK))
        return ratio, limit

    def _plan(
        self,
        model: Model,
        state: int,
        action: int,
        policy: IntArray,
        proposal: Proposal,
        homes: Sequence[CriterionEvidence],
        tell: Callable[[], tuple[ActionEvidence, ...]],
    ) -> Plan:
        """Return the plan that pursues a proposal."""
        evidence = iter(homes)
        return Plan(
            state=state,
            action=action,
            status=Status.OPTIMAL,
            weights=np.ones(1),
            outbound=policy[None],
            exploration_value=proposal.rate,
            upper_bound=proposal.rate,
            gap=0.0,
            kept_weights=np.ones(1),
            kept_outbound=policy[None],
            kept_value=proposal.rate,
            criteria=tuple(
                _stay_evidence(criterion, model)
                if isinstance(criterion, StayInside)
                else next(evidence)
                for criterion in self.planner.criteria
            ),
            evidence=Evidence(tell),
            correction=self.planner.correction
            or (Correction.MOVES if isinstance(model, Moves) else Correction.GENERAL),
            discount=self.planner.discount,
            method="rate",
            rounds=1,
            bonus_left=True,
            worthless=False,
            waits=False,
            state_names=model.state_names,
            action_names=model.action_names,
            proposal=proposal,
        )

    def _actions(
        self,
        model: Model,
        state: int,
        action: int,
        rates: FloatArray,
        ways_home: Sequence[FloatArray],
        share: FloatArray,
    ) -> tuple[ActionEvidence, ...]:
        """Return for each action the best rate that starts with it, and the ways home after it.

        `share` [A] is what the action would take of what is left of a budget.
        """
        leaving = model.leaving(state)
        ways = model.ahead(state, np.array(ways_home).reshape(-1, model.states))
        inside = None if self.search is None else self.search.allowed
        found = []
        for a in range(model.actions):
            kept = iter(ways[:, a].tolist())
            safety = tuple(
                1.0 if isinstance(c, StayInside) else next(kept) for c in self.planner.criteria
            )
            if a == action:
                verdict = Verdict.CHOSEN
            elif not np.isfinite(model.reward[state, a]):
                verdict = Verdict.UNAVAILABLE
            elif share[a] > 1.0 or (inside is not None and not inside[state, a]):
                verdict = Verdict.UNSAFE
            else:
                verdict = Verdict.NOT_CHOSEN
            weight = float(a == action)
            found.append(
                ActionEvidence(a, float(leaving[a]), float(rates[a]), safety, weight, verdict)
            )
        return tuple(found)

    def _searching(self, belief: Belief, model: Model) -> RateSearch:
        if self.search is None:
            floor = self.given_floor
            if floor is None:
                floor = _default_floor(self.planner.bonus, belief)
            inside = self._inside(model)
            if inside is not None and not inside[self.start].any():
                raise InvalidProblemError(
                    f"{_place(model, self.start)} is outside the set to stay inside: "
                    "no action there is in it"
                )
            # What is relied on means different things on both: a run keeps to one of them.
            self._on_graph = isinstance(model, Moves) and _earns_nothing(model)
            bonus, ledgers = self.planner.bonus, self._ledgers(model)
            self.search = RateSearch(bonus, ledgers, inside, max(floor, LEAST_FLOOR))
        return self.search

    def ledgers(self, belief: Belief) -> tuple[Ledger, ...]:
        """Return the homes that are kept, each with its budget."""
        return self._searching(belief, belief.mean()).ledgers

    def _ledgers(self, model: Model) -> tuple[Ledger, ...]:
        """Return a ledger for each criterion that asks for a way home."""
        found = []
        for criterion in self.planner.criteria:
            if isinstance(criterion, StayInside):
                continue
            if not isinstance(criterion, ReturnHome | ReturnWithin):
                raise InvalidProblemError(
                    f"{type(criterion).__name__} is kept plan by plan: use PaperExplorer"
                )
            if isinstance(criterion, ReturnWithin) and not self._on_graph:
                raise InvalidProblemError(
                    "ReturnWithin is kept over a whole run where moves work or stay and nothing is "
                    "earned; elsewhere it is kept plan by plan: use PaperExplorer"
                )
            if isinstance(criterion.home, str) and criterion.home == "current":
                raise InvalidProblemError(
                    'home="current" is the promise of a single plan: use PaperExplorer, '
                    'or home="start"'
                )
            found.append(_ledger(criterion, model, self.start))
        return tuple(found)

    def _inside(self, model: Model) -> BoolArray | None:
        """Return the mask [S, A] of what all sets to stay inside allow; None if there are none.

        An action is allowed if it surely leads to where the set has an action.
        """
        allowed: BoolArray | None = None
        shape = (model.states, model.actions)
        for criterion in self.planner.criteria:
            if isinstance(criterion, StayInside):
                given = criterion.allowed
                if given.shape != shape[: given.ndim]:
                    raise InvalidProblemError(
                        f"the set to stay inside has shape {given.shape}, expected "
                        f"{shape[:1]} or {shape}"
                    )
                open_states: BoolArray = given if given.ndim == 1 else np.any(given, axis=1)
                if isinstance(model, Moves):
                    leads = open_states[model.dest]
                else:
                    outside = (~open_states).astype(np.float64)
                    leads = (model.transitions @ outside).reshape(shape) <= 0.0
                mine = leads & (given[:, None] if given.ndim == 1 else given)
                allowed = mine if allowed is None else allowed & mine
        return allowed


def _earns_nothing(model: Moves) -> bool:
    """Tell whether no action of a model earns or costs anything."""
    return is_nothing(model.reward) or not (np.isfinite(model.reward) & (model.reward != 0.0)).any()


def _budgets(
    ledgers: Sequence[Ledger], accounts: Sequence[Account]
) -> tuple[tuple[str, float, float], ...]:
    return tuple(
        (ledger.name, ledger.delta, ledger.left(account))
        for ledger, account in zip(ledgers, accounts, strict=True)
    )


def _only(inside: BoolArray, state: int, action: int) -> BoolArray:
    """Return a mask [S, A] that leaves one action in a state."""
    mask = inside.copy()
    mask[state] = False
    mask[state, action] = inside[state, action]
    return mask


def _rate_of(ratio: Ratio) -> float:
    return 0.0 if ratio.action < 0 else ratio.gain / ratio.steps


def graph_of(belief: Any, model: Moves, correction: Correction | None) -> Graph:
    """Return the mean graph with the risk that each edge never works."""
    success = model.success
    if not is_nothing(model.reward):
        success = np.where(np.isfinite(model.reward), success, 0.0)
    if correction is Correction.NAIVE:
        blocked = np.where(success > 0.0, 0.0, 1.0)
        return Graph(model, success, blocked, blocked)
    if isinstance(belief, BoundedMoves):
        least = 1.0 - belief.success_bounds()[1]
    elif isinstance(belief, BlockedMoves):
        least = belief.blocked_probability()
    else:
        least = (model.success <= 0.0).astype(np.float64)
    if correction is not Correction.GENERAL and isinstance(belief, BlockedMoves):
        return Graph(model, success, belief.blocked_probability(), least)
    kind = Correction.GENERAL if correction is Correction.GENERAL else None
    sigma = corrections_of(belief, model, 0.5, kind).returning
    with np.errstate(divide="ignore", invalid="ignore"):
        blocked = np.where(model.success > 0.0, -sigma / model.success, 1.0)
    if correction is not Correction.GENERAL:
        blocked = np.minimum(blocked, 1.0 - model.success)
    return Graph(model, success, np.clip(blocked, 0.0, 1.0), least)


def _ledger(criterion: ReturnHome | ReturnWithin, model: Model, start: int) -> Ledger:
    """Return the ledger of a criterion."""
    homes = [start] if isinstance(criterion.home, str) else np.atleast_1d(criterion.home).tolist()
    states = np.unique([index(h, model.states, "home", InvalidProblemError) for h in homes]).astype(
        np.int64
    )
    within = criterion.steps if isinstance(criterion, ReturnWithin) else None
    name = f"return to {', '.join(_place(model, h) for h in states.tolist())}"
    if within is not None:
        name += f" within {within} step{'s' * (within != 1)}"
    return Ledger(name, states, criterion.delta, within)


def _place(model: Model, state: int) -> str:
    return model.state_names[state] if model.state_names else f"state {state}"


def _default_floor(bonus: Any, belief: Any) -> float:
    if isinstance(bonus, InformationGain):
        return 0.05
    if isinstance(bonus, Uncover):
        return 1e-3 * bonus.reward
    most = bonus(belief)  # a way longer than twice the states waits for luck
    return max(1e-3, 0.5 / len(most)) * float(np.max(most))


def _stay(model: Moves) -> int:
    """Return an action that stays wherever it is taken, 0 if there is none."""
    if "stay" not in model.memo:
        stays = (model.dest == np.arange(model.states)[:, None]).all(axis=0)
        model.memo["stay"] = int(stays.argmax()) if stays.any() else 0
    stay: int = model.memo["stay"]
    return stay


def _home_evidence(
    ledger: Ledger, account: Account, way_home: FloatArray, policy: IntArray
) -> CriterionEvidence:
    """Return what is kept of one home: of the whole run so far, and from each state."""
    kept = max(0.0, 1.0 - account.spent)
    return CriterionEvidence(
        name=ledger.name,
        level=ledger.delta,
        bound=kept,
        kept_bound=kept,
        multiplier=0.0,
        home=ledger.homes.astype(np.int32),
        way_home=way_home,
        return_policy=policy,
        within=ledger.within,
    )


def _stay_evidence(criterion: StayInside, model: Model) -> CriterionEvidence:
    """Return what is kept of a set: actions that might lead out of it are not taken."""
    given = criterion.allowed if criterion.allowed.ndim == 2 else criterion.allowed[:, None]
    what = "state-action" if criterion.allowed.ndim == 2 else "state"
    count = int(criterion.allowed.sum())
    return CriterionEvidence(
        name=f"stay inside the set of {count} {what}{'s' * (count != 1)}",
        level=criterion.delta,
        bound=1.0,
        kept_bound=1.0,
        multiplier=0.0,
        home=np.empty(0, np.int32),
        way_home=np.zeros(model.states),
        return_policy=np.full(model.states, -1, np.int32),
        kind="stay",
        allowed=np.broadcast_to(given, (model.states, model.actions)),
    )


def _end(limit: Limit, search: RateSearch) -> End:
    """Return why there is no proposal."""
    if limit.left <= 0.0:
        return End.ALL_SEEN
    if np.isfinite(limit.share) and limit.share > 1.0:
        return End.BUDGET
    if limit.rate > 0.0:
        return End.TOO_LITTLE
    if search.ledgers or search.allowed is not None:
        return End.ALL_SAFE_SEEN
    return End.OUT_OF_REACH
