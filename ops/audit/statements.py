"""What the server signs about a chain, and whether a signature holds. Pure."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from auth.keys import SigningKey

StatementKind = Literal["checkpoint", "anchor", "voucher"]

FindKey = Callable[[str], Ed25519PublicKey | None]
"""The public key with an id; None: no key of this installation."""


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last entry of a chain; number 0 and the genesis hash where there is none."""

    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class SignedStatement:
    """A statement with its signature. ``seq``: what it is stored under."""

    seq: int
    statement: str
    kid: str
    signature: bytes

    def fields(self) -> dict[str, Any]:
        """What it says; nothing for one that is no JSON object."""
        try:
            found = json.loads(self.statement)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def sign(key: SigningKey, kind: StatementKind, seq: int, said: Mapping[str, Any]) -> SignedStatement:
    """Sign a statement. A signature of one kind is none of another."""
    statement = json.dumps(said, separators=(",", ":"), sort_keys=True)
    return SignedStatement(seq, statement, key.kid, key.private.sign(_message(kind, statement)))


def holds(kind: StatementKind, signed: SignedStatement, public: Ed25519PublicKey) -> bool:
    """Whether the key made this signature."""
    try:
        public.verify(signed.signature, _message(kind, signed.statement))
    except InvalidSignature:
        return False
    return True


def _message(kind: StatementKind, statement: str) -> bytes:
    return f"strongroom audit {kind}\0{statement}".encode()


def head_statement(chain: str, head: ChainHead, at: str, installation: ChainHead | None = None) -> dict[str, Any]:
    """That a chain stood there. ``installation``: where that of the installation stood, so that each tells of the
    other."""
    said: dict[str, Any] = {"chain": chain, "seq": head.seq, "hash": head.hash.hex(), "at": at}
    if installation is not None:
        said["installation"] = [installation.seq, installation.hash.hex()]
    return said


def key_statement(key: SigningKey) -> dict[str, Any]:
    """That a key was one of this installation."""
    return {"kid": key.kid, "x": key.jwk["x"]}


def trust(find: Callable[[str], SigningKey | None], vouchers: Iterable[SignedStatement]) -> FindKey:
    """The keys that count: those at hand, and those that one of them vouches for, directly or through others."""
    known: dict[str, Ed25519PublicKey] = {}
    waiting = list(vouchers)

    def find_key(kid: str) -> Ed25519PublicKey | None:
        key = find(kid)
        return key.public if key is not None else known.get(kid)

    while waiting:
        left = [each for each in waiting if not _adopt(each, find_key, known)]
        if len(left) == len(waiting):
            break
        waiting = left
    return find_key


def _adopt(voucher: SignedStatement, find: FindKey, known: dict[str, Ed25519PublicKey]) -> bool:
    by, said = find(voucher.kid), voucher.fields()
    if by is None or not holds("voucher", voucher, by):
        return False
    text = str(said.get("x", ""))
    raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    known[str(said.get("kid"))] = Ed25519PublicKey.from_public_bytes(raw)
    return True
