"""Limits of caller and vault, as a caller meets them."""

from __future__ import annotations

import asyncio

import pytest

from tests.conftest import Opening, asker


@pytest.mark.parametrize(
    ("flags", "tool"),
    [
        ({"limits.memories": 2}, "remember"),
        ({"limits.stores_per_day": 2}, "remember"),
        ({"limits.vault_size": "10KB"}, "remember"),
    ],
)
async def test_a_store_beyond_a_limit_is_refused_and_reading_goes_on(
    opening: Opening, flags: dict[str, object], tool: str
) -> None:
    async with opening(flags) as services:
        ask = asker(services)
        codes = [(await ask(tool, content=f"number {n}")).code for n in range(3)]
        assert codes[-1] == "quota_exceeded"
        assert (await ask("recall", query="number")).ok


async def test_a_rate_says_when_to_come_back(opening: Opening) -> None:
    async with opening({"limits.calls_per_minute": 2}) as services:
        ask = asker(services)
        codes = [(await ask("status")).code for _ in range(3)]
        assert codes == [None, None, "rate_limited"]
        assert (await ask("status")).content["error"]["details"]["retry_after_s"] > 0


async def test_many_writers_at_once_do_not_pass_a_limit(opening: Opening) -> None:
    async with opening({"limits.memories": 20}) as services:
        ask = asker(services)
        outcomes = await asyncio.gather(*(ask("remember", content=f"number {n}") for n in range(40)))
        assert sum(outcome.ok for outcome in outcomes) == 20
