"""Somebody who signs in here: by what, in which browsers, and the end of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from auth.people import accounts, browser_sessions, passkeys
from auth.people import people as known_people
from auth.people.browser_sessions import BrowserSession
from auth.people.passkeys import Passkey
from auth.people.people import Person
from auth.principal import LOCAL
from server.administration import people
from server.ui.admin_forms import ask_first, has_agreed, name_field
from server.ui.admin_view import AdminView
from server.ui.page import AdminPage
from server.ui.people_page import show_link
from server.ui.vault_view import Complaint, NoSuchVault, refusal_of
from vaults.db.sql import Reader, Writer
from vaults.errors import StrongroomError

_ID_LENGTH = 64
"""Characters that the audit keeps of what a form gives as an id."""


@dataclass(frozen=True, slots=True)
class PersonSeen:
    """What the page shows of somebody."""

    person: Person
    passkeys: Sequence[Passkey]
    sessions: Sequence[BrowserSession]


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view, view.request.query_params.get("name", ""))


async def change(view: AdminView) -> Response:
    """Do what one of its forms asks for. What shuts somebody out is asked about first."""
    name, act = name_field(view, "name"), view.text("do")
    if act in ("reset", "disable") and not has_agreed(view):
        return ask_first(view, "people", f"{act}_person", name, _address(name), name=name, do=act)
    try:
        match act:
            case "reset":
                return await _reset(view, name)
            case "disable":
                await _disable(view, name)
            case "end_session":
                await _end_session(view, name, view.text("id")[:_ID_LENGTH])
            case "end_sessions":
                await _end_sessions(view, name)
            case _:
                return view.go(_address(name))
    except StrongroomError as failure:
        return await _page(view, name, refusal_of(failure))
    return view.go(f"{_address(name)}&done={act}")


async def _reset(view: AdminView, name: str) -> Response:
    people.require_sign_in(view.services.settings.auth, view.parts.url)
    now = view.parts.now()
    async with view.recorded("user", "reset", subject=name):
        secret = await view.services.access_cache.write(lambda tx: accounts.reset(tx, name, now))
    return show_link(view, name, secret)


async def _disable(view: AdminView, name: str) -> None:
    now = view.parts.now()
    async with view.recorded("user", "disable", subject=name):
        await view.services.access_cache.write(lambda tx: accounts.disable(tx, name, now))


async def _end_session(view: AdminView, name: str, session_id: str) -> None:
    def end(tx: Writer) -> int:
        known_people.require(tx, name)
        return browser_sessions.end(tx, name, session_id)

    async with view.recorded("user", "end_session", subject=name, session=session_id) as details:
        details["sessions"] = await view.services.control.write(end)


async def _end_sessions(view: AdminView, name: str) -> None:
    def end(tx: Writer) -> int:
        known_people.require(tx, name)
        return browser_sessions.end_all(tx, name)

    async with view.recorded("user", "end_sessions", subject=name) as details:
        details["sessions"] = await view.services.control.write(end)


async def _page(view: AdminView, name: str, refused: Complaint | None = None) -> Response:
    now = view.parts.now()
    seen = await view.services.control.read(lambda tx: _look_at(tx, name, now))
    if seen is None:
        raise NoSuchVault("nothing is here")
    mine = view.guest.visit.session
    return view.page(
        "person",
        here="people",
        status=200 if refused is None else refused.status,
        refused=refused,
        seen=seen,
        state=people.state_of(seen.person),
        mine=None if mine is None else mine.id,
        issuer=LOCAL,
    )


def _look_at(tx: Reader, name: str, now: float) -> PersonSeen | None:
    person = known_people.find(tx, name)
    if person is None:
        return None
    return PersonSeen(person, passkeys.list_passkeys(tx, name), browser_sessions.list_sessions(tx, name, now))


def _address(name: str) -> str:
    return f"person?{urlencode({'name': name})}"


PAGE = AdminPage("person", show, change)
