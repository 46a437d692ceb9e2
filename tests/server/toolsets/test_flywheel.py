"""What Flywheel's documentation shows of its tools (2.12), through the HTTP route: notes, memory under keys, and the
tools that are ours under other names.

Covers server.toolsets.flywheel_memory, server.toolsets.flywheel_notes and server.toolsets.flywheel_upkeep.
"""

from __future__ import annotations

import pytest

from tests.server.toolsets.scripts import ANY, Optional, Step, call, run_script

pytestmark = pytest.mark.asyncio(loop_scope="session")

FAILURE = {"success": False, "error": str, "message": str}
CHANGED = {"success": True, "message": str, "path": str, "contentHash": str, "undoAvailable": True}
LINE = {"path": str, "title": str, "modified": str, "created": str, "tags": [str], "frontmatter": dict}
TASK = {"path": str, "line": int, "text": str, "status": str, "context": str, "tags": [str]}
FACT = {
    "key": str, "value": str, "type": str, "entity": Optional(str), "confidence": float, "visibility": str,
    "owner_scope": str,
}  # fmt: skip
TASK_COUNTS = {"open_count": int, "completed_count": int, "cancelled_count": int}
NOTE = "# Alpha\n\nOwned by [[Sarah]].\n\n## Log\n\n- begun\n\n## Tasks\n\n- [ ] Write plan\n"


def failure(words: str) -> dict[str, object]:
    return FAILURE | {"error": words, "message": words}


