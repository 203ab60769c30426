from .certificate import certify as certify
from .certificate import judge as judge
from .plan_case import PlanCase as PlanCase
from .sampling import SampledEstimate as SampledEstimate
from .verdicts import Certificate as Certificate
from .verdicts import ClaimVerdict as ClaimVerdict
from .verdicts import RunVerdict as RunVerdict
from .verdicts import ValueVerdict as ValueVerdict
