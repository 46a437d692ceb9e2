"""What a watcher holds of changes until somebody takes them."""

from __future__ import annotations

import time

from tests.work import PATIENCE_S
from vaults.files.watch.pending_changes import MAX_PATHS, ChangedPaths, PendingChanges


async def test_fifty_thousand_events_of_a_checkout_are_one_look_at_everything() -> None:
    pending = PendingChanges(quiet_s=0.0, longest_s=0.0, flood_s=0.05)
    most = 0
    for number in range(50_000):
        pending.touch(f"src/part{number % 500}", folder=True) if number % 10 == 0 else pending.touch(f"src/{number}.py")
        most = max(most, len(pending._paths) + len(pending._folders))
        if number in (MAX_PATHS * 2, 30_000):
            assert await pending.take(0.0) is None, "not while it goes on"
    assert most <= 2 * MAX_PATHS + 2, "however many events there are, few are held"
    assert await pending.take(time.monotonic() + PATIENCE_S) == ChangedPaths(frozenset(), rescan=True)
    assert await pending.take(0.0) is None, "once, not once for each"
