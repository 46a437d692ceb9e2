"""Who may do what where, as a table, and the forms that change it.

Covers server.ui.grants_page, server.administration.grants and server.administration.vault_names.
"""

from __future__ import annotations

import html
import re
from urllib.parse import quote

import pytest

from auth.access import EVERY_VAULT
from auth.grants import Grant, follow_groups, list_grants, set_grant
from auth.principal import LOCAL
from auth.roles import Role
from server.ui.grants_page import COLUMNS, columns_of, rows_of
from tests.server.ui.installation import EVIL, acts, admin, post, send_as_if
from tests.server.ui.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_role_is_given_changed_and_taken_away_at_once(stage: Stage) -> None:
    guest, lena = await admin(stage, "ada"), await stage.person("lena", None)
    page = await guest.open("/ui/admin/grants")
    given = await guest.send(page, "set", subject="lena", vault="main", role="reader")
    assert (await lena.open("/ui/v/main/")).status_code == 200
    mine = await guest.follow(given)
    assert "Given." in mine.text
    await guest.send(mine, "set", role="writer")
    assert stage.services.access_cache.current.grants[LOCAL]["lena"] == {"main": Role.WRITER}
    await guest.send(mine, "remove")
    assert (await lena.open("/ui/v/main/")).status_code == 404
    assert (await guest.send(mine, "remove")).status_code == 404  # there is none any more
    said = [(each["action"], each["outcome"], each["subject"], each["vault"]) for each in await acts(stage, "grant")]
    assert said == [
        ("set", "ok", "ada", "main"), ("set", "ok", "ada", "main"),
        ("remove", "ok", "ada", "main"), ("remove", "not_found", "ada", "main"),
    ]  # fmt: skip
    assert (await acts(stage, "grant"))[0]["details"] == {"subject": "lena", "issuer": LOCAL, "role": "reader"}


async def test_the_table_has_a_row_for_each_subject_and_a_column_for_each_vault(stage: Stage) -> None:
    guest = await admin(stage, "alex")
    await stage.person("mina", Role.READER, "other")
    text = (await guest.open("/ui/admin/grants?text=MINA")).text
    assert "1 subject" in text
    heads = [each.split("</th>")[0] for each in text.split("<thead>")[1].split("</thead>")[0].split('scope="col">')[1:]]
    assert heads == ["Subject", "every vault", "<bdi>main</bdi>", "<bdi>other</bdi>"]
    cells = [each.split("</td>")[0] for each in text.split("<tbody>")[1].split("</tbody>")[0].split("<td>")[1:]]
    assert ["reader" in each for each in cells] == [False, False, True]


async def test_whoever_takes_away_their_own_administration_is_asked_first(stage: Stage) -> None:
    guest = await admin(stage, "anton")
    mine = await guest.open(f"/ui/admin/grant?subject=anton&issuer={LOCAL}")
    for act, role in (("remove", ""), ("set", "reader")):
        asked = await guest.send(mine, act, role=role)
        assert asked.status_code == 409
        assert "your own administration" in asked.text
        assert (await guest.open("/ui/admin/")).status_code == 200
    assert (await guest.send(mine, "set", role="admin")).status_code == 303  # nothing is taken away
    asked = await guest.send(mine, "remove")
    done = await guest.send(asked, "remove")
    assert done.headers["location"] == "/ui/"
    assert (await guest.open("/ui/admin/")).status_code == 404


async def test_grants_that_follow_groups_say_so(stage: Stage) -> None:
    guest = await admin(stage, "abel")
    await stage.services.access_cache.write(
        lambda tx: follow_groups(tx, "nora@keycloak", "keycloak", {"main": Role.WRITER})
    )
    table = (await guest.open("/ui/admin/grants?text=nora")).text
    assert "groups of <bdi>keycloak</bdi>" in table
    mine = (await guest.open(f"/ui/admin/grant?subject={quote('sub:nora@keycloak')}&issuer={LOCAL}")).text
    assert "follows the groups of <bdi>keycloak</bdi>" in mine
    person = await guest.open(f"/ui/admin/grant?subject={quote('nora@keycloak')}&issuer={LOCAL}")
    assert "sub:nora@keycloak" in person.text  # the same person
    await guest.send(person, "set", role="admin")
    (grant,) = [each for each in await stage.services.control.read(list_grants) if "nora" in each.subject]
    assert (grant.subject, grant.role, grant.source) == ("sub:nora@keycloak", Role.ADMIN, None)


async def test_what_cannot_be_granted_says_why(stage: Stage) -> None:
    guest = await admin(stage, "agnes")
    page = await guest.open("/ui/admin/grants")
    before = await stage.services.control.read(list_grants)
    for subject, vault, role, status in (
        ("*", "main", "reader", 422), ("ole", "nowhere", "reader", 404), ("ole", "main", "king", 422),
    ):  # fmt: skip
        answer = await guest.send(page, "set", subject=subject, vault=vault, role=role)
        assert (answer.status_code, 'role="alert"' in answer.text) == (status, True)
        assert f'value="{subject}"' in answer.text
    assert await stage.services.control.read(list_grants) == before


async def test_a_form_of_another_session_grants_nothing(stage: Stage) -> None:
    guest, other = await admin(stage, "artur"), await admin(stage, "alba")
    before = await stage.services.control.read(list_grants)
    values = {"subject": "alba", "issuer": LOCAL, "vault": EVERY_VAULT, "role": "reader", "agreed": "yes"}
    for act in ("set", "remove"):
        assert await send_as_if(guest, other, "/ui/admin/grants", do=act, **values) == 403
    assert await stage.services.control.read(list_grants) == before


async def test_names_that_are_more_than_text_are_shown_as_text(stage: Stage) -> None:
    guest = await admin(stage, "anka")
    done = await post(guest, "/ui/admin/grants", do="set", subject=EVIL, vault="main", role="reader", issuer=LOCAL)
    await stage.services.access_cache.write(lambda tx: set_grant(tx, "pia", EVIL, "main", Role.READER))
    for page in (await guest.follow(done), await guest.open("/ui/admin/grants")):
        assert "<script>alert" not in page.text
        assert html.escape("<script>alert(1)</script>") in page.text
    assert stage.services.access_cache.current.grants[LOCAL][EVIL] == {"main": Role.READER}


async def test_where_there_are_too_many_vaults_those_that_are_granted_are_shown() -> None:
    rows = rows_of([Grant("ann", LOCAL, "v7", Role.READER, ""), Grant("ann", LOCAL, "gone", Role.READER, "")])
    assert [(each.subject, sorted(each.grants)) for each in rows] == [("ann", ["gone", "v7"])]
    many = [f"v{number}" for number in range(COLUMNS + 5)]
    assert columns_of(rows, many) == ["v7", "gone"]
    assert columns_of(rows, many[:8]) == [*many[:8], "gone"]


async def test_every_vault_is_given_by_nobody_who_did_not_choose_it(stage: Stage) -> None:
    guest = await admin(stage, "walburga")
    for address in ("/ui/admin/grants", "/ui/admin/grant?subject=newcomer&issuer=local"):
        field = (await guest.open(address)).text.partition('name="vault"')[2].partition("</select>")[0]
        offered = re.findall(r'<option value="([^"]*)"', field)
        assert offered[0] != EVERY_VAULT
        assert offered[-1] == EVERY_VAULT
