"""What a TLS certificate says: the names that clients who check it can call this server by, and until when."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address
from pathlib import Path

from vaults.errors import InvalidArgument


@lru_cache(maxsize=4)
def certificate_names(path: str) -> tuple[str, ...]:
    """DNS names, wildcards such as ``*.example.org`` and IP addresses (version 6 in brackets) of the first certificate
    in a PEM file, in lower case; the common name is ignored, as clients do. Raises ``InvalidArgument``."""
    from cryptography import x509

    try:
        certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    except (OSError, ValueError) as failure:
        raise InvalidArgument("tls_cert", "is not a readable PEM certificate") from failure
    names = [name.lower().rstrip(".") for name in found.get_values_for_type(x509.DNSName)]
    addresses = [
        f"[{ip}]" if isinstance(ip, IPv6Address) else str(ip) for ip in found.get_values_for_type(x509.IPAddress)
    ]
    return (*names, *addresses)


def certificate_end(path: str) -> float:
    """When the first certificate of a PEM file to end does so, in seconds since 1970: a chain holds no longer than the
    shortest of its links. Raises ``InvalidArgument``."""
    from cryptography import x509

    try:
        chain = x509.load_pem_x509_certificates(Path(path).read_bytes())
    except (OSError, ValueError) as failure:
        raise InvalidArgument("tls_cert", "is not a readable PEM certificate") from failure
    return min(each.not_valid_after_utc.timestamp() for each in chain)
