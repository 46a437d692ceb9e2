"""The device flow (RFC 8628), for ``strongroom login``: a command shows a code, a person types it in a browser.

For our own command alone. Whoever gets a person to type a stranger's code gets in as them, so the page says from where
the command asked, and a code is worth nothing before somebody who is signed in has said yes to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import structlog
import uuid_utils
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from auth.oauth import client_logins, consents, device_codes
from auth.oauth.consents import Consent
from auth.oauth.device_codes import OWN_CLIENT, DeviceRequest
from auth.oauth.login_terms import LoginTerms
from auth.people import people
from auth.people.attempts import DEVICE_CODE, DEVICE_POLL, DEVICE_START, DEVICE_STARTS
from auth.principal import LOCAL, principal_key
from auth.tokens import IssuedToken, TokenRequest, issue_token
from server.oauth.catalogue import say
from server.oauth.choices import offer, read_terms
from server.oauth.pages import Pages
from server.oauth.parts import SignInParts, address_of
from server.oauth.resources import address_of_vault, vault_of_resource
from server.oauth.sign_in_routes import held_back, sign_in_address, text_of, too_many
from server.oauth.token_routes import NO_STORE, failure
from server.oauth.visits import FORM_FIELD, Visit, Visits
from vaults.db.sql import Writer

HERE = "/oauth/device"

_REFUSALS: Mapping[str | None, str] = {"pending": "authorization_pending", "denied": "access_denied"}

log = structlog.get_logger("server.oauth")


class DeviceRoutes:
    """Where a command asks, where a person answers, and where the command gets its token."""

    def __init__(self, parts: SignInParts, visits: Visits, pages: Pages) -> None:
        self._parts, self._visits, self._pages = parts, visits, pages

    async def start(self, request: Request) -> Response:
        """``POST /oauth/device/start``: a command asks."""
        form = await request.form()
        if text_of(form, "client_id") != OWN_CLIENT:
            return failure(400, "unauthorized_client", "only strongroom login signs in so")
        attempts = self._parts.attempts
        wait = attempts.wait(DEVICE_START, address_of(request)) or attempts.wait(DEVICE_STARTS, "")
        if wait:
            return held_back(failure(429, "temporarily_unavailable", "too many codes were asked for"), wait)
        resource = text_of(form, "resource") or None
        try:
            vault_of_resource(resource, self._parts.url)
        except ValueError as wrong:
            return failure(400, "invalid_target", str(wrong))
        asked_by, address, now = text_of(form, "asked_by"), address_of(request), self._parts.now()
        device_code, user_code = await self._parts.control.write(
            lambda tx: device_codes.ask(tx, asked_by, address, resource, now)
        )
        page = f"{self._parts.url}{HERE}"
        answer = {
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": f"{page}?{urlencode({'code': user_code})}",
            "expires_in": device_codes.LIFE_S,
            "interval": device_codes.INTERVAL_S,
        }
        return JSONResponse(answer, headers=NO_STORE)

    async def show(self, request: Request) -> Response:
        """``GET /oauth/device``: the field for a code, or the question that belongs to one."""
        visit, typed = await self._visits.open(request), request.query_params.get("code", "")
        if visit.person is None:
            after = f"{HERE}?{urlencode({'code': device_codes.spelled(typed)})}" if typed else HERE
            return RedirectResponse(sign_in_address(self._parts.base, after), 303)
        return await self._show_code(visit, visit.person, typed) if typed else self._field(visit, visit.person)

    async def answer(self, request: Request) -> Response:
        """``POST /oauth/device``: the person's answer."""
        visit, form = await self._visits.open(request), await request.form()
        if visit.person is None:
            return RedirectResponse(sign_in_address(self._parts.base, HERE), 303)
        if not self._visits.is_ours(visit, form):
            return self._field(visit, visit.person, error=say("errors.stale"), status=403)
        now = self._parts.now()
        waiting = await self._parts.control.read(lambda tx: device_codes.find_pending(tx, text_of(form, "code"), now))
        if waiting is None:
            return self._field(visit, visit.person, error=say("device.unknown"), status=404)
        if text_of(form, "decision") != "allow":
            await self._parts.control.write(lambda tx: device_codes.decide(tx, waiting.user_code, None, now))
            return self._pages.message(say("device.denied"), say("device.denied_text"), status=200)
        named = vault_of_resource(waiting.resource, self._parts.url)
        terms = read_terms(self._parts, visit.person, OWN_CLIENT, form, named=named, resource=waiting.resource)
        if terms is None:
            return await self._question(visit, visit.person, waiting, error=True)
        return await self._allow(request, visit, waiting, terms)

    async def token(self, request: Request) -> Response:
        """``POST /oauth/token`` with a device code: a token that lasts as long as was allowed, and is not renewed."""
        form, now = await request.form(), self._parts.now()
        if text_of(form, "client_id") != OWN_CLIENT:
            return failure(400, "unauthorized_client", "only strongroom login signs in so")
        device_code = text_of(form, "device_code")
        if self._parts.attempts.wait(DEVICE_POLL, device_code):
            return failure(400, "slow_down", f"look every {device_codes.INTERVAL_S} seconds")
        state = await self._parts.control.read(lambda tx: device_codes.find_state(tx, device_code, now))
        if state != "allowed":
            return failure(400, _REFUSALS.get(state, "expired_token"), "no token")
        issued = await self._parts.access_cache.write(lambda tx: self._redeem(tx, device_code, now))
        if issued is None:
            return failure(400, "access_denied", "no token")
        log.info("login_started", principal=principal_key(LOCAL, issued.subject), client=OWN_CLIENT)
        answer = {
            "access_token": issued.token,
            "token_type": "Bearer",
            "scope": issued.role.scopes,
            "vault": issued.vaults[0],
            "expires_at": issued.expires_at,
        }
        return JSONResponse(answer, headers=NO_STORE)

    def _redeem(self, tx: Writer, device_code: str, now: float) -> IssuedToken | None:
        terms = device_codes.redeem(tx, device_code, now)
        if terms is None or not people.is_enabled(tx, terms.person):
            return None
        login = str(uuid_utils.uuid7())
        client_logins.start_unrenewed(tx, login, terms, now)
        resource = address_of_vault(terms.vault, self._parts.url)
        wanted = TokenRequest(terms.person, (terms.vault,), terms.role, terms.days * 86_400, resource=resource)
        return issue_token(tx, self._parts.ring, self._parts.instance_id, wanted, login=login)

    async def _allow(self, request: Request, visit: Visit, waiting: DeviceRequest, terms: LoginTerms) -> Response:
        now, consent = self._parts.now(), Consent(terms.vault, terms.role, terms.days, "")

        def write(tx: Writer) -> bool:
            consents.remember(tx, terms.person, OWN_CLIENT, consent, now)
            return device_codes.decide(tx, waiting.user_code, terms, now)

        about = {"vault": terms.vault, "role": terms.role.label, "client": OWN_CLIENT, "days": terms.days}
        await self._parts.record(request, terms.person, "login", "allow", **about)
        if not await self._parts.control.write(write):
            return self._field(visit, terms.person, error=say("device.unknown"), status=404)
        return self._pages.message(say("device.allowed"), say("device.allowed_text"), status=200)

    async def _show_code(self, visit: Visit, person: str, typed: str) -> Response:
        wait = self._parts.attempts.wait(DEVICE_CODE, person)
        if wait:
            return held_back(self._field(visit, person, error=too_many(wait), status=429), wait)
        now = self._parts.now()
        waiting = await self._parts.control.read(lambda tx: device_codes.find_pending(tx, typed, now))
        if waiting is None:
            return self._field(visit, person, error=say("device.unknown"), status=404)
        return await self._question(visit, person, waiting)

    async def _question(self, visit: Visit, person: str, waiting: DeviceRequest, *, error: bool = False) -> Response:
        named = vault_of_resource(waiting.resource, self._parts.url)
        value = {FORM_FIELD: self._visits.form_value(visit)}
        page = self._pages.render(
            "device_question",
            status=403 if error else 200,
            hidden={**value, "code": waiting.user_code},
            sign_out=value,
            waiting=waiting,
            error=error,
            signed_in=person,
            **await offer(self._parts, person, OWN_CLIENT, named),
        )
        return self._visits.keep(visit, page)

    def _field(self, visit: Visit, person: str, *, error: str | None = None, status: int = 200) -> Response:
        value = {FORM_FIELD: self._visits.form_value(visit)}
        page = self._pages.render("device_code", status=status, sign_out=value, error=error, signed_in=person)
        return self._visits.keep(visit, page)
