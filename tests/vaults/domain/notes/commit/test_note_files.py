"""Where the folder of notes is a view, the rows hold every byte of it after each edit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.kept_notes import (
    RandomEdits,
    files_below,
    keep_note_files,
    kept_in,
    times_below,
)
from tests.vaults.domain.notes.notes_desk import desk_in
from tests.work import examples
from vaults.domain.actors import Actor
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.commit import journal, note_files, recovery, version_store
from vaults.domain.notes.commit.folder_layout import lay_out_notes
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.files.tree import FileStamp
from vaults.settings import NotesSettings, StorageSettings


@pytest.mark.parametrize("seed", range(examples(12)))
async def test_after_every_edit_the_rows_are_the_folder_and_lay_it_out_again(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    keep_note_files(monkeypatch)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "notes"
    async with desk_in(opening, {"notes.versions": 3}) as desk:
        edits = RandomEdits(desk, seed)
        for _ in range(25):
            await edits.step()
            assert await desk.vault.db.read(kept_in) == files_below(desk.root)
        assert edits.done > 8
        done = lay_out_notes(desk.vault.db.path, elsewhere, StorageSettings())
        assert files_below(elsewhere) == files_below(desk.root)
        assert times_below(elsewhere) == times_below(desk.root)
        assert done.files == len(files_below(desk.root))
        await desk.look()
        report = await verify(desk.vault)
        assert report.agrees, report.findings


async def test_the_journal_forgets_old_versions_and_never_one_that_stands_in_a_file(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_note_files(monkeypatch)
    async with desk_in(opening) as desk:
        for n in range(4):
            await desk.done("note_write", path=f"n{n}.md", content=f"text {n}\n")
        await desk.done("note_edit", path="n0.md", content="more")

        def prune(tx: Any) -> int:
            tx.run("DELETE FROM note_changes")
            version_store.delete_unreferenced(tx)
            return int(tx.value("SELECT COUNT(*) FROM note_versions"))

        assert await desk.vault.db.write(prune) == 4
        assert await desk.vault.db.read(kept_in) == files_below(desk.root)
        assert await desk.vault.db.read(version_store.total_size) == 0, "what stands in a file is no history"


async def test_on_one_machine_no_row_is_kept(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="a.md", content="alone\n")
        assert await desk.vault.db.read(note_files.is_empty)


async def test_what_came_from_a_cluster_keeps_no_rows_on_one_machine(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        keep_note_files(patch)
        async with desk_in(opening) as desk:
            await desk.done("note_write", path="a.md", content="text\n")
            assert not await desk.vault.db.read(note_files.is_empty)
    async with desk_in(opening) as desk:
        assert await desk.vault.db.read(note_files.is_empty)
        assert desk.text("a.md") == "text\n"
        report = await verify(desk.vault)
        assert report.agrees


@pytest.mark.parametrize("far", [False, True])
async def test_a_change_that_was_begun_is_carried_through_elsewhere(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, far: bool
) -> None:
    """The holder died between the journal's word and the rows: all that the next one has is the database."""
    keep_note_files(monkeypatch)
    async with desk_in(opening) as desk:
        for path in ("old.md", "doomed.md"):
            await desk.done("note_write", path=path, content=f"of {path}\n")
        stamps = {path: desk.vault.notes.tree.stamp(path) for path in ("old.md", "doomed.md")}
        change = NoteChange(
            "test",
            "several at once",
            [
                FileChange("new/made.md", None, b"made\n"),
                FileChange("old.md", b"of old.md\n", b"edited\n", "new/moved.md", stamps["old.md"]),
                FileChange("doomed.md", b"of doomed.md\n", None, stamp=stamps["doomed.md"]),
            ],
        )
        names = journal.name_versions(change)
        packed = journal.pack_versions(change, names, {})
        actor = Actor("owner", "owner")
        await desk.vault.db.write(lambda tx: journal.begin_change(tx, actor, change, names, packed))
        if far:  # the files had been put in place, which nobody elsewhere sees
            (desk.root / "doomed.md").unlink()
        root, database = desk.root, desk.vault.db.path
    lay_out_notes(database, root, StorageSettings())
    assert set(files_below(root)) == {"old.md", "doomed.md"}, "the folder is as the last acknowledged change left it"
    async with desk_in(opening) as desk:
        wanted = {"new/made.md": b"made\n", "new/moved.md": b"edited\n"}
        assert files_below(desk.root) == wanted
        assert await desk.vault.db.read(kept_in) == wanted
        assert not await desk.vault.db.read(journal.list_unfinished)
        assert await recovery.recover(desk.vault) == 0


async def test_pruning_by_size_counts_no_file(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_note_files(monkeypatch)
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="big.md", content="\n".join(str(n * 7919) for n in range(200_000)))
        await desk.done("note_write", path="small.md", content="one\n")
        settings = NotesSettings(versions_mb=1)
        monkeypatch.setattr(journal, "PRUNE_EVERY", 1)
        await desk.vault.db.write(lambda tx: journal.prune(tx, settings))
        assert len(await desk.vault.db.read(lambda tx: journal.list_changes(tx, None, 10))) == 2


def test_a_row_is_the_file_of_its_size_and_time_on_any_disk() -> None:
    row = note_files.NoteFile("a.md", "00", 5, 7)
    assert row.is_as(FileStamp(5, 7, 1, 2))
    assert row.is_as(FileStamp(5, 7, 8, 9))
    assert not row.is_as(FileStamp(5, 8, 1, 2))
    assert not row.is_as(FileStamp(6, 7, 1, 2))
