"""Programs that people let in, those that registered themselves, and the end of a login."""

from __future__ import annotations

from starlette.responses import Response

from auth.oauth.client_logins import find_logins
from auth.oauth.clients import find_clients
from server.administration.clients import end_login, require_login
from server.ui.admin_view import AdminView
from server.ui.narrowing import ROWS, narrowing_of
from server.ui.page import AdminPage
from server.ui.vault_view import Complaint, refusal_of
from vaults.errors import StrongroomError


async def show(view: AdminView) -> Response:
    """The page."""
    return await _page(view)


async def change(view: AdminView) -> Response:
    """End a login: its program has to be let in anew."""
    if view.text("do") != "end_login":
        return view.go("clients")
    services, login_id, now = view.services, view.text("id"), view.parts.now()
    try:
        login = await services.control.read(lambda tx: require_login(tx, login_id))
        async with view.recorded("login", "end", vault=login.vault, subject=login.person, login=login.id):
            await services.access_cache.write(lambda tx: end_login(tx, login, now))
    except StrongroomError as failure:
        return await _page(view, refusal_of(failure))
    return view.go("clients?done=end_login")


async def _page(view: AdminView, refused: Complaint | None = None) -> Response:
    asked, now = narrowing_of(view.request), view.parts.now()
    shown = "registered" if view.request.query_params.get("show") == "registered" else "logins"
    find = find_clients if shown == "registered" else find_logins
    found, total = await view.services.control.read(lambda tx: find(tx, asked.text, now, ROWS, asked.offset))
    return view.page(
        "clients",
        here="clients",
        status=200 if refused is None else refused.status,
        refused=refused,
        asked=asked,
        shown=shown,
        found=found,
        total=total,
    )


PAGE = AdminPage("clients", show, change)
