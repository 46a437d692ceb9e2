"""What clients call, and what thieves call.

Covers server.oauth.token_routes, auth.oauth.client_logins and auth.oauth.clients.
"""

from __future__ import annotations

import asyncio

import pytest

from auth.errors import TokenInvalid
from auth.grants import remove_grant, set_grant
from auth.oauth import client_logins, codes
from auth.people import accounts
from auth.principal import LOCAL
from auth.roles import Role
from server.oauth.provider import ACCESS_TTL_S
from tests.server.oauth.desk import CALLBACK, URL, VAULT, Desk


async def let_in(desk: Desk, **more: object) -> tuple[str, dict[str, str]]:
    """A client, and the tokens it got."""
    await desk.person()
    client, browser = (await desk.client(**more))["client_id"], desk.browser()
    await browser.sign_in()
    return client, await desk.login(browser, client)


async def is_good(desk: Desk, token: str) -> bool:
    try:
        return bool(await desk.principal(token))
    except TokenInvalid:
        return False


async def test_the_description_names_what_there_is(desk: Desk) -> None:
    async with desk.http() as http:
        found = (await http.get("/.well-known/oauth-authorization-server")).json()
        assert found["issuer"] == URL
        for endpoint in ("token_endpoint", "registration_endpoint", "revocation_endpoint"):
            assert (await http.post(found[endpoint].removeprefix(URL))).status_code in (400, 401)
        assert (await http.get(found["authorization_endpoint"])).status_code == 400
    assert found["code_challenge_methods_supported"] == ["S256"]


