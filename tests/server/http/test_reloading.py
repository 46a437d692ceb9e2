"""A closed terminal ends a server; a signal alone does not. The whole of it is in test_serve."""

from __future__ import annotations

import os
import pty
import signal
import ssl
import threading
from pathlib import Path

import pytest

from auth.keys import open_key_ring
from server.http import app, reloading
from server.http.options import ServeOptions
from server.http.reloading import SIGNAL, Terminal, hold_back, let_through, reload_certificate
from server.services import Services
from tests.server.http.certified import write_pair
from vaults.errors import InvalidArgument


def test_a_terminal_that_closed_is_told_from_one_that_was_never_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    kept = os.dup(0)
    try:
        os.dup2(theirs, 0)
        started_there = Terminal()
        assert not started_there.is_gone()
        os.close(theirs)
        os.close(ours)
        assert started_there.is_gone()
        assert not Terminal().is_gone()
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    monkeypatch.setattr(reloading.os, "isatty", lambda _descriptor: False)
    assert not Terminal().is_gone()


def test_a_signal_that_was_held_back_is_delivered_later() -> None:
    heard = threading.Event()
    assert SIGNAL is not None
    before = signal.signal(SIGNAL, lambda *_: heard.set())
    try:
        hold_back()
        signal.pthread_kill(threading.get_ident(), SIGNAL)
        assert not heard.is_set()
        let_through()
        assert heard.is_set()
    finally:
        let_through()
        signal.signal(SIGNAL, before)


def test_half_a_pair_leaves_the_certificate_that_was_read(tmp_path: Path) -> None:
    cert, key = write_pair(tmp_path, addresses=["127.0.0.1"])
    options = ServeOptions(tls_cert=str(cert), tls_key=str(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    reload_certificate(context, options)
    old = cert.read_bytes()
    write_pair(tmp_path)
    cert.write_bytes(old)
    with pytest.raises(InvalidArgument, match="matching PEM pair"):
        reload_certificate(context, options)


async def test_keys_and_grants_are_read_again_and_what_fails_leaves_those_that_were(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = open_key_ring(tmp_path / "keys")
    reload, said = app._Reload(ring, services), list[str]()
    monkeypatch.setattr(app.log, "info", lambda event, **_: said.append(event), raising=False)
    monkeypatch.setattr(app.log, "warning", lambda event, **_: said.append(event), raising=False)
    kid = ring.newest.kid
    reload()
    await _ended(reload)
    (tmp_path / "keys" / "0001.pem").write_bytes(b"no key")
    reload()
    await _ended(reload)
    assert said == ["reloaded", "reload_failed"]
    assert ring.newest.kid == kid


async def _ended(reload: app._Reload) -> None:
    assert reload._task is not None
    await reload._task
