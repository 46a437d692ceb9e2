"""The reference server for memory: one file of entities and relations, ``memory.jsonl``.

As of @modelcontextprotocol/server-memory 2026.8.31; older ones call the same file ``memory.json``. It has no ids and no
times: the text itself is what identifies an observation, so ids are digests of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaults.errors import InvalidArgument
from vaults.sources.archive_member import UNREADABLE, ArchiveMember, explain
from vaults.sources.archives import open_archive
from vaults.sources.lines import LineReader, LineUnreadable, parse_object, show_line
from vaults.sources.record_fields import clean_text, to_label, to_memories
from vaults.sources.record_ids import digest, to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord

SYSTEM = "mcp-server-memory"
NAMES = ("memory.jsonl", "memory.json")
LINE_BYTES = 64 << 20

_PACKAGE = "node_modules/@modelcontextprotocol/server-memory/dist"
_CONFIGS = (
    ".mcp.json",
    ".config/Claude/claude_desktop_config.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    "AppData/Roaming/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
)
_CONFIG_BYTES = 4 << 20


def _find(places: SearchPlaces) -> Iterable[Path]:
    """Where clients were told to keep it, and where it lies by default: beside the code that npx fetched."""
    configs = [folder / name for folder in (places.current, places.home) for name in _CONFIGS]
    named = [path for config in configs for path in _read_paths(config)]
    fetched = sorted((places.home / ".npm" / "_npx").glob(f"*/{_PACKAGE}/memory.json*"))
    nearby = [places.current / name for name in NAMES]
    found = [path for path in (*named, *fetched, *nearby) if path.is_file() and (path in named or _is_graph(path))]
    return list(dict.fromkeys(found))


def _read_paths(config: Path) -> list[Path]:
    """What a client's settings say of ``MEMORY_FILE_PATH``."""
    try:
        with config.open("rb") as file:
            servers: Any = json.loads(file.read(_CONFIG_BYTES))["mcpServers"].values()
        paths = [(server.get("env") or {}).get("MEMORY_FILE_PATH") for server in servers]
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return []
    return [Path(path) for path in paths if isinstance(path, str) and Path(path).is_absolute()]


def _is_graph(path: Path) -> bool:
    """Whether the first line is one of its: other programs call a file ``memory.json`` too."""
    try:
        with path.open("rb") as file:
            line = LineReader(file, LINE_BYTES).next_line()
        return line is not None and parse_object(line, LINE_BYTES).get("type") in ("entity", "relation")
    except (OSError, LineUnreadable):
        return False


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    with open_archive(path) as archive:
        found = next((each for name in NAMES for each in archive.walk() if each.path == name), None)
        member = found if path.is_dir() else next(archive.walk(), None)
        if member is None:
            raise InvalidArgument("PATH", f"{path} holds no memory.jsonl")
        left: Counter[str] = Counter()
        yield SourceReading(member.size, _read(member, left), left)


def _read(member: ArchiveMember, left: Counter[str]) -> Iterator[SourceItem]:
    reader = None
    try:
        with member.open() as file:
            reader = LineReader(file, LINE_BYTES)
            for line in reader:
                place = f"line {line.number}"
                try:
                    lines = list(_to_lines(parse_object(line, LINE_BYTES), left))
                except LineUnreadable as failure:
                    yield UnreadableRecord(place, failure.reason, reader.position, show_line(line))
                else:
                    yield from (SourceRecord(place, fields, reader.position) for fields in lines)
    except UNREADABLE as failure:
        yield UnreadableRecord(member.path, explain(failure), reader.position if reader else 0)


def _to_lines(item: dict[str, Any], left: Counter[str]) -> Iterator[dict[str, Any]]:
    if item.get("type") == "entity":
        yield from _to_observations(item, left)
    elif item.get("type") == "relation":
        yield _to_statement(item)
    else:
        raise LineUnreadable("is neither an entity nor a relation")


def _to_observations(entity: dict[str, Any], left: Counter[str]) -> Iterator[dict[str, Any]]:
    """A memory for each observation. An entity without any becomes one that says what it is."""
    name = _require(entity.get("name"), "an entity without a name")
    kind = _to_words(entity.get("entityType"))
    listed = entity.get("observations")
    texts = [_to_words(each) for each in (listed if isinstance(listed, list) else [listed or ""])]
    observations = list(dict.fromkeys(text for text in texts if text))
    if repeated := len([text for text in texts if text]) - len(observations):
        left["repeated observations"] += repeated
    for text in observations or [f"{name} ({kind})" if kind else name]:
        fields = {
            "external_id": to_external_id(SYSTEM, to_label(name) or "", digest(name, text)),
            "content": text,
            "type": "observation" if observations else "fact",
            "entity": to_label(name),
            "metadata": {"entity_type": kind, "entity_name": name if to_label(name) != name else None},
        }
        yield from to_memories(fields)


def _to_statement(relation: dict[str, Any]) -> dict[str, Any]:
    """A relation is a sentence about its first entity, and points to the second."""
    ends = _require(relation.get("from"), "a relation without from"), _require(relation.get("to"), "one without to")
    verb = _require(relation.get("relationType"), "a relation without a type")
    return {
        "external_id": to_external_id(SYSTEM, "relation", digest(ends[0], verb, ends[1])),
        "content": f"{ends[0]} {verb} {ends[1]}"[:50_000],
        "type": "fact",
        "entity": to_label(ends[0]),
        "subjects": [[to_label(verb), "entity", ends[1][:1000]]],
    }


def _to_words(value: Any) -> str:
    """A text, also of what other servers write into the same file: a number, or an object with its text."""
    if isinstance(value, dict):
        value = value.get("text") or value.get("content") or json.dumps(value, ensure_ascii=False)
    return clean_text(value).strip() if isinstance(value, str) else "" if value is None else str(value)


def _require(value: Any, what: str) -> str:
    if not (text := _to_words(value)):
        raise LineUnreadable(f"is {what}")
    return text


SOURCE = Source(SYSTEM, "MCP's memory server", "its file memory.jsonl, or the folder of it", _find, _open)
