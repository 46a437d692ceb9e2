from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.oauth.desk import Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as made:
        yield made
