"""Certificates: plans on disk with all that is needed to check them, and the checks."""

from homeward.certificates.archive import load_plan, save_plan, save_stored
from homeward.certificates.beliefs import Codec, register_codec
from homeward.certificates.certificate import (
    Certificate,
    ClaimVerdict,
    RunVerdict,
    ValueVerdict,
    certify,
)
from homeward.certificates.recorded import RecordedPlan, compare, plan_of_step
from homeward.certificates.sampling import Sampled
from homeward.certificates.stored import StoredPlan

__all__ = [
    "Certificate",
    "ClaimVerdict",
    "Codec",
    "RecordedPlan",
    "RunVerdict",
    "Sampled",
    "StoredPlan",
    "ValueVerdict",
    "certify",
    "compare",
    "load_plan",
    "plan_of_step",
    "register_codec",
    "save_plan",
    "save_stored",
]
