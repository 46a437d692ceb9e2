"""What a token is asked for with, as somebody types it."""

from __future__ import annotations

from collections.abc import Iterable

from auth.roles import Role
from auth.tokens import TokenRequest
from server.caller_views import PRESET_NAMES
from vaults.durations import parse_duration
from vaults.errors import InvalidArgument

MAX_TOKEN_ID = 64
"""Characters of what was typed for a token's id that the audit keeps: no token itself."""


def read_request(subject: str, vaults: Iterable[str], role: Role, ttl: str, tools: str | None) -> TokenRequest:
    """The token asked for; ``ttl``: its life, such as ``30d``; ``tools``: the preset it is shown. Raises
    ``InvalidArgument``."""
    if tools is not None and tools not in PRESET_NAMES:
        raise InvalidArgument("tools", f"must be one of {', '.join(PRESET_NAMES)}")
    try:
        seconds = parse_duration(ttl)
    except ValueError as failure:
        raise InvalidArgument("ttl", str(failure)) from None
    return TokenRequest(subject, tuple(dict.fromkeys(vaults)), role, seconds, tools)
