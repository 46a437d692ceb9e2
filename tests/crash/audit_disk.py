"""Changes while the disk of the audit is full: run where a small one is mounted as its folder.

``python -m tests.crash.audit_disk DATA`` prints a JSON line for each call: how much was free, what came of it, and how
many memories there are.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from server.services import Services
from tests.conftest import asker
from tests.crash.small_disk import fill
from tests.crash.work import opened

FREE_KB = (0, 4, 8, 16, 32)


async def attempt(services: Services, data: Path, number: int, disk: str) -> None:
    """One change and one read; what came of both."""
    ask = asker(services)
    changed = await ask("remember", content=f"fact {number} of the harbour")
    read = await ask("recall", query=f"fact {number}", mode="keyword", limit=50, max_tokens=100_000)
    error = changed.content.get("error", {})
    health = await services.health.ready()
    line = {
        "disk": disk, "code": changed.code, "done": error.get("details", {}).get("done", False), "read": read.ok,
        "there": number in {int(each["content"].split()[1]) for each in read.content["hits"]},
        "failing": bool(services.audit.failing), "health": health.status,
    }  # fmt: skip
    print(json.dumps(line), flush=True)


async def main(data: Path) -> None:
    ballast, number = data / "audit" / "ballast", 0
    for free in FREE_KB:
        async with opened(data) as services:
            number += 1
            await attempt(services, data, number, "roomy")
            fill(ballast, free * 1024)
            for _ in range(40):
                number += 1
                await attempt(services, data, number, "full")
            ballast.unlink()
            number += 1
            await attempt(services, data, number, "roomy again")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
