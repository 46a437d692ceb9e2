"""Giving freed memory back to the system, and keeping the collector from stopping everybody.

glibc keeps what was freed for each thread's next use; with a thread per SQLite connection that is more than an idle
vault itself (of 750 KiB, all but 30). Where there is no glibc these do nothing.
"""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_ARENA_MAX = -8
"""``M_ARENA_MAX`` of malloc.h."""

ARENAS = 2

LONG_TEXT = 256 * 1024
"""Characters or bytes of a note from which reading it makes so many objects that collections are felt."""

_NEVER = 2**30
_collector_lock = threading.Lock()
_saved_thresholds: list[int] = []
"""The threshold of full collections that everybody in ``pause_full_collections`` found, the first of them before it was
changed."""


def limit_arenas() -> None:
    """From here on, threads share two heaps instead of having one each. Call it before threads start."""
    if (libc := _libc()) is not None:
        libc.mallopt(_ARENA_MAX, ARENAS)


def trim() -> None:
    """Hand freed pages back. Takes milliseconds: not on the event loop."""
    if (libc := _libc()) is not None:
        libc.malloc_trim(0)


@contextmanager
def pause_full_collections(size: int) -> Iterator[None]:
    """While a note of ``LONG_TEXT`` or more is read, let no full collection happen. It goes through all objects at
    once, which keeps every thread waiting, and is due again and again while a million are made that are all in use."""
    if size < LONG_TEXT:
        yield
        return
    with _collector_lock:
        young, middle, old = gc.get_threshold()
        _saved_thresholds.append(old)
        gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        with _collector_lock:
            last = _saved_thresholds.pop()
            if not _saved_thresholds:
                gc.set_threshold(young, middle, last)


@cache
def _libc() -> ctypes.CDLL | None:
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:
        return None
    return libc if hasattr(libc, "malloc_trim") and hasattr(libc, "mallopt") else None
