"""Memories are compared the same whether one thread does it or several processes share them."""

from __future__ import annotations

import pytest

from tests.conftest import Opening, asker
from vaults.domain.maintenance import memory_comparison
from vaults.domain.maintenance.verification import verify
from vaults.index import passages

CHANGES = {
    "source_changed": "UPDATE memories SET content_hash = 'other' WHERE seq = 7",
    "tags_differ": "INSERT INTO item_tags VALUES ('memory', 8, 'stray')",
    "passages_stale": "UPDATE passages SET source_hash = 'other' WHERE kind = 'memory' AND item = 10",
    "passages_differ": "UPDATE passages SET workspace = 'other' WHERE kind = 'memory' AND item = 11",
}


@pytest.mark.parametrize("least", [0, 10**6], ids=["in processes", "on a thread"])
async def test_each_disagreement_is_counted(opening: Opening, monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    monkeypatch.setattr(memory_comparison, "MANY_MEMORIES", least)
    monkeypatch.setattr(memory_comparison, "PAGE", 7)
    async with opening() as services:
        ask = asker(services)
        for at in range(30):
            await ask("remember", content=f"boat {at} in the harbour", tags=["t"])
        told: list[tuple[int, int]] = []
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await verify(vault, lambda *progress: told.append(progress))).agrees
            for sql in CHANGES.values():
                await vault.db.write(lambda tx, sql=sql: tx.run(sql))  # type: ignore[misc]
            await vault.db.write(lambda tx: passages.remove_items(tx, "memory", [9]))
            report = await verify(vault)
        found = {each.code: each.count for each in report.findings}
        assert {code: found.get(code) for code in ("tags_differ", "passages_missing", "passages_differ")} == {
            "tags_differ": 2,
            "passages_missing": 1,
            "passages_differ": 1,
        }
        assert found["source_changed"] == 1
        assert found["passages_stale"] == 2, "that of the memory whose hash is another, too"
        assert told[-1][1] in (0, 30)
