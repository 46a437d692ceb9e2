from __future__ import annotations

import shlex
import stat
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ``strongroom`` to be found on PATH, as after an installation."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "strongroom"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m server "$@"\n')
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    return folder
