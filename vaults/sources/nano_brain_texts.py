"""What nano-brain writes as Markdown: sessions it harvested, and logs of what was remembered. As of 2026.7.13, the last
version with SQLite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from vaults.markdown.frontmatter.parser import parse_frontmatter
from vaults.sources.record_fields import TITLE, clean_text, cut_text, to_label, to_memories, without_empty
from vaults.sources.sqlite_tables import Fields
from vaults.sources.times import to_rfc3339

LOG_OF_FACTS = "MEMORY"
_HEADER = re.compile(r"---\n(.*?\n)---(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(session|agent|date|title|project|projectHash): ?(.*)$", re.MULTILINE)
_TURN = re.compile(r"^## (?:(User)|Assistant(?: \((.*)\))?)[ \t]*\n", re.MULTILINE)
_ENTRY = re.compile(r"^## (\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?)[ \t]*$", re.MULTILINE)
_WORKSPACE = re.compile(r"\s*\*\*Workspace:\*\* .*?\(([0-9a-f]{12}|global)\)[ \t]*(?:\n|\Z)")


def to_session_document(text: str, place: str) -> Fields | None:
    """A harvested session, turn by turn; None for a blank one. ``place``: its folder and name."""
    text = clean_text(text).replace("\r\n", "\n")
    head = _HEADER.match(text)
    known = _read_header(head[0]) if head else {}
    parts = list(_to_turns(text[head.end() :] if head else text))
    if not parts:
        return None
    path = PurePosixPath(place)
    own = known.get("session")
    return without_empty(
        {
            "kind": "document",
            "external_id": to_label(f"nano-brain:session:{own}" if own else f"nano-brain:sessions:{place}"),
            "format": "transcript" if any("role" in part for part in parts) else "text",
            "title": cut_text(known.get("title"), TITLE) or path.stem,
            "workspace": to_label(known.get("project") or known.get("projectHash") or path.parent.name),
            "collection": "sessions",
            "author": to_label(known.get("agent")),
            "created_at": to_rfc3339(known.get("date")) or to_rfc3339(path.stem[:10]),
            "metadata": without_empty({"session": own}),
            "parts": parts,
        }
    )


def _read_header(head: str) -> dict[str, Any]:
    """The fields of a header. A title with quotes in it is written without care there: then line by line."""
    values = parse_frontmatter(head).values
    found = {name: value.strip().strip('"') for name, value in _FIELD.findall(head)}
    return {**found, **{name: str(value) for name, value in values.items() if value is not None}}


def _to_turns(body: str) -> Iterator[Fields]:
    turns = list(_TURN.finditer(body))
    before = body[: turns[0].start()] if turns else body
    if before.strip():
        yield {"text": before.strip()}
    ends = [*(turn.start() for turn in turns[1:]), len(body)]
    for turn, end in zip(turns, ends, strict=False):
        text = body[turn.end() : end].strip()
        if text:
            role = "user" if turn[1] else "assistant"
            author = turn[2] if turn[2] != role else None
            yield without_empty({"text": text, "role": role, "author": to_label(author)})


def is_log(text: str) -> bool:
    """Whether the text has entries, each under its time."""
    return _ENTRY.search(text) is not None


def to_log_memories(text: str, name: str) -> Iterator[Fields]:
    """The entries of a log, and what stands before them. ``name``: the day, or MEMORY."""
    text = clean_text(text).replace("\r\n", "\n")
    entries = list(_ENTRY.finditer(text))
    seen: dict[str, int] = {}
    yield from _to_entry(text[: entries[0].start()] if entries else text, name, "", 1)
    ends = [*(entry.start() for entry in entries[1:]), len(text)]
    for entry, end in zip(entries, ends, strict=False):
        at = entry[1]
        seen[at] = seen.get(at, 0) + 1
        yield from _to_entry(text[entry.end() : end], name, at, seen[at])


def _to_entry(text: str, name: str, at: str, number: int) -> Iterator[Fields]:
    place = _WORKSPACE.match(text)
    content = (text[place.end() :] if place else text).strip()
    if not content:
        return
    time = to_rfc3339(at) or to_rfc3339(name)
    yield from to_memories(
        {
            "external_id": to_label(f"nano-brain:memory:{name}:{at or 'begin'}{f'#{number}' if number > 1 else ''}"),
            "content": content,
            "type": "fact" if name == LOG_OF_FACTS else "observation",
            "workspace": place[1] if place else None,
            "created_at": time,
            "occurred_at": time if at else None,
        }
    )
