"""Readers share, a writer is alone, and neither side starves the other."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from tests.work import PATIENCE_S
from vaults.index.rwlock import ReadersWriterLock


def started(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_readers_hold_it_together() -> None:
    lock, meeting = ReadersWriterLock(), threading.Barrier(3, timeout=PATIENCE_S)

    def read() -> None:
        with lock.shared():
            meeting.wait()

    threads = [started(read) for _ in range(2)]
    with lock.shared():
        meeting.wait()
    for thread in threads:
        thread.join(PATIENCE_S)


def test_writer_is_alone_among_readers_and_writers() -> None:
    lock = ReadersWriterLock()
    inside, wrong = 0, []

    def write() -> None:
        nonlocal inside
        for _ in range(300):
            with lock.exclusive():
                inside += 1
                if inside != 1:
                    wrong.append(inside)
                inside -= 1

    def read() -> None:
        for _ in range(300):
            with lock.shared():
                if inside:
                    wrong.append(inside)

    threads = [started(work) for work in (write, write, read, read, read)]
    for thread in threads:
        thread.join(PATIENCE_S * 2)
        assert not thread.is_alive()
    assert not wrong


def until_waiting(lock: ReadersWriterLock, writers: int) -> None:
    pause = threading.Event()
    while lock._writers_waiting < writers:
        pause.wait(0.0005)


def until_queued(lock: ReadersWriterLock, threads: int) -> None:
    pause = threading.Event()
    while len(lock._changed._waiters) < threads:  # type: ignore[attr-defined]
        pause.wait(0.0005)


def test_a_waiting_writer_goes_before_new_readers() -> None:
    lock, order = ReadersWriterLock(), []

    def write() -> None:
        with lock.exclusive():
            order.append("writer")

    def read() -> None:
        with lock.shared():
            order.append("reader")

    with lock.shared():
        writer = started(write)
        until_waiting(lock, 1)
        reader = started(read)
        reader.join(0.05)
        assert order == []
    for thread in (writer, reader):
        thread.join(PATIENCE_S)
    assert order == ["writer", "reader"]


def test_a_reader_gets_in_between_writers_that_queue_without_a_gap() -> None:
    lock, order = ReadersWriterLock(), []
    threads = []

    def write(left: int) -> None:
        with lock.exclusive():
            order.append("writer")
            if left:
                threads.append(started(lambda: write(left - 1)))
                until_waiting(lock, 1)

    def read() -> None:
        with lock.shared():
            order.append("reader")

    with lock.shared():
        threads.append(started(lambda: write(100)))
        until_waiting(lock, 1)
        reader = started(read)
        until_queued(lock, 2)  # a thread may take longer to start than all the writers take
    reader.join(PATIENCE_S)
    while len(order) < 102:
        threads[-1].join(PATIENCE_S)
    assert order.index("reader") < 90


def test_endless_overlapping_readers_do_not_starve_a_writer() -> None:
    lock, done = ReadersWriterLock(), threading.Event()

    def read() -> None:
        while not done.is_set():
            with lock.shared():
                pass

    readers = [started(read) for _ in range(3)]
    for _ in range(20):
        with lock.exclusive():
            pass
    done.set()
    for thread in readers:
        thread.join(PATIENCE_S)


def test_endless_writers_do_not_starve_a_reader() -> None:
    lock, done = ReadersWriterLock(), threading.Event()

    def write() -> None:
        while not done.is_set():
            with lock.exclusive():
                pass

    writers = [started(write) for _ in range(3)]
    for _ in range(20):
        with lock.shared():
            pass
    done.set()
    for thread in writers:
        thread.join(PATIENCE_S)


@pytest.mark.parametrize("side", ["shared", "exclusive"])
def test_an_error_inside_lets_go(side: str) -> None:
    lock = ReadersWriterLock()
    with pytest.raises(RuntimeError), getattr(lock, side)():
        raise RuntimeError
    with lock.exclusive():
        pass
