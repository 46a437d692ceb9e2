"""Which vault a resource indicator (RFC 8707) means, and which one means a vault. Pure."""

from __future__ import annotations

import re

_VAULT = re.compile(r"/v/([A-Za-z0-9][A-Za-z0-9._~-]{0,127})/mcp", re.ASCII)


def vault_of_resource(resource: str | None, url: str) -> str | None:
    """The vault whose address this is, whether it exists or not; None for none, or for the server as a whole, where a
    person chooses. Raises ``ValueError`` for any other address: a token is never made for another server."""
    if resource is None or resource in (url, f"{url}/", f"{url}/mcp"):
        return None
    found = _VAULT.fullmatch(resource[len(url) :]) if resource.startswith(url) else None
    if found is None:
        raise ValueError(f"resource must be {url}/v/<vault>/mcp")
    return found[1]


def address_of_vault(vault: str, url: str) -> str:
    """The indicator of a vault."""
    return f"{url}/v/{vault}/mcp"
