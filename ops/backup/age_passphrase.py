"""Files that age encrypts with a passphrase, piece by piece.

The library for the rest of age has only a form for passphrases that holds all of a file in memory. The format is
age's own (https://age-encryption.org/v1), so that ``age -d`` opens such an archive: a file key, wrapped by scrypt, and
chunks of 64 KB under ChaCha20-Poly1305.
"""

from __future__ import annotations

import base64
import hmac
import re
import secrets
from collections.abc import Callable, Iterable, Iterator

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from vaults.errors import InvalidArgument

VERSION = b"age-encryption.org/v1\n"
CHUNK = 64 * 1024
TAG = 16
COST = 17
"""Base-2 logarithm of scrypt's cost: 128 MB of memory for some 0.3 s."""

MAX_COST = 20
"""Of files that are read: a gigabyte. Whoever asks for more wants this process to fail."""

HEADER = re.compile(
    rb"age-encryption\.org/v1\n-> scrypt ([A-Za-z0-9+/]{22}) ([1-9][0-9]?)\n"
    rb"([A-Za-z0-9+/]{43})\n--- ([A-Za-z0-9+/]{43})\n"
)
MAX_HEADER = 256


def encrypt(plain: Iterable[bytes], passphrase: str) -> Iterator[bytes]:
    """The file, in pieces."""
    key, salt, nonce = secrets.token_bytes(16), secrets.token_bytes(16), secrets.token_bytes(16)
    wrapped = ChaCha20Poly1305(_stretch(passphrase, salt, COST)).encrypt(bytes(12), key, None)
    head = VERSION + b"-> scrypt " + _encode(salt) + f" {COST}\n".encode() + _encode(wrapped) + b"\n---"
    yield head + b" " + _encode(_mac(key, head)) + b"\n" + nonce
    cipher, number = ChaCha20Poly1305(_derive(key, nonce, b"payload")), 0
    held = bytearray()
    for piece in plain:
        held += piece
        whole = (len(held) - 1) // CHUNK  # the last chunk is marked, so one is always held back
        if whole > 0:
            yield b"".join(
                cipher.encrypt(_nonce(number + each, last=False), bytes(held[each * CHUNK : (each + 1) * CHUNK]), None)
                for each in range(whole)
            )
            number += whole
            del held[: whole * CHUNK]
    yield cipher.encrypt(_nonce(number, last=True), bytes(held), None)


def decrypt(read: Callable[[int], bytes], passphrase: str) -> Iterator[bytes]:
    """The contents, in pieces. ``read(n)`` gives up to n bytes, fewer only at the end. Raises ``InvalidArgument``."""
    head = read(MAX_HEADER)
    found = HEADER.match(head)
    if found is None or int(found[2]) > MAX_COST:
        raise InvalidArgument("archive", "is not encrypted with a passphrase in a way that is understood")
    salt, cost, wrapped, mac = _decode(found[1]), int(found[2]), _decode(found[3]), _decode(found[4])
    try:
        key = ChaCha20Poly1305(_stretch(passphrase, salt, cost)).decrypt(bytes(12), wrapped, None)
    except InvalidTag:
        raise InvalidArgument("passphrase", "does not open this archive") from None
    if not hmac.compare_digest(_mac(key, head[: found.end() - 45]), mac):
        raise InvalidArgument("archive", "is damaged")
    rest = head[found.end() :]
    rest += read(16 + CHUNK + TAG - len(rest)) if len(rest) < 16 + CHUNK + TAG else b""
    nonce, chunk = rest[:16], rest[16:]
    cipher, number = ChaCha20Poly1305(_derive(key, nonce, b"payload")), 0
    while True:
        following = read(CHUNK + TAG) if len(chunk) == CHUNK + TAG else b""
        try:
            plain = cipher.decrypt(_nonce(number, last=not following), chunk, None)
        except InvalidTag:
            raise InvalidArgument("archive", "is damaged or cut short") from None
        yield plain
        if not following:
            return
        chunk, number = following, number + 1


def _stretch(passphrase: str, salt: bytes, cost: int) -> bytes:
    return Scrypt(salt=b"age-encryption.org/v1/scrypt" + salt, length=32, n=1 << cost, r=8, p=1).derive(
        passphrase.encode()
    )


def _derive(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    return HKDF(SHA256(), 32, salt or None, purpose).derive(key)


def _mac(key: bytes, head: bytes) -> bytes:
    return hmac.digest(_derive(key, b"", b"header"), head, "sha256")


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([last])


def _encode(data: bytes) -> bytes:
    return base64.b64encode(data).rstrip(b"=")


def _decode(text: bytes) -> bytes:
    return base64.b64decode(text + b"=" * (-len(text) % 4))
