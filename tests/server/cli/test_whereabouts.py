"""Commands beside a running server know where it is reached.

Covers server.running_server.
"""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from filelock import FileLock

from server.running_server import (
    LOCK_FILE,
    URL_FILE,
    announce_url,
    find_running_url,
    hold_serving,
    hold_stopped,
)
from tests.server.cli.command import Strongroom
from vaults.errors import VaultUnavailable


def test_a_server_is_told_of_as_long_as_it_runs(tmp_path: Path) -> None:
    assert find_running_url(tmp_path) is None
    with hold_serving(tmp_path), announce_url(tmp_path, "http://127.0.0.1:4711"):
        assert find_running_url(tmp_path) == "http://127.0.0.1:4711"
        assert (tmp_path / URL_FILE).stat().st_mode & 0o077 == 0
    assert find_running_url(tmp_path) is None


def test_a_folder_has_one_server_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.running_server.LOOK_S", 0)
    data = tmp_path / "new"
    with hold_serving(data), announce_url(data, "http://127.0.0.1:4711"):
        for another in (hold_serving, hold_stopped):
            with pytest.raises(VaultUnavailable, match="a server runs"), another(data):
                pass
        assert find_running_url(data) == "http://127.0.0.1:4711"
    with hold_stopped(data), pytest.raises(VaultUnavailable, match="being restored"), hold_serving(data):
        pass
    with hold_serving(data):
        assert data.stat().st_mode & 0o077 == 0


def test_a_file_system_without_locks_stops_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "no locks here")

    with monkeypatch.context() as patched:
        patched.setattr("server.running_server.fcntl.flock", refuse)
        with hold_serving(tmp_path), announce_url(tmp_path, "http://127.0.0.1:4711"):
            assert find_running_url(tmp_path) is None


def test_the_look_of_a_command_refuses_no_server(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch()
    lock = FileLock(tmp_path / LOCK_FILE, thread_local=False)
    lock.acquire()
    with ThreadPoolExecutor() as threads:
        threads.submit(lock.release)
        with hold_serving(tmp_path):
            pass


def test_a_second_server_is_refused_before_it_does_anything(strongroom: Strongroom) -> None:
    with hold_serving(strongroom.data), announce_url(strongroom.data, "http://127.0.0.1:4711"):
        ran = strongroom("serve", "--port", "0", "--metrics-port", "0")
    assert (ran.code, "at http://127.0.0.1:4711" in ran.err, ran.out) == (1, True, "")
    assert not (strongroom.data / "control.db").exists()


def test_what_a_killed_server_left_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / URL_FILE).write_text("http://127.0.0.1:4711")
    (tmp_path / LOCK_FILE).touch()
    assert find_running_url(tmp_path) is None
    (tmp_path / URL_FILE).write_bytes(b"\xff")
    assert find_running_url(tmp_path) is None


def test_a_folder_that_cannot_be_written_stops_no_server() -> None:
    with hold_serving(Path("/proc/nowhere")), announce_url(Path("/proc/nowhere"), "http://127.0.0.1:4711"):
        assert find_running_url(Path("/proc/nowhere")) is None


def test_token_create_prints_the_address_of_the_running_server(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    words = ("token", "create", "--subject", "s", "--vault", "main", "--role", "reader")
    with hold_serving(strongroom.data), announce_url(strongroom.data, "http://127.0.0.1:4711"):
        assert "http://127.0.0.1:4711/v/main/mcp" in strongroom(*words).err
    assert "http://127.0.0.1:8700/v/main/mcp" in strongroom(*words).err
