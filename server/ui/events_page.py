"""The stream by which an open page of a vault hears that something there changed."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from server.oauth.pages import HEADERS
from server.oauth.visits import Visits
from server.ui.live_streams import LiveStream
from server.ui.page import VaultPage
from server.ui.vault_view import VaultView
from vaults.errors import StrongroomError

RETRY_AFTER_S = 30


async def show(view: VaultView) -> Response:
    """Server-sent events, until the grant or the session ends, the page is closed, the vault goes to another server or
    this one stops. The browser asks again then."""
    parts, principal = view.parts, view.guest.principal
    find = parts.services.routes.stream
    if find is not None and (elsewhere := await find(view.vault, view.request.scope)) is not None:
        return _PassedOn(elsewhere)
    headers = {**HEADERS, "x-accel-buffering": "no"}  # by which nginx passes each line on at once
    if not parts.streams.has_room(principal.key):
        wait = {**headers, "retry-after": str(RETRY_AFTER_S)}
        return PlainTextResponse("too many pages are open\n", 503, headers=wait)
    if view.request.method == "HEAD":
        return Response(media_type="text/event-stream", headers=headers)
    visits, entry = Visits(parts), parts.services.registry_cache.entry(view.vault)
    await parts.services.begin_stream(entry)

    async def may_stay() -> bool:
        services = parts.services
        try:
            await services.access_cache.catch_up()
            if services.role_in(principal, view.vault) is None or not services.holds(entry.vault_id):
                return False
            return not parts.signs_in or await visits.goes_on(view.guest.visit)
        except StrongroomError:
            return False  # rights that cannot be read let nobody stay

    def is_damaged() -> bool:
        return view.vault in parts.services.pool.quarantined

    stream = LiveStream(entry.vault_id, principal.key)
    lines = parts.streams.serve(stream, parts.services.call_listeners, may_stay, is_damaged)
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


class _PassedOn(Response):
    """What another server answers to the same request."""

    def __init__(self, application: ASGIApp) -> None:
        super().__init__()
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._application(scope, receive, send)


PAGE = VaultPage("events", show, is_use=False)
