"""The reranking service with a model that is absent, broken, slow or stuck, and its memory of scores.

Covers vaults.embed.cross_encoder_thread.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.vaults.embed.scripted import Clock
from tests.work import PATIENCE_S
from vaults.embed.cross_encoder import CrossEncoderService
from vaults.embed.cross_encoder_backend import CrossEncoderOptions, Scorer
from vaults.embed.cross_encoder_thread import PAUSE_S
from vaults.errors import EmbeddingUnavailable


class Lengths:
    """Scores a text by its length; ``act`` is called first, in the model's thread, and may replace the scores."""

    identity = "lengths@1"

    def __init__(self, act: Callable[[], Any] = lambda: None) -> None:
        self.act, self.closed = act, 0
        self.calls: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.calls.append((query, list(texts)))
        replaced = self.act()
        return [len(text) / 100 for text in texts] if replaced is None else replaced

    def close(self) -> None:
        self.closed += 1


class Gate:
    """Holds whoever calls it until ``release`` is set; ``entered`` says somebody is there."""

    def __init__(self) -> None:
        self.entered, self.release = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.entered.set()
        if not self.release.wait(2 * PATIENCE_S):
            raise RuntimeError("the test never released its model")


def service_with(load: Callable[[], Scorer], clock: Clock | None = None, **more: Any) -> CrossEncoderService:
    values = {"model": "m", "device": "cpu", "threads": 1, "max_tokens": 64, "timeout_s": 30, "cache": 100} | more
    return CrossEncoderService(CrossEncoderOptions(**values), load, clock=clock or time.monotonic)


async def reached(service: CrossEncoderService, status: str) -> None:
    """The thread changes its state by itself; let it."""
    async with asyncio.timeout(PATIENCE_S):
        while service.state().status != status:  # noqa: ASYNC110 - there is no event to wait for, by design
            await asyncio.sleep(0)


async def told(service: CrossEncoderService, query: str = "q", text: str = "text") -> EmbeddingUnavailable:
    with pytest.raises(EmbeddingUnavailable) as refused:
        await asyncio.wait_for(service.score(query, [text]), PATIENCE_S)
    return refused.value


async def test_only_what_is_not_known_is_scored_and_each_text_once() -> None:
    model = Lengths()
    service = service_with(lambda: model)
    assert await service.score("q", ["aa", "b", "aa"]) == [0.02, 0.01, 0.02]
    assert await service.score("q", ["ccc", "b", "aa"]) == [0.03, 0.01, 0.02]
    assert await service.score("other", ["b"]) == [0.01]
    assert await service.score("q", []) == []
    assert model.calls == [("q", ["aa", "b"]), ("q", ["ccc"]), ("other", ["b"])]
    await service.close()


async def test_the_least_recently_used_score_goes_first() -> None:
    model = Lengths()
    service = service_with(lambda: model, cache=2)
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        await service.score("q", [text])
    assert [texts for _, texts in model.calls] == [["a"], ["bb"], ["ccc"], ["bb"]]
    assert len(await service.score("q", ["a", "bb", "ccc", "dddd"])) == 4  # more than is kept
    await service.close()


async def test_without_a_model_nothing_is_loaded() -> None:
    service = service_with(Lengths, model=None)
    assert (service.configured, service.state().status) == (False, "off")
    assert "no model is configured" in (await told(service)).message
    await service.close()


def fail() -> None:
    raise ValueError("secret text")


