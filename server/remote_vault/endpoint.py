"""The endpoint of a vault on another server, and the token for it. Imports next to nothing: hooks start with it."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from vaults.errors import InvalidArgument

_TOKEN = re.compile(r"[!-~]+")


def endpoint_of(url: str, vault: str) -> str:
    """The MCP endpoint: ``url`` itself if it names one, else the vault's below it."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidArgument("--url", "must be an http or https URL")
    return url if parts.path.endswith("/mcp") else f"{url.rstrip('/')}/v/{vault}/mcp"


def token_in(file: Path) -> str:
    """The token in a file. Raises ``InvalidArgument``, which repeats nothing of the file."""
    try:
        token = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidArgument("--token-file", f"{file} cannot be read") from None
    if not token:
        raise InvalidArgument("--token-file", f"{file} is empty")
    if not _TOKEN.fullmatch(token):
        raise InvalidArgument("--token-file", f"{file} holds more than a token")
    return token
