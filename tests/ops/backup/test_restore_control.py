"""Restoring registry, grants and keys."""

from __future__ import annotations

import asyncio
import errno
import hashlib
from contextlib import closing
from pathlib import Path

import pytest

from auth.grants import list_grants, set_grant
from auth.keys import open_key_ring
from auth.roles import Role
from ops.audit import searching, verification
from ops.audit.audit_log import AuditLog
from ops.audit.entries import AuditActor, AuditEntry
from ops.audit.links import INSTALLATION
from ops.audit.searching import AuditQuery
from ops.backup import contents
from ops.backup import restore_control as restore_control_
from ops.backup.control_archive import ControlSubject, stage_control
from ops.backup.manifest import BackupManifest, ManifestMember
from ops.backup.restore_control import restore_control
from ops.settings import AuditSettings
from tests.ops.backup.staged import Staged
from vaults import registry
from vaults.db.connection import Database
from vaults.db.engine import sqlite
from vaults.db.migration import load_migrations, migrate
from vaults.db.sql import Reader
from vaults.errors import InvalidArgument, StrongroomError, VaultQuarantined
from vaults.files.writes.renames import FolderEntry
from vaults.settings import StorageSettings

STORAGE = StorageSettings()


async def _installation(data: Path, subject: str) -> str:
    """A data folder with a grant and a key; returns the key's id."""
    data.mkdir(parents=True)
    control = Database(data / "control.db", STORAGE)
    await migrate(control, "control")
    await control.write(lambda tx: registry.create(tx, "main"))
    await control.write(lambda tx: set_grant(tx, subject, "local", "main", Role.WRITER))
    await control.close()
    return open_key_ring(data / "keys").newest.kid


