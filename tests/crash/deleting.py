"""Deleting on a disk that another program filled: run where a small one is. ``python -m tests.crash.deleting DATA``
prints a JSON line for each thing tried, with the size of the reserve after it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from server.services import Services
from tests.crash.notes_work import ask, opened
from tests.crash.small_disk import fill
from vaults.disk_reserve import RESERVE_FILE

FLAGS = {"storage.reserve_mb": 8, "notes.watch": "off"}
WORDS = 400
CANARY = "xylocarpus quokka"


def _text(at: int) -> str:
    """Mostly words no other text has: to merge the index of some hundreds takes more room than the reserve gives."""
    random = Random(at)
    return f"number {at} {CANARY if at == 0 else ''} " + " ".join(random.randbytes(5).hex() for _ in range(WORDS))


async def _stored(services: Services, count: int) -> list[str]:
    ids: list[str] = []
    for start in range(0, count, 20):
        wave = (ask(services, "remember", content=_text(at)) for at in range(start, start + 20))
        outcomes = await asyncio.gather(*wave)
        assert all(outcome.ok for outcome in outcomes), outcomes
        ids += [outcome.content["id"] for outcome in outcomes]
    return ids


async def main(data: Path, count: int) -> None:
    def said(tool: str, code: str | None) -> None:
        reserve = (data / RESERVE_FILE).stat().st_blocks * 512 if (data / RESERVE_FILE).exists() else None
        print(json.dumps({"tool": tool, "code": code, "reserve": reserve}), flush=True)

    async def tried(tool: str, **arguments: Any) -> None:
        said(tool, (await ask(services, tool, **arguments)).code)

    async with opened(data, FLAGS) as services:
        ids = await _stored(services, count)
        for note in ("one.md", "two.md"):
            await ask(services, "note_write", path=note, content="# Note\n\nsome text\n")
        await services.pool.keep_reserves()
        said("before", None)
        fill(data.parent / "ballast", 0)
        await tried("remember", content="one too many")
        await tried("memory_forget", ids=ids[1:2])
        await tried("memory_forget", ids=ids[:1], purge=True)
        await tried("note_delete", path="one.md", confirm=True)
        for at in range(2, 12):
            await tried("memory_forget", ids=[ids[at]], purge=True)
        await tried("note_delete", path="two.md", confirm=True)
        await tried("recall", query=CANARY, mode="keyword")
        await services.pool.keep_reserves()
        said("still full", None)
        (data.parent / "ballast").unlink()
        await services.pool.keep_reserves()
        said("room again", None)
        await tried("remember", content="room for one more")
        await _settled(services)
    left = [path.name for path in (data / "vaults").rglob("*") if path.is_file() and _holds(path.read_bytes)]
    print(json.dumps({"left": left}))


def _holds(read: Callable[[], bytes]) -> bool:
    data = read()
    return any(word.encode() in data for word in CANARY.split())


async def _settled(services: Services) -> None:
    """What is owed is done."""
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        vault.start_background_work()
        while vault.background.is_busy:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
