"""nano-brain's own scenarios for collections, workspaces and its code index, over its own tools."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from server.toolsets.nano_brain import TOOLSET
from server.toolsets.serving import serve_old_tool
from tests.conftest import Asking, Opening, asker
from tests.people import rows
from tests.work import PATIENCE_S
from vaults.domain.actors import workspace_key
from vaults.domain.collections import follow_loop

Nano = Callable[..., Awaitable[str]]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_loop, "STEP_S", 0.02)


@pytest.fixture
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("srv") / "docs"
    root.mkdir()
    (root / "auth.md").write_text("# Auth\n\nThe auth-token is rotated daily by the gateway.\n")
    (root / "build.md").write_text("# Build\n\nAND OR NOT are words of the build script.\n")
    return root


def nano_of(services: Services, transport: str = "cli") -> Nano:
    caller = Caller(owner("cli"), "main", Role.ADMIN, transport, preset="nano-brain")  # type: ignore[arg-type]

    async def nano(name: str, **arguments: object) -> str:
        tool = TOOLSET.get(name)
        assert tool is not None
        outcome = await serve_old_tool(services, TOOLSET, tool, caller, arguments, partial(dispatch, services))
        return outcome.text

    return nano


@pytest.fixture
def nano(services: Services) -> Nano:
    return nano_of(services)


async def add(ask: Asking, root: Path, name: str = "docs", **more: object) -> None:
    added = await ask("collections", action="add", name=name, root=str(root), **more)
    assert added.ok, added.content


async def test_real_db_integration_finds_two_documents_and_hyphens_and_operator_words(
    ask: Asking, nano: Nano, docs: Path
) -> None:
    await add(ask, docs)
    assert "rotated daily" in await nano("memory_search", query="auth-token")
    assert "build script" in await nano("memory_search", query="AND OR NOT")
    assert "rotated daily" in await nano("memory_query", query="gateway rotation")


async def test_collection_filter(ask: Asking, nano: Nano, docs: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "auth.md").write_text("# Login\n\nThe auth-token of the other team never changes.\n")
    await add(ask, docs)
    await add(ask, other, "other")
    found = await nano("memory_search", query="auth-token", collection="docs")
    assert "rotated daily" in found
    assert "never changes" not in found
    assert "never changes" in await nano("memory_search", query="auth-token", collection="other")
    assert "No results found." in await nano("memory_search", query="auth-token", collection="nothing")


async def test_empty_query(ask: Asking, nano: Nano, docs: Path) -> None:
    await add(ask, docs)
    for tool in ("memory_search", "memory_vsearch", "memory_query"):
        assert await nano(tool, query=" ", collection="docs") == "No results found."


async def test_update_finds_a_new_file(ask: Asking, nano: Nano, docs: Path) -> None:
    await add(ask, docs, watch=False)
    (docs / "new.md").write_text("# New\n\nThe lighthouse is red.\n")
    assert "red" not in await nano("memory_search", query="lighthouse")
    assert "docs: 3 docs" in await nano("memory_update")
    assert "red" in await nano("memory_search", query="lighthouse")


async def test_status_counts(ask: Asking, nano: Nano, docs: Path) -> None:
    await add(ask, docs)
    told = await nano("memory_status")
    assert "  - docs: 2 docs" in told
    assert "Documents: 2 |" in told


async def test_config_added_and_removed_live(ask: Asking, nano: Nano, docs: Path) -> None:
    assert "- docs:" not in await nano("memory_status")
    await add(ask, docs)
    assert "rotated daily" in await nano("memory_search", query="auth-token")
    assert (await ask("collections", action="remove", name="docs", confirmed=True)).ok
    assert await nano("memory_search", query="auth-token") == "No results found."
    assert "- docs:" not in await nano("memory_status")


async def test_a_missing_file_is_deactivated_and_a_missing_folder_is_not(
    services: Services, ask: Asking, nano: Nano, docs: Path
) -> None:
    await add(ask, docs, watch=False)
    (docs / "build.md").unlink()
    await nano("memory_update")
    assert await nano("memory_search", query="build script") == "No results found."
    docs.rename(docs.parent / "away")
    await nano("memory_update")
    assert "docs: 1 docs (unavailable)" in await nano("memory_status")
    assert "rotated daily" in await nano("memory_search", query="auth-token")


async def test_workspace_default_all_and_specific(
    services: Services, ask: Asking, docs: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ours, theirs = tmp_path_factory.mktemp("ours"), tmp_path_factory.mktemp("theirs")
    (ours / "a.md").write_text("# A\n\nThe walrus of ours.\n")
    (theirs / "b.md").write_text("# B\n\nThe walrus of theirs.\n")
    (docs / "c.md").write_text("# C\n\nThe walrus of everybody.\n")
    await add(ask, ours, "ours", workspace="ours")
    await add(ask, theirs, "theirs", workspace="theirs")
    await add(ask, docs)

    async def seen(**more: str) -> set[str]:
        caller = Caller(owner("cli"), "main", Role.ADMIN, "cli", workspace="ours")
        found = await asker(services, caller)("search", query="walrus", mode="keyword", **more)
        return {
            word
            for hit in found.content["hits"]
            for word in ("ours", "theirs", "everybody")
            if f"of {word}" in hit["text"]
        }

    assert await seen() == {"ours", "everybody"}
    assert await seen(workspace="all") == {"ours", "theirs", "everybody"}
    assert await seen(workspace=workspace_key("theirs")) == {"theirs", "everybody"}


async def test_codebase_indexing_where_it_is_allowed_and_its_own_words_where_not(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("code") / "shop"
    root.mkdir()
    (root / "cart.py").write_text("def total_of_prices(prices):\n    return sum(prices)\n")
    (root / "yarn.lock").write_text("x\n")
    async with opening({"collections.roots": [str(root.parent)]}) as services:
        remote = nano_of(services, "http")
        refused = await remote("memory_index_codebase", root="/etc")
        assert refused.startswith("❌ Codebase indexing is not enabled. ")
        indexed = await remote("memory_index_codebase", root=str(root))
        assert "- Files scanned: 2\n- Files indexed: 1\n- Files left out: 1" in indexed
        assert "total_of_prices" in await remote("memory_search", query="total_of_prices", collection="shop")
        (root / "more.py").write_text("def discount(prices):\n    return 0\n")
        assert "- Files indexed: 2" in await remote("memory_index_codebase", root=str(root))
        assert await rows(services, "SELECT COUNT(*) FROM collections") == [(1,)]


async def test_teardown_leaves_nothing(opening: Opening, docs: Path) -> None:
    before = asyncio.all_tasks()
    async with opening() as services:
        await add(asker(services), docs)
    async with asyncio.timeout(PATIENCE_S):
        while asyncio.all_tasks() - before:  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.01)
    assert sorted(each.name for each in docs.iterdir()) == ["auth.md", "build.md"]
