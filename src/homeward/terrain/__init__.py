"""Terrain: elevation models in, cells to plan on, maps and paths out.

Each name is loaded at its first use, and rasterio only if a file needs it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
