"""A supervisor that stops, without its processes. Those are in test_serve."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ops.metrics import RESTARTS
from ops.settings import OpsSettings
from server.http.options import ServeOptions
from server.http.process import EXIT_CLEAN
from server.http.workers import Supervisor, WorkerConfig
from server.listening_socket import bind


def make_nothing(_: object) -> Any:
    raise AssertionError


def test_a_second_signal_that_comes_while_the_first_is_passed_on_hurries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ServeOptions(workers=1, ops=OpsSettings(shutdown_grace_s=1))
    supervisor = Supervisor(
        WorkerConfig(make_nothing, options, tmp_path), bind("127.0.0.1", 0), RESTARTS.register(None)
    )
    told: list[signal.Signals] = []

    def tell(sig: signal.Signals) -> None:
        told.append(sig)
        if sig == signal.SIGTERM:
            supervisor._note(sig, None)

    reading, writing = os.pipe()  # of a process that does not end
    busy = SimpleNamespace(process=SimpleNamespace(sentinel=reading))
    monkeypatch.setattr(supervisor, "_tell", tell)
    monkeypatch.setattr(supervisor, "_living", lambda: [] if signal.SIGUSR1 in told else [busy])
    supervisor._note(signal.SIGTERM, None)
    try:
        assert supervisor._stop() == EXIT_CLEAN
    finally:
        os.close(reading)
        os.close(writing)
        supervisor._waker.close()
        supervisor._wakened.close()
    assert told == [signal.SIGTERM, signal.SIGUSR1]
