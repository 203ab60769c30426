"""All exceptions that Homeward raises on purpose, in one tree below `HomewardError`.

Every message names the culprit and its place, as in
``row (s=17, a=3) of the transitions sums to 1.2``.
"""


class HomewardError(Exception):
    """The root of all exceptions that Homeward raises on purpose."""


class InvalidInputError(HomewardError, ValueError):
    """An input is wrong; the message says what and where."""


class InvalidModelError(InvalidInputError):
    """An MDP is invalid: a probability, a shape, a reward or a destination."""


class InvalidBeliefError(InvalidInputError):
    """A belief is invalid: its weights, concentrations, heights or worlds."""


class InvalidProblemError(InvalidInputError):
    """A planning problem is invalid: δ, γ, a home, a start, a bonus or a criterion."""


class InvalidFileError(InvalidInputError):
    """A file does not follow its format."""


class MissingPixelSizeError(InvalidInputError):
    """A raster has no pixel size of its own, and the caller gave none."""


class ImpossibleObservationError(HomewardError):
    """An observation has probability zero under the belief that it should update."""


class InfeasibleError(HomewardError):
    """A strict explorer can't go on: no policy keeps its criteria."""


class MissingExtraError(HomewardError, ImportError):
    """An optional dependency is not installed; the message names the extra that installs it."""
