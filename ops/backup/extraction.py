"""Taking members out of a backup beside a running event loop, and stopping when nobody waits for them any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from ops.backup.manifest import BackupManifest
from ops.backup.pace import Pace
from ops.backup.source import BackupSource, everything
from vaults.context import run_to_completion

P = ParamSpec("P")
T = TypeVar("T")


async def extract(
    source: BackupSource,
    into: Path,
    wanted: Callable[[str], bool] = everything,
    *,
    bytes_per_s: float | None = None,
) -> BackupManifest:
    """As ``BackupSource.extract``, on a thread. A caller that is cancelled leaves only once nothing is written to
    ``into`` any more, which is soon: else the thread would go on in a folder that was removed, and make it anew."""
    stopped = threading.Event()
    pace = Pace(bytes_per_s, stopped.is_set)
    working = asyncio.ensure_future(asyncio.to_thread(source.extract, into, wanted, pace))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        stopped.set()
        await run_to_completion(_wait_for(working))
        raise


async def on_thread(work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run ``work`` on a thread to its end, whoever is cancelled meanwhile."""
    return await run_to_completion(asyncio.to_thread(work, *args, **kwargs))


async def _wait_for(working: asyncio.Future[BackupManifest]) -> None:
    await asyncio.wait({working})
