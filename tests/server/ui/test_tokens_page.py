"""Making tokens, which are shown once, and ending them.

Covers server.ui.tokens_page, server.administration.tokens and server.setup.client_config.
"""

from __future__ import annotations

import base64
import html
import json
import re

import pytest

from auth.people import people
from auth.principal import LOCAL
from auth.roles import Role
from auth.tokens import find_tokens, list_tokens
from tests.server.ui.installation import EVIL, acts, admin, post, send_as_if, written
from tests.server.ui.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


async def test_a_token_is_made_and_stands_on_one_answer_alone(stage: Stage) -> None:
    guest = await admin(stage, "ada")
    page = await guest.open("/ui/admin/tokens")
    answer = await guest.send(
        page, "create", subject="agent-1", vault=["main", "other"], role="reader", ttl="2d", tools="notes"
    )
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
    (token,) = set(TOKEN.findall(answer.text))
    assert "https://mem.example/v/main/mcp" in answer.text
    assert 'data-copy="#token"' in answer.text
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert (claims["sub"], claims["vaults"], claims["role"], claims["preset"]) == (
        "agent-1", ["main", "other"], "reader", "notes",
    )  # fmt: skip
    assert claims["exp"] - claims["iat"] == 2 * 86_400
    assert claims["jti"] in stage.services.access_cache.current.live_tokens
    assert stage.services.access_cache.current.grants[LOCAL]["agent-1"] == {"main": Role.READER, "other": Role.READER}
    said = (await acts(stage, "token"))[-1]
    assert (said["action"], said["outcome"], said["subject"], said["details"]["token"]) == (
        "create", "ok", "ada", claims["jti"],
    )  # fmt: skip
    listed = (await guest.open("/ui/admin/tokens")).text
    assert claims["jti"] in listed
    for text in (listed, await written(stage)):
        assert token.split(".")[2] not in text


async def test_a_token_is_revoked_at_once_when_that_was_agreed_to(stage: Stage) -> None:
    guest = await admin(stage, "alma")
    made = await post(guest, "/ui/admin/tokens", do="create", subject="agent-2", vault="main", role="writer")
    assert made.status_code == 200
    found, total = await stage.services.control.read(lambda tx: find_tokens(tx, "AGENT-2", 10, alive_at=0))
    assert total == 1
    page = await guest.open("/ui/admin/tokens?text=agent-2")
    asked = await guest.send(page, "revoke")
    assert (asked.status_code, found[0].id in asked.text) == (409, True)
    assert found[0].id in stage.services.access_cache.current.live_tokens
    done = await guest.send(asked, "revoke")
    assert found[0].id not in stage.services.access_cache.current.live_tokens
    assert "opens nothing any more" in (await guest.follow(done)).text
    assert found[0].id not in (await guest.open("/ui/admin/tokens?text=agent-2")).text
    assert found[0].id in (await guest.open("/ui/admin/tokens?text=agent-2&show=all")).text
    said = [(each["action"], each["details"].get("token")) for each in await acts(stage, "token")]
    assert said[-1] == ("revoke", found[0].id)
    assert (await post(guest, "/ui/admin/tokens", do="revoke", id="x", agreed="yes")).status_code == 404


async def test_what_cannot_be_says_why_and_makes_nothing(stage: Stage) -> None:
    guest = await admin(stage, "amos")
    before = await stage.services.control.read(list_tokens)
    good = {"do": "create", "subject": "agent-3", "vault": "main", "role": "reader", "ttl": "1d", "tools": ""}
    for change, status in (
        ({"ttl": "soon"}, 422), ({"ttl": "9999999d"}, 422), ({"tools": "moldmint"}, 422), ({"role": "king"}, 422),
        ({"vault": "typo"}, 404), ({"vault": []}, 422), ({"subject": "group:x"}, 422), ({"subject": "y" * 9000}, 422),
    ):  # fmt: skip
        answer = await post(guest, "/ui/admin/tokens", **{**good, **change})
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, True), change
    assert await stage.services.control.read(list_tokens) == before
    assert "y" * 300 not in await written(stage)


async def test_a_form_of_another_session_makes_and_ends_nothing(stage: Stage) -> None:
    guest, other = await admin(stage, "arno"), await admin(stage, "asta")
    await post(guest, "/ui/admin/tokens", do="create", subject="agent-4", vault="main", role="reader")
    before = await stage.services.control.read(list_tokens)
    values = {"subject": "x", "vault": "main", "role": "reader", "id": before[-1].id, "agreed": "yes"}
    for act in ("create", "revoke"):
        assert await send_as_if(guest, other, "/ui/admin/tokens", do=act, **values) == 403
    assert await stage.services.control.read(list_tokens) == before


async def test_subjects_that_are_more_than_text_are_shown_as_text(stage: Stage) -> None:
    guest = await admin(stage, "axel")
    made = await post(guest, "/ui/admin/tokens", do="create", subject=EVIL, vault="main", role="reader")
    for page in (made, await guest.open("/ui/admin/tokens")):
        assert "<script>alert" not in page.text
        assert html.escape("<script>alert(1)</script>") in page.text
    assert await stage.services.control.read(lambda tx: people.find(tx, EVIL)) is None
