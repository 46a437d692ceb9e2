"""Local Recall: a folder ``local-recall`` in a project. As of version 0.1.12 (December 2025).

Until 0.1.4 each memory was a Markdown file; since then they are lines of JSON that add, delete and embed. A migration
that could not delete its Markdown leaves both: the lines count then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from vaults.errors import InvalidArgument
from vaults.markdown.encoding import NotText
from vaults.markdown.frontmatter.parser import find_body_start, parse_frontmatter
from vaults.sources.archive_member import UNREADABLE, ArchiveMember, explain
from vaults.sources.archives import open_archive
from vaults.sources.lines import LineReader, LineUnreadable, RawLine, parse_object, show_line
from vaults.sources.markdown import decode_text
from vaults.sources.record_fields import clean_text, to_label, to_memories, to_tags
from vaults.sources.record_ids import to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.times import to_rfc3339

FOLDER = "local-recall"
LINE_BYTES = 4 << 20

_NOTES = re.compile(r"(?:^|/)(episodic|thinking)-memory/[^/]+\.md$")
_LINES = re.compile(r"(?:^|/)(episodic|thinking)(?:-\d+)?\.jsonl$")
_SCOPE = re.compile(r"global|(?:file|area):\S.{0,480}")
_OTHERS = (
    (re.compile(r"(?:^|/)orama-[^/]*\.json$|(?:^|/)index\.json$"), "search indexes"),
    (re.compile(r"processed-log\.jsonl$"), "logs of transcripts read"),
    (re.compile(r"(?:^|/)transcripts/"), "copies of Claude's transcripts"),
)
_EMBEDDING = re.compile(rb'\s*\{\s*"action"\s*:\s*"embedding"')

_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class _Store:
    """Files of a folder, in order, and what had to be known before reading them. ``deleted``: until which line an id
    is deleted. ``in_lines``: time and hash of each memory that is in lines, where there is Markdown as well."""

    notes: list[ArchiveMember] = field(default_factory=list)
    lines: list[ArchiveMember] = field(default_factory=list)
    deleted: dict[str, int] = field(default_factory=dict)
    in_lines: set[_Key] = field(default_factory=set)
    left: Counter[str] = field(default_factory=Counter)


def _find(places: SearchPlaces) -> Iterable[Path]:
    folder = places.current / FOLDER
    return [folder] if any((folder / f"{kind}-memory").is_dir() for kind in ("episodic", "thinking")) else []


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    inside = path / FOLDER
    with open_archive(inside if inside.is_dir() else path) as archive:
        store = _Store()
        for member in archive.walk():
            _sort_in(store, member)
        if not store.notes and not store.lines:
            raise InvalidArgument("PATH", f"{path} holds no memories of Local Recall")
        total = sum(member.size for member in (*store.notes, *store.lines))
        yield SourceReading(total, _read(store), store.left)


def _sort_in(store: _Store, member: ArchiveMember) -> None:
    if _NOTES.search(member.path):
        store.notes.append(member)
    elif _LINES.search(member.path):
        store.lines.append(member)
    elif kind := next((kind for pattern, kind in _OTHERS if pattern.search(member.path)), None):
        store.left[kind] += 1


def _read(store: _Store) -> Iterator[SourceItem]:
    _look_ahead(store)
    done = 0
    for member in store.notes:
        done += member.size
        yield from _read_note(store, member, done)
    order = 0
    for member in store.lines:
        try:
            with member.open() as file:
                reader = LineReader(file, LINE_BYTES)
                for line in reader:
                    order += 1
                    yield from _read_line(store, member, line, order, done + reader.position)
        except UNREADABLE as failure:
            yield UnreadableRecord(member.path, explain(failure), done)
        done += member.size


def _look_ahead(store: _Store) -> None:
    """Learn what later lines delete. What cannot be read is said when it is read."""
    order = 0
    for member in store.lines:
        try:
            with member.open() as file:
                for line in LineReader(file, LINE_BYTES):
                    order += 1
                    _note_line(store, line, order)
        except UNREADABLE:
            continue


def _note_line(store: _Store, line: RawLine, order: int) -> None:
    if line.raw is None or _EMBEDDING.match(line.raw):
        return
    try:
        entry = parse_object(line, LINE_BYTES)
    except LineUnreadable:
        return
    if entry.get("action") == "delete":
        store.deleted[str(entry.get("id"))] = order
    elif store.notes:
        store.in_lines.add(_key(entry))


def _key(entry: dict[str, Any]) -> _Key:
    """What Local Recall takes for the same memory."""
    return str(to_rfc3339(entry.get("occurred_at"))), str(entry.get("content_hash"))


def _read_line(store: _Store, member: ArchiveMember, line: RawLine, order: int, done: int) -> Iterator[SourceItem]:
    place = f"{member.path}, line {line.number}"
    if line.raw is not None and _EMBEDDING.match(line.raw):
        store.left["embeddings"] += 1
        return
    try:
        entry = parse_object(line, LINE_BYTES)
    except LineUnreadable as failure:
        yield UnreadableRecord(place, failure.reason, done, show_line(line))
        return
    if entry.get("action", "add") != "add":
        return
    if store.deleted.get(str(entry.get("id")), 0) > order:
        store.left["deleted memories"] += 1
        return
    yield from _to_records(_kind_of(_LINES, member), entry, place, done)


def _read_note(store: _Store, member: ArchiveMember, done: int) -> Iterator[SourceItem]:
    try:
        text = decode_text(member.read(LINE_BYTES))
    except NotText as failure:
        yield UnreadableRecord(member.path, failure.reason, done)
        return
    except UNREADABLE as failure:
        yield UnreadableRecord(member.path, explain(failure), done)
        return
    text = text.replace("\r\n", "\n")
    start = find_body_start(text, f"\n{text}\n")
    frontmatter = parse_frontmatter(text[:start])
    if not start or (frontmatter.error and not frontmatter.values):
        reason = "has no frontmatter" if not start else f"has frontmatter that cannot be read: {frontmatter.error}"
        yield UnreadableRecord(member.path, reason, done)
        return
    entry = {"id": member.name.removesuffix(".md"), **frontmatter.values, "content": text[start:]}
    if _key(entry) in store.in_lines:
        store.left["Markdown of memories that are in lines"] += 1
        return
    yield from _to_records(_kind_of(_NOTES, member), entry, member.path, done)


def _kind_of(pattern: re.Pattern[str], member: ArchiveMember) -> str:
    found = pattern.search(member.path)
    return found[1] if found else "episodic"


def _to_records(kind: str, entry: dict[str, Any], place: str, done: int) -> Iterator[SourceItem]:
    own, content = to_label(entry.get("id")), entry.get("content")
    if own is None or not isinstance(content, str) or not content.strip():
        yield UnreadableRecord(place, "has no id" if own is None else "has no content", done)
        return
    scope = str(entry.get("applies_to") or "global")
    occurred = to_rfc3339(entry.get("occurred_at"))
    fields = {
        "external_id": to_external_id(FOLDER, own),
        "content": clean_text(content).strip(),
        "title": to_label(entry.get("subject")),
        "type": kind,
        "keywords": to_tags(entry.get("keywords")),
        "applies_to": scope if _SCOPE.fullmatch(scope) else None,
        "metadata": {} if _SCOPE.fullmatch(scope) else {"applies_to": scope},
        "occurred_at": occurred,
        # The first files had times of their own, lines say when they were written; all say when it happened.
        "created_at": to_rfc3339(entry.get("created_at") or entry.get("timestamp")) or occurred,
        "updated_at": to_rfc3339(entry.get("updated_at")),
    }
    for line in to_memories(fields):
        yield SourceRecord(place, line, done)


SOURCE = Source(FOLDER, "Local Recall", "its folder local-recall, or the project it lies in", _find, _open)
