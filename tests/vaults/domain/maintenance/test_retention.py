"""What runs out goes by itself: expired memories, old versions, the log of calls. In small steps, and never twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.importing import import_jsonl
from tests.noted import until
from vaults import clock
from vaults.db.connection import Database
from vaults.db.sql import Reader, Writer
from vaults.domain.actors import Actor
from vaults.domain.maintenance import retention


async def _id(ask: Asking, content: str, **more: object) -> str:
    outcome = await ask("remember", content=content, **more)
    assert outcome.ok, outcome.text
    return str(outcome.content["id"])


async def _sweep(services: Services) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await retention.sweep(vault)


async def _run(services: Services, sql: str, *params: Any) -> None:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: tx.run(sql, params))


async def _value(services: Services, sql: str, *params: Any) -> Any:
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        return await vault.db.read(lambda tx: tx.value(sql, params))


async def test_a_memory_that_expired_is_archived_with_the_reason(still: Services, tell: Asking) -> None:
    gone = await _id(tell, "Lunch is at one today", ttl_days=30)
    kept = await _id(tell, "Lunch is at noon as a rule", ttl_days=30)
    await _run(still, "UPDATE memories SET expires_at = ? WHERE id = ?", clock.ago(5), gone)
    await _sweep(still)
    told = {each["id"]: each for each in (await tell("memory_get", ids=[gone, kept])).content["memories"]}
    assert told[gone]["archived_reason"] == "expired"
    assert "archived_at" not in told[kept]


async def test_a_vault_sweeps_by_itself_once_it_is_opened(opening: Opening) -> None:
    async with opening() as services:
        gone = await _id(asker(services), "The demo is on Friday", ttl_days=1)
        await _run(services, "UPDATE memories SET expires_at = ?", clock.ago(5))
    async with opening() as services:

        def archived(tx: Reader) -> bool:
            row = tx.one("SELECT archived_reason FROM memories WHERE id = ?", (gone,))
            return row is not None and row[0] == "expired"

        await until(services, archived)
        await until(services, lambda tx: tx.one("SELECT 1 FROM vault_info WHERE key = 'swept'") is not None)


async def test_old_versions_go_for_good_and_leave_a_row_in_the_audit(still: Services, tell: Asking) -> None:
    first = await _id(tell, "The zyxomma port is 8080")
    second = (await tell("memory_supersede", id=first, content="The port is 8081")).content["id"]
    third = (await tell("memory_supersede", id=second, content="The port is 8082")).content["id"]
    await _run(still, "UPDATE memories SET updated_at = ? WHERE id = ?", clock.ago(91 * 86_400), first)
    await _sweep(still)
    assert (await tell("memory_get", ids=[first, second, third])).content["missing"] == [first]
    assert await _value(still, "SELECT action || ' ' || who FROM audit WHERE target = ?", first) == (
        "retention strongroom"
    )
    assert not (await tell("recall", query="zyxomma", include_archived=True, mode="keyword")).content["hits"]
    for table, column in (("passages", "body"), ("passages_words", "term")):
        assert not await _value(still, f"SELECT COUNT(*) FROM {table} WHERE {column} LIKE '%zyxomma%'"), table


async def test_nothing_of_an_old_version_is_left_in_the_files(opening: Opening, tmp_path: Path) -> None:
    async with opening() as services:
        ask = asker(services)
        for number in range(30):  # several segments of the text index, so that there is something to merge
            await _id(ask, f"Note {number} about quolls and other small animals")
        first = await _id(ask, "The zyxomma port is 8080")
        await ask("memory_supersede", id=first, content="The port is 8081")
        await _run(services, "UPDATE memories SET updated_at = ? WHERE id = ?", clock.ago(91 * 86_400), first)
        await _run(
            services,
            "INSERT INTO evictions (run, at, kind, item, id, title, size, used, reason, state)"
            " SELECT 'r', updated_at, 'memory', seq, id, title, 1, '', 'retention', 'restored' FROM memories"
            " WHERE id = ?",
            first,
        )
        await _sweep(services)
    for path in (file for file in tmp_path.rglob("*") if file.is_file()):
        assert b"zyxomma" not in path.read_bytes(), path.name


async def test_nothing_older_comes_back_when_a_version_between_is_deleted(still: Services, tell: Asking) -> None:
    first = await _id(tell, "Version one of the rule")
    second = (await tell("memory_supersede", id=first, content="Version two of the rule")).content["id"]
    third = (await tell("memory_supersede", id=second, content="Version three of the rule")).content["id"]
    await _run(still, "UPDATE memories SET updated_at = ? WHERE id = ?", clock.ago(91 * 86_400), second)
    await _sweep(still)
    assert await _value(still, "SELECT superseded_by FROM memories WHERE id = ?", first) == third
    assert await _value(still, "SELECT supersedes FROM memories WHERE id = ?", third) is None
    found = (await tell("recall", query="version of the rule")).content["hits"]
    assert [hit["id"] for hit in found] == [third]


async def test_versions_superseded_lately_stay(still: Services, tell: Asking) -> None:
    first = await _id(tell, "The port is 8080")
    await tell("memory_supersede", id=first, content="The port is 8081")
    await _sweep(still)
    assert not (await tell("memory_get", ids=[first])).content["missing"]


def _events(tx: Writer, number: int, at: str, session: str) -> None:
    seq = tx.insert(
        "INSERT INTO sessions (id, owner, name, who, transport, workspace, status, started_at, seen_at)"
        " VALUES (?, 'o', ?, 'w', 'http', 'global', 'paused', ?, ?)",
        (session, session, at, at),
    )
    tx.many(
        "INSERT INTO events (at, session, owner, tool, type, summary, outcome, ms, tokens_in, tokens_out)"
        " VALUES (?, ?, 'o', 'recall', 'tool_call', 'recall', 'ok', 1.0, 1, 1)",
        [(at, seq)] * number,
    )


async def test_old_events_and_their_sessions_go_and_feedback_stays(still: Services, tell: Asking) -> None:
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: _events(tx, 450, clock.ago(100 * 86_400), "old"))
        await vault.db.write(lambda tx: _events(tx, 3, clock.ago(10 * 86_400), "new"))
        await vault.db.write(
            lambda tx: tx.run(
                "INSERT INTO feedback (id, at, owner, who, session, type) SELECT 'f', ?, 'o', 'w', seq, 'bug'"
                " FROM sessions WHERE id = 'old'",
                (clock.ago(100 * 86_400),),
            )
        )
    await _sweep(still)
    assert await _value(still, "SELECT COUNT(*) FROM events WHERE owner = 'o'") == 3
    assert await _value(still, "SELECT GROUP_CONCAT(id) FROM sessions WHERE owner = 'o'") == "new"
    assert await _value(still, "SELECT COUNT(*) FROM feedback WHERE session IS NULL") == 1


async def test_what_an_import_brought_is_kept_from_then_on(still: Services, tmp_path: Path) -> None:
    old = "2020-01-01T00:00:00Z"
    lines = [
        {"external_id": "m1", "content": "The port is 8080", "created_at": old, "updated_at": old},
        {"external_id": "m2", "content": "The port is 8081", "created_at": old, "supersedes": "m1"},
        {"kind": "session", "external_id": "s1", "started_at": old, "goal": "ship it"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await import_jsonl(vault, Actor("owner", "owner"), tmp_path / "in.jsonl")
    kept = "SELECT (SELECT COUNT(*) FROM memories) || ' ' || (SELECT COUNT(*) FROM sessions WHERE goal = 'ship it')"
    await _sweep(still)
    assert await _value(still, kept) == "2 1"
    await _run(still, "UPDATE import_runs SET started_at = ?", clock.ago(100 * 86_400))
    await _sweep(still)
    assert await _value(still, kept) == "1 0"


async def test_a_sweep_is_owed_hourly_at_once_for_what_expired_and_when_the_clock_went_back(
    still: Services, tell: Asking
) -> None:
    async def owed() -> bool:
        async with still.pool.lease(still.registry_cache.entry("main")) as vault:
            return await vault.db.read(retention.is_sweep_due)

    await _sweep(still)
    assert not await owed()
    swept = f"{clock.ago(3700)} {clock.ago(100)}"
    await _run(still, "UPDATE vault_info SET value = ? WHERE key = 'swept'", swept)
    assert await owed()
    await _sweep(still)
    await _run(
        still, "UPDATE vault_info SET value = ? WHERE key = 'swept'", f"{clock.ago(-9_000)} {clock.ago(-12_600)}"
    )
    assert await owed()
    await _sweep(still)
    gone = await _id(tell, "Only for a moment", ttl_days=1)
    assert not await owed()
    await _run(still, "UPDATE memories SET expires_at = ? WHERE id = ?", clock.ago(1), gone)
    assert await owed()


async def test_no_step_of_a_sweep_keeps_the_database_for_long(still: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    write = Database.write

    async def counted(self: Database, work: Callable[[Writer], Any]) -> Any:
        def noted(tx: Writer) -> Any:
            before = int(tx.value("SELECT total_changes()"))
            done = work(tx)
            sizes.append(int(tx.value("SELECT total_changes()")) - before)
            return done

        return await write(self, noted)

    async with still.pool.lease(still.registry_cache.entry("main")) as vault:
        await vault.db.write(lambda tx: _events(tx, 5_000, clock.ago(100 * 86_400), "old"))
        monkeypatch.setattr(Database, "write", counted)
        await retention.sweep(vault)
        monkeypatch.undo()
    assert sum(sizes) >= 5_000
    assert max(sizes) <= 2 * retention.ROWS, "rows of one transaction"
