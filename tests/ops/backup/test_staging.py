"""What is staged of a vault is its state at one moment, whoever writes meanwhile.

Covers vaults.db.database_copy, vaults.files.scratch_folders, ops.backup.held_vault, ops.backup.vault_measure,
ops.backup.file_copy, ops.backup.notes_copy, ops.backup.notes_at_moment, ops.backup.history_copy, ops.backup.contents,
ops.backup.questions, ops.backup.subject, ops.backup.pace.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from auth.roles import Role
from ops.backup import contents, file_copy, history_copy, notes_copy, questions
from ops.backup import staging as stagings
from ops.backup.file_copy import Restless, copy_file
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.notes_copy import UNREADABLE, copy_folder
from ops.backup.pace import Pace
from ops.backup.staging import stage, stage_alone
from ops.backup.subject import VaultRecord
from server import vault_admin
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.noted import folder, put
from tests.ops.backup.material import scratch, subject_of
from tests.ops.backup.staged import contents as files_in
from tests.people import give_role
from tests.work import PATIENCE_S
from vaults.db import database_copy
from vaults.db.connection import open_raw
from vaults.db.database_copy import DatabaseSnapshot, open_copy, open_snapshot, refuse_damaged
from vaults.db.sql import Reader, Writer
from vaults.errors import Cancelled, Conflict, StorageFull, VaultQuarantined, VaultUnavailable
from vaults.settings import StorageSettings
from vaults.vault_gate import VaultGate, hold_exclusively


async def staged(services: Services, into: Path, vault: str = "main", pace: Pace | None = None) -> BackupManifest:
    subject = await subject_of(services, vault)
    return (await asyncio.to_thread(stage, subject, into, pace)).manifest


async def stored(ask: Asking, *texts: str) -> list[str]:
    return [str((await ask("remember", content=text, title=text)).content["id"]) for text in texts]


async def test_what_is_staged_says_what_is_in_it(services: Services, ask: Asking, tmp_path: Path) -> None:
    ids = await stored(ask, "harbour pilot at nine", "the crane is green")
    put(
        folder(tmp_path),
        {"a.md": "# A\n", "deep/b.md": b"\xff\xfe", "deep/picture.png": b"\x89PNG", ".obsidian/x.json": "{}"},
    )
    await give_role(services, "ann")
    into = scratch(tmp_path)
    manifest = await staged(services, into)
    files = files_in(into)
    assert {each.path: (each.size, each.sha256) for each in manifest.members} == {
        path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in files.items()
    }
    assert {path: data for path, data in files.items() if path.startswith("notes/")} == {
        "notes/a.md": b"# A\n",
        "notes/deep/b.md": b"\xff\xfe",
        "notes/deep/picture.png": b"\x89PNG",
        "notes/.obsidian/x.json": b"{}",
    }
    entry = services.registry_cache.entry("main")
    assert (manifest.vault, manifest.vault_id, manifest.installation) == ("main", entry.vault_id, services.instance_id)
    assert (manifest.counts["memories"], manifest.in_place, manifest.kind) == (2, False, "vault")
    assert manifest.position > 0
    record = VaultRecord.model_validate_json(files["settings.json"], strict=False)
    assert (record.name, record.path, record.write_mode) == ("main", None, "auto")
    assert [(each.subject, each.role) for each in record.grants] == [("ann", Role.WRITER.label)]
    with open_copy(into / "vault.db") as tx:
        assert [row[0] for row in tx.all("SELECT id FROM memories ORDER BY seq")] == ids
        assert contents.differs(tx, manifest) == []
        for question in manifest.questions:
            assert questions.ask(tx, question.text) == question.answers
    assert {answer for each in manifest.questions for answer in each.answers} == set(ids)
    assert sorted(path for path in files if path.startswith("vault.db")) == ["vault.db"]


async def test_writers_go_on_and_what_they_write_after_that_moment_is_not_in_it(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(ask, "before")
    monkeypatch.setattr(database_copy, "STEP_PAGES", 4)
    loop, steps = asyncio.get_running_loop(), list[str]()

    class Writing(Pace):
        def spend(self, count: int) -> None:
            if len(steps) < 3:
                steps.append(asyncio.run_coroutine_threadsafe(stored(ask, f"meanwhile {len(steps)}"), loop).result()[0])

    into = scratch(tmp_path)
    manifest = await staged(services, into, pace=Writing())
    assert len(steps) == 3
    assert manifest.counts["memories"] == 1
    with open_copy(into / "vault.db") as tx:
        assert tx.all("SELECT content FROM memories") == [("before",)]
        assert tx.value("PRAGMA integrity_check") == "ok"
    assert (await ask("status")).content["memories"]["living"] == 4


async def test_a_vault_that_somebody_wants_alone_is_left_alone(services: Services, tmp_path: Path) -> None:
    subject = await subject_of(services)
    async with hold_exclusively(subject.folder, 0.0):
        with pytest.raises(Conflict, match="restored"):
            await staged(services, scratch(tmp_path, "one"))
        await asyncio.to_thread(stage_alone, subject, scratch(tmp_path, "two"))
    await staged(services, scratch(tmp_path, "three"))


async def test_a_copy_ends_when_somebody_wants_the_vault_alone(services: Services, tmp_path: Path) -> None:
    loop, subject, wanting = asyncio.get_running_loop(), await subject_of(services), list[asyncio.Future[None]]()

    async def want() -> None:
        async with hold_exclusively(subject.folder, PATIENCE_S):
            pass

    async def begin() -> None:
        wanting.append(asyncio.ensure_future(want()))

    class Meanwhile(Pace):
        def spend(self, count: int) -> None:
            if not wanting:
                asyncio.run_coroutine_threadsafe(begin(), loop).result()
            while not VaultGate(subject.folder).is_wanted():
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            super().spend(count)

    with pytest.raises(Conflict, match="restored"):
        await staged(services, scratch(tmp_path), pace=Meanwhile())
    await wanting[0]


async def test_without_room_nothing_is_copied_and_it_says_how_much_is_missing(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder(tmp_path), {"a.md": "x" * 5000})
    database = (await subject_of(services)).folder / "vault.db"
    monkeypatch.setattr("vaults.disk_reserve.free_bytes", lambda _: 1000)
    with pytest.raises(StorageFull) as refused:
        await staged(services, scratch(tmp_path))
    reserve = services.settings.storage.reserve_mb << 20
    assert refused.value.details["needed_bytes"] >= database.stat().st_size + 5000 + reserve
    assert refused.value.details["free_bytes"] == 1000
    assert files_in(tmp_path / "scratch") == {}


def test_ids_are_digested_the_same_however_many_are_read_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_raw(tmp_path / "a.db", StorageSettings(), writer=True)) as raw:
        raw.execute("CREATE TABLE memories (id TEXT UNIQUE)")
        raw.executemany("INSERT INTO memories VALUES (?)", [(f"{number:03}",) for number in range(10)])
        found = set()
        for page in (1, 3, 5, 10, 11):
            monkeypatch.setattr(contents, "_PAGE", page)
            found.add(contents.digest_ids(Reader(raw), "vault"))
    ids = "".join(f"{number:03}\n" for number in range(10))
    assert found == {hashlib.sha256(f"memories\n{ids}".encode()).hexdigest()}


async def test_the_digest_of_ids_tells_one_row_from_another(services: Services, ask: Asking, tmp_path: Path) -> None:
    await stored(ask, "one", "two")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.activity_log.flush()  # by itself it writes its rows some time later
    one = await staged(services, scratch(tmp_path, "one"))
    assert (await staged(services, scratch(tmp_path, "again"))).ids_digest == one.ids_digest
    await stored(ask, "three")
    two = await staged(services, scratch(tmp_path, "two"))
    assert two.ids_digest != one.ids_digest
    with open_copy(tmp_path / "two" / "vault.db") as tx:
        assert contents.differs(tx, one)[-1] == "ids"
        assert "memories" in contents.differs(tx, one)


Step = Any


def between(monkeypatch: pytest.MonkeyPatch, work: Step) -> None:
    """Have ``work`` done after the notes are copied and before time stops."""
    really = DatabaseSnapshot.take
    loop = asyncio.get_running_loop()

    def take(self: DatabaseSnapshot) -> None:
        asyncio.run_coroutine_threadsafe(work(), loop).result()
        really(self)

    monkeypatch.setattr(DatabaseSnapshot, "take", take)


def after(monkeypatch: pytest.MonkeyPatch, work: Step) -> None:
    """Have ``work`` done after time stopped."""
    really = DatabaseSnapshot.take
    loop = asyncio.get_running_loop()

    def take(self: DatabaseSnapshot) -> None:
        really(self)
        asyncio.run_coroutine_threadsafe(work(), loop).result()

    monkeypatch.setattr(DatabaseSnapshot, "take", take)


def notes_in(into: Path) -> dict[str, bytes]:
    return {path.removeprefix("notes/"): data for path, data in files_in(into).items() if path.startswith("notes/")}


async def ok(ask: Asking, tool: str, **arguments: Any) -> Any:
    outcome = await ask(tool, **arguments)
    assert outcome.ok, outcome
    return outcome.content


async def test_what_tools_changed_before_that_moment_is_in_it(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = folder(tmp_path)
    put(root, {"kept.md": "kept\n", "edited.md": "old\n", "gone.md": "gone\n", "moved.md": "moved\n"})
    await ok(ask, "note_write", path="made-before.md", content="x\n")

    async def change() -> None:
        await ok(ask, "note_write", path="edited.md", content="new\n", mode="overwrite")
        await ok(ask, "note_write", path="made.md", content="made\n")
        await ok(ask, "note_delete", path="gone.md", confirmed=True)
        await ok(ask, "note_move", path="moved.md", to="there/moved.md")

    between(monkeypatch, change)
    into = scratch(tmp_path)
    manifest = await staged(services, into)
    assert notes_in(into) == {
        "kept.md": b"kept\n", "edited.md": b"new\n", "made.md": b"made\n", "made-before.md": b"x\n",
        "there/moved.md": b"moved\n",
    }  # fmt: skip
    assert {each.path: each.sha256 for each in manifest.members if each.path.startswith("notes/")} == {
        f"notes/{path}": hashlib.sha256(data).hexdigest() for path, data in notes_in(into).items()
    }
    with open_copy(into / "vault.db") as tx:
        assert manifest.note_change == tx.value("SELECT MAX(seq) FROM note_changes")


async def test_what_tools_changed_after_that_moment_is_not_in_it(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder(tmp_path), {"a.md": "old\n"})

    async def change() -> None:
        await ok(ask, "note_write", path="a.md", content="new\n", mode="overwrite")

    after(monkeypatch, change)
    into = scratch(tmp_path)
    manifest = await staged(services, into)
    assert (notes_in(into), manifest.note_change) == ({"a.md": b"old\n"}, 0)


async def test_what_another_program_wrote_over_a_change_stays(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change was made before the note was copied, and so was what replaced it."""
    root = folder(tmp_path)
    await ok(ask, "note_write", path="a.md", content="by a tool\n")
    monkeypatch.setattr(stagings.notes_at_moment, "first_unsettled", lambda _: 1)
    put(root, {"a.md": "by an editor\n"})
    await staged(services, scratch(tmp_path))
    assert notes_in(tmp_path / "scratch") == {"a.md": b"by an editor\n"}


