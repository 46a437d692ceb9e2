"""A self-signed certificate with the names a test wants."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_pair(
    folder: Path, dns: Sequence[str] = (), addresses: Sequence[str] = (), *, days: int = 1
) -> tuple[Path, Path]:
    """Certificate, which ends in so many days, and key as PEM files; without names it has no subject alternative names
    at all."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "common.example")])
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now - day, now + days * day
    )
    names = [*map(x509.DNSName, dns), *(x509.IPAddress(ipaddress.ip_address(each)) for each in addresses)]
    if names:
        made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    cert, private = folder / "cert.pem", folder / "key.pem"
    cert.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return cert, private
