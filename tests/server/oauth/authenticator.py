"""An authenticator in software: makes passkeys and signs with them, as a browser would hand it on. What it says can be
bent by each test."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import cbor2
import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from tests.server.oauth.desk import URL

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class _Asking(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if values.get("data-options"):
            self.found.append(json.loads(values["data-options"] or ""))


def asked(page: httpx2.Response) -> dict[str, Any]:
    """What a page asks for, as its script reads it."""
    parser = _Asking()
    parser.feed(page.text)
    (options,) = parser.found
    return options


@dataclass
class Authenticator:
    """``bent``: what the browser says in place of the truth (``type``, ``crossOrigin``)."""

    origin: str = URL
    rp_id: str | None = None  # None: the one that is asked for
    flags: int = PRESENT | VERIFIED
    counter: int = 0
    counts: bool = True
    bent: dict[str, Any] = field(default_factory=dict)
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    id: bytes = field(default_factory=lambda: os.urandom(32))
    handle: bytes = b""

    def make(self, options: dict[str, Any], **statement: Any) -> str:
        """The answer to a page that asks for a new passkey; ``statement``: of the attestation."""
        assert options["authenticatorSelection"]["userVerification"] == "required"
        assert options["authenticatorSelection"]["residentKey"] == "required"
        self.handle = bytes_of(options["user"]["id"])
        about = self._data(options["rp"]["id"], ATTESTED) + bytes(16) + len(self.id).to_bytes(2, "big") + self.id
        about += cbor2.dumps(self.public())
        made = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": about, **statement})
        return self._answer("webauthn.create", options, attestationObject=text_of(made))

    def sign(self, options: dict[str, Any], spoil: bool = False) -> str:
        """The answer to a page that asks for any passkey."""
        assert options["userVerification"] == "required"
        assert options["allowCredentials"] == []  # or it would tell whose there are
        about = self._data(options["rpId"])
        said = self._client_data("webauthn.get", options["challenge"])
        signature = self.key.sign(about + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        if spoil:
            signature = self.key.sign(b"something else", ec.ECDSA(hashes.SHA256()))
        more = {"authenticatorData": about, "signature": signature, "userHandle": self.handle}
        return self._answer("webauthn.get", options, **{name: text_of(each) for name, each in more.items()})

    def public(self) -> dict[int, Any]:
        numbers = self.key.public_key().public_numbers()
        return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}

    def _data(self, rp_id: str, flags: int = 0) -> bytes:
        self.counter += self.counts
        digest = hashlib.sha256((self.rp_id or rp_id).encode()).digest()
        return digest + bytes([self.flags | flags]) + self.counter.to_bytes(4, "big")

    def _client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False, **self.bent}
        return json.dumps(said).encode()

    def _answer(self, kind: str, options: dict[str, Any], **response: str) -> str:
        said = text_of(self._client_data(kind, options["challenge"]))
        name = text_of(self.id)
        return json.dumps(
            {"id": name, "rawId": name, "type": "public-key", "response": {"clientDataJSON": said, **response}}
        )
