"""Certificates: plans stored with all data that a check needs, and the checks of their claims."""

from homeward.certificates.archive import load_plan, save_plan, save_stored
from homeward.certificates.certificate import certify
from homeward.certificates.codecs import Codec, register_codec
from homeward.certificates.sampling import SampledEstimate
from homeward.certificates.stored_plan import StoredPlan
from homeward.certificates.verdicts import Certificate, ClaimVerdict, RunVerdict, ValueVerdict

__all__ = [
    "Certificate",
    "ClaimVerdict",
    "Codec",
    "RunVerdict",
    "SampledEstimate",
    "StoredPlan",
    "ValueVerdict",
    "certify",
    "load_plan",
    "register_codec",
    "save_plan",
    "save_stored",
]
