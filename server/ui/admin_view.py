"""One request of somebody who administers the installation: what concerns no single vault."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ops.audit.entries import AuditActor, AuditEntry
from server.services import Services
from server.ui.forms import text_field
from server.ui.guests import Guest
from server.ui.pages import ConsolePages
from server.ui.parts import ConsoleParts
from server.ui.vault_view import CLIENT

PLACES = (
    ("overview", ""),
    ("vaults", "vaults"),
    ("people", "people"),
    ("grants", "grants"),
    ("tokens", "tokens"),
    ("clients", "clients"),
    ("settings", "settings"),
)
"""The navigation: a key of the texts of the frame, and a path below the administration."""

DONE: frozenset[str] = frozenset(
    {
        "disable",
        "end_session",
        "end_sessions",
        "set_grant",
        "remove_grant",
        "revoke_token",
        "end_login",
        "rename_vault",
        "rename_limited_vault",
        "copy_vault",
        "archive_vault",
        "unarchive_vault",
        "plan_vault",
    }
)
"""What a page may say was done just now, when its address says so."""


@dataclass(frozen=True, slots=True)
class AdminView:
    """Only for who is admin of every vault: the application asks before any page."""

    parts: ConsoleParts
    pages: ConsolePages
    guest: Guest
    request: Request
    form: FormData = field(default_factory=FormData)

    @property
    def services(self) -> Services:
        """The server's own: what the installation keeps stands in ``services.control``."""
        return self.parts.services

    @property
    def home(self) -> str:
        """The address of the administration."""
        return f"{self.parts.base}/ui/admin/"

    @asynccontextmanager
    async def recorded(
        self, tool: str, action: str, *, vault: str | None = None, **details: Any
    ) -> AsyncIterator[dict[str, Any]]:
        """Record what the block does, however it ends, as this person's act; it may add to the details, which hold
        names and numbers, never secrets or texts. Raises ``AuditUnavailable`` before the block runs where nothing can
        be recorded."""
        act = AuditEntry("act", tool, "ok", actor=self._actor, action=action, vault=vault, details=details)
        async with self.services.audit.acting(act):
            yield details

    def page(self, template: str, *, here: str, status: int = 200, **values: Any) -> Response:
        """A page of the administration. ``here``: the entry of the navigation it belongs to."""
        done = self.request.query_params.get("done")
        return self.pages.render(
            template, status=status, vault=None, admin_home=self.home, admin_places=PLACES, here=here, guest=self.guest,
            done=done if done in DONE else None, **values,
        )  # fmt: skip

    def go(self, path: str) -> Response:
        """Lead the browser to a page of the administration after something was done."""
        return RedirectResponse(f"{self.home}{path}", 303)

    def text(self, name: str) -> str:
        """A field of the form, as ``text_field`` gives it."""
        return text_field(self.form, name)

    @property
    def _actor(self) -> AuditActor:
        principal = self.guest.principal
        return AuditActor(
            subject=principal.subject,
            issuer=principal.issuer,
            key=principal.key,
            role="admin",
            client=CLIENT,
            address=self.guest.address,
            transport="http",
        )
