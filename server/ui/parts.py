"""What the console works with."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from auth.principal import Principal
from auth.roles import Role
from server.call import Caller
from server.dispatch import CallOutcome
from server.services import Services
from server.ui.live_streams import LiveStreams
from server.vault_admin import is_admin_everywhere
from vaults.db.transactions import Transactions

ToolCall = Callable[[Caller, str, Mapping[str, Any]], Awaitable[CallOutcome]]
"""A tool call through dispatch, as ``Protocol.call`` makes it."""


@dataclass(frozen=True, slots=True)
class ConsoleParts:
    """``url``: where people find this server, without a slash at its end. ``seal``: 32 secret bytes that forms are
    derived from, the same as sign-in's. ``signs_in``: False where everybody is the owner. ``sources``: of each setting
    that was set, by what. ``now``: seconds since 1970. ``streams``: to the pages that are open."""

    services: Services
    call: ToolCall
    url: str
    seal: bytes
    signs_in: bool
    sources: Mapping[str, str] = field(default_factory=dict)
    now: Callable[[], float] = time.time
    streams: LiveStreams = field(default_factory=LiveStreams)

    @property
    def control(self) -> Transactions:
        """Where sessions of browsers are kept."""
        return self.services.control

    @property
    def base(self) -> str:
        """The path all addresses begin with: that of ``url``, where a proxy serves this below one."""
        return urlsplit(self.url).path

    def roles_of(self, principal: Principal) -> Mapping[str, Role]:
        """The vaults somebody may enter now, with their role there. Raises ``VaultUnavailable``."""
        return self.services.access_cache.current.vaults_of(principal, self.services.registry_cache.names())

    def administers(self, principal: Principal) -> bool:
        """Whether somebody is admin of every vault there is or will be, and so of the installation."""
        return is_admin_everywhere(self.services, principal)
