"""From a file's bytes to what is indexed of it. Pure; the costly half of indexing, so it runs on worker threads."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from vaults import clock, heap
from vaults.domain.actors import GLOBAL
from vaults.files.paths import parent_folder
from vaults.files.tree import FileContent, FileStamp
from vaults.index.blocks import HeadingBorder, IndexBlock, add_property_block, split_blocks
from vaults.index.items import SearchItem
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import decode
from vaults.markdown.parser import Heading, Link, Task

KIND = "note"

LONG_BYTES = 512 * 1024
"""Bytes from which a note that a tool just changed is parsed for passages first, and for links and tasks later: an edit
of a long log must not wait for all of it to be parsed."""

ETAG_LENGTH = 16
"""Hex digits of the SHA-256 that callers see."""

MAX_PROPERTIES = 2_000
"""Max characters of its properties by which a note is searched."""

MAX_LABELS = 20
"""Max tags and aliases a passage is found by, in addition to its text."""

MAX_THREAD = 200
"""Max characters of a thread's name."""

TOO_LONG = "longer than a note may be"


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, and why, in words."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoteExtract:
    """A note as the indexes take it. ``links`` and ``tasks`` None: they, and the tags in the text, are still to be
    read."""

    path: str
    title: str
    aliases: list[str]
    tags: list[str]
    frontmatter: dict[str, Any]
    problem: str | None  # why its frontmatter cannot be read
    hash: str
    stamp: FileStamp
    read_ns: int
    dated: bool  # its frontmatter says when it was created; otherwise its first known change counts
    created_at: str
    modified_at: str
    blocks: list[IndexBlock]
    links: tuple[Link, ...] | None
    tasks: tuple[Task, ...] | None

    @property
    def labels(self) -> str:
        """Words the note is found by in addition to its text."""
        tags = self.frontmatter.get("tags")
        named = [str(each) for each in tags] if isinstance(tags, list) else [tags] if isinstance(tags, str) else []
        stem = PurePosixPath(self.path).stem
        return " ".join([*named, *self.aliases, *([stem] if stem != self.title else [])][:MAX_LABELS])

    def item(self, number: int) -> SearchItem:
        """The search attributes shared by its passages."""
        return SearchItem(
            kind=KIND,
            number=number,
            source_hash="",
            at=self.created_at,
            modified_at=self.modified_at,
            workspace=GLOBAL,
            type=type_of(self.frontmatter),
            thread=thread_of(self.frontmatter),
            folder=parent_folder(self.path),
        )


def extract_note(
    path: str, content: FileContent, read_ns: int, *, whole: bool = True, digest: str | None = None
) -> NoteExtract:
    """Read a note. ``whole`` False: without links and tasks. ``digest``: of its data, if it is known. Raises
    ``NotText``."""
    with heap.pause_full_collections(len(content.data)):
        return _extract_note(path, content, read_ns, digest or compute_digest(content.data), whole=whole)


def _extract_note(path: str, content: FileContent, read_ns: int, digest: str, *, whole: bool) -> NoteExtract:
    text = decode(content.data).text
    parsed = markdown.parse(text) if whole else markdown.parse_outline_unnumbered(text)
    modified = _format_mtime(content.stamp.mtime_ns)
    title = parsed.title or PurePosixPath(path).stem
    return NoteExtract(
        path=path,
        title=title,
        aliases=list(parsed.aliases),
        tags=list(parsed.tags),
        frontmatter=parsed.frontmatter,
        problem=parsed.frontmatter_error,
        hash=digest,
        stamp=content.stamp,
        read_ns=read_ns,
        dated=_parse_date(parsed.created) is not None,
        created_at=_parse_date(parsed.created) or modified,
        modified_at=modified,
        blocks=add_property_block(
            split_blocks(text, title, heading_marks(parsed.headings), parsed.body_start),
            title,
            properties_text(parsed.frontmatter),
        ),
        links=parsed.links if whole else None,
        tasks=parsed.tasks if whole else None,
    )


def properties_text(frontmatter: dict[str, Any]) -> str:
    """The frontmatter as searchable text, a line for each property. Names and tags are left out, for they are searched
    separately."""
    lines = []
    for name, value in frontmatter.items():
        values = value if isinstance(value, list) else [value]
        words = [str(each) for each in values if isinstance(each, str | int | float) and not isinstance(each, bool)]
        if words and name.lower() not in _NAMING_KEYS:
            lines.append(f"{name}: {', '.join(words)}")
    return "\n".join(lines)[:MAX_PROPERTIES]


_NAMING_KEYS = {"title", "alias", "aliases", "tag", "tags"}


def with_stamp(extract: NoteExtract, stamp: FileStamp, read_ns: int) -> NoteExtract:
    """Add its file's stamp to a note that was extracted before it was written."""
    modified = _format_mtime(stamp.mtime_ns)
    created = extract.created_at if extract.dated else modified
    return replace(extract, stamp=stamp, read_ns=read_ns, modified_at=modified, created_at=created)


def cut_passages(extract: NoteExtract, max_tokens: int) -> NoteExtract:
    """Cut a note's passages and compute their rows' contents now, to keep that out of the transaction."""
    with heap.pause_full_collections(extract.stamp.size):
        labels = extract.labels
        for block in extract.blocks:
            for passage in block.cut(max_tokens, labels):
                passage.columns()
                passage.grams  # noqa: B018  computed once, here
    return extract


def compute_digest(data: bytes) -> str:
    """The digest of a version: the first 32 hex digits of its SHA-256."""
    return _compute_digest(data) if len(data) < MANY_BYTES else _remember_digest(data)


def _compute_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


MANY_BYTES = 64 * 1024
"""Bytes of a version from which it is remembered with its digest, the last two of the process: the next edit starts
from it, and to compare all bytes takes a tenth of the time."""

_latest: deque[tuple[bytes, str]] = deque(maxlen=2)


def _remember_digest(data: bytes) -> str:
    for known, digest in tuple(_latest):
        if known == data:
            return digest
    digest = _compute_digest(data)
    _latest.append((data, digest))
    return digest


def etag_of(version: str) -> str:
    """The part of a digest that callers see."""
    return version[:ETAG_LENGTH]


def heading_marks(headings: Sequence[Heading]) -> list[HeadingBorder]:
    """Headings as block borders."""
    return [HeadingBorder(heading.level, heading.text, heading.start) for heading in headings]


def type_of(frontmatter: dict[str, Any]) -> str:
    """The type a note's frontmatter names, or ''."""
    value = frontmatter.get("type")
    return value[:100] if isinstance(value, str) else ""


def thread_of(frontmatter: dict[str, Any]) -> str | None:
    """The thread a note's frontmatter names, if any."""
    value = frontmatter.get("thread")
    return value.strip()[:MAX_THREAD] or None if isinstance(value, str) else None


def _format_mtime(mtime_ns: int) -> str:
    """A file's time in stored form; the epoch for years that a calendar cannot hold but a file system can."""
    try:
        return clock.to_text(datetime.fromtimestamp(mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return clock.to_text(datetime.fromtimestamp(0, UTC))


def _parse_date(value: str | None) -> str | None:
    """A frontmatter date in stored form; None if it is not a date."""
    try:
        return clock.to_text(datetime.fromisoformat(value)) if value else None
    except (ValueError, OverflowError):
        return None
