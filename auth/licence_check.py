"""Licences: signed JWTs that lift limits of plans. Pure: checked offline against a public key the operator gave.

::

    {"aud": "strongroom-licence", "jti": "…", "sub": "who it is for", "iat": …, "exp": …, "machine": "instance id",
     "kind": "plan", "plans": {"free": {"stores_per_day": 500, "memories": null, "size": "2GB"}}}

``null`` lifts a bound altogether, a number that is left out stays as it is. ``kind`` ``admin`` lifts everything and
needs no ``plans``. Without ``machine`` it holds on any installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator

from auth.errors import TokenInvalid
from auth.licence import Licence, LicenceVerdict, day_of, expired_verdict
from auth.principal import is_name
from auth.settings import PlanName, PlanSettings
from auth.token_claims import VerifyKey, check_times, verify_signature
from vaults.durations import parse_size

AUDIENCE = "strongroom-licence"
RSA_BITS = 2048
LEEWAY_S = 60.0
"""Seconds the clocks of signer and server may differ."""


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("must be printable")
    return text


Name = Annotated[str, AfterValidator(_name)]


class _Claims(BaseModel):
    # Unknown claims are ignored: those added by other tools are no reason to refuse a licence.
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    aud: Literal["strongroom-licence"]
    jti: Name
    sub: Name
    kind: Literal["plan", "admin"]
    machine: Name | None = None
    plans: dict[PlanName, PlanSettings] = {}

    @model_validator(mode="after")
    def _lifts_something(self) -> _Claims:
        if self.kind == "plan" and not self.plans:
            raise ValueError("lifts nothing")
        return self


def public_key(pem: bytes) -> VerifyKey | None:
    """The key with the one algorithm it is used with; None for anything but Ed25519, or RSA of 2048 bits and more."""
    try:
        key = serialization.load_pem_public_key(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    if isinstance(key, Ed25519PublicKey):
        return VerifyKey(key, ("EdDSA",))
    if isinstance(key, RSAPublicKey) and key.key_size >= RSA_BITS:
        return VerifyKey(key, ("RS256",))
    return None


def check_licence(text: str, key: VerifyKey, instance: str, now: float) -> LicenceVerdict:
    """Whether a licence holds on this installation, ``now`` in seconds since the epoch."""
    try:
        claims = verify_signature(text, key)
        return _verdict(_Claims.model_validate(dict(claims)), claims, instance, now)
    except TokenInvalid as failure:
        if failure.reason in ("signature", "key"):
            return LicenceVerdict("signature", "the licence is not signed with the configured key")
        return LicenceVerdict("malformed", "the file is no licence")
    except ValidationError:
        return LicenceVerdict("malformed", "the file is no licence, or one of a newer version")


def _verdict(claims: _Claims, raw: Mapping[str, Any], instance: str, now: float) -> LicenceVerdict:
    expires = float(raw["exp"]) if isinstance(raw.get("exp"), int | float) else 0.0
    try:
        check_times(raw, now, LEEWAY_S)
    except TokenInvalid as failure:
        if failure.reason == "expired":
            return expired_verdict(expires)
        if failure.reason == "not_yet_valid":
            return LicenceVerdict("early", "the licence does not hold yet: is the clock right?")
        raise
    if claims.machine not in (None, instance):
        return LicenceVerdict(
            "machine", "the licence is for another installation: licence show tells the id of this one"
        )
    lifts = {name: _numbers(plan) for name, plan in claims.plans.items()}
    licence = Licence(
        id=claims.jti, subject=claims.sub, kind=claims.kind, lifts=lifts, machine=claims.machine, expires_at=expires
    )
    what = "every limit" if claims.kind == "admin" else f"the limits of {', '.join(sorted(lifts))}"
    return LicenceVerdict("valid", f"the licence of {claims.sub} lifts {what} until {day_of(expires)}", licence)


def _numbers(plan: PlanSettings) -> dict[str, int | None]:
    given: dict[str, Any] = {name: getattr(plan, name) for name in plan.model_fields_set}
    if given.get("size") is not None:
        given["size"] = parse_size(given["size"])
    return given
