"""A closed terminal ends a server; a signal alone does not. The whole of it is in test_serve."""

from __future__ import annotations

import os
import pty
import signal
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from auth.grants import set_grant
from auth.keys import add_key, open_key_ring
from auth.roles import Role
from server.http import app, reloading
from server.http.options import ServeOptions
from server.http.reloading import SIGNAL, Terminal, hold_back, let_through, reload_certificate
from server.services import Services
from tests.conftest import local
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
    first = _shown_by(context, cert)
    old = cert.read_bytes()
    write_pair(tmp_path, addresses=["127.0.0.1"])
    new = cert.read_bytes()
    cert.write_bytes(old)
    with pytest.raises(InvalidArgument, match="matching PEM pair"):
        reload_certificate(context, options)
    assert _shown_by(context, cert) == first
    cert.write_bytes(new)
    reload_certificate(context, options)
    assert _shown_by(context, cert) != first


def _shown_by(server: ssl.SSLContext, trusted: Path) -> bytes:
    """The certificate that a new connection sees; the handshake proves the key."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = ssl.create_default_context(cafile=trusted).wrap_bio(back, there, server_hostname="127.0.0.1")
    theirs = server.wrap_bio(there, back, server_side=True)
    for side in (ours, theirs, ours, theirs):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return ours.getpeercert(binary_form=True) or b""


async def test_keys_and_grants_are_read_again_and_what_fails_leaves_those_that_were(
    services: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = open_key_ring(tmp_path / "keys")
    reload, said = app._Reload(ring, services), list[str]()
    monkeypatch.setattr(app.log, "info", lambda event, **_: said.append(event), raising=False)
    monkeypatch.setattr(app.log, "warning", lambda event, **_: said.append(event), raising=False)
    # As other processes do: this one is not told.
    added = add_key(open_key_ring(tmp_path / "keys"))
    await services.control.write(lambda tx: set_grant(tx, "ann", "local", "main", Role.WRITER))
    assert (ring.newest.kid == added.kid, services.role_in(local("ann"), "main")) == (False, None)
    reload()
    await _ended(reload)
    assert (ring.newest.kid, services.role_in(local("ann"), "main")) == (added.kid, Role.WRITER)
    (tmp_path / "keys" / "0001.pem").write_bytes(b"no key")
    reload()
    await _ended(reload)
    assert said == ["reloaded", "reload_failed"]
    assert ring.newest.kid == added.kid


def test_a_change_of_keys_is_told_once_and_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring, said = open_key_ring(tmp_path / "keys"), list[str]()
    monkeypatch.setattr(app.log, "info", lambda event, **_: said.append(event), raising=False)
    monkeypatch.setattr(app.log, "warning", lambda event, **_: said.append(event), raising=False)
    app._follow(ring)
    assert said == []
    add_key(open_key_ring(tmp_path / "keys"))
    (tmp_path / "keys" / "0001.pem").write_bytes(b"no key")
    app._follow(ring)
    app._follow(ring)
    assert said == ["signing", "keys_not_opened"]
    for file in (tmp_path / "keys").iterdir():
        file.unlink()
    app._follow(ring)
    assert ring.keys == ()


async def _ended(reload: app._Reload) -> None:
    assert reload._task is not None
    await reload._task
