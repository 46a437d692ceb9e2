"""Many callers at once, each request for another vault than the one before: no answer may come from elsewhere."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.server.http.serving import ERAS, raw, served

VAULTS = tuple(f"vault{number}" for number in range(5))
CLIENTS, ROUNDS = 16, len(VAULTS)


async def plant(owner):
    """One canary per vault, under the same words everywhere."""
    for vault in VAULTS:
        owner.path = f"/v/{vault}/mcp"
        stored = await owner.call("remember", {"content": f"The canary of this vault is called {vault}"})
        assert not stored["isError"]


async def ask_around(owner, number, era):
    """Ask vault after vault, never the same twice in a row."""
    seen = []
    for vault in itertools.islice(itertools.cycle(VAULTS[number % 5 :] + VAULTS[: number % 5]), ROUNDS):
        owner_path = f"/v/{vault}/mcp"
        asker = type(owner)(owner.http, owner_path)
        found = await asker.call("recall", {"query": "canary of this vault"}, era)
        hits = found["structuredContent"]["hits"]
        status = await asker.call("status", era=era)
        seen.append((vault, [hit["content"].split()[-1] for hit in hits], status["structuredContent"]["vault"]))
    return seen


@pytest.mark.parametrize("era", ERAS)
async def test_answers_come_from_the_vault_that_was_asked(tmp_path, era):
    async with served(tmp_path / "data", vaults=VAULTS, **{"storage.open_vaults": 8}) as site:
        async with raw(site, "owner") as owner:
            await plant(owner)
            rounds = await asyncio.gather(*(ask_around(owner, number, era) for number in range(CLIENTS)))
    seen = [answer for each in rounds for answer in each]
    assert len(seen) == CLIENTS * ROUNDS
    assert [(asked, [asked], asked) for asked, _, _ in seen] == seen
