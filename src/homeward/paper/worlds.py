"""The paper's three counterexamples (section 3.3), each against one weaker definition of safety.

A story is a small belief on which a weaker definition of "safe" accepts a policy that ours refuses.
States and actions carry the paper's letters. The second and third are move-or-stay: in each world a
road is open or closed, so both corrections apply to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from homeward.beliefs import FiniteBelief
from homeward.errors import InvalidInputError
from homeward.models import Moves, SparseMDP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """A belief and the definition of safety that it refutes."""

    title: str
    belief: FiniteBelief
    home: int  # also where the explorer starts
    world_names: tuple[str, ...]  # [M]
    naive: str  # the refuted definition, in words
    lesson: str  # what that definition accepts and ours refuses

    def state(self, name: str) -> int:
        """Return the number of a state by its letter."""
        return _find(self.belief.worlds[0].state_names, name)

    def action(self, name: str) -> int:
        """Return the number of an action by its letter."""
        return _find(self.belief.worlds[0].action_names, name)


def known_odds() -> Story:
    """Return one known MDP in which safety depends on how often an action is taken.

    From S, ``a`` reaches B with .8 and the sink E with .2. In B, ``b`` goes home, ``a`` goes to F
    (from where ``b`` comes back) and ``c`` stays with .9, else falls into E.
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
        title="Known odds",
        belief=FiniteBelief([known]),
        home=0,
        world_names=("the only world",),
        naive="every state-action that is used is safe by itself",
        lesson=(
            "Judged one by one, each state-action of a,c,c,c,… leaves a way home with at least .8, "
            "as it does for a,a,b,a,b,…; but repeating c surely ends in E. Both policies use Sa "
            "and B, so these are neither safe nor unsafe: a policy is. At δ = .8 ours accepts "
            "a,a,b,a,b,… and refuses a,c,c,c,…"
        ),
    )


def which_way_back() -> Story:
    """Return two worlds, each with a sure way home, and no policy that is sure in both.

    From S, ``a`` goes to B and ``b`` stays. From B, ``a`` goes to U and ``b`` to L. The road home
    is open from U in one world and from L in the other; the closed one holds for good.
    """
    roads = {"S": {"a": "B", "b": "S"}, "B": {"a": "U", "b": "L"}, "U": {"a": "S"}, "L": {"a": "S"}}
    return Story(
        title="Which way back",
        belief=FiniteBelief([_open_roads(roads, closed="L"), _open_roads(roads, closed="U")]),
        home=0,
        world_names=("home is via U, probability .5", "home is via L, probability .5"),
        naive="every sampled MDP has its own way home",
        lesson=(
            "Each sampled MDP has a sure way home, so asking for one per MDP accepts leaving S. "
            "In B the explorer does not know the MDP: one return policy must serve "
            "both, and none is worth more than .5 + .5(1−γ). Ours refuses to leave S for any "
            "δ from .6 up."
        ),
    )


def average_loop() -> Story:
    """Return two worlds without a way home whose mean has a sure one.

    ``a`` leads from A to B, from B to C and from C to A; the last road is closed in one world, the
    middle one in the other. On the mean each works half of the time, so trying again gets home.
    """
    roads = {"A": {"a": "B"}, "B": {"a": "C"}, "C": {"a": "A"}}
    return Story(
        title="The average loop",
        belief=FiniteBelief([_open_roads(roads, closed="C"), _open_roads(roads, closed="B")]),
        home=0,
        world_names=("C is a trap, probability .5", "B is a trap, probability .5"),
        naive="the mean model has a way home",
        lesson=(
            "On the mean model a,a,a,… comes round to A with probability 1, so planning on the "
            "mean accepts it. In both worlds it never comes back: the exact value is 1−γ. Ours "
            "bounds it by no more than that and refuses."
        ),
    )


def all_stories() -> tuple[Story, Story, Story]:
    """Return the three stories, in the paper's order."""
    return known_odds(), which_way_back(), average_loop()


def _open_roads(roads: Mapping[str, Mapping[str, str]], *, closed: str) -> Moves:
    """Return the world in which every road is open but those out of one state."""
    states = {name: s for s, name in enumerate(roads)}
    actions = {name: a for a, name in enumerate(sorted({a for out in roads.values() for a in out}))}
    dest = np.repeat(np.arange(len(states))[:, None], len(actions), axis=1)
    success = np.zeros(dest.shape)
    reward = np.full(dest.shape, -np.inf)
    for state, out in roads.items():
        for action, target in out.items():
            at = states[state], actions[action]
            dest[at], success[at], reward[at] = states[target], float(state != closed), 0.0
    return Moves(dest, success, reward, tuple(states), tuple(actions))


def _find(names: Sequence[str] | None, name: str) -> int:
    if names is None or name not in names:
        raise InvalidInputError(f"{name!r} is not one of {', '.join(names or ())}")
    return names.index(name)
