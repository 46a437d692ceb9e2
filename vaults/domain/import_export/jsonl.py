"""Memories as lines of JSON: what ``export`` writes and ``import`` reads. Pure except for reading the file.

A line has the fields of ``remember`` plus ``external_id`` and ``created_at``. Where they apply, it also has
``archived_at``, ``archived_reason``, ``supersedes`` (the external id of the older memory, on the newer one), ``links``
to other memories as ``[from, relation, to]``, and ``subjects``, the notes (by path) and named things it speaks of, as
``[relation, note or entity, name]``. ``ttl_days`` counts from ``created_at``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import Field, ValidationError

from vaults import clock
from vaults.domain.memories.memory_model import Memory, MemoryFields
from vaults.domain.text.fields import Filled, Label, hash_parts
from vaults.errors import InvalidArgument

LINE_LIMIT = 1 << 20
"""Max bytes of a line. The longest memory, with every character escaped, takes 0.7 MB."""

BATCH_LINES, BATCH_BYTES = 256, 1 << 20
"""Max lines and bytes of a batch. A batch is one transaction: bounded in lines for short locks, in bytes for memory."""

LONGEST_TTL_DAYS = 36_500.0


class LineRejected(Exception):
    """A line that is not a memory; ``reason`` is for the owner of the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_Subject = tuple[Label, Literal["note", "entity"], Annotated[Filled, Field(min_length=1, max_length=1024)]]


class MemoryLine(MemoryFields):
    """A line as parsed."""

    created_at: Label | None = None
    archived_at: Label | None = None
    archived_reason: Annotated[Filled | None, Field(max_length=500)] = None
    supersedes: Label | None = None
    # JSON has no tuples: a strict model would refuse its lists.
    links: Annotated[list[Annotated[tuple[Label, Label, Label], Field(strict=False)]], Field(max_length=10_000)] = []
    subjects: Annotated[list[Annotated[_Subject, Field(strict=False)]], Field(max_length=10_000)] = []


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line of a file; ``raw`` is None when it was too long to keep. Numbers start at 1."""

    number: int
    raw: bytes | None


class LineReader:
    """Reads a file batch by batch, never holding more than a batch and one line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._number = 0
        self.position = 0
        """Bytes read so far; counted, because a pipe cannot tell."""

    def batch(self) -> list[RawLine]:
        """The next lines; none at the end of the file. Blank lines are left out, but numbered."""
        lines: list[RawLine] = []
        size = 0
        while len(lines) < BATCH_LINES and size < BATCH_BYTES:
            raw = self._readline(LINE_LIMIT + 1)
            if not raw:
                break
            self._number += 1
            if len(raw) > LINE_LIMIT and not raw.endswith(b"\n"):
                self._skip_line()
                lines.append(RawLine(self._number, None))
            elif raw.strip():
                lines.append(RawLine(self._number, raw))
                size += len(raw)
        return lines

    def _skip_line(self) -> None:
        while (part := self._readline(1 << 16)) and not part.endswith(b"\n"):
            continue

    def _readline(self, limit: int) -> bytes:
        raw = self._file.readline(limit)
        self.position += len(raw)
        return raw


def parse(line: RawLine) -> MemoryLine:
    """The memory of a line, all times in the stored form. Raises ``LineRejected``."""
    if line.raw is None:
        raise LineRejected(f"the line is longer than {LINE_LIMIT} bytes")
    try:
        text = line.raw.decode("utf-8-sig" if line.number == 1 else "utf-8")
        value = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise LineRejected("the line is not UTF-8") from None
    except (ValueError, RecursionError):
        raise LineRejected("the line is not JSON") from None
    if not isinstance(value, dict):
        raise LineRejected("the line is not a JSON object")
    return _normalize_times(_validate(value))


def _validate(value: dict[str, Any]) -> MemoryLine:
    try:
        return MemoryLine.model_validate(value)
    except ValidationError as failure:
        first = failure.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])[:200] or "line"
        reason = {"extra_forbidden": "is not a field of a memory", "missing": "is required"}.get(
            first["type"], first["msg"].removeprefix("Value error, ").removeprefix("Input ")
        )
        raise LineRejected(f"{_to_printable(field)} {reason[:1].lower()}{reason[1:]}") from None
    except RecursionError:
        raise LineRejected("metadata is nested too deep") from None


def _normalize_times(line: MemoryLine) -> MemoryLine:
    change: dict[str, Any] = {}
    try:
        for name in ("created_at", "archived_at", "occurred_at"):
            if (value := getattr(line, name)) is not None:
                change[name] = clock.parse(value, name)
        if line.ttl_days is not None:
            compute_expiry(change.get("created_at"), line.ttl_days)
    except InvalidArgument as failure:
        raise LineRejected(failure.message.removeprefix("Validation error: ")) from None
    return line.model_copy(update=change)


def with_external_id(line: MemoryLine, number: int) -> MemoryLine:
    """The line with its external id, or one derived from what makes memories duplicates, so that the file can be
    imported again after the memory was edited. Parts of a conversation without a position may well be equal: the line's
    number tells them apart."""
    if line.external_id is not None:
        return line
    place = number if line.parent is not None and line.position is None else None
    text = " ".join(line.content.split()).casefold()
    own = hash_parts(text, line.workspace, line.applies_to, line.parent, line.position, line.visibility, place)
    return line.model_copy(update={"external_id": f"line:{own}"})


def compute_expiry(created_at: str | None, ttl_days: float) -> str:
    """When a line's memory expires, to the millisecond. Raises ``InvalidArgument``."""
    if created_at is None:
        return clock.days_from_now(ttl_days)
    try:
        return clock.to_text(_parse_time(created_at) + timedelta(milliseconds=round(ttl_days * 86_400_000)))
    except OverflowError:
        raise InvalidArgument("ttl_days", "ends beyond the year 9999") from None


@dataclass(frozen=True, slots=True)
class ExportedMemory:
    """A memory and the rest of its line."""

    memory: Memory
    title_derived: bool
    replaces: str | None = None  # exported id of what it supersedes
    links: tuple[tuple[str, str, str], ...] = ()  # to earlier memories
    subjects: tuple[tuple[str, str, str], ...] = ()


def to_line(one: ExportedMemory) -> bytes:
    """One line, with its newline and without empty fields."""
    memory = one.memory
    line: dict[str, Any] = {"external_id": memory.external_id or memory.id, "created_at": memory.created_at}
    if not one.title_derived:
        line["title"] = memory.title
    line["content"] = memory.content
    for name in _COPIED:
        value = getattr(memory, name)
        if value is not None and value not in ([], {}):
            line[name] = value
    if memory.expires_at is not None:
        line["ttl_days"] = _ttl_days(memory.created_at, memory.expires_at)
    if one.replaces is not None:
        line["supersedes"] = one.replaces
    if one.links:
        line["links"] = one.links
    if one.subjects:
        line["subjects"] = one.subjects
    return json.dumps(line, ensure_ascii=False, allow_nan=False).encode() + b"\n"


_COPIED = (
    "type", "tags", "keywords", "metadata", "entity", "author", "workspace", "thread", "applies_to", "parent",
    "position", "confidence", "occurred_at", "visibility", "tier", "archived_at", "archived_reason",
    "anchor_commit",
)  # fmt: skip


def _ttl_days(created_at: str, expires_at: str) -> float:
    days = (_parse_time(expires_at) - _parse_time(created_at)) / timedelta(days=1)
    return min(max(days, 1e-8), LONGEST_TTL_DAYS)


def _parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _to_printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)
