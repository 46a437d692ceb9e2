"""The ledger: beside the calls, in batches, never in their way.

Covers vaults.activity_log.entries, vaults.activity_log.session_rows.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from uuid_utils import uuid7

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Opening, asker
from tests.noted import settled, until
from tests.work import PATIENCE_S
from vaults.activity_log import log_writer as ledgers
from vaults.activity_log import session_rows
from vaults.activity_log.entries import ActivityEntry, ActivityRecord
from vaults.activity_log.log_writer import ActivityLog
from vaults.db.sql import Writer
from vaults.errors import ReadOnly, StorageFull, VaultUnavailable
from vaults.vault import Vault


async def opened(services: Services) -> Vault:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return vault


def refusing(ledger: ActivityLog, monkeypatch: pytest.MonkeyPatch, failure: Exception) -> None:
    async def write(work: object) -> object:
        raise failure

    monkeypatch.setattr(ledger._db, "write_uncounted", write)


def entry(session: str = "s") -> ActivityRecord:
    return ActivityRecord(
        "2026-01-01T00:00:00.000Z", session, "o", "status", ActivityEntry("tool_call"), "ok", 1.0, 1, 1
    )


async def test_an_event_is_written_without_anybody_asking(services: Services) -> None:
    await asker(services)("status")
    await until(services, lambda tx: bool(tx.value("SELECT COUNT(*) FROM events")))


async def test_calls_in_a_row_share_a_transaction(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "FLUSH_S", PATIENCE_S)  # twenty calls may take long
    vault, writes = await opened(services), []
    write_aside = vault.db.write_uncounted

    async def counted(work: Callable[[Writer], object]) -> object:
        writes.append(work.__qualname__)
        return await write_aside(work)

    monkeypatch.setattr(vault.db, "write_uncounted", counted)
    for _ in range(20):
        await asker(services)("recall", query="kettle")
    await vault.activity_log.write_out()
    assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM events")) == 20
    assert [each for each in writes if each.startswith("ActivityLog._flush.")] == [
        "ActivityLog._flush.<locals>.<lambda>"
    ]


@pytest.mark.parametrize("failure", [StorageFull("full"), VaultUnavailable("locked")])
async def test_a_log_that_cannot_be_written_fails_no_call_and_is_written_later(
    services: Services, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    vault = await opened(services)
    with monkeypatch.context() as patch:
        refusing(vault.activity_log, patch, failure)
        assert (await asker(services)("status")).ok
        await vault.activity_log.write_out()
    await vault.activity_log.write_out()
    assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM events")) == 1
    assert vault.activity_log.lost == 0


async def test_a_log_on_a_read_only_disk_is_counted_as_lost_and_not_hoarded(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = await opened(services)
    refusing(vault.activity_log, monkeypatch, ReadOnly("read only"))
    for _ in range(3):
        assert (await asker(services)("status")).ok
    await vault.activity_log.write_out()
    assert vault.activity_log.lost == 3


async def test_what_waits_too_long_is_lost_from_the_front_and_counted(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "MAX_WAITING", 5)
    vault = await opened(services)
    with monkeypatch.context() as patch:
        refusing(vault.activity_log, patch, StorageFull("full"))
        for number in range(8):
            vault.activity_log.record(entry(str(number)))
            await vault.activity_log.write_out()
    assert vault.activity_log.lost == 3
    await vault.activity_log.write_out()
    assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM events")) == 5


async def test_closing_writes_the_rest(opening: Opening) -> None:
    async with opening() as services:
        assert (await asker(services)("remember", content="kept")).ok
    async with opening() as services:
        vault = await opened(services)
        assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM events WHERE tool = 'remember'")) == 1


async def test_what_a_search_keeps_stays_good_while_calls_are_written_down(services: Services) -> None:
    ask = asker(services)
    assert (await ask("remember", content="the kettle is in the cellar")).ok
    await ask("recall", query="kettle")
    await settled(services)  # what the vault writes for itself counts
    vault = await opened(services)
    before = await vault.db.read(lambda tx: tx.version())
    for _ in range(3):
        await ask("recall", query="kettle")
        await vault.activity_log.write_out()
    assert await vault.db.read(lambda tx: tx.version()) == before
    assert (await ask("remember", content="the second kettle is in the attic")).ok
    assert await vault.db.read(lambda tx: tx.version()) != before
    assert len((await ask("recall", query="kettle")).content["hits"]) == 2


async def test_a_session_that_another_process_began_first_keeps_what_was_done_meanwhile(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledgers, "FLUSH_S", PATIENCE_S)  # the first call may take long
    ask, vault = asker(services), await opened(services)
    ledger, write_aside = vault.activity_log, vault.db.write_uncounted
    assert (await ask("recall", query="gate")).ok
    (own,) = ledger._touched.values()
    other = replace(own, id=str(uuid7()))
    await vault.db.write(lambda tx: session_rows.write_sessions(tx, [other]))

    async def write_while_calls_go_on(work: Callable[[Writer], object]) -> object:
        monkeypatch.undo()
        assert (await ask("recall", query="gate")).ok
        return await write_aside(work)

    monkeypatch.setattr(vault.db, "write_uncounted", write_while_calls_go_on)
    for _ in range(2):
        await ledger.write_out()
    assert own.id == other.id
    assert await vault.db.read(lambda tx: tx.all("SELECT session FROM events")) == [(own.seq,)] * 2


@asynccontextmanager
async def writer_held(vault: Vault) -> AsyncIterator[None]:
    """Inside, writes of the vault wait for their turn."""
    begun, go_on = threading.Event(), threading.Event()

    def hold(tx: Writer) -> None:
        begun.set()
        go_on.wait()

    holding = asyncio.create_task(vault.db.write(hold))
    try:
        await asyncio.to_thread(begun.wait)
        yield
    finally:
        go_on.set()
        await holding


async def until_queued(vault: Vault, function: str) -> None:
    """Wait until a write waits that was made in a function of this name; upkeep may have queued others."""
    while not any(each.work.__qualname__.startswith(f"{function}.") for each in vault.db._pending):  # noqa: ASYNC110
        await asyncio.sleep(0)


async def test_a_batch_written_behind_the_end_of_a_session_does_not_make_it_active_again(services: Services) -> None:
    ask, vault = asker(services), await opened(services)
    handle = (await ask("session_resume")).content["session"]["id"]
    await vault.activity_log.write_out()
    async with writer_held(vault):
        saving = asyncio.create_task(ask("session_save", summary="the gate is painted", status="paused"))
        await until_queued(vault, "save")
        flushing = asyncio.create_task(vault.activity_log.write_out())
        await asyncio.sleep(0)
    assert (await saving).ok
    await flushing
    assert await vault.db.read(lambda tx: tx.all("SELECT id, status FROM sessions")) == [(handle, "paused")]


async def test_a_session_whose_first_call_is_cancelled_while_its_row_is_written_is_paused_at_the_end(
    services: Services,
) -> None:
    ask, vault = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "http")), await opened(services)
    async with writer_held(vault):
        first = asyncio.create_task(ask("session_save", summary="the gate is painted", status="paused"))
        await until_queued(vault, "ActivityLog._flush")
        first.cancel()
        await asyncio.wait({first})
    await vault.activity_log.pause_served()
    assert await vault.db.read(lambda tx: tx.all("SELECT status FROM sessions")) == [("paused",)]
