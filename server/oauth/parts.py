"""What sign-in works with."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request

from auth.access_cache import AccessCache
from auth.keys import KeyRing
from auth.outside.provider_questions import ProviderQuestions
from auth.people.attempts import Attempts
from auth.people.people import principal_of
from auth.principal import LOCAL
from auth.roles import Role
from ops.audit.audit_log import AuditLog
from ops.audit.entries import AuditActor, AuditEntry
from server.oauth.client_documents import ClientDocuments
from vaults.db.transactions import Transactions
from vaults.errors import Forbidden


@dataclass(frozen=True, slots=True)
class SignInParts:
    """``url``: where people and clients find this server, without a slash at its end. ``seal``: 32 secret bytes that
    forms and clients' secrets are derived from. ``console``: whether the console is served, to lead people there.
    ``now``: seconds since 1970."""

    control: Transactions
    access_cache: AccessCache
    vaults: Callable[[], Collection[str]]
    ring: KeyRing
    instance_id: str
    audit: AuditLog
    url: str
    seal: bytes
    console: bool = False
    documents: ClientDocuments | None = None  # None: no host is listed
    outside: Mapping[str, ProviderQuestions] = field(default_factory=dict)  # by the name of the provider
    leeway_s: float = 30.0
    attempts: Attempts = field(default_factory=Attempts)
    now: Callable[[], float] = time.time

    @property
    def base(self) -> str:
        """The path all addresses begin with: that of ``url``, where a proxy serves this below one."""
        return urlsplit(self.url).path

    def roles_of(self, person: str) -> Mapping[str, Role]:
        """The vaults somebody may enter now, with their role there. Raises ``VaultUnavailable``."""
        return self.access_cache.current.vaults_of(principal_of(person), self.vaults())

    async def record(self, request: Request, person: str, tool: str, action: str, **details: Any) -> None:
        """Have the audit say what somebody did. Names and ids only."""
        await self._record(request, person, AuditEntry("act", tool, "ok", action=action, details=details))

    async def record_refused(self, request: Request, person: str, tool: str, action: str, **details: Any) -> None:
        """Have the audit say what was refused to somebody who has proved who they are."""
        await self._record(request, person, AuditEntry("act", tool, Forbidden.code, action=action, details=details))

    async def _record(self, request: Request, person: str, said: AuditEntry) -> None:
        details = dict(said.details or {})
        actor = AuditActor(
            person, LOCAL, key=principal_of(person).key, address=address_of(request), transport="browser"
        )
        async with self.audit.acting(replace(said, actor=actor, vault=details.pop("vault", None), details=details)):
            pass


def address_of(request: Request) -> str:
    """The peer's address, or the one a trusted proxy names."""
    return request.client.host if request.client else ""
