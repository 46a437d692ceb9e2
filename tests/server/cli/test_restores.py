"""``strongroom restore`` and ``strongroom backup verify``.

Covers server.cli.backup_history, server.cli.backup_keys, server.cli.backup_verify,
server.cli.restore_orders, server.cli.restore_parts, server.cli.restore_reports, server.cli.restore_sources,
ops.change_log.unsealing.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pyrage
import pytest

from ops.backup.folder_store import FolderStore
from ops.change_log.change_log import ChangeLog
from ops.change_log.points import LogPoint, find_point
from server.services import open_services
from server.settings import load
from server.tools import discover
from tests.blanks import lay_out
from tests.conftest import QUIET, asker
from tests.server.cli.command import Strongroom
from tests.work import PATIENCE_S

pytestmark = pytest.mark.usefixtures("cheap_passphrases")


def archive(strongroom: Strongroom, to: Path, *closed: str) -> Path:
    """An archive of the vault main."""
    to.mkdir()
    made = strongroom("backup", "--vault", "main", "--to", str(to), *closed)
    assert made.code == 0, made
    return Path(made.out.strip())


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a memory and a note, filled once."""
    strongroom = Strongroom(tmp_path_factory.mktemp("ground") / "data")
    lay_out(strongroom.data, ("main",))
    assert strongroom("vault", "create", "main").code == 0
    assert strongroom("call", "remember", '{"content": "the harbour closes at nine"}', "--vault", "main").code == 0
    assert strongroom("call", "note_write", '{"path": "a.md", "content": "first"}', "--vault", "main").code == 0
    return strongroom.data


@pytest.fixture
def filled(ground: Path, strongroom: Strongroom) -> Strongroom:
    shutil.copytree(ground, strongroom.data)
    return strongroom


