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
from homeward.certificates.sampling import Sampled
from homeward.certificates.stored import StoredPlan

__all__ = [
    "Certificate",
    "ClaimVerdict",
    "Codec",
    "RunVerdict",
    "Sampled",
    "StoredPlan",
    "ValueVerdict",
    "certify",
    "load_plan",
    "register_codec",
    "save_plan",
    "save_stored",
]
