"""Memories and the commits they speak of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pygit2
import pytest

from auth.principal import owner
from auth.roles import Role
from server import vault_admin
from server.call import Caller
from server.services import Services
from tests.conftest import Asking, Opening, asker
from tests.importing import import_jsonl
from vaults.domain.actors import Actor
from vaults.domain.import_export.exports import export
from vaults.domain.memories import commit_anchors

FULL = "0123456789abcdef0123456789abcdef01234567"


def committed(folder: Path, message: str) -> str:
    repository = pygit2.init_repository(str(folder), initial_head="main")
    who = pygit2.Signature("Ann", "ann@example.org", 1_700_000_000)
    parents = [] if repository.head_is_unborn else [repository.head.target]
    tree = repository.TreeBuilder().write()
    return str(repository.create_commit("HEAD", who, who, message, tree, parents))


@pytest.fixture
async def project(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder served in place, as vault ``project``."""
    folder = tmp_path_factory.mktemp("project")
    await vault_admin.create(services, "project", folder)
    return folder


def asking(services: Services, vault: str) -> Asking:
    return asker(services, Caller(owner("cli"), vault, Role.ADMIN, "cli"))


async def _anchor(ask: Asking, memory_id: str) -> str | None:
    return (await ask("memory_get", ids=[memory_id])).content["memories"][0].get("anchor_commit")


async def _stored(ask: Asking, content: str, **more: Any) -> str:
    return str((await ask("remember", content=content, **more)).content["id"])


async def test_a_memory_speaks_of_the_commit_checked_out_where_it_lies(services: Services, project: Path) -> None:
    ask = asking(services, "project")
    assert await _anchor(ask, await _stored(ask, "before there was a repository")) is None
    first = committed(project, "first")
    one = await _stored(ask, "after the first commit")
    second = committed(project, "second")
    two = await _stored(ask, "after the second commit")
    assert (await _anchor(ask, one), await _anchor(ask, two)) == (first, second)
    assert await _anchor(ask, await _stored(ask, "of another commit", anchor_commit=FULL)) == FULL
    newer = (await ask("memory_supersede", id=one, content="and now?")).content["id"]
    assert await _anchor(ask, newer) == second


async def test_the_same_request_again_is_the_same_after_a_commit(services: Services, project: Path) -> None:
    ask = asking(services, "project")
    committed(project, "first")
    one = await _stored(ask, "once", idempotency_key="k")
    committed(project, "second")
    assert await _stored(ask, "once", idempotency_key="k") == one


async def test_a_named_commit_counts_and_can_be_corrected(ask: Asking) -> None:
    one = await _stored(ask, "speaks of a commit", anchor_commit=FULL.upper())
    assert await _anchor(ask, one) == FULL
    await ask("memory_update", id=one, anchor_commit="f" * 40)
    assert await _anchor(ask, one) == "f" * 40
    assert await _anchor(ask, await _stored(ask, "speaks of none")) is None


@pytest.mark.parametrize("commit", ["main", FULL[:12], "g" * 40, "", FULL + "\n", "HEAD^{/secret}"])
async def test_what_is_no_full_commit_is_refused(ask: Asking, commit: str) -> None:
    outcome = await ask("remember", content="x", anchor_commit=commit)
    assert outcome.content["error"]["details"]["field"] == "anchor_commit"


async def test_orphans_are_told_by_the_repository(services: Services, project: Path) -> None:
    first = committed(project, "first")
    second = committed(project, "second")
    async with services.pool.lease(services.registry_cache.entry("project")) as vault:
        assert await commit_anchors.find_orphans(vault, [first, second, FULL], first) == {second, FULL}
        assert await commit_anchors.find_orphans(vault, [first], FULL) is None
        assert await commit_anchors.find_orphans(vault, [first] * 300 + [FULL], first) == {FULL}
        beyond = [first, *(f"{number:040x}" for number in range(commit_anchors.MAX_COMMITS_CHECKED - 1)), FULL]
        found = await commit_anchors.find_orphans(vault, beyond, first)
        assert found is not None
        assert FULL not in found


async def test_a_vault_without_a_repository_has_no_orphans(services: Services, tmp_path: Path) -> None:
    committed(tmp_path, "a repository around the server's data is nobody's")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        assert await commit_anchors.find_current_commit(vault) is None
        assert await commit_anchors.find_orphans(vault, [FULL], FULL) is None


async def test_the_settings_may_name_a_repository(opening: Opening, tmp_path_factory: pytest.TempPathFactory) -> None:
    code = tmp_path_factory.mktemp("code")
    first = committed(code, "first")
    async with opening({"notes.repository": str(code)}) as services:
        ask = asking(services, "main")
        assert await _anchor(ask, await _stored(ask, "of the code beside")) == first
        async with services.pool.lease(services.registry_cache.entry("main")) as vault:
            assert await commit_anchors.find_orphans(vault, [first, FULL], first) == {FULL}


async def test_a_damaged_repository_hinders_no_memory(services: Services, project: Path) -> None:
    ask = asking(services, "project")
    committed(project, "first")
    head = project / ".git" / "HEAD"
    kept = head.read_bytes()
    head.write_bytes(b"nonsense")
    assert await _anchor(ask, await _stored(ask, "while it is damaged")) is None
    head.write_bytes(kept)
    assert await _anchor(ask, await _stored(ask, "when it is mended")) is not None


async def test_anchors_are_exported_and_imported(services: Services, project: Path, tmp_path: Path) -> None:
    ask = asking(services, "main")
    await _stored(ask, "speaks of a commit", anchor_commit=FULL)
    await _stored(ask, "speaks of none")
    async with services.pool.lease(services.registry_cache.entry("main")) as vault:
        await export(vault, tmp_path / "out", ("jsonl", "markdown"))
    lines = [json.loads(line) for line in (tmp_path / "out" / "memories.jsonl").read_text().splitlines()]
    assert [line.get("anchor_commit") for line in lines] == [FULL, None]
    assert any(f'anchor_commit: "{FULL}"' in path.read_text() for path in (tmp_path / "out" / "memories").iterdir())
    committed(project, "what is imported does not speak of it")
    async with services.pool.lease(services.registry_cache.entry("project")) as vault:
        await import_jsonl(vault, Actor("owner", "owner"), tmp_path / "out" / "memories.jsonl")
    listed = (await asking(services, "project")("memory_list", order="oldest")).content["memories"]
    assert [memory.get("anchor_commit") for memory in listed] == [FULL, None]
