"""What nano-brain 2026.1.0 documents of its tools, through the HTTP route; it answers in Markdown."""

from __future__ import annotations

import re

import pytest
import pytest_asyncio

from tests.server.http.serving import raw
from tests.server.toolsets.scripts import call

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOTES = {
    "auth.md": "# Auth\n\nThe auth-token is rotated daily by the gateway.\n",
    "build.md": "# Build\n\nAND OR NOT are words of the build script.\n",
}


async def said(site, tool, **arguments):
    answer = await call(site, "nano-brain", tool, arguments)
    text = answer["content"][0]["text"]
    assert answer["structuredContent"] == {"text": text}
    return answer["isError"], text


@pytest_asyncio.fixture(loop_scope="session", scope="session", autouse=True)
async def notes(site):
    async with raw(site, "writer", "nano-brain") as caller:
        for path, content in NOTES.items():
            answer = await caller.call("note_write", {"path": path, "content": content})
            assert not answer["isError"], answer


async def test_a_day_of_documented_calls(site):
    failed, text = await said(site, "memory_write", content="Chose Redis for caching")
    path = re.fullmatch(r"✅ Written to (\S+\d{4}-\d\d-\d\d\.md)", text)[1]
    assert not failed
    _, text = await said(site, "memory_write", content="Prefer tabs", target="memory")
    assert text == "✅ Written to MEMORY.md"
    _, text = await said(site, "memory_query", query="redis caching", limit=5, minScore=0)
    assert re.search(
        rf"### 1\. .* \(#{re.escape(path)}\)\n\*\*Path:\*\* {re.escape(path)} \| \*\*Score:\*\* [01]\.\d", text
    )
    assert "Chose Redis for caching" in text
    _, text = await said(site, "memory_get", id=f"#{path}")
    assert re.search(r"## .*\d\d:\d\d", text)
    assert "Chose Redis for caching" in text
    _, text = await said(site, "memory_get", id="auth.md", fromLine=3, maxLines=1)
    assert text.strip() == "The auth-token is rotated daily by the gateway."
    _, text = await said(site, "memory_multi_get", pattern="auth.md, nothing.md, build.md")
    assert "### Auth (auth.md)\n\n# Auth" in text
    assert "### Document not found: nothing.md" in text
    _, text = await said(site, "memory_multi_get", pattern="*.md", maxBytes=100)
    assert "Reached maxBytes limit (100)" in text
    _, text = await said(site, "memory_status")
    assert re.search(r"Documents: \d+ \| Chunks: \d+ \| Pending embeddings: \d+", text)
    _, text = await said(site, "memory_update")
    assert "up to date" in text
    _, text = await said(site, "memory_wake_up", limit=5)
    assert text


async def test_names_of_the_newest_version_are_taken(site):
    _, text = await said(site, "memory_write", content="Herons nest in reeds", title="Herons", tags=["birds"])
    ref = text.removeprefix("✅ Written to ")
    _, text = await said(site, "memory_query", query="herons", max_results=1, hypothetical="They live in reeds")
    assert "### 1. Herons" in text
    assert "### 2." not in text
    _, text = await said(site, "memory_get", path="#" + ref.removeprefix("memory/"))
    assert "Herons nest in reeds" in text
    assert (await said(site, "memory_delete", path=ref))[1] == f"✅ Deleted {ref}"
    assert (await said(site, "memory_search", query="herons"))[1] == "No results found."


@pytest.mark.parametrize("query", ["auth-token", "AND OR NOT", "filepath title body"])
async def test_queries_are_literal_text(site, query):
    failed, _ = await said(site, "memory_search", query=query)
    assert not failed


async def test_blank_queries_find_nothing(site):
    assert await said(site, "memory_search", query="  ") == (False, "No results found.")


async def test_a_search_by_meaning_without_a_model_says_what_it_did_instead(site):
    _, text = await said(site, "memory_vsearch", query="rotated gateway")
    assert text.startswith("⚠️  ")
    assert "(#auth.md)" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("memory_get", {"id": "#abc123"}, "Document not found: #abc123"),
        ("memory_get", {}, "Document not found: "),
        ("memory_write", {"content": "x", "target": "weekly"}, 'Invalid target: weekly. Use "daily" or "memory".'),
        ("memory_delete", {"path": "#none"}, "Document not found: #none"),
        ("memory_search", {}, "Validation error: query is required"),
    ],
)
async def test_errors_are_told_as_they_tell_them(site, tool, arguments, message):
    assert await said(site, tool, **arguments) == (True, message)


async def test_what_a_vault_does_not_do_says_who_does(site):
    failed, text = await said(site, "memory_index_codebase", root="/src")
    assert failed
    assert "Codebase indexing is not enabled" in text
