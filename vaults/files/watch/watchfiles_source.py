"""Watches a folder through ``watchfiles``: FSEvents on macOS, and what other systems offer.

Linux has its own source (``inotify.py``, which says why). The watcher's periodic look at everything makes up for what
``watchfiles`` does not report, above all that the system lost events.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from vaults.context import run_in
from vaults.files.watch.pending_changes import MAX_PATHS, PendingChanges
from vaults.files.watch.sources import SourceEnded, WatchedNames

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

_STEP_MS = 50  # how often it checks for events from the system
_TURN_MS = 1_000


async def follow(
    root: Path, names: WatchedNames, pending: PendingChanges, established: Callable[[], None]
) -> SourceEnded:
    """Report what happens below ``root`` to ``pending`` until that is impossible; the answer says why.

    Holds a thread of its own, and one inside ``watchfiles``, until it ends or is cancelled.
    """
    stop = threading.Event()
    executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="strongroom-watch")
    real = Path(os.path.realpath(root))  # what the system calls it in its events
    notify = None
    try:
        notify = await run_in(executor, _open_notifier, real)
        established()
        while True:
            changes = await run_in(executor, notify.watch, _STEP_MS, _STEP_MS, _TURN_MS, stop)
            if isinstance(changes, str):
                continue
            paths = await run_in(executor, _relevant_paths, real, names, changes)
            if paths is None:
                return SourceEnded("gone", "the folder was removed or moved")
            _report(paths, pending)
    except FileNotFoundError:
        return SourceEnded("gone", "the folder is missing")
    except (OSError, RuntimeError) as failure:  # RuntimeError: how watchfiles reports any failure of its own
        return SourceEnded("limit", f"the system's file events failed ({type(failure).__name__})")
    finally:
        stop.set()
        if notify is not None:
            executor.submit(notify.close)  # behind the call that waits for changes, and ends with the next step
        executor.shutdown(wait=False)


def _open_notifier(root: Path) -> RustNotify:
    from watchfiles._rust_notify import RustNotify

    # The last flag is off: it would hide every failure to watch, not only forbidden folders.
    return RustNotify([os.fspath(root)], False, False, 0, True, False)


def _report(paths: dict[str, bool], pending: PendingChanges) -> None:
    if len(paths) > MAX_PATHS:
        pending.everything()
        return
    for path, folder in paths.items():
        pending.touch(path, folder=folder)


def _relevant_paths(root: Path, names: WatchedNames, changes: set[tuple[int, str]]) -> dict[str, bool] | None:
    """Paths inside the vault that matter, and whether each is a folder; None when the root itself is gone."""
    found: dict[str, bool] = {}
    for _kind, changed in changes:
        path = Path(changed)
        if path == root:
            if not root.is_dir():
                return None
            continue
        parts = path.relative_to(root).parts if path.is_relative_to(root) else (".",)
        if not all(names.folder(part) for part in parts[:-1]):
            continue
        # What is gone may have been a folder.
        folder = names.folder(parts[-1]) and (path.is_dir() or not path.exists())
        if folder or names.file(parts[-1]):
            found["/".join(parts)] = folder
    return found
