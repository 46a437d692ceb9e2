"""Several serving processes on one socket, and their supervisor.

It replaces uvicorn's, which waits without limit for a worker that does not end, leaves orphans when it is killed, and
knows nothing of the files in which workers share their metrics.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import FrameType

import structlog
from prometheus_client import CollectorRegistry, Counter

from ops import worker_metrics
from ops.logs import configure
from server.http.options import AppFactory, Instruments, ServeOptions
from server.http.process import EXIT_CLEAN, EXIT_START_FAILED, EXIT_UNCLEAN, WorkerServer, serve_in_process
from server.http.reloading import SIGNAL, Terminal, hold_back, let_through
from vaults.errors import StrongroomError

RESTART_PAUSE_S = 1.0  # between two starts of a worker: one that dies at once must not burn the machine
LINGER_S = 2.0  # beyond the grace period, for a worker to end itself before it is killed
# The negative ones died of the signal: it came before they had begun to serve.
CLEAN_EXITS = frozenset({EXIT_CLEAN, -signal.SIGTERM, -signal.SIGUSR1})

log = structlog.get_logger("server.http")


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    """What every worker is given; pickled."""

    make_app: AppFactory
    options: ServeOptions
    shared: Path  # folder of the files in which workers share their metrics


@dataclass(slots=True)
class _Seat:
    process: SpawnProcess
    started: float
    first: bool


def run_worker(config: WorkerConfig, listener: socket.socket, seat: int) -> None:
    """The main function of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker_metrics.map_metrics_to_files(config.shared, seat)
    calls = configure(config.options.ops)
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    try:
        code = serve_in_process(
            config.make_app, Instruments(CollectorRegistry(), calls), config.options, listener, WorkerServer
        )
    except StrongroomError:
        log.exception("start_failed")
        code = EXIT_START_FAILED
    sys.exit(code)


def _end_with_parent() -> None:
    """A killed supervisor must not leave workers behind that hold the port."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


class Supervisor:
    """Starts ``options.workers`` processes, replaces those that die, and passes signals on. Main thread only."""

    def __init__(self, config: WorkerConfig, listener: socket.socket, restarts: Counter) -> None:
        self._config = config
        self._listener = listener
        self._restarts = restarts
        self._spawn = multiprocessing.get_context("spawn")
        self._seats: dict[int, _Seat] = {}
        self._signals = 0
        self._hung_up = False
        self._terminal = Terminal()
        self._waker, self._wakened = socket.socketpair()
        self._waker.setblocking(False)
        self._wakened.setblocking(False)
        self._failed = False

    def pids(self) -> Iterator[int]:
        """This process and its living workers: whose figures make up ``process_*``. Any thread."""
        yield os.getpid()
        for seat in tuple(self._seats.values()):
            if seat.process.pid is not None and seat.process.exitcode is None:
                yield seat.process.pid

    def run(self) -> int:
        """Run until a signal, then stop; returns the exit code."""
        before = {sig: signal.signal(sig, self._note) for sig in (signal.SIGTERM, signal.SIGINT)}
        if SIGNAL is not None:
            before[SIGNAL] = signal.signal(SIGNAL, self._note_hang_up)
        try:
            for number in range(self._config.options.workers):
                self._start(number, first=True)
            while not self._signals and not self._failed:
                living = self._living()
                self._wait(living, self._pause(living))
                self._pass_hang_up_on()
                self._replace_dead()
            return self._stop()
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)
            self._waker.close()
            self._wakened.close()

    def _note(self, sig: int, frame: FrameType | None) -> None:
        del sig, frame
        self._signals += 1
        self._waker.send(b"!")

    def _note_hang_up(self, sig: int, frame: FrameType | None) -> None:
        if self._terminal.is_gone():
            self._note(sig, frame)
            return
        self._hung_up = True
        self._waker.send(b"!")

    def _pass_hang_up_on(self) -> None:
        if self._hung_up and SIGNAL is not None:
            self._hung_up = False
            self._tell(SIGNAL)

    def _start(self, number: int, *, first: bool) -> None:
        process = self._spawn.Process(
            target=run_worker, args=(self._config, self._listener, number), name=f"worker-{number}"
        )
        hold_back()  # the worker begins like this
        try:
            process.start()
        finally:
            let_through()
        self._seats[number] = _Seat(process, time.monotonic(), first)

    def _living(self) -> list[_Seat]:
        return [seat for seat in self._seats.values() if seat.process.exitcode is None]

    def _wait(self, living: list[_Seat], seconds: float | None) -> None:
        """Wait until one of ``living`` ends, a signal arrives, or ``seconds`` have passed.

        The list comes from the caller, who has decided by it: asking again here could miss a death in between.
        """
        if self._wakened in wait([*(seat.process.sentinel for seat in living), self._wakened], seconds):
            self._wakened.recv(64)

    def _pause(self, living: list[_Seat]) -> float | None:
        """How long until a dead worker's seat may be filled again; ``None`` while all live."""
        now = time.monotonic()
        dead = [seat.started + RESTART_PAUSE_S - now for seat in self._seats.values() if seat not in living]
        return max(0.0, min(dead)) if dead else None

    def _replace_dead(self) -> None:
        for number, seat in tuple(self._seats.items()):
            code = seat.process.exitcode
            if code is None or self._signals:
                continue
            if code == EXIT_START_FAILED and seat.first:
                self._failed = True  # it would fail the same way again
            elif time.monotonic() - seat.started >= RESTART_PAUSE_S:
                log.warning("worker_died", seat=number, code=code)
                worker_metrics.forget_gauges(self._config.shared, number)
                self._restarts.inc()
                self._start(number, first=False)

    def _stop(self) -> int:
        """Drain: close the port, tell the workers, wait; a second signal hurries them; at the end kill."""
        self._listener.close()
        self._tell(signal.SIGTERM)
        deadline = time.monotonic() + self._config.options.ops.shutdown_grace_s + LINGER_S
        signals_seen = 1  # not how many there are: the second may have come while the first was passed on
        while (living := self._living()) and (left := deadline - time.monotonic()) > 0:
            if self._signals > signals_seen:
                signals_seen = self._signals
                self._tell(signal.SIGUSR1)
            self._wait(living, left)
        processes = [seat.process for seat in self._seats.values()]
        for process in processes:
            process.kill()
            process.join()
        if self._failed:
            return EXIT_START_FAILED
        return EXIT_CLEAN if all(process.exitcode in CLEAN_EXITS for process in processes) else EXIT_UNCLEAN

    def _tell(self, sig: signal.Signals) -> None:
        for seat in self._living():
            if seat.process.pid is not None:
                os.kill(seat.process.pid, sig)
