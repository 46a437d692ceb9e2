"""Signs licences: for whoever runs installations and keeps the private key elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
import uuid_utils
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from auth.licence_check import AUDIENCE, RSA_BITS
from auth.settings import PlanSettings
from vaults.errors import InvalidArgument

TYPE = "strongroom-licence+jwt"


@dataclass(frozen=True, slots=True)
class LicenceRequest:
    """What is to be signed: see ``Licence``. ``ttl_s`` is its life in seconds."""

    subject: str
    ttl_s: int
    plans: Mapping[str, PlanSettings] = field(default_factory=dict)
    admin: bool = False
    machine: str | None = None


def sign_licence(private_pem: bytes, request: LicenceRequest) -> str:
    """The text of a licence file. Raises ``InvalidArgument`` for a key that cannot sign, or a licence for nothing."""
    if not request.admin and not any(plan.model_fields_set for plan in request.plans.values()):
        raise InvalidArgument("--plan", "must name a plan and at least one number to lift; or --admin")
    key, algorithm = _signing_key(private_pem)
    now = int(time.time())
    claims: dict[str, Any] = {
        "aud": AUDIENCE,
        "jti": str(uuid_utils.uuid7()),
        "sub": request.subject,
        "iat": now,
        "exp": now + request.ttl_s,
        "kind": "admin" if request.admin else "plan",
    }
    if request.machine is not None:
        claims["machine"] = request.machine
    if not request.admin:
        claims["plans"] = {name: plan.model_dump(exclude_unset=True) for name, plan in request.plans.items()}
    return jwt.encode(claims, key, algorithm=algorithm, headers={"typ": TYPE})


def make_keys() -> tuple[bytes, bytes]:
    """A new pair for whoever signs: private and public PEM."""
    private = Ed25519PrivateKey.generate()
    return (
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
        private.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )


def _signing_key(pem: bytes) -> tuple[Ed25519PrivateKey | RSAPrivateKey, str]:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise InvalidArgument("--key", "is no private key in PEM without a password") from None
    if isinstance(key, Ed25519PrivateKey):
        return key, "EdDSA"
    if isinstance(key, RSAPrivateKey) and key.key_size >= RSA_BITS:
        return key, "RS256"
    raise InvalidArgument("--key", f"must be an Ed25519 key, or RSA of {RSA_BITS} bits and more")
