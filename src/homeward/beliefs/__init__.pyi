from .categorical_heights import HeightBelief as HeightBelief
from .categorical_heights import Reveal as Reveal
from .corrections import Correction as Correction
from .corrections import Corrections as Corrections
from .covariance import Matern as Matern
from .covariance import check_calibration as check_calibration
from .covariance import fit_kernel as fit_kernel
from .dirichlet import DirichletBelief as DirichletBelief
from .fields import CorrelatedTerrainBelief as CorrelatedTerrainBelief
from .finite import FiniteBelief as FiniteBelief
from .heights import Heights as Heights
from .heights import TerrainBelief as TerrainBelief
from .heights import entropy_reduction as entropy_reduction
from .observations import Likelihood as Likelihood
from .observations import Rows as Rows
from .observations import Sensor as Sensor
from .observations import Transition as Transition
from .observations import Visit as Visit
from .protocol import Belief as Belief
from .protocol import BlockedMoves as BlockedMoves
from .protocol import BoundedMoves as BoundedMoves
from .protocol import Counted as Counted
from .protocol import MoveBelief as MoveBelief
from .protocol import RewardLimits as RewardLimits
from .protocol import SureMoves as SureMoves
from .protocol import corrections_of as corrections_of

__all__: list[str]
