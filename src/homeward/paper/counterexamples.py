"""The paper's three counterexamples (section 3.3), each against one weaker definition of safety.

A story is a small belief on which a weaker definition accepts a policy that our definition refuses.
States and actions have the paper's letters. The policy starts at home, and the recall has
probability 1 − γ at each step. Each policy has these numbers:

- *naive* is the probability of getting home by the weaker definition. In "Known odds", it is the
  least probability of getting home after one use of a state-action of the policy. In "Which way
  back", it is the mean over worlds of the value of the best outbound and return policy for that
  world alone. In "The average loop", it is the exact value on the mean model.
- *exact* is the number by the paper's definition: the mean probability of getting home under the
  best deterministic return policy, which is the same in every world.
- *bounds* are the planner's lower bounds with the general correction and, if the worlds are
  move-or-stay, with the moves correction. They never exceed the exact value.

The paper says that the weaker definition accepts the policy of the second story. With a geometric
recall and one outbound policy for both worlds, it does so in only one world: the end of the closed
road has no way back. It accepts the policy for a recall in B, and if each world has its own pair of
policies. The latter is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from homeward.arrays import FloatArray, IntArray
from homeward.beliefs import FiniteBelief, corrections_of
from homeward.beliefs.corrections import Correction
from homeward.criteria import ReturnHome, Situation
from homeward.models import Model, Moves, SparseMDP
from homeward.referee.exact import dense_transitions, exact_recall, exact_return
from homeward.solvers import engine

HOME = np.array([0])  # home [1]: the first state, in which the explorer starts
DISCOUNTS = (0.99, 0.999)


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """A belief and the weaker definition of safety that it refutes."""

    title: str
    belief: FiniteBelief
    world_names: tuple[str, ...]  # [M]
    naive: str  # the refuted definition, in words
    lesson: str  # explanation: what the refuted definition accepts and ours refuses

    def state(self, name: str) -> int:
        """Return the number of a state by its letter."""
        return (self.belief.worlds[0].state_names or ()).index(name)

    def action(self, name: str) -> int:
        """Return the number of an action by its letter."""
        return (self.belief.worlds[0].action_names or ()).index(name)


def known_odds() -> Story:
    """Return one known MDP in which safety depends on how often an action is taken.

    In S, ``a`` leads to B with probability .8 and to the sink E with .2. In B, ``b`` leads home,
    ``a`` leads to F, and ``c`` stays with probability .9 and leads to E with .1. In F, ``b`` leads
    back to B.
    """
    known = SparseMDP.from_names(
        {
            "S": {"a": {"B": 0.8, "E": 0.2}},
            "B": {"a": "F", "b": "S", "c": {"B": 0.9, "E": 0.1}},
            "F": {"b": "B"},
            "E": {},
        }
    )
    return Story(
        "Known odds",
        FiniteBelief([known]),
        ("the only world",),
        "every state-action that is used is safe by itself",
        "The rule: every single move must leave a way home. From S, move a leads to B in 8 of 10 "
        "tries, else into the hole E, which has no way out. In B, the plan a,a,b,a,b,… goes to F "
        "and back, which is harmless; the plan a,c,c,c,… repeats c, which falls into E in 1 of 10 "
        "tries. Both obey the rule: after any one of their moves home is reached with probability "
        ".8 or more. But an explorer that repeats c falls sooner or later. Safety belongs to a "
        "whole plan, not to its single moves.",
    )


def which_way_back() -> Story:
    """Return two worlds, each with a sure way home; no return policy is sure in both.

    In S, ``a`` leads to B and ``b`` stays. In B, ``a`` leads to U and ``b`` to L. The road home is
    open from U in one world and from L in the other. From a state whose road is closed there is no
    way out.
    """
    roads = {"S": {"a": "B", "b": "S"}, "B": {"a": "U", "b": "L"}, "U": {"a": "S"}, "L": {"a": "S"}}
    return Story(
        "Which way back",
        FiniteBelief([_open_roads(roads, closed) for closed in "LU"]),
        ("home is via U, probability .5", "home is via L, probability .5"),
        "every sampled MDP has its own way home",
        "The rule: every possible world must have a way home. Beyond B two roads, by U and by L, "
        "lead towards home S. One of them is closed, and nobody knows which; the end of a closed "
        "road can't be left. Each world has a sure way home for somebody who knows the world, so "
        "the rule allows leaving S. But the explorer in B has to choose without knowing, and comes "
        "home in one of two worlds. One way home must work in all worlds at once, so at δ = .6 the "
        "planner stays in S.",
    )


def average_loop() -> Story:
    """Return two worlds without a way home; their mean model has a sure way home.

    ``a`` leads from A to B, from B to C and from C to A. The last road is closed in one world, the
    middle road in the other. On the mean model each of the two works with probability ½, so
    repeated attempts get home.
    """
    roads = {"A": {"a": "B"}, "B": {"a": "C"}, "C": {"a": "A"}}
    return Story(
        "The average loop",
        FiniteBelief([_open_roads(roads, closed) for closed in "CB"]),
        ("C is a trap, probability .5", "B is a trap, probability .5"),
        "the mean model has a way home",
        "The rule: the average of the possible worlds must have a way home. The road leads from A "
        "to B, to C and back to A. Either B or C is a trap, and nobody knows which. On average, "
        "each of the two can be left on every second try, so that an explorer that plans on the "
        "average tries until it works, and expects to come home for sure. In both real worlds one "
        "of the two can never be left, and it never comes home. No real world is average.",
    )


def all_stories() -> tuple[Story, Story, Story]:
    """Return the three stories, in the paper's order."""
    return known_odds(), which_way_back(), average_loop()


