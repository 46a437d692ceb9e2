"""mempack's own scenarios for ingested files and what a pack shows of them, over its tools: ignore files, chunks, what
is stored once, threads, limits, repositories, reachability. Where numbers differ, a docstring says why."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from auth.principal import owner
from auth.roles import Role
from server.call import Caller
from server.dispatch import dispatch
from server.services import Services
from server.toolsets.mempack import TOOLSET
from server.toolsets.serving import serve_old_tool
from tests.conftest import Asking, Opening, asker
from tests.people import rows
from vaults.search.tokenizer import count_tokens
from vaults.settings import IngestSettings

Mem = Callable[..., Awaitable[dict[str, Any]]]
TWO_MB = 2 * 2**20


def mem_of(services: Services) -> Mem:
    caller = Caller(owner("cli"), "main", Role.ADMIN, "cli", preset="mempack")  # type: ignore[arg-type]

    async def mem(name: str, **arguments: object) -> dict[str, Any]:
        tool = TOOLSET.get(name)
        assert tool is not None
        outcome = await serve_old_tool(services, TOOLSET, tool, caller, arguments, partial(dispatch, services))
        assert outcome.ok, outcome.text
        return dict(outcome.content)

    return mem


@pytest.fixture
def mem(services: Services) -> Mem:
    return mem_of(services)


async def chunks(mem: Mem, query: str, **more: Any) -> list[str]:
    return [each["text"] for each in (await mem("mem_get_context", query=query, **more))["top_chunks"]]


async def ingest(ask: Asking, text: str, uri: str = "file:///srv/a.md", **more: Any) -> str:
    """Read a file in; what became of it."""
    told = await ask("ingest", content=text, uri=uri, **more)
    assert told.ok, told.text
    return next(iter(told.content["counts"]))


@pytest.mark.parametrize("name", [".mempackignore", ".memignore"])
async def test_gitignore_and_mempackignore_leave_files_out(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """Both names count here; mem takes the older one where the newer is not there, and only at the top."""
    root = tmp_path_factory.mktemp("srv")
    for path, text in {
        "docs/keep.md": "The walrus that is kept.",
        "notes.log": "The walrus of Git's ignore file.",
        "skip/b.md": "The walrus of mempack's ignore file.",
        ".gitignore": "*.log\n",
        name: "skip/\n",
    }.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    async with opening({"ingest.roots": [str(root)]}) as services:
        told = await asker(services)("ingest", uri=str(root), thread="T-docs")
        assert told.content["counts"] == {"new": 1}
        assert await chunks(mem_of(services), "walrus") == ["The walrus that is kept."]


async def test_chunks_are_counted_in_tokens_and_none_has_320(services: Services, ask: Asking, mem: Mem) -> None:
    """About 200 here, so that the model reads a chunk whole. Nothing is repeated in the next one, as 40 tokens are
    there: what stands around a hit is shown with it."""
    words = [f"harbour{number} opens at nine." for number in range(400)]
    await ingest(ask, "\n".join(words))
    texts = [text for (text,) in await rows(services, "SELECT body FROM passages ORDER BY seq")]
    assert " ".join(" ".join(texts).split()) == " ".join(words), "every word once, in order"
    assert all(100 < count_tokens(text) < 320 for text in texts[:-1])
    hit = (await ask("search", query="harbour200", mode="keyword")).content["hits"][0]
    around = (await ask("fetch", id=hit["id"])).content["text"]
    assert "harbour199" in around
    assert "harbour201" in around


async def test_the_same_text_is_stored_once_and_shown_once(ask: Asking, mem: Mem) -> None:
    """There one row per thread, joined when shown; here a file that comes with another thread moves there."""
    text = "The walrus swims at dawn."
    assert [await ingest(ask, text, thread=thread) for thread in ("T-a", "T-a", "T-b")] == [
        "new",
        "unchanged",
        "updated",
    ]
    assert await chunks(mem, "walrus") == [text]
    assert await ingest(ask, f"# Elsewhere\n\n{text}", "file:///srv/b.md") == "new"
    assert await chunks(mem, "walrus") == [text], "a chunk that another one repeats is shown once"


async def test_an_artifact_has_the_thread_it_was_ingested_with(ask: Asking, mem: Mem) -> None:
    await ingest(ask, "The walrus swims at dawn.", thread="T-sea")
    found = await ask("search", query="walrus", thread="T-sea")
    assert [hit["thread"] for hit in found.content["hits"]] == ["T-sea"]
    assert (await ask("search", query="walrus", thread="T-land")).content["hits"] == []
    assert await chunks(mem, "walrus") == ["The walrus swims at dawn."]


async def test_a_file_over_the_limit_is_skipped_and_the_others_are_read(
    opening: Opening, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """2 MB there; here the limit is the operator's, and 100 MiB unless they say otherwise."""
    root = tmp_path_factory.mktemp("srv")
    (root / "small.md").write_text("The walrus swims at dawn.")
    (root / "large.md").touch()
    os.truncate(root / "large.md", TWO_MB + 1)
    async with opening({"ingest.roots": [str(root)], "ingest.max_file": TWO_MB}) as services:
        told = (await asker(services)("ingest", uri=str(root))).content
    assert told["counts"] == {"new": 1, "rejected": 1}
    assert [(each["name"], each["problem"]) for each in told["rejected"]] == [("large.md", "too_large")]
    assert IngestSettings().max_file == 100 * 2**20


async def test_chunks_of_one_repository_are_not_found_in_another(ask: Asking, mem: Mem) -> None:
    await ingest(ask, "The walrus of the pond.", workspace="/home/ann/pond")
    assert await chunks(mem, "walrus", repo="/home/ann/pond") == ["The walrus of the pond."]
    assert await chunks(mem, "walrus", workspace="/home/ann/pond") == ["The walrus of the pond."]
    assert await chunks(mem, "walrus", repo="/home/ann/sea") == []


async def test_the_workspace_default_is_the_one_without_a_name(mem: Mem) -> None:
    await mem("mem_add_memory", title="Walrus", summary="It swims at dawn", workspace="default")
    for more in ({}, {"workspace": "default"}, {"repo": "/home/ann/sea"}):
        found = await mem("mem_get_context", query="walrus", **more)
        assert ([each["title"] for each in found["top_memories"]], found["workspace"]) == (["Walrus"], "default")


async def test_reachability_is_asked_for_with_a_commit_and_else_no_memory_is_an_orphan(ask: Asking, mem: Mem) -> None:
    """There the commit is the one checked out where the server runs; here one server has many callers, so ``context``
    takes it as ``anchor_commit`` (tests/server/tools/test_context.py)."""
    await ask("remember", content="The walrus swims at dawn", anchor_commit="a" * 40)
    (memory,) = (await mem("mem_get_context", query="walrus"))["top_memories"]
    assert memory["anchor_commit"] == "a" * 40
    assert [each["orphaned"] for each in (await mem("mem_explain", query="walrus"))["memories"]] == [False]
