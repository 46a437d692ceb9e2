"""Vaults are made, named anew, copied, put away, put on a plan and deleted in the console, and the audit says by whom.

Covers server.ui.vaults_page, server.ui.vault_life_page and server.ui.vault_lines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from auth.access import EVERY_VAULT
from auth.roles import Role
from ops.audit import searching
from ops.audit.links import INSTALLATION
from ops.audit.searching import AuditQuery
from server import vault_admin
from tests.server.ui.stage import HOSTILE, Guest, Stage, open_stage

pytestmark = pytest.mark.asyncio(loop_scope="module")

VAULTS = "/ui/admin/vaults"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ada(stage: Stage) -> AsyncIterator[Guest]:
    """Who administers everything."""
    yield await stage.person("ada", Role.ADMIN, EVERY_VAULT)


async def acts(stage: Stage, tool: str = "vault") -> list[tuple[Any, ...]]:
    """What the audit of the installation says, the newest first."""
    found = await searching.search(stage.services.audit, INSTALLATION, AuditQuery(tool=tool))
    said = [each.fields() for each in found]
    return [(each["subject"], each["action"], each.get("vault"), each["outcome"]) for each in said]


async def make(guest: Guest, name: str) -> httpx2.Response:
    return await guest.send(await guest.open(VAULTS), "create", name=name)


async def act(guest: Guest, name: str, do: str, **values: str) -> httpx2.Response:
    return await guest.send(await guest.open(f"{VAULTS}/{name}"), do, **values)


async def test_a_vault_that_is_made_is_there_at_once_and_leads_to_its_first_agent(stage: Stage, ada: Guest) -> None:
    answer = await make(ada, " harbour ")
    assert answer.headers["location"] == "/ui/v/harbour/connect?done=create_vault"
    page = await ada.follow(answer)
    assert page.status_code == 200
    assert "The vault is ready" in page.text
    assert "/v/harbour/mcp" in page.text
    assert (await acts(stage))[0] == ("ada", "create", "harbour", "ok")
    assert f'href="{VAULTS}/harbour"' in (await ada.open(VAULTS)).text


async def test_what_is_no_name_is_refused_in_words_beside_the_form(stage: Stage, ada: Guest) -> None:
    for name, said in (("Not A Name", "must be 1–63"), ("main", "exists already"), (HOSTILE, "must be 1–63")):
        page = await make(ada, name)
        assert page.status_code in (409, 422)
        assert said in page.text
        assert "<script>alert" not in page.text
    assert [each[3] for each in (await acts(stage))[:3]] == ["invalid_argument", "already_exists", "invalid_argument"]


async def test_a_vault_goes_out_of_service_and_comes_back(stage: Stage, ada: Guest) -> None:
    await make(ada, "quay")
    page = await ada.follow(await act(ada, "quay", "archive"))
    assert "Out of service" in page.text
    assert (await ada.open("/ui/v/quay/")).status_code == 404
    assert "archived" in (await ada.open(f"{VAULTS}?text=quay")).text
    page = await ada.follow(await act(ada, "quay", "unarchive"))
    assert "Served again" in page.text
    assert (await ada.open("/ui/v/quay/")).status_code == 200
    assert [each[1] for each in (await acts(stage))[:2]] == ["unarchive", "archive"]


async def test_a_new_name_takes_the_place_of_the_old_one(stage: Stage, ada: Guest) -> None:
    await make(ada, "pier")
    await stage.ask("remember", vault="pier", content="The pier has two lamps")
    page = await ada.follow(await act(ada, "pier", "rename", to="mole"))
    assert "<bdi>mole</bdi>" in page.text
    assert (await ada.open("/ui/v/pier/")).status_code == 404
    assert "The pier has two" in (await ada.open("/ui/v/mole/search?q=lamps")).text
    refused = await act(ada, "mole", "rename", to="main")
    assert refused.status_code == 409
    assert "vault main exists already" in refused.text
    assert 'value="main"' in refused.text  # what was typed
    assert (await acts(stage))[:2] == [("ada", "rename", "mole", "already_exists"), ("ada", "rename", "pier", "ok")]


async def test_a_copy_stands_beside_what_it_was_made_from(stage: Stage, ada: Guest) -> None:
    await make(ada, "crane")
    await stage.ask("remember", vault="crane", content="Cranes are painted yellow")
    page = await ada.follow(await act(ada, "crane", "copy", to="crane-2"))
    assert "This is the copy" in page.text
    for name in ("crane", "crane-2"):
        assert "yellow" in (await ada.open(f"/ui/v/{name}/search?q=yellow")).text
    assert (await acts(stage))[0] == ("ada", "copy", "crane", "ok")


async def test_a_plan_holds_at_once_and_can_be_taken_back(stage: Stage, ada: Guest) -> None:
    await make(ada, "buoy")
    assert "The plan holds" in (await ada.follow(await act(ada, "buoy", "plan", plan="free"))).text
    assert stage.services.access_cache.current.holders.vaults["buoy"] == "free"
    assert '<option value="free" selected>' in (await ada.open(f"{VAULTS}/buoy")).text
    refused = await act(ada, "buoy", "plan", plan="gold<b>")
    assert refused.status_code == 422
    assert "must be one of unlimited, free" in refused.text
    await act(ada, "buoy", "plan", plan="")
    assert "buoy" not in stage.services.access_cache.current.holders.vaults
    assert [each[:2] for each in await acts(stage, "plan")] == [("ada", "unset"), ("ada", "set")]


async def test_it_is_deleted_by_who_types_its_name_again(stage: Stage, ada: Guest) -> None:
    await make(ada, "raft")
    asked = await ada.open(f"{VAULTS}/raft/delete")
    assert "Nobody can bring them back" in asked.text
    refused = await ada.send(asked, "delete", again="draft")
    assert refused.status_code == 409
    assert "cannot be undone" in refused.text
    assert "--confirm" not in refused.text  # which is for who types a command
    assert (await ada.open("/ui/v/raft/")).status_code == 200
    gone = await ada.send(asked, "delete", again="raft")
    assert gone.status_code == 200
    backup = Path(gone.text.partition('<code dir="ltr">')[2].partition("</code>")[0])
    assert backup.is_file()
    assert (await ada.open("/ui/v/raft/")).status_code == 404
    assert (await ada.open(f"{VAULTS}/raft")).status_code == 404
    assert [each[3] for each in (await acts(stage))[:2]] == ["ok", "confirmation_required"]


async def test_one_whose_files_are_gone_says_what_can_be_done_and_is_deleted_without_a_backup(
    stage: Stage, ada: Guest
) -> None:
    await make(ada, "wreck")
    await stage.services.pool.close_vault("wreck")
    folder, away = stage.services.data / "vaults" / "wreck", stage.services.data / "elsewhere"
    folder.rename(away)
    asked = await ada.open(f"{VAULTS}/wreck/delete")
    assert "no last backup can be made" in asked.text
    refused = await ada.send(asked, "delete", again="wreck")
    assert refused.status_code == 503
    assert "files of vault wreck are missing" in refused.text
    assert 'name="lost"' in refused.text
    assert "--no-backup" not in refused.text
    away.rename(folder)  # its disk came back meanwhile
    kept = await ada.send(asked, "delete", again="wreck", lost="yes")
    assert kept.status_code == 409
    assert (folder / "vault.db").is_file()
    assert 'name="lost"' not in (await ada.open(f"{VAULTS}/wreck/delete")).text
    folder.rename(away)
    gone = await ada.send(asked, "delete", again="wreck", lost="yes")
    assert gone.status_code == 200
    assert "There is no backup" in gone.text
    assert (await ada.open(f"{VAULTS}/wreck")).status_code == 404
    assert (away / "vault.db").is_file()


async def test_what_is_not_there_is_not_there(stage: Stage, ada: Guest) -> None:
    before = await acts(stage)
    for path in ("nope", "nope/delete", "%3Cscript%3E", "a%2F..%2Fb"):
        assert (await ada.open(f"{VAULTS}/{path}")).status_code == 404
    assert await acts(stage) == before


async def test_a_form_of_another_page_changes_nothing(stage: Stage, ada: Guest) -> None:
    before = await acts(stage)
    for path, do in (("", "create"), ("/main", "archive"), ("/main/delete", "delete")):
        sent = {"form": "x", "do": do, "name": "dinghy", "again": "main"}
        assert (await ada.http.post(f"{VAULTS}{path}", data=sent)).status_code == 403
    assert stage.services.registry_cache.known("main")
    assert await acts(stage) == before


async def test_a_vault_that_cannot_be_found_on_the_disk_says_so(stage: Stage, ada: Guest) -> None:
    await make(ada, "wreck")
    folder = stage.services.data / "vaults" / "wreck"
    folder.rename(folder.with_name("sunk"))
    assert "its files are not there" in (await ada.open(VAULTS)).text
    refused = await ada.send(await ada.open(f"{VAULTS}/wreck/delete"), "delete", again="wreck")
    assert refused.status_code == 503
    assert "nothing to back up" in refused.text


async def test_whoever_has_no_vault_makes_the_first_one_where_they_come_in(tmp_path: Path) -> None:
    async with open_stage(tmp_path) as stage:
        ada = await stage.person("ada", Role.ADMIN, EVERY_VAULT)
        eva = await stage.person("eva", Role.ADMIN)
        for name in ("main", "other"):
            await vault_admin.archive(stage.services, name)
        page = await ada.open("/ui/")
        assert "Make the first vault" in page.text
        answer = await ada.send(page, "create", name="first")
        assert (await ada.follow(answer)).status_code == 200
        assert "Make the first vault" not in (await ada.open("/ui/")).text
        assert "Make the first vault" not in (await eva.open("/ui/")).text


async def test_what_does_not_go_any_more_says_why_though_its_form_is_gone(stage: Stage, ada: Guest) -> None:
    await make(ada, "quay")
    before = await ada.open(f"{VAULTS}/quay")
    await act(ada, "quay", "archive")
    late = await ada.send(before, "plan", plan="free")
    assert late.status_code == 404
    assert "no vault quay is served" in late.text


async def test_a_form_of_one_vault_does_nothing_to_another_that_took_its_name(stage: Stage, ada: Guest) -> None:
    await make(ada, "pier")
    pages = [await ada.open(f"{VAULTS}/pier"), await ada.open(f"{VAULTS}/pier/delete")]
    await act(ada, "pier", "rename", to="old-pier")
    await make(ada, "pier")
    for page, do, values in ((pages[0], "archive", {}), (pages[1], "delete", {"again": "pier"})):
        answer = await ada.send(page, do, **values)
        assert answer.status_code == 409
        assert "another vault is called pier by now" in answer.text
    assert stage.services.registry_cache.known("pier")
    assert (await ada.send(await ada.open(f"{VAULTS}/pier/delete"), "delete", again="pier")).status_code == 200
