"""A layout is computed once for each state of a graph, however many ask."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from numpy.typing import NDArray

from vaults.graph.layout_cache import LayoutCache, NewestResult

Places = NDArray[np.float64]


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


async def test_a_vault_at_rest_keeps_places_and_frees_the_document() -> None:
    kept = LayoutCache()
    computed: list[str] = []

    async def place() -> Places:
        computed.append("places")
        return np.zeros((2, 2))

    async def write() -> str:
        computed.append("document")
        return "{}"

    for _ in range(2):
        await kept.places.at(1, place)
        await kept.documents.at(1, write)
        kept.rest()
    assert computed == ["places", "document", "document"]
