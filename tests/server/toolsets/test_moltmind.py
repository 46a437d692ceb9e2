"""What MoltMind's README and its own tests show of the core tools, through the HTTP route.

Covers server.toolsets.memories.
"""

from __future__ import annotations

import pytest

from tests.server.toolsets.scripts import ANY, Optional, Step, call, listing, run_script

pytestmark = pytest.mark.asyncio(loop_scope="session")

MEMORY = {
    "id": str, "type": str, "title": str, "content": str, "tags": [str], "metadata": dict, "tier": str,
    "created_at": str, "updated_at": str, "accessed_at": ANY, "access_count": ANY,
}  # fmt: skip
UPDATED = {"id": str, "type": str, "title": str, "content": str, "tags": [str], "tier": str, "updated_at": str}
FOUND = {"id": str, "title": str, "content": str, "type": str, "score": float, "tags": [str], "created_at": str}
HANDOFF = {
    "id": str, "goal": str, "current_state": str, "next_action": str, "constraints": [str], "known_unknowns": [str],
    "artifacts": [str], "stop_conditions": [str], "session_id": str, "created_at": str,
}  # fmt: skip
LINE = Optional(str)
SESSION_HEAD = {
    "id": str, "status": str, "summary": LINE, "goal": LINE, "where_left_off": LINE, "started_at": str,
    "ended_at": LINE,
}  # fmt: skip
SESSION = SESSION_HEAD | {"actions_taken": [str], "outcomes": [str]}
EVENT = {"event_type": str, "summary": str, "created_at": str}
COUNTS = {"tool_calls": int, "errors": int}
RESUMED = {
    "success": True, "sessions": [SESSION | COUNTS | {"activity_log": [EVENT]}],
    "latest_handoff": Optional(HANDOFF), "concurrent_sessions": int, "message": str,
    "recent_activity": [EVENT | {"session_id": str}],
}  # fmt: skip
GONE = {"success": False, "message": "Memory not found"}

