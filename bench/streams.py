"""Two hundred open pages that hear of changes: what each holds, and what they cost while nothing happens and when
something does."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from auth.grants import set_grant
from auth.people import browser_sessions, people
from auth.principal import LOCAL
from auth.roles import Role
from bench import data_folders, servers
from bench.figures import Figure
from bench.measurements import cpu_seconds, p50, resident_bytes, to_ms
from bench.run import Run
from bench.served_notes import NO_VECTORS
from bench.servers import HOST, Server
from bench.wire import RawConnection, VaultEndpoint, result_of
from server.control_database import CONTROL_DB
from server.ui.live_streams import GAP_S, IN_ALL, PER_PERSON
from vaults.db.connection import Database
from vaults.db.sql import Writer

EACH_KB, IDLE_MS = 64.0, 10.0
"""KiB a page may take of the server's memory, and milliseconds of CPU a second that all of them may."""

IDLE_S, EVENTS = 45, 5
"""Seconds without a change, three heartbeats long; and how many changes there are then."""

PATIENCE_S = 30.0


class EventReader:
    """One page's stream, read in this thread."""

    def __init__(self, port: int, cookie: str) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=PATIENCE_S)
        head = f"GET /ui/v/main/events HTTP/1.1\r\nhost: {HOST}:{port}\r\ncookie: strongroom-{port}={cookie}\r\n\r\n"
        self._socket.sendall(head.encode())
        self._heard = b""
        self.await_word(b"retry: ")

    def await_word(self, word: bytes) -> None:
        """Read until the server said it. Raises ``RuntimeError`` where it ended before."""
        while word not in self._heard:
            piece = self._socket.recv(1 << 16)
            if not piece or self._heard.startswith(b"HTTP/1.1 5"):
                raise RuntimeError(f"no stream: {self._heard[:200]!r}")
            self._heard += piece
        self._heard = self._heard.partition(word)[2]

    def close(self) -> None:
        """Leave."""
        self._socket.close()


def measure(run: Run) -> Iterator[Figure]:
    """As many pages as there may be, of as few people, of one vault."""
    with run.folder("streams") as folder:
        ready = data_folders.prepare_folder(folder / "data", {"ann": ("main",)})
        cookies = asyncio.run(_sign_in(ready.data))
        with servers.run_server(servers.SERVE, ready.data, **NO_VECTORS) as server:
            door = VaultEndpoint(server.port, "main", ready.tokens["ann"])
            _call(door, "status", {})
            EventReader(server.port, cookies[-1]).close()  # what the first of all loads is no page's own
            idle = run.sized(IDLE_S, 3)
            before = resident_bytes(server.pid)
            pages = [EventReader(server.port, cookie) for cookie in cookies for _ in range(PER_PERSON)]
            each_kb = (resident_bytes(server.pid) - before) / len(pages) / 1024
            with run.report_progress(f"{len(pages)} pages are open"):
                beside = _use_while_idle(server, idle)
            took, used = _tell(server, door, pages)
            for each in pages:
                each.close()
            with run.report_progress("nobody looks"):
                alone = _use_while_idle(server, idle)
    raw = f"{len(pages)} pages of {len(cookies)} people on one vault; resident memory"
    yield Figure("open pages, memory of each", each_kb, EACH_KB, unit="KiB", raw=raw)
    raw = f"{beside * 1000:.1f} ms of CPU a second, {alone * 1000:.1f} without; {idle} s"
    yield Figure("open pages, CPU a second while nothing happens", (beside - alone) * 1000, IDLE_MS, unit="ms", raw=raw)
    raw = f"until all have heard, p50 {to_ms(p50(took))}; CPU of the server, p50 of {len(used)} changes"
    yield Figure("open pages, CPU of a change", p50(used) * 1000, unit="ms", raw=raw)


async def _sign_in(data: Path) -> list[str]:
    """What the cookies of everybody's session hold."""
    control = Database(data / CONTROL_DB, data_folders.default_settings(data).settings.storage)

    def write(tx: Writer) -> list[str]:
        names = [f"reader-{number}" for number in range(IN_ALL // PER_PERSON)]
        for name in names:
            people.add(tx, name, time.time())
            set_grant(tx, name, LOCAL, "main", Role.READER)
        return [browser_sessions.start(tx, name, "bench", time.time()) for name in names]

    try:
        return await control.write(write)
    finally:
        await control.close()


def _use_while_idle(server: Server, seconds: float) -> float:
    """Seconds of CPU a second."""
    before = cpu_seconds(server.pid)
    time.sleep(seconds)
    return (cpu_seconds(server.pid) - before) / seconds


def _call(door: VaultEndpoint, tool: str, arguments: Mapping[str, Any]) -> None:
    with RawConnection(door.port) as line:  # of its own: the server lets go of one that is idle
        result_of(line.ask(door.call(tool, arguments)))


def _tell(server: Server, door: VaultEndpoint, pages: Sequence[EventReader]) -> tuple[list[float], list[float]]:
    """Seconds until all pages have heard of each of some changes, and seconds of the server's CPU until then."""
    took, used = [], []
    for number in range(EVENTS):
        before, began = cpu_seconds(server.pid), time.perf_counter()
        _call(door, "claims", {"action": "claim", "resources": [f"cranes/{number}"]})
        for each in pages:
            each.await_word(b"event: change")
        took.append(time.perf_counter() - began)
        used.append(cpu_seconds(server.pid) - before)
        time.sleep(2 * GAP_S)
    return took, used
