"""A change that a kill interrupted at any of its steps is carried through or taken back, all of it.

Covers vaults.domain.notes.commit.file_placement, vaults.files.file_stamps.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import Opening
from tests.vaults.domain.notes.notes_desk import Desk, desk_in
from vaults.db.sql import Writer
from vaults.domain.actors import Actor
from vaults.domain.notes.commit import file_placement, journal, recovery
from vaults.domain.notes.commit.journal import FileChange, NoteChange
from vaults.domain.notes.index import note_rows
from vaults.domain.notes.index.extraction import compute_digest
from vaults.files.file_stamps import stamp_of

ACTOR = Actor("tester", "tester")
OUTSIDE = b"# Somebody else\n\nwrote this\n"

Files = dict[str, bytes]


@dataclass(frozen=True)
class Step:
    """One file of a change: what it was, what it becomes, and where."""

    path: str
    before: bytes | None
    after: bytes | None
    to: str | None = None

    @property
    def target(self) -> str:
        return self.to or self.path


STEPS = [
    Step("new.md", None, b"# New\n"),
    Step("edited.md", b"# Edited\n", b"# Edited\n\nmore\n"),
    Step("removed.md", b"# Removed\n", None),
    Step("moved.md", b"# Moved\n\n[[edited]]\n", b"# Moved\n\n[[../edited]]\n", "sub/moved.md"),
    Step("renamed.md", b"# Renamed\n", b"# Renamed\n", "other.md"),
]

STAGES = ("nothing", "new", "edited", "removed", "moved only", "moved", "renamed")
"""How far the change had come when it was killed, step by step."""


@pytest.fixture
async def desk(opening: Opening) -> AsyncIterator[Desk]:
    async with desk_in(opening) as found:
        yield found


def files_in(folder: Path) -> Files:
    return {
        each.relative_to(folder).as_posix(): each.read_bytes()
        for each in folder.rglob("*")
        if each.is_file() and not each.name.startswith(".")
    }


def before() -> Files:
    return {step.path: step.before for step in STEPS if step.before is not None}


def after() -> Files:
    return {step.target: step.after for step in STEPS if step.after is not None}


def write(folder: Path, path: str, data: bytes) -> None:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def advance(folder: Path, name: str, stage: int) -> None:
    """Do as the change does, up to a stage."""
    if stage >= STAGES.index("new"):
        write(folder, "new.md", STEPS[0].after or b"")
    if stage >= STAGES.index("edited"):
        write(folder, "edited.md", STEPS[1].after or b"")
    if stage >= STAGES.index("removed"):
        there = folder / "removed.md"
        each = FileChange(f"{name}/removed.md", STEPS[2].before, None)
        there.rename(folder.parent / file_placement._hidden_path(each, stamp_of(there.stat())))
    if stage >= STAGES.index("moved only"):
        (folder / "sub").mkdir()
        (folder / "moved.md").rename(folder / "sub/moved.md")
    if stage >= STAGES.index("moved"):
        write(folder, "sub/moved.md", STEPS[3].after or b"")
    if stage >= STAGES.index("renamed"):
        (folder / "renamed.md").rename(folder / "other.md")


async def begun(desk: Desk, name: str) -> int:
    """Write the change down, as whoever was killed did; returns its number."""
    files = [
        FileChange(f"{name}/{step.path}", step.before, step.after, f"{name}/{step.to}" if step.to else None)
        for step in STEPS
    ]
    change = NoteChange("note_move", "moved", files)
    names = journal.name_versions(change)
    packed = journal.pack_versions(change, names, {})
    return (await desk.vault.db.write(lambda tx: journal.begin_change(tx, ACTOR, change, names, packed))).seq


async def killed(desk: Desk, name: str, stage: int) -> tuple[Path, int]:
    """A folder in which the change was killed at a stage, and the number of the change."""
    folder = desk.root / name
    await desk.put({f"{name}/{path}": data for path, data in before().items()})
    seq = await begun(desk, name)
    advance(folder, name, stage)
    return folder, seq


async def states(desk: Desk) -> dict[int, str]:
    return dict(await desk.vault.db.read(lambda tx: tx.all("SELECT seq, state FROM note_changes")))


async def check(desk: Desk, folder: Path, expected: Mapping[str, bytes], what: object) -> None:
    """These files, rows that say so, nothing hidden, and nothing left to do."""
    assert files_in(folder) == expected, what
    assert await recovery.recover(desk.vault) == 0
    assert files_in(folder) == expected, what
    rows = {each.path: each.hash for each in await desk.vault.db.read(lambda tx: note_rows.find_below(tx, folder.name))}
    assert rows == {f"{folder.name}/{path}": compute_digest(data) for path, data in expected.items()}, what
    desk.vault.notes.tree.sweep()
    assert not [each for each in folder.rglob(".*") if each.is_file()], what
    assert files_in(folder) == expected, what


async def test_a_change_killed_at_any_step_is_carried_through(desk: Desk) -> None:
    for stage, name in enumerate(STAGES):
        folder, seq = await killed(desk, f"f{stage}", stage)
        assert await recovery.recover(desk.vault) == 1
        await check(desk, folder, after(), name)
        assert (await states(desk))[seq] == "done"


async def test_a_change_whose_caller_was_refused_is_taken_back(desk: Desk) -> None:
    for stage, name in enumerate(STAGES):
        folder, seq = await killed(desk, f"f{stage}", stage)
        desk.vault.notes.refused.add(seq)
        assert await recovery.recover(desk.vault) == 1
        await check(desk, folder, before(), name)
        assert (await states(desk))[seq] == "failed"
        assert not desk.vault.notes.refused


@pytest.mark.parametrize("touched", STEPS, ids=[step.path for step in STEPS])
async def test_what_somebody_wrote_meanwhile_stays_and_the_rest_is_taken_back(desk: Desk, touched: Step) -> None:
    for stage, name in enumerate(STAGES):
        folder, seq = await killed(desk, f"f{stage}", stage)
        where = touched.target if (folder / touched.target).exists() else touched.path
        write(folder, where, OUTSIDE)
        assert await recovery.recover(desk.vault) == 1
        expected = {path: data for path, data in before().items() if path != touched.path} | {where: OUTSIDE}
        await check(desk, folder, expected, name)
        assert (await states(desk))[seq] == "failed"


def _lose(tx: Writer, name: str) -> None:
    tx.run("DELETE FROM note_versions WHERE hash = ?", (name,))


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_without_a_version_no_file_is_removed(desk: Desk, lost: str) -> None:
    """An edit whose new text is lost must not become a removal."""
    for stage, name in enumerate(STAGES):
        folder, seq = await killed(desk, f"f{stage}", stage)
        victim = STEPS[1].before if lost == "before" else STEPS[1].after
        await desk.vault.db.write(partial(_lose, name=compute_digest(victim or b"")))
        desk.vault.notes.refused.update({seq} if lost == "before" else ())
        found = files_in(folder)
        assert await recovery.recover(desk.vault) == 1
        back = lost == "after" and stage < STAGES.index("edited")
        there = lost == "before" and stage >= STAGES.index("edited")
        whole = lost == "after" and not back
        await check(desk, folder, found if there else after() if whole else before(), name)
        assert (await states(desk))[seq] == ("done" if whole else "failed")
        await desk.vault.db.write(lambda tx: tx.run("DELETE FROM note_changes"))
        await desk.vault.db.write(lambda tx: tx.run("DELETE FROM note_versions"))


async def test_damaged_versions_are_no_versions(desk: Desk) -> None:
    folder, seq = await killed(desk, "f", 0)
    await desk.vault.db.write(lambda tx: tx.run("UPDATE note_versions SET data = x'00'"))
    assert await recovery.recover(desk.vault) == 1
    await check(desk, folder, before(), "damaged")
    assert (await states(desk))[seq] == "failed"


async def test_the_oldest_of_several_changes_is_finished_first(desk: Desk) -> None:
    """Two processes were killed one after another; the second had read what the first had not yet written."""
    await desk.put({"log.md": "one\n"})
    for old, new in ((b"one\n", b"two\n"), (b"two\n", b"three\n")):
        change = NoteChange("note_edit", "edited", [FileChange("log.md", old, new)])
        names = journal.name_versions(change)
        packed = journal.pack_versions(change, names, {})
        await desk.vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'failed'"))
        await desk.vault.db.write(partial(journal.begin_change, actor=ACTOR, change=change, names=names, found=packed))
    await desk.vault.db.write(lambda tx: tx.run("UPDATE note_changes SET state = 'pending'"))
    assert await recovery.recover(desk.vault) == 2
    assert desk.text("log.md") == "three\n"


async def test_a_file_that_is_being_recovered_keeps_its_permissions(desk: Desk) -> None:
    await desk.put({"f/edited.md": STEPS[1].before or b""})
    (desk.root / "f/edited.md").chmod(0o640)
    change = NoteChange("note_edit", "edited", [FileChange("f/edited.md", STEPS[1].before, STEPS[1].after)])
    names = journal.name_versions(change)
    packed = journal.pack_versions(change, names, {})
    await desk.vault.db.write(lambda tx: journal.begin_change(tx, ACTOR, change, names, packed))
    assert await recovery.recover(desk.vault) == 1
    assert (desk.root / "f/edited.md").stat().st_mode & 0o777 == 0o640
    assert (desk.root / "f/edited.md").read_bytes() == STEPS[1].after