DAY = [
    Step("mm_session_resume", {}, RESUMED | {"latest_handoff": None}),
    Step("mm_handoff_load", {}, {"success": False, "message": "No handoff found"}),
    Step(
        "mm_store",
        {
            "title": "API port",
            "content": "Our server runs on port 8080",
            "type": "learning",
            "tags": ["api", "ports"],
            "metadata": {"source": "config.ts"},
        },
        {"success": True, "id": str, "message": "Memory stored: API port"},
        {"id": "id"},
    ),
    Step("mm_store", {"title": "Bare", "content": "only what is required"}, ANY),
    Step("mm_recall", {"query": "port server"}, {"success": True, "results": [FOUND], "count": int}),
    Step("mm_recall", {"query": "port", "limit": 1, "type": "learning", "tier": "hot"},
         {"success": True, "results": [FOUND | {"id": "{id}", "content": "Our server runs on port 8080"}], "count": 1}),
    Step("mm_recall", {"query": "port", "type": "plan"}, {"success": True, "results": [], "count": 0}),
    Step("mm_read", {"id": "{id}"},
         {"success": True, "memory": MEMORY | {"tier": "hot", "tags": ["api", "ports"],
                                               "metadata": {"source": "config.ts"}}}),
    Step("mm_read", {"id": "nonexistent-id"}, GONE),
    Step("mm_update", {"id": "{id}", "title": "Server port", "tier": "warm"},
         {"success": True, "memory": UPDATED | {"title": "Server port", "tier": "warm"}}),
    Step("mm_update", {"id": "{id}"}, {"success": True, "memory": UPDATED | {"title": "Server port"}}),
    Step("mm_update", {"id": "nonexistent-id", "title": "x"}, GONE),
    Step("mm_delete", {"id": "{id}"}, {"success": True, "message": "Memory archived"}),
    Step("mm_read", {"id": "{id}"}, {"success": True, "memory": MEMORY | {"tier": "archived"}}),
    Step("mm_recall", {"query": "port"}, {"success": True, "results": [], "count": 0}),
    Step("mm_delete", {"id": "nonexistent-id"}, GONE),
    Step("mm_handoff_create",
         {"goal": "Ship 0.2", "current_state": "Tests pass", "next_action": "Tag it", "constraints": ["no new deps"],
          "known_unknowns": ["Windows"], "artifacts": ["src/db.ts"], "stop_conditions": ["tag pushed"],
          "claims": ["src/db.ts", "task:refactor"]},
         {"success": True, "handoff": HANDOFF | {"goal": "Ship 0.2", "artifacts": ["src/db.ts"]},
          "claims": [{"resource": str, "success": True}]}),
    Step("mm_handoff_load", {}, {"success": True, "handoff": HANDOFF | {"next_action": "Tag it"}}),
    Step("mm_feedback", {"type": "bug", "message": "it broke", "tool_name": "mm_store"},
         {"success": True, "message": "Feedback recorded. Thank you."}),
    Step("mm_feedback", {"type": "friction", "message": "slow", "tool_name": "of somebody else"}, ANY),
    Step("mm_init", {}, {"success": True, "path": "moltmind", "message": str}),
    Step("mm_status", {},
         {"success": True, "version": str, "tier": "pro", "usage": "Pro: unlimited",
          "db_stats": {"total": 2, "by_type": dict, "by_tier": {"hot": 1, "archived": 1}}, "health_score": float,
          "embedding_model_ready": False, "active_sessions": [{"id": str, "started_at": str}],
          "active_claims": [{"resource": str, "session_id": str, "description": LINE}], "recent_events": [EVENT]}),
    Step("mm_metrics", {},
         {"success": True, "adoption": {"total_sessions": int, "first_seen": str, "last_seen": str},
          "health": {"score": float, "total_tool_calls": int, "total_errors": int, "error_rate_percent": ANY},
          "tool_usage": dict, "top_errors": [{"tool_name": str, "error_count": int}],
          "token_savings": {"sessions_tracked": int, "overhead_tokens": int, "tool_response_tokens": int,
                            "cold_starts_avoided": int, "cold_start_savings": int, "net_savings": int,
                            "savings_percent": int, "mode": "default"}}),
    Step("mm_session_save", {"summary": "Moved the port", "where_left_off": "Tag it"},
         {"success": True, "message": "Session saved",
          "session": SESSION | {"status": "paused", "summary": "Moved the port", "metadata": dict}}),
    Step("mm_session_save",
         {"summary": "Done", "goal": "Ship", "actions_taken": ["edited"], "outcomes": ["works"],
          "status": "completed", "metadata": {"a": 1}},
         {"success": True, "message": "Session completed",
          "session": SESSION | {"status": "completed", "actions_taken": ["edited"], "metadata": {"a": 1}}}),
    Step("mm_session_resume", {"limit": 3},
         RESUMED | {"sessions": [RESUMED["sessions"][0]], "latest_handoff": HANDOFF}),
    Step("mm_session_history", {"status": "completed", "limit": 5},
         {"success": True, "count": int, "sessions": [SESSION_HEAD | COUNTS | {"tools_used": dict}]}),
]  # fmt: skip


async def test_a_day_of_documented_calls(site):
    await run_script(site, "moltmind", DAY)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("mm_store", {"content": "no title"}, "Validation error: title is required"),
        ("mm_store", {"title": "x" * 501, "content": "y"}, "Validation error: title string should have at most 500"),
        ("mm_recall", {"query": "x", "limit": 501}, "Validation error: limit should be less than or equal to 500"),
        ("mm_store", {"title": "x", "content": "y", "type": "essay"}, "Validation error: type should be"),
    ],
)
async def test_bad_input_is_told_as_they_tell_it(site, tool, arguments, message):
    answer = await call(site, "moltmind", tool, arguments)
    assert answer["isError"] is True
    assert answer["structuredContent"]["success"] is False
    assert answer["structuredContent"]["message"].startswith(message)


async def test_actions_are_filled_in_from_the_calls_of_the_session(site):
    await call(site, "moltmind", "mm_recall", {"query": "anything"})
    saved = await call(site, "moltmind", "mm_session_save", {"summary": "looked"})
    assert any(line.startswith("recall: ") for line in saved["structuredContent"]["session"]["actions_taken"])


async def test_a_token_and_a_url_choose_it_and_names_of_its_size_are_taken(site):
    from tests.server.http.serving import raw

    async with raw(site, "preset", "moltmind") as caller:
        answer = await caller.post(caller.message("tools/list"))
        assert {each["name"] for each in answer.json()["result"]["tools"]} >= {"mm_store", "mm_recall"}
        for asked, meant in (("power", "notes"), ("auto", "full")):
            both = [await caller.post(caller.message("tools/list"), query=f"?tools={each}") for each in (asked, meant)]
            assert both[0].json()["result"]["tools"] == both[1].json()["result"]["tools"]
    assert len(await listing(site, "moltmind")) == 14
