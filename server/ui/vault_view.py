"""One request of one person in one vault: the only way from a page to a tool, and back to a page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from uuid_utils import uuid7

from auth.roles import Role
from server.call import Caller
from server.caller_views import strictest_mode
from server.dispatch import CallOutcome
from server.errors import HTTP_STATUS
from server.ui.forms import text_field, whole_number
from server.ui.guests import Guest
from server.ui.pages import ConsolePages
from server.ui.parts import ConsoleParts
from vaults.errors import NotFound, StrongroomError

CLIENT = "console"
"""What the log calls it: it tells a person's session here from those of their agents."""

AGREED = "agreed"
"""The field of a form that says its person has read what it would do, and agrees."""

DONE = frozenset({"edit", "supersede", "forget", "purge", "same", "create", "tick", "undo", "create_vault"})
"""What a page may say was done just now, when its address says so."""


class NoSuchVault(NotFound):
    """There is none, or none for this person: which of the two is not said."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Why a tool did not do what was asked, in its own words."""

    code: str
    message: str
    hint: str = ""
    status: int = 400
    details: Mapping[str, Any] = field(default_factory=dict)


def complaint_of(outcome: CallOutcome) -> Complaint | None:
    """What a failed call says; None: it succeeded."""
    if outcome.code is None:
        return None
    error = outcome.content["error"]
    return Complaint(
        outcome.code,
        error["message"],
        error.get("hint", ""),
        HTTP_STATUS[outcome.code],
        error.get("details", {}),
    )


def refusal_of(failure: StrongroomError) -> Complaint:
    """Why something was not done, in the same words as on the command line."""
    return Complaint(failure.code, failure.message, failure.hint or "", HTTP_STATUS[failure.code])


@dataclass(frozen=True, slots=True)
class VaultView:
    """``role``: the person's in ``vault``, for what a page offers; dispatch asks again at each call."""

    parts: ConsoleParts
    pages: ConsolePages
    guest: Guest
    vault: str
    role: Role
    request: Request
    form: FormData = field(default_factory=FormData)

    @property
    def writes(self) -> bool:
        """Whether there is anything to offer that changes something."""
        return self.role >= Role.WRITER and self._write_mode != "off"

    @property
    def home(self) -> str:
        """The address of the vault."""
        return f"{self.parts.base}/ui/v/{self.vault}/"

    @property
    def first_line(self) -> int:
        """The line of a text that the address asks for: the first, where it says nothing that is one."""
        return whole_number(self.request.query_params.get("from", ""), 7) or 1

    async def ask(self, tool: str, /, **arguments: Any) -> CallOutcome:
        """Call a tool as this person. Raises ``NoSuchVault`` where the grant, or the vault, ended meanwhile."""
        outcome = await self.parts.call(self._caller(), tool, arguments)
        if outcome.code == "not_found" and self._is_gone():
            raise NoSuchVault("no such vault, or no grant for it")
        return outcome

    async def ask_all(self, *calls: tuple[str, Mapping[str, Any]]) -> list[CallOutcome]:
        """Several calls that do not wait for each other; their outcomes in the same order."""
        return list(await asyncio.gather(*(self.ask(tool, **arguments) for tool, arguments in calls)))

    def page(self, template: str, *, here: str, status: int = 200, **values: Any) -> Response:
        """A page of the vault. ``here``: the entry of the navigation it belongs to."""
        done = self.request.query_params.get("done")
        return self.pages.render(
            template, status=status, vault=self.vault, role=self.role.label, home=self.home, here=here,
            writes=self.writes, is_admin=self.role >= Role.ADMIN, guest=self.guest,
            done=done if done in DONE else None, **values,
        )  # fmt: skip

    def go(self, path: str) -> Response:
        """Lead the browser to a page of the vault after something was done."""
        return RedirectResponse(f"{self.home}{path}", 303)

    def text(self, name: str) -> str:
        """A field of the form, as ``text_field`` gives it."""
        return text_field(self.form, name)

    def _is_gone(self) -> bool:
        return self.parts.services.role_in(self.guest.principal, self.vault) is None

    @property
    def _write_mode(self) -> str:
        services = self.parts.services
        if not services.registry_cache.known(self.vault):
            return "off"
        kept = services.registry_cache.entry(self.vault).write_mode
        return "off" if strictest_mode(services.settings.server.write_mode, kept) == "off" else "auto"

    def _caller(self) -> Caller:
        """The person as dispatch knows callers. Who presses a button has agreed to what it says, so mode ``ask`` asks
        nothing more of them; what destroys is asked where the vault wants it, in a page of its own."""
        return Caller(
            principal=self.guest.principal,
            vault=self.vault,
            role=self.role,
            transport="http",
            preset="full",
            write_mode=strictest_mode(self._write_mode),
            person="agreed" if self.text(AGREED) == "yes" else "there",
            form="data",
            request_id=str(uuid7()),
            client=CLIENT,
            looks=self.request.method != "POST",  # an address may be mistyped: that is no failure to mend
            address=self.guest.address,
        )