def _open_roads(roads: Mapping[str, Mapping[str, str]], closed: str) -> Moves:
    """Return the world in which all roads are open except those out of the state `closed`."""
    states, actions = list(roads), sorted({a for out in roads.values() for a in out})
    dest = np.repeat(np.arange(len(states))[:, None], len(actions), axis=1)
    success, reward = np.zeros(dest.shape), np.full(dest.shape, -np.inf)
    for s, (state, out) in enumerate(roads.items()):
        for action, target in out.items():
            at = s, actions.index(action)
            dest[at], success[at], reward[at] = states.index(target), state != closed, 0.0
    return Moves(dest, success, reward, tuple(states), tuple(actions))


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
        """The policy's numbers: naive, exact, and the bounds by both corrections."""
        return self.naive, self.exact, self.bound_general, self.bound_moves


def compare(discounts: Sequence[float] = DISCOUNTS) -> list[Row]:
    """Return one row per story, γ and set of policies; each number is the largest in the set."""
    judges = (judged_singly, judged_by_world, judged_on_mean)
    cases: tuple[tuple[tuple[str, dict[str, str], str], ...], ...] = (
        (
            ("a,a,b,a,b,…", {"B": "a"}, "value .8 + .2(1−γ): safe at δ = .8, not at .81"),
            ("a,c,c,c,…", {"B": "c"}, "value 0 as γ → 1, although Sa and B are the same"),
        ),
        (
            ("stay: b,b,b,…", {"S": "b"}, "never leaves: value 1"),
            ("leave by a (best)", {"S": "a"}, "value at most .5 + .5(1−γ)"),
        ),
        (("a,a,a,…", {}, "value 1−γ: it never returns"),),
    )
    found = []
    for story, judged, policies_of_story in zip(all_stories(), judges, cases, strict=True):
        is_moves = isinstance(story.belief.worlds[0], Moves)
        for discount, (name, choices, shows) in product(discounts, policies_of_story):
            ways = taking(story, choices)
            general, moves = (
                max(bound_value(story.belief, way, discount, kind) for way in ways)
                if is_moves or kind is Correction.GENERAL
                else None
                for kind in (Correction.GENERAL, Correction.MOVES)
            )
            assert general is not None
            naive = judged(story.belief, ways, discount)
            exact = exact_value(story.belief, ways, discount)
            found.append(Row(story.title, name, discount, naive, exact, general, moves, shows))
    return found


def policies(model: Model) -> Iterator[IntArray]:
    """Yield all deterministic stationary policies [S] of a small model."""
    for pick in product(*(np.flatnonzero(usable) for usable in np.isfinite(model.reward))):
        yield np.array(pick, np.int32)


def taking(story: Story, choices: Mapping[str, str]) -> list[IntArray]:
    """Return the deterministic policies [S] that take the named action in each named state."""
    fixed = [(story.state(state), story.action(action)) for state, action in choices.items()]
    every = policies(story.belief.worlds[0])
    return [policy for policy in every if all(policy[s] == a for s, a in fixed)]


def exact_value(belief: FiniteBelief, ways: Sequence[IntArray], discount: float) -> float:
    """Return the largest mean probability of getting home, over `ways` and all return policies.

    The same return policy is used in all worlds.
    """
    worlds = [dense_transitions(world) for world in belief.worlds]

    def came_home(way: IntArray, back: IntArray) -> float:
        return sum(
            float(weight)
            * float(exact_recall(world, way, exact_return(world, back, HOME), discount)[0])
            for weight, world in zip(belief.weights, worlds, strict=True)
        )

    return max(came_home(way, back) for way in ways for back in policies(belief.worlds[0]))


def bound_value(belief: FiniteBelief, way: IntArray, discount: float, kind: Correction) -> float:
    """Return the planner's lower bound for a policy [S]: its corrected value on the mean model."""
    model = belief.mean()
    corrections = corrections_of(belief, model, discount, kind)
    requirement = ReturnHome(1.0).require(Situation(model, corrections, discount, 0, 0))
    value = engine(model, discount, requirement.reward[None]).evaluate(way)
    return max(0.0, float(value[0, 0]))


def judged_singly(belief: FiniteBelief, ways: Sequence[IntArray], discount: float) -> float:
    """Return the least probability of returning after one use of a state-action of the policy."""
    (world,), (way,) = belief.worlds, ways
    home, transitions = way_home(world), dense_transitions(world)
    reached, ahead, least = {0}, [0], 1.0
    while ahead:
        s = ahead.pop()
        row = transitions[s, way[s]]
        least = min(least, float(row @ home))
        new = set(np.flatnonzero((row > 0) & (home > 0)).tolist()) - reached
        reached |= new
        ahead += new
    return least


def judged_by_world(belief: FiniteBelief, ways: Sequence[IntArray], discount: float) -> float:
    """Return the mean over worlds of the value of the best policies for that world alone."""
    each = [exact_value(FiniteBelief([world]), ways, discount) for world in belief.worlds]
    return sum(float(weight) * best for weight, best in zip(belief.weights, each, strict=True))


def judged_on_mean(belief: FiniteBelief, ways: Sequence[IntArray], discount: float) -> float:
    """Return the exact value of the best of `ways` if the mean model were the world."""
    return exact_value(FiniteBelief([belief.mean()]), ways, discount)


def way_home(world: Model) -> FloatArray:
    """Return the exact probability [S] of reaching home under the best return policy in a world."""
    transitions = dense_transitions(world)
    every = [exact_return(transitions, back, HOME) for back in policies(world)]
    return np.asarray(np.max(every, axis=0))
