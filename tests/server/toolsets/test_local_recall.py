"""The examples of Local Recall's page on its MCP server, through the HTTP route."""

from __future__ import annotations

import pytest

from tests.server.http.serving import raw
from tests.server.toolsets.scripts import Step, call, run_script

pytestmark = pytest.mark.asyncio(loop_scope="session")

SUBJECT = "API rate limiting configuration"
CONTENT = "# Rate Limiting\n\nThe API uses a token bucket algorithm..."
FOUND = {
    "id": str, "subject": str, "similarity": float, "keywords": [str], "applies_to": str, "occurred_at": str,
    "content": str,
}  # fmt: skip
THOUGHT = {name: shape for name, shape in FOUND.items() if name != "keywords"}
BODY = {name: shape for name, shape in FOUND.items() if name != "similarity"} | {"content_hash": str}

DAY = [
    Step("episodic_create",
         {"subject": SUBJECT, "keywords": ["api", "rate-limit", "throttling"], "applies_to": "area:api",
          "content": CONTENT},
         {"success": True, "id": str, "message": "Episodic memory created successfully"}, {"id": "id"}),
    Step("episodic_get", {"id": "{id}"},
         BODY | {"subject": SUBJECT, "keywords": ["api", "rate-limit", "throttling"], "applies_to": "area:api",
                 "content": CONTENT, "content_hash": "bc5f8dfa9a33aaab"}),
    Step("episodic_search", {"query": "rate limiting api", "scope": "area:api", "limit": 5},
         {"results": [FOUND | {"id": "{id}"}], "total": 1, "tokens_used": 15}),
    Step("episodic_search", {"query": "rate limiting api", "scope": "area:web"},
         {"results": [], "total": 0, "tokens_used": 0}),
    Step("episodic_search", {"query": "rate limiting", "max_tokens": 1}, {"results": [FOUND], "total": 1,
                                                                          "tokens_used": int}),
    Step("thinking_get", {"id": "{id}"}, {"error": {"code": "MEMORY_NOT_FOUND", "message": str}}),
    Step("episodic_get", {"id": "xyz"},
         {"error": {"code": "MEMORY_NOT_FOUND", "message": "Memory with ID xyz not found"}}),
    Step("episodic_create", {"subject": SUBJECT, "keywords": [], "applies_to": "global", "content": CONTENT},
         {"error": {"code": "INVALID_INPUT", "message": str}}),
    Step("episodic_create", {"subject": SUBJECT, "keywords": ["x"], "applies_to": "all", "content": CONTENT},
         {"error": {"code": "INVALID_INPUT",
                    "message": "Validation error: applies_to must be global, file:<path> or area:<name>"}}),
    Step("episodic_create", {"subject": SUBJECT, "keywords": ["x"], "applies_to": "global", "content": "short"},
         {"error": {"code": "INVALID_INPUT", "message": str}}),
]  # fmt: skip


async def test_the_documented_examples(site):
    await run_script(site, "local-recall", DAY)


async def test_thoughts_are_apart(site):
    thought = {"content": "Thought: the flow starts at the gate.\n\nOutput: look there", "type": "thinking"}
    async with raw(site, "writer", "local-recall") as caller:
        kept = (await caller.call("remember", thought))["structuredContent"]["id"]
    found = await call(site, "local-recall", "thinking_search", {"query": "flow gate"})
    assert [set(each) for each in found["structuredContent"]["results"]] == [set(THOUGHT)]
    read = await call(site, "local-recall", "thinking_get", {"id": kept})
    assert set(read["structuredContent"]) == set(BODY) - {"keywords"}
    learned = await call(site, "local-recall", "episodic_search", {"query": "flow gate"})
    assert learned["structuredContent"]["results"] == []
