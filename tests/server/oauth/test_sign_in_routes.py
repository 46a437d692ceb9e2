"""Signing in and out, links that set a password, and floods of both.

Covers server.oauth.sign_in_routes, server.oauth.visits, server.oauth.hashing, auth.people.attempts,
auth.people.browser_sessions, auth.people.invites, auth.people.passwords, auth.people.people and auth.one_time.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import httpx2
import pytest

from auth.grants import set_grant
from auth.people import accounts, browser_sessions
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.oauth.desk import KEPT, PASSWORD, URL, Browser, Desk, forms_of, open_desk

NEW = "quiet lamps near the harbour"


def cookies_of(answer: httpx2.Response) -> dict[str, str]:
    """Name to the whole of each cookie that is set."""
    return {line.partition("=")[0]: line for line in answer.headers.get_list("set-cookie")}


async def test_a_cookie_is_for_this_host_over_tls_and_no_script(desk: Desk) -> None:
    await desk.person()
    answer = await desk.browser().sign_in()
    assert answer.headers["location"] == "/oauth/account"
    for cookie in cookies_of(answer).values():
        assert cookie.startswith("__Host-strongroom")
        for attribute in ("; HttpOnly", "; Path=/", "; SameSite=lax", "; Secure"):
            assert attribute in cookie
        assert "Domain" not in cookie


async def test_whoever_is_wrong_gets_the_same_answer_after_the_same_work(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await desk.person("ann")
    await desk.person("gone")
    await desk.parts.control.write(lambda tx: accounts.disable(tx, "gone", desk.clock[0]))
    await desk.invite("new")
    hashed: list[str] = []
    from auth.people import passwords

    real = passwords.Argon2id.verify_phc_encoded
    count = lambda *given: (hashed.append("once"), real(*given))[1]  # noqa: E731
    monkeypatch.setattr(passwords, "Argon2id", type("Counted", (), {"verify_phc_encoded": staticmethod(count)}))
    monkeypatch.setattr(passwords, "_nobodys", lambda: KEPT)
    answers = []
    for name, password in (("ann", NEW), ("nobody", PASSWORD), ("gone", PASSWORD), ("new", PASSWORD), ("", "")):
        browser = desk.browser()
        page = await browser.open("/oauth/sign-in")
        value = forms_of(page)[-1].fields["form"]
        answer = await browser.send(page, "/oauth/sign-in", name=name, password=password)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        text = re.sub('data-options="[^"]*"', "", answer.text)  # a new question each time
        answers.append(text.replace(value, "").replace(f'value="{name}"', 'value=""'))
    assert len(set(answers)) == 1
    assert len(hashed) == 5


async def test_a_session_known_before_is_not_the_one_after(desk: Desk) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    before = dict(browser.http.cookies)
    browser.http.cookies.delete("__Host-strongroom")
    planted = desk.browser()
    for name, value in before.items():
        planted.http.cookies.set(name, value, domain="mem.example")
    page = await planted.open("/oauth/sign-in")
    assert page.status_code == 303  # it is signed in
    await planted.send(await planted.open("/oauth/account"), "/oauth/sign-out")
    assert (await planted.open("/oauth/account")).status_code == 303
    await planted.sign_in()
    after = dict(planted.http.cookies)
    assert before.keys() == after.keys()
    assert all(before[name] != after[name] for name in before)


async def test_signing_in_again_ends_the_session_there_was(desk: Desk) -> None:
    await desk.person("ann")
    await desk.person("ben")
    browser = desk.browser()
    page = await browser.open("/oauth/sign-in")
    await browser.sign_in("ann")
    stolen = browser.http.cookies["__Host-strongroom"]
    # The page of before no longer fits: its form belonged to nobody's session.
    assert (await browser.send(page, "/oauth/sign-in", name="ben", password=PASSWORD)).status_code == 403
    ours = forms_of(await browser.open("/oauth/account"))[0].fields["form"]
    answer = await browser.send(page, "/oauth/sign-in", name="ben", password=PASSWORD, form=ours)
    assert answer.status_code == 303
    found = await desk.parts.control.read(lambda tx: browser_sessions.find(tx, stolen, desk.clock[0]))
    assert found is None


async def test_a_form_of_another_browser_signs_nobody_in(desk: Desk) -> None:
    await desk.person()
    theirs = forms_of(await desk.browser().open("/oauth/sign-in"))[-1].fields["form"]
    browser = desk.browser()
    page = await browser.open("/oauth/sign-in")
    for form in (theirs, ""):
        answer = await browser.send(page, "/oauth/sign-in", name="ann", password=PASSWORD, form=form)
        assert answer.status_code == 403
        assert "__Host-strongroom" not in cookies_of(answer)


@pytest.mark.parametrize(
    "after",
    [
        "https://evil.example/", "//evil.example/", "/\\evil.example", "/oauth/authorize", "/oauth/account@evil",
        "/oauth/account\r\nset-cookie: a=b", "/ui/\u202e", "javascript:alert(1)", "/v/main/mcp", "/uievil",
        "/ui/../../evil", "/ui/%2e%2e/%2E./evil", "/ui/v/./main/",
    ],
)  # fmt: skip
async def test_nobody_is_led_elsewhere_after_signing_in(desk: Desk, after: str) -> None:
    await desk.person()
    browser = desk.browser()
    page = await browser.open("/oauth/sign-in")
    answer = await browser.send(page, "/oauth/sign-in", name="ann", password=PASSWORD, next=after)
    assert answer.headers["location"] == "/oauth/account"
    assert (await browser.http.get("/oauth/sign-in", params={"next": after})).headers["location"] == "/oauth/account"


async def test_a_session_ends_unused_and_in_any_case(desk: Desk) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    for _ in range(browser_sessions.LIFE_S // (browser_sessions.IDLE_S - 60)):
        desk.clock[0] += browser_sessions.IDLE_S - 60
        assert (await browser.open("/oauth/account")).status_code == 200
    desk.clock[0] += browser_sessions.IDLE_S - 60
    assert (await browser.open("/oauth/account")).status_code == 303  # seven days are over
    await browser.sign_in()
    desk.clock[0] += browser_sessions.IDLE_S + 1
    assert (await browser.open("/oauth/account")).status_code == 303


async def test_guessing_stops_for_the_account_and_for_the_address(desk: Desk) -> None:
    await desk.person()
    statuses = []
    for number in range(12):
        answer = await desk.browser(f"10.0.1.{number}").sign_in("ann", "a wrong one entirely")
        statuses.append(answer.status_code)
    assert statuses == [403] * 10 + [429] * 2
    assert (await desk.browser("10.0.2.1").sign_in()).status_code == 429  # who guesses right meanwhile learns nothing
    assert (await desk.browser("10.0.2.1").sign_in("ben")).status_code == 403
    desk.clock[0] += 901
    assert (await desk.browser("10.0.2.1").sign_in()).status_code == 303


async def test_one_address_cannot_try_every_name(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.oauth.sign_in_routes.is_password", lambda password, kept: False)
    browser = desk.browser()
    answers = [(await browser.sign_in(f"name-{number}", "x")) for number in range(62)]
    assert [each.status_code for each in answers[58:]] == [403, 403, 429, 429]
    assert answers[-1].headers["retry-after"] == "900"
    assert (await desk.browser("10.9.9.9").sign_in("name-1", "x")).status_code == 403


async def test_a_link_sets_a_password_once(desk: Desk) -> None:
    link = await desk.invite()
    browser, late = desk.browser(), desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    assert page.status_code == (await late.open(f"/oauth/invite?link={link}")).status_code == 200
    late_page = await late.open(f"/oauth/invite?link={link}")
    answer = await browser.send(page, "/oauth/invite", password=NEW, again=NEW)
    assert answer.headers["location"] == "/oauth/account"
    assert "ann" in (await browser.follow(answer)).text
    assert (await late.send(late_page, "/oauth/invite", password=PASSWORD, again=PASSWORD)).status_code == 404
    assert (await desk.browser().open(f"/oauth/invite?link={link}")).status_code == 404
    assert (await desk.browser().sign_in("ann", NEW)).status_code == 303


@pytest.mark.parametrize(
    ("vaults", "leads_to"), [((), "/ui/"), (("main",), "/ui/v/main/"), (("main", "other"), "/ui/"), (("*",), "/ui/")]
)
async def test_who_takes_a_link_comes_into_the_console(tmp_path: Path, vaults: tuple[str, ...], leads_to: str) -> None:
    async with open_desk(tmp_path, console=True) as desk:
        link = await desk.invite()
        for vault in vaults:
            give = partial(set_grant, subject="ann", issuer=LOCAL, vault=vault, role=Role.READER)
            await desk.parts.access_cache.write(give)
        browser = desk.browser()
        page = await browser.open(f"/oauth/invite?link={link}")
        answer = await browser.send(page, "/oauth/invite", password=NEW, again=NEW)
        assert answer.headers["location"] == leads_to
        assert (await browser.open("/oauth/account")).status_code == 200  # is signed in


@pytest.mark.parametrize(
    ("password", "again", "said"),
    [
        ("short", "short", "at least 12 characters"),
        ("a" * 20, "a" * 20, "easily guessed"),
        ("qwertyuiop[]", "qwertyuiop[]", "easily guessed"),
        ("abcdefghijklmnop", "abcdefghijklmnop", "easily guessed"),
        ("Ann's own1234"[:13], "Ann's own1234"[:13], "may not be the name"),
        (NEW, PASSWORD, "differ"),
        ("x" * 300, "x" * 300, "256 characters at most"),
    ],
)
async def test_a_password_that_is_easily_guessed_is_not_taken(desk: Desk, password: str, again: str, said: str) -> None:
    link = await desk.invite()
    browser = desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    answer = await browser.send(page, "/oauth/invite", password=password, again=again)
    assert answer.status_code == 422
    assert said in answer.text
    assert password not in answer.text
    assert (await browser.open(f"/oauth/invite?link={link}")).status_code == 200


async def test_a_link_is_good_for_a_day_and_a_new_one_ends_it(desk: Desk) -> None:
    first = await desk.invite()
    second = await desk.invite()
    browser = desk.browser()
    assert (await browser.open(f"/oauth/invite?link={first}")).status_code == 404
    assert (await browser.open(f"/oauth/invite?link={second}")).status_code == 200
    desk.clock[0] += 86_401
    assert (await browser.open(f"/oauth/invite?link={second}")).status_code == 404


async def test_the_same_letters_from_another_keyboard_are_the_same_password(desk: Desk) -> None:
    link = await desk.invite()
    browser = desk.browser()
    composed, apart = "blühende Wiesen am Fluß", "blu\u0308hende Wiesen am Fluß"
    await browser.send(
        await browser.open(f"/oauth/invite?link={link}"), "/oauth/invite", password=composed, again=apart
    )
    await browser.send(
        await browser.open(f"/oauth/invite?link={link}"), "/oauth/invite", password=composed, again=composed
    )
    assert (await desk.browser().sign_in("ann", apart)).status_code == 303


async def test_over_http_on_this_machine_the_cookie_names_the_port(tmp_path: Path) -> None:
    async with open_desk(tmp_path, url="http://127.0.0.1:8700") as desk:
        await desk.person()
        answer = await desk.browser().sign_in()
        assert set(cookies_of(answer)) == {"strongroom-8700", "strongroom-8700-form"}
        assert "Secure" not in str(cookies_of(answer))
        assert URL not in answer.text


async def test_below_a_path_of_a_proxy_every_address_begins_with_it(tmp_path: Path) -> None:
    async with open_desk(tmp_path, url="https://mem.example/memory") as desk:
        await desk.person()
        async with desk.http() as http:
            http.base_url = httpx2.URL("https://mem.example")
            browser = Browser(http)
            page = await browser.open("/oauth/sign-in")  # the proxy takes its path away
            assert 'href="/memory/oauth/frame.css"' in page.text
            form = forms_of(page)[-1]
            assert form.action == "/memory/oauth/sign-in"
            answer = await http.post("/oauth/sign-in", data={**form.fields, "name": "ann", "password": PASSWORD})
            assert answer.headers["location"] == "/memory/oauth/account"
            described = (await http.get("/.well-known/oauth-authorization-server/memory")).json()
            assert described["token_endpoint"] == "https://mem.example/memory/oauth/token"
