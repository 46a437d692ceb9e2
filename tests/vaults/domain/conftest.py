"""For tests of what a vault does by itself: have it do nothing by itself."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from server.services import Services
from tests.conftest import Asking, Opening, asker


@pytest.fixture
async def still(opening: Opening, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Services]:
    """Services whose vaults do no chores: nothing is swept but by the test."""
    monkeypatch.setattr("server.background_jobs.BACKGROUND_JOBS", ())
    async with opening() as services:
        yield services


@pytest.fixture
def tell(still: Services) -> Asking:
    """As ``ask``, of ``still``."""
    return asker(still)
