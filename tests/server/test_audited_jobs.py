"""What a vault lets go by itself stands in its audit.

Covers server.audited_jobs.
"""

from __future__ import annotations

import pytest

from server.audited_jobs import audited
from server.services import Services
from tests.conftest import Asking
from tests.ops.audit.chains import FullDisk
from tests.server.test_audited_calls import entries
from vaults.errors import AuditUnavailable
from vaults.vault import BackgroundJob, Vault


async def test_what_expired_and_what_was_superseded_is_recorded(services: Services, ask: Asking) -> None:
    expired, old = [(await ask("remember", content=name)).content["id"] for name in ("expired", "old")]
    new = (await ask("memory_supersede", id=old, content="new")).content["id"]
    long_ago = "2000-01-01T00:00:00.000Z"
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.background.wait()  # else the sweep of the vault's first moments says afterwards that all is swept
        await vault.db.write(
            lambda tx: (
                tx.run("UPDATE memories SET expires_at = ? WHERE id = ?", (long_ago, expired)),
                tx.run("UPDATE memories SET updated_at = ? WHERE id = ?", (long_ago, old)),
                tx.run("DELETE FROM vault_info WHERE key = 'swept'"),
            )
        )
        vault.start_background_work()
        await vault.background.wait()
    said = [each for each in await entries(services) if each["kind"] == "act"]
    assert {(each["subject"], each["issuer"], each["tool"], each["outcome"]) for each in said} == {
        ("strongroom", "server", "upkeep", "ok")
    }
    changes = [tuple(change[:2]) for each in said for change in each["changes"]]
    assert changes == [("memory archived", expired), ("memory purged", old)]
    assert new not in str(said)


async def test_nothing_goes_by_itself_while_that_cannot_be_recorded(
    services: Services, ask: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, ran = FullDisk(monkeypatch), []
    await ask("remember", content="x")

    async def work(vault: Vault) -> None:
        ran.append(1)
        await vault.db.write(lambda tx: tx.note_change("memory archived", "m", "a", "a"))

    job = audited(services.audit, BackgroundJob("retention", lambda _: True, work))
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        disk.on = True
        await job.run(vault)  # this one is owed
        with pytest.raises(AuditUnavailable):
            await job.run(vault)
        disk.on = False
        await job.run(vault)
    assert len(ran) == 2
    assert [each["tool"] for each in await entries(services)] == ["remember", "upkeep", "upkeep"]


async def test_a_job_that_fails_is_recorded_with_what_it_did(services: Services) -> None:
    async def work(vault: Vault) -> None:
        await vault.db.write(lambda tx: tx.note_change("document", "d", "a", None))
        raise ZeroDivisionError

    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        with pytest.raises(ZeroDivisionError):
            await audited(services.audit, BackgroundJob("retention", lambda _: True, work)).run(vault)
    assert [(each["outcome"], each["changes"]) for each in await entries(services)] == [
        ("failed", [["document", "d", "a", None]])
    ]
