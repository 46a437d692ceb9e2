"""The embedding service with a model that is absent, broken, poisonous or stuck.

Covers vaults.embed.state.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from tests.fakes import HashEmbedder
from tests.vaults.embed.scripted import Clock, Gated, Scripted
from tests.work import PATIENCE_S
from vaults.embed.service import EmbeddingService
from vaults.errors import EmbeddingUnavailable
from vaults.observer import NullObserver
from vaults.settings import EmbeddingSettings


def service_with(load: Callable[[], HashEmbedder], clock: Clock | None = None, **settings: Any) -> EmbeddingService:
    return EmbeddingService(EmbeddingSettings(**settings), NullObserver(), load, clock=clock or time.monotonic)


async def reached(service: EmbeddingService, status: str) -> None:
    """The thread changes its state by itself; let it."""
    async with asyncio.timeout(PATIENCE_S):
        while service.state().status != status:  # noqa: ASYNC110 - there is no event to wait for, by design
            await asyncio.sleep(0)


async def answered(service: EmbeddingService, text: str) -> np.ndarray:
    """Its vector, asked for until there is one: a time-out of 0.05 s may be short on a busy machine."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(EmbeddingUnavailable):
                return await service.query(text)
            await asyncio.sleep(0)


def raises(texts: Sequence[str], found: np.ndarray) -> np.ndarray:
    raise RuntimeError("secret text in the message")


BROKEN = {
    "raises": raises,
    "nan": lambda texts, found: found * np.nan,
    "infinite": lambda texts, found: found + np.inf,
    "zero": lambda texts, found: found * 0,
    "wrong width": lambda texts, found: found[:, :-1],
    "too few": lambda texts, found: found[:-1],
    "nothing": lambda texts, found: None,
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_model_gives_no_vector_and_is_tried_again_later(kind: str) -> None:
    clock, model = Clock(), Scripted(BROKEN[kind])
    service = service_with(lambda: model, clock)
    with pytest.raises(EmbeddingUnavailable):
        await service.query("a")
    await reached(service, "failed")  # the callers are told before the model is given up
    tried = len(model.calls)
    with pytest.raises(EmbeddingUnavailable) as refused:
        await service.texts(["b"], urgent=True)
    assert "secret" not in str(refused.value)
    assert len(model.calls) == tried
    model.answer = None
    clock.now += 1.0
    assert (await service.query("a")).shape == (32,)
    assert service.state().status == "ready"
    await service.close()


@pytest.mark.parametrize("kind", ["raises", "nan", "zero"])
async def test_one_poisonous_text_costs_itself_only(kind: str) -> None:
    def answer(texts: Sequence[str], found: np.ndarray) -> np.ndarray:
        if "poison" in texts:
            row = list(texts).index("poison")
            found[row : row + 1] = BROKEN[kind](texts, found[row : row + 1])
        return found

    model = Scripted(answer)
    service = service_with(lambda: model)
    texts = ["one", "two", "poison", "three"]
    rows = await service.each(texts, urgent=True)
    with pytest.raises(EmbeddingUnavailable) as failed:
        await service.texts(texts, urgent=True)
    good = await service.texts(["one", "two"], urgent=True)
    with pytest.raises(EmbeddingUnavailable):
        await service.query("poison")
    assert [row is None for row in rows] == [False, False, True, False]
    assert failed.value.details["failed"] == [2]
    np.testing.assert_allclose(good, HashEmbedder().embed(["one", "two"]), atol=1e-6)
    assert service.state().status == "ready"
    await service.close()


async def test_a_model_that_fails_on_everything_is_not_asked_for_every_text() -> None:
    model = Scripted(raises)
    service = service_with(lambda: model)
    rows = await service.each([f"text {n}" for n in range(32)], urgent=True)
    assert rows == [None] * 32
    assert len(model.calls) <= 6  # the batch, four singles, the probe
    await service.close()


async def test_vectors_are_of_unit_length_whatever_the_model_returns() -> None:
    service = service_with(lambda: Scripted(lambda texts, found: found.astype(np.float16) * 3))
    found = await service.texts(["a b", "c d e"], urgent=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    await service.close()


async def test_a_model_that_does_not_load_is_tried_again_after_growing_pauses() -> None:
    clock, loads = Clock(), []

    def load() -> HashEmbedder:
        loads.append(clock.now)
        raise OSError("/secret/path is missing")

    service = service_with(load, clock)
    for pause in (1, 2, 4, 8, 16, 32, 60, 60):
        with pytest.raises(EmbeddingUnavailable) as told:
            await service.query("a")
        assert "secret" not in str(told.value)
        with pytest.raises(EmbeddingUnavailable) as refused:
            await service.query("a")
        assert refused.value.details["retry_after_s"] == pause
        clock.now += pause
    assert len(loads) == 8
    state = service.state()
    assert (state.status, state.reason) == ("failed", "the model could not be loaded (OSError)")
    await service.close()


async def test_a_missing_library_is_named() -> None:
    def load() -> HashEmbedder:
        raise ModuleNotFoundError("No module named 'onnxruntime'", name="onnxruntime")

    service = service_with(load)
    with pytest.raises(EmbeddingUnavailable, match="the library onnxruntime cannot be imported"):
        await service.texts(["a"], urgent=False)
    await service.close()


async def test_a_stuck_model_releases_every_waiter_and_is_ready_when_it_returns() -> None:
    model = Gated()
    service = service_with(lambda: model, timeout_s=0.05)
    waiting = [
        asyncio.create_task(service.query("a")),
        asyncio.create_task(service.texts(["b"], urgent=True)),
        asyncio.create_task(service.texts(["c"] * 40, urgent=False)),
    ]
    results = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), PATIENCE_S)
    assert [type(result) for result in results] == [EmbeddingUnavailable] * 3
    assert (service.state().status, service.state().queued) == ("hung", 0)
    with pytest.raises(EmbeddingUnavailable):
        await service.query("d")
    model.release.set()
    await reached(service, "ready")
    assert (await answered(service, "d")).shape == (32,)
    assert {tuple(call) for call in model.calls} == {("a",), ("d",)}
    await service.close()


