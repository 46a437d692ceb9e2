"""Our side of the SDK's authorization server: its handlers check the protocol, this keeps and decides.

What the SDK leaves to its caller is done here: redirects are compared as text, a token is for one vault whatever
``resource`` the token request names, and what comes twice ends its login.
"""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime

import structlog
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
)
from mcp.shared.auth import InvalidRedirectUriError, OAuthClientInformationFull, OAuthToken
from pydantic import AnyUrl

from auth.oauth import client_logins, clients, codes
from auth.oauth.client_logins import ClientLogin
from auth.oauth.clients import Client
from auth.oauth.redirects import check_redirect, is_registered
from auth.people import people
from auth.principal import LOCAL, principal_key
from auth.roles import Role, role_of_scopes
from auth.tokens import IssuedToken, TokenRequest, issue_token
from server.oauth.parts import SignInParts
from server.oauth.resources import address_of_vault, vault_of_resource
from vaults.db.sql import Writer

ACCESS_TTL_S = 3600
"""Seconds an access token lasts: a client renews it by itself."""

log = structlog.get_logger("server.oauth")


class RegisteredClient(OAuthClientInformationFull):
    """A client as the SDK's handlers know it."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        """The redirect asked for, or the only one there is."""
        registered = [str(each) for each in self.redirect_uris or ()]
        if redirect_uri is None and len(registered) == 1:
            return AnyUrl(registered[0])
        if redirect_uri is None or not is_registered(str(redirect_uri), registered):
            raise InvalidRedirectUriError("redirect_uri is none of those the client registered")
        return redirect_uri

    def validate_scope(self, requested_scope: str | None) -> list[str] | None:
        """Scopes are a wish: the person decides, and the answer says what was allowed (RFC 6749 §3.3)."""
        return None if requested_scope is None else requested_scope.split()


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """``OAuthAuthorizationServerProvider`` of the SDK, for one request; ``resource``: that of a token request."""

    def __init__(self, parts: SignInParts, resource: str | None = None) -> None:
        self._parts = parts
        self._resource = resource

    async def get_client(self, client_id: str) -> RegisteredClient | None:
        """The client of this id."""
        now = self._parts.now()
        client = await self._parts.control.read(lambda tx: clients.find(tx, client_id, now))
        return None if client is None else self._known(client)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep a client that registers itself; what it will be told of itself is put right."""
        uris = [str(each) for each in client_info.redirect_uris or ()]
        method = clients.auth_method_of(client_info.token_endpoint_auth_method)
        if method is None:
            raise RegistrationError("invalid_client_metadata", "token_endpoint_auth_method is none of those there are")
        for raw in uris:
            try:
                check_redirect(raw)
            except ValueError as failure:
                raise RegistrationError("invalid_redirect_uri", str(failure)) from None
        name = clients.plain_name(client_info.client_name or "")
        client = Client(client_info.client_id, name, tuple(uris), method)
        now = self._parts.now()
        try:
            await self._parts.control.write(lambda tx: clients.register(tx, client, now))
        except ValueError as failure:
            raise RegistrationError("invalid_redirect_uri", str(failure)) from None
        client_info.client_name = name or None
        client_info.grant_types = ["authorization_code", "refresh_token"]
        client_info.response_types = ["code"]
        client_info.client_secret = self._known(client).client_secret

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Not here: ``authorize_route`` asks a person first."""
        raise NotImplementedError

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """A code of this client that is good. One that was used ends its login."""
        stored = await self._parts.control.read(lambda tx: codes.find(tx, authorization_code, client.client_id))
        if stored is None:
            return None
        if stored.used_at is not None:
            await self._end_stolen(stored.login, stored.asked.terms.person, "code_replayed")
            return None
        return AuthorizationCode(
            code=authorization_code,
            scopes=stored.asked.terms.role.scopes.split(),
            expires_at=datetime.fromisoformat(stored.expires_at).timestamp(),
            client_id=stored.asked.terms.client,
            code_challenge=stored.asked.challenge,
            redirect_uri=AnyUrl(stored.asked.redirect_uri),
            redirect_uri_provided_explicitly=stored.asked.redirect_named,
            resource=stored.asked.terms.resource,
            subject=stored.asked.terms.person,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """The first tokens of a login."""
        now, code = self._parts.now(), authorization_code.code
        stored = await self._parts.control.read(lambda tx: codes.find(tx, code, client.client_id))
        if stored is None:
            raise TokenError("invalid_grant", "authorization code does not exist")
        terms = stored.asked.terms
        self._check_resource(terms.vault)
        if not self._may_enter(terms.person, terms.vault):
            raise TokenError("invalid_grant", "the person has no grant for this vault any more")

        def write(tx: Writer) -> tuple[str, IssuedToken] | None:
            if not codes.use(tx, stored, now):  # another request was quicker: one of the two is not the client
                client_logins.end(tx, stored.login, now, "code_replayed")
                return None
            if not people.is_enabled(tx, terms.person):
                return None
            refresh = client_logins.start(tx, stored.login, terms, now)
            login = client_logins.find(tx, stored.login)
            return None if login is None else (refresh, self._issue(tx, login))

        made = await self._parts.access_cache.write(write)
        if made is None:
            raise TokenError("invalid_grant", "authorization code was used")
        log.info("login_started", principal=_key(terms.person), client=terms.client, vault=terms.vault)
        return _answer(*made)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """A refresh token of this client that is good. One that was used ends its login."""
        now = self._parts.now()
        stored = await self._parts.control.read(lambda tx: client_logins.find_refresh_token(tx, refresh_token))
        if stored is None or stored.login.client != client.client_id:
            return None
        login = stored.login
        if stored.is_used:
            await self._end_stolen(login.id, login.person, "refresh_reused")
            return None
        if login.is_over(now):
            return None
        return RefreshToken(
            token=refresh_token,
            client_id=login.client,
            scopes=login.role.scopes.split(),
            resource=login.resource,
            subject=login.person,
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """The next tokens of a login: an access token for fewer ``scopes`` where so asked."""
        now = self._parts.now()
        stored = await self._parts.control.read(lambda tx: client_logins.find_refresh_token(tx, refresh_token.token))
        if stored is None or stored.login.client != client.client_id:
            raise TokenError("invalid_grant", "refresh token does not exist")
        login = stored.login
        self._check_resource(login.vault)
        may_enter = self._may_enter(login.person, login.vault)

        def write(tx: Writer) -> tuple[str, IssuedToken] | None:
            if not may_enter or not people.is_enabled(tx, login.person):
                client_logins.end(tx, login.id, now, "no_grant")
                return None
            current = client_logins.find(tx, login.id)
            if current is None or current.is_over(now):
                return None
            refresh = client_logins.rotate(tx, refresh_token.token, current, now)
            if refresh is None:  # another request was quicker
                client_logins.end(tx, login.id, now, "refresh_reused")
                return None
            return refresh, self._issue(tx, current, role_of_scopes(scopes))

        made = await self._parts.access_cache.write(write)
        if made is None:
            raise TokenError("invalid_grant", "this login is over")
        return _answer(*made)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Not here: the gate reads tokens."""
        raise NotImplementedError

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Not here: ``token_routes`` ends logins."""
        raise NotImplementedError

    def _known(self, client: Client) -> RegisteredClient:
        derived = hmac.new(self._parts.seal, f"client\0{client.id}".encode(), hashlib.sha256).hexdigest()
        return RegisteredClient(
            client_id=client.id,
            client_name=client.name or None,
            client_secret=None if client.auth_method == "none" else derived,
            redirect_uris=[AnyUrl(each) for each in client.redirect_uris],
            token_endpoint_auth_method=client.auth_method,
        )

    def _issue(self, tx: Writer, login: ClientLogin, narrowed: Role | None = None) -> IssuedToken:
        role = min(login.role, narrowed or login.role)
        resource = address_of_vault(login.vault, self._parts.url)
        wanted = TokenRequest(login.person, (login.vault,), role, ACCESS_TTL_S, resource=resource)
        return issue_token(tx, self._parts.ring, self._parts.instance_id, wanted, login=login.id)

    def _may_enter(self, person: str, vault: str) -> bool:
        return vault in self._parts.roles_of(person)

    def _check_resource(self, vault: str) -> None:
        try:
            named = vault_of_resource(self._resource, self._parts.url)
        except ValueError as failure:
            raise TokenError("invalid_target", str(failure)) from None
        if named not in (None, vault):
            raise TokenError("invalid_target", "this login is for another vault")

    async def _end_stolen(self, login: str, person: str, reason: client_logins.EndReason) -> None:
        now = self._parts.now()
        await self._parts.access_cache.write(lambda tx: client_logins.end(tx, login, now, reason))
        log.warning("login_stolen", reason=reason, principal=_key(person))


def _answer(refresh: str, issued: IssuedToken) -> OAuthToken:
    return OAuthToken(
        access_token=issued.token, expires_in=ACCESS_TTL_S, scope=issued.role.scopes, refresh_token=refresh
    )


def _key(person: str) -> str:
    return principal_key(LOCAL, person)
