"""What a provider says of itself (OpenID Connect Discovery): where people sign in, where codes are exchanged, where its
keys are. It may name its issuer's own host and those the operator lists, and no others, so nothing it says makes this
server ask anybody else."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from auth.issuer_requests import NoAnswer
from auth.settings import ProviderSettings

SIZE_LIMIT = 64 * 1024
"""Bytes of a discovery document."""


@dataclass(frozen=True, slots=True)
class ProviderDocument:
    """``names_itself``: answers to the browser carry ``iss`` (RFC 9207). ``takes_basic``: how the client's secret is
    sent."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    names_itself: bool
    takes_basic: bool


def address_of(settings: ProviderSettings) -> str:
    """Where a provider describes itself."""
    return f"{settings.issuer.rstrip('/')}/.well-known/openid-configuration"


def read_document(settings: ProviderSettings, found: object) -> ProviderDocument:
    """Check a description. Raises ``NoAnswer`` for one of another issuer, or that names hosts nobody listed."""
    if not isinstance(found, dict) or found.get("issuer") != settings.issuer:
        raise NoAnswer("describes another issuer")
    methods = found.get("token_endpoint_auth_methods_supported")
    return ProviderDocument(
        authorization_endpoint=_endpoint(settings, found, "authorization_endpoint"),
        token_endpoint=_endpoint(settings, found, "token_endpoint"),
        jwks_uri=_endpoint(settings, found, "jwks_uri"),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        takes_basic=not isinstance(methods, list) or "client_secret_basic" in methods,
    )


def _endpoint(settings: ProviderSettings, found: dict[str, object], name: str) -> str:
    url = found.get(name)
    if not isinstance(url, str) or not settings.is_safe(url):
        raise NoAnswer(f"has no {name}")
    if _host(url) not in {_host(settings.issuer), *settings.hosts}:
        raise NoAnswer(f"has its {name} on a host that is not listed")
    return url


def _host(url: str) -> str:
    parts = urlsplit(url)
    usual = {"https": 443, "http": 80}.get(parts.scheme)
    return f"{parts.hostname}" if parts.port in (None, usual) else f"{parts.hostname}:{parts.port}"