@pytest.mark.parametrize("path", ["../../climbed.md", "{out}/climbed.md", "a/../../../climbed.md"])
async def test_a_path_of_the_journal_leads_nowhere_else(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    await ok(ask, "note_write", path="a.md", content="x\n")
    planted = path.format(out=tmp_path)
    await run(services, "UPDATE note_change_files SET path = :path", path=planted)
    monkeypatch.setattr(stagings.notes_at_moment, "first_unsettled", lambda _: 1)
    manifest = await staged(services, scratch(tmp_path))
    assert list(tmp_path.rglob("climbed.md")) == []
    assert [each.path for each in manifest.remarks] == [planted]
    assert [each.path for each in manifest.members if each.path.startswith("notes/")] == ["notes/a.md"]


async def test_a_change_that_failed_leaves_its_files_as_they_were(
    services: Services, ask: Asking, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files were copied while it was tried."""
    root = folder(tmp_path)
    put(root, {"a.md": "before\n"})
    await ok(ask, "note_write", path="a.md", content="after\n", mode="overwrite")
    await run(services, "UPDATE note_changes SET state = 'failed'")
    monkeypatch.setattr(stagings.notes_at_moment, "first_unsettled", lambda _: 1)

    async def roll_back() -> None:
        put(root, {"a.md": "before\n"})

    between(monkeypatch, roll_back)
    await staged(services, scratch(tmp_path))
    assert notes_in(tmp_path / "scratch") == {"a.md": b"before\n"}


async def run(services: Services, sql: str, **params: object) -> None:
    def write(tx: Writer) -> None:
        tx.run(sql, params)

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(write)


async def test_of_a_folder_served_in_place_only_what_is_served_is_taken(opening: Opening, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    put(root, {"a.md": "a", "b/c.markdown": "c", "photo.jpg": "x", "policies/p.yaml": "p: 1", "private/d.md": "d",
               ".strongroomignore": "private/\n", ".git/config": "[core]"})  # fmt: skip
    (root / "link.md").symlink_to("a.md")
    async with opening(data=tmp_path / "data", vaults=()) as services:
        await vault_admin.create(services, "own", root)
        manifest = await staged(services, scratch(tmp_path), "own")
        assert VaultRecord.model_validate_json((tmp_path / "scratch/settings.json").read_text(), strict=False).path
    assert set(notes_in(tmp_path / "scratch")) == {"a.md", "b/c.markdown", "policies/p.yaml", ".strongroomignore"}
    assert manifest.in_place
    assert [(each.path, each.reason) for each in manifest.remarks] == [("link.md", "symbolic link")]


async def test_history_of_the_vaults_own_comes_along(opening: Opening, tmp_path: Path) -> None:
    async with opening({"notes.history": "auto"}) as services:
        await ok(asker(services), "note_write", path="a.md", content="x\n", commit=True)
        state = services.pool.folder_of(services.registry_cache.entry("main"))
        (state / "history.git/refs/strongroom/main.lock").write_text("")
        await staged(services, scratch(tmp_path))
    found = {path for path in files_in(tmp_path / "scratch") if path.startswith("history/")}
    there = {f"history/{path}" for path in files_in(state / "history.git")} - {"history/refs/strongroom/main.lock"}
    assert found == there
    assert "history/HEAD" in found
    assert any(path.startswith("history/refs/strongroom/") for path in found)


def test_objects_that_are_packed_meanwhile_are_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "history.git"
    put(root, {"HEAD": "ref", "objects/ab/cd": "loose", "refs/heads/x": "1"})
    really = history_copy.copy_file

    def pack_first(descriptor: int, name: str, to: Path, path: str, pace: Pace) -> ManifestMember:
        if name == "cd":
            put(root, {"objects/pack/p.pack": "packed"})
            (root / "objects/ab/cd").unlink()
        return really(descriptor, name, to, path, pace)

    monkeypatch.setattr(history_copy, "copy_file", pack_first)
    found = history_copy.copy_history(tmp_path, tmp_path / "out", Pace())
    assert {each.path for each in found} == {"history/HEAD", "history/refs/heads/x", "history/objects/pack/p.pack"}
    assert history_copy.copy_history(tmp_path / "none", tmp_path / "out", Pace()) == []


def damage(path: Path, part: str) -> None:
    """Overwrite the first page of a table or index."""
    with closing(open_raw(path, StorageSettings(), writer=True)) as raw:
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        page = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (part,)).fetchone()[0]
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


async def test_a_damaged_vault_is_never_staged(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        await stored(asker(services), "x")
        subject = await subject_of(services)
    damage(subject.folder / "vault.db", "embeddings_by_text")  # which nothing but the check reads
    with pytest.raises(VaultQuarantined) as refused:
        stage(subject, scratch(tmp_path))
    assert refused.value.details["reason"] == "damaged"


async def test_a_vault_that_is_marked_missing_or_anothers_is_refused(
    services: Services, opening: Opening, tmp_path: Path
) -> None:
    subject = await subject_of(services)
    (subject.folder / ".damaged").write_text("memories")
    with pytest.raises(VaultQuarantined):
        stage(subject, scratch(tmp_path, "marked"))
    (subject.folder / ".damaged").unlink()
    await run(services, "UPDATE vault_info SET value = 'another' WHERE key = 'vault_id'")
    with pytest.raises(VaultQuarantined) as foreign:
        stage(subject, scratch(tmp_path, "foreign"))
    assert foreign.value.details["reason"] == "foreign"
    (subject.folder / "vault.db").rename(tmp_path / "elsewhere")
    with pytest.raises(VaultQuarantined) as missing:
        stage(subject, scratch(tmp_path, "missing"))
    assert missing.value.details["reason"] == "missing"


async def test_a_folder_of_notes_that_was_taken_away_is_no_empty_one(
    services: Services, ask: Asking, tmp_path: Path
) -> None:
    await ok(ask, "note_write", path="a.md", content="x\n")
    folder(tmp_path).rename(tmp_path / "away")
    with pytest.raises(VaultUnavailable):
        await staged(services, scratch(tmp_path))


def test_a_copy_is_stopped_at_its_next_step(tmp_path: Path) -> None:
    with closing(open_raw(tmp_path / "a.db", StorageSettings(), writer=True)) as raw:
        raw.execute("CREATE TABLE t (x)")
    with open_snapshot(tmp_path / "a.db", StorageSettings()) as snapshot:
        snapshot.take()
        with pytest.raises(Cancelled):
            snapshot.copy_to(tmp_path / "copy.db", Pace(stopped=lambda: True))


def test_the_check_of_a_copy_looks_at_every_table(tmp_path: Path) -> None:
    with closing(open_raw(tmp_path / "a.db", StorageSettings(), writer=True)) as raw:
        raw.execute("CREATE TABLE fine (x)")
        raw.execute("CREATE TABLE memories (x)")
        raw.executemany("INSERT INTO memories VALUES (?)", [("y" * 500,)] * 100)
    refuse_damaged(tmp_path / "a.db", Pace())
    damage(tmp_path / "a.db", "memories")
    with pytest.raises(VaultQuarantined):
        refuse_damaged(tmp_path / "a.db", Pace())


def test_a_file_is_read_as_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"in/a.md": "old " * 100})
    folder_of, really, readings = os.open(tmp_path / "in", os.O_RDONLY), os.read, list[int]()

    def read(descriptor: int, size: int) -> bytes:
        found = really(descriptor, min(size, 100))
        readings.append(len(found))
        if len(readings) == 2:
            put(tmp_path, {"in/a.md": "new " * 80})
        return found

    monkeypatch.setattr(file_copy.os, "read", read)
    member = copy_file(folder_of, "a.md", tmp_path / "out/a.md", "notes/a.md", Pace())
    assert (tmp_path / "out/a.md").read_text() == "new " * 80
    assert member.size == 320
    os.close(folder_of)


def test_a_file_that_is_always_written_to_is_taken_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"in/log.md": "x"})
    monkeypatch.setattr(file_copy, "_RACY_NS", 1_000)
    really = file_copy._copy_bytes

    def grow(source: int, target: int, pace: Pace) -> tuple[int, str]:
        with (tmp_path / "in/log.md").open("a") as file:
            file.write("x")
        return really(source, target, pace)

    monkeypatch.setattr(file_copy, "_copy_bytes", grow)
    found = copy_folder(tmp_path / "in", tmp_path / "out", Pace())
    assert [each.path for each in found.remarks] == ["log.md"]
    assert found.members["log.md"].size == (tmp_path / "out/log.md").stat().st_size
    folder_of = os.open(tmp_path / "in", os.O_RDONLY)
    with pytest.raises(Restless):
        copy_file(folder_of, "log.md", tmp_path / "again.md", "notes/log.md", Pace())
    os.close(folder_of)


def test_pipes_links_and_what_cannot_be_named_are_left_out_and_told(tmp_path: Path) -> None:
    put(tmp_path, {"in/a.md": "a", "in/.strongroom-new-01234567.tmp": "half", "in/.git/HEAD": "x", "in/b\\c.md": "x"})
    os.mkfifo(tmp_path / "in/pipe")
    (tmp_path / "in/link").symlink_to("/etc/passwd")
    (tmp_path / "in/away").symlink_to("/etc")
    (tmp_path / os.fsdecode(b"in/\xff.md")).write_text("x")
    found = copy_folder(tmp_path / "in", tmp_path / "out", Pace())
    assert set(found.members) == {"a.md"}
    assert {each.path for each in found.remarks} == {"pipe", "link", "away", "b\\c.md", "\ufffd.md"}
    assert files_in(tmp_path / "out") == {"a.md": b"a"}


def test_what_may_not_be_read_is_told_and_a_dead_disk_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {"in/a.md": "a"})

    def failing(code: int) -> Any:
        def fail(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        return fail

    monkeypatch.setattr(notes_copy, "copy_file", failing(13))
    found = copy_folder(tmp_path / "in", tmp_path / "out", Pace())
    assert [(each.path, each.reason) for each in found.remarks] == [("a.md", UNREADABLE)]
    monkeypatch.setattr(notes_copy, "copy_file", failing(5))
    with pytest.raises(VaultUnavailable):
        copy_folder(tmp_path / "in", tmp_path / "out", Pace())


def test_a_database_of_an_old_version_is_backed_up_too(tmp_path: Path) -> None:
    """Before its first migration: without a journal, and with another text index."""
    with closing(open_raw(tmp_path / "a.db", StorageSettings(), writer=True)) as raw:
        raw.execute("CREATE TABLE schema_steps (number, folder, name, applied_at)")
        raw.execute("CREATE TABLE memories (seq INTEGER PRIMARY KEY, id TEXT)")
        raw.execute("CREATE TABLE passages (seq INTEGER PRIMARY KEY, title TEXT)")
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with open_copy(tmp_path / "a.db") as tx:
        assert contents.count_rows(tx, "vault") == {"memories": 0}
        assert stagings.notes_at_moment.first_unsettled(tx) == stagings.notes_at_moment.last_change(tx) == 0
        assert questions.choose(tx) == ()
        assert len(contents.digest_ids(tx, "vault")) == 64


def test_a_bound_is_kept_on_average(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr("ops.backup.pace.time", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    pace, bare = Pace(bytes_per_s=4 << 20, _since=0.0), Pace(_since=0.0)
    for _ in range(4):
        pace.spend(2 << 20)
    assert now[0] == pytest.approx(2.0)
    bare.spend(2 << 20)
    assert now[0] < 2.01
