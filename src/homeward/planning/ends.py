"""The codes of why an exploration ends; `words.ENDS` has a sentence for each."""

from __future__ import annotations

from enum import StrEnum


class End(StrEnum):
    """Why an exploration ended; `words.ENDS` has the sentence for each code."""

    ALL_SEEN = "all_seen"
    ALL_SAFE_SEEN = "all_safe_seen"
    OUT_OF_REACH = "out_of_reach"
    TOO_LITTLE = "too_little"
    ONLY_BY_CHANCE = "only_by_chance"
    BUDGET = "budget"
    NOT_LEARNING = "not_learning"
    LOST = "lost"
    INFEASIBLE = "infeasible"
    OUTSIDE = "outside"
    HOME = "home"  # a run with limits, such as energy: the explorer is back home
    OUT_OF_RANGE = "out_of_range"  # a run with limits: no way home is within what is left of them
    STEPS = "steps"
    REFUTED = "refuted"  # what happened contradicts the belief, so nothing is promised any more
    STUCK = "stuck"  # only in studies: the rover can't leave its cell
