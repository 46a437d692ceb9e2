"""A thousand vaults that are asked for at once: as few at a time as one server can lay out, and in the order they came.

Of vaults.cluster.held_vaults.
"""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from tests.cluster.open_servers import OpenServer, open_servers
from tests.work import PATIENCE_S
from vaults.cluster import local_copies
from vaults.cluster.held_vaults import RESTORES
from vaults.cluster.local_copies import LaidOut
from vaults.cluster.log_replay import RestoredLog
from vaults.cluster.page_frames import LogHead
from vaults.cluster.vault_log import Placement
from vaults.registry import VaultEntry

MANY = 1_000
AHEAD = MANY // 4
"""How many vaults may be laid out before one that was asked for earlier: some threads at a time take their rows, and
now and then the machine has one of them wait."""


class LayOuts:
    """In the place of laying vaults out: takes its time, and counts."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.most = 0
        self._guard = threading.Lock()
        self._now = 0

    def lay_out(self, store: object, placement: Placement, database: Path, standby: object) -> LaidOut:
        with self._guard:
            self._now += 1
            self.most = max(self.most, self._now)
            self.order.append(int(placement.vault))
        time.sleep(0)
        with self._guard:
            self._now -= 1
        return LaidOut(RestoredLog(LogHead(placement.head, placement.epoch, b"", b"", 1, 4096), 0, 0), "restored")


async def test_a_thousand_take_overs_at_once_are_bounded_and_in_turn(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = LayOuts()
    async with open_servers(tmp_path, url, names=("a",), vaults=()) as servers:
        server = servers.opened[0]
        held = server.cluster.held
        register_all(server)
        monkeypatch.setattr(local_copies, "lay_out", counted.lay_out)
        monkeypatch.setattr(held, "after_restore", [])
        before = threading.active_count()
        async with asyncio.timeout(10 * PATIENCE_S):
            await asyncio.gather(*(held.take(entry, held.folder_of(entry)) for entry in map(entry_of, range(MANY))))
        assert held.count == MANY
        for number in range(MANY):  # as if each had been opened and closed
            held._held.pop(str(number))
    assert counted.most <= RESTORES
    assert threading.active_count() <= before + RESTORES + 64
    late = [number for place, number in enumerate(counted.order) if place - number > AHEAD]
    assert len(late) < MANY // 100, late


def register_all(server: OpenServer) -> None:
    with server.cluster.connections.use() as connection:
        connection.execute(
            "INSERT INTO strongroom.placement (vault, epoch, head) SELECT n::text, 1, 1 FROM generate_series(0, %s) n",
            (MANY - 1,),
        )


def entry_of(number: int) -> VaultEntry:
    return VaultEntry(f"vault-{number}", str(number), None, "active", "general", "open", "2026-11-27T00:00:00Z")
