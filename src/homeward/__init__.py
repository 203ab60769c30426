"""Homeward: exploration of unknown worlds that keeps a way home with a probability you set.

Everything public can be imported from here; ``__init__.pyi`` lists it. Names are loaded when they
are first used, so that ``import homeward`` is quick.
"""

import os

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except ModuleNotFoundError as cause:
        from homeward.extras import missing

        raise missing(cause, f"homeward.{name}") from cause


# Numba refuses to start where it can write its cache neither beside the source nor at home.
if not any(os.access(place, os.W_OK) for place in (__path__[0], os.path.expanduser("~"))):
    import tempfile

    os.environ.setdefault("NUMBA_CACHE_DIR", tempfile.mkdtemp(prefix="homeward-numba-"))
