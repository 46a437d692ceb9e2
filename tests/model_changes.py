"""A vault with a few memories that changes to a model behind an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.responses import Response

from server.services import Services
from tests.conftest import Asking
from tests.embedding_servers import EmbeddingServer, Seen
from tests.work import PATIENCE_S
from vaults.domain.maintenance import model_change
from vaults.vault import Vault

OTHER = "endpoint:other"
TEXTS = [f"the harbour master keeps log {name}" for name in ("amber", "birch", "cedar", "delta", "ember")]


def at(server: EmbeddingServer) -> dict[str, Any]:
    return {"embedding.endpoint": server.url()}


@asynccontextmanager
async def held(services: Services, vault: str = "main") -> AsyncIterator[Vault]:
    async with services.pool.lease(services.registry_cache.entry(vault)) as opened:
        yield opened


async def change(services: Services, name: str) -> None:
    async with held(services) as vault:
        await model_change.request(vault, name)
        vault.start_background_work()


async def changed(services: Services, name: str) -> None:
    await change(services, name)
    async with held(services) as vault, asyncio.timeout(PATIENCE_S):
        await vault.background.wait()


async def remembered(ask: Asking) -> None:
    for text in TEXTS:
        assert (await ask("remember", content=text)).content["embedding"] == "ready"


async def found(ask: Asking, query: str) -> tuple[str, str, list[str]]:
    answer = (await ask("search", query=query, mode="semantic", limit=1)).content
    return answer["mode_used"], answer["hits"][0]["text"], answer.get("warnings", [])


async def model_of(ask: Asking) -> dict[str, Any]:
    state: dict[str, Any] = (await ask("status")).content["embedding"]
    return state


class Gate:
    """Has the server answer a number of batches, and then no more until it is opened."""

    def __init__(self, server: EmbeddingServer, batches: int) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()
        self._left = batches
        server.reply = self.reply

    async def reply(self, seen: Seen) -> Response | None:
        if not any(text in TEXTS for text in seen.texts):
            return None
        self._left -= 1
        if self._left >= 0:
            return None
        self.reached.set()
        await self.opened.wait()
        return None
