"""The door to sign-in and the authorization server. What is behind it is imported at the first request for it: a server
for agents alone pays nothing.

Host and Origin are checked as at the gate. Only what programs call may be read by pages of other origins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from starlette.types import ASGIApp, Receive, Scope, Send

from auth.keys import KeyRing
from server.http import cors
from server.http.gate import GatePolicy
from server.http.late_application import LateApplication
from server.http.request_head import Refusal, RequestHead, line_of, respond
from server.services import Services

if TYPE_CHECKING:
    from auth.outside.provider_questions import ProviderQuestions

BODY_LIMIT = 64 * 1024
"""Bytes of a form, or of what a client says of itself."""

DESCRIPTION = "/.well-known/oauth-authorization-server"
_CALLED_BY_PROGRAMS = frozenset({"/oauth/token", "/oauth/register", "/oauth/revoke"})


def is_sign_in_path(path: str) -> bool:
    """Whether this door leads there. A client looks below the description for an issuer whose address has a path."""
    return path == DESCRIPTION or path.startswith(("/oauth/", f"{DESCRIPTION}/"))


class SignInDoor:
    """ASGI. ``url``: where people and clients find this server; ``policy``: that of the gate."""

    def __init__(self, services: Services, ring: KeyRing, url: str, policy: GatePolicy) -> None:
        self._services, self._ring, self._url, self._policy = services, ring, url, policy
        self._late = LateApplication(services, "sign-in", self._make)
        self._outside: Mapping[str, ProviderQuestions] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = RequestHead.of(scope)
        try:
            head.check_origin(self._policy.allowed_hosts, self._policy.allowed_origins)
            head.check_length(BODY_LIMIT)
            if head.origins and head.path in _CALLED_BY_PROGRAMS:
                send = cors.make_readable(send, head.origins[0])
                if cors.is_preflight(scope):
                    await cors.answer_preflight(scope, b"POST", send)
                    return
            await self._policy.access_cache.catch_up()
            application = await self._late.open()
        except Refusal as refusal:
            self._policy.on_refusal(line_of(refusal, scope))
            await respond(refusal, send)
            return
        await application(scope, receive, send)

    async def close(self) -> None:
        """Close connections to outside providers."""
        for each in self._outside.values():
            await each.close()

    async def _make(self, seal: bytes) -> ASGIApp:
        from mcp.server.transport_security import RequestBodyLimitMiddleware

        from auth.outside.provider_questions import ProviderQuestions
        from auth.people.attempts import Attempts
        from server.oauth.application import make_sign_in
        from server.oauth.client_documents import ClientDocuments
        from server.oauth.parts import SignInParts
        from vaults.listed_hosts import ListedHosts

        services = self._services
        attempts, listed = Attempts(shared=services.shared_counts), services.settings.auth.client_hosts
        self._outside = {each.name: ProviderQuestions(each) for each in services.settings.auth.providers}
        parts = SignInParts(
            control=services.control,
            access_cache=services.access_cache,
            vaults=services.registry_cache.names,
            ring=self._ring,
            instance_id=services.instance_id,
            audit=services.audit,
            url=self._url,
            seal=seal,
            console=services.settings.ui.enabled,
            documents=ClientDocuments(ListedHosts(listed), attempts) if listed else None,
            outside=self._outside,
            leeway_s=services.settings.auth.leeway_s,
            attempts=attempts,
        )
        return RequestBodyLimitMiddleware(make_sign_in(parts), BODY_LIMIT)
