"""Notes that are in the index as they are on disk are told so; every kind of planted disagreement is found, and
reindexing repairs it.

Covers vaults.domain.notes.sync.readiness, vaults.domain.notes.verify.disk_state,
vaults.domain.notes.verify.journal_check, vaults.domain.notes.verify.row_comparison.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker, open_at
from tests.noted import folder, indexed, put, settled
from tests.vaults.domain.notes.proved import NOTES, aged, errors, notices
from tests.work import PATIENCE_S
from vaults.domain.maintenance.reindexing import reindex
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.commit import journal
from vaults.domain.notes.sync import readiness
from vaults.domain.notes.verify import disk_check
from vaults.vault import Vault


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_check, "SLACK_S", -1.5)


@pytest.fixture
def patient(hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is sure to be seen: it takes as long as the machine is busy."""
    monkeypatch.setattr(disk_check, "SLACK_S", PATIENCE_S)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder whose notes are indexed, with all that follows from them. Made once; each test has a copy."""
    data = tmp_path_factory.mktemp("ground")
    aged(folder(data), NOTES)

    async def fill() -> None:
        async with open_at(data) as services, ready(services):
            pass

    asyncio.run(fill())
    return data


@asynccontextmanager
async def ready(services: Services) -> AsyncIterator[Vault]:
    """Once nothing is at work that would mend what a test plants."""
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await indexed(services, len(NOTES))
        await settled(services)
        await held.background.wait()
        yield held


@pytest.fixture
async def services(ground: Path, tmp_path: Path) -> AsyncIterator[Services]:
    shutil.copytree(ground, tmp_path, dirs_exist_ok=True)
    async with open_at(tmp_path) as opened:
        yield opened


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    async with ready(services) as held:
        yield held


async def test_notes_that_are_indexed_as_they_are_agree(patient: None, vault: Vault, ask: Asking) -> None:
    report = await verify(vault)
    assert report.agrees, report.findings
    assert (report.notes, report.memories) == (4, 0)
    assert notices(report).keys() <= {"vectors_owed"}
    assert (await ask("note_edit", path="harbour.md", content="More tides.")).ok
    assert (await ask("note_write", path="new.md", content="# New\n\n[[harbour]]\n")).ok
    report = await verify(vault)
    assert report.agrees, report.findings
    assert report.notes == 5


PLANTED: list[tuple[str, str]] = [
    ("notes_unindexed", "DELETE FROM notes WHERE path = 'harbour.md'"),
    ("notes_stale", "UPDATE notes SET hash = 'other' WHERE path = 'harbour.md'"),
    ("notes_differ", "UPDATE notes SET title = 'Other' WHERE path = 'harbour.md'"),
    ("notes_differ", "UPDATE notes SET aliases = '[]' WHERE path = 'harbour.md'"),
    ("notes_differ", "UPDATE notes SET frontmatter = '{}' WHERE path = 'harbour.md'"),
    ("notes_differ", "UPDATE notes SET folder = 'x' WHERE path = 'harbour.md'"),
    ("notes_differ", "UPDATE notes SET problem = 'none' WHERE path = 'harbour.md'"),
    ("notes_differ", "DELETE FROM note_names WHERE key = 'port'"),
    ("notes_differ", "INSERT INTO note_names SELECT 'ghost', seq FROM notes WHERE path = 'empty.md'"),
    ("links_differ", "DELETE FROM note_links"),
    ("links_differ", "UPDATE note_links SET target_key = 'coffee'"),
    ("links_differ", "UPDATE note_tasks SET due = NULL"),
    ("links_differ", "DELETE FROM item_tags WHERE tag = 'a'"),
    ("links_differ", "INSERT INTO item_fields SELECT 'note', seq, 'ghost', 'yes' FROM notes WHERE path = 'empty.md'"),
    ("passages_missing", "DELETE FROM passages WHERE item = (SELECT seq FROM notes WHERE path = 'empty.md')"),
    ("passages_differ", "UPDATE passages SET body = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET title = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET labels = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET text_hash = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET source_hash = 'other:0' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET folder = 'other' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET traits = 2 WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET tokens = 999 WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET at = '2001' WHERE seq = 1"),
    ("passages_differ", "UPDATE passages SET hidden = 1 WHERE seq = 1"),
    ("passages_differ", "DELETE FROM passages WHERE seq = (SELECT MAX(seq) FROM passages WHERE folder = 'deep')"),
    ("passages_differ", "UPDATE passages SET sequence = NULL WHERE seq = 1"),
    ("passages_differ", "DELETE FROM passages_pairs"),
    ("neighbours_differ", "UPDATE passages SET near = '9 9 9 9' WHERE sequence LIKE 'note%' AND seq = 2"),
    ("passages_orphaned", "UPDATE passages SET item = 999 WHERE seq = 1"),
    ("tags_orphaned", "INSERT INTO item_tags VALUES ('note', 999, 'ghost')"),
    ("passages_orphaned", "UPDATE passages SET kind = 'ghost' WHERE seq = 1"),
    ("rows_dangling", "INSERT INTO note_scores VALUES (999, 1.0)"),
    ("rows_dangling", "INSERT INTO entity_vectors VALUES (999, 'm', 's', 1, 't', x'', 1)"),
    ("rows_dangling", "UPDATE note_links SET meant = 999"),
]


@pytest.mark.parametrize(("code", "sql"), PLANTED, ids=lambda value: value[:60])
async def test_a_planted_disagreement_is_found_and_reindexing_repairs_it(
    vault: Vault, ask: Asking, code: str, sql: str
) -> None:
    def plant(raw: object) -> None:
        raw.execute("PRAGMA foreign_keys=OFF")  # type: ignore[attr-defined]
        raw.execute(sql)  # type: ignore[attr-defined]
        raw.execute("PRAGMA foreign_keys=ON")  # type: ignore[attr-defined]

    await vault.db.run_on_writer(plant)
    assert code in await errors(vault)
    done = await reindex(vault)
    assert (done.notes, done.problem) == (4, None)
    report = await verify(vault)
    assert report.agrees, report.findings
    assert (await ask("search", query="tides", mode="keyword")).content["hits"]


async def test_a_row_without_a_file_is_found(vault: Vault) -> None:
    def plant(raw: object) -> None:
        raw.execute("UPDATE notes SET path = 'gone.md' WHERE path = 'harbour.md'")  # type: ignore[attr-defined]

    await vault.db.run_on_writer(plant)
    assert {"notes_gone", "notes_unindexed"} <= await errors(vault)
    await reindex(vault)
    assert await errors(vault) == set()


async def test_files_that_are_left_out_are_named_with_the_reason(vault: Vault, services: Services) -> None:
    root = folder(vault.folder.parent.parent)
    (root / "latin.md").write_bytes(b"caf\xe9 au lait")
    (root / "link.md").symlink_to(root / "harbour.md")
    put(root, {"last.md": "x"})
    await indexed(services, 5)
    report = await verify(vault)
    assert report.agrees, report.findings
    assert notices(report)["notes_skipped"] == 2
    message = next(found.message for found in report.findings if found.code == "notes_skipped")
    assert "link.md (symbolic link)" in message
    assert "latin.md (" in message
    await vault.db.write(lambda tx: tx.run("UPDATE notes_skipped SET reason = 'no reason'"))
    assert await errors(vault) == {"skipped_differ"}
    await vault.db.write(lambda tx: tx.run("DELETE FROM notes_skipped"))
    assert await errors(vault) == {"skipped_differ"}
    await reindex(vault)
    assert await errors(vault) == set()


async def test_a_file_that_was_saved_just_now_is_only_behind(
    opening: Opening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opening({"notes.watch": "off"}) as services:
        root = folder(tmp_path)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await vault.notes.wait_for_index(PATIENCE_S)
            put(root, {"a.md": "saved now\n"})
            report = await verify(vault)
            assert report.agrees, report.findings
            assert notices(report) == {"notes_behind": 1}
            monkeypatch.setattr(readiness, "is_followed", lambda _vault: False)
            assert await errors(vault) == {"notes_unindexed"}
            monkeypatch.undo()
            monkeypatch.setattr(disk_check, "SLACK_S", -2.0)
            aged(root, {"a.md": "saved now\n"})
            assert await errors(vault) == {"notes_unindexed"}
            await reindex(vault)
            assert await errors(vault) == set()
            # What is wrong beside the text is no lateness, however young the file is.
            put(root, {"a.md": "saved now\n"})
            await vault.db.write(lambda tx: tx.run("UPDATE notes SET title = 'other'"))
            assert await errors(vault) == {"notes_differ"}


async def test_a_change_that_the_watcher_is_about_to_see_is_waited_for(patient: None, vault: Vault) -> None:
    root = folder(vault.folder.parent.parent)
    put(root, {f"burst/{number}.md": f"# Note {number}\n" for number in range(30)})
    (root / "harbour.md").unlink()
    report = await verify(vault)
    assert report.agrees, report.findings
    assert report.notes == 33


async def test_a_folder_that_cannot_be_read_is_an_error_and_costs_no_note(vault: Vault, ask: Asking) -> None:
    root = folder(vault.folder.parent.parent)
    root.rename(root.with_name("away"))
    assert await errors(vault) == {"notes_unavailable"}
    assert (await ask("remember", content="a memory of tides")).ok
    done = await reindex(vault)
    assert (done.memories, done.notes) == (1, 4)
    assert done.problem
    assert len((await ask("search", query="tides", mode="keyword")).content["hits"]) == 2
    root.with_name("away").rename(root)
    assert await errors(vault) == set()


async def test_changes_that_were_not_ended_and_versions_are_looked_at(opening: Opening, tmp_path: Path) -> None:
    aged(folder(tmp_path), NOTES)
    async with opening({"notes.watch": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await indexed(services, len(NOTES))
            assert (await asker(services)("note_edit", path="harbour.md", content="More.")).ok
            plant = vault.db.write
            await plant(lambda tx: tx.run("UPDATE note_changes SET state = 'pending'"))
            assert await errors(vault) == {"changes_unfinished"}
            await plant(lambda tx: tx.run("UPDATE note_changes SET state = 'done'"))
            assert await errors(vault) == set()
            await plant(lambda tx: tx.run("INSERT INTO note_versions VALUES ('ghost', 1, x'00', NULL, 0)"))
            report = await verify(vault)
            assert notices(report)["versions_unnamed"] == 1
            assert {found.code for found in report.findings if found.severity == "error"} == {"versions_damaged"}
            await plant(lambda tx: tx.run("DELETE FROM note_versions"))
            report = await verify(vault)
            assert report.agrees
            assert notices(report)["versions_missing"] == 2


async def test_a_change_that_somebody_is_making_is_no_finding(opening: Opening, tmp_path: Path) -> None:
    async with opening({"notes.watch": "off"}) as services:
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await asker(services)("note_write", path="a.md", content="More.")).ok
            await vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'pending'"))
            async with vault.notes.writing():
                looking = asyncio.create_task(errors(vault))
                while not (looking.done() or vault.notes._lock._waiters):
                    await vault.db.read(journal.list_unfinished)  # whoever proves comes to where it has to wait
                await vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'done'"))
            assert await looking == set()


async def test_a_vault_beside_a_server_that_follows_the_files(patient: None, opening: Opening, tmp_path: Path) -> None:
    put(folder(tmp_path), NOTES)
    async with opening() as serving:
        await indexed(serving, 4)
        async with opening() as other, other.pool.lease(other.registry_cache.entry("main")) as vault:
            assert not vault.lease.held
            put(folder(tmp_path), {"harbour.md": "# Harbour\n\nSaved beside.\n"})
            report = await verify(vault)
            assert report.agrees, report.findings
            assert (await reindex(vault)).problem is None
            report = await verify(vault)
            assert report.agrees, report.findings
            assert (await asker(serving)("search", query="beside", mode="keyword")).content["hits"]
