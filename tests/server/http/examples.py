"""One valid call of each tool, in an order in which each has what it needs. A note `plan.md` is there."""

from __future__ import annotations

EXAMPLES = (
    ("remember", {"content": "A first memory", "tags": ["a"], "metadata": {"k": 1}, "parent": "p", "ttl_days": 5}),
    ("remember", {"content": "A second memory", "occurred_at": "2026-01-01T00:00:00Z", "confidence": 0.5}),
    ("recall", {"query": "memory"}),
    ("recall", {"query": "memory", "group_by": "parent", "vaults": ["*"]}),
    ("search", {"query": "memory"}),
    ("search", {"query": "memory NOT nothing", "limit": 1, "where": {"k": 1}, "read_dates": True}),
    ("search", {"similar_to": "{0}", "vaults": []}),
    ("explain", {"query": "first memory", "candidates": 5}),
    ("memory_get", {"ids": ["{0}", "gone"]}),
    ("memory_update", {"id": "{0}", "add_tags": ["b"]}),
    ("memory_link", {"from_id": "{0}", "relation": "causes", "to_id": "{1}"}),
    ("memory_list", {"limit": 1}),
    ("memory_supersede", {"id": "{1}", "content": "A better second memory"}),
    ("fetch", {"id": "{0}"}),
    ("fetch", {"refs": ["{0}", "gone"], "max_bytes": 100}),
    ("fetch", {"refs": ["*.md", "{0}"]}),
    ("note_read", {"path": "plan"}),
    ("note_read", {"path": "plan.md", "part": "sections"}),
    ("find_notes", {"where": {"status": "open"}, "has_any": ["a", "b"], "sort_by": "modified"}),
    ("status", {}),
    ("vaults", {"action": "list"}),
    ("vaults", {"action": "info"}),
    ("vaults", {"action": "create", "name": "made-here"}),
    ("vaults", {"action": "archive", "name": "made-here"}),
    ("discover_tools", {"query": "remember something"}),
    ("memory_forget", {"ids": ["{0}"], "reason": "test"}),
)
