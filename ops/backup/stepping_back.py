"""Letting other processes go first: what serves callers is not to wait for a backup.

On Linux each thread has a priority of its own, and threads that it starts inherit it; elsewhere nothing happens.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress


def step_back(niceness: int) -> None:
    """Have this thread wait for others, unless it does so more already: of two that want a core it gets a tenth."""
    if sys.platform == "linux" and niceness:
        thread = threading.get_native_id()
        if os.getpriority(os.PRIO_PROCESS, thread) < niceness:  # the other way would need a right
            with suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, niceness)


def use_idle_time() -> None:
    """Have this thread run where nobody else wants the core. Not for one that holds a lock others wait for, such as a
    read transaction that keeps a log from being emptied."""
    if sys.platform == "linux":
        with suppress(OSError):  # not allowed everywhere; it only costs others some of their pace
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
