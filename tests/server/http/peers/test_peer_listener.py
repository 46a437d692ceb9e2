"""Who may speak to the listener for other servers, and what becomes of calls when the other server goes away.

Covers server.http.peers.peer_pool, server.http.peers.peer_connection, server.http.peer_marks.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager

import httpx2
import pytest

from server.cluster.peer_identity import make_identity, trust
from server.http.peers.peer_connection import PeerRequest
from server.http.peers.peer_pool import PeerPool, PeerUnreachable
from tests.server.http import odd_tools
from tests.server.http.serving import raw
from tests.server.http.two_servers import KnownServer, make_door, two_servers, until
from tests.work import PATIENCE_S

HELLO = b"HTTP/1.1 204 No Content\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"


@pytest.fixture
async def pair(tmp_path, monkeypatch):
    odd_tools.forget()
    async with two_servers(tmp_path, monkeypatch) as running:
        yield running


async def reach(pool, server):
    async with pool.connected(server) as connection:
        return connection


async def test_a_server_without_a_row_is_refused(pair):
    stranger = PeerPool(make_identity())
    back = next(row for row in pair.table.rows if row.id == "back")
    with pytest.raises(PeerUnreachable):
        await reach(stranger, back)
    known = PeerPool(pair.doors["front"].identity)
    await reach(known, back)
    known.close()


async def test_a_server_that_was_removed_is_hung_up_on_and_refused(pair):
    async with raw(pair.front, "both") as asked:
        await asked.call("noop")
        front, back = pair.table.rows
        pool = PeerPool(pair.doors["front"].identity)
        async with pool.connected(back) as kept:
            pair.table.change(back)
            await until(lambda: not kept.is_open)
        with pytest.raises(PeerUnreachable):
            await reach(pool, back)
        pair.table.change(front, back)
        assert (await asked.call("noop"))["structuredContent"] == {"text": "nothing"}, "it came back in time"
        pool.close()


async def test_whoever_sits_at_the_address_of_a_server_without_its_certificate_gets_nothing(pair):
    back = next(row for row in pair.table.rows if row.id == "back")
    other = KnownServer("back", back.address, make_identity().certificate)
    with pytest.raises(PeerUnreachable):
        await reach(PeerPool(pair.doors["front"].identity), other)


async def say_hello(host, port, options):
    reader, writer = await asyncio.open_connection(host, port, **options)
    writer.write(b"GET /peer/hello HTTP/1.1\r\nhost: x\r\n\r\n")
    await asyncio.wait_for(reader.readexactly(4), PATIENCE_S)


async def test_no_certificate_and_plain_http_get_no_answer(pair):
    host, _, port = pair.doors["back"].address.partition(":")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    trust(context, pair.doors["back"].identity.certificate)
    for options in ({"ssl": context, "server_hostname": "strongroom"}, {}):
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await say_hello(host, int(port), options)


async def test_a_server_cannot_ask_without_a_token(pair):
    pool = PeerPool(pair.doors["front"].identity)
    back = next(row for row in pair.table.rows if row.id == "back")
    for lines, status in (
        ("POST /v/main/tools/noop HTTP/1.1\r\nx-strongroom-forwarded: http;192.0.2.1", 401),
        ("POST /v/main/tools/noop HTTP/1.1", 404),
        ("GET /health/live HTTP/1.1", 404),
    ):
        async with pool.connected(back) as connection:
            head = f"{lines}\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n"
            assert (await connection.ask(PeerRequest(head.encode(), b"{}")))[0] == status
            async for _ in connection.chunks():
                pass
    pool.close()


@asynccontextmanager
async def a_server_that(pair, answer):
    """In the place of ``back``: it says hello, and answers each request by the bytes that ``answer`` gives, None for
    silence; then it hangs up."""
    door = make_door()
    context = door.identity.listening_context()
    trust(context, pair.doors["front"].identity.certificate)
    asked = []

    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET /peer/hello"):
                    writer.write(HELLO)
                    continue
                asked.append(head)
                said = answer(len(asked))
                if said is None:
                    await reader.read()
                    continue
                writer.write(said)
                await writer.drain()
                writer.close()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async with await asyncio.start_server(serve, sock=door.listener, ssl=context):
        server = KnownServer("dying", door.address, door.identity.certificate)
        pair.table.change(*pair.table.rows, server)
        pair.table.holder["main"] = "dying"
        yield asked


async def test_a_write_whose_answer_did_not_come_is_not_made_twice_and_its_caller_is_told(pair):
    async with a_server_that(pair, lambda _: b"") as seen, raw(pair.front, "both") as asked:
        answer = await asked.call("remember", {"content": "x"})
        assert answer["isError"]
        assert answer["structuredContent"]["error"]["code"] == "vault_unavailable"
        assert answer["structuredContent"]["error"]["retryable"]
        plain = await asked.http.post("/v/main/tools/remember", json={"content": "x"})
        assert plain.status_code == 503
        assert len(seen) == 2


async def test_a_read_whose_answer_did_not_come_is_asked_of_the_next_holder(pair):
    def die(_):
        pair.table.holder["main"] = "back"
        return b""

    async with a_server_that(pair, die) as seen, raw(pair.front, "both") as asked:
        for call in (("noop", {}), ("recall", {"query": "x"})):
            pair.table.holder["main"] = "dying"
            assert not (await asked.call(*call))["isError"]
        assert len(seen) == 2


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(pair):
    async with a_server_that(pair, lambda _: HEAD + b'{"jsonrpc":'), raw(pair.front, "both") as asked:
        with pytest.raises(httpx2.RemoteProtocolError):
            await asked.call("noop")


async def test_a_server_that_is_silent_until_it_is_removed_answers_nobody_any_more(pair):
    async with a_server_that(pair, lambda _: None) as seen, raw(pair.front, "both") as asked:
        call = asyncio.create_task(asked.call("noop"))
        await until(lambda: seen)
        pair.table.holder["main"] = "back"
        pair.table.change(*pair.table.rows[:2])
        assert (await asyncio.wait_for(call, PATIENCE_S))["structuredContent"] == {"text": "nothing"}


async def test_a_server_that_is_not_there_costs_a_pause(pair):
    back = pair.table.rows[1]
    gone = make_door()
    gone.listener.close()
    pair.table.change(pair.table.rows[0], KnownServer("back", gone.address, gone.identity.certificate))
    async with raw(pair.front, "both") as asked:
        call = asyncio.create_task(asked.call("remember", {"content": "x"}))
        await until(lambda: len(pair.table.looks) > 3)
        pair.table.change(pair.table.rows[0], back)
        assert not (await asyncio.wait_for(call, PATIENCE_S))["isError"]
