"""Two models are loaded at most; a third takes the place of the one used least recently, and each answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest

from tests.fakes import HashEmbedder
from tests.work import PATIENCE_S
from vaults.embed import resident_models
from vaults.embed.resident_models import AT_MOST, ResidentModels
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings


class Shelf:
    """Services that share a memory, and how many of their models were loaded at a time."""

    def __init__(self, number: int) -> None:
        self.residents = ResidentModels()
        self.loads: list[int] = []
        self.open: list[HashEmbedder] = []
        self.services = [self._make(width) for width in range(number)]

    def _make(self, number: int) -> EmbeddingService:
        def load() -> HashEmbedder:
            self.loads.append(number)
            self.open = [each for each in self.open if not each.closed]
            model = HashEmbedder(8 + number)
            self.open.append(model)
            assert len(self.open) <= AT_MOST
            return model

        return EmbeddingService(EmbeddingSettings(), NullObserver(), load, residents=self.residents)

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self.services))


async def test_the_one_used_least_recently_gives_way() -> None:
    shelf = Shelf(3)
    first, second, third = shelf.services
    for service in (first, second, first, third):
        await service.query(f"text {len(shelf.loads)} {time.monotonic()}")
    assert shelf.loads == [0, 1, 2]
    await first.query("it was used after the second, and stayed")
    assert shelf.loads == [0, 1, 2]
    assert (await second.query("comes back")).shape == (9,)
    assert (second.identity, shelf.residents.count) == (HashEmbedder(9).identity, AT_MOST)
    await shelf.close()
    assert shelf.residents.count == 0


async def test_many_at_once_all_get_their_answer() -> None:
    shelf = Shelf(4)
    async with asyncio.timeout(PATIENCE_S):
        asked = [service.query(f"question {n}") for n in range(6) for service in shelf.services]
        widths = [vector.shape[0] for vector in await asyncio.gather(*asked)]
    assert widths == [8, 9, 10, 11] * 6
    await shelf.close()


async def test_one_that_embeds_stays_where_another_is_idle() -> None:
    shelf, begun, going_on = Shelf(3), threading.Event(), threading.Event()
    first, second, third = shelf.services
    await first.query("loads it")
    embed = shelf.open[0].embed

    def embed_slowly(texts: Sequence[str]) -> np.ndarray:
        begun.set()
        going_on.wait(PATIENCE_S)
        assert not shelf.open[0].closed
        return embed(texts)

    shelf.open[0].embed = embed_slowly  # type: ignore[method-assign]
    busy = asyncio.create_task(first.query("takes long"))
    await asyncio.to_thread(begun.wait, PATIENCE_S)
    assert (await second.query("used after it")).shape == (9,)
    assert (await third.query("takes the place of the idle one")).shape == (10,)
    going_on.set()
    assert (await busy).shape == (8,)
    assert shelf.loads == [0, 1, 2]
    await first.query("is still there")
    assert shelf.loads == [0, 1, 2]
    await shelf.close()


def test_a_model_that_is_stuck_is_not_waited_for_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stuck:
        is_busy = False

        def unload(self) -> None:
            """Never leaves."""

    class Polite:
        is_busy = False

        def unload(self) -> None:
            residents.leave(self)

    monkeypatch.setattr(resident_models, "GIVE_WAY_S", 0.0)
    residents = ResidentModels()
    for model in (Stuck(), polite := Polite()):
        residents.admit(model)
    with pytest.raises(EmbeddingUnavailable, match="none gives way"):
        residents.admit(late := Stuck())
    residents.admit(late)
    assert residents.count == AT_MOST
    residents.note_use(polite)
    assert residents.count == AT_MOST
