"""Signing in and out, and the link that sets a password. With passkeys: ``passkey_routes``."""

from __future__ import annotations

import math
import re
from urllib.parse import unquote, urlencode

import structlog
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from auth.people import accounts, invites, people
from auth.people.attempts import ACCOUNT, ADDRESS, LINK
from auth.people.passwords import LONGEST, SHORTEST, find_weakness, hash_password, is_password
from auth.people.people import Person
from auth.principal import LOCAL, NAME_LIMIT, principal_key
from server.oauth.catalogue import count, say
from server.oauth.hashing import HashingTurns
from server.oauth.pages import Pages
from server.oauth.parts import SignInParts, address_of
from server.oauth.passkey_questions import PasskeyQuestions
from server.oauth.visits import FORM_FIELD, Visit, Visits
from vaults.db.sql import Writer

log = structlog.get_logger("server.oauth")

_NEXT = re.compile(r"/oauth/(authorize\?[!-~]*|account|device(\?code=[A-Z-]{1,12})?)|/ui/[!-~]*", re.ASCII)
"""Where somebody may be led after signing in: pages of ours, never an address of somebody else's choice."""


class SignInRoutes:
    """``GET`` shows a form, ``POST`` takes it."""

    def __init__(
        self, parts: SignInParts, visits: Visits, pages: Pages, hashing: HashingTurns, questions: PasskeyQuestions
    ) -> None:
        self._parts, self._visits, self._pages, self._hashing = parts, visits, pages, hashing
        self._questions = questions

    async def show_sign_in(self, request: Request) -> Response:
        """The page to sign in on."""
        visit = await self._visits.open(request)
        after = safe_next(request.query_params.get("next"))
        if visit.person is not None:
            return RedirectResponse(f"{self._parts.base}{after}", 303)
        return await self.sign_in_page(visit, after)

    async def sign_in(self, request: Request) -> Response:
        """Check name and password: whatever is wrong, the answer is the same."""
        visit, form = await self._visits.open(request), await request.form()
        name, password, after = (
            text_of(form, "name").strip(),
            text_of(form, "password"),
            safe_next(text_of(form, "next")),
        )
        if not self._visits.is_ours(visit, form):
            return await self.sign_in_page(visit, after, error=say("errors.stale"), status=403)
        address, account = address_of(request), name[: NAME_LIMIT + 1]
        # An address that waits cannot have others wait as well.
        wait = self._parts.attempts.wait(ADDRESS, address) or self._parts.attempts.wait(ACCOUNT, account)
        if wait:
            log.warning("sign_in_held_back", address=address)
            return held_back(await self.sign_in_page(visit, after, error=too_many(wait), status=429), wait)
        person = await self._parts.control.read(lambda tx: people.find(tx, account))
        kept = None if person is None else person.password
        right = await self._hashing.run(lambda: is_password(password, kept))
        if not right or person is None or person.disabled_at is not None:
            log.warning("sign_in_refused", address=address)
            return await self.sign_in_page(visit, after, name=account, error=say("errors.wrong"), status=403)
        self._parts.attempts.forgive(ACCOUNT, account)
        return await self.enter(request, visit, person, after, "sign_in")

    async def sign_out(self, request: Request) -> Response:
        """End this session."""
        visit, form = await self._visits.open(request), await request.form()
        if not self._visits.is_ours(visit, form):
            return self._pages.message(say("messages.unchanged"), say("errors.stale"), status=403)
        return await self._visits.sign_out(visit, RedirectResponse(f"{self._parts.base}/oauth/sign-in", 303))

    async def show_invite(self, request: Request) -> Response:
        """The page a link leads to. Looking uses nothing up: mail programs look at links, too."""
        visit = await self._visits.open(request)
        link = request.query_params.get("link", "")
        person = await self.invited(request, link)
        if isinstance(person, Response):
            return person
        return await self.invite_page(visit, person, link)

    async def take_invite(self, request: Request) -> Response:
        """Set the password, and use the link up."""
        visit, form = await self._visits.open(request), await request.form()
        link, password = text_of(form, "link"), text_of(form, "password")
        person = await self.invited(request, link)
        if isinstance(person, Response):
            return person
        is_ours, again = self._visits.is_ours(visit, form), text_of(form, "again")
        error = objection(password, again, person) if is_ours else say("errors.stale")
        if error is not None:
            return await self.invite_page(visit, person, link, error=error, status=422)
        after = self.first_page(person)
        kept, now = await self._hashing.run(lambda: hash_password(password)), self._parts.now()

        def write(tx: Writer) -> Person | None:
            if invites.invited(tx, link, now) != person:  # another request was quicker
                return None
            accounts.change_password(tx, person, kept)
            return people.require(tx, person)

        proved = await self._parts.control.write(write)
        if proved is None:
            return self.used_up()
        return await self.enter(request, visit, proved, after, "set_password")

    def first_page(self, person: str) -> str:
        """Where somebody is led who comes for the first time: into the one vault they have, else to the list of them;
        to their account where there is no console. Raises ``VaultUnavailable``."""
        if not self._parts.console:
            return "/oauth/account"
        vaults = list(self._parts.roles_of(person))
        return f"/ui/v/{vaults[0]}/" if len(vaults) == 1 else "/ui/"

    async def invited(self, request: Request, link: str) -> str | Response:
        """Whom a link is for; else the page that says why nobody gets further. Each look counts as an attempt."""
        wait = self._parts.attempts.wait(LINK, address_of(request))
        if wait:
            return held_back(self._pages.message(say("messages.too_many"), too_many(wait), status=429), wait)
        now = self._parts.now()
        person = await self._parts.control.read(lambda tx: invites.invited(tx, link, now))
        return self.used_up() if person is None else person

    def used_up(self) -> Response:
        """The page for a link that opens nothing."""
        return self._pages.message(say("messages.link_used_up"), say("messages.ask_for_another"), status=404)

    async def enter(
        self, request: Request, visit: Visit, person: Person, after: str, action: str, **details: str
    ) -> Response:
        """Sign somebody in who has proved who they are; ``person``: as they were then. ``action`` and ``details`` are
        for the audit."""
        await self._parts.record(request, person.name, "user", action, **details)
        answer = RedirectResponse(f"{self._parts.base}{after}", 303, headers={"cache-control": "no-store"})
        entered = await self._visits.sign_in(visit, person, request, answer)
        if entered is None:
            await self._parts.record_refused(request, person.name, "user", "sign_in", reason="changed_meanwhile")
            log.warning("sign_in_refused", address=address_of(request))
            return await self.sign_in_page(visit, after, error=say("errors.changed"), status=403)
        log.info("signed_in", principal=principal_key(LOCAL, person.name), address=address_of(request))
        return entered

    async def sign_in_page(
        self, visit: Visit, after: str, *, name: str = "", error: str | None = None, status: int = 200
    ) -> Response:
        """The page to sign in on."""
        page = self._pages.render(
            "sign_in",
            status=status,
            hidden={FORM_FIELD: self._visits.form_value(visit), "next": after},
            name=name,
            error=error,
            signed_in=None,
            passkey=await self._questions.to_sign_in(visit),
            again=sign_in_address(self._parts.base, after),
            providers=[each.settings for each in self._parts.outside.values()],
            onward=urlencode({"next": after}),
        )
        return self._visits.keep(visit, page)

    async def invite_page(
        self, visit: Visit, person: str, link: str, *, error: str | None = None, status: int = 200
    ) -> Response:
        """The page a link leads to."""
        page = self._pages.render(
            "invite",
            status=status,
            hidden={FORM_FIELD: self._visits.form_value(visit), "link": link},
            name=person,
            error=error,
            signed_in=None,
            passkey=await self._questions.to_make(visit, person),
            again=f"{self._parts.base}/oauth/invite?{urlencode({'link': link})}",
        )
        return self._visits.keep(visit, page)


