"""Here the processes are what is tested."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _apart(readers_apart: None) -> None:
    """Every file is read by a process."""
