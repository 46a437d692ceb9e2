"""What is killed reads files as any server does."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _apart(readers_apart: None) -> None:
    """Every file is read by a process."""
