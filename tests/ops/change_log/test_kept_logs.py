"""Vaults of a server that keeps change logs: what tools did is restored, memories and notes, as of any commit.

Covers ops.change_log.notes_replay, ops.change_log.past_source.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from ops.backup.folder_store import FolderStore
from ops.change_log.change_log import ChangeLog
from ops.change_log.kept_logs import KeptLogs
from ops.change_log.notes_replay import read_pending
from ops.change_log.past_source import PastSource
from ops.change_log.points import find_point
from ops.change_log.replay import materialise
from ops.settings import BackupSettings
from tests.conftest import Opening, asker
from tests.noted import folder
from tests.ops.backup.staged import Staged, contents, staged
from tests.work import PATIENCE_S
from vaults.db.connection import open_raw
from vaults.db.sql import Reader
from vaults.errors import InvalidArgument
from vaults.registry import VaultEntry
from vaults.settings import StorageSettings


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "target"
    path.mkdir()
    return path


def reading(path: Path) -> Reader:
    return Reader(open_raw(path, StorageSettings(), writer=False))


def notes_in(root: Path) -> dict[str, bytes]:
    return {each.relative_to(root).as_posix(): each.read_bytes() for each in root.rglob("*.md")}


async def test_memories_and_notes_are_restored_from_the_log(opening: Opening, tmp_path: Path, target: Path) -> None:
    flags = {"backup.to": str(target), "backup.log": True}
    backup, root = tmp_path / "backup", folder(tmp_path)
    async with opening(flags) as services:
        ask = asker(services)
        vault_id = services.registry_cache.entry("main").vault_id
        await ask("remember", content="The harbour opens at nine")
        for path in ("kept.md", "moved.md", "removed.md", "changed.md"):
            assert (await ask("note_write", path=path, content=f"# {path}\n")).ok
        (root / "outside.md").write_text("written by another program\n")
    shutil.copytree(root, backup)
    store = FolderStore(target)
    early = find_point(store, vault_id)
    materialise(store, vault_id, tmp_path / "early.db", early)
    position = reading(tmp_path / "early.db").value("SELECT MAX(seq) FROM note_changes")
    async with opening(flags) as services:
        ask = asker(services)
        await ask("remember", content="The ferry leaves at ten")
        assert (await ask("note_move", path="moved.md", to="there/moved.md")).ok
        assert (await ask("note_delete", path="removed.md", confirmed=True)).ok
        assert (await ask("note_write", path="new.md", content="# New\n")).ok
        assert (await ask("note_edit", path="changed.md", content="More.\n")).ok
        live = reading(tmp_path / "vaults" / "main" / "vault.db")
        said = live.all("SELECT id, content FROM memories ORDER BY seq")
    point = find_point(store, vault_id)
    assert point.line == early.line
    assert point.sequence > early.sequence
    materialise(store, vault_id, tmp_path / "restored.db", point)
    restored = reading(tmp_path / "restored.db")
    assert restored.value("PRAGMA integrity_check") == "ok"
    assert restored.all("SELECT id, content FROM memories ORDER BY seq") == said
    assert reading(tmp_path / "early.db").value("SELECT COUNT(*) FROM memories") == len(said) - 1
    files = {f"notes/{path}": data for path, data in notes_in(backup).items()}
    base = staged(tmp_path / "staged", {"vault.db": (tmp_path / "early.db").read_bytes(), **files})
    assert read_pending(tmp_path / "early.db") == set()
    source = PastSource(
        Staged(base.folder, base.manifest).saying(vault_id=vault_id, note_change=position), store, point
    )
    (tmp_path / "past").mkdir()
    described = source.extract(tmp_path / "past")
    assert contents(tmp_path / "past").keys() == {each.path for each in described.members}
    assert described.counts["memories"] == len(said)
    assert described.made_at == source.read_manifest().made_at == point.time
    assert (tmp_path / "past" / "vault.db").read_bytes() == (tmp_path / "restored.db").read_bytes()
    assert notes_in(tmp_path / "past" / "notes") == notes_in(root)


async def test_settings_that_could_keep_no_log_are_refused_at_the_start(opening: Opening, target: Path) -> None:
    with pytest.raises(InvalidArgument, match="recipients has one that is no public key of age: nobody"):
        async with opening({"backup.to": str(target), "backup.log": True, "backup.recipients": ["nobody"]}):
            pass
    bucket = {"backup.to": "s3://bucket/x", "backup.access_key": "k", "backup.secret_key_file": str(target / "none")}
    with pytest.raises(InvalidArgument, match=r"backup\.secret_key_file"):
        async with opening({**bucket, "backup.log": True}):
            pass


async def test_a_sealed_log_holds_no_word(opening: Opening, target: Path) -> None:
    recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    async with opening({"backup.to": str(target), "backup.log": True, "backup.recipients": [recipient]}) as services:
        entry = services.registry_cache.entry("main")
        async with services.pool.lease(entry) as vault:
            log = vault.db.log
            assert isinstance(log, ChangeLog)
            async with asyncio.timeout(PATIENCE_S):
                while not log.is_following:  # noqa: ASYNC110  else the first base holds what comes
                    await asyncio.sleep(0.002)
        await asker(services)("remember", content="xylophone")
        vault_id = entry.vault_id
    segments = [each for each in target.rglob("seg-*") if each.is_file()]
    assert segments
    assert all(b"age-encryption.org" in each.read_bytes() for each in segments)
    assert find_point(FolderStore(target), vault_id).sequence > 1  # the names are readable
    async with opening({"backup.to": str(target), "backup.log": True, "backup.recipients": [recipient]}) as services:
        await asker(services)("remember", content="marimba")
    assert len({each.parent for each in target.rglob("seg-*")}) == 1


class Heard:
    """An observer of logs."""

    def __init__(self) -> None:
        self.behind_s, self.stored, self.gaps = 0.0, 0, 0

    def on_change_log(self, behind_s: float, stored: int, gaps: int) -> None:
        self.behind_s, self.stored, self.gaps = behind_s, self.stored + stored, self.gaps + gaps


async def test_how_far_logs_are_behind_is_told_also_while_none_of_them_can_look(
    tmp_path: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ops.change_log.kept_logs.TELL_S", 0.0)
    heard = Heard()
    kept = KeptLogs(BackupSettings(to=str(target), log=True), StorageSettings(), heard)
    entry = VaultEntry("v", "v-1", None, "active", "full", "auto", "2026-01-01T00:00:00Z")
    first, second = (kept.make(entry, tmp_path / name) for name in ("a.db", "b.db"))
    first.is_wanted = True
    first.figures.covered_at -= 100
    first.figures.stored_bytes, second.figures.gaps = 7, 1
    while not (heard.behind_s >= 100 and heard.stored == 7):  # noqa: ASYNC110
        await asyncio.sleep(0)
    first.figures.stored_bytes += 5
    first.is_wanted = False  # its vault was closed
    while not (heard.behind_s == 0 and heard.stored == 12):  # noqa: ASYNC110
        await asyncio.sleep(0)
    assert heard.gaps == 1
    await kept.close()
