"""Collections while a vault is open: files that come, change and go, folders that vanish, and edits of a collection
(vaults.domain.collections.follow_loop, .follower, .reconciliation, .file_reading, .document_writes, .file_rows,
.collection_rows, .change_signal, .editing, .removal, server.tools.collections)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Asking
from tests.work import PATIENCE_S


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv") / "docs"
    (root / "guides").mkdir(parents=True)
    (root / "a.md").write_text("# Harbour\n\nThe harbour opens at nine.\n")
    (root / "guides" / "b.md").write_text("# Ferry\n\nThe ferry leaves from pier seven.\n")
    return root


async def until(true: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await true():  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)


async def add(ask: Asking, folder: Path, name: str = "docs", **more: Any) -> dict[str, Any]:
    added = await ask("collections", action="add", name=name, root=str(folder), **more)
    assert added.ok, added.content
    return dict(added.content["collections"][0])


async def texts(ask: Asking, query: str, **more: Any) -> list[str]:
    found = await ask("search", query=query, mode="keyword", kinds=["document", "code"], **more)
    assert found.ok, found.content
    return [hit["text"] for hit in found.content["hits"]]


async def test_files_are_found_as_they_come_change_and_go(ask: Asking, folder: Path) -> None:
    added = await add(ask, folder)
    assert (added["state"], added["files"], added["documents"]) == ("ready", 2, 2)
    assert any("pier seven" in each for each in await texts(ask, "ferry", collection="docs"))
    (folder / "c.md").write_text("# Lighthouse\n\nThe lighthouse is red.\n")
    await until(lambda: texts(ask, "lighthouse"))
    (folder / "a.md").write_text("# Harbour\n\nThe harbour is closed, says the walrus.\n")
    await until(lambda: texts(ask, "walrus"))
    assert not await texts(ask, "nine")
    (folder / "c.md").unlink()

    async def gone() -> bool:
        return not await texts(ask, "lighthouse")

    await until(gone)
