"""One server of a cluster as a process: joins, beats, takes vaults that are asked of it, and answers lines of JSON.

Started by ``tests/cluster/cluster_run.py``; ends with ``GONE`` where it was taken for dead, to be started as another.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import traceback
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.cluster.held_vault import HeldVault
from vaults.cluster import page_log
from vaults.cluster.failures import Fenced, LogUnavailable
from vaults.cluster.heartbeat import Heartbeat
from vaults.cluster.held_lease import HeldLease
from vaults.cluster.postgres.connections import DatabaseLogin
from vaults.cluster.postgres.log import PostgresVaultLog
from vaults.cluster.postgres.placements import Placements
from vaults.cluster.postgres.schema import open_database
from vaults.cluster.postgres.servers import Servers
from vaults.errors import StrongroomError, VaultUnavailable

INSTALLATION = "cluster-run"
GONE = 7


class Server:
    """The vaults of this process, and its lease."""

    def __init__(self, conninfo: str, folder: Path, lease_s: float) -> None:
        self._folder = folder
        self.id = f"server-{uuid.uuid4().hex[:12]}"
        self._lease = HeldLease(lease_s)
        connections = open_database(DatabaseLogin(conninfo, 8, 2, lease_s), INSTALLATION)
        self._log = PostgresVaultLog(connections)
        self._placements = Placements(connections)
        servers = Servers(connections, lease_s)
        servers.join(self.id, "loopback", "1")
        self._heartbeat = Heartbeat(self.id, servers, self._lease, lambda: os._exit(GONE), lambda failure: None)
        self._heartbeat.start()
        self._vaults: dict[str, HeldVault] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._pool = ThreadPoolExecutor(2)
        self._closing: set[asyncio.Task[None]] = set()
        self._take_overs = (folder / "take_overs").open("a", buffering=1)

    async def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        vault = await self._open(asked["vault"])
        if vault is None:
            holder = await asyncio.to_thread(self._placements.holder, asked["vault"])
            return {"outcome": "elsewhere", "holder": holder.server}
        try:
            if asked["op"] == "read":
                return {"outcome": "ok", "ids": await vault.read()}
            seq, epoch = await vault.write(asked["id"])
        except VaultUnavailable:
            if vault.is_lost:
                self._drop(asked["vault"], vault)
            raise
        return {"outcome": "ok", "seq": seq, "epoch": epoch}

    async def _open(self, name: str) -> HeldVault | None:
        async with self._opening.setdefault(name, asyncio.Lock()):
            if name not in self._vaults:
                placement = await asyncio.to_thread(self._placements.take, name, self.id)
                if placement is None:
                    return None
                taken = {"vault": name, "server": self.id, "epoch": placement.epoch, "head": placement.head}
                self._take_overs.write(json.dumps(taken) + "\n")
                folder = self._folder / f"{name}-{placement.epoch}"
                folder.mkdir()
                vault = HeldVault(folder, self._log, placement, self._lease, self._pool)
                await vault.open()
                self._vaults[name] = vault
            return self._vaults[name]

    def _drop(self, name: str, vault: HeldVault) -> None:
        if self._vaults.get(name) is vault:
            del self._vaults[name]
            task = asyncio.create_task(vault.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


async def told(server: Server, line: bytes) -> dict[str, Any]:
    """The answer to a line, failures as their kind."""
    asked = json.loads(line)
    try:
        answer = await server.answer(asked)
    except Fenced:
        answer = {"outcome": "fenced"}
    except StrongroomError as failure:
        cause = repr(failure.__cause__) if type(failure) is VaultUnavailable else ""
        answer = {"outcome": "unknown", "said": f"{failure.message} {cause}".strip()}
    except Exception:  # noqa: BLE001  for the checker, which accepts none
        answer = {"outcome": "bug", "said": traceback.format_exc()[-2000:]}
    return {"number": asked["number"], **answer}


async def serve(server: Server) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def reply(line: bytes) -> None:
            writer.write(json.dumps(await told(server, line)).encode() + b"\n")

        async with asyncio.TaskGroup() as replies:
            while line := await reader.readline():
                replies.create_task(reply(line))

    listener = await asyncio.start_server(converse, "127.0.0.1", 0, limit=2**20)
    print(listener.sockets[0].getsockname()[1], server.id, flush=True)
    await asyncio.to_thread(sys.stdin.read)  # until whoever started it has enough, or is gone
    os._exit(0)


def joined(conninfo: str, folder: Path, lease_s: float) -> Server:
    """As soon as PostgreSQL can be had."""
    while True:
        try:
            return Server(conninfo, folder, lease_s)
        except (LogUnavailable, StrongroomError):
            time.sleep(0.1)


if __name__ == "__main__":
    page_log.MIN_REBASE_BYTES = 1_000  # so that bases are uploaded all the time
    asyncio.run(serve(joined(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3]))))
