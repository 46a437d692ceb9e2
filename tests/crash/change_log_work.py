"""A process that writes rows to a database whose change log is kept, and says on stdout what it knows is safe.

``python -m tests.crash.change_log_work FOLDER COUNT DIES_AT``: it kills itself before the store's operation of that
number, counted from 1; 0: it lives until it has written ``COUNT`` rows, or somebody kills it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ops.backup.folder_store import FolderStore
from ops.change_log.change_log import ChangeLog
from ops.change_log.log_shelf import LogShelf
from ops.change_log.store_threads import StoreThreads
from vaults.db.connection import Database
from vaults.settings import StorageSettings

VAULT = "0197a000-0000-7000-8000-00000000000c"
SETTINGS = StorageSettings()


class MortalStore(FolderStore):
    """Kills its process before one of its operations."""

    def __init__(self, root: Path, dies_at: int) -> None:
        super().__init__(root)
        self._left = dies_at

    def put(self, key: str, data: bytes) -> None:
        self._live()
        super().put(key, data)

    def settle(self) -> None:
        self._live()
        super().settle()

    def _live(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def say(*words: Any) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # at once: another thread may end the process meanwhile


async def work(folder: Path, count: int, dies_at: int) -> None:
    path = folder / "v.db"
    with ThreadPoolExecutor(2) as pool:
        shelf = LogShelf(
            lambda: MortalStore(folder / "target", dies_at), pool, StoreThreads(pool), SETTINGS, keep_s=3600
        )
        log = ChangeLog(path, VAULT, shelf)
        db = Database(path, SETTINGS, log=log)
        await db.write(lambda tx: tx.run("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, w BLOB, at REAL)"))
        following = asyncio.create_task(log.follow(db))
        while not log.is_following and not following.done():  # noqa: ASYNC110  on other threads
            await asyncio.sleep(0.005)
        for _ in range(count):
            at = time.monotonic()
            n = await db.write(
                lambda tx, at=at: tx.insert(  # type: ignore[misc]
                    "INSERT INTO t (w, at) VALUES (randomblob(200 + abs(random()) % 3000), :at)", {"at": at}
                )
            )
            say("row", n, at, time.monotonic(), log.figures.covered_at)
            if n % 700 == 0:
                await db.checkpoint()
            await asyncio.sleep(0.002)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await db.close()
    say("closed")


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
