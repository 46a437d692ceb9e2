"""Somebody is reset while a password of theirs is being looked at: it lets nobody in, and sets no other.

Covers server.oauth.sign_in_routes and server.oauth.account_routes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from auth.people import accounts, browser_sessions, people
from auth.people.passwords import is_password
from server.oauth import account_routes, sign_in_routes
from tests.server.oauth.desk import PASSWORD
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
