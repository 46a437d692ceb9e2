"""A vault that follows its collections, whose watchers and loop do not wait long."""

from __future__ import annotations

import pytest

from vaults.domain.collections import follow_loop, follower


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks often whether something changed, and does not wait long after a failure."""
    monkeypatch.setattr(follow_loop, "STEP_S", 0.02)
    monkeypatch.setattr(follow_loop, "REPORT_S", 0.05)
    monkeypatch.setattr(follow_loop, "START_S", 0.0)
    monkeypatch.setattr(follower, "DEBOUNCE_S", 0.02)
    monkeypatch.setattr(follower, "FLOOD_S", 0.1)
    monkeypatch.setattr(follower, "CHECK_S", 0.05)
    monkeypatch.setattr(follower, "RETRY_S", 0.05)
    monkeypatch.setattr(follower, "AGAIN_S", 0.02)
