"""All exceptions that Homeward raises on purpose; their base class is `HomewardError`.

Where one entry is wrong, the message names it and its index, as in
``row (s=17, a=3) of the transitions sums to 1.2``.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class HomewardError(Exception):
    """The base class of all exceptions that Homeward raises on purpose."""


class InvalidInputError(HomewardError, ValueError):
    """An input is invalid; the message says what is wrong, and where."""


class InvalidModelError(InvalidInputError):
    """An MDP is invalid: a probability, a shape, a reward or a destination."""


class InvalidBeliefError(InvalidInputError):
    """A belief is invalid: its weights, concentrations, heights or worlds."""


class InvalidProblemError(InvalidInputError):
    """A planning problem is invalid: δ, γ, a home, a start, a bonus or a criterion."""


class InvalidFileError(InvalidInputError):
    """A file does not follow its format."""


class MissingPixelSizeError(InvalidInputError):
    """A raster file states no pixel size, and the caller gave none."""


class ImpossibleObservationError(HomewardError):
    """An observation has probability 0 under the belief."""


class InfeasibleError(HomewardError):
    """A strict explorer stops with this error: no policy meets its criteria."""


class MissingExtraError(HomewardError, ImportError):
    """An optional dependency is not installed; the message names the extra that installs it."""


@contextmanager
def prefixed(prefix: object, error: type[InvalidInputError] = InvalidInputError) -> Iterator[None]:
    """Raise an `InvalidInputError` from the block again as `error`, its message after `prefix`."""
    try:
        yield
    except InvalidInputError as cause:
        raise error(f"{prefix}: {cause}") from cause
