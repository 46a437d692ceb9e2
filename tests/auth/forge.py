"""An installation with an outside issuer, and a mint for good and forged tokens of both kinds."""

import base64
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from auth.access_cache import AccessCache
from auth.authenticate import Authenticator
from auth.errors import TokenInvalid
from auth.external_issuer import ExternalAuthenticator
from auth.keys import KeyRing
from auth.local_issuer import LocalAuthenticator
from auth.roles import Role
from auth.settings import IssuerSettings
from auth.token_claims import VerifyKey
from auth.tokens import TokenRequest, create_token
from vaults.db.transactions import Transactions

INSTANCE = "abc"
URN = "urn:strongroom:abc"
IDP = "https://id.example"
PUBLIC_URL = "https://mem.example"
RSA = rsa.generate_private_key(65537, 2048)
CURVE = ec.generate_private_key(ec.SECP256R1())
OTHER = ed25519.Ed25519PrivateKey.generate()
PEM = RSA.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


class HeldKeys:
    """What ``IssuerKeys`` holds once fetched; fetching has its own tests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def find(self, kid: str) -> VerifyKey | None:
        self.asked.append(kid)
        held = {"rsa": VerifyKey(RSA.public_key(), ("RS256",)), "ec": VerifyKey(CURVE.public_key(), ("ES256",))}
        return held.get(kid)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Door:
    """One installation with an outside issuer, and a mint for its tokens."""

    def __init__(self, control: Transactions, ring: KeyRing, **issuer: Any) -> None:
        self.control, self.ring, self.keys, self.clock = control, ring, HeldKeys(), Clock()
        self.access_cache = AccessCache(control)
        settings = IssuerSettings(**{"issuer": IDP, "jwks_url": f"{IDP}/keys", "audiences": ("mem",), **issuer})
        self.chain = [
            LocalAuthenticator(ring, INSTANCE, 30),
            ExternalAuthenticator(settings, self.keys, PUBLIC_URL, 30),  # type: ignore[arg-type]
        ]
        self.authenticator = Authenticator(self.chain, self.access_cache, clock=self.clock)

    async def __call__(self, token: str) -> Any:
        return await self.authenticator.authenticate(token)

    async def reason(self, token: str) -> str:
        with pytest.raises(TokenInvalid) as caught:
            await self(token)
        return caught.value.reason


def claims(**change: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {"iss": IDP, "aud": "mem", "sub": "alice", "iat": now, "exp": now + 600, "scope": "vault:read vault:write"}
    return {name: value for name, value in {**usual, **change}.items() if value is not ...}


def signed(payload: dict[str, Any] | None = None, key: Any = RSA, algorithm: str = "RS256", **header: Any) -> str:
    header = {"kid": "ec" if algorithm == "ES256" else "rsa", **header}
    return jwt.encode(payload or claims(), key, algorithm=algorithm, headers=header)


def segment(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def raw_token(header: dict[str, Any], payload: dict[str, Any], signature: bytes = b"") -> str:
    return f"{segment(header)}.{segment(payload)}.{segment(signature)}"


async def local_token(door: Door, **request: Any) -> Any:
    wanted = TokenRequest(**{"subject": "alice", "vaults": ("v1",), "role": Role.WRITER, "ttl_s": 600, **request})
    return await door.access_cache.write(lambda w: create_token(w, door.ring, INSTANCE, wanted))


def local_claims(door: Door, token: str, **change: Any) -> str:
    """A token signed by our own key with other claims: what a bug in issuing could bring about."""
    payload = jwt.decode(token, options={"verify_signature": False})
    header = {"kid": door.ring.newest.kid, "typ": "at+jwt", **change.pop("header", {})}
    payload = {name: value for name, value in {**payload, **change}.items() if value is not ...}
    return jwt.encode(payload, door.ring.newest.private, algorithm="EdDSA", headers=header)
