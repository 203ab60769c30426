from .cells import Cells as Cells
from .cells import to_cells as to_cells
from .elevation import Elevation as Elevation
from .reading import read_elevation as read_elevation
from .reading import sample_terrain as sample_terrain
from .synthetic import synthetic_mars as synthetic_mars
from .windows import MapWindow as MapWindow
from .windows import PixelWindow as PixelWindow
from .windows import Window as Window
from .windows import parse_window as parse_window
from .writing import path_geojson as path_geojson
from .writing import write_geojson as write_geojson
from .writing import write_heights as write_heights

__all__: list[str]
