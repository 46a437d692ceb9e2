"""What somebody sees and changes of their own account. Covers server.oauth.account_routes, auth.people.accounts."""

from __future__ import annotations

import pytest

from auth.errors import TokenInvalid
from tests.server.oauth.desk import PASSWORD, Desk, forms_of

NEW = "quiet lamps near the harbour"


async def test_a_program_can_be_sent_away(desk: Desk) -> None:
    await desk.person()
    client, browser = (await desk.client())["client_id"], desk.browser()
    await browser.sign_in()
    tokens = await desk.login(browser, client)
    page = await browser.open("/oauth/account")
    assert "Tester" in page.text
    assert 'href="/ui/' not in page.text  # no console is served here
    form = next(each for each in forms_of(page) if each.fields.get("do") == "end_login")
    stranger = desk.browser()
    await desk.person("ben")
    await stranger.sign_in("ben")
    await stranger.send(await stranger.open("/oauth/account"), "/oauth/account", do="end_login", id=form.fields["id"])
    await desk.principal(tokens["access_token"])  # not theirs to end
    await browser.http.post("/oauth/account", data={**form.fields, "form": ""})
    await desk.principal(tokens["access_token"])  # not from our page
    await browser.http.post("/oauth/account", data=form.fields)
    with pytest.raises(TokenInvalid):
        await desk.principal(tokens["access_token"])
    assert "Tester" not in (await browser.open("/oauth/account")).text


async def test_another_browser_can_be_signed_out(desk: Desk) -> None:
    await desk.person()
    here, there = desk.browser(), desk.browser()
    await here.sign_in()
    await there.sign_in()
    sessions = [each for each in forms_of(await here.open("/oauth/account")) if each.fields.get("do") == "end_session"]
    assert len(sessions) == 2
    for form in sessions:
        await here.http.post("/oauth/account", data=form.fields)
    assert (await there.open("/oauth/account")).status_code == 303
    assert (await here.open("/oauth/account")).status_code == 303


async def test_a_new_password_needs_the_old_one_and_signs_out_everywhere_else(desk: Desk) -> None:
    await desk.person()
    here, there = desk.browser(), desk.browser()
    await here.sign_in()
    await there.sign_in()
    page = await here.open("/oauth/account")
    wrong = await here.send(page, "/oauth/account", current=NEW, password=NEW, again=NEW)
    assert wrong.status_code == 403
    done = await here.send(page, "/oauth/account", current=PASSWORD, password=NEW, again=NEW)
    assert done.status_code == 303
    assert (await here.open("/oauth/account")).status_code == 200
    assert (await there.open("/oauth/account")).status_code == 303
    assert (await there.sign_in("ann", PASSWORD)).status_code == 403
    assert (await there.sign_in("ann", NEW)).status_code == 303
