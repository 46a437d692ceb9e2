"""One server for the scripts of all toolsets, with a vault for each, so that no script sees another's memories."""

from __future__ import annotations

import pytest_asyncio

from auth.roles import Role
from server.tool_spec import TOOLSETS
from tests.server.http.serving import served


async def prepare(ground):
    tokens = {role.label: await ground.token(role.label, role, *TOOLSETS) for role in Role}
    return tokens | {"preset": await ground.token("preset", Role.WRITER, "moltmind", preset="moltmind")}


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def site(tmp_path_factory):
    async with served(tmp_path_factory.mktemp("toolsets"), vaults=TOOLSETS, prepare=prepare) as running:
        yield running
