"""What a look at the files makes of the index: pure plans, and notes that people move about.

Covers vaults.files.failures.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.domain.notes.commit import overwrites
from vaults.domain.notes.index import note_rows, reconciliation
from vaults.domain.notes.index.extraction import compute_digest
from vaults.domain.notes.index.note_rows import KnownNote
from vaults.domain.notes.index.reconciliation import RACY_NS, NotesVanished, plan_reconcile
from vaults.errors import VaultUnavailable
from vaults.files.tree import FileStamp, FoundNote
from vaults.index import embeddings

NOW = 10**18
OLD = NOW - 10 * RACY_NS


def known(path: str, inode: int, *, mtime: int = OLD, complete: bool = True) -> KnownNote:
    stamp = FileStamp(10, mtime, inode, 1)
    return KnownNote(inode, path, f"hash{inode}", stamp, NOW, complete)


def found(path: str, inode: int, *, mtime: int = OLD, size: int = 10) -> FoundNote:
    return FoundNote(path, FileStamp(size, mtime, inode, 1))


def told(known: list[KnownNote], found: list[FoundNote], unread: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    todo = plan_reconcile(known, found, unread)
    return {
        "read": sorted(each.path for each in todo.read),
        "moved": sorted((old.path, new.path) for old, new in todo.moved),
        "gone": sorted(each.path for each in todo.gone),
    }


def test_what_is_as_it_was_is_left_alone() -> None:
    assert told([known("a.md", 1)], [found("a.md", 1)]) == {"read": [], "moved": [], "gone": []}


def test_new_and_changed_files_are_read() -> None:
    found_ = [found("a.md", 1, size=11), found("b.md", 2)]
    assert told([known("a.md", 1)], found_) == {"read": ["a.md", "b.md"], "moved": [], "gone": []}
    assert plan_reconcile([known("a.md", 1)], found_).held == {"a.md": "hash1"}


@pytest.mark.parametrize("younger", [0, RACY_NS - 1, RACY_NS])
def test_a_file_written_just_before_it_was_read_is_read_again(younger: int) -> None:
    mtime = NOW - younger
    assert told([known("a.md", 1, mtime=mtime)], [found("a.md", 1, mtime=mtime)])["read"] == ["a.md"]


def test_a_file_from_the_future_is_read_again() -> None:
    assert told([known("a.md", 1, mtime=NOW * 2)], [found("a.md", 1, mtime=NOW * 2)])["read"] == ["a.md"]


def test_a_note_whose_links_are_still_to_be_read_is_read_again() -> None:
    incomplete = known("a.md", 1, complete=False)
    assert told([incomplete], [found("a.md", 1)])["read"] == ["a.md"]
    assert plan_reconcile([incomplete], [found("a.md", 1)]).held == {"a.md": "hash1"}, (
        "whole it is read by the chore alone"
    )


def test_the_same_file_at_another_path_was_moved() -> None:
    assert told([known("a.md", 1)], [found("sub/b.md", 1)]) == {"read": [], "moved": [("a.md", "sub/b.md")], "gone": []}


def test_a_file_that_may_have_changed_on_its_way_is_read() -> None:
    racy = known("a.md", 1, mtime=NOW)
    assert told([racy], [found("b.md", 1, mtime=NOW)]) == {"read": ["b.md"], "moved": [], "gone": ["a.md"]}


def test_two_names_of_one_file_are_moved_once() -> None:
    assert told([known("a.md", 1)], [found("b.md", 1), found("c.md", 1)]) == {
        "read": ["c.md"],
        "moved": [("a.md", "b.md")],
        "gone": [],
    }


def test_names_that_were_swapped_are_read() -> None:
    before = [known("a.md", 1), known("b.md", 2)]
    assert told(before, [found("a.md", 2), found("b.md", 1)]) == {"read": ["a.md", "b.md"], "moved": [], "gone": []}


def test_a_row_of_renames_is_read_where_a_name_stayed() -> None:
    before = [known("a.md", 1), known("b.md", 2)]
    assert told(before, [found("b.md", 1), found("c.md", 2)]) == {
        "read": ["b.md", "c.md"],
        "moved": [],
        "gone": ["a.md"],
    }


@pytest.mark.parametrize(
    ("unread", "gone"),
    [
        ((), ["a.md", "x/b.md", "xy/c.md"]),
        (("x",), ["a.md", "xy/c.md"]),
        (("",), []),
        (("a.md",), ["x/b.md", "xy/c.md"]),
    ],
)
def test_what_could_not_be_listed_is_not_gone(unread: tuple[str, ...], gone: list[str]) -> None:
    before = [known("a.md", 1), known("x/b.md", 2), known("xy/c.md", 3)]
    assert told(before, [], unread)["gone"] == gone


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening, {"embedding.engine": "auto"}) as desk:
        yield desk


def aged(desk: Desk) -> None:
    """Let no file be so young that it is read again."""
    for each in desk.root.rglob("*.md"):
        os.utime(each, ns=(OLD, OLD))


async def rows(desk: Desk) -> dict[str, int]:
    return {each.path: each.seq for each in await desk.vault.db.read(note_rows.find_known)}


async def vectors(desk: Desk) -> dict[int, bytes]:
    """A note's vectors by the passage's number, once none is owed."""
    desk.vault.start_background_work()
    assert desk.vault.background.due_work is not None
    await desk.vault.background.due_work
    assert await desk.vault.db.read(embeddings.count_missing) == 0
    return dict(await desk.vault.db.read(lambda tx: tx.all("SELECT passage, change FROM embeddings")))


async def agrees(desk: Desk) -> None:
    """Rows as the files are, and full text as the rows."""
    files = {each: compute_digest((desk.root / each).read_bytes()) for each in desk.digests() if each.endswith(".md")}
    assert {each.path: each.hash for each in await desk.vault.db.read(note_rows.find_known)} == files


NOTES = {"a.md": "# A\n\nfirst words\n", "b.md": "# B\n\nsecond words\n", "sub/c.md": "# C\n\nthird words\n"}


def _renamed(root: Path) -> None:
    (root / "a.md").rename(root / "other.md")


def _moved(root: Path) -> None:
    (root / "sub/deep").mkdir()
    (root / "a.md").rename(root / "sub/deep/a.md")


def _copied(root: Path) -> None:
    (root / "sub/z.md").write_bytes((root / "a.md").read_bytes())
    (root / "a.md").unlink()


@pytest.mark.parametrize(("move", "to"), [(_renamed, "other.md"), (_moved, "sub/deep/a.md"), (_copied, "sub/z.md")])
async def test_a_note_moved_by_a_person_keeps_number_and_vectors(
    desk: Desk, move: Callable[[Path], None], to: str
) -> None:
    await desk.put(NOTES)
    aged(desk)
    await desk.look()
    before, held = await rows(desk), await vectors(desk)
    move(desk.root)
    await desk.look()
    after = await rows(desk)
    assert after == {**{path: seq for path, seq in before.items() if path != "a.md"}, to: before["a.md"]}
    assert await vectors(desk) == held
    folders = await desk.vault.db.read(lambda tx: tx.all("SELECT folder FROM passages WHERE item = ?", (after[to],)))
    assert folders == [(to.rpartition("/")[0],)]
    await agrees(desk)


async def test_a_folder_renamed_keeps_every_number(desk: Desk) -> None:
    await desk.put({f"old/{number}.md": f"# N{number}\n\nwords {number}\n" for number in range(40)})
    aged(desk)
    await desk.look()
    before = await rows(desk)
    (desk.root / "old").rename(desk.root / "new")
    outcome = await reconciliation.reconcile_all(desk.vault)
    assert await rows(desk) == {path.replace("old/", "new/"): seq for path, seq in before.items()}
    assert len(outcome.changed) == len(outcome.gone) == 40


@pytest.mark.parametrize("names", [("a.md", "b.md"), ("b.md", "c.md", "a.md")], ids=["swapped", "round"])
async def test_notes_that_trade_names_hold_each_others_text(desk: Desk, names: tuple[str, ...]) -> None:
    await desk.put({name: f"# {name}\n\nwords of {name}\n" for name in names})
    aged(desk)
    await desk.look()
    (desk.root / names[0]).rename(desk.root / "x.tmp")
    for one, other in zip(names[1:], names, strict=False):
        (desk.root / one).rename(desk.root / other)
    (desk.root / "x.tmp").rename(desk.root / names[-1])
    await desk.look()
    await agrees(desk)


async def test_a_row_of_renames_leaves_rows_as_the_files(desk: Desk) -> None:
    await desk.put({"a.md": "# A\n\none\n", "b.md": "# B\n\ntwo\n", "c.md": "# C\n\nthree\n"})
    aged(desk)
    await desk.look()
    for one, other in (("c", "d"), ("b", "c"), ("a", "b")):
        (desk.root / f"{one}.md").rename(desk.root / f"{other}.md")
    await desk.look()
    await agrees(desk)


async def test_a_file_that_may_not_be_read_keeps_its_row(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.put(NOTES)
    before = await desk.vault.db.read(note_rows.find_known)
    tree, read = desk.vault.notes.tree, desk.vault.notes.tree.read

    def refused(path: str, limit: int) -> Any:
        if path == "a.md":
            raise PermissionError(13, "no")
        return read(path, limit)

    monkeypatch.setattr(tree, "read", lambda path, limit: _typed(refused, path, limit))
    (desk.root / "a.md").write_text("# A\n\nother words, hidden\n")
    await desk.look()
    assert [each for each in await desk.vault.db.read(note_rows.find_known) if each.path == "a.md"] == [
        each for each in before if each.path == "a.md"
    ]
    skipped = await desk.vault.db.read(lambda tx: tx.all("SELECT path FROM notes_skipped"))
    assert skipped == [("a.md",)]
    monkeypatch.undo()
    await desk.look()
    await agrees(desk)
    assert await desk.vault.db.read(lambda tx: tx.all("SELECT path FROM notes_skipped")) == []


def _typed(read: Callable[[str, int], Any], path: str, limit: int) -> Any:
    from vaults.files.failures import translate_os_errors

    with translate_os_errors(path):
        return read(path, limit)


async def test_a_folder_that_lost_its_disk_is_unavailable(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    await desk.put({f"{number}.md": f"# N{number}\n" for number in range(30)})
    before = await rows(desk)
    for each in desk.root.glob("*.md"):
        each.unlink()
    monkeypatch.setattr(desk.vault.notes.tree, "device", lambda: 999_999)
    for expected in (0, 30, 1000):
        with pytest.raises(VaultUnavailable) as failure:
            await reconciliation.reconcile_all(desk.vault, expected=expected)
        assert not isinstance(failure.value, NotesVanished)
    assert await rows(desk) == before


async def test_most_notes_gone_is_believed_when_they_are_still_gone_at_a_second_look(desk: Desk) -> None:
    await desk.put({f"{number}.md": f"# N{number}\n" for number in range(30)})
    before = await rows(desk)
    for number in range(25):
        (desk.root / f"{number}.md").unlink()
    with pytest.raises(NotesVanished) as failure:
        await reconciliation.reconcile_all(desk.vault)
    assert failure.value.missing == 25
    assert await rows(desk) == before
    (desk.root / "25.md").unlink()
    with pytest.raises(NotesVanished):  # more than before: it is still going on
        await reconciliation.reconcile_all(desk.vault, expected=25)
    await reconciliation.reconcile_all(desk.vault, expected=26)
    await agrees(desk)


async def test_a_few_notes_gone_are_gone_at_once(desk: Desk) -> None:
    await desk.put({f"{number}.md": f"# N{number}\n" for number in range(30)})
    for number in range(15):
        (desk.root / f"{number}.md").unlink()
    await reconciliation.reconcile_all(desk.vault)
    await agrees(desk)


@pytest.mark.parametrize("paths", [None, ["sub"]])
async def test_a_look_that_finds_all_as_it_was_commits_nothing(desk: Desk, paths: list[str] | None) -> None:
    await desk.put(NOTES)
    (desk.root / "sub/odd.md").write_bytes(b"\xff\xfe\x00")
    aged(desk)
    await desk.look()
    await vectors(desk)
    before = desk.vault.db.mark()
    await (
        reconciliation.reconcile_all(desk.vault) if paths is None else reconciliation.reconcile_paths(desk.vault, paths)
    )
    assert desk.vault.db.mark() == before


async def test_why_a_file_is_skipped_is_forgotten_with_it(desk: Desk) -> None:
    await desk.put({"sub/odd.md": ""})
    (desk.root / "sub/odd.md").write_bytes(b"\xff\xfe\x00")
    await desk.look()
    assert list(await desk.vault.db.read(note_rows.list_skipped)) == ["sub/odd.md"]
    assert list(await desk.vault.db.read(lambda tx: note_rows.list_skipped(tx, ["sub"]))) == ["sub/odd.md"]
    (desk.root / "sub/odd.md").unlink()
    await reconciliation.reconcile_paths(desk.vault, ["sub"])
    assert not await desk.vault.db.read(note_rows.list_skipped)


async def test_a_note_of_no_disk_at_all_is_no_ones(desk: Desk) -> None:
    shutil.rmtree(desk.root)
    with pytest.raises(VaultUnavailable):
        await reconciliation.reconcile_all(desk.vault)
    await overwrites.detect_overwrites(desk.vault, ["a.md"])
