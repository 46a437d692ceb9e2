"""Forms that carry the answer of a passkey: signing in, taking a link, and somebody's own passkeys."""

from __future__ import annotations

from typing import Literal

import structlog
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from auth.people import accounts, browser_sessions, challenges, invites, passkeys, people
from auth.people.attempts import ADDRESS
from auth.people.passkeys import NewPasskey, Passkey
from auth.people.people import Person
from auth.people.webauthn_answers import Asserted, WrongAnswer
from auth.principal import LOCAL, principal_key
from server.oauth.account_routes import HERE, AccountRoutes
from server.oauth.catalogue import say
from server.oauth.parts import SignInParts, address_of
from server.oauth.passkey_questions import PasskeyQuestions, StaleQuestion
from server.oauth.sign_in_routes import SignInRoutes, held_back, safe_next, sign_in_address, text_of, too_many
from server.oauth.visits import Visit, Visits
from vaults.db.sql import Writer
from vaults.errors import AlreadyExists, InvalidArgument, QuotaExceeded

log = structlog.get_logger("server.oauth")

_Refusal = Literal["copied", "wrong"]


class PasskeyRoutes:
    """``POST`` alone; the pages are those of signing in and of the account."""

    def __init__(
        self,
        parts: SignInParts,
        visits: Visits,
        questions: PasskeyQuestions,
        signing_in: SignInRoutes,
        account: AccountRoutes,
    ) -> None:
        self._parts, self._visits, self._questions = parts, visits, questions
        self._signing_in, self._account = signing_in, account

    async def sign_in(self, request: Request) -> Response:
        """Let in whoever's passkey signed: whatever is wrong, the answer is the same."""
        visit, form = await self._visits.open(request), await request.form()
        after, address = safe_next(text_of(form, "next")), address_of(request)
        if not self._visits.is_ours(visit, form):
            return await self._signing_in.sign_in_page(visit, after, error=say("errors.stale"), status=403)
        wait = self._parts.attempts.wait(ADDRESS, address)
        if wait:
            log.warning("sign_in_held_back", address=address)
            return held_back(await self._signing_in.sign_in_page(visit, after, error=too_many(wait), status=429), wait)
        try:
            known, asserted = await self._questions.signed(visit, text_of(form, "passkey"))
        except StaleQuestion:
            return await self._signing_in.sign_in_page(visit, after, error=say("errors.stale"), status=403)
        except WrongAnswer:
            return await self._refuse(visit, after, address)
        match await self._note_use(known, asserted):
            case Person() as person:
                return await self._signing_in.enter(request, visit, person, after, "sign_in", passkey=known.name)
            case "copied":
                about = {"reason": "counter", "passkey": known.name}
                await self._parts.record_refused(request, known.person, "user", "sign_in", **about)
                log.warning("passkey_copied", principal=principal_key(LOCAL, known.person), address=address)
        return await self._refuse(visit, after, address)

    async def take_invite(self, request: Request) -> Response:
        """Keep the passkey that somebody made by a link, and use the link up."""
        visit, form = await self._visits.open(request), await request.form()
        link, now = text_of(form, "link"), self._parts.now()
        person = await self._signing_in.invited(request, link)
        if isinstance(person, Response):
            return person
        made = await self._made(visit, person, form)
        if isinstance(made, str):
            return await self._signing_in.invite_page(visit, person, link, error=made, status=422)
        (new, challenge), after = made, self._signing_in.first_page(person)

        def write(tx: Writer) -> Person | None:
            if invites.invited(tx, link, now) != person or not challenges.use_up(tx, challenge, now):
                return None  # another request was quicker
            accounts.take_passkey(tx, person, text_of(form, "label"), new, now)
            return people.require(tx, person)

        try:
            proved = await self._parts.control.write(write)
        except AlreadyExists as failure:
            return await self._signing_in.invite_page(visit, person, link, error=_objection(failure), status=422)
        if proved is None:
            return self._signing_in.used_up()
        return await self._signing_in.enter(request, visit, proved, after, "add_passkey")

    async def change(self, request: Request) -> Response:
        """Add or remove one of one's own: ``do`` says which."""
        visit, form = await self._visits.open(request), await request.form()
        session = visit.session
        if session is None:
            return RedirectResponse(sign_in_address(self._parts.base, HERE), 303)
        if not self._visits.is_ours(visit, form):
            return await self._account.page(visit, session.person, error=say("errors.stale"), status=403)
        if not browser_sessions.is_fresh(session, self._parts.now()):
            return await self._account.page(visit, session.person, error=say("passkeys.too_old"), status=403)
        try:
            if text_of(form, "do") == "remove":
                return await self._remove(request, visit, session.person, text_of(form, "id"))
            return await self._add(request, visit, session.person, form)
        except (AlreadyExists, InvalidArgument, QuotaExceeded) as failure:
            return await self._account.page(visit, session.person, error=_objection(failure), status=422)

    async def _add(self, request: Request, visit: Visit, person: str, form: FormData) -> Response:
        made, now = await self._made(visit, person, form), self._parts.now()
        if isinstance(made, str):
            return await self._account.page(visit, person, error=made, status=422)
        new, challenge = made

        def write(tx: Writer) -> bool:
            if not challenges.use_up(tx, challenge, now):
                return False
            if people.require(tx, person).provider is not None:
                raise InvalidArgument("passkey", "is not for you: you sign in through a provider, and in no other way")
            passkeys.add(tx, person, text_of(form, "label"), new, now)
            return True

        if not await self._parts.control.write(write):
            return await self._account.page(visit, person, error=say("errors.stale"), status=403)
        await self._parts.record(request, person, "user", "add_passkey")
        return RedirectResponse(f"{self._parts.base}{HERE}", 303)

    async def _remove(self, request: Request, visit: Visit, person: str, passkey_id: str) -> Response:
        answer = RedirectResponse(f"{self._parts.base}{HERE}", 303)

        def write(tx: Writer) -> Person | None:
            return people.require(tx, person) if accounts.drop_passkey(tx, person, passkey_id) else None

        left = await self._parts.control.write(write)
        if left is None:
            return answer
        await self._parts.record(request, person, "user", "remove_passkey")
        return await self._visits.sign_in(visit, left, request, answer) or answer

    async def _made(self, visit: Visit, person: str, form: FormData) -> tuple[NewPasskey, bytes] | str:
        """The passkey a form brings; else the sentence that says what is wrong."""
        if not self._visits.is_ours(visit, form):
            return say("errors.stale")
        try:
            return await self._questions.made(visit, person, text_of(form, "passkey"))
        except StaleQuestion:
            return say("errors.stale")
        except WrongAnswer:
            return say("passkeys.not_made")

    async def _note_use(self, known: Passkey, asserted: Asserted) -> Person | _Refusal:
        """Whose passkey it is, as they are now; else why it lets nobody in."""
        now = self._parts.now()

        def write(tx: Writer) -> Person | _Refusal:
            if not challenges.use_up(tx, asserted.challenge, now) or passkeys.find(tx, known.id) is None:
                return "wrong"
            if not passkeys.note_use(tx, known.id, asserted.sign_count, now):
                return "copied"
            return people.require(tx, known.person)

        return await self._parts.control.write(write)

    async def _refuse(self, visit: Visit, after: str, address: str) -> Response:
        log.warning("sign_in_refused", address=address)
        return await self._signing_in.sign_in_page(visit, after, error=say("passkeys.wrong"), status=403)


def _objection(failure: AlreadyExists | InvalidArgument | QuotaExceeded) -> str:
    """Why a passkey was not added or removed, as a sentence."""
    if isinstance(failure, QuotaExceeded):
        return say("passkeys.full", most=passkeys.MOST)
    if isinstance(failure, AlreadyExists):
        return say("passkeys.known")
    return say("passkeys.only_one") if failure.details["field"] == "id" else say("passkeys.outside")