BROKEN: dict[str, Callable[[], Any]] = {
    "raises": fail,
    "nan": lambda: [math.nan],
    "too few": list,
    "words": lambda: ["high"],
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_model_is_given_up_and_tried_again_after_a_pause(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, model = Clock(), Lengths()
    service = service_with(lambda: model, clock)
    await service.score("q", ["known"])
    act, model.act = model.act, BROKEN[kind]
    assert "the model fails" in (await told(service)).message
    model.act = act
    clock.now += PAUSE_S - 1
    refused = await told(service)
    assert refused.details["retry_after_s"] == 1.0
    assert (len(model.calls), model.closed, service.state().status) == (2, 1, "failed")
    assert await service.score("q", ["known"]) == [0.05]
    clock.now += 1
    assert await service.score("q", ["text"]) == [0.04]
    assert service.state().reason is None
    assert "secret" not in caplog.text
    await service.close()


async def test_a_model_that_does_not_load_is_not_tried_for_every_query() -> None:
    clock, loads = Clock(), []

    def load() -> Scorer:
        loads.append(clock.now)
        raise OSError("/secret/path is missing")

    service = service_with(load, clock)
    for _ in range(3):
        for _ in range(4):
            assert (await told(service)).message.endswith("the model could not be loaded (OSError).")
        clock.now += PAUSE_S
    assert loads == [1000.0, 1000.0 + PAUSE_S, 1000.0 + 2 * PAUSE_S]
    await service.close()


async def test_a_stuck_model_releases_its_callers_and_refuses_others_until_it_returns() -> None:
    gate = Gate()
    model = Lengths(gate)
    service = service_with(lambda: model, timeout_s=0.05)
    results = await asyncio.gather(*(told(service, text=text) for text in ("a", "bb")))
    assert all("no scores within 0.05 s" in result.message for result in results)
    await reached(service, "hung")
    assert "has been silent" in (await told(service, text="ccc")).message
    gate.release.set()
    await reached(service, "failed")
    assert model.calls == [("q", ["a"])]  # nobody waits for the second any more
    await service.close()


async def test_a_slow_model_is_left_alone_for_a_while_and_its_late_scores_are_kept() -> None:
    clock, gate = Clock(), Gate()
    model = Lengths(gate)
    service = service_with(lambda: model, clock, timeout_s=5)
    slow = asyncio.create_task(service.score("q", ["slow"]))
    await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
    queued = asyncio.create_task(told(service, text="queued"))
    async with asyncio.timeout(PATIENCE_S):
        while not service.state().queued:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0)
    clock.now += 6
    gate.release.set()
    assert await slow == [0.04]
    assert "took longer than 5 s" in (await queued).message
    assert "took longer than 5 s" in (await told(service)).message
    assert await service.score("q", ["slow"]) == [0.04]
    clock.now += PAUSE_S
    assert await service.score("q", ["text"]) == [0.04]
    assert model.closed == 0
    await service.close()


async def test_a_load_that_takes_long_is_not_held_against_the_model() -> None:
    gate, model = Gate(), Lengths()

    def load() -> Scorer:
        gate()
        return model

    clock = Clock()
    service = service_with(load, clock, timeout_s=0.05)
    await told(service)
    clock.now += 1
    assert "has been silent" in (await told(service)).message
    gate.release.set()
    await reached(service, "ready")
    async with asyncio.timeout(PATIENCE_S):
        while (scores := await scores_or_none(service)) is None:  # 0.05 s may be short on a busy machine
            pass
    assert scores == [0.04]
    await service.close()


async def scores_or_none(service: CrossEncoderService) -> list[float] | None:
    try:
        return await service.score("q", ["text"])
    except EmbeddingUnavailable as refused:
        if "no scores within" not in refused.message:
            raise
        return None


async def test_a_caller_is_refused_when_too_many_wait_and_never_when_none_does() -> None:
    clock, model = Clock(), Lengths()
    service = service_with(lambda: model, clock, timeout_s=10)
    for n in range(20):  # it learns that a call takes 6 s
        model.act = lambda: setattr(clock, "now", clock.now + 6)
        await service.score("q", ["x" * (n + 1)])
    gate = model.act = Gate()
    waiting = [asyncio.create_task(service.score("q", [text])) for text in ("first", "second")]
    await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
    refused = await told(service, text="third")
    assert "too many searches wait" in refused.message
    gate.release.set()
    assert await asyncio.gather(*waiting) == [[0.05], [0.06]]
    await service.close()


async def test_a_cancelled_caller_frees_its_place() -> None:
    gate = Gate()
    model = Lengths(gate)
    service = service_with(lambda: model)
    first = asyncio.create_task(service.score("q", ["first"]))
    await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
    second = asyncio.create_task(service.score("q", ["second"]))
    await asyncio.sleep(0)
    assert service.state().queued == 1
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert service.state().queued == 0
    gate.release.set()
    assert await first == [0.05]
    await service.close()


async def test_closing_tells_those_who_wait_and_ends_the_thread() -> None:
    gate, before = Gate(), set(threading.enumerate())
    service = service_with(lambda: Lengths(gate))
    waiting = asyncio.create_task(told(service))
    await asyncio.to_thread(gate.entered.wait, PATIENCE_S)
    (thread,) = [found for found in set(threading.enumerate()) - before if found.name == "strongroom-rerank"]
    closing = asyncio.create_task(service.close())
    assert "the server is stopping" in (await waiting).message
    gate.release.set()
    await closing
    assert not thread.is_alive()
    assert "the server is stopping" in (await told(service, text="other")).message


async def test_closing_does_not_wait_for_a_stuck_model() -> None:
    gate = Gate()
    service = service_with(lambda: Lengths(gate), timeout_s=0.05)
    await told(service)
    await reached(service, "hung")
    await asyncio.wait_for(service.close(), PATIENCE_S)
    gate.release.set()