NOTES = [
    Step("note", {"action": "create", "path": "projects/alpha.md", "content": NOTE,
                  "frontmatter": {"type": "project", "status": "active"}, "skipWikilinks": True}, CHANGED),
    Step("note", {"action": "create", "path": "people/Sarah.md", "content": "# Sarah\n\nLeads alpha.\n"}, CHANGED),
    Step("note", {"action": "create", "path": "projects/alpha.md", "content": "again"},
         FAILURE | {"code": "FILE_EXISTS"}, is_error=True),
    Step("read", {"action": "structure", "path": "projects/alpha.md"},
         {"path": "projects/alpha.md", "title": "Alpha", "sections": [{"heading": str, "level": int, "line": int}],
          "line_count": int, "frontmatter": {"type": "project", "status": "active"}, "tags": [], "aliases": [],
          "content": str, "truncated": False, "returned_chars": int}),
    Step("read", {"action": "section", "path": "projects/alpha.md", "heading": "Log"},
         {"path": "projects/alpha.md", "heading": "Log", "level": 2, "content": "- begun", "truncated": False}),
    Step("read", {"action": "sections", "path": "projects/alpha.md", "pattern": "^(Log|Tasks)$"},
         {"pattern": "^(Log|Tasks)$", "total_count": 2, "returned_count": 2,
          "sections": [{"path": str, "heading": str, "level": 2, "line": int, "content": str}]}),
    Step("read", {"action": "raw", "path": "projects/alpha.md"},
         {"path": "projects/alpha.md", "rawContent": str, "content_hash": str, "length": int},
         {"hash": "content_hash"}),
    Step("edit_section", {"action": "add", "path": "projects/alpha.md", "section": "Log", "content": "shipped",
                          "format": "timestamp-bullet", "skipWikilinks": True}, CHANGED),
    Step("edit_section", {"action": "replace", "path": "projects/alpha.md", "section": "Log", "search": "shipped",
                          "replacement": "released"}, CHANGED),
    Step("edit_section", {"action": "remove", "path": "projects/alpha.md", "section": "Log", "pattern": "- begun",
                          "dry_run": True},
         {"success": True, "message": str, "path": str, "preview": str, "dryRun": True, "contentHash": ANY}),
    Step("note", {"action": "create", "path": "projects/alpha.md", "content": "x", "overwrite": True,
                  "expectedHash": "{hash}"}, FAILURE | {"code": "WRITE_CONFLICT"}, is_error=True),
    Step("vault_update_frontmatter", {"path": "projects/alpha.md", "frontmatter": {"status": "done"}}, CHANGED),
    Step("vault_add_task", {"path": "projects/alpha.md", "section": "Tasks", "task": "Call Sarah"}, CHANGED),
    Step("tasks", {"path": "projects/alpha.md"},
         TASK_COUNTS | {"path": "projects/alpha.md", "total_count": 2, "open_count": 2, "returned_count": 2,
                        "tasks": [TASK | {"status": "open"}]}),
    Step("tasks", {"action": "toggle", "path": "projects/alpha.md", "task": "Write plan"}, CHANGED),
    Step("tasks", {"status": "completed", "limit": 5},
         TASK_COUNTS | {"total_count": 2, "completed_count": 1, "returned_count": 1,
                        "tasks": [TASK | {"text": "Write plan", "status": "completed"}]}),
    Step("find_notes", {"folder": "projects", "where": {"type": "project"}},
         {"total_matches": 1, "returned": 1, "notes": [LINE | {"path": "projects/alpha.md"}]}),
    Step("search", {"query": "alpha", "limit": 3},
         {"method": "fts5", "query": "alpha", "total_results": int, "results": ANY}),
    Step("search", {"modified_after": "2020-01-01"}, {"total_matches": int, "returned": int, "notes": [LINE]}),
    Step("search", {"action": "similar", "path": "projects/alpha.md"},
         {"source": "projects/alpha.md", "method": str, "count": int, "similar": ANY}),
    Step("search", {"query": "Sar", "prefix": True}, {"query": "Sar", "count": int, "entities": ANY}),
    Step("graph", {"action": "backlinks", "path": "people/Sarah.md"}, ANY),
    Step("graph", {"action": "path", "from": "projects/alpha.md", "to": "people/Sarah.md"}, ANY),
    Step("graph", {"action": "neighbors", "path_a": "projects/alpha.md", "path_b": "people/Sarah.md"},
         {"path_a": str, "path_b": str, "common_neighbors": ANY, "count": int}),
    Step("graph", {"action": "export", "format": "graphml", "max_nodes": 50}, ANY),
    Step("graph", {"action": "analyse", "analysis": "hubs"}, ANY),
    Step("link", {"action": "suggest", "text": "Sarah wrote"}, ANY),
    Step("link", {"action": "validate"}, ANY),
    Step("link", {"action": "dashboard"}, ANY),
    Step("entity", {"action": "list", "limit": 5}, ANY),
    Step("entity", {"action": "alias", "entity": "people/Sarah.md", "alias": "Sally"}, ANY),
    Step("schema", {"action": "overview"}, ANY),
    Step("schema", {"action": "rename_field", "old_name": "status", "new_name": "state"}, ANY),
    Step("schema", {"action": "migrate", "field": "status", "from_value": "done", "to_value": "closed"}, ANY),
    Step("insights", {"action": "growth", "period": "year"}, ANY),
    Step("insights", {"action": "staleness", "threshold_days": 30}, ANY),
    Step("correct", {"action": "record", "path": "projects/alpha.md", "entity": "Sarah", "note": "she moved on"},
         {"recorded": True, "correction": dict}, {"correction": "correction.id"}),
    Step("correct", {"action": "list"}, {"corrections": [dict], "count": 1}),
    Step("correct", {"action": "resolve", "correction_id": "{correction}"}, {"resolved": True, "correction": dict}),
    Step("note", {"action": "rename", "path": "projects/alpha.md", "new_name": "omega"},
         CHANGED | {"path": "projects/omega.md", "updatedBacklinks": int}),
    Step("correct", {"action": "undo"}, ANY),
    Step("note", {"action": "delete", "path": "people/Sarah.md"}, FAILURE, is_error=True),
    Step("note", {"action": "delete", "path": "people/Sarah.md", "confirm": True}, ANY),
    Step("policy", {"action": "list"}, ANY),
    Step("policy", {"action": "author", "name": "x"}, FAILURE, is_error=True),
    Step("link", {"action": "snapshot_diff"}, FAILURE | {"code": "NOT_FOUND"}, is_error=True),
    Step("init_semantic", {}, ANY),
    Step("discover_tools", {"query": "find broken links"}, {"query": str, "tools": ANY, "hint": str}),
    Step("read", {"action": "raw", "path": "projects/none.md"},
         FAILURE | {"code": "NOT_FOUND"}, is_error=True),
    Step("search", {}, FAILURE, is_error=True),
]  # fmt: skip


async def test_a_day_with_notes(site):
    await run_script(site, "flywheel", NOTES)


