"""What doctor says of sessions, claims and the activity log, and what a repair does about it.

Covers ops.doctor.check, ops.doctor.continuity, ops.doctor.repairs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from ops.doctor import continuity
from ops.doctor.check import is_well
from ops.doctor.repairs import repair
from server.services import Services
from tests.conftest import asker
from vaults import clock
from vaults.errors import StorageFull
from vaults.vault import Vault

LONG_AGO = "2026-01-01T00:00:00.000Z"


@pytest.fixture
async def vault(services: Services) -> AsyncIterator[Vault]:
    assert (await asker(services)("recall", query="x")).ok
    async with services.pool.lease(services.registry_cache.entry("main")) as held:
        await held.activity_log.flush()
        yield held


async def run(vault: Vault, sql: str, *values: object) -> None:
    await vault.db.write(lambda tx: tx.run(sql, values))


async def test_a_vault_somebody_works_in_is_well(vault: Vault) -> None:
    await run(vault, "INSERT INTO claims SELECT 'a', seq, NULL, started_at FROM sessions")
    checks = [await check(vault) for check in continuity.CONTINUITY]
    assert [check.status for check in checks] == ["ok"] * 4
    assert [check.name for check in checks] == ["sessions", "claims", "ledger", "events"]


async def test_sessions_nobody_is_in_are_named_and_paused_by_a_repair(vault: Vault) -> None:
    await run(vault, "INSERT INTO claims SELECT 'a', seq, NULL, started_at FROM sessions")
    await run(vault, "UPDATE sessions SET seen_at = ?", LONG_AGO)
    check = await continuity.sessions(vault)
    assert (check.status, check.message) == ("notice", "1 sessions are active and nobody is in them")
    assert await repair(vault) == ["1 sessions nobody is in were paused"]
    assert (await continuity.sessions(vault)).status == "ok"
    assert await vault.db.read(lambda tx: tx.value("SELECT COUNT(*) FROM claims")) == 0


async def test_a_session_seen_in_the_future_is_one_nobody_is_in(vault: Vault) -> None:
    await run(vault, "UPDATE sessions SET seen_at = ?", clock.days_from_now(2))
    assert (await continuity.sessions(vault)).status == "notice"


async def test_claims_of_sessions_that_are_over_are_named_and_given_back_by_a_repair(vault: Vault) -> None:
    await run(vault, "INSERT INTO claims SELECT 'a', seq, NULL, started_at FROM sessions")
    await run(vault, "UPDATE sessions SET status = 'paused'")
    check = await continuity.claims(vault)
    assert (check.status, check.message) == ("notice", "1 resources are claimed by sessions that are over")
    await repair(vault)
    assert (await continuity.claims(vault)).status == "ok"


async def test_calls_the_log_could_not_take_are_a_warning(
    services: Services, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(_work: object) -> None:
        raise StorageFull("the disk is full")

    from vaults.activity_log import log_writer

    monkeypatch.setattr(log_writer, "MAX_WAITING", 1)
    with monkeypatch.context() as broken:
        broken.setattr(vault.db, "write", full)
        for _ in range(3):
            assert (await asker(services)("recall", query="x")).ok
        await vault.activity_log.flush()
    check = await continuity.ledger(vault)
    assert (check.status, is_well([check])) == ("warning", False)
    assert check.message.startswith("2 calls could not be written")


@pytest.mark.parametrize(("age", "status"), [(89, "ok"), (91, "ok"), (93, "notice")])
async def test_events_kept_for_too_long_are_told(vault: Vault, age: int, status: str) -> None:
    await run(vault, "UPDATE events SET at = ?", clock.ago(age * 86_400))
    assert (await continuity.events(vault)).status == status
