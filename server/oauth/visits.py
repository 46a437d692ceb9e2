"""Cookies and forms: who sits at the browser, and whether a form came from a page of ours.

Each form carries a value derived from a cookie that only this browser has and from its session, so another site cannot
make one, nor sign somebody in as somebody else. Both cookies change at each sign-in.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import quote, unquote, urlsplit

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from auth.one_time import digest_of, make_secret
from auth.people import browser_sessions, people
from auth.people.browser_sessions import BrowserSession
from auth.people.people import Person
from server.languages import choose_language
from vaults.db.sql import Writer
from vaults.db.transactions import Transactions

FORM_FIELD = "form"

LANGUAGE_LIFE_S = 365 * 86_400
"""Seconds a browser keeps a choice of language."""


class VisitParts(Protocol):
    """What visits are kept with: the part of ``SignInParts`` that the console has as well."""

    @property
    def control(self) -> Transactions: ...
    @property
    def url(self) -> str: ...
    @property
    def seal(self) -> bytes: ...
    @property
    def now(self) -> Callable[[], float]: ...


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a browser. ``cookie``: of its session; ``form_cookie``: what its forms are bound to."""

    session: BrowserSession | None
    cookie: str | None
    form_cookie: str
    is_new: bool  # whether the browser does not know the form cookie yet

    @property
    def person(self) -> str | None:
        """Who is signed in."""
        return None if self.session is None else self.session.person


class Visits:
    """Reads and sets the cookies. Over https their names begin with ``__Host-``, which browsers take from this host
    alone; over http, on this machine, with the port: cookies of all ports are one."""

    def __init__(self, parts: VisitParts) -> None:
        self._parts = parts
        url = urlsplit(parts.url)
        self._secure = url.scheme == "https"
        self._name = "__Host-strongroom" if self._secure else f"strongroom-{url.port or 80}"

    async def open(self, request: Request, *, is_use: bool = True) -> Visit:
        """Who makes this request. Notes now and then that the session is in use; what a page asks by itself, while
        nobody sits before it, is none."""
        cookie, form_cookie = request.cookies.get(self._name), request.cookies.get(f"{self._name}-form")
        now, session = self._parts.now(), None
        if cookie:
            session = await self._parts.control.read(lambda tx: browser_sessions.find(tx, cookie, now))
        if session is not None and is_use and browser_sessions.is_seen_long_ago(session, now):
            known = session.id
            await self._parts.control.write(lambda tx: browser_sessions.note_seen(tx, known, now))
        return Visit(session, cookie if session else None, form_cookie or make_secret(), is_new=not form_cookie)

    async def goes_on(self, visit: Visit) -> bool:
        """Whether the session of a visit has not ended since. Asking is no use of it."""
        cookie, now = visit.cookie, self._parts.now()
        if cookie is None:
            return False
        return await self._parts.control.read(lambda tx: browser_sessions.find(tx, cookie, now)) is not None

    def form_value(self, visit: Visit) -> str:
        """What a form of this browser carries."""
        bound = f"form\0{visit.form_cookie}\0{'' if visit.cookie is None else digest_of(visit.cookie)}"
        return hmac.new(self._parts.seal, bound.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    def is_ours(self, visit: Visit, form: FormData) -> bool:
        """Whether a form came from a page given to this browser, in this session."""
        value = form.get(FORM_FIELD)
        return isinstance(value, str) and hmac.compare_digest(
            value.encode("utf-8", "replace"), self.form_value(visit).encode()
        )

    def keep(self, visit: Visit, response: Response) -> Response:
        """Give the browser the form cookie it lacks."""
        if visit.is_new:
            self._set(response, f"{self._name}-form", visit.form_cookie)
        return response

    async def sign_in(self, visit: Visit, person: Person, request: Request, response: Response) -> Response | None:
        """Begin a session in place of the one there was, with cookies nobody can have known before. ``person``: as they
        were when they proved who they are; None where somebody reset them or shut them out since, because a session
        would outlive that."""
        now, browser = self._parts.now(), request.headers.get("user-agent", "")
        before = visit.session

        def write(tx: Writer) -> str | None:
            if people.find(tx, person.name) != person:
                return None
            if before is not None:
                browser_sessions.end(tx, before.person, before.id)
            return browser_sessions.start(tx, person.name, browser, now)

        cookie = await self._parts.control.write(write)
        if cookie is None:
            return None
        self._set(response, self._name, cookie, browser_sessions.LIFE_S)
        return self.keep(replace(visit, form_cookie=make_secret(), is_new=True), response)

    async def sign_out(self, visit: Visit, response: Response) -> Response:
        """End the session."""
        session = visit.session
        if session is not None:
            await self._parts.control.write(lambda tx: browser_sessions.end(tx, session.person, session.id))
        response.delete_cookie(self._name, path="/", secure=self._secure, httponly=True, samesite="lax")
        return response

    def remember_next(self, response: Response, after: str, life_s: int) -> None:
        """Have the browser keep where it is led while it is away at a provider. It may change that: whoever reads it
        checks it as any address of a stranger."""
        self._set(response, f"{self._name}-next", quote(after, safe=""), life_s)

    def remembered_next(self, request: Request) -> str:
        """Where it was to be led; "" where it kept nothing."""
        return unquote(request.cookies.get(f"{self._name}-next", ""))

    def remember_language(self, response: Response, language: str) -> None:
        """Have the browser keep in which language its person wants pages."""
        self._set(response, f"{self._name}-language", language, LANGUAGE_LIFE_S)

    def language_of(self, request: Request) -> str:
        """The language to answer a request in: what its browser keeps, whoever wrote that, else what it asks for."""
        kept, accepted = request.cookies.get(f"{self._name}-language", ""), request.headers.get("accept-language", "")
        return choose_language(kept, accepted)

    def _set(self, response: Response, name: str, value: str, life_s: int | None = None) -> None:
        response.set_cookie(name, value, max_age=life_s, path="/", secure=self._secure, httponly=True, samesite="lax")
