"""mcp-memory-service: its SQLite file. As of the package of this name 12.4.0, schema 19."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.mcp_memory_export import open_export
from vaults.sources.mcp_memory_lines import DEFAULT_STORE, split_tags, to_external_id, to_link_line, to_memory_lines
from vaults.sources.record_fields import (
    parse_json,
    to_fraction,
    to_label,
    to_memories,
)
from vaults.sources.source import (
    SearchPlaces,
    Source,
    SourceReading,
)
from vaults.sources.sqlite_file import Row, SqliteFile
from vaults.sources.sqlite_tables import (
    Fields,
    RowRefused,
    TableReading,
    check_version,
    count_left,
    open_tables,
    require,
)
from vaults.sources.supersessions import Supersessions
from vaults.sources.times import to_rfc3339

KNOWN_VERSION = 19
FILE = "sqlite_vec.db"
MAX_LINKS = 1000

_LEFT = {
    "memory_embeddings_rowids": "embeddings",
    "sync_events": "steps of the sync log",
}


def _to_readings(file: SqliteFile, left: Counter[str]) -> Sequence[TableReading]:
    if not file.has("memories", "content_hash", "content", "memory_type"):
        raise InvalidArgument("PATH", "is an SQLite file, but none of mcp-memory-service")
    for (version,) in file.query("SELECT value FROM metadata WHERE key = 'schema_version'"):
        check_version("mcp-memory-service", version, KNOWN_VERSION)
    count_left(left, file, _LEFT)
    service = _MemoryService(file, left)
    return (
        TableReading("memories", _MEMORY_COLUMNS, service.to_memory),
        TableReading("memory_graph", _GRAPH_COLUMNS, service.to_link),
        TableReading("beliefs", _BELIEF_COLUMNS, service.to_belief),
    )


_MEMORY_COLUMNS = (
    "content_hash", "content", "tags", "memory_type", "metadata", "created_at", "updated_at", "created_at_iso",
    "updated_at_iso", "deleted_at", "store", "confidence", "last_accessed", "superseded_by",
)  # fmt: skip
_GRAPH_COLUMNS = ("source_hash", "target_hash", "relationship_type")
_BELIEF_COLUMNS = (
    "belief_hash", "content", "confidence", "status", "created_at", "updated_at", "derived_from", "contradicted_by",
    "metadata",
)  # fmt: skip
_SUBJECTS = "SELECT target_hash FROM memory_graph WHERE source_hash = ? AND relationship_type = 'has_entity' LIMIT 100"
_SAME_LINK = "SELECT 1 FROM memory_graph WHERE source_hash = ? AND target_hash = ?{}"


class _MemoryService:
    """The tables of one file, row by row."""

    def __init__(self, file: SqliteFile, left: Counter[str]) -> None:
        self._file, self._left = file, left
        self._superseded = Supersessions(file, "memories", "content_hash", "superseded_by")
        self._live = "SELECT 1 FROM memories WHERE content_hash = ?"
        self._live += " AND deleted_at IS NULL" if file.has("memories", "deleted_at") else ""
        self._typed = file.has("memory_graph", "relationship_type")

    def to_memory(self, _: int, row: Row) -> Iterable[Fields]:
        own = row["content_hash"]
        if row["deleted_at"] is not None:
            self._left["deleted memories"] += 1
            return
        names = [to_label(name) for (name,) in self._file.query(_SUBJECTS, (own,))]
        older, newer = self._superseded.older_of(own), self._superseded.newer_of(own)
        if newer is not None and not self._is_live(newer.newer):
            newer = None
        more: Fields = {
            "supersedes": to_external_id(older) if self._is_live(older) else None,
            "subjects": [["mentions", "entity", name] for name in names if name],
        }
        if row["superseded_by"] and not (newer and newer.said):
            more |= {"archived_at": to_rfc3339(row["updated_at"] or row["created_at"]), "archived_reason": "superseded"}
        values = {**row, "tags": split_tags(row["tags"]), "metadata": parse_json(row["metadata"])}
        yield from to_memory_lines({**values, "store": row["store"] or DEFAULT_STORE}, more)
        if newer and not newer.said:
            yield to_link_line(newer.newer, "supersedes", own)

    def _is_live(self, own: Any) -> bool:
        return self._file.first(self._live, (own,)) is not None

    def to_link(self, _: int, row: Row) -> Iterable[Fields]:
        start, end, relation = row["source_hash"], row["target_hash"], row["relationship_type"] or "related"
        if relation == "has_entity":
            return  # stands with the memory
        # Relations without a direction stand there twice.
        same = _SAME_LINK.format(" AND relationship_type = ?" if self._typed else "")
        if start > end and self._file.first(same, (end, start, relation)[: 3 if self._typed else 2]):
            return
        if start != end and self._is_live(start) and self._is_live(end):
            yield to_link_line(start, relation, end)
        else:
            self._left["links to what is gone"] += 1

    def to_belief(self, _: int, row: Row) -> Iterable[Fields]:
        own = require(to_external_id(f"belief:{row['belief_hash']}" if row["belief_hash"] else None))
        metadata = parse_json(row["metadata"])
        reasons, doubts = (self._live_ids(row[name]) for name in ("derived_from", "contradicted_by"))
        links = [[own, "derived_from", each] for each in reasons] + [[each, "contradicts", own] for each in doubts]
        if not str(row["content"] or "").strip():
            raise RowRefused("has no content")
        is_over = row["status"] == "superseded"
        yield from to_memories(
            {
                "external_id": own,
                "content": row["content"],
                "type": "fact",
                "tags": ["belief"],
                "metadata": {**(metadata if isinstance(metadata, dict) else {}), "status": row["status"]},
                "confidence": to_fraction(row["confidence"]),
                "links": links[:MAX_LINKS],
                "created_at": to_rfc3339(row["created_at"]),
                "updated_at": to_rfc3339(row["updated_at"]),
                "archived_at": to_rfc3339(row["updated_at"] or row["created_at"]) if is_over else None,
                "archived_reason": "superseded" if is_over else None,
            }
        )

    def _live_ids(self, hashes: Any) -> list[str | None]:
        found = parse_json(hashes)
        return [to_external_id(each) for each in found if self._is_live(each)] if isinstance(found, list) else []


def _open(path: Path) -> AbstractContextManager[SourceReading]:
    if path.suffix.lower() == ".json":
        return open_export(path)
    if path.is_dir():
        path /= FILE
        if not path.is_file():
            raise InvalidArgument("PATH", f"{path.parent} holds no {FILE}")
    return open_tables([path], _to_readings)


def _find(places: SearchPlaces) -> Iterator[Path]:
    for folder in (Path(".local", "share"), Path("Library", "Application Support")):
        if (path := places.home / folder / "mcp-memory" / FILE).is_file():
            yield path


SOURCE = Source("mcp-memory-service", "mcp-memory-service", "sqlite_vec.db, or a JSON export", _find, _open)
