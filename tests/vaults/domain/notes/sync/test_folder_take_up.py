"""What people do by hand to a folder that is a view: what they save is kept, and what is missing comes back.

Covers vaults.domain.notes.verify.kept_file_check and vaults.files.whole_walk too.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Opening, asker
from tests.noted import put, until
from tests.vaults.domain.notes.kept_notes import files_below, keep_note_files, kept_in
from tests.vaults.domain.notes.notes_desk import desk_in
from tests.work import PATIENCE_S
from vaults.domain.maintenance.verification import verify
from vaults.domain.notes.commit import note_files
from vaults.domain.notes.commit.folder_layout import lay_out_notes
from vaults.domain.notes.commit.note_files import NoteFile
from vaults.domain.notes.index import reconciliation
from vaults.domain.notes.sync.folder_take_up import compare_folder, take_up_folder
from vaults.domain.notes.verify import kept_file_check
from vaults.files.tree import FileStamp, Tree
from vaults.files.whole_walk import WalkedFile
from vaults.settings import StorageSettings


@pytest.fixture(autouse=True)
def _kept(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_note_files(monkeypatch)


async def test_what_is_saved_by_hand_is_kept_with_other_files_than_notes(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="a.md", content="by a tool\n")
        await desk.put({"a.md": "by hand\n", "new/b.md": "new\n", "pic.png": b"\x89PNG", ".obsidian/app.json": "{}"})
        await take_up_folder(desk.vault)
        assert await desk.vault.db.read(kept_in) == files_below(desk.root)
        assert len(files_below(desk.root)) == 4
        await desk.put({"new/b.md": "again\n"})
        await take_up_folder(desk.vault, ["new"])
        assert (await desk.vault.db.read(kept_in))["new/b.md"] == b"again\n"
        report = await verify(desk.vault)
        assert report.agrees, report.findings
        assert "versions_unnamed" not in {each.code for each in report.findings}


async def test_what_is_missing_comes_back(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="a.md", content="a\n")
        await desk.done("note_write", path="deep/b.md", content="b\n")
        before = files_below(desk.root)
        (desk.root / "a.md").unlink()
        shutil.rmtree(desk.root / "deep")
        await take_up_folder(desk.vault)
        assert files_below(desk.root) == before == await desk.vault.db.read(kept_in)
        await desk.done("note_delete", path="a.md", confirmed=True)
        await take_up_folder(desk.vault)
        assert set(files_below(desk.root)) == {"deep/b.md"}, "what a tool deleted stays away"


async def test_what_is_missing_below_a_path_comes_back(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        for path in ("x/a.md", "x/b.md", "xy.md"):
            await desk.done("note_write", path=path, content=f"{path}\n")
        before = files_below(desk.root)
        shutil.rmtree(desk.root / "x")
        (desk.root / "xy.md").unlink()
        await take_up_folder(desk.vault, ["x"])
        assert set(files_below(desk.root)) == {"x/a.md", "x/b.md"}
        await take_up_folder(desk.vault, ["xy.md"])
        assert files_below(desk.root) == before


async def test_a_change_under_way_is_not_taken_for_somebody_s(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="a.md", content="a\n")
        await desk.vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'pending'"))
        await desk.put({"b.md": "half\n"})
        (desk.root / "a.md").unlink()
        await take_up_folder(desk.vault)
        assert set(files_below(desk.root)) == {"b.md"}
        assert set(await desk.vault.db.read(kept_in)) == {"a.md"}


async def test_laid_out_elsewhere_no_note_is_read_again(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which file it is and on which disk differs there; that alone is no change."""
    async with desk_in(opening) as desk:
        await desk.put({f"n{n}.md": f"text {n}\n" for n in range(30)})
        for n in range(30):
            os.utime(desk.root / f"n{n}.md", ns=(10**18 + n, 10**18 + n))
        await take_up_folder(desk.vault)
        await desk.look()
        root, database = desk.root, desk.vault.db.path
    lay_out_notes(database, root, StorageSettings())
    async with desk_in(opening) as desk:
        read: list[int] = []
        whole = reconciliation._read_all

        async def counted(run, reads, report):  # type: ignore[no-untyped-def]
            read.append(len(reads))
            await whole(run, reads, report)

        monkeypatch.setattr(reconciliation, "_read_all", counted)
        await desk.look()
        assert read == [0]
        await desk.put({"n3.md": "other text\n"})
        assert read == [0, 1]


async def test_verify_tells_of_a_folder_that_is_not_what_is_kept(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await desk.done("note_write", path="a.md", content="a\n")
        await desk.done("note_write", path="b.md", content="b\n")
        (desk.root / "a.md").unlink()
        await desk.put({"c.md": "c\n"})
        assert await kept_file_check.count_differing(desk.vault) == 2
        report = await verify(desk.vault)
        assert {each.code: each.count for each in report.findings if each.severity == "error"} == {
            "note_files_differ": 2
        }


def test_files_too_large_to_be_kept_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(note_files, "MAX_BYTES", 10)
    rows = [NoteFile("a", "0", 5, 1), NoteFile("gone", "0", 5, 1), NoteFile("unread/gone", "0", 5, 1)]
    found = [WalkedFile(path, FileStamp(size, 1, 1, 1), 0o600) for path, size in (("a", 5), ("big", 11), ("new", 3))]
    differing = compare_folder(rows, found, ["unread"])
    assert [each.path for each in differing.saved] == ["new"]
    assert [each.path for each in differing.missing] == ["gone"]
    assert differing.unkept == ["big"]


def test_the_walk_finds_every_file_and_names_what_it_cannot_carry(tmp_path: Path) -> None:
    for path in ("a.md", "x/.hidden/b", "node_modules/c.js", ".git/HEAD", "x/.git/HEAD"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (tmp_path / "x" / ".strongroom-new-0123abcd.tmp").write_text("half")
    (tmp_path / "link.md").symlink_to("a.md")
    os.mkfifo(tmp_path / "x" / "pipe")
    (tmp_path / os.fsdecode(b"odd\xff.md")).write_text("odd")
    walk = Tree(tmp_path).walk_whole()
    assert sorted(each.path for each in walk.found) == ["a.md", "node_modules/c.js", "x/.hidden/b"]
    assert sorted(each.path for each in walk.skipped) == ["link.md", "odd\ufffd.md", "x/pipe"]
    assert [each.path for each in Tree(tmp_path).walk_whole("x").found] == ["x/.hidden/b"]
    assert [each.path for each in Tree(tmp_path).walk_whole("a.md").found] == ["a.md"]
    assert Tree(tmp_path).walk_whole("none/at/all").found == []


async def test_the_sync_loop_takes_up_what_is_saved_and_brings_back_what_is_gone(opening: Opening) -> None:
    """Covers vaults.domain.notes.sync.sync_loop."""
    async with opening({"embedding.engine": "off"}) as services:
        ask = asker(services)
        assert (await ask("note_write", path="a.md", content="by a tool\n")).ok
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await vault.notes.wait_for_index(PATIENCE_S)
            put(vault.notes.root, {"b.md": "by hand\n"})
            await until(services, lambda tx: kept_in(tx) == {"a.md": b"by a tool\n", "b.md": b"by hand\n"})
            (vault.notes.root / "a.md").unlink()
            await until(services, lambda tx: (vault.notes.root / "a.md").exists())
            assert (await ask("note_read", path="a.md")).ok
