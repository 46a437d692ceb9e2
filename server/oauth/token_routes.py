"""What clients call: tokens, registration, revocation, and the document that says where these are (RFC 8414)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.settings import ClientRegistrationOptions
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from auth.errors import TokenInvalid
from auth.local_issuer import LocalAuthenticator
from auth.oauth import client_logins
from auth.oauth.client_logins import ClientLogin
from auth.people.attempts import REGISTRATION, REGISTRATIONS
from auth.roles import Role
from auth.token_claims import peek
from server.oauth.parts import SignInParts, address_of
from server.oauth.provider import Provider

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
DOCUMENTS_MEMBER = "client_id_metadata_document_supported"
NO_STORE = {"cache-control": "no-store", "pragma": "no-cache"}
_LEEWAY_S = 60.0


def metadata(url: str) -> dict[str, Any]:
    """The authorization server's own description."""
    methods = ["none", "client_secret_post", "client_secret_basic"]
    return {
        "issuer": url,
        "authorization_endpoint": f"{url}/oauth/authorize",
        "token_endpoint": f"{url}/oauth/token",
        "registration_endpoint": f"{url}/oauth/register",
        "revocation_endpoint": f"{url}/oauth/revoke",
        "scopes_supported": [role.scope for role in Role],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "device_authorization_endpoint": f"{url}/oauth/device/start",
        "grant_types_supported": ["authorization_code", "refresh_token", DEVICE_GRANT],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": methods,
        "revocation_endpoint_auth_methods_supported": methods,
        "authorization_response_iss_parameter_supported": True,
    }


class TokenRoutes:
    """The endpoints without pages. ``of_devices``: answers a token request with a device code."""

    def __init__(self, parts: SignInParts, of_devices: Callable[[Request], Awaitable[Response]]) -> None:
        self._parts, self._of_devices = parts, of_devices

    async def describe(self, _: Request) -> Response:
        """``GET /.well-known/oauth-authorization-server``."""
        headers = {"access-control-allow-origin": "*", "cache-control": "public, max-age=300"}
        found = metadata(self._parts.url) | {DOCUMENTS_MEMBER: self._parts.documents is not None}
        return JSONResponse(found, headers=headers)

    async def token(self, request: Request) -> Response:
        """``POST /oauth/token``."""
        form = await request.form()
        if names_twice(form):
            return failure(400, "invalid_request", "a parameter occurs twice")
        if form.get("grant_type") == DEVICE_GRANT:
            return await self._of_devices(request)
        resource = form.get("resource")
        provider = Provider(self._parts, resource if isinstance(resource, str) else None)
        answer: Response = await TokenHandler(provider, ClientAuthenticator(provider)).handle(request)
        return answer

    async def register(self, request: Request) -> Response:
        """``POST /oauth/register``."""
        attempts = self._parts.attempts
        wait = attempts.wait(REGISTRATION, address_of(request)) or attempts.wait(REGISTRATIONS, "")
        if wait:
            answer = failure(429, "temporarily_unavailable", "too many registrations")
            answer.headers["retry-after"] = str(math.ceil(wait))
            return answer
        handler = RegistrationHandler(Provider(self._parts), ClientRegistrationOptions(enabled=True))
        registered = await handler.handle(request)
        registered.headers.update(NO_STORE)
        return registered

    async def revoke(self, request: Request) -> Response:
        """``POST /oauth/revoke`` (RFC 7009): the login of either token ends. Not by the SDK's handler, which takes a
        client without a secret for a malformed request."""
        provider = Provider(self._parts)
        form = await request.form()
        if names_twice(form):
            return failure(400, "invalid_request", "a parameter occurs twice")
        try:
            client = await ClientAuthenticator(provider).authenticate_request(request)
        except AuthenticationError as refused:
            return failure(401, "invalid_client", refused.message)
        token = form.get("token")
        if not isinstance(token, str) or not token:
            return failure(400, "invalid_request", "token is missing")
        login = await self._login_of(token)
        if login is not None and login.client == client.client_id:
            known, now = login.id, self._parts.now()
            await self._parts.access_cache.write(lambda tx: client_logins.end(tx, known, now, "revoked"))
        return Response(status_code=200, headers=NO_STORE)

    async def _login_of(self, token: str) -> ClientLogin | None:
        stored = await self._parts.control.read(lambda tx: client_logins.find_refresh_token(tx, token))
        if stored is not None:
            return stored.login
        local = LocalAuthenticator(self._parts.ring, self._parts.instance_id, _LEEWAY_S, now=self._parts.now)
        try:
            principal = await local.authenticate(peek(token))
        except TokenInvalid:
            return None
        token_id = None if principal is None else principal.token_id
        if token_id is None:
            return None
        return await self._parts.control.read(lambda tx: client_logins.login_of_token(tx, token_id))


def names_twice(values: FormData | QueryParams) -> bool:
    """Whether a parameter occurs twice: two programs on the way may each believe another one (RFC 6749 §3.1)."""
    names = [name for name, _ in values.multi_items()]
    return len(set(names)) != len(names)


def failure(status: int, error: str, description: str) -> JSONResponse:
    """What a client is told that did something wrong (RFC 6749 §5.2)."""
    return JSONResponse({"error": error, "error_description": description}, status, headers=NO_STORE)
