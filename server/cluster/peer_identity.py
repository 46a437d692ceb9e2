"""Who a server is to the other servers: a key that never leaves the process, and a certificate in its row.

The certificate is its own authority. Whoever may write a row of the database is a server; a name, an address or a
signature of somebody else proves nothing here.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HANDSHAKE_S = 5.0
"""Seconds that two servers have to prove themselves to each other."""

# A row ends when its server does. Dates would only shut out servers whose clock is wrong.
_SINCE, _UNTIL = datetime(2000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)


class PeerServer(Protocol):
    """Another server as its row has it: ``address`` is host:port, ``certificate`` PEM, or empty where it takes no
    requests."""

    @property
    def id(self) -> str: ...

    @property
    def address(self) -> str: ...

    @property
    def certificate(self) -> str: ...


@dataclass(frozen=True, slots=True)
class PeerIdentity:
    """``certificate`` as PEM, for everybody; the key with it under a password that only this process knows."""

    certificate: str
    _key: bytes = field(repr=False)
    _password: bytes = field(repr=False)

    def listening_context(self) -> ssl.SSLContext:
        """For a listener. It trusts nobody yet; ``trust`` adds servers. Blocking."""
        context = self._prepare(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        context.num_tickets = 0  # who is resumed is not looked at again
        return context

    def calling_context(self, certificate: str) -> ssl.SSLContext:
        """For connections to the server with that certificate, and no other. Blocking."""
        context = self._prepare(ssl.PROTOCOL_TLS_CLIENT)
        trust(context, certificate)
        return context

    def _prepare(self, protocol: int) -> ssl.SSLContext:
        context = ssl.SSLContext(protocol)
        context.check_hostname = False  # the certificate itself is compared, whatever it is called
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # OpenSSL takes keys from files only; this one cannot be read there.
        with tempfile.TemporaryDirectory(prefix="strongroom-peer-") as folder:
            pair = Path(folder) / "pair.pem"
            pair.write_bytes(self._key + self.certificate.encode())
            context.load_cert_chain(pair, password=self._password)
        return context


def make_identity() -> PeerIdentity:
    """A new one. Blocking."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"strongroom {secrets.token_hex(8)}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_SINCE)
        .not_valid_after(_UNTIL)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    password = secrets.token_urlsafe(32).encode()
    hidden = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
    return PeerIdentity(certificate.public_bytes(serialization.Encoding.PEM).decode(), hidden, password)


def trust(context: ssl.SSLContext, certificate: str) -> None:
    """Have a context accept a certificate as PEM. Raises ``ValueError`` for what is none."""
    try:
        context.load_verify_locations(cadata=certificate)
    except ssl.SSLError as failure:
        raise ValueError("not a certificate") from failure


def to_der(certificate: str) -> bytes:
    """A certificate as TLS shows it. Raises ``ValueError`` for what is none."""
    return ssl.PEM_cert_to_DER_cert(certificate)
