"""Gives freed memory back to the system, and keeps full garbage collections from stopping every thread.

glibc keeps freed memory for each thread's next use; with a thread per SQLite connection that is most of an idle vault
(all but 30 of 750 KiB). Without glibc these functions do nothing.
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
"""Characters or bytes of a note from which reading it makes so many objects that full collections are felt."""

_NEVER = 2**30
_collector_lock = threading.Lock()
_saved_thresholds: list[int] = []
"""The thresholds found by those now in ``pause_full_collections``; the first is the one to restore."""


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
    """Allow no full collection while a note of ``LONG_TEXT`` or more is read. One goes through all objects while every
    thread waits, and is due again and again while a million objects are made that stay in use."""
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
