"""What notes and memories said in backups, and how far is looked.

Covers server.tools._backups.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from auth.grants import set_grant
from auth.roles import Role
from ops.backup import archive_reader, older_versions
from ops.backup.archive_writer import write_archive
from ops.backup.older_versions import SearchBounds
from ops.backup.references import KnownBackups, ListedBackup, list_backups
from ops.backup.staging import StagedBackup
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local, open_at
from tests.ops.backup.restoring import back_up
from vaults.errors import Forbidden, NotFound

MOMENTS = ("2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z", "2026-11-23T00:00:00Z", "2026-11-24T00:00:00Z")


@dataclass(frozen=True)
class Ground:
    """A data folder and its backups, and the id of the memory in them."""

    folder: Path
    memory_id: str


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Of four backups two in a row say the same, and the oldest has neither note nor memory. Made once; each test has
    a copy."""
    folder = tmp_path_factory.mktemp("ground")
    (folder / "to").mkdir()
    return Ground(folder, asyncio.run(_fill(folder)))


async def _fill(folder: Path) -> str:
    async with open_at(folder / "data") as services:
        ask = asker(services)
        await _archive(services, folder, MOMENTS[0])
        memory_id = str((await ask("remember", content="closes at nine")).content["id"])
        await ask("note_write", path="plan.md", content="first\n")
        await _archive(services, folder, MOMENTS[1])
        await _archive(services, folder, MOMENTS[2])
        await ask("memory_update", id=memory_id, content="closes at ten")
        await ask("note_write", path="plan.md", content="second\n", mode="overwrite")
        await _archive(services, folder, MOMENTS[3])
        return memory_id


@pytest.fixture
async def services(ground: Ground, tmp_path: Path) -> AsyncIterator[Services]:
    for name in ("data", "to"):
        shutil.copytree(ground.folder / name, tmp_path / name)
    async with open_at(tmp_path / "data", flags={"backup.to": str(tmp_path / "to")}) as opened:
        yield opened


@pytest.fixture
def memory_id(ground: Ground) -> str:
    return ground.memory_id


async def _archive(services: Services, folder: Path, moment: str, vault_id: str | None = None) -> Path:
    """An archive of now that says it is of that moment."""
    staged = await back_up(services, folder / f"staged-{moment[8:10]}-{vault_id}")
    said = {"made_at": moment} | ({"vault_id": vault_id} if vault_id else {})
    manifest = staged.manifest.model_copy(update=said)
    return (await asyncio.to_thread(write_archive, StagedBackup(staged.folder, manifest), folder / "to")).path


def _listed(services: Services) -> list[ListedBackup]:
    entry = services.registry_cache.entry("main")
    return list_backups(KnownBackups(services.settings.backup, services.data, vault="main", vault_id=entry.vault_id))


async def _notes(services: Services, bounds: SearchBounds | None = None) -> older_versions.OlderVersions:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await older_versions.find_note_versions(vault, _listed(services), "plan.md", bounds or SearchBounds())


async def _memories(
    services: Services, memory_id: str, bounds: SearchBounds | None = None
) -> older_versions.OlderVersions:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await older_versions.find_memory_versions(
            vault, _listed(services), memory_id, None, bounds or SearchBounds()
        )


async def test_versions_of_a_note_are_found_by_their_hashes_alone(
    services: Services, memory_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_reader.ArchiveSource, "extract", None)
    found = await _notes(services)
    assert [(each.made_at, each.since, each.backups) for each in found.versions] == [
        (MOMENTS[3], MOMENTS[3], 1), (MOMENTS[2], MOMENTS[1], 2),
    ]  # fmt: skip
    assert (found.looked_at, found.without, found.closed, found.left_out) == (4, 1, 0, 0)


async def test_versions_of_a_memory_are_those_of_its_text(services: Services, memory_id: str) -> None:
    found = await _memories(services, memory_id)
    assert [(each.version, each.since, each.backups) for each in found.versions] == [
        (2, MOMENTS[3], 1), (1, MOMENTS[1], 2),
    ]  # fmt: skip
    assert (found.looked_at, found.without) == (4, 1)


