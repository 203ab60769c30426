"""One BLAS thread for the small dense solves of general models.

On a model with a few hundred states, the threads of a BLAS wait for each other longer than they
compute: a plan then takes several times the processor time, and much more on a busy machine. One
thread also makes the rounding, and so a run, independent of the number of cores.
"""

from __future__ import annotations

from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

from homeward.models import Moves

if TYPE_CHECKING:
    from collections.abc import Callable

Method = TypeVar("Method", bound="Callable[..., Any]")


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


def on_one_thread(method: Method) -> Method:
    """Return a method ``(self, belief, ...)`` that uses one BLAS thread on general models.

    On move-or-stay graphs no solver uses a BLAS, and the method is called as it is.
    """

    @wraps(method)
    def call(self: object, belief: Any, *others: Any, **named: Any) -> Any:
        if isinstance(belief.mean(), Moves):
            return method(self, belief, *others, **named)
        with _blas().limit(limits=1):
            return method(self, belief, *others, **named)

    return cast("Method", call)
