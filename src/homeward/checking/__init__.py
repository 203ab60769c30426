"""Checks that user-defined beliefs, criteria and worlds do what they claim.

Each name is imported at its first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
