"""A command shows a code, a person types it. Covers server.oauth.device_routes, server.oauth.choices,
auth.oauth.device_codes and auth.oauth.login_terms."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from auth.errors import TokenInvalid
from auth.oauth import client_logins
from auth.oauth.device_codes import OWN_CLIENT
from auth.people import accounts
from auth.roles import Role
from server.oauth import account_routes, choices
from tests.server.oauth.desk import URL, VAULT, Desk, forms_of

GRANT = "urn:ietf:params:oauth:grant-type:device_code"


async def start(desk: Desk, **more: str) -> dict[str, Any]:
    async with desk.http("10.3.3.3") as http:
        form = {"client_id": OWN_CLIENT, "resource": VAULT, "asked_by": "build-7", **more}
        answer = await http.post("/oauth/device/start", data=form)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def poll(desk: Desk, code: str, **more: str) -> httpx2.Response:
    desk.clock[0] += 5
    return await desk.token(**{"grant_type": GRANT, "client_id": OWN_CLIENT, "device_code": code, **more})


async def test_a_terminal_gets_its_token_once_somebody_said_yes(desk: Desk) -> None:
    await desk.person("ann", Role.WRITER, "main", "other")
    asked, browser = await start(desk), desk.browser()
    assert (await poll(desk, asked["device_code"])).json()["error"] == "authorization_pending"
    page = await browser.follow(await browser.open(asked["verification_uri_complete"]))
    page = await browser.follow(
        await browser.send(page, "/oauth/sign-in", name="ann", password="wooden boats cross slowly")
    )
    for told in (asked["user_code"], "build-7", "10.3.3.3"):
        assert told in page.text
    assert forms_of(page)[-1].choices["vault"] == ["main"]
    assert (await poll(desk, asked["device_code"])).json()["error"] == "authorization_pending"
    answer = await browser.send(page, "/oauth/device", decision="allow", role="reader", days="7")
    assert "It is let in" in answer.text
    given = (await poll(desk, asked["device_code"])).json()
    assert given["scope"] == "vault:read"
    principal = await desk.principal(given["access_token"])
    assert dict(desk.parts.access_cache.current.vaults_of(principal, {"main", "other"})) == {"main": Role.READER}
    assert (await poll(desk, asked["device_code"])).json()["error"] == "expired_token"
    assert "strongroom login" in (await browser.open("/oauth/account")).text


async def test_a_terminal_that_is_denied_or_forgotten_gets_nothing(desk: Desk) -> None:
    await desk.person()
    denied, forgotten, browser = await start(desk), await start(desk), desk.browser()
    await browser.sign_in()
    page = await browser.open(denied["verification_uri_complete"])
    await browser.send(page, "/oauth/device", decision="deny")
    assert (await poll(desk, denied["device_code"])).json()["error"] == "access_denied"
    assert (await browser.send(page, "/oauth/device", decision="allow")).status_code == 404
    desk.clock[0] += 601
    assert (await poll(desk, forgotten["device_code"])).json()["error"] == "expired_token"
    assert (await browser.open(forgotten["verification_uri_complete"])).status_code == 404


async def test_a_code_is_typed_as_people_type_and_guessed_by_nobody(desk: Desk) -> None:
    await desk.person()
    asked, browser = await start(desk), desk.browser()
    await browser.sign_in()
    assert "The code that the terminal shows" in (await browser.open("/oauth/device")).text
    typed = asked["user_code"].lower().replace("-", " ")
    assert (await browser.open(f"/oauth/device?code={typed}")).status_code == 200
    statuses = [
        (await browser.open(f"/oauth/device?code=BBBB-BBB{letter}")).status_code for letter in "BCDFGHJKLMNPQRSTVWXZ"
    ]
    assert (statuses[0], statuses[-1]) == (404, 429)
    assert (await browser.open(asked["verification_uri_complete"])).status_code == 429


async def test_a_yes_must_come_from_the_page_and_be_theirs_to_give(desk: Desk) -> None:
    await desk.person("ann", Role.READER)
    asked, browser = await start(desk), desk.browser()
    await browser.sign_in()
    page = await browser.open(asked["verification_uri_complete"])
    assert (await browser.send(page, "/oauth/device", decision="allow", form="0" * 64)).status_code == 403
    assert (await browser.send(page, "/oauth/device", decision="allow", vault="other")).status_code == 403
    assert (await poll(desk, asked["device_code"])).json()["error"] == "authorization_pending"
    await browser.send(page, "/oauth/device", decision="allow", role="admin")
    assert (await poll(desk, asked["device_code"])).json()["scope"] == "vault:read"


async def test_no_other_client_and_no_other_server_is_let_in_so(desk: Desk) -> None:
    await desk.person()
    client = (await desk.client())["client_id"]
    asked = await start(desk)
    assert (await poll(desk, asked["device_code"], client_id=client)).json()["error"] == "unauthorized_client"
    async with desk.http() as http:
        for form, error in (
            ({"client_id": client}, "unauthorized_client"),
            ({"client_id": OWN_CLIENT, "resource": "https://evil.example/v/main/mcp"}, "invalid_target"),
        ):
            assert (await http.post("/oauth/device/start", data=form)).json()["error"] == error
        page = await http.get(f"/oauth/authorize?client_id={OWN_CLIENT}&response_type=code&code_challenge=x")
        assert page.status_code == 400
        answers = [await http.post("/oauth/device/start", data={"client_id": OWN_CLIENT}) for _ in range(30)]
    assert answers[-1].status_code == 429


async def test_who_looks_too_often_is_told_to_wait(desk: Desk) -> None:
    asked = await start(desk)
    form = {"grant_type": GRANT, "client_id": OWN_CLIENT, "device_code": asked["device_code"]}
    assert (await desk.token(**form)).json()["error"] == "authorization_pending"
    assert (await desk.token(**form)).json()["error"] == "slow_down"


async def test_a_terminal_is_out_with_its_person_and_by_withdrawing(desk: Desk) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    tokens = []
    for _ in range(2):
        asked = await start(desk)
        await browser.send(await browser.open(asked["verification_uri_complete"]), "/oauth/device", decision="allow")
        tokens.append((await poll(desk, asked["device_code"])).json()["access_token"])
    logins = await desk.parts.control.read(lambda tx: client_logins.list_logins(tx, "ann", desk.clock[0]))
    await browser.send(await browser.open("/oauth/account"), "/oauth/account", do="end_login", id=logins[0].id)
    with pytest.raises(TokenInvalid):
        await desk.principal(tokens[1])
    await desk.principal(tokens[0])
    waiting = await start(desk, resource=f"{URL}/mcp")
    await browser.send(await browser.open(waiting["verification_uri_complete"]), "/oauth/device", decision="allow")
    await desk.parts.access_cache.write(lambda tx: accounts.disable(tx, "ann", desk.clock[0]))
    assert (await poll(desk, waiting["device_code"])).json()["error"] == "access_denied"
    with pytest.raises(TokenInvalid):
        await desk.principal(tokens[0])


async def test_whoever_has_more_vaults_than_a_page_offers_types_the_name_of_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "MOST_VAULTS", 1)
    monkeypatch.setattr(account_routes, "MOST_VAULTS", 1)
    await desk.person("ann", Role.WRITER, "main", "other")
    asked, browser = await start(desk, resource=""), desk.browser()
    await browser.sign_in()
    page = await browser.open(f"/oauth/device?code={asked['user_code']}")
    assert "vault" not in forms_of(page)[-1].choices
    assert forms_of(page)[-1].fields["vault"] == "main"
    wrong = await browser.send(page, "/oauth/device", decision="allow", vault="third", role="reader", days="7")
    assert "not yours to give" in wrong.text
    await browser.send(wrong, "/oauth/device", decision="allow", vault=" other ", role="reader", days="7")
    given = (await poll(desk, asked["device_code"])).json()
    principal = await desk.principal(given["access_token"])
    assert dict(desk.parts.access_cache.current.vaults_of(principal, {"main", "other"})) == {"other": Role.READER}
    assert "and 1 more" in (await browser.open("/oauth/account")).text
