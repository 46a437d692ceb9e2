"""Work in a vault on a disk that is full: run where a small one is. ``python -m tests.crash.full_disk DATA KB …`` tries
each call with so much space left, and prints a JSON line for each; the last one is what the log has in the end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from server.services import Services
from tests.crash.continuity_work import ask, identity, staffed
from tests.crash.small_disk import cause, done, fill

READS: Sequence[tuple[str, dict[str, Any]]] = (
    ("status", {}), ("recall", {"query": "harbour"}), ("context", {}), ("context", {"query": "harbour"}),
    ("session_resume", {}), ("session_history", {}), ("claims", {}), ("handoff_load", {}), ("threads", {}),
    ("usage", {}), ("memory_list", {}),
)  # fmt: skip
WRITES: Sequence[tuple[str, dict[str, Any]]] = (
    ("remember", {"content": "a long fact " + "and more of it " * 500}),
    ("handoff_create", {"goal": "g", "current_state": "long " * 1500, "next_action": "n"}),
    ("claims", {"action": "claim", "resources": [f"{{mark}}/{n}" for n in range(50)]}),
    ("checkpoint", {"reason": "r", "state": {"words": "long " * 5000}}),
    ("feedback", {"type": "bug", "message": "m" * 1900}),
    ("session_save", {"summary": "s" * 1900}),
)
TABLES = ("memories", "handoffs", "claims", "checkpoints", "feedback")


async def counted(services: Services) -> dict[str, int]:
    """Rows of the tables that calls write to, and the events."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        tables = (*TABLES, "events")
        return {
            name: await vault.db.read(lambda tx, name=name: tx.value(f"SELECT COUNT(*) FROM {name}")) for name in tables
        }


async def attempt(services: Services, data: Path, free: int, who: str) -> int:
    """Every call with so much space left; how many there were."""
    calls = [(tool, arguments, False) for tool, arguments in READS] + [(*each, True) for each in WRITES]
    for tool, plan, writes in calls:
        named = [name.format(mark=f"{who}{free}") for name in plan.get("resources", ())]
        arguments = {**plan, **({"resources": named} if named else {})}
        before = await counted(services)
        fill(data.parent / "ballast", free * 1024)
        outcome = await ask(services, who, tool, **arguments)
        after = await counted(services)
        (data.parent / "ballast").unlink()
        same = all(before[name] == after[name] for name in TABLES)
        code = None if done(outcome) else cause(outcome)
        print(json.dumps({"free": free, "tool": tool, "writes": writes, "code": code, "same": same}), flush=True)
        if code == "storage_full":
            again = await ask(services, who, tool, **arguments)
            print(json.dumps({"free": -1, "tool": tool, "writes": writes, "code": again.code, "id": identity(again)}))
    return len(calls)


async def main(data: Path, amounts: list[int]) -> None:
    async with staffed(data) as services:
        assert (await ask(services, "ann", "remember", content="the harbour opens at six")).ok
        for free in amounts:
            for who in ("ann", "ben"):
                await attempt(services, data, free, who)
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            await vault.activity_log.write_out()  # ``flush`` waits for a second at most
            sound = await vault.db.run_on_writer(lambda raw: raw.execute("PRAGMA integrity_check").fetchall())
            calls = await vault.db.read(
                lambda tx: tx.value("SELECT COUNT(*) FROM events WHERE type NOT IN ('claim', 'release')")
            )
            print(json.dumps({"events": calls, "lost": vault.activity_log.lost, "sound": sound == [("ok",)]}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), [int(each) for each in sys.argv[2:]]))
