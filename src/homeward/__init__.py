"""Homeward: exploration of unknown worlds that keeps a way home with a probability you set.

Everything public can be imported from here; ``__init__.pyi`` lists it. Names are loaded when they
are first used, so that ``import homeward`` is quick.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
