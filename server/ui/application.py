"""The application behind ``/ui/``: who asks, for which vault, and which page answers.

A page is a module with a ``Page``, a template and its texts. Whether somebody is signed in, whether the vault is
theirs and whether a form came from a page of ours is asked here, before any of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from server.languages import reading_in
from server.oauth.sign_in_routes import sign_in_address
from server.oauth.visits import Visits
from server.ui import (
    across_page,
    audit_page,
    backups_page,
    clients_page,
    connect_page,
    events_page,
    findings_page,
    grants_page,
    graph_page,
    home_page,
    issuers_page,
    item_page,
    language_page,
    licence_page,
    memory_page,
    note_page,
    overview_page,
    people_page,
    person_page,
    search_page,
    session_page,
    sessions_page,
    settings_page,
    tokens_page,
    usage_page,
    vault_life_page,
    vaults_page,
    work_page,
)
from server.ui.admin_view import AdminView
from server.ui.assets import serve_asset
from server.ui.forms import FormReading, UnreadableForm
from server.ui.guests import Guest, find_guest
from server.ui.narrowing import ROWS, narrowing_of
from server.ui.page import AdminPage, Page, PersonPage, V, VaultPage
from server.ui.pages import ConsolePages
from server.ui.parts import ConsoleParts
from server.ui.person_view import PersonView
from server.ui.vault_view import NoSuchVault, VaultView
from vaults.errors import StrongroomError

VAULT_PAGES: tuple[VaultPage, ...] = (
    home_page.PAGE,
    work_page.PAGE,
    search_page.PAGE,
    sessions_page.PAGE,
    session_page.PAGE,
    findings_page.PAGE,
    backups_page.PAGE,
    audit_page.PAGE,
    memory_page.PAGE,
    note_page.PAGE,
    graph_page.PAGE,
    graph_page.PICTURE,
    graph_page.LAYOUT,
    usage_page.PAGE,
    item_page.PAGE,
    connect_page.PAGE,
    connect_page.CALLS,
)

ADMIN_PAGES: tuple[AdminPage, ...] = (
    overview_page.PAGE,
    people_page.PAGE,
    person_page.PAGE,
    grants_page.PAGE,
    grants_page.SUBJECT,
    tokens_page.PAGE,
    clients_page.PAGE,
    vaults_page.PAGE,
    vault_life_page.PAGE,
    vault_life_page.DELETION,
    settings_page.PAGE,
    issuers_page.PAGE,
    licence_page.PAGE,
)
"""Pages of the installation, for who is admin of every vault; for anybody else they are not there."""

PERSON_PAGES: tuple[PersonPage, ...] = (across_page.PAGE, language_page.PAGE)
"""Pages of whoever is signed in, in no vault."""

Answer = Callable[[Request, Guest], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request of somebody who is signed in, with the form it brings."""

    request: Request
    guest: Guest
    form: FormData = field(default_factory=FormData)


def make_console(parts: ConsoleParts) -> ASGIApp:
    """The application. Whoever mounts it has checked Host and Origin, and bounds the body."""
    console = _Console(parts)

    async def lead(_: Request) -> Response:
        return RedirectResponse(f"{parts.base}/ui/", 303)

    routes = [
        Route("/", lead),
        Route("/ui", lead),
        Route("/ui/", console.answering(console.list_vaults)),
        Route("/ui/assets/{address}", serve_asset),
    ]
    routes += console.routes_of("/ui/v/{vault}/", VAULT_PAGES, console.enter)
    routes += console.routes_of("/ui/v/{vault}/", (events_page.PAGE,), console.enter)
    routes += console.routes_of("/ui/", PERSON_PAGES, console.greet)
    routes += console.routes_of("/ui/admin/", ADMIN_PAGES, console.administer)
    return Router(routes, redirect_slashes=False, default=console.serve_nothing)


