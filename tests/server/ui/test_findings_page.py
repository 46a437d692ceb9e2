"""Findings: for admins, and wrong things first."""

from __future__ import annotations

import pytest

from auth.roles import Role
from tests.server.ui.stage import Stage

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_an_admin_sees_every_check_and_others_are_refused(stage: Stage) -> None:
    page = await (await stage.person("anna", Role.ADMIN)).open("/ui/v/main/findings")
    assert page.status_code == 200
    assert "every passage has its vector" in page.text.partition('id="fine"')[2]
    writer = await stage.person("bert")
    refused = await writer.open("/ui/v/main/findings")
    assert refused.status_code == 403
    assert "needs the role admin" in refused.text
    assert "findings" not in (await writer.open("/ui/v/main/")).text


async def test_what_is_wrong_stands_first(stage: Stage) -> None:
    async with stage.services.pool.lease(stage.services.registry_cache.entry("main")) as held:
        with pytest.raises(KeyError), held.background.defects.noting("eviction"):
            raise KeyError("tide")
    page = (await (await stage.person("carl", Role.ADMIN)).open("/ui/v/main/findings")).text
    grave = page.partition('id="grave"')[2].partition('id="fine"')[0]
    assert "1 background tasks fail" in grave
    assert "eviction: KeyError" in grave
