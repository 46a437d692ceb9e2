"""Programs that people let in, and their end.

Covers server.ui.clients_page and server.administration.clients.
"""

from __future__ import annotations

import time

import pytest

from auth.keys import open_key_ring
from auth.oauth import client_logins, clients, consents
from auth.oauth.clients import Client
from auth.oauth.consents import Consent
from auth.oauth.login_terms import LoginTerms
from auth.roles import Role
from auth.tokens import TokenRequest, issue_token
from tests.server.ui.installation import acts, admin, post, send_as_if
from tests.server.ui.stage import Stage
from vaults.db.sql import Writer

pytestmark = pytest.mark.asyncio(loop_scope="module")

NAME = "<script>alert(1)</script>"


async def let_in(stage: Stage, person: str, login: str) -> str:
    """Have somebody let a program in; the id of its access token."""
    services = stage.services
    ring, now = open_key_ring(services.data / "keys"), time.time()

    def write(tx: Writer) -> str:
        client = Client(f"client-{login}", NAME, (f"http://127.0.0.1:1/{login}",), "none")
        clients.register(tx, client, now)
        client_logins.start(tx, login, LoginTerms(client.id, person, "main", Role.READER, 30, None), now)
        consents.remember(tx, person, client.id, Consent("main", Role.READER, 30, ""), now)
        request = TokenRequest(person, ("main",), Role.READER, 3600)
        return issue_token(tx, ring, services.instance_id, request, login=login).id

    return await services.access_cache.write(write)


async def test_a_program_that_is_ended_opens_nothing_from_then_on(stage: Stage) -> None:
    guest = await admin(stage, "ada")
    await stage.person("rita")
    token, other = await let_in(stage, "rita", "l1"), await let_in(stage, "rita", "l2")
    page = await guest.open("/ui/admin/clients?text=RITA")
    assert "2 programs" in page.text
    done = await post(guest, "/ui/admin/clients", do="end_login", id="l1")
    live = stage.services.access_cache.current.live_tokens
    assert (token in live, other in live) == (False, True)
    after = await guest.follow(done)
    assert "Ended." in after.text
    assert "1 program<" in after.text
    answers = await stage.services.control.read(lambda tx: consents.last_consents(tx, "rita", "client-l1"))
    assert answers == []
    said = (await acts(stage, "login"))[-1]
    assert (said["action"], said["subject"], said["vault"]) == ("end", "ada", "main")
    assert said["details"] == {"subject": "rita", "login": "l1"}
    assert (await post(guest, "/ui/admin/clients", do="end_login", id="nothing")).status_code == 404


async def test_registered_programs_are_listed_and_their_names_are_text(stage: Stage) -> None:
    guest = await admin(stage, "alma")
    await stage.person("rolf")
    await let_in(stage, "rolf", "l3")
    for shown in ("logins", "registered"):
        page = await guest.open(f"/ui/admin/clients?show={shown}&text=alert")
        assert "<script>alert" not in page.text
        assert "&lt;script&gt;alert(1)" in page.text
    assert "http://127.0.0.1:1/l3" in page.text
    assert "client-l3" in (await guest.open("/ui/admin/clients?show=registered&text=CLIENT-L3")).text


async def test_a_form_of_another_session_ends_nothing(stage: Stage) -> None:
    guest, other = await admin(stage, "arno"), await admin(stage, "asta")
    await stage.person("rosa")
    token = await let_in(stage, "rosa", "l4")
    assert await send_as_if(guest, other, "/ui/admin/clients", do="end_login", id="l4") == 403
    assert token in stage.services.access_cache.current.live_tokens