def _back_up(data: Path, to: Path) -> Staged:
    to.mkdir()
    with closing(sqlite.connect(data / "control.db")) as raw, closing(sqlite.connect(to / "control.db")) as copy:
        raw.backup(copy)
        counts, ids = contents.count_rows(Reader(copy), "control"), contents.digest_ids(Reader(copy), "control")
    (to / "keys").mkdir()
    for key in (data / "keys").glob("*.pem"):
        (to / "keys" / key.name).write_bytes(key.read_bytes())
    (to / "strongroom.toml").write_text("[server]\nport = 8701\n")
    members = tuple(
        ManifestMember(
            path=path.relative_to(to).as_posix(),
            size=path.stat().st_size,
            sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(to.rglob("*"))
        if path.is_file()
    )
    manifest = BackupManifest(
        kind="control", installation="i", made_at="2026-11-25T00:00:00Z", version="1",
        schema_steps=len(load_migrations("control")), counts=counts, ids_digest=ids, members=members,
    )  # fmt: skip
    return Staged(to, manifest)


async def _subjects(data: Path) -> list[str]:
    control = Database(data / "control.db", STORAGE)
    try:
        return [each.subject for each in await control.read(list_grants)]
    finally:
        await control.close()


@pytest.fixture
async def backup(tmp_path: Path) -> Staged:
    await _installation(tmp_path / "then", "ann")
    return _back_up(tmp_path / "then", tmp_path / "backup")


async def test_an_empty_folder_gets_grants_keys_and_settings(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "fresh"
    done = await restore_control(backup, data, STORAGE)
    assert (done.restored, done.replaced, done.missing) == (
        ["keys", "control.db", "strongroom.toml"], None, ["main"],
    )  # fmt: skip
    assert await _subjects(data) == ["ann"]
    assert open_key_ring(data / "keys").newest.kid == open_key_ring(tmp_path / "then" / "keys").newest.kid
    assert sorted(each.name for each in data.iterdir()) == ["control.db", "keys", "strongroom.toml"]


async def test_encrypted_keys_come_back_without_their_passphrase_at_hand(tmp_path: Path) -> None:
    file = tmp_path / "passphrase"
    file.write_text("of the old box")
    kid = await _installation(tmp_path / "then", "ann")
    open_key_ring(tmp_path / "then" / "keys", str(file))
    backup = _back_up(tmp_path / "then", tmp_path / "staged")
    await restore_control(backup, tmp_path / "now", StorageSettings())
    assert open_key_ring(tmp_path / "now" / "keys", str(file)).newest.kid == kid


async def test_what_stood_there_is_kept_and_settings_are_left_alone(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "living"
    kid = await _installation(data, "ben")
    (data / "strongroom.toml").write_text("mine")
    done = await restore_control(backup, data, STORAGE)
    assert await _subjects(data) == ["ann"]
    assert done.left == ["strongroom.toml"]
    assert (data / "strongroom.toml").read_text() == "mine"
    assert done.replaced is not None
    assert not (done.replaced / "strongroom.toml").exists(), "what is kept stood here"
    assert await _subjects(done.replaced) == ["ben"]
    assert open_key_ring(done.replaced / "keys").newest.kid == kid


async def test_a_control_db_somebody_has_open_is_not_replaced(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "living"
    await _installation(data, "ben")
    control = Database(data / "control.db", STORAGE)
    await control.read(list_grants)
    with pytest.raises(StrongroomError) as refused:
        await restore_control(backup, data, STORAGE)
    assert refused.value.retryable
    assert [each.subject for each in await control.read(list_grants)] == ["ben"]
    await control.close()


async def test_a_damaged_control_db_gives_way_with_its_log(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "damaged"
    await _installation(data, "ben")
    (data / "control.db").write_bytes(b"no database at all" * 500)
    (data / "control.db-wal").write_bytes(b"its log")
    done = await restore_control(backup, data, STORAGE)
    assert await _subjects(data) == ["ann"]
    assert done.replaced is not None
    assert (done.replaced / "control.db-wal").read_bytes() == b"its log"


async def test_a_dry_run_changes_nothing(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "living"
    await _installation(data, "ben")
    assert (await restore_control(backup, data, STORAGE, dry_run=True)).restored
    assert await _subjects(data) == ["ben"]
    assert not [each for each in data.iterdir() if each.name.startswith((".restoring", "replaced"))]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"kind": "vault"}, InvalidArgument),
        ({"schema_steps": 999}, VaultQuarantined),
        ({"ids_digest": "0" * 64}, InvalidArgument),
    ],
)
async def test_what_is_no_backup_of_an_installation_is_refused(
    backup: Staged, tmp_path: Path, said: dict[str, object], error: type[Exception]
) -> None:
    data = tmp_path / "living"
    await _installation(data, "ben")
    with pytest.raises(error):
        await restore_control(backup.saying(**said), data, STORAGE)
    assert await _subjects(data) == ["ben"]


async def test_a_failure_half_way_leaves_keys_and_grants_as_they_were(
    backup: Staged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "living"
    kid = await _installation(data, "ben")
    place, places = restore_control_._place, 0

    def fail_at_the_second(one: FolderEntry, other: FolderEntry) -> bool:
        nonlocal places
        places += 1
        if places == 2:
            raise OSError(errno.EIO, "the disk does not answer")
        return place(one, other)

    monkeypatch.setattr(restore_control_, "_place", fail_at_the_second)
    with pytest.raises(OSError, match="answer"):
        await restore_control(backup, data, STORAGE)
    assert places == 3
    assert open_key_ring(data / "keys").newest.kid == kid
    assert await _subjects(data) == ["ben"]


async def test_what_stood_there_outlasts_a_restore_that_cannot_even_be_taken_back(
    backup: Staged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "living"
    kid = await _installation(data, "ben")
    place, places = restore_control_._place, 0

    def fail_from_the_second_on(one: FolderEntry, other: FolderEntry) -> bool:
        nonlocal places
        places += 1
        if places > 1:
            raise OSError(errno.EIO, "the disk does not answer")
        return place(one, other)

    with monkeypatch.context() as patched:
        patched.setattr(restore_control_, "_place", fail_from_the_second_on)
        with pytest.raises(OSError, match="answer"):
            await restore_control(backup, data, STORAGE)
    (kept,) = data.glob("replaced-control-*")
    assert open_key_ring(kept / "keys").newest.kid == kid
    assert (await restore_control(backup, data, STORAGE)).restored  # as after a kill
    assert await _subjects(data) == ["ann"]
    assert open_key_ring(kept / "keys").newest.kid == kid


async def test_keys_that_a_killed_restore_took_out_are_cleared_away(backup: Staged, tmp_path: Path) -> None:
    data = tmp_path / "fresh"
    (data / ".restoring-control-dead" / "keys").mkdir(parents=True)
    await restore_control(backup, data, STORAGE)
    assert not [each for each in data.iterdir() if each.name.startswith(".restoring")]


async def test_encrypted_keys_come_back_with_and_without_their_passphrase(tmp_path: Path) -> None:
    then, secret, wrong = tmp_path / "then", tmp_path / "secret", tmp_path / "wrong"
    secret.write_text("correct horse")
    wrong.write_text("another")
    await _installation(then, "ann")
    kid = open_key_ring(then / "keys", str(secret)).newest.kid
    backup = _back_up(then, tmp_path / "backup")
    assert (await restore_control(backup, tmp_path / "one", STORAGE)).sealed
    with pytest.raises(InvalidArgument, match="does not open"):
        await restore_control(backup, tmp_path / "two", STORAGE, key_passphrase_file=str(wrong))
    done = await restore_control(backup, tmp_path / "two", STORAGE, key_passphrase_file=str(secret))
    assert not done.sealed
    for data in (tmp_path / "one", tmp_path / "two"):
        assert open_key_ring(data / "keys", str(secret)).newest.kid == kid


async def test_the_audit_comes_back_where_there_is_none_and_is_never_wound_back(tmp_path: Path) -> None:
    then, scratch = tmp_path / "then", tmp_path / "scratch"
    await _installation(then, "ann")
    await _act(then, "create")
    scratch.mkdir()
    subject = ControlSubject(then, then / "strongroom.toml", "i", "1", STORAGE)
    staged = await asyncio.to_thread(stage_control, subject, scratch)
    backup = Staged(staged.folder, staged.manifest)

    fresh = tmp_path / "fresh"
    assert "audit" in (await restore_control(backup, fresh, STORAGE)).restored
    assert await _acts(fresh) == ["create"]

    await _act(then, "archive")
    assert (await restore_control(backup, then, STORAGE)).left == ["audit"]
    assert await _acts(then) == ["create", "archive"]


async def _act(data: Path, action: str) -> None:
    log = AuditLog(data, AuditSettings(), STORAGE)
    await log.append(INSTALLATION, AuditEntry("act", "vault", "ok", actor=AuditActor("ann", "local"), action=action))
    await log.close()


async def _acts(data: Path) -> list[str]:
    """What was done, oldest first, of a chain that nobody tampered with."""
    log = AuditLog(data, AuditSettings(), STORAGE)
    try:
        assert all(report.ok for report in await verification.verify(log, None))
        found = await searching.search(log, INSTALLATION, AuditQuery())
        return [each.fields()["action"] for each in reversed(found) if each.fields().get("tool") == "vault"]
    finally:
        await log.close()
