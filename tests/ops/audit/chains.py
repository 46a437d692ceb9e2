"""Chains to check, and hands that reach into their files."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from ops.audit.audit_log import AuditLog
from ops.audit.chain_files import file_of
from ops.audit.entries import AuditActor, AuditEntry
from ops.audit.links import genesis, link
from ops.settings import AuditSettings
from tests.blanks import lay_out_audit
from vaults.change_notes import ChangeNote
from vaults.db.connection import Database
from vaults.errors import StorageFull
from vaults.settings import StorageSettings

VAULT = "01990000-0000-7000-8000-000000000001"
STORAGE = StorageSettings(reserve_mb=0)


def entry(n: int, subject: str = "ana", tool: str = "remember", at: str | None = None) -> AuditEntry:
    more = {} if at is None else {"at": at}
    return AuditEntry(
        "call",
        tool,
        "ok",
        actor=AuditActor(subject, "local", key="k" * 16, role="writer"),
        targets=[f"id-{n}"],
        changes=[ChangeNote("memory", f"id-{n}", None, "h" * 32)],
        changed=1,
        **more,
    )


@asynccontextmanager
async def opened(data: Path, settings: AuditSettings | None = None) -> AsyncIterator[AuditLog]:
    lay_out_audit(data, (VAULT, "installation"))
    log = AuditLog(data, settings or AuditSettings(), STORAGE)
    try:
        yield log
    finally:
        await log.close()


async def written(data: Path, count: int = 6, *, signed_after: int | None = None) -> None:
    """A chain of so many entries, signed after some of them and at the end."""
    async with opened(data) as log:
        for n in range(1, count + 1):
            await log.append(VAULT, entry(n))
            if n == signed_after:
                await log.sign()


def tamper(data: Path, work: Callable[[sqlite3.Connection], object], chain: str = VAULT) -> None:
    """Reach into a chain's file as somebody with its disk can."""
    with closing(sqlite3.connect(file_of(data, chain))) as raw:
        raw.execute("DROP TRIGGER IF EXISTS entries_are_never_changed")
        work(raw)
        raw.commit()


class FullDisk:
    """A disk on which the audit can write nothing more, for as long as it is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.on = False
        write = Database.write_uncounted

        async def write_or_fail(database: Database, work: Any) -> Any:
            if self.on and database.path.parent.name == "audit":
                raise StorageFull("the disk is full")
            return await write(database, work)

        monkeypatch.setattr(Database, "write_uncounted", write_or_fail)


def rewrite(raw: sqlite3.Connection, chain: str, first: int, body_of: Callable[[int, str], str]) -> None:
    """Write a chain anew from an entry on, hashes and all."""
    rows = raw.execute("SELECT seq, body, hash FROM entries ORDER BY seq").fetchall()
    before = genesis(chain)
    for seq, said, digest in rows:
        before = digest if seq < first else link(before, body_of(seq, said))
        if seq >= first:
            change = "UPDATE entries SET body = ?, hash = ? WHERE seq = ?"
            raw.execute(change, (body_of(seq, said), before, seq))
