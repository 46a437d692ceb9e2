"""The application behind ``/oauth/`` and ``/.well-known/oauth-authorization-server``."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from server.languages import reading_in
from server.oauth.account_routes import AccountRoutes
from server.oauth.authorize_route import AuthorizeRoute
from server.oauth.catalogue import say
from server.oauth.device_routes import DeviceRoutes
from server.oauth.hashing import HashingTurns
from server.oauth.outside_routes import OutsideRoutes
from server.oauth.pages import Pages, passkey_script, style
from server.oauth.parts import SignInParts
from server.oauth.passkey_questions import PasskeyQuestions
from server.oauth.passkey_routes import PasskeyRoutes
from server.oauth.sign_in_routes import SignInRoutes
from server.oauth.token_routes import TokenRoutes
from server.oauth.visits import Visits
from vaults.errors import Overloaded, RateLimited, StrongroomError

Handler = Callable[[Request], Awaitable[Response]]

DESCRIPTION = "/.well-known/oauth-authorization-server"


def make_sign_in(parts: SignInParts) -> ASGIApp:
    """The application. Whoever mounts it has checked Host and Origin, and bounds the body."""
    visits, pages, hashing = Visits(parts), Pages(parts.base), HashingTurns()
    questions = PasskeyQuestions(parts, visits)
    signing_in = SignInRoutes(parts, visits, pages, hashing, questions)
    account = AccountRoutes(parts, visits, pages, hashing, questions)
    with_passkey = PasskeyRoutes(parts, visits, questions, signing_in, account)
    devices = DeviceRoutes(parts, visits, pages)
    outside = OutsideRoutes(parts, visits, pages, signing_in)
    authorize, clients = AuthorizeRoute(parts, visits, pages), TokenRoutes(parts, devices.token)

    async def css(_: Request) -> Response:
        return style()

    async def script(_: Request) -> Response:
        return passkey_script()

    def page(path: str, handler: Handler, method: str) -> Route:
        return Route(path, _speaking(_apologising(handler, pages), visits), methods=[method])

    return Router(
        [
            Route(DESCRIPTION, clients.describe),
            Route(f"{DESCRIPTION}/{{path:path}}", clients.describe),
            Route("/oauth/token", _failing_as_json(clients.token), methods=["POST"]),
            Route("/oauth/register", _failing_as_json(clients.register), methods=["POST"]),
            Route("/oauth/revoke", _failing_as_json(clients.revoke), methods=["POST"]),
            page("/oauth/authorize", authorize, "GET"),
            page("/oauth/authorize", authorize, "POST"),
            page("/oauth/sign-in", signing_in.show_sign_in, "GET"),
            page("/oauth/sign-in", signing_in.sign_in, "POST"),
            page("/oauth/sign-out", signing_in.sign_out, "POST"),
            page("/oauth/invite", signing_in.show_invite, "GET"),
            page("/oauth/invite", signing_in.take_invite, "POST"),
            Route("/oauth/device/start", _failing_as_json(devices.start), methods=["POST"]),
            page("/oauth/device", devices.show, "GET"),
            page("/oauth/device", devices.answer, "POST"),
            page("/oauth/account", account.show, "GET"),
            page("/oauth/account", account.change, "POST"),
            page("/oauth/sign-in/passkey", with_passkey.sign_in, "POST"),
            page("/oauth/invite/passkey", with_passkey.take_invite, "POST"),
            page("/oauth/account/passkeys", with_passkey.change, "POST"),
            page("/oauth/with/{provider}", outside.begin, "GET"),
            page("/oauth/with/{provider}/done", outside.come_back, "GET"),
            Route("/oauth/frame.css", css),
            Route("/oauth/passkeys.js", script),
        ]
    )


def _speaking(handler: Handler, visits: Visits) -> Handler:
    """A page in the language of its reader."""

    async def answer(request: Request) -> Response:
        with reading_in(visits.language_of(request)):
            return await handler(request)

    return answer


def _apologising(handler: Handler, pages: Pages) -> Handler:
    """A page, or a page that says why there is none."""

    async def answer(request: Request) -> Response:
        if _has_parts(request):
            return pages.message(say("messages.unreadable"), say("messages.no_files"), status=415)
        try:
            return await handler(request)
        except MultiPartException:  # also of a plain form, with a thousand fields
            return pages.message(say("messages.unreadable"), say("messages.too_many_fields"))
        except ClientDisconnect:
            return Response(status_code=400)  # to nobody
        except StrongroomError as failure:
            page = pages.message(say("messages.unavailable"), say("messages.why", why=failure.message), status=503)
            page.headers["retry-after"] = _seconds(failure)
            return page

    return answer


def _failing_as_json(handler: Handler) -> Handler:
    """What a client is told when the server cannot read or write at the moment."""

    async def answer(request: Request) -> Response:
        if _has_parts(request):
            return Response(b'{"error":"invalid_request"}', 415, media_type="application/json")
        try:
            return await handler(request)
        except MultiPartException:
            return Response(b'{"error":"invalid_request"}', 400, media_type="application/json")
        except ClientDisconnect:
            return Response(status_code=400)  # to nobody
        except StrongroomError as failure:
            body = b'{"error":"temporarily_unavailable"}'
            headers = {"cache-control": "no-store", "retry-after": _seconds(failure)}
            return Response(body, 503, headers=headers, media_type="application/json")

    return answer


def _has_parts(request: Request) -> bool:
    """Whether a body comes in parts, which may be files: no form of ours does, and they would go to the disk."""
    return request.headers.get("content-type", "").strip().lower().startswith("multipart/")


def _seconds(failure: StrongroomError) -> str:
    return (
        str(math.ceil(failure.details.get("retry_after_s", 5)))
        if isinstance(failure, Overloaded | RateLimited)
        else "5"
    )