async def test_a_code_that_comes_twice_ends_what_it_gave(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    tokens = (await desk.exchange(client, code)).json()
    assert await is_good(desk, tokens["access_token"])
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_grant"
    assert not await is_good(desk, tokens["access_token"])
    assert (await desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_of_two_that_bring_a_code_at_once_neither_keeps_a_token(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    answers = [answer.json() for answer in await asyncio.gather(*(desk.exchange(client, code) for _ in range(2)))]
    given = [each["access_token"] for each in answers if "access_token" in each]
    assert len(given) <= 1
    assert [await is_good(desk, token) for token in given] in ([], [False])


async def test_a_code_is_for_its_client_its_redirect_and_a_minute(desk: Desk) -> None:
    await desk.person()
    client, other = (await desk.client())["client_id"], (await desk.client())["client_id"]
    browser = desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    assert (await desk.exchange(other, code)).json()["error"] == "invalid_grant"
    assert (await desk.exchange(client, code, redirect_uri=f"{CALLBACK}/")).status_code == 400
    assert (await desk.exchange(client, code, code_verifier="w" * 64)).json()["error"] == "invalid_grant"
    assert (await desk.exchange(client, code, resource=f"{URL}/v/other/mcp")).json()["error"] == "invalid_target"
    desk.clock[0] += 61
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_grant"


async def test_each_refresh_token_is_good_once_and_a_copy_ends_the_login(desk: Desk) -> None:
    client, first = await let_in(desk)
    second = (await desk.refresh(client, first["refresh_token"], resource=VAULT)).json()
    assert await is_good(desk, second["access_token"])
    stolen = await desk.refresh(client, first["refresh_token"])
    assert stolen.json()["error"] == "invalid_grant"
    assert not await is_good(desk, second["access_token"])
    assert (await desk.refresh(client, second["refresh_token"])).json()["error"] == "invalid_grant"


async def test_of_two_that_bring_a_refresh_token_at_once_neither_keeps_a_token(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    brought = (desk.refresh(client, tokens["refresh_token"]) for _ in range(2))
    answers = [answer.json() for answer in await asyncio.gather(*brought)]
    given = [each["access_token"] for each in answers if "access_token" in each]
    assert len(given) <= 1
    assert [await is_good(desk, token) for token in given] in ([], [False])
    assert not await is_good(desk, tokens["access_token"])


async def test_what_two_requests_found_unused_is_used_up_by_one_of_them(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    control, now, refresh = desk.parts.control, desk.clock[0], tokens["refresh_token"]
    stored = await control.read(lambda tx: client_logins.find_refresh_token(tx, refresh))
    assert stored is not None
    rotated = [await control.write(lambda tx: client_logins.rotate(tx, refresh, stored.login, now)) for _ in range(2)]
    assert rotated[0] is not None
    assert rotated[1] is None
    browser = desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    found = await control.read(lambda tx: codes.find(tx, code, client))
    assert found is not None
    assert [await control.write(lambda tx: codes.use(tx, found, now)) for _ in range(2)] == [True, False]


async def test_a_refresh_token_is_for_its_client_and_its_vault(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    other = (await desk.client())["client_id"]
    assert (await desk.refresh(other, tokens["refresh_token"])).json()["error"] == "invalid_grant"
    elsewhere = await desk.refresh(client, tokens["refresh_token"], resource=f"{URL}/v/other/mcp")
    assert elsewhere.json()["error"] == "invalid_target"
    narrow = (await desk.refresh(client, tokens["refresh_token"], scope="vault:read")).json()
    assert narrow["scope"] == "vault:read"
    wide = (await desk.refresh(client, narrow["refresh_token"])).json()
    assert wide["scope"] == "vault:read vault:write"


async def test_a_login_ends_with_the_days_it_was_given(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    desk.clock[0] += 30 * 86_400 + 1
    assert (await desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_without_its_grant_a_token_opens_nothing_and_cannot_be_renewed(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    principal = await desk.principal(tokens["access_token"])
    await desk.parts.access_cache.write(lambda tx: remove_grant(tx, "ann", LOCAL, "main"))
    assert desk.parts.access_cache.current.role_in(principal, "main") is None
    assert (await desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"
    await desk.parts.access_cache.write(lambda tx: set_grant(tx, "ann", LOCAL, "main", Role.WRITER))
    assert (await desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"


async def test_who_is_disabled_has_no_way_in_left(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    browser = desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client)
    await desk.parts.access_cache.write(lambda tx: accounts.disable(tx, "ann", desk.clock[0]))
    assert not await is_good(desk, tokens["access_token"])
    assert (await desk.refresh(client, tokens["refresh_token"])).json()["error"] == "invalid_grant"
    assert (await desk.exchange(client, code)).json()["error"] == "invalid_grant"
    assert (await browser.open("/oauth/account")).status_code == 303
    assert (await browser.sign_in()).status_code == 403


@pytest.mark.parametrize("which", ["refresh_token", "access_token"])
async def test_a_client_can_end_its_own_login_and_no_other(desk: Desk, which: str) -> None:
    client, tokens = await let_in(desk)
    other = (await desk.client())["client_id"]
    async with desk.http() as http:
        for each in (other, client):
            assert await is_good(desk, tokens["access_token"])
            answer = await http.post("/oauth/revoke", data={"client_id": each, "token": tokens[which]})
            assert answer.status_code == 200
        assert (await http.post("/oauth/revoke", data={"client_id": client, "token": "x.y.z"})).status_code == 200
    assert not await is_good(desk, tokens["access_token"])


async def test_a_client_with_a_secret_must_bring_it(desk: Desk) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    made = await desk.client(token_endpoint_auth_method="client_secret_post")
    code = await desk.allow(browser, made["client_id"])
    for secret in ({}, {"client_secret": ""}, {"client_secret": "0" * 64}):
        assert (await desk.exchange(made["client_id"], code, **secret)).status_code == 401
    assert (await desk.exchange(made["client_id"], code, client_secret=made["client_secret"])).status_code == 200
    kept = desk.parts.control.path.read_bytes()
    assert made["client_secret"].encode() not in kept


@pytest.mark.parametrize(
    "redirect",
    [
        "http://app.example/cb", "https://user@app.example/cb", "https://app.example/cb#x", "cursor://x/cb",
        "javascript:alert(1)", "http://localhost.evil/cb", "http://127.0.0.1.evil/cb", "https://", "/cb",
        f"https://app.example/{'x' * 1000}", "http://0.0.0.0/cb", "http://192.168.0.2/cb",
    ],
)  # fmt: skip
async def test_some_redirects_cannot_be_registered(desk: Desk, redirect: str) -> None:
    async with desk.http() as http:
        answer = await http.post("/oauth/register", json={"redirect_uris": [CALLBACK, redirect]})
    assert answer.status_code == 400
    assert answer.json()["error"] in ("invalid_redirect_uri", "invalid_client_metadata")


async def test_registrations_are_counted_and_forgotten_unless_somebody_uses_them(desk: Desk) -> None:
    used, _ = await let_in(desk)
    unused = (await desk.client())["client_id"]
    async with desk.http() as http:
        answers = [await http.post("/oauth/register", json={"redirect_uris": [CALLBACK]}) for _ in range(20)]
    assert [answer.status_code for answer in answers[17:]] == [201, 429, 429]
    assert answers[-1].headers["retry-after"] == "3600"
    desk.clock[0] += 86_401
    await desk.client()
    for client, error in ((used, "invalid_grant"), (unused, "invalid_client")):
        assert (await desk.refresh(client, "none")).json()["error"] == error
    assert await desk.parts.control.read(lambda tx: tx.value("SELECT COUNT(*) FROM oauth_clients")) == 2


async def test_tokens_that_ran_out_do_not_pile_up(desk: Desk) -> None:
    client, tokens = await let_in(desk)
    for _ in range(5):
        desk.clock[0] += ACCESS_TTL_S + 1
        tokens = (await desk.refresh(client, tokens["refresh_token"])).json()
    kept = await desk.parts.control.read(lambda tx: tx.value("SELECT COUNT(*) FROM tokens"))
    assert kept <= 2


async def test_a_vault_that_gets_another_name_keeps_its_logins(desk: Desk) -> None:
    await let_in(desk)
    await desk.parts.control.write(lambda tx: client_logins.rename_vault(tx, "main", "other"))
    found = await desk.parts.control.read(lambda tx: client_logins.list_logins(tx, "ann", desk.clock[0]))
    assert [each.vault for each in found] == ["other"]
    await desk.parts.control.write(lambda tx: client_logins.remove_vault(tx, "other"))
    assert await desk.parts.control.read(lambda tx: client_logins.list_logins(tx, "ann", desk.clock[0])) == []


@pytest.mark.parametrize(
    "form",
    [{}, {"client_id": "x"}, {"grant_type": "password", "client_id": "x"}, {"grant_type": "\ud800", "code": "\0"}],
)
async def test_a_token_request_that_makes_no_sense_is_refused_by_name(desk: Desk, form: dict[str, str]) -> None:
    data = {name: value.encode("utf-8", "surrogatepass") for name, value in form.items()}
    async with desk.http() as http:
        answer = await http.post("/oauth/token", data=data)
        twice = await http.post(
            "/oauth/token",
            content="client_id=a&client_id=b",
            headers={"content-type": "application/x-www-form-urlencoded"},
        )
    assert answer.json()["error"] == "invalid_client"
    assert twice.json()["error"] == "invalid_request"


async def test_a_redirect_without_a_path_is_the_same_when_it_is_registered_and_asked_for(desk: Desk) -> None:
    await desk.person()
    plain = "http://127.0.0.1:5555"
    client, browser = (await desk.client(plain))["client_id"], desk.browser()
    await browser.sign_in()
    code = await desk.allow(browser, client, redirect_uri=plain)
    assert (await desk.exchange(client, code, redirect_uri=plain)).status_code == 200


@pytest.mark.parametrize(
    "path", ["token", "revoke", "register", "authorize", "sign-in", "invite", "account", "sign-out"]
)
async def test_nothing_that_is_sent_breaks_the_server(desk: Desk, path: str) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    client = (await desk.client())["client_id"]
    urlencoded = {"content-type": "application/x-www-form-urlencoded"}
    bodies = [
        (b"--x\r\nbroken", {"content-type": "multipart/form-data; boundary=x"}),
        (
            b"--x\r\nContent-Disposition: form-data; name=name; filename=f\r\n\r\n1\r\n--x--",
            {"content-type": "multipart/form-data; boundary=x"},
        ),
        (b"a", {"content-type": "multipart/form-data"}),
        (b"%ff%fe=%00&client_id=%ed%a0%80&form=%ed%a0%80&name=%00&token=%00.%00.%00", urlencoded),
        (f"client_id={client}&grant_type=refresh_token&refresh_token=%ed%a0%80%00&token=a.b.c".encode(), urlencoded),
        (b'{"redirect_uris": ["\\ud800"], "client_name": "\\u0000"}', {"content-type": "application/json"}),
        (b"[" * 60_000, {"content-type": "application/json"}),
        (b"&".join(b"a%d=1" % number for number in range(5000)), urlencoded),
    ]
    for body, headers in bodies:
        answer = await browser.http.post(f"/oauth/{path}", content=body, headers=headers)
        assert answer.status_code in (200, 302, 303, 400, 401, 403, 404, 415, 422), (path, body[:40], answer.text[:300])
    for query in (
        b"?link=%ed%a0%80%00",
        b"?next=%0d%0a%00",
        b"?client_id=%00&redirect_uri=%ed%a0%80&response_type=%ff",
    ):
        assert (await browser.open(f"/oauth/{path}{query.decode()}")).status_code in (200, 303, 400, 404, 405)
