"""People who sign in through an outside provider, honest or lying, on a real socket.

Covers server.oauth.outside_routes, auth.outside.discovery, auth.outside.id_tokens, auth.outside.identities,
auth.outside.provider_questions and auth.issuer_requests.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
import pytest
from structlog.testing import capture_logs

from auth.grants import list_grants, set_grant
from auth.jwks import STALE_S
from auth.outside import identities
from auth.outside.provider_questions import FRESH_S, RETRY_S, ProviderQuestions
from auth.people import accounts, people
from auth.principal import LOCAL
from auth.roles import Role
from auth.tokens import TokenRequest, create_token
from tests.server.oauth.authenticator import Authenticator, asked
from tests.server.oauth.desk import PASSWORD, Browser, Desk, forms_of, open_desk
from tests.server.oauth.outside_issuer import ANN, CERTS, DISCOVERY, REALM, SECRET, TOKEN, OutsideIssuer, reply

RESEARCH = {"group": "research", "vault": "main", "role": "writer"}
BEGIN = "/oauth/with/keycloak"
PERSON = "ann@keycloak"


@pytest.fixture
def issuer() -> Iterator[OutsideIssuer]:
    running = OutsideIssuer()
    yield running
    running.close()


@dataclass
class House:
    """A desk with this provider; ``seconds`` is the clock of what is remembered of it."""

    desk: Desk
    issuer: OutsideIssuer
    seconds: list[float]

    async def go(self, browser: Browser, after: str = "") -> dict[str, str]:
        """Lead a browser to the provider; what it brings back."""
        answer = await browser.open(f"{BEGIN}{after}")
        assert answer.status_code == 303, answer.text
        return self.issuer.visit(answer.headers["location"])

    async def back(self, browser: Browser, brought: dict[str, str]) -> httpx2.Response:
        return await browser.open(f"{BEGIN}/done?{urlencode(brought)}")

    async def sign_in(self, browser: Browser | None = None) -> httpx2.Response:
        browser = browser or self.desk.browser()
        return await self.back(browser, await self.go(browser))

    async def grants(self) -> list[tuple[str, str, str, str | None]]:
        found = await self.desk.parts.control.read(list_grants)
        return [(each.subject, each.vault, each.role.label, each.source) for each in found]

    async def people(self) -> list[str]:
        return [each.name for each in await self.desk.parts.control.read(people.list_people)]


@asynccontextmanager
async def opened(folder: Path, issuer: OutsideIssuer, **settings: Any) -> AsyncIterator[House]:
    seconds = [0.0]
    provider = ProviderQuestions(issuer.settings(**{"grants": [RESEARCH], **settings}), clock=lambda: seconds[0])
    try:
        async with open_desk(folder, outside={"keycloak": provider}) as desk:
            yield House(desk, issuer, seconds)
    finally:
        await provider.close()


@pytest.fixture
async def house(tmp_path: Path, issuer: OutsideIssuer) -> AsyncIterator[House]:
    async with opened(tmp_path, issuer) as made:
        yield made


async def refused(house: House, reason: str, browser: Browser | None = None) -> httpx2.Response:
    """That somebody is not let in, for this reason, and nothing of them is kept."""
    with capture_logs() as logs:
        answer = await house.sign_in(browser)
    said = [each["reason"] for each in logs if each["event"] == "outside_sign_in_refused"]
    assert said == [reason]
    assert answer.status_code in (403, 503)
    assert "__Host-strongroom=" not in str(answer.headers.get_list("set-cookie"))
    assert (await house.people(), await house.grants()) == ([], [])
    return answer


# -- let in


async def test_a_member_of_a_group_is_made_known_and_may_do_what_the_group_may(house: House) -> None:
    browser = house.desk.browser()
    page = await browser.open("/oauth/sign-in?next=/oauth/device")
    assert 'href="/oauth/with/keycloak?next=%2Foauth%2Fdevice">Sign in with keycloak</a>' in page.text
    answer = await house.back(browser, await house.go(browser, "?next=/oauth/device"))
    assert answer.headers["location"] == "/oauth/device"
    account = await browser.open("/oauth/account")
    assert f"Signed in as <b><bdi>{PERSON}</bdi></b>" in account.text
    assert await house.grants() == [(f"sub:{PERSON}", "main", "writer", "keycloak")]
    assert house.desk.parts.roles_of(PERSON) == {"main": Role.WRITER}


async def test_grants_follow_the_groups_at_each_sign_in_and_leave_others_alone(house: House) -> None:
    await house.sign_in()
    await house.desk.parts.access_cache.write(lambda tx: set_grant(tx, PERSON, LOCAL, "other", Role.READER))
    assert house.desk.parts.roles_of(PERSON) == {"main": Role.WRITER, "other": Role.READER}
    house.issuer.claims["groups"] = ["everybody"]
    browser = house.desk.browser()
    answer = await house.sign_in(browser)
    assert (answer.status_code, "nobody has let you in" in answer.text) == (403, True)
    assert house.desk.parts.roles_of(PERSON) == {"other": Role.READER}
    house.issuer.claims["groups"] = ["research"]
    assert (await house.sign_in()).status_code == 303
    assert house.desk.parts.roles_of(PERSON) == {"main": Role.WRITER, "other": Role.READER}


async def test_who_is_in_no_group_any_more_is_shut_out_of_what_is_open(house: House) -> None:
    first = house.desk.browser()
    await house.sign_in(first)
    client = (await house.desk.client())["client_id"]
    tokens = await house.desk.login(first, client)
    house.issuer.claims["groups"] = []
    await house.sign_in()
    assert (await first.open("/oauth/account")).status_code == 303
    assert (await house.desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_the_highest_role_of_several_groups_counts_and_a_hand_made_grant_stays(
    tmp_path: Path, issuer: OutsideIssuer
) -> None:
    more = {"group": "everybody", "vault": "main", "role": "reader"}
    async with opened(tmp_path, issuer, grants=[more, RESEARCH, {**more, "vault": "other"}]) as house:
        await house.sign_in()
        assert house.desk.parts.roles_of(PERSON) == {"main": Role.WRITER, "other": Role.READER}
        await house.desk.parts.access_cache.write(lambda tx: set_grant(tx, f"sub:{PERSON}", LOCAL, "other", Role.ADMIN))
        issuer.claims["groups"] = ["everybody"]
        await house.sign_in()
        assert house.desk.parts.roles_of(PERSON) == {"main": Role.READER, "other": Role.ADMIN}


@pytest.mark.parametrize(
    ("named", "change", "comes"),
    [
        (["email:ann@example.org"], {}, True),
        (["sub:5f2a6f3e-8c1b-4d52-9a37-0f6f0d2f7a11"], {}, True),
        (["email:ann@example.org"], {"email_verified": False}, False),
        (["email:ann@example.org"], {"email_verified": "true"}, False),
        (["email:ann@example.org"], {"email": "ben@example.org"}, False),
        (["email:ann@example.org"], {"sub": "email:ann@example.org", "email": None}, False),
        (["sub:ann"], {}, False),
        ([], {}, False),
    ],
)
async def test_nobody_comes_who_is_not_named(
    tmp_path: Path, issuer: OutsideIssuer, named: list[str], change: dict[str, Any], comes: bool
) -> None:
    async with opened(tmp_path, issuer, people=named, grants=[]) as house:
        issuer.claims.update(change)
        if not comes:
            await refused(house, "not_admitted")
            return
        assert (await house.sign_in()).status_code == 303
        assert house.desk.parts.roles_of(PERSON) == {}


async def test_the_name_of_somebody_else_is_not_inherited(house: House) -> None:
    await house.sign_in()
    await house.desk.parts.access_cache.write(lambda tx: set_grant(tx, PERSON, LOCAL, "other", Role.ADMIN))
    house.issuer.claims["sub"] = "another-ann"
    await house.sign_in()
    assert await house.people() == [PERSON, "another-ann@keycloak"]
    assert house.desk.parts.roles_of("another-ann@keycloak") == {"main": Role.WRITER}
    house.issuer.claims = {**ANN, "preferred_username": "anna"}  # the same Ann, who married
    await house.sign_in()
    assert len(await house.people()) == 2


async def test_a_name_that_stands_in_grants_or_tokens_is_not_taken(house: House) -> None:
    wanted = TokenRequest("cid@keycloak", ("main",), Role.ADMIN, 3600)

    def write(tx: people.Writer) -> None:
        set_grant(tx, PERSON, LOCAL, "main", Role.ADMIN)
        set_grant(tx, "sub:ben@keycloak", LOCAL, "main", Role.ADMIN)
        create_token(tx, house.desk.parts.ring, "abc", wanted)
        people.add(tx, "dan@keycloak", 0)

    await house.desk.parts.access_cache.write(write)
    for name in ("ann", "ben", "cid", "dan", "group:admins", "*", None, 7, " x", "x" * 255):
        house.issuer.claims = {**ANN, "preferred_username": name, "sub": f"id-{str(name)[:9].strip()}"}
        assert (await house.sign_in()).status_code == 303
    found = set(await house.people()) - {"dan@keycloak"}
    assert all(each.startswith(("id-", "*@")) for each in found)


async def test_a_person_of_a_provider_has_no_other_way_in(house: House) -> None:
    browser, desk = house.desk.browser(), house.desk
    await house.sign_in(browser)
    account = await browser.open("/oauth/account")
    assert "through keycloak, and so in no other way" in account.text
    assert "data-passkey" not in account.text
    form = {**forms_of(account)[0].fields, "do": "password", "password": PASSWORD, "again": PASSWORD, "current": ""}
    assert (await browser.http.post("/oauth/account", data=form)).status_code == 403
    with pytest.raises(people.AlreadyExists):
        await desk.invite(PERSON)


async def test_a_passkey_begun_before_somebody_was_of_a_provider_is_not_kept(house: House) -> None:
    desk, browser, device = house.desk, house.desk.browser(), Authenticator()
    await desk.person("ben")
    await browser.sign_in("ben")
    page = await browser.open("/oauth/account")
    row = "INSERT INTO outside_identities VALUES (:at, 'x', 'ben', 'keycloak', :at)"
    await desk.parts.control.write(lambda tx: tx.run(row, {"at": "2026-01-01T00:00:00Z"}))
    answer = await browser.send(page, "/oauth/account/passkeys", do="add", passkey=device.make(asked(page)))
    assert (answer.status_code, "through a provider" in answer.text) == (422, True)


async def test_a_reset_makes_them_a_person_of_this_server_and_disabling_holds(house: House) -> None:
    desk = house.desk
    await house.sign_in()
    await desk.parts.access_cache.write(lambda tx: accounts.disable(tx, PERSON, desk.clock[0]))
    assert (await house.sign_in()).status_code == 403
    link = await desk.parts.access_cache.write(lambda tx: accounts.reset(tx, PERSON, desk.clock[0]))
    assert desk.parts.roles_of(PERSON) == {}
    browser = desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    assert (await browser.send(page, "/oauth/invite", password=PASSWORD, again=PASSWORD)).status_code == 303
    await house.sign_in()  # whoever comes from there now is somebody else
    assert len(await house.people()) == 2


@pytest.mark.parametrize("methods", [None, ["client_secret_post"], ["client_secret_basic"]])
async def test_a_secret_goes_as_the_provider_wants_it(
    tmp_path: Path, issuer: OutsideIssuer, methods: list[str] | None
) -> None:
    file = tmp_path / "secret"
    issuer.document = {"token_endpoint_auth_methods_supported": methods}
    async with opened(tmp_path, issuer, client_secret_file=str(file)) as house:
        await refused(house, "has a client_secret_file that cannot be read")
        file.write_text("\n")
        await refused(house, "has a client_secret_file with nothing in it")
        file.write_text("wrong\n")
        await refused(house, "no answer")
        file.write_text(f"{SECRET}\n")
        assert (await house.sign_in()).status_code == 303


async def test_an_issuer_whose_endpoints_lie_elsewhere_needs_them_listed(tmp_path: Path, issuer: OutsideIssuer) -> None:
    other = issuer.origin.replace("127.0.0.1", "localhost")
    issuer.document = {"token_endpoint": f"{other}{TOKEN}", "jwks_uri": f"{other}{CERTS}"}
    async with opened(tmp_path, issuer) as house:
        assert (await house.desk.browser().open(BEGIN)).status_code == 503
    (tmp_path / "b").mkdir()
    async with opened(tmp_path / "b", issuer, hosts=[other.partition("//")[2]]) as house:
        assert (await house.sign_in()).status_code == 303


# -- what a provider says that is not so


def unsigned(claims: dict[str, Any]) -> str:
    return jwt.encode(claims, None, "none", headers={"kid": "one"})


def with_public_key(issuer: OutsideIssuer) -> Callable[[dict[str, Any]], str]:
    """HS256 with what everybody can read as its secret."""

    def sign(claims: dict[str, Any]) -> str:
        parts = [{"alg": "HS256", "kid": "one", "typ": "JWT"}, claims]
        said = ".".join(base64.urlsafe_b64encode(json.dumps(each).encode()).decode().rstrip("=") for each in parts)
        mac = hmac.new(issuer.public_pem(), said.encode(), hashlib.sha256).digest()
        return f"{said}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}"

    return sign


def with_another_key(claims: dict[str, Any]) -> str:
    from cryptography.hazmat.primitives.asymmetric import rsa

    return jwt.encode(claims, rsa.generate_private_key(65537, 2048), "RS256", headers={"kid": "one"})


BENT: list[tuple[dict[str, Any], str]] = [
    ({"iss": "https://id.evil"}, "issuer"),
    ({"iss": None}, "issuer"),
    ({"nonce": "of another"}, "claims"),
    ({"nonce": None}, "claims"),
    ({"nonce": 7}, "claims"),
    ({"aud": "another"}, "audience"),
    ({"aud": []}, "audience"),
    ({"aud": ["strongroom", "another"], "azp": None}, "audience"),
    ({"aud": ["strongroom", "another"], "azp": "another"}, "audience"),
    ({"azp": "another"}, "audience"),
    ({"exp": 1_000_000_000}, "expired"),
    ({"exp": None}, "claims"),
    ({"iat": 4_000_000_000}, "not_yet_valid"),
    ({"sub": None}, "claims"),
    ({"sub": ["ann"]}, "claims"),
    ({"sub": "an\nn"}, "claims"),
    ({"groups": ["x" * 200] * 60}, "too_large"),
]


async def test_an_id_token_that_does_not_hold_lets_nobody_in(house: House) -> None:
    for bend, reason in BENT:
        house.issuer.bend = bend
        answer = await refused(house, reason)
        assert "did not say who you are" in answer.text


async def test_a_token_for_several_that_names_us_is_taken(house: House) -> None:
    house.issuer.bend = {"aud": ["another", "strongroom"], "azp": "strongroom", "groups": "research"}
    assert (await house.sign_in()).status_code == 303


async def test_no_signature_but_that_of_its_key_is_taken(house: House) -> None:
    for sign, reason in (
        (unsigned, "key"),
        (with_public_key(house.issuer), "key"),
        (with_another_key, "signature"),
        (lambda _: "not.a.token", "malformed"),
        (lambda claims: jwt.encode(claims, house.issuer.key, "RS256", headers={"kid": "two"}), "key"),
        (lambda claims: jwt.encode(claims, house.issuer.key, "RS512", headers={"kid": "one"}), "key"),
    ):
        house.issuer.sign = sign
        await refused(house, reason)


ELSEWHERE: list[dict[str, Any]] = [
    {"issuer": "https://id.evil"},
    {"issuer": None},
    {"token_endpoint": "http://169.254.169.254/latest"},
    {"token_endpoint": "https://127.0.0.1/token"},
    {"jwks_uri": "file:///etc/passwd"},
    {"jwks_uri": "https://10.0.0.1/keys"},
    {"jwks_uri": None},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"authorization_endpoint": "https://login.evil/"},
    {"authorization_endpoint": 7},
]


async def test_a_description_that_leads_elsewhere_is_not_followed(house: House) -> None:
    for document in ELSEWHERE:
        house.issuer.document = document
        answer = await house.desk.browser().open(BEGIN)
        assert (answer.status_code, "cannot be asked" in answer.text) == (503, True), document
        house.seconds[0] += RETRY_S
    assert house.issuer.asked == [DISCOVERY] * len(ELSEWHERE)


def redirecting(to: str) -> Callable[[Any], None]:
    return lambda request: reply(request, 302, {}, location=to)


async def test_redirects_huge_and_broken_answers_are_none(house: House) -> None:
    issuer, answers = house.issuer, house.issuer.answers
    wrong: list[Callable[[Any], None]] = [
        redirecting(f"{issuer.origin}/elsewhere"),
        lambda request: reply(request, 200, b" " * 70_000 + b"{}"),
        lambda request: reply(request, 200, b"[" * 50_000),
        lambda request: reply(request, 200, b"<html>"),
        lambda request: reply(request, 200, {}, content_encoding="gzip"),
        lambda request: reply(request, 500, {}),
        lambda request: request.wfile.write(b"nonsense\r\n\r\n"),
    ]
    for each in wrong:
        answers[DISCOVERY] = each
        house.seconds[0] += RETRY_S
        assert (await house.desk.browser().open(BEGIN)).status_code == 503
    del answers[DISCOVERY]
    house.seconds[0] += RETRY_S
    for each in wrong:
        answers[TOKEN] = each
        await refused(house, "no answer")
    answers[TOKEN] = lambda request: reply(request, 200, {"access_token": "x"})
    await refused(house, "gave no ID token")
    del answers[TOKEN]
    answers[CERTS] = redirecting(f"{issuer.origin}/keys")
    await refused(house, "keys_unavailable")
    assert set(issuer.asked) == {DISCOVERY, TOKEN, CERTS}


async def test_a_provider_that_does_not_answer_is_waited_for_no_longer_than_said(
    tmp_path: Path, issuer: OutsideIssuer
) -> None:
    issuer.answers[DISCOVERY] = lambda request: issuer.released.wait() and None
    async with opened(tmp_path, issuer, timeout_s=0.05) as house:
        assert (await house.desk.browser().open(BEGIN)).status_code == 503
        for _ in range(5):  # and not asked again for half a minute
            assert (await house.desk.browser().open(BEGIN)).status_code == 503
    assert issuer.asked == [DISCOVERY]


async def test_a_description_is_read_once_an_hour(house: House) -> None:
    for _ in range(3):
        await house.sign_in()
    assert (house.issuer.asked.count(DISCOVERY), house.issuer.asked.count(CERTS)) == (1, 1)
    house.seconds[0] += FRESH_S
    house.issuer.document = {"jwks_uri": f"{house.issuer.origin}{CERTS}?new"}
    house.issuer.answers[f"{CERTS}?new"] = lambda request: reply(request, 200, house.issuer._certs())
    await house.sign_in()
    assert house.issuer.asked.count(f"{CERTS}?new") == 1
    for path in (DISCOVERY, f"{CERTS}?new"):
        house.issuer.answers[path] = lambda request: reply(request, 500, {})
    for _ in range(2):  # what was known serves meanwhile
        house.seconds[0] += FRESH_S
        assert (await house.sign_in()).status_code == 303
    house.seconds[0] += STALE_S  # but not for ever
    assert (await house.sign_in()).status_code == 403


# -- what a browser brings that is not so


async def test_what_came_back_is_good_once_in_one_browser_for_ten_minutes(house: House) -> None:
    ann, thief = house.desk.browser(), house.desk.browser()
    brought = await house.go(ann)
    await thief.open("/oauth/sign-in")
    assert (await house.back(thief, brought)).status_code == 403
    house.desk.clock[0] += 601
    assert (await house.back(ann, brought)).status_code == 403
    house.desk.clock[0] -= 601
    assert (await house.back(ann, brought)).status_code == 303
    assert (await house.back(house.desk.browser(), brought)).status_code == 403
    assert await house.people() == [PERSON]


async def test_a_state_is_used_once_even_with_another_code_and_the_cookies_of_then(house: House) -> None:
    browser, thief = house.desk.browser(), house.desk.browser()
    address = (await browser.open(BEGIN)).headers["location"]
    for name, value in dict(browser.http.cookies).items():
        thief.http.cookies.set(name, value, domain="mem.example")
    assert (await house.back(browser, house.issuer.visit(address))).status_code == 303
    with capture_logs() as logs:
        assert (await house.back(thief, house.issuer.visit(address))).status_code == 403
    assert [each["reason"] for each in logs if "reason" in each] == ["used"]


async def test_a_code_of_another_sign_in_is_refused_by_its_verifier(house: House) -> None:
    """Somebody puts their own code into a browser that is on its way back."""
    theirs, ours = house.desk.browser(), house.desk.browser()
    code = (await house.go(theirs))["code"]
    brought = await house.go(ours)
    answer = await house.back(ours, {**brought, "code": code})
    assert answer.status_code == 503
    assert await house.people() == []


CHANGES = [
    {"iss": "https://id.evil"},
    {"iss": "-"},
    {"state": "-"},
    {"state": "x"},
    {"state": "é"},
    {"code": "-"},
    {"code": "made-up"},
    {"code": "x" * 5000},
    {"error": "access_denied"},
]


async def test_an_answer_that_is_bent_lets_nobody_in(house: House) -> None:
    for change in CHANGES:
        browser = house.desk.browser()
        brought = {name: each for name, each in {**(await house.go(browser)), **change}.items() if each != "-"}
        answer = await house.back(browser, brought)
        assert answer.status_code in (403, 503), change
        assert "access_denied" not in answer.text
        assert await house.people() == [], change


async def test_an_issuer_that_does_not_name_itself_need_not_but_may_not_name_another(house: House) -> None:
    house.issuer.document = {"authorization_response_iss_parameter_supported": False}
    browser = house.desk.browser()
    brought = await house.go(browser)
    assert (await house.back(browser, {**brought, "iss": "https://id.evil"})).status_code == 403
    brought = await house.go(browser)
    del brought["iss"]
    assert (await house.back(browser, brought)).status_code == 303


async def test_a_parameter_that_occurs_twice_is_refused(house: House) -> None:
    browser = house.desk.browser()
    brought = await house.go(browser)
    answer = await browser.open(f"{BEGIN}/done?{urlencode(brought)}&code=other")
    assert answer.status_code == 403


async def test_two_providers_are_not_mixed_up(tmp_path: Path) -> None:
    honest, other = OutsideIssuer(), OutsideIssuer()
    both = {
        name: ProviderQuestions(each.settings(name=name, grants=[RESEARCH]))
        for name, each in (("honest", honest), ("other", other))
    }
    try:
        async with open_desk(tmp_path, outside=both) as desk:
            browser = desk.browser()
            brought = honest.visit((await browser.open("/oauth/with/honest")).headers["location"])
            answer = await browser.open(f"/oauth/with/other/done?{urlencode(brought)}")
            assert answer.status_code == 403
            assert other.asked == []  # no code of the one was shown to the other
            found = await desk.parts.control.read(lambda tx: identities.find_person(tx, honest.issuer, ANN["sub"]))
            assert found is None
    finally:
        for questions, each in zip(both.values(), (honest, other), strict=True):
            await questions.close()
            each.close()


async def test_nobody_is_led_elsewhere_and_an_unknown_provider_is_none(house: House) -> None:
    browser = house.desk.browser()
    brought = await house.go(browser, "?next=//evil.example")
    browser.http.cookies.set("__Host-strongroom-next", "https%3A%2F%2Fevil.example", domain="mem.example")
    assert (await house.back(browser, brought)).headers["location"] == "/oauth/account"
    assert (await browser.open(BEGIN)).headers["location"] == "/oauth/account"  # is signed in
    for path in ("/oauth/with/google", "/oauth/with/google/done"):
        assert (await house.desk.browser().open(path)).status_code == 404


async def test_floods_are_held_back(house: House) -> None:
    browser = house.desk.browser()
    statuses = [(await browser.open(BEGIN)).status_code for _ in range(61)]
    assert statuses[-2:] == [303, 429]


async def test_what_is_asked_names_the_way_back_and_keeps_the_verifier(house: House) -> None:
    location = (await house.desk.browser().open(f"{BEGIN}?next=/oauth/device")).headers["location"]
    asked = parse_qs(urlsplit(location).query)
    assert asked["redirect_uri"] == ["https://mem.example/oauth/with/keycloak/done"]
    assert asked["client_id"] == ["strongroom"]
    assert asked["scope"] == ["openid profile email"]
    assert "code_verifier" not in asked
    assert REALM in location
    assert "device" not in location
