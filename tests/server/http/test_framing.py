"""What of a request is not body is bounded while it is read: heads, chunk extensions, trailers.

Covers server.http.interrupted_requests, server.http.connection.
"""

import asyncio
import contextlib
import random

import pytest

from server.http.framing import FRAMING_LIMIT
from tests.server.http.wired import ADMIT, GET, wired

START = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"


def head_of(size: int) -> bytes:
    """A whole head of about ``size`` bytes."""
    return GET[:-2] + b"X: " + b"a" * (size - len(GET) - 7) + b"\r\n\r\n"


HEADS = {
    "one field, never ended": GET[:-2] + b"X: " + b"a" * 4_000_000,
    "one field, whole": head_of(4_000_000),
    "one name": GET[:-2] + b"a" * 4_000_000,
    "many tiny fields": GET[:-2] + b"a:b\r\n" * 400_000 + b"\r\n",
    "the path": b"GET /" + b"a" * 4_000_000,
    "blank lines before it": b"\r\n" * 2_000_000,
    "blanks before a value": GET[:-2] + b"X:" + b" " * 4_000_000,
    "just above, whole in one read": head_of(FRAMING_LIMIT + 100),
    "a chunk extension": CHUNKED + b"1;" + b"a" * 4_000_000,
    "trailers": CHUNKED + b"1\r\nx\r\n0\r\n" + b"a:b\r\n" * 400_000,
    "one trailer": CHUNKED + b"1\r\nx\r\n0\r\na: " + b"b" * 4_000_000,
}


@pytest.mark.parametrize("request_", HEADS.values(), ids=HEADS.keys())
async def test_a_head_above_64_kb_is_answered_431_and_the_connection_closed(request_: bytes) -> None:
    async with wired() as wire:
        answer = await wire.ask(request_)
        assert answer.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
        assert b"connection: close" in answer
        assert answer.count(b"HTTP/1.1") == 1
        assert wire.reasons == ["head"]
        assert (wire.lines[0].status, wire.lines[0].address) == (431, "127.0.0.1")
        assert (await wire.ask(GET[:-2] + b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("size", [FRAMING_LIMIT - 200, 8_000])
async def test_a_head_below_the_bound_is_served_however_it_arrives(size: int) -> None:
    async with wired() as wire:
        client = await wire.open()
        head = head_of(size)
        for start in range(0, size, 1000):
            await client.send(head[start : start + 1000])
        assert await client.answer() == 200
        for _ in range(3):  # each request on a kept-alive connection has the whole bound
            await client.send(head)
            assert await client.answer() == 200
        client.close()
    assert wire.reasons == []


async def test_a_pipelined_head_above_the_bound_ends_the_connection_without_mixing_answers() -> None:
    async with wired() as wire:
        answer = await wire.ask(GET + head_of(300_000))
        assert answer.count(b"431") <= 1
        assert answer.find(b"HTTP/1.1 200") <= 0
        assert "head" in wire.reasons


async def test_bodies_in_many_small_chunks_with_small_extensions_are_read() -> None:
    async with wired() as wire:
        client = await wire.open()
        await client.send(CHUNKED + b"1;name=value\r\nx\r\n" * 20_000 + b"0\r\nTrailer: kept out\r\n\r\n")
        assert await client.answer() == 200
        assert wire.bodies == [b"x" * 20_000]
        client.close()
    assert wire.reasons == []


async def test_a_trailer_never_becomes_a_header() -> None:
    async with wired() as wire:
        client = await wire.open()
        await client.send(CHUNKED + b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n")
        assert await client.answer() == 200
        client.close()
    names = [name for name, _ in wire.scopes[0]["headers"]]
    assert names == [b"host", b"transfer-encoding"]


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nBad Name: x\r\n\r\n"]
)
async def test_what_is_no_http_is_400_and_one_line(garbage: bytes) -> None:
    async with wired() as wire:
        assert (await wire.ask(garbage)).startswith(b"HTTP/1.1 400")
        assert wire.reasons == ["request"]


async def test_the_rest_of_a_body_nobody_waits_for_cannot_hold_a_connection() -> None:
    async with wired(head_timeout_s=0.2) as wire:
        client = await wire.open()
        await client.send(b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
        assert await client.answer() == 200
        assert await client.rest() == b""
        client.close()


PIECES = [
    GET,
    ADMIT,
    START + b"Content-Length: 5\r\n\r\nhello",
    CHUNKED + b"3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n",
    START + b"Content-Length: 5\r\n\r\nhe",
    b"POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx",
    head_of(FRAMING_LIMIT + 500),
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /%ff\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\r\n\x00\xff",
]


async def test_whatever_a_stranger_sends_the_server_goes_on_and_nothing_is_left_behind() -> None:
    chance = random.Random(3)
    failures: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))
    async with wired(connections=20, head_timeout_s=0.5, body_timeout_s=0.5) as wire:

        async def stranger(seed: int) -> None:
            order = random.Random(seed)
            sent = b"".join(order.choices(PIECES, k=order.randrange(1, 5)))
            client = await wire.open()
            cut = order.randrange(len(sent))
            await client.send(sent[:cut])
            await asyncio.sleep(0)
            await client.send(sent[cut:])
            if order.random() < 0.5:
                with contextlib.suppress(OSError):
                    client.writer.write_eof()
                await client.rest()
            client.close()

        for _ in range(8):
            await asyncio.gather(*(stranger(chance.randrange(1 << 30)) for _ in range(30)))
        assert (await wire.ask(GET[:-2] + b"Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")
    assert failures == []
