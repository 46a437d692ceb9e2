"""Somebody is reset while a password or a passkey of theirs is being looked at: it lets nobody in, and sets no other.

Covers server.oauth.sign_in_routes, server.oauth.passkey_routes, server.oauth.account_routes and server.oauth.visits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from auth.people import accounts, browser_sessions, people
from auth.people.passwords import is_password
from server.oauth import account_routes, sign_in_routes
from server.oauth.parts import SignInParts
from tests.server.oauth.authenticator import Authenticator, asked
from tests.server.oauth.desk import PASSWORD, Browser, Desk
from tests.server.oauth.test_passkeys import ADD, ann_with, audited, kept, sign_in
from tests.server.ui.stage import Stage, forms_of, open_stage


def resetting(stage: Stage, name: str) -> Callable[[str, str | None], bool]:
    """Looks at a password, and an admin is quicker with the reset."""
    loop = asyncio.get_running_loop()

    def look(password: str, kept: str | None) -> bool:
        reset = stage.services.access_cache.write(lambda tx: accounts.reset(tx, name, 0))
        asyncio.run_coroutine_threadsafe(reset, loop).result()
        return is_password(password, kept)

    return look


async def test_the_old_password_begins_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stage(tmp_path) as stage:
        await stage.person("ann")
        monkeypatch.setattr(sign_in_routes, "is_password", resetting(stage, "ann"))
        browser = stage.browser()
        assert (await browser.sign_in("ann")).status_code == 403
        assert (await browser.open("/ui/")).status_code == 303
        assert not await stage.services.control.read(lambda tx: browser_sessions.list_sessions(tx, "ann", 0))


async def test_a_session_that_was_open_sets_no_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_stage(tmp_path) as stage:
        ann = await stage.person("ann")
        monkeypatch.setattr(account_routes, "is_password", resetting(stage, "ann"))
        form = next(each for each in forms_of(await ann.open("/oauth/account")) if each.fields.get("do") == "password")
        wanted = {"current": PASSWORD, "password": "other boats cross slowly", "again": "other boats cross slowly"}
        await ann.http.post("/oauth/account", data={**form.fields, **wanted})
        person = await stage.services.control.read(lambda tx: people.require(tx, "ann"))
        assert person.password is None
        assert (await ann.open("/ui/")).status_code == 303


def resetting_once_proved(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """An admin resets whoever has proved who they are, before their session begins."""
    record = SignInParts.record

    async def reset_and_record(parts: SignInParts, request: Any, person: str, *said: str, **details: Any) -> None:
        await desk.parts.access_cache.write(lambda tx: accounts.reset(tx, person, desk.clock[0]))
        await record(parts, request, person, *said, **details)

    monkeypatch.setattr(SignInParts, "record", reset_and_record)


async def assert_nobody_came_in(desk: Desk, browser: Browser, answer: httpx2.Response) -> None:
    assert "__Host-strongroom=" not in str(answer.headers.get_list("set-cookie"))
    assert (await browser.open("/oauth/account")).headers["location"].startswith("/oauth/sign-in")
    now = desk.clock[0]
    assert not await desk.parts.control.read(lambda tx: browser_sessions.list_sessions(tx, "ann", now))


async def test_a_passkey_that_was_taken_away_begins_no_session(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    device, browser = Authenticator(), desk.browser()
    await ann_with(desk, device)
    resetting_once_proved(desk, monkeypatch)
    answer = await sign_in(browser, device)
    assert answer.status_code == 403
    assert "changed while you signed in" in answer.text
    await assert_nobody_came_in(desk, browser, answer)
    assert (await audited(desk))[-1] == ("sign_in", "forbidden")


@pytest.mark.parametrize("way", ["", "/passkey"])
async def test_a_link_that_was_taken_just_before_begins_none(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    link, browser = await desk.invite(), desk.browser()
    page = await browser.open(f"/oauth/invite?link={link}")
    given = {"password": PASSWORD, "again": PASSWORD} if not way else {"passkey": Authenticator().make(asked(page))}
    resetting_once_proved(desk, monkeypatch)
    answer = await browser.send(page, f"/oauth/invite{way}", **given)
    assert answer.status_code == 403
    await assert_nobody_came_in(desk, browser, answer)


async def test_the_session_after_a_new_password_or_fewer_passkeys_does_not_begin_either(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Authenticator()
    browser = await ann_with(desk, device)
    page = await browser.open("/oauth/account")
    (only,) = await kept(desk)
    resetting_once_proved(desk, monkeypatch)
    answer = await browser.send(page, ADD, do="remove", id=only.id)
    await assert_nobody_came_in(desk, browser, answer)
