"""The first start, and the ways a container ends: by SIGTERM, killed, and killed before it had begun."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

from tests.e2e.test_working_day import asking
from tests.image.containers import Container, as_compose_starts_it, engine, eventually, place_of, running, volume

pytestmark = pytest.mark.image

AT_ONCE = 8
TOKEN = re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]+")


async def serves(container: Container) -> None:
    """It takes a memory, and finds it."""
    async with container.client() as client:
        ask = asking(client)
        await ask("remember", content="Tea is at four.", type="fact")
        assert "Tea is at four" in json.dumps(await ask("recall", query="tea", mode="keyword"))


async def test_the_first_start_of_compose_leaves_no_token_in_the_log(slim: str) -> None:
    with running(slim, *as_compose_starts_it(), STRONGROOM_AUTH__FIRST_TOKEN_TTL="none") as container:
        container.wait_ready()
        assert TOKEN.findall(container.logs()) == []
        await serves(container)


async def test_the_first_start_prints_a_token_that_works_where_one_is_asked_for(slim: str) -> None:
    with running(slim, STRONGROOM_AUTH__FIRST_TOKEN_TTL="1d") as container:
        container.wait_ready()
        (token,) = set(TOKEN.findall(container.logs()))
        async with container.client(token=token) as client:
            assert (await asking(client)("status"))["vault"]
        container.restart()
        assert set(TOKEN.findall(container.logs())) == {token}, "the second start prints none"


@pytest.mark.parametrize("init", [(), ("--init",)], ids=["as process 1", "below an init"])
async def test_sigterm_ends_it_with_0_and_nothing_that_was_answered_is_lost(slim: str, init: tuple[str, ...]) -> None:
    with running(slim, *init) as container:
        container.wait_ready()
        stored: list[str] = []
        token = container.token()
        working = [asyncio.create_task(_store(container, token, number, stored)) for number in range(AT_ONCE)]
        while len(stored) < 2 * AT_ONCE:
            ended, _ = await asyncio.wait(working, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
            assert not ended, [each.exception() for each in ended]
        assert await asyncio.to_thread(container.stop) == 0, container.logs()
        await asyncio.gather(*working, return_exceptions=True)
        assert '"event":"draining"' in container.logs()
        container.start()
        kept = container.call("memory_list", limit=1)
        assert kept["total"] >= len(stored)


async def _store(container: Container, token: str, worker: int, stored: list[str]) -> None:
    """Memories, until the server goes; those that it said it has are in ``stored``."""
    async with container.client(token=token) as client:
        for number in range(10_000):
            text = f"The harbour of island {worker} has {number} berths."
            await asking(client)("remember", content=text, type="fact")
            stored.append(text)


@pytest.mark.parametrize("made", ["control.db", "keys", "vaults/main", "vaults/main/vault.db", "serving.url"])
async def test_killed_at_its_first_start_it_starts_again_and_serves(slim: str, made: str) -> None:
    with volume() as name, running(slim, f"--volume={name}:/data", *as_compose_starts_it()) as container:
        eventually((place_of(name) / made).exists, container.logs, every_s=0.002)
        container.kill()
        container.start()
        await serves(container)
        assert container.execute("strongroom", "verify").returncode == 0


async def test_killed_at_ever_later_moments_of_its_start_it_serves_in_the_end(slim: str) -> None:
    with running(slim, *as_compose_starts_it()) as container:
        for after_s in (0.1, 0.4, 0.7, 1.0, 1.5, 2.0):
            await asyncio.sleep(after_s)  # where it is by then differs from machine to machine
            container.kill()
            engine("start", container.name)
        container.wait_ready()
        await serves(container)
