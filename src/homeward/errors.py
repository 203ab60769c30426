"""Everything Homeward raises on purpose.

One tree: catch `HomewardError` for all of it. Every message names the culprit and its place, as in
``row (s=17, a=3) of the transitions sums to 1.2``.
"""


class HomewardError(Exception):
    """The root of every exception that Homeward raises on purpose."""


class InvalidInputError(HomewardError, ValueError):
    """Something handed in is wrong; the message says what and where."""


class InvalidModelError(InvalidInputError):
    """An MDP is not one: a probability, a shape, a reward or a destination is off."""


class InvalidBeliefError(InvalidInputError):
    """A belief is not one: weights, concentrations or member models do not fit."""


class InvalidProblemError(InvalidInputError):
    """A planning problem is off: δ, γ, a home, a start, a bonus or a criterion."""


class InvalidFileError(InvalidInputError):
    """A file does not say what its format promises."""


class ImpossibleObservationError(HomewardError):
    """An observation has probability zero under the belief it is to update."""


class InfeasibleError(HomewardError):
    """A strict explorer was asked to go on although no policy keeps its criteria."""


class MissingExtraError(HomewardError, ImportError):
    """A part of Homeward is not installed; the message says which extra brings it."""
