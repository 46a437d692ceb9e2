"""Passkeys, made and used through the routes with an authenticator in software.

Covers server.oauth.passkey_routes, server.oauth.passkey_questions, auth.people.passkeys, auth.people.challenges and
auth.people.webauthn_answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from auth.grants import set_grant
from auth.people import accounts, browser_sessions, passkeys
from auth.people.attempts import ACCOUNT
from auth.people.challenges import LIFE_S
from auth.principal import LOCAL
from auth.roles import Role
from tests.server.oauth.authenticator import PRESENT, VERIFIED, Authenticator, asked, bytes_of, text_of
from tests.server.oauth.desk import PASSWORD, Browser, Desk, forms_of, open_desk

WRONG = "signs nobody in here"
STALE = "open for too long"
ADD = "/oauth/account/passkeys"


async def audited(desk: Desk) -> list[tuple[str, str]]:
    """What the audit says was done with people, and with what outcome."""
    rows = await desk.parts.audit.chain("installation").read(lambda tx: tx.all("SELECT body FROM entries ORDER BY seq"))
    return [(said["action"], said["outcome"]) for said in (json.loads(body) for (body,) in rows)]


async def add(desk: Desk, browser: Browser, device: Authenticator, label: str = "laptop", **more: Any) -> Any:
    page = await browser.open("/oauth/account")
    return await browser.send(page, ADD, do="add", label=label, passkey=device.make(asked(page), **more))


async def ann_with(desk: Desk, device: Authenticator, label: str = "laptop") -> Browser:
    """Ann, who has a password and this passkey, in a browser where she is signed in."""
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    assert (await add(desk, browser, device, label)).status_code == 303
    return browser


async def sign_in(browser: Browser, device: Authenticator, **given: str) -> httpx2.Response:
    page = await browser.open("/oauth/sign-in")
    return await browser.send(page, "/oauth/sign-in/passkey", **{"passkey": device.sign(asked(page)), **given})


def assert_refused(answer: httpx2.Response, said: str = WRONG) -> None:
    assert answer.status_code == 403, answer.text
    assert said in answer.text
    assert "__Host-strongroom=" not in str(answer.headers.get_list("set-cookie"))


async def kept(desk: Desk, name: str = "ann") -> list[passkeys.Passkey]:
    return list(await desk.parts.control.read(lambda tx: passkeys.list_passkeys(tx, name)))


# -- made and used


async def test_a_passkey_is_added_and_signs_in_without_a_name(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    browser = desk.browser()
    answer = await sign_in(browser, device)
    assert answer.headers["location"] == "/oauth/account"
    page = await browser.follow(answer)
    assert "Signed in as <b><bdi>ann</bdi></b>" in page.text
    assert "laptop" in page.text
    assert "last used" in page.text
    (only,) = await kept(desk)
    assert (only.sign_count, only.used_at is not None) == (2, True)


async def test_a_passkey_leads_on_to_where_somebody_wanted(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    assert (await sign_in(desk.browser(), device, next="/oauth/device")).headers["location"] == "/oauth/device"
    assert (await sign_in(desk.browser(), device, next="//evil.example")).headers["location"] == "/oauth/account"


async def test_a_link_is_taken_with_a_passkey_in_place_of_a_password(desk: Desk) -> None:
    link, device, browser = await desk.invite(), Authenticator(), desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    answer = await browser.send(page, "/oauth/invite/passkey", label="key", passkey=device.make(asked(page)))
    assert answer.headers["location"] == "/oauth/account"
    assert "Signed in as" in (await browser.follow(answer)).text
    assert (await desk.browser().open(f"/oauth/invite?link={link}")).status_code == 404
    assert (await desk.browser().sign_in("ann", PASSWORD)).status_code == 403  # there is none
    assert (await sign_in(desk.browser(), device)).status_code == 303
    with pytest.raises(accounts.people.AlreadyExists):
        await desk.invite()  # she has a way in


async def test_a_link_that_is_taken_with_a_passkey_leads_into_the_console(tmp_path: Path) -> None:
    async with open_desk(tmp_path, console=True) as desk:
        await desk.parts.access_cache.write(lambda tx: set_grant(tx, "ann", LOCAL, "main", Role.READER))
        link, device, browser = await desk.invite(), Authenticator(), desk.browser()
        page = await browser.open(f"/oauth/invite?link={link}")
        answer = await browser.send(page, "/oauth/invite/passkey", passkey=device.make(asked(page)))
        assert answer.headers["location"] == "/ui/v/main/"


async def test_two_browsers_with_one_link_make_one_passkey(desk: Desk) -> None:
    link, first, second = await desk.invite(), desk.browser(), desk.browser()
    pages = [await each.open(f"/oauth/invite?link={link}") for each in (first, second)]
    sent = [
        await each.send(page, "/oauth/invite/passkey", passkey=Authenticator().make(asked(page)))
        for each, page in zip((first, second), pages, strict=True)
    ]
    assert [each.status_code for each in sent] == [303, 404]
    assert len(await kept(desk)) == 1


async def test_a_first_password_is_set_by_who_has_just_come_in_with_a_passkey(desk: Desk) -> None:
    link, device, browser = await desk.invite(), Authenticator(), desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    await browser.send(page, "/oauth/invite/passkey", passkey=device.make(asked(page)))
    page = await browser.open("/oauth/account")
    assert "current" not in forms_of(page)[-1].fields
    desk.clock[0] += browser_sessions.FRESH_S + 1
    late = await browser.send(page, "/oauth/account", password=PASSWORD, again=PASSWORD)
    assert late.status_code == 403
    assert 'name="password"' not in (await browser.open("/oauth/account")).text
    again = desk.browser()
    await sign_in(again, device)
    page = await again.open("/oauth/account")
    assert (await again.send(page, "/oauth/account", password=PASSWORD, again=PASSWORD)).status_code == 303
    assert (await desk.browser().sign_in()).status_code == 303


async def test_several_are_told_apart_by_name_and_one_is_not_made_twice(desk: Desk) -> None:
    first, second = Authenticator(), Authenticator(counts=False)
    browser = await ann_with(desk, first, "laptop")
    page = await browser.open("/oauth/account")
    assert [each["id"] for each in asked(page)["excludeCredentials"]] == [text_of(first.id)]
    assert (await add(desk, browser, second, "<b>phone\u202e\n" + "x" * 100)).status_code == 303
    twice = await add(desk, browser, second)
    assert (twice.status_code, "kept already" in twice.text) == (422, True)
    assert (await add(desk, browser, Authenticator(), "  ")).status_code == 303
    names = {each.name for each in await kept(desk)}
    assert "laptop" in names
    assert any(re.fullmatch(r"of \d{4}-\d\d-\d\d", each) for each in names)
    assert any(each.startswith("<b>phonex") and len(each) == passkeys.NAME_LIMIT for each in names)
    assert "<b>phone" not in (await browser.open("/oauth/account")).text
    for device in (first, second, second):  # the second counts nothing, which is no copy
        assert (await sign_in(desk.browser(), device)).status_code == 303


async def test_another_persons_passkey_is_not_taken_over(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    await desk.person("ben")
    browser = desk.browser()
    await browser.sign_in("ben")
    assert (await add(desk, browser, device)).status_code == 422
    assert ([each.person for each in await kept(desk)], await kept(desk, "ben")) == (["ann"], [])
    # The device now holds ben's name for a key that is ann's: that fits nobody.
    assert_refused(await sign_in(desk.browser(), device))


async def test_there_is_an_end_to_how_many(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passkeys, "MOST", 1)
    browser = await ann_with(desk, Authenticator())
    full = await add(desk, browser, Authenticator())
    assert (full.status_code, "no room" in full.text) == (422, True)


# -- taken away


async def test_a_removed_passkey_signs_nobody_in_and_ends_other_sessions(desk: Desk) -> None:
    device, other = Authenticator(), desk.browser()
    browser = await ann_with(desk, device)
    await sign_in(other, device)
    page = await browser.open("/oauth/account")
    form = next(each for each in forms_of(page) if each.fields.get("do") == "remove")
    assert (await browser.http.post(form.action, data={**form.fields, "form": ""})).status_code == 403
    assert (await browser.http.post(form.action, data=form.fields)).status_code == 303
    assert (await browser.open("/oauth/account")).status_code == 200
    assert (await other.open("/oauth/account")).status_code == 303
    assert_refused(await sign_in(desk.browser(), device))


async def test_the_last_way_in_stays(desk: Desk) -> None:
    device = Authenticator()
    browser = await ann_with(desk, device)
    await desk.parts.control.write(lambda tx: accounts.people.set_password(tx, "ann", None))
    page = await browser.open("/oauth/account")
    form = next(each for each in forms_of(page) if each.fields.get("do") == "remove")
    answer = await browser.http.post(form.action, data=form.fields)
    assert (answer.status_code, "only way in" in answer.text) == (422, True)
    assert (await sign_in(desk.browser(), device)).status_code == 303


async def test_nobody_removes_what_is_not_theirs(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    await desk.person("ben")
    stranger = desk.browser()
    await stranger.sign_in("ben")
    page = await stranger.open("/oauth/account")
    await stranger.send(page, ADD, do="remove", id=text_of(device.id))
    assert len(await kept(desk)) == 1


async def test_a_browser_left_open_adds_and_removes_none(desk: Desk) -> None:
    browser = await ann_with(desk, Authenticator())
    page = await browser.open("/oauth/account")
    desk.clock[0] += browser_sessions.FRESH_S + 1
    for do in ("add", "remove"):
        answer = await browser.send(page, ADD, do=do, id=(await kept(desk))[0].id)
        assert (answer.status_code, "within 15 minutes" in answer.text) == (403, True)
    page = await browser.open("/oauth/account")
    assert "data-passkey" not in page.text
    assert "Remove" not in page.text


async def test_a_reset_takes_passkeys_away_and_a_disabled_person_is_not_let_in(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    await desk.parts.control.write(lambda tx: accounts.disable(tx, "ann", desk.clock[0]))
    assert_refused(await sign_in(desk.browser(), device))
    await desk.parts.control.write(lambda tx: accounts.reset(tx, "ann", desk.clock[0]))
    assert await kept(desk) == []
    assert_refused(await sign_in(desk.browser(), device))


# -- what does not hold

Bend = Callable[[Authenticator], object]
LIES: dict[str, Bend] = {
    "another origin": lambda device: setattr(device, "origin", "https://mem.example.evil"),
    "the origin's other port": lambda device: setattr(device, "origin", "https://mem.example:8443"),
    "another site": lambda device: setattr(device, "rp_id", "evil.example"),
    "within a frame": lambda device: device.bent.update(crossOrigin=True),
    "another ceremony": lambda device: device.bent.update(type="webauthn.create"),
    "nobody verified": lambda device: setattr(device, "flags", PRESENT),
    "nobody there": lambda device: setattr(device, "flags", VERIFIED),
    "another credential": lambda device: setattr(device, "id", bytes(32)),
    "another key": lambda device: setattr(device, "key", Authenticator().key),
    "another person": lambda device: setattr(device, "handle", bytes(32)),
    "no person": lambda device: setattr(device, "handle", b""),
}


async def test_what_does_not_hold_signs_nobody_in(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    for lie, bend in LIES.items():
        bent = replace(device, bent={})
        bend(bent)
        answer = await sign_in(desk.browser(), bent)
        assert answer.status_code == 403, lie
        assert_refused(answer)
    assert (await sign_in(desk.browser(), device)).status_code == 303


async def test_a_spoiled_signature_and_a_replayed_answer_sign_nobody_in(desk: Desk) -> None:
    device, browser = Authenticator(), desk.browser()
    await ann_with(desk, device)
    page = await browser.open("/oauth/sign-in")
    spoiled = await browser.send(page, "/oauth/sign-in/passkey", passkey=device.sign(asked(page), spoil=True))
    assert_refused(spoiled)
    before = dict(browser.http.cookies)
    right = device.sign(asked(page))
    assert (await browser.send(page, "/oauth/sign-in/passkey", passkey=right)).status_code == 303
    thief = desk.browser()
    for name, value in before.items():
        thief.http.cookies.set(name, value, domain="mem.example")
    assert_refused(await thief.send(page, "/oauth/sign-in/passkey", passkey=right))
    device.counter += 5  # a counter that goes on does not make an old question new
    assert_refused(await thief.send(page, "/oauth/sign-in/passkey", passkey=device.sign(asked(page))))


async def test_a_question_is_for_one_browser_one_purpose_and_five_minutes(desk: Desk) -> None:
    device, browser = Authenticator(), desk.browser()
    signed_in = await ann_with(desk, device)
    mine = await browser.open("/oauth/sign-in")
    theirs = asked(await desk.browser().open("/oauth/sign-in"))
    account = asked(await signed_in.open("/oauth/account"))
    invite = asked(await browser.open(f"/oauth/invite?link={await desk.invite('ben')}"))  # by the same browser
    for challenge in (theirs["challenge"], account["challenge"], invite["challenge"], text_of(b"x" * 56), "", "!"):
        answer = await browser.send(
            mine, "/oauth/sign-in/passkey", passkey=device.sign({**asked(mine), "challenge": challenge})
        )
        assert answer.status_code == 403
        assert STALE in answer.text or WRONG in answer.text
    desk.clock[0] += LIFE_S
    assert_refused(await browser.send(mine, "/oauth/sign-in/passkey", passkey=device.sign(asked(mine))), STALE)
    fresh = await browser.open("/oauth/sign-in")
    assert (await browser.send(fresh, "/oauth/sign-in/passkey", passkey=device.sign(asked(fresh)))).status_code == 303


async def test_a_form_of_another_site_is_not_taken(desk: Desk) -> None:
    device, browser = Authenticator(), desk.browser()
    await ann_with(desk, device)
    page = await browser.open("/oauth/sign-in")
    answer = await browser.send(page, "/oauth/sign-in/passkey", passkey=device.sign(asked(page)), form="")
    assert_refused(answer, STALE)


async def test_a_counter_that_goes_back_is_refused_and_stands_in_the_audit(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    assert (await sign_in(desk.browser(), device)).status_code == 303
    copy = Authenticator(key=device.key, id=device.id, handle=device.handle, counter=device.counter - 1)
    assert_refused(await sign_in(desk.browser(), copy))
    (only,) = await kept(desk)
    assert only.sign_count == device.counter
    assert (await audited(desk))[-3:] == [("add_passkey", "ok"), ("sign_in", "ok"), ("sign_in", "forbidden")]
    # Without the key nobody makes such an entry.
    forged = Authenticator(id=device.id, handle=device.handle, counter=0)
    assert_refused(await sign_in(desk.browser(), forged))
    assert (await audited(desk))[-1] == ("sign_in", "forbidden")
    assert len(await audited(desk)) == 4  # with the sign-in by password
    assert (await sign_in(desk.browser(), device)).status_code == 303


async def test_a_passkey_made_elsewhere_is_not_kept(desk: Desk) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    for lie in ("another origin", "another site", "within a frame", "nobody verified", "another ceremony"):
        device = Authenticator()
        LIES[lie](device)
        if lie == "another ceremony":
            device.bent["type"] = "webauthn.get"
        answer = await add(desk, browser, device)
        assert (answer.status_code, "No passkey was added" in answer.text) == (422, True), lie
        assert await kept(desk) == []


async def test_an_answer_makes_one_passkey_and_is_no_good_after_its_removal(desk: Desk) -> None:
    await desk.person()
    browser, device = desk.browser(), Authenticator()
    await browser.sign_in()
    page = await browser.open("/oauth/account")
    answer = device.make(asked(page))
    assert (await browser.send(page, ADD, do="add", passkey=answer)).status_code == 303
    await desk.parts.control.write(lambda tx: passkeys.remove_all(tx, "ann"))
    assert STALE in (await browser.send(page, ADD, do="add", passkey=answer)).text
    assert await kept(desk) == []


STATEMENTS: dict[str, dict[str, Any]] = {
    "of a maker": {"fmt": "tpm", "attStmt": {"ver": "2.0", "x5c": [b"x"], "sig": b"x"}},
    "of nobody knows what": {"fmt": "whatever"},
    "more than none": {"attStmt": {"sig": b"x"}},
    "no data": {"authData": b""},
    "not even text": {"fmt": 7, "attStmt": 7, "authData": 7},
    "a key on no curve": {"authData": None},
}


async def test_no_statement_of_a_maker_is_taken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.person()
    browser = desk.browser()
    await browser.sign_in()
    for name, statement in STATEMENTS.items():
        with monkeypatch.context() as patched:
            if "fmt" in statement:  # such are not even read
                patched.setattr("webauthn.verify_registration_response", lambda **_: pytest.fail("it was read"))
            answer = await add(desk, browser, Authenticator(), **statement)
        assert answer.status_code == 422, name
        assert await kept(desk) == []


ODD = [
    "", "null", "[]", "7", '"text"', "{}", "[" * 50_000, '{"id": 1}', "\x00", "{" * 10, "NaN", "\ud800",
    json.dumps({"id": "a", "rawId": "a", "type": "public-key", "response": {}}),
    json.dumps({"id": "a" * 40_000, "rawId": "a" * 5, "type": "public-key", "response": {"clientDataJSON": "e30"}}),
    json.dumps({"id": "YQ", "rawId": "YQ", "type": "public-key", "response": dict.fromkeys(
        ("clientDataJSON", "authenticatorData", "signature", "userHandle", "attestationObject"), "YQ")}),
    json.dumps({"id": "ü", "rawId": "ü", "type": "public-key", "response": dict.fromkeys(
        ("clientDataJSON", "authenticatorData", "signature", "userHandle", "attestationObject"), "ü")}),
]  # fmt: skip


async def test_whatever_is_sent_in_place_of_an_answer_is_refused(desk: Desk) -> None:
    await desk.person()
    browser, signed_in = desk.browser(), desk.browser()
    await signed_in.sign_in()
    page, account = await browser.open("/oauth/sign-in"), await signed_in.open("/oauth/account")
    for text in (each.encode("utf-8", "replace").decode() for each in ODD):
        assert (await browser.send(page, "/oauth/sign-in/passkey", passkey=text)).status_code == 403, text[:50]
        assert (await signed_in.send(account, ADD, do="add", passkey=text)).status_code == 422, text[:50]


async def test_pieces_of_an_answer_that_are_changed_or_cut_are_refused_and_never_fail(desk: Desk) -> None:
    """Each byte of what was signed or hashed, bent and cut: no answer but the right one signs in."""
    device, browser = Authenticator(), desk.browser()
    await ann_with(desk, device)
    page = await browser.open("/oauth/sign-in")
    right = json.loads(device.sign(asked(page)))
    desk.parts.attempts.wait = lambda limit, who: 0  # type: ignore[method-assign]
    for part in ("clientDataJSON", "authenticatorData", "signature"):
        data = bytes_of(right["response"][part])
        for at in range(0, len(data), 7):
            for bent in (data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :], data[:at]):
                changed = {**right, "response": {**right["response"], part: text_of(bent)}}
                answer = await browser.send(page, "/oauth/sign-in/passkey", passkey=json.dumps(changed))
                assert answer.status_code == 403, (part, at)
    assert (await browser.send(page, "/oauth/sign-in/passkey", passkey=json.dumps(right))).status_code == 303


async def test_passkeys_are_held_back_as_passwords_are(desk: Desk) -> None:
    device, browser = Authenticator(), desk.browser()
    await ann_with(desk, device)
    page = await browser.open("/oauth/sign-in")
    statuses = [(await browser.send(page, "/oauth/sign-in/passkey", passkey="")).status_code for _ in range(61)]
    assert statuses[-3:] == [403, 429, 429]  # one was the sign-in with a password
    late = await browser.send(page, "/oauth/sign-in/passkey", passkey=device.sign(asked(page)))
    assert (late.status_code, late.headers["retry-after"]) == (429, "900")
    assert (await sign_in(desk.browser("10.9.9.9"), device)).status_code == 303


async def test_who_waits_for_a_password_still_has_the_passkey(desk: Desk) -> None:
    device = Authenticator()
    await ann_with(desk, device)
    for _ in range(ACCOUNT.count):
        desk.parts.attempts.wait(ACCOUNT, "ann")  # somebody guesses
    assert (await desk.browser("10.0.4.1").sign_in()).status_code == 429
    assert (await sign_in(desk.browser("10.0.4.1"), device)).status_code == 303


# -- pages


async def test_pages_take_one_script_of_ours_and_go_without(desk: Desk) -> None:
    browser = await ann_with(desk, Authenticator())
    pages = [await browser.open("/oauth/account"), await desk.browser().open("/oauth/sign-in")]
    for page in pages:
        assert "script-src 'self';" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert re.findall(r"<script[^>]*>", page.text) == ['<script src="/oauth/passkeys.js" defer>']
        assert not re.search(r"\son\w+=|style=|javascript:", page.text)
        for form in re.findall(r"<form[^>]*data-passkey[^>]*>", page.text):
            assert re.search(r"\shidden\s*>$", form)  # until the script finds that there are passkeys
    script = await browser.open("/oauth/passkeys.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert script.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"innerHTML|eval|import|fetch|https?:", script.text)


@pytest.mark.parametrize(
    ("url", "origin", "rp_id"),
    [
        ("http://localhost:8700", "http://localhost:8700", "localhost"),
        ("https://Mem.Example:443/memory", "https://mem.example", "mem.example"),
        ("https://mem.example:8443", "https://mem.example:8443", "mem.example"),
    ],
)
async def test_passkeys_are_of_the_host_in_the_public_address(
    tmp_path: Path, url: str, origin: str, rp_id: str
) -> None:
    async with open_desk(tmp_path, url=url) as desk:
        await desk.person()
        async with desk.http() as http:
            http.base_url = httpx2.URL(origin)
            browser, device = Browser(http), Authenticator(origin=origin)
            page = await browser.open("/oauth/sign-in")
            assert asked(page)["rpId"] == rp_id
            link = await desk.invite("ben")
            page = await browser.open(f"/oauth/invite?link={link}")
            form = next(each for each in forms_of(page) if each.action.endswith("/oauth/invite/passkey"))
            sent = {**form.fields, "passkey": device.make(asked(page))}
            assert (await http.post("/oauth/invite/passkey", data=sent)).status_code == 303


async def test_at_an_address_that_is_a_number_there_are_none(tmp_path: Path) -> None:
    async with open_desk(tmp_path, url="http://127.0.0.1:8700") as desk:
        await desk.person()
        browser, device = desk.browser(), Authenticator()
        page = await browser.open("/oauth/sign-in")
        assert "passkey" not in page.text
        sent = {**forms_of(page)[-1].fields, "passkey": device.sign({"rpId": "127.0.0.1", "challenge": "",
            "userVerification": "required", "allowCredentials": []})}  # fmt: skip
        assert (await browser.http.post("/oauth/sign-in/passkey", data=sent)).status_code == 403
        await browser.sign_in()
        account = await browser.open("/oauth/account")
        assert "Passkeys" not in account.text
        sent = {**forms_of(account)[-1].fields, "do": "add", "passkey": "{}"}
        assert (await browser.http.post(ADD, data=sent)).status_code == 422
