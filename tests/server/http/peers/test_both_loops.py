"""Two servers speak to each other on either event loop: that of Python, and the one that serves.

Covers server.http.peers.peer_connection, as far as its transports differ.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvloop

from server.http.peers.peer_connection import HIGH_WATER, PeerRequest
from server.http.peers.peer_listener import PeerListener
from server.http.peers.peer_pool import PeerPool
from tests.server.http.two_servers import KnownServer, make_door

SIZE = 20 * HIGH_WATER


async def echo(scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for start in range(0, len(body), 1000):
        await send({"type": "http.response.body", "body": body[start : start + 1000], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def speak() -> None:
    door, caller = make_door(), make_door()
    caller.listener.close()
    listener = PeerListener(echo, {"/echo": echo}, door)
    listener.trust_only([KnownServer("caller", "", caller.identity.certificate)])
    server, pool = KnownServer("listener", door.address, door.identity.certificate), PeerPool(caller.identity)
    body = bytes(range(256)) * (SIZE // 256)
    head = f"POST /echo HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    async with listener.serving():
        used = set()
        for _ in range(3):
            async with pool.connected(server) as connection:
                used.add(connection)
                assert (await connection.ask(PeerRequest(head, body)))[0] == 200
                assert b"".join([chunk async for chunk, _ in connection.chunks()]) == body
        assert len(used) == 1, "it is kept open"
        pool.close()


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_question_and_an_answer_come_through_whole(loop: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(speak())
