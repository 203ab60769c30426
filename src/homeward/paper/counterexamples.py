"""The paper's three counterexamples: values of policies by each definition of safety.

For a policy out of a story's home, and recall with chance 1 − γ per step:

- *naive* is the refuted definition's own number. Known odds: the least, over the state-actions that
the policy uses, of the probability to get home after taking it once. Which way back: each world has
its own pair of policies that leaves home. The average loop: the exact value on the mean model.
- *exact* is the paper's definition by enumeration: the best over deterministic return policies, the
  same one in every world, of the mean probability of getting home.
- *bounds* are what the planner would prove, with the general and, where the worlds are
  move-or-stay, with the moves correction; never above the exact value.

The paper says of the second story that its naive condition holds. With geometric recall and the
way out fixed as well, it holds in one world only: the wrong road from B has no way back. It holds
for a recall in B, and for a pair of policies per world, which is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import corrections_of
from homeward.beliefs.corrections import Correction
from homeward.certificates.policy_values import dense_transitions, exact_recall, exact_return
from homeward.models import Moves
from homeward.paper.figures.stories import Bars, Graph, Panel
from homeward.paper.worlds import all_stories, average_loop
from homeward.safety import ReturnHome, Situation
from homeward.solvers import engine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from homeward.arrays import FloatArray, IntArray
    from homeward.models import Model
    from homeward.paper.worlds import Story

DISCOUNTS = (0.99, 0.999)
SERIES = ("naive definition", "exact value", "bound, general", "bound, moves")


@dataclass(frozen=True, slots=True)
class Row:
    """One policy in one story at one γ."""

    story: str
    policy: str
    discount: float  # γ
    naive: float
    exact: float
    bound_general: float
    bound_moves: float | None  # None unless the worlds are move-or-stay
    shows: str

    @property
    def values(self) -> tuple[float, float, float, float | None]:
        """The numbers, in the order of `SERIES`."""
        return self.naive, self.exact, self.bound_general, self.bound_moves


def compare(discounts: Sequence[float] = DISCOUNTS) -> list[Row]:
    """Return the values of every policy by every definition, at each γ."""
    odds, ways, loop = all_stories()
    found = []
    for discount in discounts:
        for name, choices, shows in (
            (
                "a,a,b,a,b,…",
                {"S": "a", "B": "a", "F": "b"},
                "worth .8 + .2(1−γ): safe at δ = .8, not at .81",
            ),
            ("a,c,c,c,…", {"S": "a", "B": "c"}, "worth 0 as γ → 1, though Sa and B are the same"),
        ):
            outbound = policy_of(odds, choices)
            naive = judged_singly(odds, outbound)
            found.append(_row(odds, name, discount, naive, [outbound], shows))
    for discount in discounts:
        for name, action, shows in (
            ("stay: b,b,b,…", "b", "never left: sure"),
            ("leave by a (best)", "a", "worth at most .5 + .5(1−γ)"),
        ):
            outbounds = leaving(ways, action)
            naive = judged_by_world(ways, outbounds, discount)
            found.append(_row(ways, name, discount, naive, outbounds, shows))
    outbound, shows = policy_of(loop, {}), "worth 1−γ: it never comes back"
    for discount in discounts:
        naive = judged_on_mean(loop, outbound, discount)
        found.append(_row(loop, "a,a,a,…", discount, naive, [outbound], shows))
    return found


def policies(model: Model) -> Iterator[IntArray]:
    """Enumerate the deterministic stationary policies [S] of a small model."""
    choices = (np.flatnonzero(usable) for usable in np.isfinite(model.reward))
    for pick in product(*choices):
        yield np.array(pick, np.int32)


def policy_of(story: Story, choices: Mapping[str, str]) -> IntArray:
    """Return the policy [S] that takes the named action in each named state, else the first."""
    policy = next(policies(story.belief.worlds[0]))
    for state, action in choices.items():
        policy[story.state(state)] = story.action(action)
    return policy


def leaving(story: Story, action: str) -> list[IntArray]:
    """Return the deterministic policies that take an action at home."""
    chosen = story.action(action)
    return [p for p in policies(story.belief.worlds[0]) if p[story.home] == chosen]


def exact_value(story: Story, outbound: IntArray, discount: float) -> float:
    """Return the paper's safety of a policy: with the best return policy, one for all worlds."""
    weighted = list(zip(story.belief.weights, story.belief.worlds, strict=True))
    return max(
        sum(float(w) * _way_back(m, outbound, back, story.home, discount) for w, m in weighted)
        for back in policies(story.belief.worlds[0])
    )