def sign_in_address(base: str, after: str) -> str:
    """Where somebody signs in and is then led to ``after``, a path of ours."""
    return f"{base}/oauth/sign-in?{urlencode({'next': after})}"


def safe_next(path: str | None) -> str:
    """A path of ours to lead somebody to, whatever was asked for."""
    if path is None or not _NEXT.fullmatch(path):
        return "/oauth/account"
    steps = unquote(path.partition("?")[0]).split("/")
    return "/oauth/account" if {".", ".."}.intersection(steps) else path  # which browsers follow up and out of here


def text_of(form: FormData, name: str) -> str:
    """A field as text; "" for one that is missing, or a file."""
    value = form.get(name)
    return value if isinstance(value, str) else ""


def held_back(answer: Response, wait: float) -> Response:
    """An answer that says when to try again."""
    answer.headers["retry-after"] = str(math.ceil(wait))
    return answer


def too_many(wait: float) -> str:
    """What somebody is told who tried too often."""
    return count("errors.too_many", math.ceil(wait / 60))


def objection(password: str, again: str, person: str) -> str | None:
    """What speaks against a new password, as a sentence; None: nothing."""
    if password != again:
        return say("errors.differ")
    weakness = find_weakness(password, person)
    return None if weakness is None else say(f"passwords.{weakness}", shortest=SHORTEST, longest=LONGEST)
