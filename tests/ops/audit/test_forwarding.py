"""Entries reach a receiver at least once, in order, whatever became of it or of this process in between.

Covers ops.audit.forwarding, ops.audit.syslog, ops.audit.webhook, ops.settings.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic import ValidationError

from ops.audit import chain_rows, forwarding
from ops.audit.entries import StoredEntry, to_milliseconds
from ops.audit.forwarding import Forwarder, make_forwarders
from ops.audit.syslog import SyslogReceiver, to_message
from ops.audit.webhook import WebhookReceiver
from ops.settings import AuditSettings
from tests.ops.audit.chains import VAULT, entry, opened, tamper, written
from tests.work import PATIENCE_S


class Shelf:
    """A receiver in memory, which may be away."""

    name = "webhook"

    def __init__(self) -> None:
        self.taken: list[tuple[str, int]] = []
        self.away = 0
        self.missed = asyncio.Event()
        self.enough = asyncio.Event()
        self.wanted = 0

    async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
        if self.away:
            self.away -= 1
            self.missed.set()
            raise ConnectionRefusedError
        self.taken += [(chain, each.seq) for each in entries]
        if len(self.taken) >= self.wanted:
            self.enough.set()

    async def close(self) -> None: ...


async def test_everything_is_sent_in_order_and_never_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "BATCH", 2)
    shelf = Shelf()
    async with opened(tmp_path) as log:
        for _ in range(2):
            for n in range(5):
                await log.append(VAULT, entry(n))
            forwarder = Forwarder(log, shelf)
            forwarder.tell(VAULT)
            await forwarder.send_all()
    assert shelf.taken == [(VAULT, n) for n in range(1, 11)]


async def test_what_a_receiver_missed_is_sent_when_it_is_back(tmp_path: Path) -> None:
    await written(tmp_path, 3)
    shelf = Shelf()
    shelf.away, shelf.wanted = 2, 4
    async with opened(tmp_path) as log:
        forwarder = Forwarder(log, shelf, pause_s=0.001, gather_s=0)
        log._forwarders = (forwarder,)
        forwarder.start()
        await asyncio.wait_for(shelf.enough.wait(), PATIENCE_S)  # the chain of the installation is sent, too
        shelf.enough.clear()
        shelf.wanted = 5
        await log.append(VAULT, entry(4))  # and what comes later
        await asyncio.wait_for(shelf.enough.wait(), PATIENCE_S)
    assert [seq for chain, seq in shelf.taken if chain == VAULT] == [1, 2, 3, 4]


async def test_of_several_processes_one_forwards_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "LOOK_AGAIN_S", 0.01)
    await written(tmp_path, 1)
    monkeypatch.setattr(forwarding, "LOOK_AGAIN_S", 0.001)
    one, two = Shelf(), Shelf()
    one.wanted, two.wanted = 2, 1
    async with opened(tmp_path) as log:
        first, second = Forwarder(log, one, gather_s=0), Forwarder(log, two, gather_s=0)
        first.start()
        await asyncio.wait_for(one.enough.wait(), PATIENCE_S)
        second.start()
        one.enough.clear()
        one.wanted += 1
        await log.append(VAULT, entry(2))
        await asyncio.wait_for(one.enough.wait(), PATIENCE_S)
        assert two.taken == []
        await first.close()
        await log.append(VAULT, entry(3))
        await asyncio.wait_for(two.enough.wait(), PATIENCE_S)
        assert two.taken == [(VAULT, 3)]
        await second.close()


async def test_an_end_stores_first_what_a_receiver_took(tmp_path: Path) -> None:
    await written(tmp_path, 1)
    held, let_go = asyncio.Event(), asyncio.Event()
    async with opened(tmp_path) as log:
        chain = log.chain(VAULT)
        write = chain.write

        async def write_held(work: Any) -> Any:
            held.set()
            await let_go.wait()
            return await write(work)

        chain.write = write_held  # type: ignore[method-assign]
        forwarder = Forwarder(log, Shelf(), gather_s=0)
        forwarder.start()
        await asyncio.wait_for(held.wait(), PATIENCE_S)
        asyncio.get_running_loop().call_later(0, let_go.set)
        await forwarder.close()
        assert await chain.read(partial(chain_rows.read_forwarded, receiver=Shelf.name)) == 1


async def test_an_entry_that_is_forged_keeps_none_from_being_sent(tmp_path: Path) -> None:
    await written(tmp_path, 2)
    tamper(tmp_path, lambda raw: raw.execute("UPDATE entries SET body = 'no\nJSON', at = 1 << 60 WHERE seq = 1"))
    sent: list[bytes] = []

    class Printer(Shelf):
        async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
            sent.extend(to_message(chain, each, "host") for each in entries)

    async with opened(tmp_path) as log:
        forwarder = Forwarder(log, Printer())
        forwarder.tell(VAULT)
        await forwarder.send_all()
    assert [b"\n" in each for each in sent] == [False, False]
    assert json.loads(sent[0].partition(b"] ")[2])["forged"] == "no\nJSON"


async def test_a_forwarder_outlives_whatever_a_receiver_does(tmp_path: Path) -> None:
    await written(tmp_path, 1)

    class Odd(Shelf):
        async def send(self, chain: str, entries: Sequence[StoredEntry]) -> None:
            if self.away:
                self.away -= 1
                raise ValueError("no OSError")
            await super().send(chain, entries)

    shelf = Odd()
    shelf.away, shelf.wanted = 1, 1
    async with opened(tmp_path) as log:
        forwarder = Forwarder(log, shelf, pause_s=0.001)
        log._forwarders = (forwarder,)
        forwarder.start()
        await asyncio.wait_for(shelf.enough.wait(), PATIENCE_S)


def stored(n: int = 1) -> StoredEntry:
    at = "2026-01-01T00:00:00.000Z"
    return StoredEntry(n, to_milliseconds(at), f'{{"seq":{n},"at":"{at}","kind":"call","outcome":"ok"}}', b"\1")


def test_a_syslog_message_is_one() -> None:
    said = to_message(VAULT, stored(), "host").decode()
    assert said.startswith("<109>1 2026-01-01T00:00:00.000Z host strongroom ")
    assert f'audit [strongroom@32473 chain="{VAULT}" seq="1"] ' in said
    assert json.loads(said.partition("] ")[2]) == {"hash": "01", "entry": stored().fields()}


async def test_syslog_over_tcp_frames_messages() -> None:
    arrived: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while size := await reader.readuntil(b" "):
                await arrived.put(await reader.readexactly(int(size)))
        writer.close()

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    receiver = SyslogReceiver(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await receiver.send(VAULT, [stored(1), stored(2)])
    got = [await asyncio.wait_for(arrived.get(), PATIENCE_S) for _ in range(2)]
    assert [b'seq="%d"' % n in each for n, each in enumerate(got, 1)] == [True, True]
    await receiver.close()
    server.close()
    with pytest.raises(OSError):  # nobody is there any more
        await receiver.send(VAULT, [stored(3)])


async def test_syslog_over_tcp_that_was_not_read_to_its_end_was_not_taken() -> None:
    async def die(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    server = await asyncio.start_server(die, "127.0.0.1", 0)
    receiver = SyslogReceiver(f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    with pytest.raises(OSError):
        await receiver.send(VAULT, [stored(n) for n in range(200)])
    server.close()


class _Hook(BaseHTTPRequestHandler):
    answers: list[int]
    taken: list[tuple[str | None, str | None, bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.taken.append((self.headers["authorization"], self.headers["x-strongroom-chain"], body))
        self.send_response(self.answers.pop(0))
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


async def test_a_webhook_takes_what_it_answers_2xx_for(tmp_path: Path) -> None:
    hook = type("Hook", (_Hook,), {"answers": [503, 204], "taken": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), hook)
    Thread(target=server.serve_forever, daemon=True).start()
    token = tmp_path / "token"
    token.write_text("secret\n")
    receiver = WebhookReceiver(f"http://127.0.0.1:{server.server_port}/", str(token))
    try:
        with pytest.raises(OSError, match="503"):
            await receiver.send(VAULT, [stored(1)])
        token.write_text("replaced\n")
        await receiver.send(VAULT, [stored(1), stored(2)])
    finally:
        await receiver.close()
        server.shutdown()
        server.server_close()
    authorization, chain, body = hook.taken[1]  # type: ignore[attr-defined]
    assert (authorization, chain) == ("Bearer replaced", VAULT)
    assert [json.loads(line)["entry"]["seq"] for line in body.splitlines()] == [1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"webhook": "http://elsewhere.example/"},
        {"webhook": "ftp://127.0.0.1/"},
        {"syslog": "127.0.0.1:514"},
        {"syslog": "tcp://host"},
        {"syslog": "tcp://host:port"},
        {"keep": "soon"},
    ],
)
def test_addresses_and_durations_that_are_none_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError):
        AuditSettings(**wrong)


async def test_nothing_is_sent_anywhere_unless_the_operator_says_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as log:
        assert make_forwarders(log) == ()
    both = AuditSettings(syslog="udp://127.0.0.1:514", webhook="https://siem.example/in")
    async with opened(tmp_path, both) as log:
        assert [each._receiver.name for each in make_forwarders(log)] == ["syslog", "webhook"]