async def test_a_stuck_model_is_noticed_though_its_callers_left_early() -> None:
    model, clock = Gated(), Clock()
    service = service_with(lambda: model, clock)
    impatient = asyncio.create_task(service.query("a"))
    await asyncio.to_thread(model.entered.wait, PATIENCE_S)
    impatient.cancel()
    clock.now += 30
    with pytest.raises(EmbeddingUnavailable):
        await asyncio.wait_for(service.query("b"), PATIENCE_S)
    assert service.state().status == "hung"
    model.release.set()
    await service.close()


async def test_a_stuck_load_counts_as_silence() -> None:
    release = threading.Event()

    def load() -> HashEmbedder:
        release.wait(2 * PATIENCE_S)
        return HashEmbedder()

    service = service_with(load, timeout_s=0.05)
    with pytest.raises(EmbeddingUnavailable):
        await service.query("a")
    assert service.state().status == "hung"
    release.set()
    await reached(service, "ready")
    await answered(service, "a")
    await service.close()


async def test_closing_does_not_wait_for_a_stuck_model() -> None:
    model, before = Gated(), set(threading.enumerate())
    service = service_with(lambda: model, timeout_s=0.05)
    with pytest.raises(EmbeddingUnavailable):
        await service.query("a")
    (thread,) = [thread for thread in set(threading.enumerate()) - before if thread.name == "strongroom-embed"]
    await asyncio.wait_for(service.close(), PATIENCE_S)
    assert thread.daemon
    model.release.set()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


async def test_closing_tells_those_who_wait() -> None:
    model = Gated()
    service = service_with(lambda: model)
    waiting = asyncio.create_task(service.query("a"))
    await asyncio.to_thread(model.entered.wait, PATIENCE_S)
    closing = asyncio.create_task(service.close())
    with pytest.raises(EmbeddingUnavailable):
        await asyncio.wait_for(waiting, PATIENCE_S)
    model.release.set()
    await closing
