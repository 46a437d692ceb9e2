"""What somebody sees of their own account: programs they let in, browsers they are signed in with, passkeys, and the
password."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from auth.oauth import client_logins, consents
from auth.oauth.client_logins import ClientLogin
from auth.people import accounts, browser_sessions, passkeys, people
from auth.people.attempts import ACCOUNT
from auth.people.browser_sessions import BrowserSession
from auth.people.passkeys import Passkey
from auth.people.passwords import hash_password, is_password
from auth.people.people import Person
from server.oauth.catalogue import say
from server.oauth.choices import MOST_VAULTS
from server.oauth.hashing import HashingTurns
from server.oauth.pages import Pages
from server.oauth.parts import SignInParts
from server.oauth.passkey_questions import PasskeyQuestions
from server.oauth.sign_in_routes import held_back, objection, sign_in_address, text_of, too_many
from server.oauth.visits import FORM_FIELD, Visit, Visits
from vaults.db.sql import Reader, Writer

HERE = "/oauth/account"


class AccountRoutes:
    """The account of whoever is signed in."""

    def __init__(
        self, parts: SignInParts, visits: Visits, pages: Pages, hashing: HashingTurns, questions: PasskeyQuestions
    ) -> None:
        self._parts, self._visits, self._pages, self._hashing = parts, visits, pages, hashing
        self._questions = questions

    async def show(self, request: Request) -> Response:
        """The page."""
        visit = await self._visits.open(request)
        if visit.person is None:
            return RedirectResponse(sign_in_address(self._parts.base, HERE), 303)
        return await self.page(visit, visit.person)

    async def change(self, request: Request) -> Response:
        """Do what one of its forms asks for: ``do`` says which."""
        visit, form = await self._visits.open(request), await request.form()
        if visit.person is None:
            return RedirectResponse(sign_in_address(self._parts.base, HERE), 303)
        if not self._visits.is_ours(visit, form):
            return await self.page(visit, visit.person, error=say("errors.stale"), status=403)
        match text_of(form, "do"):
            case "end_login":
                await self._end_login(request, visit.person, text_of(form, "id"))
            case "end_session":
                person, session = visit.person, text_of(form, "id")
                await self._parts.control.write(lambda tx: browser_sessions.end(tx, person, session))
            case "password":
                return await self._change_password(request, visit, visit.person, form)
        return RedirectResponse(f"{self._parts.base}{HERE}", 303)

    async def _end_login(self, request: Request, person: str, login_id: str) -> None:
        now = self._parts.now()

        def write(tx: Writer) -> str | None:
            login = client_logins.find(tx, login_id)
            if login is None or login.person != person:
                return None
            client_logins.end(tx, login.id, now, "withdrawn")
            consents.forget(tx, person, login.client, login.vault)
            return login.vault

        vault = await self._parts.access_cache.write(write)
        if vault is not None:
            await self._parts.record(request, person, "login", "withdraw", vault=vault, login=login_id)

    async def _change_password(self, request: Request, visit: Visit, person: str, form: FormData) -> Response:
        wait = self._parts.attempts.wait(ACCOUNT, person)
        if wait:
            return held_back(await self.page(visit, person, error=too_many(wait), status=429), wait)
        known = await self._parts.control.read(lambda tx: people.find(tx, person))
        if known is None or known.provider is not None:
            return await self.page(visit, person, error=say("errors.outside"), status=403)
        kept = known.password
        is_first = kept is None and self._is_fresh(visit)  # of somebody who has just come in with a passkey
        if not is_first and not await self._hashing.run(lambda: is_password(text_of(form, "current"), kept)):
            return await self.page(visit, person, error=say("errors.wrong"), status=403)
        self._parts.attempts.forgive(ACCOUNT, person)
        wanted = text_of(form, "password")
        error = objection(wanted, text_of(form, "again"), person)
        if error is not None:
            return await self.page(visit, person, error=error, status=422)
        new = await self._hashing.run(lambda: hash_password(wanted))

        def write(tx: Writer) -> Person | None:
            if people.find(tx, person) != known:  # reset or shut out meanwhile, which this would undo
                return None
            accounts.change_password(tx, person, new)
            return people.require(tx, person)

        changed = await self._parts.control.write(write)
        if changed is None:
            return RedirectResponse(sign_in_address(self._parts.base, HERE), 303)
        await self._parts.record(request, person, "user", "set_password")
        answer = RedirectResponse(f"{self._parts.base}{HERE}", 303)
        return await self._visits.sign_in(visit, changed, request, answer) or answer

    async def page(self, visit: Visit, person: str, *, error: str | None = None, status: int = 200) -> Response:
        """Somebody's account."""
        seen = await self._parts.control.read(lambda tx: _look_at(tx, person, self._parts.now()))
        passkey = await self._questions.to_make(visit, person) if seen.provider is None else None
        page = self._pages.render(
            "account",
            status=status,
            hidden={FORM_FIELD: self._visits.form_value(visit)},
            sign_out={FORM_FIELD: self._visits.form_value(visit)},
            vaults=self._parts.roles_of(person),
            most_vaults=MOST_VAULTS,
            console=self._parts.console,
            seen=seen,
            here=None if visit.session is None else visit.session.id,
            is_fresh=self._is_fresh(visit),
            passkey=passkey,
            again=f"{self._parts.base}{HERE}",
            error=error,
            signed_in=person,
        )
        return self._visits.keep(visit, page)

    def _is_fresh(self, visit: Visit) -> bool:
        return visit.session is not None and browser_sessions.is_fresh(visit.session, self._parts.now())


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a page shows of an account."""

    logins: Sequence[ClientLogin]
    sessions: Sequence[BrowserSession]
    passkeys: Sequence[Passkey]
    has_password: bool
    provider: str | None


def _look_at(tx: Reader, name: str, now: float) -> _Seen:
    person = people.require(tx, name)
    return _Seen(
        client_logins.list_logins(tx, name, now),
        browser_sessions.list_sessions(tx, name, now),
        passkeys.list_passkeys(tx, name),
        person.password is not None,
        person.provider,
    )
