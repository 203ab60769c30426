"""One BLAS thread for small dense matrices.

With a few hundred rows, the threads of a BLAS wait for each other longer than they compute: a plan
on a general model then takes several times the processor time, and much more on a busy machine. One
thread also makes the rounding, and so a run, independent of the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache, wraps
from types import MethodType
from typing import Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

from homeward.models import Moves

Method = TypeVar("Method", bound="Callable[..., Any]")


@lru_cache(maxsize=1)
def _blas() -> ThreadpoolController:
    """Return the controller of the threads of all loaded BLAS libraries."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Return a context manager within which every BLAS uses one thread."""
    result: AbstractContextManager[Any] = _blas().limit(limits=1)
    return result


def on_one_thread(method: Method) -> Method:
    """Decorate a method ``(self, belief, ...)``: on general models it uses one BLAS thread.

    On move-or-stay models no solver uses a BLAS, so the threads are not limited. The method itself
    refuses what is not a belief.
    """

    @wraps(method)
    def call(self: object, belief: Any, *others: Any, **named: Any) -> Any:
        mean = getattr(belief, "mean", None)
        if not isinstance(mean, MethodType) or isinstance(mean(), Moves):
            return method(self, belief, *others, **named)
        with one_thread():
            return method(self, belief, *others, **named)

    return cast("Method", call)
