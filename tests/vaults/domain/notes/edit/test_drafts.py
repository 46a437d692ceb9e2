"""Drafts: several changes of notes joined into one change of each file, and what each of them reads of those before.

Covers vaults.domain.notes.edit.amendments.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from server.services import Services
from tests.noted import folder, indexed, put
from tests.work import examples
from vaults.domain.notes.commit.journal import FileChange
from vaults.domain.notes.edit.amendments import Amendment, Revision
from vaults.domain.notes.edit.drafts import DraftNotes
from vaults.errors import AlreadyExists, Conflict, InvalidArgument, NotFound
from vaults.files.tree import FileStamp

STAMP = FileStamp(1, 2, 3, 4)
PATHS = ("a.md", "b.md", "c.md", "d.md")

Deed = tuple[str, str, str]


def applied(files: dict[str, bytes], change: FileChange) -> None:
    """Do to some files what a change says."""
    assert files.pop(change.path, None) == change.before
    if change.after is not None:
        assert change.target not in files, "nothing is ever written over"
        files[change.target] = change.after


def change_of(files: dict[str, bytes], deed: Deed, text: bytes) -> FileChange | None:
    """The change that a deed is, where it can be done."""
    kind, path, to = deed
    here = files.get(path)
    stamp = STAMP if here is not None else None
    if kind == "write" and (here is not None or path not in files):
        return FileChange(path, here, text, stamp=stamp)
    if kind == "remove" and here is not None:
        return FileChange(path, here, None, stamp=stamp)
    if kind == "move" and here is not None and to not in files:
        return FileChange(path, here, here + text, to, stamp)
    return None


DEEDS = st.lists(
    st.tuples(st.sampled_from(["write", "remove", "move"]), st.sampled_from(PATHS), st.sampled_from(PATHS)), max_size=12
)


@settings(max_examples=examples(300), deadline=None)
@given(st.sets(st.sampled_from(PATHS)), DEEDS)
def test_what_is_drafted_does_at_once_what_its_changes_did_one_after_another(
    there: set[str], deeds: list[Deed]
) -> None:
    before = {path: f"{path} as it was".encode() for path in there}
    now, draft = dict(before), DraftNotes(SimpleNamespace())  # type: ignore[arg-type]
    for number, deed in enumerate(deeds):
        change = change_of(now, deed, b"%d" % number)
        # A place that a note was moved away from, or removed from, is not a place for another to move to: see the tool.
        if change is None or (change.path != change.target and (change.target in before or _left(draft, change))):
            continue
        if change.before is None and change.path in before and not _removed(draft, change.path):
            continue
        applied(now, change)
        draft.put(change)
    files = dict(before)
    moves_last = sorted(draft.files, key=lambda each: each.before is None)
    for each in moves_last:
        assert (each.stamp is None) == (each.before is None), "the version on disk is what must still stand there"
        applied(files, each)
    assert files == now
    assert {path: files[path] for path in draft.paths} == {path: now[path] for path in draft.paths}


def _left(draft: DraftNotes, change: FileChange) -> bool:
    return any(change.target in (each.path, each.target) for each in draft.files)


def _removed(draft: DraftNotes, path: str) -> bool:
    return any(each.target == path and each.after is None for each in draft.files)


def appended(words: str) -> Any:
    return lambda text: Revision(text + words, "added to")


async def test_each_change_reads_what_those_before_it_left_and_the_disk_stays_as_it_is(services: Services) -> None:
    root = folder(services.data)
    put(root, {"plan.md": "# Plan\n", "old.md": "old\n", "gone.md": "gone\n"})
    await indexed(services, 3)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        draft = DraftNotes(vault)
        await draft.amend(Amendment("plan", appended("one\n")))
        await draft.amend(Amendment("PLAN.md", appended("two\n")))
        assert (await draft.open_note("plan")).text == "# Plan\none\ntwo\n"
        await draft.amend(Amendment("new/note", appended("begun\n"), start="nothing"))
        assert draft.read("new/note.md").text == "begun\n"
        assert draft.exists("new/note.md")
        for path, refusal in (("new/note.md", AlreadyExists), ("New/Note.md", Conflict), ("new/note.md/x", Conflict)):
            with pytest.raises(refusal):
                await draft.amend(Amendment(path, appended("x"), start="nothing"))
        with pytest.raises(AlreadyExists):
            await draft.amend(Amendment("old", appended("x"), start="nothing"))
        with pytest.raises(InvalidArgument):
            await draft.amend(Amendment("../old", appended("x"), start="nothing"))
        gone = await draft.open_note("gone")
        draft.put(FileChange(gone.path, gone.data, None, stamp=gone.stamp))
        with pytest.raises(NotFound):
            await draft.open_note("gone.md")
        assert not draft.exists("gone.md")
        await draft.amend(Amendment("gone", appended("again\n"), start="nothing"))
        assert {each.path: (each.before, each.after) for each in draft.files} == {
            "plan.md": (b"# Plan\n", b"# Plan\none\ntwo\n"),
            "new/note.md": (None, b"begun\n"),
            "gone.md": (b"gone\n", b"again\n"),
        }
    assert {path.name: path.read_text() for path in root.iterdir()} == {
        "plan.md": "# Plan\n", "old.md": "old\n", "gone.md": "gone\n"
    }  # fmt: skip


async def test_a_change_that_is_taken_back_in_the_draft_is_none(services: Services) -> None:
    put(folder(services.data), {"plan.md": "# Plan\n"})
    await indexed(services, 1)
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        draft = DraftNotes(vault)
        await draft.amend(Amendment("plan", appended("one\n")))
        await draft.amend(Amendment("plan", lambda text: Revision(text.removesuffix("one\n"), "removed from")))
        assert draft.files == []
