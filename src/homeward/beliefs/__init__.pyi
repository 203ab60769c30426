from .base import Belief as Belief
from .base import InPlaceBelief as InPlaceBelief
from .base import MoveSets as MoveSets
from .base import claim_of_moves as claim_of_moves
from .base import corrections_of as corrections_of
from .corrections import Correction as Correction
from .corrections import Corrections as Corrections
from .covariance import Matern as Matern
from .covariance import check_calibration as check_calibration
from .covariance import fit_kernel as fit_kernel
from .dirichlet import DirichletBelief as DirichletBelief
from .fields import CorrelatedTerrainBelief as CorrelatedTerrainBelief
from .finite import FiniteBelief as FiniteBelief
from .heights import TerrainBelief as TerrainBelief
from .heights import entropy_reduction as entropy_reduction
from .levels import HeightBelief as HeightBelief
from .observations import Heights as Heights
from .observations import Likelihood as Likelihood
from .observations import Reveal as Reveal
from .observations import Rows as Rows
from .observations import Sensor as Sensor
from .observations import Transition as Transition
from .observations import Visit as Visit

__all__: list[str]