MEMORY = [
    Step("memory", {"action": "store", "key": "user.pref.theme", "value": "dark", "type": "preference",
                    "entity": "Sarah", "confidence": 0.9},
         {"stored": True, "memory": FACT | {"key": "user.pref.theme", "value": "dark", "visibility": "shared",
                                            "owner_scope": "global", "entities_detected": ["Sarah"]}}),
    Step("memory", {"action": "store", "key": "user.pref.theme", "value": "light", "type": "preference"},
         {"stored": True, "memory": FACT | {"value": "light", "entities_detected": [str]}}),
    Step("memory", {"action": "get", "key": "user.pref.theme"},
         {"found": True, "memory": FACT | {"value": "light", "entities": [str], "created_at": str, "updated_at": str}}),
    Step("memory", {"action": "get", "key": "user.pref"}, {"found": False, "key": "user.pref"}),
    Step("memory", {"action": "store", "key": "user.pref.theme", "value": "mine", "type": "preference",
                    "agent_id": "cursor"},
         {"stored": True, "memory": FACT | {"visibility": "private", "owner_scope": "cursor",
                                            "entities_detected": []}}),
    Step("memory", {"action": "get", "key": "user.pref.theme", "agent_id": "cursor"},
         {"found": True, "memory": FACT | {"value": "mine", "entities": [], "created_at": str, "updated_at": str}}),
    Step("memory", {"action": "store", "key": "project.x.deadline", "value": "Friday noon", "type": "fact",
                    "thread_id": "T1", "ttl_days": 30},
         {"stored": True, "memory": FACT | {"thread_id": "T1", "entities_detected": []}}),
    Step("memory", {"action": "search", "query": "friday noon"},
         {"results": [FACT | {"key": "project.x.deadline", "updated_at": str}], "count": 1}),
    Step("memory", {"action": "list", "type": "preference"}, {"memories": [FACT | {"updated_at": str}], "count": 2}),
    Step("memory", {"action": "supersede", "thread_id": "T1", "reason": "shipped"},
         {"superseded_count": 1, "superseded": [{"id": str, "key": "project.x.deadline", "owner_scope": "global"}],
          "already_superseded": 0}),
    Step("memory", {"action": "get", "key": "project.x.deadline"}, {"found": False, "key": "project.x.deadline"}),
    Step("memory", {"action": "unsupersede", "thread_id": "T1"},
         {"restored_count": 1, "restored": [ANY], "skipped": 0}),
    Step("memory", {"action": "get", "key": "project.x.deadline"}, {"found": True, "memory": ANY}),
    Step("memory", {"action": "forget", "key": "project.x.deadline"},
         {"forgotten": True, "key": "project.x.deadline"}),
    Step("memory", {"action": "forget", "key": "project.x.deadline"},
         {"forgotten": False, "key": "project.x.deadline"}),
    Step("memory", {"action": "store", "key": "project.x.deadline", "value": "Monday", "type": "fact"},
         {"stored": True, "memory": FACT | {"value": "Monday", "entities_detected": [], "thread_id": "T1"}}),
    Step("memory", {"action": "get", "key": "project.x.deadline"}, {"found": True, "memory": ANY}),
    Step("memory", {"action": "summarize_session", "summary": "Moved the deadline", "topics": ["x"]},
         {"stored": True, "session_id": str, "summary_length": 18}),
    Step("memory", {"action": "store", "key": "x"}, failure("store requires key, value, and type"),
         is_error=True),
    Step("memory", {"action": "store", "key": "x", "value": "y" * 2001, "type": "fact"},
         failure("value must be 2000 chars or less"), is_error=True),
]  # fmt: skip


async def test_memory_under_keys(site):
    await run_script(site, "flywheel", MEMORY)
    brief = await call(site, "flywheel", "memory", {"action": "brief", "max_tokens": 500}, role="reader")
    assert brief["structuredContent"]["_meta"]["total_estimated_tokens"] <= 500


async def test_a_key_is_one_memory_however_often_it_is_stored(site):
    for value in ("one", "two", "three"):
        await call(site, "flywheel", "memory", {"action": "store", "key": "k.v", "value": value, "type": "fact"})
    listed = await call(site, "flywheel", "memory", {"action": "list", "type": "fact"})
    assert [each["value"] for each in listed["structuredContent"]["memories"] if each["key"] == "k.v"] == ["three"]


async def test_the_server_is_looked_after_by_admins(site):
    for tool, arguments in (("doctor", {"action": "stats"}), ("refresh_index", {})):
        assert "structuredContent" not in await call(site, "flywheel", tool, arguments, role="writer")
        assert not (await call(site, "flywheel", tool, arguments, role="admin"))["isError"]
    answer = await call(site, "flywheel", "doctor", {"action": "config", "mode": "set"}, role="admin")
    assert "whoever runs the server" in answer["structuredContent"]["error"]


async def test_an_underlined_heading_is_no_part_of_its_section(site):
    content = "Tides\n=====\n\nHigh at six.\n\nDepths\n------\n\nTen metres.\n"
    await call(site, "flywheel", "note", {"action": "create", "path": "underlined.md", "content": content})
    answer = await call(site, "flywheel", "read", {"action": "section", "path": "underlined.md", "heading": "Depths"})
    found = answer["structuredContent"]
    assert (found["heading"], found["level"], found["content"]) == ("Depths", 2, "Ten metres.")
