"""Giving freed memory back to the system.

glibc keeps what was freed for each thread's next use; with a thread per SQLite connection that is more than an idle
vault itself (of 750 KiB, all but 30). Where there is no glibc these do nothing.
"""

from __future__ import annotations

import ctypes
from functools import cache

_ARENA_MAX = -8
"""``M_ARENA_MAX`` of malloc.h."""

ARENAS = 2


def few_arenas() -> None:
    """From here on, threads share two heaps instead of having one each. Call it before threads start."""
    if (libc := _libc()) is not None:
        libc.mallopt(_ARENA_MAX, ARENAS)


def trim() -> None:
    """Hand freed pages back. Takes milliseconds: not on the event loop."""
    if (libc := _libc()) is not None:
        libc.malloc_trim(0)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
