"""A memory of mcp-memory-service as lines, wherever it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from vaults.sources.record_fields import parse_json, to_count, to_fraction, to_label, to_memories, to_tags
from vaults.sources.sqlite_tables import Fields, RowRefused, require
from vaults.sources.times import to_rfc3339

_TYPES = {
    "decision": "architecture tool_choice approach configuration",
    "learning": "insight best_practice anti_pattern gotcha pattern recurring_issue code_smell design_pattern workflow",
    "error": "bug failure exception timeout mistake",
    "plan": "planning sprint_goal backlog_item acceptance_criteria milestone deliverable deadline action_item",
    "preference": "preference_signal",
    "fact": "document reference research finding comparison recommendation source requirement constraint",
    "episodic": "conversation conversation_turn chat_summary",
    "summary": "session minutes retrospective compressed_cluster",
    "observation": "code_edit file_access search command note user_correction tool_outcome status_update feedback",
}
_OURS = {theirs: ours for ours, names in _TYPES.items() for theirs in names.split()}
_USED = frozenset({"agent_id", "access_count", "last_accessed_at", "superseded_by", "conversation_id", "original_hash",
                   "chunk_index"})  # fmt: skip
_UNTAGGED = "untagged"
DEFAULT_STORE = "default"


def to_external_id(own: Any) -> str | None:
    """The external id of what they call by a hash."""
    return to_label(f"mcp-memory-service:{own}") if own else None


def to_memory_lines(row: Mapping[str, Any], more: Fields) -> Iterator[Fields]:
    """``row`` with the columns of memories; ``tags`` and ``metadata`` as values, not as text. Raises ``RowRefused``."""
    if not str(row["content"] or "").strip():
        raise RowRefused("has no content")
    metadata = row["metadata"] if isinstance(row["metadata"], dict) else {}
    kind = str(row["memory_type"] or "").strip().lower()
    kept = {name: value for name, value in metadata.items() if name not in _USED}
    confidence = to_fraction(row.get("confidence"))
    accessed = metadata.get("last_accessed_at") or row.get("last_accessed")
    yield from to_memories(
        {
            "external_id": require(to_external_id(row["content_hash"])),
            "content": row["content"],
            "type": _OURS.get(kind, kind or None),
            "tags": [tag for tag in to_tags(row["tags"]) if tag != _UNTAGGED],
            "metadata": {**kept, **({"original_type": kind} if kind in _OURS else {})},
            "author": to_label(metadata.get("agent_id")),
            "parent": to_external_id(metadata.get("original_hash")) or to_label(metadata.get("conversation_id")),
            "position": to_count(metadata.get("chunk_index")),
            "workspace": to_label(row["store"]) if row["store"] != DEFAULT_STORE else None,
            "confidence": None if confidence == 1 else confidence,  # 1 is what each of them begins with
            "access_count": to_count(metadata.get("access_count")),
            "accessed_at": to_rfc3339(accessed),
            "created_at": to_rfc3339(row["created_at"]) or to_rfc3339(row.get("created_at_iso")),
            "updated_at": to_rfc3339(row["updated_at"]) or to_rfc3339(row.get("updated_at_iso")),
            **more,
        }
    )


def split_tags(text: Any) -> list[Any]:
    """Tags as the column has them: with commas between them, in early versions as JSON."""
    found = parse_json(text) if str(text or "").startswith("[") else None
    return found if isinstance(found, list) else str(text or "").split(",")


def to_link_line(start: Any, relation: Any, end: Any) -> Fields:
    """A link between two memories, by their hashes."""
    name = to_label(relation) or "related"
    return {
        "kind": "link",
        "external_id": require(to_external_id(f"link:{start} {name} {end}")),
        "from": to_external_id(start),
        "relation": name,
        "to": to_external_id(end),
    }
