"""The embedding service: batching, order, bounds and cancellation, with a model that does as it is told.

Covers vaults.observer.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from tests.fakes import HashEmbedder
from tests.vaults.embed.scripted import Gated, Scripted
from tests.work import PATIENCE_S
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable, Overloaded
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings


@contextlib.asynccontextmanager
async def serving(model: HashEmbedder, **settings: object) -> AsyncIterator[EmbeddingService]:
    service = EmbeddingService(EmbeddingSettings(**settings), NullObserver(), lambda: model)
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield service
    finally:
        if isinstance(model, Gated):
            model.release.set()
        await service.close()


async def started(model: Gated, service: EmbeddingService) -> asyncio.Task[np.ndarray]:
    """A query the model is busy with."""
    first = asyncio.create_task(service.query("first"))
    await asyncio.to_thread(model.entered.wait, PATIENCE_S)
    return first


async def queued(*calls: asyncio.Future[object]) -> None:
    """Let tasks reach the queue: one turn of the loop."""
    await asyncio.sleep(0)


async def test_vectors_are_those_of_the_model_in_the_order_asked() -> None:
    model = HashEmbedder()
    texts = [f"{'word ' * (n % 7)}number {n}" for n in range(1100)]
    async with serving(model) as service:
        found = await service.texts(texts, urgent=False)
        query = await service.query(texts[3])
    np.testing.assert_allclose(found, model.embed(texts), atol=1e-6)
    np.testing.assert_allclose(query, found[3], atol=1e-6)
    assert found.dtype == np.float32


async def test_nothing_is_loaded_before_the_first_call() -> None:
    loads: list[str] = []

    def load() -> HashEmbedder:
        loads.append(threading.current_thread().name)
        return HashEmbedder()

    service = EmbeddingService(EmbeddingSettings(), NullObserver(), load)
    assert (service.state().status, service.identity, loads) == ("cold", None, [])
    identity = await service.warm()
    assert (service.state().status, service.state().engine, service.identity) == ("ready", "hash", identity)
    assert loads == ["strongroom-embed"]
    await service.close()


async def test_calls_that_arrive_while_the_model_works_become_one_batch() -> None:
    model = Gated()
    async with serving(model) as service:
        first = await started(model, service)
        others = [asyncio.create_task(service.query(f"query {n}")) for n in range(20)]
        await queued(*others)
        assert service.state().queued == 20
        model.release.set()
        await asyncio.gather(first, *others)
    assert [len(call) for call in model.calls] == [1, 20]


async def test_a_batch_never_exceeds_the_setting() -> None:
    model = Gated()
    async with serving(model, batch=8) as service:
        first = await started(model, service)
        others = [asyncio.create_task(service.query(f"query {n}")) for n in range(20)]
        await queued(*others)
        model.release.set()
        await asyncio.gather(first, *others)
    assert [len(call) for call in model.calls] == [1, 8, 8, 4]


async def test_queries_go_before_writes_and_writes_before_imports() -> None:
    model = Gated()
    async with serving(model) as service:
        first = await started(model, service)
        calls = [
            asyncio.create_task(service.texts(["import"], urgent=False)),
            asyncio.create_task(service.texts(["write"], urgent=True)),
            asyncio.create_task(service.query("query")),
        ]
        await queued(*calls)
        model.release.set()
        await asyncio.gather(first, *calls)
    assert model.calls == [["first"], ["query"], ["write"], ["import"]]


async def test_a_query_waits_for_one_slice_of_an_import_and_not_for_the_import() -> None:
    model = Gated()
    async with serving(model) as service:
        bulk = asyncio.create_task(service.texts([f"item {n}" for n in range(300)], urgent=False))
        await asyncio.to_thread(model.entered.wait, PATIENCE_S)
        query = asyncio.create_task(service.query("query"))
        await queued(query)
        model.release.set()
        await asyncio.gather(bulk, query)
    assert model.calls[1] == ["query"]
    assert len(model.calls[0]) <= 32


async def test_equal_texts_in_flight_are_embedded_once() -> None:
    model = Gated()
    async with serving(model) as service:
        first = await started(model, service)
        others = [asyncio.create_task(service.query("same")) for _ in range(5)]
        others.append(asyncio.create_task(service.query("first")))
        await queued(*others)
        model.release.set()
        await asyncio.gather(first, *others)
    assert model.calls == [["first"], ["same"]]


async def test_a_full_queue_answers_overloaded_and_serves_those_in_it() -> None:
    model = Gated()
    async with serving(model, queue=4) as service:
        first = await started(model, service)
        fits = asyncio.create_task(service.texts(["a", "b", "c", "d"], urgent=True))
        await queued(fits)
        with pytest.raises(Overloaded) as refused:
            await service.query("one too many")
        assert refused.value.details["retry_after_s"] > 0
        model.release.set()
        await asyncio.gather(first, fits)
        await service.query("one too many")


async def test_a_cancelled_caller_frees_its_place() -> None:
    model = Gated()
    async with serving(model, queue=4) as service:
        first = await started(model, service)
        gone = asyncio.create_task(service.texts(["a", "b", "shared", "shared"], urgent=True))
        stays = asyncio.create_task(service.texts(["shared"], urgent=True))
        await queued(gone, stays)
        assert service.state().queued == 3
        gone.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await gone
        assert service.state().queued == 1
        model.release.set()
        await asyncio.gather(first, stays)
    assert model.calls == [["first"], ["shared"]]


async def test_a_repeated_query_is_answered_from_memory() -> None:
    model = Scripted()
    async with serving(model, query_cache=2) as service:
        for text in ("a", "b", "a", "c", "a", "b"):
            await service.query(text)
        with pytest.raises(ValueError, match="read-only"):
            (await service.query("a"))[0] = 1.0
    assert model.calls == [["a"], ["b"], ["c"], ["b"]]


async def test_switched_off_it_says_so_at_once() -> None:
    async with serving(HashEmbedder(), engine="off") as service:
        assert service.state().status == "off"
        with pytest.raises(EmbeddingUnavailable):
            await service.query("anything")


async def test_no_texts_give_no_rows_of_the_right_width() -> None:
    async with serving(HashEmbedder()) as service:
        assert (await service.texts([], urgent=False)).shape == (0, 32)


async def test_batches_and_the_queue_are_reported() -> None:
    class Seen(NullObserver):
        def __init__(self) -> None:
            self.batches: list[int] = []
            self.depths: list[int] = []

        def on_embedded(self, texts: int, seconds: float) -> None:
            assert seconds >= 0
            self.batches.append(texts)

        def on_embedding_queue(self, depth: int) -> None:
            self.depths.append(depth)

    seen = Seen()
    service = EmbeddingService(EmbeddingSettings(), seen, HashEmbedder)
    await service.texts(["a", "b", "c"], urgent=True)
    await service.close()
    assert seen.batches == [3]
    assert max(seen.depths) == 3
    assert seen.depths[-1] == 0


async def test_closing_joins_the_thread_releases_the_model_and_leaves_no_task() -> None:
    model, before = Scripted(), set(threading.enumerate())
    service = EmbeddingService(EmbeddingSettings(), NullObserver(), lambda: model)
    await service.query("a")
    await service.close()
    await service.close()
    assert model.closed
    assert not set(threading.enumerate()) - before
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(EmbeddingUnavailable):
        await service.texts(["b"], urgent=True)


def test_one_service_per_event_loop_one_after_another() -> None:
    async def once() -> float:
        service = EmbeddingService(EmbeddingSettings(), NullObserver(), HashEmbedder)
        try:
            return float((await service.query("a"))[0])
        finally:
            await service.close()

    assert asyncio.run(once()) == asyncio.run(once())


@pytest.mark.parametrize("module", ["numpy", "torch", "onnxruntime", "tokenizers", "sentence_transformers"])
def test_importing_the_service_imports_nothing_heavy(module: str, imported: Callable[[], set[str]]) -> None:
    assert module not in imported()


@pytest.fixture(scope="module")
def imported() -> Callable[[], set[str]]:
    code = "import sys, vaults.embed.service, vaults.embed.engines; print(*sys.modules)"
    modules = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    return lambda: modules