def bound_value(story: Story, outbound: IntArray, discount: float, kind: Correction) -> float:
    """Return the planner's lower bound of a policy: its corrected value on the mean model."""
    model = story.belief.mean()
    corrections = corrections_of(story.belief, model, discount, kind)
    situation = Situation(model, corrections, discount, story.home, story.home)
    requirement = ReturnHome(1.0).require(situation)
    value = engine(model, discount, requirement.reward[None]).evaluate(outbound)
    return max(0.0, float(value[0, story.home]))


def judged_singly(story: Story, outbound: IntArray) -> float:
    """Return the least probability, over a policy's state-actions, of return after one use."""
    (model,) = story.belief.worlds
    transitions = dense_transitions(model)
    way_home = _best_way_home(model, story.home)
    reached, ahead = {story.home}, [story.home]
    least = 1.0
    while ahead:
        s = ahead.pop()
        row = transitions[s, outbound[s]]
        least = min(least, float(row @ way_home))
        for t in np.flatnonzero((row > 0) & (way_home > 0)):
            if int(t) not in reached:
                reached.add(int(t))
                ahead.append(int(t))
    return least


def judged_by_world(story: Story, outbounds: Iterable[IntArray], discount: float) -> float:
    """Return the mean over worlds of the best pair (outbound, return) of that world alone."""
    ways = list(outbounds)
    return sum(
        float(weight)
        * max(
            _way_back(world, out, back, story.home, discount)
            for out in ways
            for back in policies(world)
        )
        for weight, world in zip(story.belief.weights, story.belief.worlds, strict=True)
    )


def judged_on_mean(story: Story, outbound: IntArray, discount: float) -> float:
    """Return the exact value of a policy as if the mean model were the world."""
    mean = story.belief.mean()
    return max(_way_back(mean, outbound, back, story.home, discount) for back in policies(mean))


def as_text(rows: Sequence[Row]) -> str:
    """Return the rows as a table of plain text, one line each under a header."""
    head = ("story", "policy", "γ", "naive", "exact", "general", "moves", "shows")
    cells = [head] + [
        (
            row.story,
            row.policy,
            f"{row.discount:g}",
            *("-" if v is None else f"{v:.6f}" for v in row.values),
            row.shows,
        )
        for row in rows
    ]
    widths = [max(len(line[i]) for line in cells) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def panels(rows: Sequence[Row], discount: float) -> list[Panel]:
    """Return the stories' graphs and the rows at one γ for `homeward.paper.figures.stories`."""
    found = []
    for number, story in enumerate(all_stories(), start=1):
        graphs = [
            Graph(name, world, story.home, _lost(world, story.home))
            for name, world in zip(story.world_names, story.belief.worlds, strict=True)
        ]
        if story.title == average_loop().title:
            graphs.append(Graph("the mean model", story.belief.mean(), story.home))
        bars = [
            Bars(row.policy, row.values)
            for row in rows
            if row.story == story.title and row.discount == discount
        ]
        title, naive = f"{number}. {story.title}", f"The naive definition: {story.naive}."
        found.append(Panel(title, naive, tuple(graphs), tuple(bars)))
    return found


def _row(
    story: Story,
    policy: str,
    discount: float,
    naive: float,
    outbounds: Sequence[IntArray],
    shows: str,
) -> Row:
    """Return a row with the exact value and the bounds, each the best over `outbounds`."""

    def best_bound(kind: Correction) -> float:
        return max(bound_value(story, out, discount, kind) for out in outbounds)

    moves = isinstance(story.belief.worlds[0], Moves)
    return Row(
        story=story.title,
        policy=policy,
        discount=discount,
        naive=naive,
        exact=max(exact_value(story, out, discount) for out in outbounds),
        bound_general=best_bound(Correction.GENERAL),
        bound_moves=best_bound(Correction.MOVES) if moves else None,
        shows=shows,
    )


def _way_back(
    model: Model, outbound: IntArray, back: IntArray, home: int, discount: float
) -> float:
    """Return the exact probability of getting home in one world, recalled at any step."""
    transitions = dense_transitions(model)
    way_home = exact_return(transitions, back, np.array([home]))
    return float(exact_recall(transitions, outbound, way_home, discount)[home])


def _best_way_home(model: Model, home: int) -> FloatArray:
    """Return the best exact probability [S] of reaching home in one world."""
    transitions = dense_transitions(model)
    every = [exact_return(transitions, back, np.array([home])) for back in policies(model)]
    return np.asarray(np.max(every, axis=0))


def _lost(model: Model, home: int) -> frozenset[int]:
    return frozenset(int(s) for s in np.flatnonzero(_best_way_home(model, home) == 0.0))
