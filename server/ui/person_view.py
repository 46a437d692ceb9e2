"""One request of one person, in no vault: what concerns all of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from auth.roles import Role
from server.ui.guests import Guest
from server.ui.pages import ConsolePages
from server.ui.parts import ConsoleParts
from server.ui.vault_view import NoSuchVault, VaultView


@dataclass(frozen=True, slots=True)
class PersonView:
    """What a page of no vault is made from. A tool is asked in a vault, which is entered first."""

    parts: ConsoleParts
    pages: ConsolePages
    guest: Guest
    request: Request
    form: FormData = field(default_factory=FormData)

    @property
    def vaults(self) -> Mapping[str, Role]:
        """The vaults they may enter now. Raises ``VaultUnavailable``."""
        return self.parts.roles_of(self.guest.principal)

    def enter(self, vault: str) -> VaultView:
        """A vault of theirs. Raises ``NoSuchVault``."""
        role = self.vaults.get(vault)
        if role is None:
            raise NoSuchVault("no such vault, or no grant for it")
        return VaultView(self.parts, self.pages, self.guest, vault, role, self.request, self.form)

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        """A page that belongs to no vault."""
        return self.pages.render(template, status=status, vault=None, guest=self.guest, **values)
