"""A data folder that this user may not enter, or not write: commands say which folder, and whose it is.

Covers vaults.files.permissions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from tests.server.cli.command import Strongroom

Denying = Callable[[int], None]


@pytest.fixture
def deny(strongroom: Strongroom, monkeypatch: pytest.MonkeyPatch) -> Denying:
    """Have the system refuse something of the data folder: to root, who may run this, it refuses nothing."""
    strongroom.data.mkdir(mode=0o700, exist_ok=True)
    really = os.access

    def refuse(denied: int) -> None:
        monkeypatch.setattr(
            os,
            "access",
            lambda path, mode: not (Path(path) == strongroom.data and mode & denied) and really(path, mode),
        )

    return refuse


@pytest.mark.parametrize("command", [("serve",), ("vault", "list")], ids=" ".join)
def test_one_that_cannot_be_entered_is_somebody_elses(
    strongroom: Strongroom, deny: Denying, command: tuple[str, ...]
) -> None:
    deny(os.X_OK)
    ran = strongroom(*command)
    assert ran.code == 2
    uid = os.geteuid()
    assert f"{strongroom.data} cannot be entered: it belongs to user {uid} with mode 0700, and this is user {uid}" in (
        ran.err
    )


@pytest.mark.parametrize("command", [("serve", "--port=0", "--metrics-port=0"), ("vault", "create", "main")])
def test_an_empty_one_that_cannot_be_written_is_named(
    strongroom: Strongroom, deny: Denying, command: tuple[str, ...]
) -> None:
    deny(os.W_OK)
    ran = strongroom(*command)
    assert ran.code == 1
    assert f"{strongroom.data} holds nothing yet and cannot be written: it belongs to user" in ran.err
    assert not (strongroom.data / "control.db").exists()


def test_a_disk_mounted_to_be_read_only_is_told_from_somebody_elses_folder(
    strongroom: Strongroom, deny: Denying, monkeypatch: pytest.MonkeyPatch
) -> None:
    deny(os.W_OK)
    monkeypatch.setattr(os, "statvfs", lambda path: mock.Mock(f_flag=os.ST_RDONLY))
    assert "cannot be written: its disk is mounted to be read only" in strongroom("vault", "create", "main").err


def test_one_that_holds_data_is_read_all_the_same(strongroom: Strongroom, deny: Denying) -> None:
    assert strongroom("vault", "create", "main").code == 0
    deny(os.W_OK)
    assert "main" in strongroom("vault", "list").out
