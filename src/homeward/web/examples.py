"""The paper's example worlds and counterexamples, as JSON for the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from homeward.models import Model
from homeward.paper.counterexamples import Story, all_stories, compare
from homeward.paper.examples import WORLDS
from homeward.paper.figures.stories import PLACES

STORIES = {
    "pit": (
        "The pit",
        "A safe and an unsafe explorer take the same first step. Then the unsafe one enters a pit "
        "that it can't leave.",
    ),
    "detour": (
        "The detour",
        "There is a way back, but at first the explorer can't see it. The safe explorer looks for "
        "it before it descends. The unsafe one descends at once, and later gets stuck.",
    ),
    "gamble": (
        "The gamble",
        "Every way back from the East crosses one unseen square. One of its five possible heights "
        "is too high. The move East is safe enough at δ = 0.8, but not at δ = 1.",
    ),
}
LEVELS = {"Known odds": 0.8, "Which way back": 0.6, "The average loop": 0.5}
"""Safety level of each counterexample, by title."""

DISCOUNT = 0.99  # probability that the explorer is not called home before a move


def examples() -> dict[str, Any]:
    """Return all examples as JSON values."""
    worlds = [
        {"name": name, "title": title, "story": story, "map": str(WORLDS[name])}
        for name, (title, story) in STORIES.items()
    ]
    return {"worlds": worlds, "counterexamples": [counterexample(s) for s in all_stories()]}


def counterexample(story: Story) -> dict[str, Any]:
    """Return a counterexample as JSON values: its worlds as graphs, and its policies' safety."""
    names = tuple(story.belief.worlds[0].state_names or ())
    rows = [row for row in compare([DISCOUNT]) if row.story == story.title]
    return {
        "name": story.title.lower().replace(" ", "-"),
        "title": story.title,
        "story": story.lesson,
        "delta": LEVELS[story.title],
        "discount": DISCOUNT,
        "states": [
            {"name": name, "x": x, "y": y}
            for name, (x, y) in zip(names, PLACES[names], strict=True)
        ],
        "worlds": [
            {"weight": float(weight), "edges": edges_of(world)}
            for weight, world in zip(story.belief.weights, story.belief.worlds, strict=True)
        ],
        "rows": [
            {
                "label": row.policy,
                "naive": row.naive,
                "exact": row.exact,
                "bound": row.bound_general if row.bound_moves is None else row.bound_moves,
            }
            for row in rows
        ],
    }


def edges_of(model: Model) -> list[dict[str, Any]]:
    """Return the edges of a model: names of states and action, and the probability `p`."""
    states, actions = model.state_names, model.action_names
    assert states is not None
    assert actions is not None
    return [
        {"from": states[s], "to": states[t], "action": actions[a], "p": float(p)}
        for s, a in np.argwhere(model.reward > -np.inf)
        for t, p in enumerate(model.row(s, a))
        if p > 0.0
    ]
