"""Homeward: exploration of unknown worlds that keeps a way home with a probability you set.

Everything public can be imported from here; ``__init__.pyi`` lists it. Names are loaded when they
are first used, so that ``import homeward`` is quick.
"""

import os

from homeward.environments import register_now_or_later

__version__ = "0.2.0"


def _attached() -> tuple:  # type: ignore[type-arg]
    """Return `__getattr__`, `__dir__` and `__all__` of the listed names; the list is read once."""
    if "_ATTACHED" not in globals():
        import lazy_loader

        globals()["_ATTACHED"] = lazy_loader.attach_stub(__name__, __file__)
    found: tuple = globals()["_ATTACHED"]  # type: ignore[type-arg]
    return found


def __getattr__(name: str) -> object:
    load, _, names = _attached()
    if name == "__all__":
        return names
    try:
        return load(name)
    except ModuleNotFoundError as cause:
        from homeward.extras import missing

        raise missing(cause, f"homeward.{name}") from cause


def __dir__() -> list[str]:
    found: list[str] = _attached()[1]()
    return found


# Numba refuses to start where it can write its cache neither beside the source nor at home.
if not any(os.access(place, os.W_OK) for place in (__path__[0], os.path.expanduser("~"))):
    import tempfile

    os.environ.setdefault("NUMBA_CACHE_DIR", tempfile.mkdtemp(prefix="homeward-numba-"))

register_now_or_later()
