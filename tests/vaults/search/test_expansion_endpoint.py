"""Asking a real server on loopback, that misbehaves in every way, for variants of a query."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.vaults.search.rephraser import Rephraser
from tests.work import PATIENCE_S
from vaults.search.expansion_endpoint import PAUSE_S, QUERY_LIMIT, SIZE_LIMIT, ExpansionUnavailable, QueryExpander


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def rephraser() -> Iterator[Rephraser]:
    running = Rephraser()
    yield running
    running.close()


@contextlib.asynccontextmanager
async def expanding(url: str | None, timeout_s: float = 5.0, **more: Any) -> Any:
    expander = QueryExpander(url, timeout_s, **more)
    try:
        yield expander
    finally:
        await expander.close()


async def test_the_query_is_sent_and_its_variants_come_back(rephraser: Rephraser) -> None:
    async with expanding(rephraser.url) as expander:
        assert expander.configured
        assert await expander.variants("  which\nway ") == ["one way", "another way"]
    assert rephraser.asked == [{"query": "which way"}]


async def test_an_answer_is_kept_an_empty_one_too(rephraser: Rephraser) -> None:
    async with expanding(rephraser.url) as expander:
        first = await expander.variants("which way")
        first.clear()  # the caller's own list
        assert await expander.variants("which way") == ["one way", "another way"]
        rephraser.document = {"variants": []}
        assert await expander.variants("nothing") == await expander.variants("nothing") == []
    assert len(rephraser.asked) == 2


async def test_the_least_recently_used_answer_goes_first(rephraser: Rephraser) -> None:
    async with expanding(rephraser.url, cache=2) as expander:
        for query in ("a", "b", "a", "c", "a", "b"):
            await expander.variants(query)
    assert [body["query"] for body in rephraser.asked] == ["a", "b", "c", "b"]


async def test_at_most_two_new_short_variants_are_used(rephraser: Rephraser) -> None:
    rephraser.document = {
        "variants": ["", "  ", "WHICH Way", "x" * 501, " one\n way ", "One way", "two \ud800", "three"]
    }
    async with expanding(rephraser.url) as expander:
        assert await expander.variants("which way") == ["one way", "two ?"]


async def test_nothing_is_asked_without_an_endpoint_or_a_query(rephraser: Rephraser) -> None:
    async with expanding(None) as expander:
        assert not expander.configured
        assert await expander.variants("which way") == []
    async with expanding(rephraser.url) as expander:
        assert await expander.variants(" \n ") == []
    assert rephraser.asked == []


async def test_what_is_sent_is_bounded_and_always_valid(rephraser: Rephraser) -> None:
    async with expanding(rephraser.url) as expander:
        await expander.variants("x" * 100_000)
        await expander.variants("lone \ud800 surrogate")
    assert [body["query"] for body in rephraser.asked] == ["x" * QUERY_LIMIT, "lone ? surrogate"]


BROKEN: dict[str, tuple[Callable[[BaseHTTPRequestHandler], None], str]] = {
    "error": (lambda request: Rephraser.reply(request, 500, b"{}"), "answered 500"),
    "redirect": (lambda request: Rephraser.reply(request, 307, b"", location="/elsewhere"), "answered 307"),
    "not json": (lambda request: Rephraser.reply(request, 200, b"secret words"), "is not JSON"),
    "not utf-8": (lambda request: Rephraser.reply(request, 200, b'{"variants": ["\xff"]}'), "is not JSON"),
    "nested": (lambda request: Rephraser.reply(request, 200, b"[" * 60_000), "is not JSON"),
    "a list": (lambda request: Rephraser.reply(request, 200, b'["a"]'), "no list of variants"),
    "a string": (lambda request: Rephraser.reply(request, 200, b'{"variants": "ab"}'), "no list of variants"),
    "numbers": (lambda request: Rephraser.reply(request, 200, b'{"variants": ["a", 1]}'), "no list of variants"),
    "endless": (lambda request: Rephraser.reply(request, 200, b" " * (SIZE_LIMIT + 1)), "is too long"),
    "compressed": (
        lambda request: Rephraser.reply(request, 200, gzip.compress(b"{}"), content_encoding="gzip"),
        "is compressed",
    ),
    "hang-up": (lambda request: request.connection.shutdown(socket.SHUT_RDWR), "cannot be reached"),
}


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_broken_endpoint_is_reported_and_left_alone_for_a_while(rephraser: Rephraser, kind: str) -> None:
    rephraser.answer, reason = BROKEN[kind]
    clock = Clock()
    async with expanding(rephraser.url, clock=clock) as expander:
        with pytest.raises(ExpansionUnavailable, match=reason) as failed:
            await expander.variants("which way")
        assert "secret" not in failed.value.reason
        rephraser.answer = rephraser.serve
        clock.now += PAUSE_S - 1
        with pytest.raises(ExpansionUnavailable, match="a moment ago"):
            await expander.variants("which way")
        assert len(rephraser.asked) == 1
        clock.now += 1
        assert await expander.variants("which way") == ["one way", "another way"]


async def test_a_slow_endpoint_costs_the_time_out_once(rephraser: Rephraser) -> None:
    rephraser.answer = lambda request: rephraser.released.wait(PATIENCE_S) and None
    async with expanding(rephraser.url, 0.05) as expander:
        with pytest.raises(ExpansionUnavailable, match=r"did not answer within 0\.05 s"):
            await asyncio.wait_for(expander.variants("which way"), PATIENCE_S)
        with pytest.raises(ExpansionUnavailable, match="a moment ago"):
            await expander.variants("other")


async def test_an_endpoint_nobody_listens_at_cannot_be_reached(rephraser: Rephraser) -> None:
    url = rephraser.url
    rephraser.close()
    async with expanding(url) as expander:
        with pytest.raises(ExpansionUnavailable, match="cannot be reached"):
            await expander.variants("which way")


async def test_a_caller_who_leaves_is_no_failure(rephraser: Rephraser) -> None:
    entered = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stuck(request: BaseHTTPRequestHandler) -> None:
        loop.call_soon_threadsafe(entered.set)
        rephraser.released.wait(PATIENCE_S)
        request.close_connection = True

    rephraser.answer = stuck
    async with expanding(rephraser.url) as expander:
        leaving = asyncio.create_task(expander.variants("which way"))
        await asyncio.wait_for(entered.wait(), PATIENCE_S)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        rephraser.answer = rephraser.serve
        assert await expander.variants("which way") == ["one way", "another way"]


async def test_what_is_known_is_answered_after_closing_and_nothing_else_is_asked(rephraser: Rephraser) -> None:
    expander = QueryExpander(rephraser.url, 5.0)
    known = await expander.variants("which way")
    await expander.close()
    await expander.close()
    assert await expander.variants("which way") == known
    with pytest.raises(ExpansionUnavailable, match="stopping"):
        await expander.variants("other")
