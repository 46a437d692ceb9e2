"""Commands beside a running server know where it is reached.

Covers server.running_server.
"""

from __future__ import annotations

from pathlib import Path

from server.running_server import LOCK_FILE, URL_FILE, announce_url, find_running_url
from tests.server.cli.command import Strongroom


def test_a_server_is_told_of_as_long_as_it_runs(tmp_path: Path) -> None:
    assert find_running_url(tmp_path) is None
    with announce_url(tmp_path, "http://127.0.0.1:4711"):
        assert find_running_url(tmp_path) == "http://127.0.0.1:4711"
        with announce_url(tmp_path, "http://127.0.0.1:9"):
            assert find_running_url(tmp_path) == "http://127.0.0.1:4711"
        assert find_running_url(tmp_path) == "http://127.0.0.1:4711"
        assert (tmp_path / URL_FILE).stat().st_mode & 0o077 == 0
    assert find_running_url(tmp_path) is None


def test_what_a_killed_server_left_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / URL_FILE).write_text("http://127.0.0.1:4711")
    (tmp_path / LOCK_FILE).touch()
    assert find_running_url(tmp_path) is None
    (tmp_path / URL_FILE).write_bytes(b"\xff")
    assert find_running_url(tmp_path) is None


def test_a_folder_that_cannot_be_written_stops_no_server() -> None:
    with announce_url(Path("/proc/nowhere"), "http://127.0.0.1:4711"):
        assert find_running_url(Path("/proc/nowhere")) is None


def test_token_create_prints_the_address_of_the_running_server(strongroom: Strongroom) -> None:
    strongroom("vault", "create", "main")
    words = ("token", "create", "--subject", "s", "--vault", "main", "--role", "reader")
    with announce_url(strongroom.data, "http://127.0.0.1:4711"):
        assert "http://127.0.0.1:4711/v/main/mcp" in strongroom(*words).err
    assert "http://127.0.0.1:8700/v/main/mcp" in strongroom(*words).err
