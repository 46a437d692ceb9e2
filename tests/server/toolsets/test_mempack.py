"""What the documentation of mempack (January 2026) and mem (0.2.46) shows, under both generations of names."""

from __future__ import annotations

import pytest

from tests.server.toolsets.scripts import ANY, Step, call, run_script

pytestmark = pytest.mark.asyncio(loop_scope="session")

BUDGET = {
    "tokenizer": "cl100k_base", "target_total": int, "candidate_total": int, "saved_total": int, "used_total": int,
}  # fmt: skip
REPO = {"repo_id": "mempack", "git_root": ""}
MEMORY = {"id": str, "thread_id": str, "title": str, "summary": str}
PACK = {
    "version": "1.0", "tool": "mem", "repo": REPO, "workspace": "default",
    "search_meta": {"mode": "auto", "mode_used": "bm25", "vector_used": False, "warnings": [str]},
    "state": dict, "state_source": str,
    "matched_threads": [{"thread_id": str, "why": str}], "top_memories": [MEMORY],
    "top_chunks": [{"chunk_id": str, "artifact_id": str, "locator": str, "text": str}],
    "link_trail": [{"from": str, "rel": str, "to": str}], "rules": [str], "budget": BUDGET,
}  # fmt: skip
RANKED = {
    "id": str, "title": str, "bm25": float, "fts_score": float, "fts_rank": int, "vector_score": ANY,
    "vector_rank": int, "rrf_score": float, "recency_bonus": ANY, "thread_bonus": ANY, "safety_penalty": ANY,
    "superseded": False, "orphaned": False, "final_score": float, "included": bool,
}  # fmt: skip
REPORT = {
    "query": str, "repo": REPO, "workspace": "default", "matched_threads": [ANY], "memories": [RANKED], "chunks": [ANY],
    "vector": {"provider": str, "model": str, "enabled": False, "min_similarity": float}, "budget": BUDGET,
}  # fmt: skip
INITIAL = {
    "repo_id": "mempack", "workspace": "default", "memory_count": int, "chunk_count": int, "suggestion": str,
}  # fmt: skip
ADDED = {"id": str, "thread_id": str, "title": str, "anchor_commit": "", "created_at": str}
TOTALS = {"request_count": int, "candidate_tokens": int, "used_tokens": int, "saved_tokens": int}

DAY = [
    Step("mem_get_initial_context", {}, INITIAL | {"has_state": False, "memory_count": 0}, text="*"),
    Step("mempack.add_memory",
         {"thread": "T-auth", "title": "Auth plan", "summary": "Use middleware for auth.", "tags": "auth,decision"},
         ADDED | {"thread_id": "T-auth", "title": "Auth plan"}, {"first": "id"}, text="*"),
    Step("mem_add_memory",
         {"title": "Refresh tokens", "summary": "Refresh tokens rotate in auth.", "tags": "auth",
          "entities": "TokenStore,Session"},
         ADDED | {"thread_id": "T-SESSION", "thread_used": "T-SESSION", "thread_defaulted": True}, {"second": "id"},
         text="*"),
    Step("mem_get_context", {"query": "auth plan"}, PACK),
    Step("mempack.get_context", {"query": "auth plan", "format": "prompt", "budget": 2500}, PACK, text="*"),
    Step("mem_get_context", {"query": "xylophone", "budget": 400, "cluster": True}, PACK | {"top_memories": []}),
    Step("mem_explain", {"query": "auth plan"}, REPORT, text="*"),
    Step("mempack.explain", {"query": "auth"}, REPORT, text="*"),
    Step("mem_update_memory", {"id": "{second}", "tags_add": "session", "entities_remove": "Session",
                               "summary": "Refresh tokens rotate daily."},
         {"id": "{second}", "thread_id": "T-SESSION", "title": "Refresh tokens",
          "summary": "Refresh tokens rotate daily.", "operation_at": str}, text="*"),
    Step("mem_link_memories", {"from_id": "{second}", "rel": "depends_on", "to_id": "{first}"},
         {"from_id": "{second}", "rel": "depends_on", "to_id": "{first}", "weight": 1, "created_at": str,
          "created": True, "status": "linked"}, text="*"),
    Step("mem_link_memories", {"from_id": "{second}", "rel": "depends_on", "to_id": "{first}"},
         {"from_id": "{second}", "rel": "depends_on", "to_id": "{first}", "weight": 1, "created_at": str,
          "created": False, "status": "exists"}, text="*"),
    Step("mempack.checkpoint", {"reason": "Auth drafted", "state_json": '{"phase": "draft"}'},
         {"state_id": str, "workspace": "default", "reason": "Auth drafted"}, text="*"),
    Step("mem_checkpoint", {"reason": "Auth done", "state_json": '{"phase": "done"}', "thread": "T-auth"},
         {"state_id": str, "workspace": "default", "reason": "Auth done", "memory_id": str, "thread_used": "T-auth",
          "thread_defaulted": False}, text="*"),
    Step("mem_get_initial_context", {},
         INITIAL | {"has_state": True, "memory_count": 3, "state_summary": str, "recent_threads": [str]}, text="*"),
    Step("mem_usage", {}, {"scope": "repo", "repo_id": "mempack", "repo": TOTALS, "overall": TOTALS}, text="*"),
    Step("mem_usage", {"me": True}, {"scope": "profile", "overall": TOTALS}, text="*"),
]  # fmt: skip


async def test_a_day_of_documented_calls(site):
    await run_script(site, "mempack", DAY)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("mem_get_context", {}, "Validation error: query is required"),
        ("mem_get_context", {"query": "x", "format": "xml"}, "Validation error: format should be 'json' or 'prompt'"),
        ("mem_get_context", {"query": "x", "budget": -1}, "budget must be >= 0"),
        ("mem_add_memory", {"title": " "}, "missing title"),
        ("mem_update_memory", {"id": "x"}, "no update fields provided"),
        ("mem_link_memories", {"from_id": "a", "rel": "is", "to_id": "a"}, "from_id and to_id must differ"),
        ("mem_link_memories", {"from_id": "a", "rel": "is", "to_id": "b"}, "from memory not found: a"),
        ("mem_checkpoint", {"reason": "x", "state_json": "{"}, "state_json must be valid JSON"),
        ("mem_checkpoint", {"reason": "x", "state_json": "[1]"}, "state_json must be a JSON object"),
        ("mem_usage", {"me": True, "repo": "x"}, "cannot combine me with repo"),
    ],
)
async def test_errors_are_told_as_they_tell_them(site, tool, arguments, message):
    answer = await call(site, "mempack", tool, arguments)
    assert (answer["isError"], answer["content"][0]["text"]) == (True, message)


async def test_a_repository_there_is_a_workspace_here(site):
    added = {"title": "Only there", "summary": "A kingfisher lives there", "repo": "/home/ann/pond"}
    assert not (await call(site, "mempack", "mem_add_memory", added))["isError"]
    for place, count in (("/home/ann/pond", 1), ("/home/ann/sea", 0)):
        pack = await call(site, "mempack", "mem_get_context", {"query": "kingfisher", "repo": place})
        assert len(pack["structuredContent"]["top_memories"]) == count
