"""Many callers at once. The bounded ones run always; those that take a minute are `make load`."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker, local
from tests.people import give_role
from vaults.domain.maintenance.verification import verify

SECONDS = float(os.environ.get("STRONGROOM_LOAD_SECONDS", "15"))


def _as(services: Services, name: str, vault: str) -> Asking:
    return asker(services, Caller(local(name), vault, Role.ADMIN, "http"))


async def _grant(services: Services, name: str, vault: str) -> None:
    await give_role(services, name, Role.ADMIN, vault=vault)


async def test_five_hundred_calls_at_once_are_served_or_told_to_wait(opening: Opening) -> None:
    async with opening() as services:
        await _grant(services, "eager", "main")
        await _grant(services, "modest", "main")
        eager, modest = _as(services, "eager", "main"), _as(services, "modest", "main")
        calls = [eager("remember", content=f"number {n}") for n in range(500)]
        outcomes, other = await asyncio.gather(asyncio.gather(*calls), modest("remember", content="mine"))
        codes = Counter(outcome.code for outcome in outcomes)
        assert set(codes) == {None, "overloaded"}
        assert codes[None] >= services.settings.limits.in_flight
        refused = next(outcome for outcome in outcomes if outcome.code == "overloaded")
        assert refused.content["error"]["retryable"]
        assert refused.content["error"]["details"]["retry_after_s"] > 0
        assert other.ok, "one caller's flood is not another's"
        assert (await modest("memory_list")).content["total"] == codes[None] + 1


async def test_cancelled_calls_leave_writes_whole_and_places_free(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))
        await ask("remember", content="warm")
        order = random.Random(7)
        for round_ in range(30):
            calls = [asyncio.create_task(ask("remember", content=f"round {round_} number {n}")) for n in range(8)]
            for _ in range(order.randrange(12)):
                await asyncio.sleep(0)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        assert not services.quotas._running
        assert (await ask("remember", content="after the storm")).ok
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await verify(vault)).agrees


async def test_writers_searchers_and_a_rebuilding_index_share_a_vault(opening: Opening) -> None:
    async with opening({"index.flat_limit": 1000}) as services:
        ask = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))
        words = [f"word{n}" for n in range(50)]
        order = random.Random(1)
        stored: dict[str, str] = {}

        async def write(writer: int) -> None:
            for n in range(160):
                text = f"entry {writer} {n} " + " ".join(order.choices(words, k=5))
                outcome = await ask("remember", content=text)
                assert outcome.ok, outcome.text
                stored[outcome.content["id"]] = text

        async def search() -> None:
            for _ in range(60):
                assert (await ask("recall", query=" ".join(order.choices(words, k=3)))).ok

        await asyncio.gather(*(write(n) for n in range(8)), *(search() for _ in range(4)))
        for memory, text in order.sample(sorted(stored.items()), 30):
            hits = (await ask("recall", query=text, mode="semantic", limit=3)).content["hits"]
            assert memory in {hit["id"] for hit in hits}
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert (await verify(vault)).agrees


@pytest.mark.load
async def test_a_noisy_vault_leaves_a_paced_neighbour_its_pace(opening: Opening) -> None:
    from server.settings import export_environment
    from vaults.embed.engines import load_embedder
    from vaults.settings import EmbeddingSettings

    export_environment()
    async with opening(load_model=lambda: load_embedder(EmbeddingSettings()), vaults=("noisy", "quiet")) as services:
        for name in ("noisy", "quiet"):
            await _grant(services, name, name)
        noisy, quiet = _as(services, "noisy", "noisy"), _as(services, "quiet", "quiet")
        await asyncio.gather(noisy("remember", content="warm"), quiet("remember", content="warm"))
        stop = asyncio.Event()

        async def hammer(number: int) -> int:
            done = 0
            while not stop.is_set():
                outcome = await noisy("remember", content=f"noise {number} {done} " + "and more words " * 8)
                done += outcome.ok
            return done

        storm = [asyncio.create_task(hammer(number)) for number in range(32)]
        paced, until = 0, time.monotonic() + SECONDS
        rate = 5.0
        while time.monotonic() < until:
            began = time.monotonic()
            assert (await quiet("recall", query=f"question {paced}")).ok
            paced += 1
            await asyncio.sleep(max(0.0, 1 / rate - (time.monotonic() - began)))
        stop.set()
        noise = sum(await asyncio.gather(*storm))
        assert noise > 0
        assert paced >= 0.8 * rate * SECONDS


@pytest.mark.load
async def test_memory_threads_and_descriptors_stay_flat(opening: Opening) -> None:
    async with opening() as services:
        ask = asker(services, Caller(owner("cli"), "main", Role.ADMIN, "cli"))
        await asyncio.gather(*(ask("remember", content=f"warm {n}") for n in range(64)))

        def resident() -> int:
            return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

        async def storm() -> None:
            for _ in range(20):
                calls = [asyncio.create_task(ask("recall", query=f"warm {n}")) for n in range(64)]
                await asyncio.sleep(0)
                for call in calls[::2]:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)

        await storm()
        before, descriptors = resident(), len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(5):
            await storm()
        assert resident() - before < 20 * 1024 * 1024
        assert len(list(Path("/proc/self/fd").iterdir())) <= descriptors + 2
