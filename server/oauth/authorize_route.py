"""``/oauth/authorize``: the SDK checks what a client asks for, and a person decides.

Each request is checked whole, the one that shows the page as the one that brings its form: nothing is kept in between,
so nobody fills anything up, and a form that was changed is only another request.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.provider import AuthorizationParams, construct_redirect_uri
from mcp.shared.auth import OAuthClientInformationFull
from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from auth.oauth import codes, consents
from auth.oauth.codes import CodeRequest
from auth.oauth.consents import Consent
from auth.oauth.redirects import origin_of
from server.oauth.catalogue import say
from server.oauth.choices import offer, read_terms
from server.oauth.client_documents import is_document_address
from server.oauth.pages import Pages
from server.oauth.parts import SignInParts, address_of
from server.oauth.provider import Provider, RegisteredClient
from server.oauth.resources import vault_of_resource
from server.oauth.sign_in_routes import sign_in_address, text_of
from server.oauth.token_routes import names_twice
from server.oauth.visits import FORM_FIELD, Visit, Visits
from vaults.db.sql import Writer

_Given = QueryParams | FormData

_ASKED = (
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
)
_LONGEST = 2000
"""Characters of one parameter at most."""


@dataclass(frozen=True, slots=True)
class _Question:
    """What a client asks, checked. ``vault``: the one it names; None: the person chooses."""

    client: OAuthClientInformationFull
    params: AuthorizationParams
    vault: str | None

    @property
    def redirect(self) -> str:
        return str(self.params.redirect_uri)


class _Checking(Provider):
    """Catches what the SDK's handler found to be in order."""

    found: tuple[OAuthClientInformationFull, AuthorizationParams] | None = None

    def __init__(self, parts: SignInParts, address: str) -> None:
        super().__init__(parts)
        self._address = address

    async def get_client(self, client_id: str) -> RegisteredClient | None:
        """The client, read anew where its id is the address of what describes it."""
        documents = self._parts.documents
        if documents is not None:
            await documents.bring(client_id, self._parts.control, self._address, self._parts.now())
        return await super().get_client(client_id)

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.found = client, params
        return "/"


class AuthorizeRoute:
    """``GET`` and ``POST``, as RFC 6749 §3.1 has it; a ``POST`` with a decision is the form of our own page."""

    def __init__(self, parts: SignInParts, visits: Visits, pages: Pages) -> None:
        self._parts, self._visits, self._pages = parts, visits, pages

    async def __call__(self, request: Request) -> Response:
        """Ask, or take the answer."""
        given = request.query_params if request.method == "GET" else await request.form()
        if names_twice(given) or any(len(value) > _LONGEST for value in given.values() if isinstance(value, str)):
            return self._pages.message(say("messages.malformed"), say("messages.malformed_text"))
        checking = _Checking(self._parts, address_of(request))
        answer = await AuthorizationHandler(checking).handle(request)
        if checking.found is None:
            return self._name_issuer(answer)
        return await self._put(request, given, *checking.found)

    async def _put(
        self, request: Request, given: _Given, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> Response:
        """Put the question to whoever sits there, or take the answer."""
        try:
            question = _Question(client, params, vault_of_resource(params.resource, self._parts.url))
        except ValueError as failure:
            return self._refuse(params, "invalid_target", str(failure))
        visit = await self._visits.open(request)
        if visit.person is None:
            return _lead(sign_in_address(self._parts.base, f"/oauth/authorize?{urlencode(_asked(given))}"))
        if not isinstance(given, FormData) or not text_of(given, "decision"):
            return await self._ask(visit, visit.person, question, given)
        if not self._visits.is_ours(visit, given):
            return await self._ask(visit, visit.person, question, given, error=True)
        if text_of(given, "decision") != "allow":
            return self._refuse(params, "access_denied", "the person said no")
        return await self._allow(request, visit, visit.person, question, given)

    async def _allow(
        self, request: Request, visit: Visit, person: str, question: _Question, form: FormData
    ) -> Response:
        terms = read_terms(
            self._parts,
            person,
            question.client.client_id,
            form,
            named=question.vault,
            resource=question.params.resource,
        )
        if terms is None:
            return await self._ask(visit, person, question, form, error=True)
        consent = Consent(terms.vault, terms.role, terms.days, "")
        explicit, challenge = question.params.redirect_uri_provided_explicitly, question.params.code_challenge
        asked = CodeRequest(terms, question.redirect, explicit, challenge)
        now = self._parts.now()

        def write(tx: Writer) -> str:
            consents.remember(tx, person, terms.client, consent, now)
            return codes.make_code(tx, asked, now)

        about = {"vault": terms.vault, "role": terms.role.label, "client": terms.client, "days": terms.days}
        await self._parts.record(request, person, "login", "allow", **about)
        code = await self._parts.control.write(write)
        return _lead(
            construct_redirect_uri(question.redirect, code=code, state=question.params.state, iss=self._parts.url)
        )

    async def _ask(
        self, visit: Visit, person: str, question: _Question, given: _Given, *, error: bool = False
    ) -> Response:
        client = question.client.client_id
        offered = await offer(self._parts, person, client, question.vault)
        page = self._pages.render(
            "consent",
            status=403 if error else 200 if offered["vaults"] else 404,
            form_to=origin_of(question.redirect),
            hidden={**_asked(given), FORM_FIELD: self._visits.form_value(visit)},
            sign_out={FORM_FIELD: self._visits.form_value(visit)},
            client=question.client.client_name or "",
            back=origin_of(question.redirect),
            described_at=origin_of(client) if is_document_address(client) else None,
            error=error,
            signed_in=person,
            **offered,
        )
        return self._visits.keep(visit, page)

    def _refuse(self, params: AuthorizationParams, error: str, description: str) -> Response:
        return _lead(
            construct_redirect_uri(
                str(params.redirect_uri),
                error=error,
                error_description=description,
                state=params.state,
                iss=self._parts.url,
            )
        )

    def _name_issuer(self, answer: Response) -> Response:
        """Say who answers (RFC 9207), which the SDK's handler does not; what cannot be sent back is for people."""
        target = answer.headers.get("location")
        if target is None:
            return self._pages.message(say("messages.unanswerable"), say("messages.unknown_program"))
        parts = urlsplit(target)
        query = urlencode([*parse_qsl(parts.query, keep_blank_values=True), ("iss", self._parts.url)])
        answer.headers["location"] = parts._replace(query=query).geturl()
        return answer


def _asked(given: _Given) -> dict[str, str]:
    """What the client asks for, as it wrote it."""
    return {name: value for name in _ASKED if isinstance(value := given.get(name), str)}


def _lead(address: str) -> Response:
    return RedirectResponse(address, 303, headers={"cache-control": "no-store"})
