"""Terrain: elevation models in, cells to plan on, maps and paths out.

Each name is loaded when it is first used; rasterio only where a file needs it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
