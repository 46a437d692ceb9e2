"""A memory of mempack as lines, wherever it was found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from vaults.memory_types import MEMORY_TYPES
from vaults.sources.record_fields import to_label, to_memories, to_tags
from vaults.sources.sqlite_file import Row
from vaults.sources.sqlite_tables import Fields, RowRefused, require
from vaults.sources.times import to_rfc3339

DEFAULT_WORKSPACE = "default"
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def to_external_id(repo: Any, own: Any) -> str | None:
    """An id as it is unique: some ids of theirs, as of the first memory, are the same in each repository."""
    return to_label(f"mempack:{repo}/{own}") if own else None


def to_memory_lines(
    row: Row, tags: Any, entities: Any, root: str | None, more: Fields | None = None
) -> Iterator[Fields]:
    """``row`` with id, repo_id, workspace, thread_id, title, summary, anchor_commit and created_at. ``root``: folder of
    the repository. Raises ``RowRefused``."""
    labels, names = to_tags(tags), to_tags(entities)
    commit = str(row["anchor_commit"] or "").lower()
    is_whole = _COMMIT.fullmatch(commit) is not None
    content = row["summary"] if str(row["summary"] or "").strip() else row["title"]
    if not str(content or "").strip():
        raise RowRefused("has neither summary nor title")
    place = row["workspace"] if row["workspace"] != DEFAULT_WORKSPACE else None
    yield from to_memories(
        {
            "external_id": require(to_external_id(row["repo_id"], row["id"])),
            "content": content,
            "title": row["title"],
            "type": _to_type(row["title"], labels),
            "tags": labels,
            "entity": names[0] if len(names) == 1 else None,
            "subjects": [["mentions", "entity", name] for name in names],
            "workspace": to_label(root),
            "thread": to_label(row["thread_id"]),
            "anchor_commit": commit if is_whole else None,
            "metadata": {"workspace": place, "anchor_commit": None if is_whole else row["anchor_commit"]},
            "created_at": to_rfc3339(row["created_at"]),
            **(more or {}),
        }
    )


def _to_type(title: Any, tags: list[str]) -> str:
    """There are no types there: a tag may be the name of one of ours, what sums up a session is a summary."""
    named = next((tag.lower() for tag in tags if tag.lower() in MEMORY_TYPES), None)
    return named or ("summary" if "session" in tags or title == "Checkpoint" else "fact")
