"""Mem0: what ``get_all`` returned or the platform exported, OpenMemory's backup, or the history a local Mem0 keeps.

As of mem0ai 2.2.1 and OpenMemory's last version (July 2026). A local Mem0 has its memories in whichever vector store it
was set up with; ``~/.mem0/history.db`` has the text of each beside it, with every earlier version.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from vaults.errors import InvalidArgument
from vaults.sources.archive_member import UNREADABLE, ArchiveMember, explain
from vaults.sources.archives import Archive, open_archive
from vaults.sources.json_stream import stream_members
from vaults.sources.lines import LineReader, LineUnreadable, parse_object, show_line
from vaults.sources.mem0_history import is_history_entry, open_history, read_versions
from vaults.sources.record_fields import to_label, to_memories, to_tags
from vaults.sources.record_ids import to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.times import to_rfc3339

SYSTEM = "mem0"
HISTORY = "history.db"
LINE_BYTES = 4 << 20
MAX_UNPACKED = 16 << 30

_EXPORT = re.compile(r"memor(?:y|ies)\b.*\.json(?:l|l\.gz)?$|mem0.*\.jsonl?$")
_MAX_LISTED = 1_000  # nobody keeps an export in a folder of more

_LISTS = ("", "results", "memories", "data")
_OTHER_LISTS = {
    "relations": "graph relations",
    "status_history": "changes of status",
    "access_controls": "access rules",
}
_DROPPED = frozenset({"hash", "score", "embedding", "vector", "text_lemmatized"})
_USED = frozenset(
    {"id", "memory", "content", "text", "data", "metadata", "categories", "created_at", "updated_at", "user_id",
     "agent_id", "actor_id", "run_id", "session_id", "app_id", "app", "state", "expiration_date", "archived_at",
     "deleted_at", "category_ids"}
)  # fmt: skip


def _find(places: SearchPlaces) -> Iterable[Path]:
    history = places.home / ".mem0" / HISTORY
    return [history] if history.is_file() else []


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    history = path / HISTORY if path.is_dir() else path
    if history.suffix == ".db" and history.exists():
        with open_history(history) as reading:
            yield reading
        return
    with open_archive(path) as archive:
        left: Counter[str] = Counter()
        member = _choose(archive)
        if member is None:
            raise InvalidArgument("PATH", f"{path} holds neither an export of Mem0 nor {HISTORY}")
        read = _read_lines if ".jsonl" in member.name else _read_json
        yield SourceReading(member.size, read(member, left), left)


def _choose(archive: Archive) -> ArchiveMember | None:
    """The file to read: the only one, or one named for memories. OpenMemory's backup has the same ones twice; its lines
    have the names of categories."""
    members = list(islice(archive.walk(), _MAX_LISTED))
    wanted = [each for each in members if len(members) == 1 or _EXPORT.match(each.name)]
    return min(wanted, key=lambda member: (not member.name.endswith(".gz"), member.path), default=None)


def _read_json(member: ArchiveMember, left: Counter[str]) -> Iterator[SourceItem]:
    versions: list[dict[str, Any]] = []
    done = 0
    for _, entry, done in stream_members([member]):
        place = f"{member.name}, entry {entry.number}"
        value = entry.value
        if entry.problem:
            yield UnreadableRecord(place, entry.problem, done)
        elif entry.key in _OTHER_LISTS:
            left[_OTHER_LISTS[entry.key]] += 1
        elif entry.key in _LISTS and isinstance(value, dict) and is_history_entry(value):
            if versions and versions[-1].get("memory_id") != value.get("memory_id"):
                yield from _to_records(place, read_versions(versions, left), done)
                versions = []
            versions.append(value)
        elif entry.key in _LISTS:
            pages = value.get("results") if isinstance(value, dict) else None
            for each in pages if isinstance(pages, list) else [value]:  # several answers of the platform in a list
                yield from _read_memory(each, place, left, done)
    yield from _to_records(member.name, read_versions(versions, left), done)


def _read_lines(member: ArchiveMember, left: Counter[str]) -> Iterator[SourceItem]:
    try:
        with member.open() as packed:
            file = cast(IO[bytes], gzip.GzipFile(fileobj=packed)) if member.name.endswith(".gz") else packed
            reader = LineReader(file, LINE_BYTES)
            for line in reader:
                done = min(packed.tell(), member.size)
                place = f"line {line.number}"
                if reader.position > MAX_UNPACKED:
                    yield UnreadableRecord(place, f"stands behind {MAX_UNPACKED >> 30} GB; nothing more is read", done)
                    return
                try:
                    yield from _read_memory(parse_object(line, LINE_BYTES), place, left, done)
                except LineUnreadable as failure:
                    yield UnreadableRecord(place, failure.reason, done, show_line(line))
    except (*UNREADABLE, zlib.error) as failure:
        yield UnreadableRecord(member.path, explain(failure), member.size)


def _to_records(place: str, lines: Iterable[dict[str, Any]], done: int) -> Iterator[SourceItem]:
    yield from (SourceRecord(place, line, done) for line in lines)


def _read_memory(memory: Any, place: str, left: Counter[str], done: int) -> Iterator[SourceItem]:
    if not isinstance(memory, dict):
        yield UnreadableRecord(place, "is no memory", done)
        return
    own = to_label(memory.get("id"))
    named = (memory.get(name) for name in ("memory", "content", "text", "data"))
    content = next((each for each in named if isinstance(each, str) and each.strip()), None)
    if memory.get("state") == "deleted" or memory.get("deleted_at"):
        left["deleted memories"] += 1
    elif own is None or content is None:
        yield UnreadableRecord(place, "has no id" if own is None else "has no text", done)
    else:
        yield from _to_records(place, to_memories(_to_fields(own, content, memory, left)), done)


def _to_fields(own: str, content: str, memory: dict[str, Any], left: Counter[str]) -> dict[str, Any]:
    metadata = memory.get("metadata")
    rest = {name: value for name, value in memory.items() if name not in _USED | _DROPPED}
    if memory.get("embedding") or memory.get("vector"):
        left["embeddings"] += 1
    created, updated = to_rfc3339(memory.get("created_at")), to_rfc3339(memory.get("updated_at"))
    archived = memory.get("state") in ("archived", "paused") or memory.get("archived_at") is not None
    return {
        "external_id": to_external_id(SYSTEM, own),
        "content": content.strip(),
        "type": "fact",
        "tags": to_tags(memory.get("categories")),
        "entity": to_label(memory.get("user_id")),
        "author": to_label(memory.get("agent_id") or memory.get("actor_id")),
        "thread": to_label(memory.get("run_id") or memory.get("session_id")),
        "workspace": to_label(memory.get("app_id") or memory.get("app")),
        "metadata": (metadata if isinstance(metadata, dict) else {"metadata": metadata}) | rest,
        "created_at": created,
        "updated_at": updated,
        "ttl_days": _count_days(created, to_rfc3339(memory.get("expiration_date"))),
        "archived_at": (to_rfc3339(memory.get("archived_at")) or updated or created) if archived else None,
        "archived_reason": f"{memory.get('state') or 'archived'} in Mem0" if archived else None,
    }


def _count_days(created: str | None, expires: str | None) -> float | None:
    """How long a memory lives from when it was made; None for one that never expires."""
    if created is None or expires is None:
        return None
    days = (datetime.fromisoformat(expires) - datetime.fromisoformat(created)).total_seconds() / 86_400
    return min(max(days, 1e-6), 36_500.0)


SOURCE = Source(SYSTEM, "Mem0", "a JSON export, OpenMemory's backup, or ~/.mem0/history.db", _find, _open)
