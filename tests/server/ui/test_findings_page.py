"""Findings: for admins, wrong things first; what can be mended is mended once its person has read what that does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from auth.roles import Role
from server.ui.findings_page import REINDEX, REPAIR, mending_of
from tests.server.ui.stage import Stage, forms_of, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def run(stage: Stage, sql: str) -> None:
    async with stage.services.pool.lease(stage.services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()
        await vault.db.write(lambda tx: tx.run(sql))


async def leave_a_session(stage: Stage, name: str) -> None:
    await (await stage.person(name)).open("/ui/v/main/search?q=rope")
    await run(stage, f"UPDATE sessions SET seen_at = '2026-01-01T00:00:00.000Z' WHERE who = '{name}'")


async def test_an_admin_sees_every_check_and_others_are_refused(stage: Stage) -> None:
    admin = await stage.person("anna", Role.ADMIN)
    page = await admin.open("/ui/v/main/findings")
    assert page.status_code == 200
    assert "every passage has its vector" in page.text.partition('id="fine"')[2]
    assert 'findings" aria-current="page"' in page.text
    writer = await stage.person("bert")
    for address in ("/ui/v/main/findings", "/ui/v/main/findings?mend=repair"):
        refused = await writer.open(address)
        assert refused.status_code == 403
        assert "needs the role admin" in refused.text
    home = (await writer.open("/ui/v/main/")).text
    assert "findings" not in home
    assert "Upkeep" not in home


async def test_what_is_wrong_stands_first(stage: Stage) -> None:
    async with stage.services.pool.lease(stage.services.registry_cache.entry("main")) as held:
        with pytest.raises(KeyError), held.background.defects.noting("eviction"):
            raise KeyError("tide")
    page = (await (await stage.person("carl", Role.ADMIN)).open("/ui/v/main/findings")).text
    grave = page.partition('id="grave"')[2].partition('id="fine"')[0]
    assert "1 background tasks fail" in grave
    assert "eviction: KeyError" in grave


async def test_a_repair_is_described_then_done_and_told(stage: Stage) -> None:
    await leave_a_session(stage, "bob")
    admin = await stage.person("dora", Role.ADMIN)
    page = await admin.open("/ui/v/main/findings")
    assert 'href="/ui/v/main/findings?mend=repair"' in page.text
    described = await admin.open("/ui/v/main/findings?mend=repair")
    assert "1 sessions are active and nobody is in them" in described.text
    assert "Sessions nobody is in are paused" in described.text
    assert "mend=repair" in (await admin.open("/ui/v/main/findings")).text, "reading what it does does nothing"
    done = await admin.send(described, "repair")
    assert done.status_code == 200
    assert "1 sessions nobody is in were paused" in done.text
    assert "mend=repair" not in done.text
    again = await admin.send(described, "repair")
    assert "There is nothing to mend." in again.text.partition('role="status"')[2].partition("</div>")[0]


async def test_an_index_is_built_anew_and_says_what_it_holds(stage: Stage) -> None:
    await stage.remember("The ferry leaves at nine")
    admin = await stage.person("emil", Role.ADMIN)
    done = await admin.send(await admin.open("/ui/v/main/findings?mend=reindex"), "reindex")
    assert "The index holds 1 memories" in done.text


async def test_who_may_not_mend_is_refused_and_nothing_is_mended(stage: Stage) -> None:
    await leave_a_session(stage, "lost")
    writer = await stage.person("fritz")
    token = forms_of(await writer.open("/ui/"))[0].fields["form"]
    for do in ("repair", "reindex"):
        answer = await writer.http.post("/ui/v/main/findings", data={"form": token, "do": do, "agreed": "yes"})
        assert answer.status_code == 403
        assert "needs the role" in answer.text
    admin = await stage.person("greta", Role.ADMIN)
    assert "1 sessions are active and nobody is in them" in (await admin.open("/ui/v/main/findings")).text
    token = forms_of(await admin.open("/ui/"))[0].fields["form"]
    odd = await admin.http.post("/ui/v/main/findings", data={"form": token, "do": "<b>"})
    assert odd.status_code == 303


async def test_where_nothing_is_written_nothing_is_offered_and_a_refusal_stands_beside(tmp_path: Path) -> None:
    async with open_stage(tmp_path, **{"server.write_mode": "off"}) as stage:
        await leave_a_session(stage, "bob")
        admin = await stage.person("hugo", Role.ADMIN)
        page = await admin.open("/ui/v/main/findings?mend=repair")
        assert "mend=" not in page.text
        assert "Repair this vault?" not in page.text
        token = forms_of(page)[0].fields["form"]
        answer = await admin.http.post("/ui/v/main/findings", data={"form": token, "do": "repair", "agreed": "yes"})
        assert answer.status_code == 403
        assert "writing is switched off" in answer.text.partition('role="alert"')[2]
        assert "Repair this vault?" in answer.text


@pytest.mark.parametrize(
    ("name", "status", "todo", "mending"),
    [
        ("changes", "error", "run", REPAIR),
        ("vectors", "notice", "run", REPAIR),
        ("vectors", "notice", "", None),
        ("vectors", "warning", "run", REINDEX),
        ("temporaries", "ok", "", None),
        ("history", "warning", "mend the repository", None),
    ],
)
async def test_what_can_be_mended_from_here_is_told_from_what_cannot(
    name: str, status: str, todo: str, mending: Any
) -> None:
    assert mending_of({"name": name, "status": status, "todo": todo}) is mending