class _Console:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts, self._visits, self._pages = parts, Visits(parts), ConsolePages(parts.base)
        self._reading = FormReading()

    async def list_vaults(self, request: Request, guest: Guest) -> Response:
        """The vaults somebody may enter, a page at a time."""
        roles, asked = self._parts.roles_of(guest.principal), narrowing_of(request)
        found = [(name, role.label) for name, role in sorted(roles.items()) if asked.text.lower() in name]
        return self._pages.render(
            "vaults",
            vault=None,
            guest=guest,
            asked=asked,
            has_vaults=bool(roles),
            is_long=len(roles) > ROWS,
            vaults=found[asked.offset : asked.end],
            total=len(found),
            administers=self._parts.administers(guest.principal),
        )

    def routes_of(self, place: str, pages: Sequence[Page[V]], enter: Callable[[PageRequest], V]) -> Iterator[Route]:
        """The routes of pages that are made from the same view."""
        for page in pages:
            path = f"{place}{page.path}"
            yield Route(path, self.answering(self._showing(page.show, enter), is_use=page.is_use))
            if page.change is not None:
                yield Route(path, self.answering(self._changing(page.change, enter)), methods=["POST"])

    def _showing(self, show: Callable[[V], Awaitable[Response]], enter: Callable[[PageRequest], V]) -> Answer:
        async def answer(request: Request, guest: Guest) -> Response:
            return await show(enter(PageRequest(request, guest)))

        return answer

    def _changing(self, change: Callable[[V], Awaitable[Response]], enter: Callable[[PageRequest], V]) -> Answer:
        """What a form of a page asks for. One that is not ours changes nothing, and is given back."""

        async def answer(request: Request, guest: Guest) -> Response:
            form = await self._reading.read(request)
            view = enter(PageRequest(request, guest, form))
            return await (change(view) if self._visits.is_ours(guest.visit, form) else self._give_back(form, guest))

        return answer

    def enter(self, asked: PageRequest) -> VaultView:
        """The vault an address names, for somebody with a grant. Raises ``NoSuchVault``."""
        return self.greet(asked).enter(asked.request.path_params["vault"])

    def greet(self, asked: PageRequest) -> PersonView:
        """Somebody who is signed in."""
        return PersonView(self._parts, self._pages, asked.guest, asked.request, asked.form)

    def administer(self, asked: PageRequest) -> AdminView:
        """The administration, for who is admin of every vault. Raises ``NoSuchVault``, as for what is not there."""
        if not self._parts.administers(asked.guest.principal):
            raise NoSuchVault("nothing is here")
        return AdminView(self._parts, self._pages, asked.guest, asked.request, asked.form)

    def answering(self, answer: Answer, *, is_use: bool = True) -> Callable[[Request], Awaitable[Response]]:
        """An answer to somebody who is signed in, or the page that says why there is none."""

        async def respond(request: Request) -> Response:
            with reading_in(self._visits.language_of(request)):
                return await answer_or_say(request)

        async def answer_or_say(request: Request) -> Response:
            try:
                guest = await find_guest(self._parts, self._visits, request, is_use=is_use)
                if guest is not None:
                    return self._visits.keep(guest.visit, await self._serve(answer, request, guest))
                after = sign_in_address(self._parts.base, _path_of(request))
                if request.method == "POST" and not _has_parts(request):  # what was typed outlives the session
                    return await self._give_back(await self._reading.read(request), None, after)
                return RedirectResponse(after, 303)
            except UnreadableForm:
                return self._say("unreadable", 400, None)
            except ClientDisconnect:
                return Response(status_code=400)  # to nobody
            except StrongroomError as failure:
                return self._say("unavailable", 503, None, why=f"{failure.message}.")

        return respond

    async def _serve(self, answer: Answer, request: Request, guest: Guest) -> Response:
        if _has_parts(request):
            return self._say("unreadable", 415, guest)  # no form here has files, and they would go to the disk
        try:
            return await answer(request, guest)
        except NoSuchVault:
            return self._say("missing", 404, guest)
        except UnreadableForm:
            return self._say("unreadable", 400, guest)

    async def serve_nothing(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Where nothing is: the page that says so, the same as for a vault that is not there."""

        async def missing(_: Request, __: Guest) -> Response:
            raise NoSuchVault("nothing is here")

        response = await self.answering(missing)(Request(scope, receive))
        await response(scope, receive, send)

    def _say(self, what: str, status: int, guest: Guest | None, why: str = "") -> Response:
        return self._pages.render("message", status=status, vault=None, guest=guest, what=what, why=why)

    async def _give_back(self, form: FormData, guest: Guest | None, sign_in: str | None = None) -> Response:
        given = [(name, form.get(name)) for name in _TYPED]
        typed = [(name, value) for name, value in given if isinstance(value, str) and value.strip()]
        values = {"vault": None, "guest": guest, "typed": typed, "sign_in": sign_in}
        async with self._reading.turns:  # whoever sent it may be anybody
            return await asyncio.to_thread(self._pages.render, "stale", status=403, **values)


_TYPED = ("title", "content", "reason", "tags")
"""Fields whose text somebody would have to type again."""


def _has_parts(request: Request) -> bool:
    """Whether a body comes in parts, which may be files."""
    return request.headers.get("content-type", "").strip().lower().startswith("multipart/")


def _path_of(request: Request) -> str:
    """The page somebody wanted, to be led back to."""
    path = quote(request.scope["path"])  # that of a note may have any character
    query = request.scope["query_string"].decode("latin-1") if request.method in ("GET", "HEAD") else ""
    return f"{path}?{query}" if query else path
