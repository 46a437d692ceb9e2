"""Signing in through an outside provider: the browser goes there with a question, and comes back with a code.

Nothing is kept in between. The ``state`` that comes back is sealed: for this provider, this browser, ten minutes, once;
nonce and PKCE verifier are derived from it, and never leave this server but as the protocol has it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from urllib.parse import urlencode

import structlog
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from auth.errors import TokenInvalid
from auth.issuer_requests import NoAnswer
from auth.outside.id_tokens import Expected, OutsideIdentity
from auth.outside.identities import Arrival, TurnedAway, arrive
from auth.outside.provider_questions import ProviderQuestions
from auth.people import people
from auth.people.attempts import ADDRESS
from auth.people.challenges import is_challenge, make_challenge, use_up
from auth.people.people import Person
from auth.principal import LOCAL, principal_key
from server.oauth.catalogue import say
from server.oauth.pages import Pages
from server.oauth.parts import SignInParts, address_of
from server.oauth.sign_in_routes import SignInRoutes, held_back, safe_next, too_many
from server.oauth.visits import Visit, Visits
from vaults.db.sql import Writer

log = structlog.get_logger("server.oauth")

AWAY_S = 600
"""Seconds somebody may take over signing in at the provider."""

_LONGEST = 4000
"""Characters of what comes back, each."""


class _Stale(Exception):
    """What came back is no answer to what was asked in this browser. The message is for the log."""


class OutsideRoutes:
    """``begin`` leads to a provider, ``come_back`` is where it leads back to."""

    def __init__(self, parts: SignInParts, visits: Visits, pages: Pages, signing_in: SignInRoutes) -> None:
        self._parts, self._visits, self._pages, self._signing_in = parts, visits, pages, signing_in

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider."""
        provider, visit = self._provider(request), await self._visits.open(request)
        after = safe_next(request.query_params.get("next"))
        if provider is None:
            return self._pages.message(say("outside.unknown"), say("outside.begin_again"), status=404)
        if visit.person is not None:
            return RedirectResponse(f"{self._parts.base}{after}", 303)
        wait = self._parts.attempts.wait(ADDRESS, address_of(request))
        if wait:
            return held_back(self._pages.message(say("messages.too_many"), too_many(wait), status=429), wait)
        try:
            document = await provider.describe()
        except NoAnswer as failure:
            return self._refuse(provider, "unreached", str(failure) or "no answer", status=503)
        challenge = make_challenge(self._parts.seal, self._bound(provider, visit), self._parts.now(), AWAY_S)
        state = _text(challenge)
        asked = {
            "response_type": "code",
            "client_id": provider.settings.client_id,
            "redirect_uri": self._redirect(provider),
            "scope": " ".join(provider.settings.scopes),
            "state": state,
            "nonce": self._derived("nonce", state),
            "code_challenge": _text(hashlib.sha256(self._derived("verifier", state).encode()).digest()),
            "code_challenge_method": "S256",
        }
        joined = "&" if "?" in document.authorization_endpoint else "?"
        there = f"{document.authorization_endpoint}{joined}{urlencode(asked)}"
        answer = RedirectResponse(there, 303, headers={"cache-control": "no-store", "referrer-policy": "no-referrer"})
        self._visits.remember_next(answer, after, AWAY_S)
        return self._visits.keep(visit, answer)

    async def come_back(self, request: Request) -> Response:
        """Take the code, and let in whoever it stands for."""
        provider, visit = self._provider(request), await self._visits.open(request)
        if provider is None:
            return self._pages.message(say("outside.unknown"), say("outside.begin_again"), status=404)
        try:
            state = await self._take_state(request, visit, provider)
            identity = await self._identify(provider, request, state)
        except _Stale as failure:
            return self._refuse(provider, "stale", str(failure))
        except NoAnswer as failure:
            return self._refuse(provider, "unreached", str(failure) or "no answer", status=503)
        except TokenInvalid as invalid:
            return self._refuse(provider, "denied", invalid.reason)
        if identity is None:
            return self._refuse(provider, "denied", "no code")
        return await self._let_in(request, visit, provider, identity)

    async def _take_state(self, request: Request, visit: Visit, provider: ProviderQuestions) -> str:
        """The ``state`` that came back, used up. Raises ``_Stale``."""
        given, now = request.query_params, self._parts.now()
        if len(given.multi_items()) != len(given) or any(len(each) > _LONGEST for each in given.values()):
            raise _Stale("malformed")
        state = given.get("state", "")
        challenge = _bytes(state)
        if not is_challenge(challenge, self._parts.seal, self._bound(provider, visit), now):
            raise _Stale("state")
        if not await self._parts.control.write(lambda tx: use_up(tx, challenge, now)):
            raise _Stale("used")
        return state

    async def _identify(self, provider: ProviderQuestions, request: Request, state: str) -> OutsideIdentity | None:
        given = request.query_params
        document = await provider.describe()
        said = given.get("iss")
        # Whoever answers for another provider is one of two whom somebody mixes up (RFC 9207).
        if said != provider.settings.issuer and (said is not None or document.names_itself):
            raise TokenInvalid("issuer")
        code = given.get("code")
        if not code or "error" in given:
            return None
        expected = Expected(self._derived("nonce", state), self._parts.now(), self._parts.leeway_s)
        return await provider.exchange(code, self._derived("verifier", state), self._redirect(provider), expected)

    async def _let_in(
        self, request: Request, visit: Visit, provider: ProviderQuestions, identity: OutsideIdentity
    ) -> Response:
        settings, now = provider.settings, self._parts.now()

        def write(tx: Writer) -> tuple[Arrival, Person] | TurnedAway:
            arrived = arrive(tx, settings, identity, now)
            return arrived if isinstance(arrived, TurnedAway) else (arrived, people.require(tx, arrived.person))

        found = await self._parts.access_cache.write(write)
        if isinstance(found, TurnedAway):
            if found.person is not None:
                about = {"reason": "not_admitted", "provider": settings.name}
                await self._parts.record_refused(request, found.person, "user", "sign_in", **about)
            return self._refuse(provider, "not_admitted", "not_admitted")
        arrival, person = found
        if arrival.is_new:
            await self._parts.record(request, arrival.person, "user", "arrive", provider=settings.name)
        if arrival.grants_changed:
            await self._parts.record(request, arrival.person, "grant", "follow_groups", provider=settings.name)
        log.info("came_from_outside", provider=settings.name, principal=principal_key(LOCAL, arrival.person))
        after = safe_next(self._visits.remembered_next(request))
        return await self._signing_in.enter(request, visit, person, after, "sign_in", provider=settings.name)

    def _provider(self, request: Request) -> ProviderQuestions | None:
        return self._parts.outside.get(request.path_params["provider"])

    def _redirect(self, provider: ProviderQuestions) -> str:
        """Where a provider leads back to: an address of its own, so that no other is taken for it."""
        return f"{self._parts.url}/oauth/with/{provider.settings.name}/done"

    def _bound(self, provider: ProviderQuestions, visit: Visit) -> str:
        return f"with {provider.settings.issuer}\0{self._visits.form_value(visit)}"

    def _derived(self, purpose: str, state: str) -> str:
        return _text(hmac.new(self._parts.seal, f"{purpose}\0{state}".encode(), hashlib.sha256).digest())

    def _refuse(self, provider: ProviderQuestions, why: str, reason: str, status: int = 403) -> Response:
        log.warning("outside_sign_in_refused", provider=provider.settings.name, reason=reason)
        label = provider.settings.label or provider.settings.name
        again = f"{self._parts.base}/oauth/sign-in"
        return self._pages.render(
            "outside", status=status, label=label, text=say(f"outside.{why}"), again=again, signed_in=None
        )


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return b""