def test_an_archive_is_proven_restored_and_served(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    verified = filled("backup", "verify", "latest", "--vault", "main")  # nothing but the record says where it went
    assert verified.code == 0, verified
    assert "ok     questions: " in verified.out
    filled("call", "remember", '{"content": "came later"}', "--vault", "main")
    tried = filled("restore", str(made), "--dry-run")
    assert (tried.code, "would be replaced" in tried.out) == (0, True), tried
    assert filled("restore", str(made)).code == 0
    listed = filled("call", "memory_list", "--vault", "main").json["memories"]
    assert [each["content"] for each in listed] == ["the harbour closes at nine"]
    (act,) = filled("audit", "search", "--installation", "--tool", "restore", "--json").json["entries"]
    assert (act["vault"], act["details"]["backup"]) == ("main", made.name), "also where nobody named the vault"
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
    assert (refused.code, "with replace" in refused.err) == (1, True), refused
    assert filled("restore", str(made), "--memory", memory["id"], "--vault", "main", "--replace").code == 0


def test_what_backups_hold_is_listed_and_shown(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    to = {"STRONGROOM_BACKUP__TO": str(made.parent)}
    listed = filled("backup", "history", "--vault", "main", "--note", "a", **to)
    assert made.name in listed.out
    assert "looked into 1 backups; 0 of them do not have it" in listed.out
    shown = filled("backup", "history", "--vault", "main", "--note", "a", "--show", made.name, **to)
    assert shown.out == "first\n\n"
    (memory,) = filled("call", "memory_list", "--vault", "main").json["memories"]
    found = filled("backup", "history", "--vault", "main", "--memory", memory["id"], "--json", **to).json
    assert [(each["backup"], each["version"]) for each in found["versions"]] == [(made.name, memory["version"])]
    neither = filled("backup", "history", "--vault", "main", **to)
    assert (neither.code, "--memory" in neither.err) == (2, True)


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
    secret = tmp_path / "secret"
    secret.write_text("correct horse\n")
    made = archive(filled, tmp_path / "backups", "--passphrase-file", str(secret))
    assert filled("restore", str(made), "--dry-run").code == 2
    assert filled("restore", str(made), "--dry-run", "--passphrase-file", str(secret)).code == 0
    assert filled("restore", str(made), "--identity-file", str(tmp_path / "nowhere")).code == 2


def test_a_backup_of_a_vault_is_none_of_the_installation(filled: Strongroom, tmp_path: Path) -> None:
    made = archive(filled, tmp_path / "backups")
    assert "without --control" in filled("restore", str(made), "--control").err


AT_LAST = "2100-01-01T00:00:00Z"


@pytest.fixture
def to(tmp_path: Path) -> Path:
    path = tmp_path / "to"
    path.mkdir()
    return path


def logging_to(to: Path) -> dict[str, str]:
    return {"STRONGROOM_BACKUP__TO": str(to), "STRONGROOM_BACKUP__LOG": "true"}


def remember_logged(data: Path, to: Path, content: str, recipients: tuple[str, ...] = ()) -> None:
    """Have a server that keeps a change log store a memory."""

    async def run() -> None:
        flags = {**QUIET, "embedding.engine": "off", "backup.to": str(to), "backup.log": True}
        loaded = load(data, flags={**flags, "backup.recipients": recipients}, environment={})
        async with open_services(loaded.settings, loaded.data, discover()) as services:
            async with services.pool.lease(services.registry_cache.entry("main")) as vault, asyncio.timeout(PATIENCE_S):
                log = vault.db.log
                assert isinstance(log, ChangeLog)
                while not log.is_following:  # noqa: ASYNC110  on other threads; a vault closed before then logs nothing
                    await asyncio.sleep(0.002)
            assert (await asker(services)("remember", content=content)).ok

    asyncio.run(run())


def newest_point(to: Path) -> LogPoint:
    """The last commit in the log of the only vault."""
    (folder,) = (to / "vaults").iterdir()
    return find_point(FolderStore(to), folder.name)


def test_a_moment_between_two_backups_is_restored_from_the_log(filled: Strongroom, to: Path) -> None:
    logged = logging_to(to)
    assert filled("backup", "--vault", "main", **logged).code == 0
    remember_logged(filled.data, to, "the ferry left")
    done = filled("restore", "latest", "--vault", "main", "--as", "copy", "--at", AT_LAST, "--json", **logged)
    assert (done.code, done.json["complete"], done.json["is_newest"]) == (0, True, True), done
    assert len(filled("call", "memory_list", "--vault", "copy").json["memories"]) == 2
    (act,) = filled("audit", "search", "--installation", "--tool", "restore", "--json").json["entries"]
    assert (act["action"], act["vault"], act["subject"].partition(":")[0]) == ("vault", "copy", "cli")
    assert act["details"]["backup"] == "latest"


def test_a_box_that_knows_no_vault_is_brought_to_a_moment(filled: Strongroom, to: Path, tmp_path: Path) -> None:
    made = filled("backup", "--vault", "main", "--json", **logging_to(to))
    remember_logged(filled.data, to, "the ferry left")
    fresh = Strongroom(tmp_path / "fresh")
    for archive in ("latest", next(to.glob("main-*.tar.zst")).name):
        done = fresh("restore", archive, "--vault", "main", "--at", AT_LAST, **logging_to(to))
        assert done.code == 0, (made, done)
    assert len(fresh("call", "memory_list", "--vault", "main").json["memories"]) == 2


def test_an_encrypted_log_is_restored_with_its_key_alone(filled: Strongroom, to: Path, tmp_path: Path) -> None:
    identity, other = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    recipient, logged = str(identity.to_public()), logging_to(to)
    assert filled("backup", "--vault", "main", "--recipient", recipient, **logged).code == 0
    remember_logged(filled.data, to, "the ferry left", (recipient,))
    at = ("restore", "latest", "--vault", "main", "--as", "copy", "--at", AT_LAST)
    assert filled(*at, **logged).code == 2
    for each, name in ((identity, "key"), (other, "wrong")):
        (tmp_path / name).write_text(f"{each}\n")
    assert filled(*at, "--identity-file", str(tmp_path / "wrong"), **logged).code == 2
    assert not (filled.data / "vaults" / "copy").exists()
    assert filled(*at, "--identity-file", str(tmp_path / "key"), **logged).code == 0
    assert len(filled("call", "memory_list", "--vault", "copy").json["memories"]) == 2
    # The backup is readable and the log is not: said by the name of the option.
    assert filled("backup", "--vault", "main", **logged).code == 0
    for archive in to.glob("*.age"):
        archive.unlink()
    assert "--identity-file" in filled(*at[:4], "--dry-run", *at[6:], **logged).err


def test_what_a_log_does_not_reach_is_said(filled: Strongroom, to: Path) -> None:
    logged = logging_to(to)
    at = ("restore", "latest", "--vault", "main", "--dry-run", "--at")
    assert "no backup" in filled(*at, AT_LAST, **logged).err  # neither backup nor log
    made = filled("backup", "--vault", "main", "--json", **logged)
    assert made.code == 0, made
    assert "does not reach" in filled(*at, AT_LAST, **logged).err  # no log
    remember_logged(filled.data, to, "the ferry left")
    before_gap = newest_point(to)
    told = filled(*at, AT_LAST, **logged)
    assert (told.code, "holds no later commit" in told.out) == (0, True), told
    (backup,) = to.glob("main-*")
    assert "does not reach" in filled(*at, backup.name.split("-")[1], **logged).err  # before the first base
    filled("call", "remember", '{"content": "nobody logged this"}', "--vault", "main")
    remember_logged(filled.data, to, "the ferry came back")
    assert newest_point(to).line != before_gap.line
    told = filled(*at, before_gap.time, **logged)
    assert (told.code, "has a gap after that commit" in told.out) == (0, True), told
    assert not filled(*at, before_gap.time, "--json", **logged).json["complete"]


def test_a_backup_that_holds_more_than_the_log_is_not_passed_over(filled: Strongroom, to: Path) -> None:
    logged = logging_to(to)
    assert filled("backup", "--vault", "main", **logged).code == 0
    remember_logged(filled.data, to, "the ferry left")
    filled("call", "remember", '{"content": "nobody logged this"}', "--vault", "main")
    for archive in to.glob("main-*"):
        archive.unlink()
    assert filled("backup", "--vault", "main", **logged).code == 0
    refused = filled("restore", "latest", "--vault", "main", "--at", AT_LAST, **logged)
    assert (refused.code, "holds more" in refused.err, "restore that backup" in refused.err) == (2, True, True), refused
    assert len(filled("call", "memory_list", "--vault", "main").json["memories"]) == 3


def test_a_moment_needs_a_time_and_a_log(filled: Strongroom) -> None:
    for time in ("yesterday", "2026-11-25T14:03:20"):
        assert "--at" in filled("restore", "latest", "--vault", "main", "--at", time).err
    unset = filled("restore", "latest", "--vault", "main", "--at", "2100-01-01T00:00:00Z")
    assert (unset.code, "backup.to" in unset.err) == (2, True), unset
