"""The JSON that mcp-memory-service exports, and that its health check saves of a damaged file. As of 12.4.0."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from vaults.errors import InvalidArgument
from vaults.sources.json_stream import stream_entries
from vaults.sources.mcp_memory_lines import DEFAULT_STORE, split_tags, to_link_line, to_memory_lines
from vaults.sources.record_fields import clean_json, cut_text, parse_json
from vaults.sources.source import SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_tables import Fields, RowRefused
from vaults.sources.times import to_rfc3339


@contextmanager
def open_export(path: Path) -> Iterator[SourceReading]:
    """The memories of an export. Raises ``InvalidArgument`` for other files."""
    try:
        file = path.open("rb")
    except OSError as failure:
        raise InvalidArgument("PATH", f"{path} cannot be read: {failure.strerror}") from failure
    with file:
        items = _read_export(file)
        first = next(items, None)  # says whether this is one
        if not isinstance(first, SourceRecord):
            reason = "holds no memories" if first is None else first.reason
            raise InvalidArgument("PATH", f"is no export of mcp-memory-service: it {reason}")
        yield SourceReading(path.stat().st_size, _chain(first, items))


def _chain(first: SourceItem, rest: Iterator[SourceItem]) -> Iterator[SourceItem]:
    yield first
    yield from rest


def _read_export(file: BinaryIO) -> Iterator[SourceItem]:
    memories = (entry for entry in stream_entries(file) if entry.key in ("", "memories"))
    for number, entry in enumerate(memories, 1):
        place, done = f"memory {number}", file.tell()
        if entry.problem is not None:
            yield UnreadableRecord(place, entry.problem, done)
            continue
        try:
            for fields in _to_exported_lines(entry.value):
                yield SourceRecord(place, fields, done)
        except RowRefused as refused:
            yield UnreadableRecord(place, str(refused), done, cut_text(entry.value, 1000))


def _to_exported_lines(value: Any) -> Iterator[Fields]:
    """A memory of an export, or of what the health check saves of a damaged file."""
    if not isinstance(value, dict):
        raise RowRefused("is no JSON object")
    row: dict[str, Any] = clean_json(value)
    tags, metadata = row.get("tags"), row.get("metadata")
    own = row.get("content_hash") or row.get("hash")
    values = {
        "content_hash": own,
        "content": row.get("content"),
        "memory_type": row.get("memory_type") or row.get("type"),
        "tags": tags if isinstance(tags, list) else split_tags(tags),
        "metadata": metadata if isinstance(metadata, dict) else parse_json(metadata),
        "store": row.get("store") or DEFAULT_STORE,
        **{name: row.get(name) for name in ("created_at", "updated_at", "created_at_iso", "updated_at_iso")},
    }
    newer = values["metadata"].get("superseded_by") if isinstance(values["metadata"], dict) else None
    more: Fields = {}
    if newer:
        more = {
            "archived_at": to_rfc3339(row.get("updated_at") or row.get("created_at")),
            "archived_reason": "superseded",
        }
    yield from to_memory_lines(values, more)
    if isinstance(newer, str) and newer != own:
        yield to_link_line(newer, "supersedes", str(own))
