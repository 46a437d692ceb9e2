"""The gate before MCP and plain JSON: host → token → principal → vault → scope, or one plain JSON refusal.

Pure ASGI. What passes carries an ``Admission`` in ``scope["state"]["admission"]``, its ``RequestBody`` in
``scope["state"]["body"]``, its ``VaultPath`` in ``scope["state"]["place"]`` and the SDK's own user in
``scope["user"]``; nothing else in the program reads a token. The gate admits readers and up; what a tool needs is
checked again in dispatch, so a request that talks its way past the step-up check below gains nothing.

Until the token is verified, answers depend on the request alone, never on which vaults exist. The same holds for a
browser's preflight, which carries no token and is answered before one is required.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.authentication import AuthCredentials
from starlette.types import ASGIApp, Receive, Scope, Send

from auth.access import AccessSnapshot
from auth.access_cache import AccessCache
from auth.authenticate import Authenticator
from auth.authorize import Allowed, decide
from auth.bearer import bearer_token, challenge
from auth.errors import TokenInvalid
from auth.principal import Principal, owner
from auth.roles import Role
from ops.refusals import RefusalLine, RefusalReason
from server.http import cors
from server.http.peer_marks import was_forwarded
from server.http.request_body import RequestBody, read_called_tools
from server.http.request_head import Refusal, RequestHead, line_of, respond
from server.http.vault_paths import METHODS, VaultPath, parse_vault_path
from vaults.errors import StrongroomError

METADATA_PATH = "/.well-known/oauth-protected-resource"

PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~-]{0,127}", re.ASCII)
"""What of a stranger's path may be repeated in a URL or a quoted header value."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Who was let in, to which vault, with which role. Made here and trusted by the protocol layer."""

    principal: Principal
    vault: str
    role: Role


@dataclass(frozen=True, slots=True)
class GatePolicy:
    """What the gate decides by."""

    authenticator: Authenticator | None  # None: ``auth.mode`` is none and everybody is the owner
    access_cache: AccessCache
    vaults: Callable[[], Collection[str]]  # names of active vaults, quick to search
    look_again: Callable[[], Awaitable[bool]]  # for vaults and grants made elsewhere; False: nothing new is known
    required_role: Callable[[str], Role | None]  # the least role of a tool; None: no such tool
    public_url: str
    allowed_hosts: tuple[str, ...]  # lower case, exact or ``host:*`` for any port
    allowed_origins: tuple[str, ...]  # likewise
    max_body: int  # bytes
    on_refusal: Callable[[RefusalLine], None]  # called with each refusal


