"""Changes as commits: behind the answers, in order, and none lost.

Covers vaults.history.vault_history.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from tests.work import PATIENCE_S
from vaults import pool_rounds
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import git_commits, journal
from vaults.domain.notes.commit.journal import ChangeRecord, FileChange, NoteChange
from vaults.domain.notes.commit.transaction import commit
from vaults.history.git import open_history

OWNER = Actor("owner", "owner", None)
AUTO: dict[str, Any] = {"notes.history": "auto"}
BATCH: dict[str, Any] = {"notes.history": "batch"}


async def write(desk: Desk, path: str, text: str | None, who: str = "owner") -> int:
    tree = desk.vault.notes.tree
    async with desk.vault.notes.writing():
        here = tree.read(path, 10_000_000) if tree.stamp(path) else None
        after = text.encode() if text is not None else None
        file = FileChange(path, here.data if here else None, after, stamp=here.stamp if here else None)
        done = await commit(desk.vault, Actor(who, who, None), NoteChange("note_edit", f"edited {path}", [file], "s1"))
    return done.seq


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():  # noqa: ASYNC110  what is waited for is in a database
            await asyncio.sleep(0.01)


async def none_owed(desk: Desk) -> bool:
    return not await desk.vault.db.read(lambda tx: journal.list_uncommitted(tx, 1))


def history(desk: Desk) -> Any:
    return open_history(desk.root, desk.vault.folder, desk.vault.entry.vault_id)


async def test_each_change_becomes_a_commit_that_says_who_and_what(opening: Opening) -> None:
    async with desk_in(opening, AUTO) as desk:
        await write(desk, "a.md", "one\n")
        await write(desk, "b.md", "[[a]]\n", "alice")
        moved = await desk.done("note_move", path="a", to="c/d")
        await until(lambda: none_owed(desk))
        log = history(desk).log(None, 10).commits
        assert [each.author for each in log] == ["owner", "alice", "owner"]
        assert log[1].message.splitlines() == [
            "[strongroom:note_edit] edited b.md",
            "",
            "Session: s1",
            f"Change: {(await desk.done('history', path='b'))['changes'][1]['id']}",
        ]
        assert set(log[0].paths) == {"a.md", "b.md", "c/d.md"}
        assert history(desk).content(log[0].id, "a.md") is None
        assert history(desk).content(log[0].id, "c/d.md") == b"one\n"
        entries = (await desk.done("history", path="c/d"))["changes"]
        assert [(each["id"], each["git"]) for each in entries] == [(moved["change"], log[0].id)]
        assert desk.vault.history.status == "auto"


async def test_a_tool_may_wait_for_its_commit(opening: Opening) -> None:
    async with desk_in(opening, BATCH) as desk:
        first = await write(desk, "a.md", "one\n")
        second = await write(desk, "a.md", "two\n")
        made = await git_commits.ensure_committed(desk.vault, second)
        assert made is not None
        assert history(desk).content(made, "a.md") == b"two\n"
        assert await git_commits.ensure_committed(desk.vault, first) == made


async def test_nothing_is_committed_where_history_is_off(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        seq = await write(desk, "a.md", "one\n")
        assert await git_commits.ensure_committed(desk.vault, seq) is None
        assert desk.vault.history.status == "off"
        assert not (desk.vault.folder / "history.git").exists()


async def test_a_batch_waits_and_is_committed_when_the_vault_closes(opening: Opening, tmp_path: Path) -> None:
    async with desk_in(opening, BATCH) as desk:
        for number in range(3):
            await write(desk, "a.md", f"{number}\n")
        await git_commits.commit_pending(desk.vault)
        assert not await none_owed(desk)
        folder, root, name = desk.vault.folder, desk.root, desk.vault.entry.vault_id
    log = open_history(root, folder, name).log(None, 10).commits
    assert len(log) == 1
    assert log[0].message.startswith("[strongroom:note_edit] 3 changes\n\n- edited a.md\n")
    async with desk_in(opening, BATCH) as desk:
        assert await none_owed(desk)
        # The commit holds all three: the log of the note shows each once.
        changes = (await desk.done("history", path="a"))["changes"]
        assert [each["source"] for each in changes] == ["journal"] * 3


def record(seq: int, author: str, second: float) -> ChangeRecord:
    at = datetime.fromisoformat("2026-11-22T05:00:00Z") + timedelta(seconds=second)
    return ChangeRecord(seq, f"id{seq}", at.isoformat(), author, "note_edit", None, "s", "done", None, "", [])


@pytest.mark.parametrize(
    ("mode", "made", "wanted"),
    [
        ("auto", [("a", 0), ("a", 1)], [[0], [1]]),
        ("batch", [("a", 0), ("a", 59), ("a", 60), ("a", 61)], [[0, 1], [2, 3]]),
        ("batch", [("a", 0), ("b", 1), ("a", 2), ("a", 3)], [[0], [1], [2, 3]]),
        ("batch", [("a", 0), ("a", -3600)], [[0], [1]]),
        ("batch", [], []),
    ],
)
def test_which_changes_share_a_commit(mode: str, made: list[tuple[str, float]], wanted: list[list[int]]) -> None:
    owed = [record(number, author, second) for number, (author, second) in enumerate(made)]
    assert [[each.seq for each in batch] for batch in git_commits.group_batches(owed, mode)] == wanted


async def test_a_broken_repository_stops_no_save_and_is_made_up_for(opening: Opening, tmp_path: Path) -> None:
    async with desk_in(opening, AUTO) as desk:
        own = desk.vault.folder / "history.git"
        await write(desk, "a.md", "one\n")
        await until(lambda: none_owed(desk))
        shutil.move(own / "objects", own / "elsewhere")
        second = await write(desk, "a.md", "two\n")
        assert await git_commits.ensure_committed(desk.vault, second) is None
        assert desk.vault.history.status.startswith("unavailable: the repository is ")
        assert desk.text("a.md") == "two\n"
        log = await desk.done("history", path="a")
        assert [each["source"] for each in log["changes"]] == ["journal"] * 2
        assert log["warnings"]
        shutil.move(own / "elsewhere", own / "objects")
        third = await write(desk, "a.md", "three\n")
        assert await git_commits.ensure_committed(desk.vault, third)
        assert desk.vault.history.status == "auto"
        assert len(history(desk).log("a.md", 10).commits) == 3


async def test_what_a_killed_process_owed_is_committed_at_the_next_opening(opening: Opening) -> None:
    async with desk_in(opening) as desk:
        await write(desk, "a.md", "one\n")
        await desk.vault.db.write(lambda tx: tx.run("UPDATE note_changes SET git = ''"))
    async with desk_in(opening, AUTO) as desk:
        await until(lambda: none_owed(desk))
        assert len(history(desk).log(None, 10).commits) == 1


async def test_what_a_process_without_the_lease_changed_is_committed_by_the_one_that_has_it(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_rounds, "ROUND_S", 0.05)
    monkeypatch.setattr(pool_rounds, "SWEEP_AFTER_S", 0.0)
    async with desk_in(opening, AUTO) as one, desk_in(opening, AUTO, alone=False) as two:
        assert one.vault.lease.held
        assert not two.vault.lease.held
        await write(two, "a.md", "one\n")
        await until(lambda: none_owed(one))


async def test_versions_that_are_gone_and_names_git_cannot_hold_are_passed_over(opening: Opening) -> None:
    async with desk_in(opening, BATCH) as desk:
        lost = await write(desk, "a.md", "one\n")
        await desk.vault.db.write(lambda tx: tx.run("DELETE FROM note_versions"))
        desk.vault.notes.kept.clear()
        assert await git_commits.ensure_committed(desk.vault, lost) is None
        odd = await write(desk, "git~1/x.md", "one\n")
        assert await git_commits.ensure_committed(desk.vault, odd) is None
        good = await write(desk, "b.md", "one\n")
        assert await git_commits.ensure_committed(desk.vault, good)
        assert await none_owed(desk)


async def test_two_processes_commit_no_change_twice(opening: Opening, tmp_path: Path) -> None:
    async with desk_in(opening, BATCH) as one, desk_in(opening, BATCH, alone=False) as two:
        for number in range(12):
            await write((one, two)[number % 2], "a.md", f"{number}\n", f"w{number % 2}")
        await asyncio.gather(*(git_commits.commit_all_pending(each.vault) for each in (one, two, one, two)))
        log = history(one).log(None, 100).commits
        assert [history(one).content(each.id, "a.md") for each in log] == [f"{n}\n".encode() for n in range(11, -1, -1)]


async def test_commits_of_the_repository_around_are_listed_and_restored(opening: Opening, tmp_path: Path) -> None:
    pygit2 = pytest.importorskip("pygit2")
    async with desk_in(opening, AUTO) as desk:
        repository = pygit2.init_repository(str(desk.root))
        await desk.put({"a.md": "by hand\n"})
        repository.index.add("a.md")
        tree = repository.index.write_tree()
        ann = pygit2.Signature("Ann", "ann@example.org", 1_700_000_000, 0)
        made = str(repository.create_commit("refs/heads/main", ann, ann, "Start\n\nmore", tree, []))
        repository.set_head("refs/heads/main")
        seq = await write(desk, "a.md", "by a tool\n")
        assert await git_commits.ensure_committed(desk.vault, seq)
        changes = (await desk.done("history", path="a"))["changes"]
        assert [(each["source"], each["author"]) for each in changes] == [("journal", "owner"), ("git", "Ann")]
        assert (changes[1]["id"], changes[1]["summary"]) == (made, "Start")
        pages = []
        for before in (None, changes[0]["id"], changes[1]["id"]):
            page = await desk.done("history", path="a", limit=1, **({"before": before} if before else {}))
            pages.append([each["id"] for each in page["changes"]])
        assert pages == [[changes[0]["id"]], [made], []]
        shown = await desk.done("history", action="diff", ref=made[:10], path="a")
        assert (shown["ref"], shown["diff"]) == (made, "--- a/a.md\n+++ b/a.md\n@@ -0,0 +1 @@\n+by hand\n")
        assert (await desk.ask("history", action="undo", ref=made)).code == "invalid_argument"
        await desk.done("history", action="restore", ref=made[:10], path="a")
        assert desk.text("a.md") == "by hand\n"
        assert repository.head.target == pygit2.Oid(hex=made)
        assert repository.status_file("a.md") == pygit2.GIT_STATUS_CURRENT
