"""The history Mem0 keeps of its memories: what each said before, and what it says now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.record_fields import to_label, to_memories
from vaults.sources.record_ids import to_external_id
from vaults.sources.source import SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_file import SqliteFile, open_sqlite
from vaults.sources.times import to_rfc3339

SYSTEM = "mem0"
_COLUMNS = ("id", "memory_id", "new_memory", "event", "created_at", "updated_at", "is_deleted", "actor_id", "role")


def is_history_entry(value: dict[str, Any]) -> bool:
    """Whether an object is one of the history, as ``history`` returns them."""
    return "memory_id" in value and "event" in value


@contextmanager
def open_history(path: Path) -> Iterator[SourceReading]:
    """The history of a local Mem0. Raises ``InvalidArgument``."""
    with open_sqlite(path) as file:
        if not file.has("history", "memory_id", "new_memory"):
            raise InvalidArgument("PATH", f"{path} is no history of Mem0")
        left: Counter[str] = Counter()
        if messages := file.count("messages"):
            left["recent messages kept for context"] = messages
        yield SourceReading(file.count("history"), _read(file, left), left)


def _read(file: SqliteFile, left: Counter[str]) -> Iterator[SourceItem]:
    known = file.columns("history")
    wanted = ", ".join(name if name in known else f"NULL AS {name}" for name in _COLUMNS)
    versions: list[dict[str, Any]] = []
    done = 0
    # Rows are written in the order of time; those of one memory have to come together.
    for values in file.query(f"SELECT {wanted} FROM history ORDER BY memory_id, rowid"):
        row = dict(zip(_COLUMNS, values, strict=True))
        if versions and versions[-1]["memory_id"] != row["memory_id"]:
            for line in read_versions(versions, left):
                yield SourceRecord(f"history of {versions[-1]['memory_id']}", line, done)
            versions = []
        versions.append(row)
        done += 1
    for line in read_versions(versions, left):
        yield SourceRecord(f"history of {versions[-1]['memory_id']}", line, done)
    if missing := file.count("history") - done:
        yield UnreadableRecord("history", f"{missing} of its rows cannot be read", done)
    elif file.has_changed():
        yield UnreadableRecord("history", "was written to while it was read; import it once more", done)


def read_versions(entries: Sequence[dict[str, Any]], left: Counter[str]) -> Iterator[dict[str, Any]]:
    """The lines of one memory: each earlier text, archived, and the last one under the memory's own id. Nothing of one
    that was deleted."""
    own = to_label(entries[0].get("memory_id")) if entries else None
    if own is None:
        return
    if entries[-1].get("event") == "ADD":  # newest first
        entries = entries[::-1]
    if entries[-1].get("event") == "DELETE" or entries[-1].get("is_deleted"):
        left["deleted memories"] += 1
        return
    texts = [each for each in entries if isinstance(each.get("new_memory"), str) and each["new_memory"].strip()]
    created = to_rfc3339(entries[0].get("created_at"))
    before: str | None = None
    for entry, later in zip(texts, [*texts[1:], None], strict=True):
        external_id = to_external_id(SYSTEM, own, *([to_label(entry.get("id")) or "earlier"] if later else []))
        at = to_rfc3339(entry.get("updated_at")) or to_rfc3339(entry.get("created_at"))
        fields = {
            "external_id": external_id,
            "content": entry["new_memory"].strip(),
            "type": "fact",
            "author": to_label(entry.get("actor_id")),
            "metadata": {"role": entry.get("role")},
            "created_at": at if before else created or at,
            "supersedes": before,
            # Superseded it is anyway, once the next line is in; archived also if that one is refused.
            "archived_at": (to_rfc3339(later.get("updated_at")) or at) if later else None,
            "archived_reason": "changed in Mem0" if later else None,
            # An export of the same memory says more: whom it is of, and its metadata.
            "partial": None if later else True,
        }
        yield from to_memories(fields)
        before = external_id
