"""The application behind ``/ui/``: who asks, for which vault, and which page answers.

A page is a module with a ``VaultPage``, a template and its texts. Whether somebody is signed in, whether the vault is
theirs and whether a form came from a page of ours is asked here, before any of them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from server.oauth.sign_in_routes import sign_in_address
from server.oauth.visits import Visits
from server.ui import (
    findings_page,
    graph_page,
    home_page,
    item_page,
    memory_page,
    note_page,
    search_page,
    sessions_page,
    usage_page,
)
from server.ui.assets import serve_asset
from server.ui.guests import Guest, find_guest
from server.ui.pages import ConsolePages
from server.ui.parts import ConsoleParts
from server.ui.vault_page import VaultPage
from server.ui.vault_view import NoSuchVault, VaultView
from vaults.errors import StrongroomError

VAULT_PAGES: tuple[VaultPage, ...] = (
    home_page.PAGE,
    search_page.PAGE,
    sessions_page.PAGE,
    findings_page.PAGE,
    memory_page.PAGE,
    note_page.PAGE,
    graph_page.PAGE,
    graph_page.PICTURE,
    usage_page.PAGE,
    item_page.PAGE,
)

Answer = Callable[[Request, Guest], Awaitable[Response]]


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
    for page in VAULT_PAGES:
        path = f"/ui/v/{{vault}}/{page.path}"
        routes.append(Route(path, console.answering(console.showing(page))))
        if page.change is not None:
            routes.append(Route(path, console.answering(console.changing(page)), methods=["POST"]))
    return Router(routes, redirect_slashes=False, default=console.serve_nothing)


class _Console:
    def __init__(self, parts: ConsoleParts) -> None:
        self._parts, self._visits, self._pages = parts, Visits(parts), ConsolePages(parts.base)

    async def list_vaults(self, _: Request, guest: Guest) -> Response:
        """The vaults somebody may enter."""
        roles = self._parts.roles_of(guest.principal)
        vaults = [(name, role.label) for name, role in sorted(roles.items())]
        return self._pages.render("vaults", vault=None, guest=guest, vaults=vaults)

    def showing(self, page: VaultPage) -> Answer:
        """A page of a vault."""

        async def answer(request: Request, guest: Guest) -> Response:
            return await page.show(self._enter(request, guest))

        return answer

    def changing(self, page: VaultPage) -> Answer:
        """What a form of that page asks for. One that is not ours changes nothing, and is given back."""

        async def answer(request: Request, guest: Guest) -> Response:
            view = replace(self._enter(request, guest), form=await request.form())
            if not self._visits.is_ours(guest.visit, view.form):
                return self._give_back(view.form, guest)
            assert page.change is not None, "only such pages have this route"
            return await page.change(view)

        return answer

    def _enter(self, request: Request, guest: Guest) -> VaultView:
        vault = request.path_params["vault"]
        role = self._parts.roles_of(guest.principal).get(vault)
        if role is None:
            raise NoSuchVault("no such vault, or no grant for it")
        return VaultView(self._parts, self._pages, guest, vault, role, request)

    def answering(self, answer: Answer) -> Callable[[Request], Awaitable[Response]]:
        """An answer to somebody who is signed in, or the page that says why there is none."""

        async def respond(request: Request) -> Response:
            try:
                guest = await find_guest(self._parts, self._visits, request)
                if guest is not None:
                    return self._visits.keep(guest.visit, await self._serve(answer, request, guest))
                after = sign_in_address(self._parts.base, _path_of(request))
                if request.method == "POST" and not _has_parts(request):  # what was typed outlives the session
                    return self._give_back(await request.form(), None, after)
                return RedirectResponse(after, 303)
            except MultiPartException:  # also of a plain form, with a thousand fields
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
        except MultiPartException:
            return self._say("unreadable", 400, guest)

    async def serve_nothing(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Where nothing is: the page that says so, the same as for a vault that is not there."""

        async def missing(_: Request, __: Guest) -> Response:
            raise NoSuchVault("nothing is here")

        response = await self.answering(missing)(Request(scope, receive))
        await response(scope, receive, send)

    def _say(self, what: str, status: int, guest: Guest | None, why: str = "") -> Response:
        return self._pages.render("message", status=status, vault=None, guest=guest, what=what, why=why)

    def _give_back(self, form: FormData, guest: Guest | None, sign_in: str | None = None) -> Response:
        given = [(name, form.get(name)) for name in _TYPED]
        typed = [(name, value) for name, value in given if isinstance(value, str) and value.strip()]
        return self._pages.render("stale", status=403, vault=None, guest=guest, typed=typed, sign_in=sign_in)


_TYPED = ("title", "content", "reason", "tags")
"""Fields whose text somebody would have to type again."""


def _has_parts(request: Request) -> bool:
    """Whether a body comes in parts, which may be files."""
    return request.headers.get("content-type", "").strip().lower().startswith("multipart/")


def _path_of(request: Request) -> str:
    """The page somebody wanted, to be led back to."""
    if request.method not in ("GET", "HEAD"):
        return str(request.scope["path"])
    query = request.scope["query_string"].decode("latin-1")
    return f"{request.scope['path']}?{query}" if query else str(request.scope["path"])
