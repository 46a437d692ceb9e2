"""One note, one memory, out of a backup.

Covers vaults.domain.maintenance.memory_copies.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ops.backup.single_items import restore_memory, restore_note
from server.services import Services
from tests.conftest import Asking, Opening
from tests.ops.backup.restoring import as_owner_of, back_up
from tests.ops.backup.staged import Staged
from vaults.domain.actors import Actor
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.edit.reversals import UndoRequest
from vaults.errors import AlreadyExists, NotFound

OWNER = Actor("owner", "owner")
PLAN = "---\r\ntags: [a]\r\n---\r\n# Plan\r\n\r\nbuild the quay\r\n"


async def _note(services: Services, backup: Staged, path: str, vault: str = "main") -> object:
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        return await restore_note(opened, OWNER, backup, UndoRequest(path=path))


async def _memory(
    services: Services, backup: Staged, memory_id: str, vault: str = "main", *, replacing: bool = False
) -> object:
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        return await restore_memory(opened, backup, memory_id, replacing=replacing)


async def _agrees(services: Services, vault: str = "main") -> bool:
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        return (await verify(opened)).agrees


async def test_a_deleted_note_is_there_again_byte_for_byte(services: Services, ask: Asking, tmp_path: Path) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        file = vault.notes.root / "plan.md"
    file.write_bytes(PLAN.encode())
    backup = await back_up(services, tmp_path / "backup")
    file.unlink()
    await _note(services, backup, "plan")
    assert file.read_bytes() == PLAN.encode()
    assert await _agrees(services)


async def test_the_note_that_stood_there_stays_a_version_and_comes_back_by_undo(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await ask("note_write", path="plan.md", content="first\n")
    backup = await back_up(services, tmp_path / "backup")
    await ask("note_write", path="plan.md", content="second\n", mode="overwrite")
    await _note(services, backup, "plan.md")
    assert "first" in (await ask("note_read", path="plan.md")).content["text"]
    assert "from the backup of" in (await ask("history", path="plan.md")).content["changes"][0]["summary"]
    await ask("history", action="undo", path="plan.md")
    assert "second" in (await ask("note_read", path="plan.md")).content["text"]


async def test_what_the_backup_does_not_hold_is_not_found(services: Services, ask: Asking, tmp_path: Path) -> None:
    backup = await back_up(services, tmp_path / "backup")
    with pytest.raises(NotFound):
        await _note(services, backup, "plan.md")
    with pytest.raises(NotFound):
        await _memory(services, backup, "no-such-id")


async def test_a_purged_memory_is_there_again_with_its_id_and_links(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    first = (await ask("remember", content="the harbour closes at nine", tags=["hours"])).content["id"]
    other = (await ask("remember", content="the quay was built")).content["id"]
    await ask("memory_link", from_id=first, to_id=other, relation="supports")
    backup = await back_up(services, tmp_path / "backup")
    await ask("memory_forget", ids=[first], purge=True, reason="x", confirmed=True)
    assert not (await ask("memory_get", ids=[first])).content["memories"]
    await _memory(services, backup, first)
    (memory,) = (await ask("memory_get", ids=[first])).content["memories"]
    assert (memory["content"], memory["tags"]) == ("the harbour closes at nine", ["hours"])
    hits = (await ask("recall", query="harbour", mode="keyword")).content["hits"]
    assert [hit["id"] for hit in hits] == [first]
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM memory_links")) == 1
    assert await _agrees(services)


async def test_a_memory_that_is_there_is_left_alone_unless_it_is_to_say_again_what_it_said(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    memory_id = (await ask("remember", content="closes at nine")).content["id"]
    backup = await back_up(services, tmp_path / "backup")
    await ask("memory_update", id=memory_id, content="closes at ten")
    with pytest.raises(AlreadyExists, match=memory_id):
        await _memory(services, backup, memory_id)
    await _memory(services, backup, memory_id, replacing=True)
    (memory,) = (await ask("memory_get", ids=[memory_id])).content["memories"]
    assert (memory["content"], memory["version"]) == ("closes at nine", 3)
    assert await _agrees(services)


@pytest.fixture
async def both(opening: Opening) -> AsyncIterator[Services]:
    async with opening(vaults=("main", "other")) as opened:
        yield opened


async def test_a_memory_of_another_vault_gets_a_number_of_its_own(both: Services, tmp_path: Path) -> None:
    services = both
    memory_id = (await as_owner_of(services, "main")("remember", content="the harbour closes at nine")).content["id"]
    await as_owner_of(services, "other")("remember", content="something else")
    backup = await back_up(services, tmp_path / "backup")
    await _memory(services, backup, memory_id, "other")
    ask = as_owner_of(services, "other")
    assert (await ask("memory_get", ids=[memory_id])).content["memories"]
    assert len((await ask("memory_list")).content["memories"]) == 2
    assert await _agrees(services, "other")
