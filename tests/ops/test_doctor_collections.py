"""Collections as the doctor sees them (ops.doctor.collections)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.doctor.collections import collections
from server.services import Services
from tests.conftest import Asking
from tests.people import rewrite


async def test_a_folder_that_is_gone_is_a_warning_and_a_file_that_is_not_read_a_notice(
    services: Services, ask: Asking, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root: Path = tmp_path_factory.mktemp("srv")
    (root / "a.md").write_text("# A\n\nHarbour.\n")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert (await collections(vault)).message.startswith("0 collections")
        assert (await ask("collections", action="add", name="docs", root=str(root), watch=False)).ok
        assert (await collections(vault)).status == "ok"
        await rewrite(services, "UPDATE collection_files SET problem = 'encrypted'")
        await rewrite(services, "UPDATE collection_states SET problems = 1")
        notice = await collections(vault)
        assert (notice.status, notice.details) == ("notice", ["docs: a.md: encrypted"])
        root.rename(root.parent / f"{root.name}-away")
        assert (await ask("collections", action="refresh", name="docs")).ok
        warning = await collections(vault)
        assert (warning.status, warning.message[:12]) == ("warning", "1 collection")
        assert warning.todo
