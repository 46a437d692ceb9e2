from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.server.ui.stage import Stage, open_stage


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One server for all tests of a module: people and memories are theirs alone."""
    async with open_stage(tmp_path_factory.mktemp("console")) as opened:
        yield opened
