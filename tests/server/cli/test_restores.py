"""``strongroom restore`` and ``strongroom backup verify``.

Covers server.cli.backup_keys, server.cli.backup_verify.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ops.backup.archive_writer import Seal, write_archive
from ops.backup.staging import stage
from ops.backup.subject import read_subject
from server.services import open_services
from server.settings import load
from server.tools import discover
from tests.conftest import QUIET, asker
from tests.server.cli.command import Strongroom
from vaults import registry
from vaults.db.connection import Database


def archive(strongroom: Strongroom, to: Path, seal: Seal | None = None, vault: str = "main") -> Path:
    """An archive of a vault as ``backup`` writes it."""
    loaded = load(strongroom.data, flags={}, environment={})

    async def write() -> Path:
        control = Database(strongroom.data / "control.db", loaded.settings.storage)
        try:
            entry = await control.read(lambda tx: registry.get(tx, vault))
            subject = await read_subject(
                control, strongroom.data, entry,
                version="1", storage=loaded.settings.storage, notes=loaded.settings.notes,
            )  # fmt: skip
        finally:
            await control.close()
        scratch = to / f"staged-{vault}"
        scratch.mkdir(parents=True)
        staged = await asyncio.to_thread(stage, subject, scratch)
        return (await asyncio.to_thread(write_archive, staged, to, seal or Seal())).path

    return asyncio.run(write())


@pytest.fixture
def filled(strongroom: Strongroom) -> Strongroom:
    assert strongroom("vault", "create", "main").code == 0
    assert strongroom("call", "remember", '{"content": "the harbour closes at nine"}', "--vault", "main").code == 0
    assert strongroom("call", "note_write", '{"path": "a.md", "content": "first"}', "--vault", "main").code == 0
    return strongroom


def test_an_archive_is_proven_restored_and_served(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    verified = filled("backup", "verify", str(made))
    assert verified.code == 0, verified
    assert "ok     questions: " in verified.out
    filled("call", "remember", '{"content": "came later"}', "--vault", "main")
    tried = filled("restore", str(made), "--dry-run")
    assert (tried.code, "would be replaced" in tried.out) == (0, True), tried
    assert filled("restore", str(made)).code == 0
    listed = filled("call", "memory_list", "--vault", "main").json["memories"]
    assert [each["content"] for each in listed] == ["the harbour closes at nine"]
    copied = filled(
        "restore", "latest", "--vault", "main", "--as", "copy", "--json",
        STRONGROOM_BACKUP__TO=str(tmp_path / "backups"),
    )  # fmt: skip
    assert copied.json["is_new"], copied
    assert filled("call", "memory_list", "--vault", "copy").json["memories"]


def test_single_items_come_back(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    (memory,) = filled("call", "memory_list", "--vault", "main").json["memories"]
    assert "vault is needed" in filled("restore", str(made), "--note", "a.md").err.replace("--", "")
    filled("call", "note_write", '{"path": "a.md", "content": "second", "mode": "overwrite"}', "--vault", "main")
    assert filled("restore", str(made), "--note", "a", "--vault", "main").code == 0
    assert filled("call", "note_read", '{"path": "a.md"}', "--vault", "main").json["text"] == "first\n"
    refused = filled("restore", str(made), "--memory", memory["id"], "--vault", "main")
    assert (refused.code, "--replace" in refused.err) == (1, True), refused
    assert filled("restore", str(made), "--memory", memory["id"], "--vault", "main", "--replace").code == 0


def test_a_damaged_archive_fails_its_drill_and_is_not_restored(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    data = bytearray(made.read_bytes())
    data[len(data) // 2] ^= 1
    made.write_bytes(data)
    verified = filled("backup", "verify", str(made), "--json")
    assert (verified.code, verified.json["ok"]) == (1, False), verified
    assert filled("restore", str(made)).code == 2
    assert filled("call", "memory_list", "--vault", "main").json["memories"]


def test_a_passphrase_opens_an_encrypted_archive(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups", Seal(passphrase="correct horse"))
    assert filled("restore", str(made), "--dry-run").code == 2
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n")
    assert filled("restore", str(made), "--dry-run", "--passphrase-file", str(secret)).code == 0
    assert filled("restore", str(made), "--identity-file", str(tmp_path / "nowhere")).code == 2


def test_a_backup_of_a_vault_is_none_of_the_installation(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    assert "without --control" in filled("restore", str(made), "--control").err


def remember_logged(data: Path, to: Path, content: str) -> None:
    """Have a server that keeps a change log store a memory."""

    async def run() -> None:
        flags = {**QUIET, "embedding.engine": "off", "backup.to": str(to), "backup.log": True}
        loaded = load(data, flags=flags, environment={})
        async with open_services(loaded.settings, loaded.data, discover()) as services:
            assert (await asker(services)("remember", content=content)).ok

    asyncio.run(run())


def test_a_moment_between_two_backups_is_restored_from_the_log(filled: Strongroom, tmp_path: Path) -> None:
    to = tmp_path / "to"
    to.mkdir()
    logged = {"STRONGROOM_BACKUP__TO": str(to), "STRONGROOM_BACKUP__LOG": "true"}
    assert filled("backup", "--vault", "main", **logged).code == 0
    remember_logged(filled.data, to, "the ferry left")
    at = ("restore", "latest", "--vault", "main", "--as", "copy", "--at", "2100-01-01T00:00:00Z", "--json")
    done = filled(*at, **logged)
    assert done.code == 0, done
    assert (done.code, done.json["complete"]) == (0, True), done
    assert len(filled("call", "memory_list", "--vault", "copy").json["memories"]) == 2
    (act,) = filled("audit", "search", "--installation", "--tool", "restore", "--json").json["entries"]
    assert (act["action"], act["vault"], act["subject"].partition(":")[0]) == ("vault", "copy", "cli")


def test_a_moment_needs_a_time_and_a_log(filled: Strongroom) -> None:
    for time in ("yesterday", "2026-11-25T14:03:20"):
        assert "--at" in filled("restore", "latest", "--vault", "main", "--at", time).err
    unset = filled("restore", "latest", "--vault", "main", "--at", "2100-01-01T00:00:00Z")
    assert (unset.code, "backup.to" in unset.err) == (2, True), unset
