from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.cli.command import Strongroom


@pytest.fixture
def strongroom(tmp_path: Path) -> Strongroom:
    return Strongroom(tmp_path / "data")
