"""A layout is computed once for each state of a graph, however many ask."""

from __future__ import annotations

import asyncio

import pytest

from vaults.graph.layout_cache import NewestResult


async def test_those_who_ask_at_once_share_what_is_computed() -> None:
    kept: NewestResult[str] = NewestResult()
    computed: list[str] = []

    async def compute(name: str) -> str:
        computed.append(name)
        await asyncio.sleep(0)
        return name

    assert await asyncio.gather(*(kept.at(1, lambda: compute("first")) for _ in range(5))) == ["first"] * 5
    assert await kept.at(1, lambda: compute("again")) == "first"
    assert await kept.at(2, lambda: compute("second")) == "second"
    kept.clear()
    assert await kept.at(2, lambda: compute("third")) == "third"
    assert computed == ["first", "second", "third"]


async def test_a_failure_is_not_kept() -> None:
    kept: NewestResult[str] = NewestResult()

    async def fail() -> str:
        raise RuntimeError("no room")

    async def succeed() -> str:
        return "there"

    with pytest.raises(RuntimeError):
        await kept.at(1, fail)
    assert await kept.at(1, succeed) == "there"