async def test_what_was_not_looked_at_is_counted(services: Services, memory_id: str) -> None:
    found = await _notes(services, SearchBounds(backups=2))
    assert (len(found.versions), found.looked_at, found.left_out) == (2, 2, 2)
    assert (await _notes(services, SearchBounds(seconds=-1.0))).left_out == 4
    size = next(each.open().read_manifest().size for each in _listed(services))
    found = await _memories(services, memory_id, SearchBounds(size=size * 3 // 2))
    assert (found.looked_at, found.left_out) == (1, 3)


async def test_backups_of_another_vault_of_that_name_and_damaged_ones_are_not_read(
    services: Services, ask: Asking, memory_id: str, tmp_path: Path
) -> None:
    foreign = await _archive(services, tmp_path, "2026-11-25T00:00:00Z", "01900000-0000-7000-8000-000000000000")
    assert (await ask("backup", action="read", path="plan", backup=foreign.name)).code == NotFound.code
    assert (await ask("backup", action="restore_note", path="plan", backup=foreign.name)).code == NotFound.code
    assert (await ask("backup", action="read", path="plan")).content["made_at"] == MOMENTS[3]
    damaged = await _archive(services, tmp_path, "2026-11-26T00:00:00Z")
    damaged.write_bytes(b"no archive at all")
    found = await _notes(services)
    assert (found.versions[0].made_at, found.looked_at, found.closed) == (MOMENTS[3], 4, 1)


async def test_an_admin_reads_and_restores_what_backups_hold(
    services: Services, ask: Asking, memory_id: str, tmp_path: Path
) -> None:
    versions = (await ask("backup", action="history", path="plan")).content["versions"]
    assert [each["made_at"] for each in versions] == [MOMENTS[3], MOMENTS[2]]
    older = versions[1]["backup"]
    assert (await ask("backup", action="read", path="plan", backup=older)).content["text"] == "first\n"
    shown = await ask("backup", action="restore_note", path="plan", backup=older, dry_run=True)
    assert "+first" in shown.content["diff"]
    assert (await ask("note_read", path="plan")).content["text"] == "second\n"
    assert (await ask("backup", action="restore_note", path="plan", backup=older)).content["changed"]
    assert (await ask("note_read", path="plan")).content["text"] == "first\n"
    await ask("history", action="undo", path="plan.md")
    assert (await ask("note_read", path="plan")).content["text"] == "second\n"

    found = (await ask("backup", action="history", id=memory_id)).content
    assert [each["version"] for each in found["versions"]] == [2, 1]
    assert (await ask("backup", action="read", id=memory_id, backup=older)).content["text"] == "closes at nine"
    assert (await ask("backup", action="restore_memory", id=memory_id, backup=older)).code == "already_exists"
    restored = await ask("backup", action="restore_memory", id=memory_id, backup=older, replace=True)
    assert restored.content["version"] == 3
    (memory,) = (await ask("memory_get", ids=[memory_id])).content["memories"]
    assert memory["content"] == "closes at nine"
    written = (await ask("audit", tool="backup")).content["entries"]
    assert [(each["what"], each["targets"], len(each["changes"])) for each in written if each["outcome"] == "ok"] == [
        ("backup restore_memory", [memory_id], 1), ("backup restore_note", ["plan"], 1),
    ]  # fmt: skip


async def test_a_purged_memory_that_comes_back_stands_in_the_audit_with_its_hash(
    services: Services, ask: Asking, memory_id: str
) -> None:
    await ask("memory_forget", ids=[memory_id], purge=True, reason="x", confirmed=True)
    assert (await ask("backup", action="restore_memory", id=memory_id)).ok
    (entry,) = (await ask("audit", tool="backup")).content["entries"]
    assert [(each["kind"], each["id"]) for each in entry["changes"]] == [("memory", memory_id)]
    assert entry["changes"][0]["after"]


async def test_what_is_private_to_somebody_else_is_not_there_for_an_admin(
    services: Services, ask: Asking, memory_id: str, tmp_path: Path
) -> None:
    await services.access_cache.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.ADMIN))
    ann = asker(services, Caller(local("ann"), "main", Role.ADMIN, "http"))
    mine = (await ask("remember", content="nobody else's", visibility="private")).content["id"]
    await _archive(services, tmp_path, "2026-11-27T00:00:00Z")
    assert (await ask("backup", action="read", id=mine)).content["text"] == "nobody else's"
    assert not (await ann("backup", action="history", id=mine)).content.get("versions")
    assert (await ann("backup", action="read", id=mine)).code == NotFound.code
    assert (await ann("backup", action="restore_memory", id=mine)).code == NotFound.code
    assert (await ann("backup", action="restore_memory", id=mine, replace=True)).code == NotFound.code
    await ask("memory_forget", ids=[mine], purge=True, reason="x", confirmed=True)
    assert (await ann("backup", action="restore_memory", id=mine)).code == NotFound.code
    assert (await ask("backup", action="restore_memory", id=mine)).ok


async def test_a_name_is_no_path_and_only_admins_look_into_backups(
    services: Services, ask: Asking, memory_id: str, tmp_path: Path
) -> None:
    archive = next((tmp_path / "to").iterdir())
    assert (await ask("backup", action="read", path="plan", backup=str(archive))).code == NotFound.code
    assert (await ask("backup", action="history")).code == "invalid_argument"
    await services.access_cache.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.WRITER))
    writer = asker(services, Caller(local("ann"), "main", Role.WRITER, "http"))
    for action in ("history", "read", "restore_note", "restore_memory"):
        assert (await writer("backup", action=action, path="plan", id=memory_id)).code == Forbidden.code


async def test_a_place_that_is_gone_is_not_named_to_callers(opening: Opening, tmp_path: Path) -> None:
    async with opening({"backup.to": str(tmp_path / "not-mounted")}) as services:
        said = await asker(services)("backup", action="history", path="plan")
    assert said.code == "vault_unavailable"
    assert str(tmp_path) not in said.text