class Gate:
    """Wraps what is behind it. Where ``vault_paths`` knows nothing, nothing is found."""

    def __init__(self, app: ASGIApp, policy: GatePolicy) -> None:
        self._app = app
        self._policy = policy
        self._owner = owner("loopback")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        head = RequestHead.of(scope)
        place = parse_vault_path(head.path)
        try:
            is_checked = was_forwarded(scope)  # by the server that the request came to, which also tells the browser
            if not is_checked:
                head.check_origin(self._policy.allowed_hosts, self._policy.allowed_origins)
            if head.origins and place is not None and not is_checked:
                send = cors.make_readable(send, head.origins[0])
                if cors.is_preflight(scope):
                    await cors.answer_preflight(scope, METHODS[place.door], send)
                    return
            body = RequestBody(receive, self._policy.max_body)
            admitted = await self._admit(place, head, scope, body)
        except Refusal as refusal:
            self._policy.on_refusal(line_of(refusal, scope))
            await respond(refusal, send)
            return
        known = scope.get("state", {}).get("admitted")
        if known is not None:
            known()  # tells the connection: it is closed later than a stranger's
        await self._app(admitted, body.receive, send)

    async def _admit(self, place: VaultPath | None, head: RequestHead, scope: Scope, body: RequestBody) -> Scope:
        head.check_length(self._policy.max_body)
        if place is None:
            raise _no_such_vault()
        vault = place.vault
        metadata = self._metadata_url(vault)
        try:
            await self._policy.access_cache.catch_up()
            principal = await self._principal(head, metadata)
            _ = self._policy.access_cache.current  # raises where nobody can be let in
        except StrongroomError as failure:
            retry = ((b"retry-after", b"5"),)
            raise Refusal(503, failure.code, failure.message, retry, reason="vault_unavailable") from None
        try:
            admission = await self._find(principal, vault, metadata)
            if principal.scope_role is not None and principal.scope_role < Role.ADMIN and scope["method"] == "POST":
                access = self._policy.access_cache.current
                for tool in await _called_tools(place, head, body):
                    self._step_up(access, admission, tool, metadata)
        except Refusal as refusal:
            refusal.principal = principal.key
            refusal.vault = vault if vault in self._policy.vaults() else None
            raise
        return _admit_scope(scope, head, admission, body, place)

    async def _principal(self, head: RequestHead, metadata: str) -> Principal:
        if self._policy.authenticator is None:
            return self._owner
        try:
            token = bearer_token(head.authorization)
            if token is not None:
                return await self._policy.authenticator.authenticate(token)
        except TokenInvalid as invalid:
            refusal = _unauthorized(challenge(metadata, Role.READER.scopes, "invalid_token"), invalid.reason)
            refusal.principal, refusal.found = invalid.principal, invalid.found
            raise refusal from None
        raise _unauthorized(challenge(metadata, Role.READER.scopes), "missing")

    async def _find(self, principal: Principal, vault: str | None, metadata: str) -> Admission:
        try:
            return self._admission(self._policy.access_cache.current, principal, vault, metadata)
        except Refusal as refusal:
            # Missing vaults and missing grants alike: how long an answer takes must not tell which it is.
            if refusal.reason not in ("grant", "which_vault") or not await self._policy.look_again():
                raise
        return self._admission(self._policy.access_cache.current, principal, vault, metadata)

    def _admission(self, access: AccessSnapshot, principal: Principal, vault: str | None, metadata: str) -> Admission:
        known = self._policy.vaults()
        if vault is None and not principal.lacks_scope:
            mine = access.vaults_of(principal, known)
            if len(mine) != 1:
                raise _vault_not_named()
            vault = next(iter(mine))
        decision = decide(access, principal, vault or "", Role.READER)
        if isinstance(decision, Allowed) and vault in known:
            return Admission(principal, vault or "", decision.role)
        if not isinstance(decision, Allowed) and decision.reason == "scope":
            raise _forbidden(metadata, decision.scopes)
        raise _no_such_vault()

    def _step_up(self, access: AccessSnapshot, admission: Admission, tool: str, metadata: str) -> None:
        # Only a missing scope is named. A tool above the caller's role must look as if it did not exist, which is for
        # the protocol layer to say.
        required = self._policy.required_role(tool)
        if required is None:
            return
        decision = decide(access, admission.principal, admission.vault, required)
        if not isinstance(decision, Allowed) and decision.reason == "scope":
            raise _forbidden(metadata, decision.scopes)

    def _metadata_url(self, vault: str | None) -> str:
        base = f"{self._policy.public_url}{METADATA_PATH}"
        if vault is None:
            return f"{base}/mcp"
        return f"{base}/v/{vault}/mcp" if PLAIN_NAME.fullmatch(vault) else base


async def _called_tools(place: VaultPath, head: RequestHead, body: RequestBody) -> list[str]:
    """The tools a request calls. Raises ``Refusal``."""
    if place.door == "mcp":
        return await read_called_tools(head, body)
    return [place.tool] if place.tool else []


def _admit_scope(scope: Scope, head: RequestHead, admission: Admission, body: RequestBody, place: VaultPath) -> Scope:
    user, credentials = _sdk_user(admission.principal, admission.role)
    state: dict[str, Any] = {**scope.get("state", {}), "admission": admission, "body": body, "place": place}
    return {**scope, "headers": head.headers, "user": user, "auth": credentials, "state": state}


@lru_cache(maxsize=1024)
def _sdk_user(principal: Principal, role: Role) -> tuple[AuthenticatedUser, AuthCredentials]:
    """What the SDK knows of a caller: the same for each of its requests, so it is made once."""
    scopes = role.scopes.split(" ")
    access_token = AccessToken(
        token=principal.token_id or principal.key,  # never the token itself: the SDK keeps this as long as it likes
        client_id=principal.key,
        scopes=scopes,
        expires_at=None if principal.expires_at is None else int(principal.expires_at),
        subject=principal.subject,
        claims={"iss": principal.issuer},
    )
    return AuthenticatedUser(access_token), AuthCredentials(scopes)


def _no_such_vault() -> Refusal:
    return Refusal(404, "not_found", "no such vault, or no grant for it", reason="grant")


def _vault_not_named() -> Refusal:
    message = "Validation error: vault must be named: use /v/{vault}/mcp, or a token for exactly one vault"
    return Refusal(400, "invalid_argument", message, reason="which_vault")


def _unauthorized(header: str, reason: RefusalReason) -> Refusal:
    message = "a valid access token is needed: Authorization: Bearer …"
    return Refusal(401, "unauthorized", message, ((b"www-authenticate", header.encode("ascii")),), reason=reason)


def _forbidden(metadata: str, scopes: str) -> Refusal:
    header = challenge(metadata, scopes, "insufficient_scope").encode("ascii")
    message = f"the token lacks a scope; needed: {scopes}"
    return Refusal(403, "forbidden", message, ((b"www-authenticate", header),), reason="scope")
