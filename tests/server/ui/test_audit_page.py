"""The audit: who did what, narrowed and page by page, and whether the record is whole; for admins of the vault only."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from auth.roles import Role
from ops.audit.entries import AuditActor, AuditEntry
from server.ui.audit_page import PER_PAGE, to_query
from tests.ops.audit.chains import tamper
from tests.server.ui.stage import HOSTILE, Stage, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

ADDRESS = "/ui/v/main/audit"
FORGE = "UPDATE entries SET body = REPLACE(body, 'remember', 'recall') WHERE seq = 1"


def rows(text: str) -> list[str]:
    return re.findall(r"<tr><th scope=\"row\">.*?</tr>", text, re.DOTALL)


async def test_only_admins_of_the_vault_come_near(stage: Stage) -> None:
    for name, role in (("rosa", Role.READER), ("willi", Role.WRITER)):
        page = await (await stage.person(name, role)).open(ADDRESS)
        assert page.status_code == 403
        assert "needs the role admin" in page.text
    elsewhere = await stage.person("olga", Role.ADMIN, "other")
    assert (await elsewhere.open(ADDRESS)).status_code == 404


async def test_it_says_who_did_what_and_is_narrowed(stage: Stage) -> None:
    memory = await stage.remember("The mole is closed")
    writer = await stage.person("wanda")
    page = await writer.open(f"/ui/v/main/memories/{memory}")
    await writer.send(page, "edit", title="The mole")
    admin = await stage.person("anna", Role.ADMIN)
    everything = (await admin.open(ADDRESS)).text
    assert "remember" in everything
    assert 'audit" aria-current="page"' in everything
    hers = rows((await admin.open(f"{ADDRESS}?subject=wanda")).text)
    assert hers
    assert all("wanda" in each for each in hers)
    (only,) = rows((await admin.open(f"{ADDRESS}?subject=wanda&tool=memory_update&outcome=ok&id={memory}")).text)
    for said in ("memory_update", memory, "writer", "console", "1 change"):
        assert said in only
    for none in ("subject=nobody", "outcome=conflict", "day=2001-01-01", "tool=%3Cb%3E"):
        page = await admin.open(f"{ADDRESS}?{none}")
        assert page.status_code == 200
        assert "There is no such entry." in page.text
        assert "<b>" not in page.text


async def test_a_day_that_is_none_stands_beside_the_filters(stage: Stage) -> None:
    admin = await stage.person("berta", Role.ADMIN)
    page = await admin.open(f"{ADDRESS}?day=soon&subject=%22%3E%3Cb%3E")
    assert page.status_code == 422
    assert "since" in page.text.partition('role="alert"')[2]
    assert "<b>" not in page.text


async def test_many_entries_come_page_by_page_and_each_once(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        chain = stage.services.registry_cache.entry("main").vault_id
        for n in range(2 * PER_PAGE):
            act = AuditActor("ana", "local", role="writer", client=HOSTILE[:200])
            await stage.services.audit.append(chain, AuditEntry("call", "remember", "ok", act, targets=[f"id-{n}"] * 8))
        admin = await stage.person("carla", Role.ADMIN)
        found, address = [], f"{ADDRESS}?subject=ana"
        while address:
            text = (await admin.open(address)).text
            assert "<script>alert" not in text
            assert "and 3 more" in text
            found += [re.findall(r"id-\d+", each)[0] for each in rows(text)]
            following = re.search(r'class="pager"><a href="([^"]+)"', text)
            address = following[1].replace("&amp;", "&") if following else ""
        assert found == [f"id-{n}" for n in reversed(range(2 * PER_PAGE))]


async def test_whether_the_record_is_whole_is_said_when_asked(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        admin = await stage.person("dora", Role.ADMIN)
        assert "None of it is signed yet." in (await admin.open(f"{ADDRESS}?check=yes")).text
        await stage.remember("The quay is wet")
        assert "The record is whole" not in (await admin.open(ADDRESS)).text
        await stage.services.audit.sign()
        await stage.remember("The quay is dry")
        checked = (await admin.open(f"{ADDRESS}?check=yes")).text
        assert "The record is whole" in checked
        assert re.search(r"vouches for it up to entry [12], of\s+<time", checked), "one at least was signed"
        chain = stage.services.registry_cache.entry("main").vault_id
        tamper(tmp_path, lambda raw: raw.execute(FORGE), chain)
        faulty = (await admin.open(f"{ADDRESS}?check=yes")).text
        assert "The record is not what was written." in faulty
        assert "entry 1: it is not what was written" in faulty


async def test_the_filters_become_arguments_of_the_tool() -> None:
    nothing = dict.fromkeys(("subject", "tool", "outcome", "id", "day"), "")
    assert to_query(nothing, "") == {}
    assert to_query(nothing | {"tool": "search", "day": "2026-02-28"}, "7") == {
        "tool": "search",
        "since": "2026-02-28T00:00:00Z",
        "until": "2026-03-01T00:00:00Z",
        "before": 7,
    }
    for odd in ("0", "-1", "x", "9" * 400, "\u0663"):
        assert "before" not in to_query(nothing, odd)
    assert to_query(nothing | {"day": "9999-12-31"}, "") == {"since": "9999-12-31"}
