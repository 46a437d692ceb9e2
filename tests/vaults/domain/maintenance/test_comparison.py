"""A database is compared the same whether a thread does it or several processes do, and nobody waits for either.

Covers vaults.domain.maintenance.comparison_parts, vaults.domain.maintenance.memory_comparison,
vaults.domain.maintenance.vector_comparison, vaults.domain.maintenance.row_checks,
vaults.domain.maintenance.disagreements, vaults.domain.maintenance.verification_findings, vaults.paces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from server.services import Services
from tests.conftest import Opening, asker
from tests.work import PATIENCE_S
from vaults.child_processes import ChildProcess
from vaults.db.private_copy import PREFIX
from vaults.domain.maintenance import comparison, comparison_parts, memory_comparison
from vaults.domain.maintenance.verification import VerificationReport, verify, verify_alone
from vaults.errors import VaultUnavailable
from vaults.index import passages
from vaults.vault import Vault

CHANGES = {
    "source_changed": "UPDATE memories SET content_hash = 'other' WHERE seq = 7",
    "tags_differ": "INSERT INTO item_tags VALUES ('memory', 8, 'stray')",
    "passages_stale": "UPDATE passages SET source_hash = 'other' WHERE kind = 'memory' AND item = 10",
    "passages_differ": "UPDATE passages SET workspace = 'other' WHERE kind = 'memory' AND item = 11",
}
EXPECTED = {
    "source_changed": 1,
    "tags_differ": 2,
    "passages_missing": 1,
    "passages_differ": 1,
    "passages_stale": 2,  # that of the memory whose hash is another, too
}


@asynccontextmanager
async def _vault(opening: Opening) -> AsyncIterator[tuple[Services, Vault]]:
    async with opening() as services:
        ask = asker(services)
        for at in range(30):
            await ask("remember", content=f"boat {at} in the harbour", tags=["t"])
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            yield services, vault


async def _plant(vault: Vault) -> str:
    """Disagreements of each kind; returns the id of the memory that differs from its hash."""
    for sql in CHANGES.values():
        await vault.db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
    await vault.db.write(lambda tx: passages.remove_items(tx, "memory", [9]))
    return str(await vault.db.read(lambda tx: tx.value("SELECT id FROM memories WHERE seq = 7")))


@pytest.mark.parametrize(
    ("compare", "least"),
    [(verify, 0), (verify, 10**12), (verify_alone, 10**12)],
    ids=["in processes", "on a thread", "without a copy"],
)
async def test_each_disagreement_is_counted(
    opening: Opening, monkeypatch: pytest.MonkeyPatch, compare: Callable[..., Awaitable[VerificationReport]], least: int
) -> None:
    monkeypatch.setattr(comparison, "MANY_BYTES", least)
    monkeypatch.setattr(comparison_parts, "SPAN", 11)
    monkeypatch.setattr(memory_comparison, "PAGE", 7)
    told: list[tuple[int, int]] = []
    async with _vault(opening) as (_, vault):
        changed = await _plant(vault)
        report = await compare(vault, lambda *progress: told.append(progress))
    found = {each.code: each for each in report.findings}
    assert {code: each.count for code, each in found.items()} == EXPECTED
    assert changed in found["source_changed"].message
    assert report.memories == 30
    assert {total for _, total in told[:3]} == {30}
    assert sorted(done for done, _ in told[:3])[-1] == 30


async def test_a_process_that_dies_is_no_agreement(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MANY_BYTES", 0)
    monkeypatch.setattr(comparison, "CHILD", "import sys; sys.exit(1)")
    async with _vault(opening) as (_, vault):
        with pytest.raises(VaultUnavailable):
            await verify(vault)
        assert not list(vault.folder.glob(f"{PREFIX}*"))


async def test_without_processes_to_be_had_a_thread_compares(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MANY_BYTES", 0)

    async def none(*_: object) -> None:
        return None

    monkeypatch.setattr(comparison, "start_process", none)
    async with _vault(opening) as (_, vault):
        assert (await verify(vault)).agrees


async def test_whoever_gives_up_leaves_neither_a_process_nor_a_copy(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "MANY_BYTES", 0)
    monkeypatch.setattr(comparison, "CHILD", "import sys; sys.stdin.read()")  # answers nothing
    begun: list[ChildProcess] = []
    asked = asyncio.Event()
    start = comparison.start_process

    async def spied(*arguments: object) -> ChildProcess | None:
        process = await start(*arguments)  # type: ignore[arg-type]
        assert process is not None
        begun.append(process)
        asked.set()
        return process

    monkeypatch.setattr(comparison, "start_process", spied)
    async with _vault(opening) as (_, vault), asyncio.timeout(PATIENCE_S):
        work = asyncio.create_task(verify(vault))
        await asked.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert all(process.returncode is not None for process in begun)
        assert not list(vault.folder.glob(f"{PREFIX}*"))
