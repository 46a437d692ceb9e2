"""Whether disks answer, asked from a thread that may hang with them."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from vaults.context import run_in

PATIENCE_S = 10.0
"""Seconds a small write may take; a disk that is slower than this is not asked for a backup too."""


class DiskProbe:
    """Asks ``ask``, which blocks. While one question is without an answer no further is asked: a disk that hangs costs
    one thread."""

    def __init__(self, ask: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
        self._ask, self._patience_s = ask, patience_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="disk-probe")
        self._asked: asyncio.Future[object] | None = None

    async def answers(self) -> bool:
        """Whether there was an answer in time. Raises what ``ask`` raises."""
        if self._asked is None:
            self._asked = asyncio.ensure_future(run_in(self._thread, self._ask))
        done, _ = await asyncio.wait({self._asked}, timeout=self._patience_s)
        if not done:
            return False
        asked, self._asked = self._asked, None
        asked.result()
        return True

    def close(self) -> None:
        """Wait for nothing."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def write_a_little(folder: Path) -> None:
    """A write that reaches the disk of ``folder``."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
