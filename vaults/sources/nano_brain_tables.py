"""What nano-brain keeps in its databases, row by row. As of 2026.7.13, schema 0 to 9."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import PurePosixPath

from vaults.errors import InvalidArgument
from vaults.sources.nano_brain_texts import to_log_memories, to_session_document
from vaults.sources.record_fields import (
    TITLE,
    cut_text,
    to_count,
    to_fraction,
    to_label,
    to_memories,
    to_tags,
    without_empty,
)
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import Fields, RowRefused, TableReading, check_version, count_left
from vaults.sources.times import to_rfc3339

KNOWN_VERSION = 9
_FACT = "auto:extracted-fact:"
_LEFT = {
    "content_vectors": "embeddings",
    "llm_cache": "cached answers of models",
    "code_symbols": "the code index",
    "symbols": "the code index",
    "file_edges": "the code index",
    "symbol_edges": "the code index",
    "memory_entities": "entities of its graph",
    "memory_edges": "relations of its graph",
    "memory_connections": "connections of documents",
    "search_telemetry": "searches in its log",
}
_TYPES = {"decision": "decision", "preference": "preference", "insight": "learning", "pattern": "learning",
          "learning": "learning", "bug": "error", "error": "error", "plan": "plan"}  # fmt: skip
_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_DOCUMENTS = (
    "id", "collection", "path", "title", "hash", "agent", "created_at", "modified_at", "active", "project_hash",
    "superseded_by", "access_count", "last_accessed_at",
)  # fmt: skip
_CONSOLIDATIONS = ("summary", "insight", "confidence", "created_at")


class NanoBrainRows:
    """Rows of one database after the other. Each indexes the same logs and sessions: what was there before, in another
    of them or as a file, is not said again. ``is_read``: whether a file, by its collection and its path, was read."""

    def __init__(self, is_read: Callable[[str, PurePosixPath], bool]) -> None:
        self._is_read = is_read
        self._seen: set[bytes] = set()

    def to_readings(self, file: SqliteFile, left: Counter[str]) -> Sequence[TableReading]:
        """What is read of a file. Raises ``InvalidArgument`` for files of others."""
        if not file.has("documents", "collection", "path", "hash") or not file.has("content", "hash", "body"):
            raise InvalidArgument("PATH", "is an SQLite file, but none of nano-brain")
        check_version("nano-brain", file.first("PRAGMA user_version"), KNOWN_VERSION)
        count_left(left, file, _LEFT)

        def to_document(_: int, row: Row) -> Iterable[Fields]:
            for fields in self._to_document(file, left, row):
                if self._is_new(fields["external_id"]):
                    yield fields

        return (
            TableReading("documents", _DOCUMENTS, to_document),
            TableReading("consolidations", _CONSOLIDATIONS, self._to_consolidation),
        )

    def _is_new(self, own: str) -> bool:
        digest = hashlib.blake2b(own.encode(), digest_size=8).digest()
        is_new = digest not in self._seen
        self._seen.add(digest)
        return is_new

    def _to_document(self, file: SqliteFile, left: Counter[str], row: Row) -> Iterable[Fields]:
        collection, place = str(row["collection"] or ""), str(row["path"] or "")
        path = PurePosixPath(place.replace("\\", "/"))
        if collection == "codebase" or row["active"] == 0:
            left["indexed code files" if collection == "codebase" else "documents that are gone"] += 1
            return []
        if self._is_read(collection, path):
            return []
        body = file.first("SELECT body FROM content WHERE hash = ?", (row["hash"],))
        if not isinstance(body, str) or not body.strip():
            raise RowRefused("has no text")
        if collection == "sessions":
            found = to_session_document(body, "/".join(path.parts[-2:]))
            return [found] if found else []
        if collection == "memory" and not place.startswith(_FACT):
            return to_log_memories(body, path.stem)
        tags = file.query("SELECT tag FROM document_tags WHERE document_id = ? ORDER BY tag", (row["id"],))
        make = _to_fact if place.startswith(_FACT) else _to_plain_document
        return make(row, body, to_tags([tag for (tag,) in tags]))

    def _to_consolidation(self, _: int, row: Row) -> Iterable[Fields]:
        texts = [cut_text(row[name], 25_000) for name in ("summary", "insight")]
        content = "\n\n".join(text for text in texts if text)
        if not content:
            raise RowRefused("has no text")
        own = to_label(
            f"nano-brain:consolidation:{row['created_at']}:{hashlib.sha256(content.encode()).hexdigest()[:12]}"
        )
        if own and self._is_new(own):
            yield from to_memories(
                {
                    "external_id": own,
                    "content": content,
                    "type": "summary",
                    "confidence": to_fraction(row["confidence"]),
                    "created_at": to_rfc3339(row["created_at"]),
                }
            )


def _to_fact(row: Row, body: str, tags: list[str]) -> Iterable[Fields]:
    """A fact that a model found in a session."""
    category = next((tag.partition(":")[2] for tag in tags if tag.startswith("category:")), "")
    kind = next((ours for word, ours in _TYPES.items() if word in category.lower()), "fact")
    is_over = row["superseded_by"] is not None
    created = to_rfc3339(row["created_at"])
    return to_memories(
        {
            "external_id": to_label(f"nano-brain:fact:{str(row['path']).removeprefix(_FACT)}"),
            "content": body,
            "type": kind,
            "tags": tags,
            "workspace": to_label(row["project_hash"]),
            "access_count": to_count(row["access_count"]),
            "accessed_at": to_rfc3339(row["last_accessed_at"]),
            "created_at": created,
            "updated_at": to_rfc3339(row["modified_at"]),
            "archived_at": (to_rfc3339(row["modified_at"]) or created) if is_over else None,
            "archived_reason": "superseded" if is_over else None,
        }
    )


def _to_plain_document(row: Row, body: str, tags: list[str]) -> Iterable[Fields]:
    """A file of a collection of one's own."""
    ending = PurePosixPath(str(row["path"])).suffix.lower()
    yield without_empty(
        {
            "kind": "document",
            "external_id": to_label(f"nano-brain:{row['collection']}:{row['path']}"),
            "format": "markdown" if ending in _MARKDOWN else "text",
            "title": cut_text(row["title"], TITLE) or cut_text(row["path"], TITLE),
            "uri": cut_text(row["path"], 1000),
            "workspace": to_label(row["project_hash"]),
            "collection": to_label(row["collection"]),
            "author": to_label(row["agent"]),
            "created_at": to_rfc3339(row["created_at"]),
            "modified_at": to_rfc3339(row["modified_at"]),
            "metadata": without_empty({"tags": tags}),
            "parts": [{"text": body}],
        }
    )
