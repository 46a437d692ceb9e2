"""From a file's bytes to what is indexed of it. Pure, and the costly half of indexing: it runs on threads."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from vaults import clock, heap
from vaults.domain.actors import GLOBAL
from vaults.files.paths import collision_key
from vaults.files.tree import FileContent, FileStamp
from vaults.index.blocks import HeadingBorder, IndexBlock, add_property_block, split_blocks
from vaults.index.items import SearchItem
from vaults.markdown import parser as markdown
from vaults.markdown.encoding import decode
from vaults.markdown.parser import Heading, Link, Task

KIND = "note"

LONG_BYTES = 512 * 1024
"""Bytes from which a note that a tool has just changed is read for its passages first, and for links and tasks later:
an edit of a long log must not wait for all of it to be parsed."""

ETAG_LENGTH = 16
"""Hex digits of the SHA-256 that callers see."""

MAX_PROPERTIES = 2_000
"""Characters of its properties by which a note is searched."""

MAX_LABELS = 20
"""Tags and aliases a passage is found by, beside its text."""

MAX_THREAD = 200
"""Characters of a thread's name."""

TOO_LONG = "longer than a note may be"


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not indexed, and why, in words."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoteExtract:
    """A note as the indexes take it. ``links`` and ``tasks`` are None while they, and the tags in the text, are still
    to be read. ``dated``: the note says itself when it was created; else it is since its first known change."""

    path: str
    title: str
    aliases: list[str]
    tags: list[str]
    frontmatter: dict[str, Any]
    problem: str | None
    hash: str
    stamp: FileStamp
    read_ns: int
    dated: bool
    created_at: str
    modified_at: str
    blocks: list[IndexBlock]
    links: tuple[Link, ...] | None
    tasks: tuple[Task, ...] | None

    @property
    def labels(self) -> str:
        """Words the note is found by beside its text."""
        said = self.frontmatter.get("tags")
        named = [str(each) for each in said] if isinstance(said, list) else [said] if isinstance(said, str) else []
        stem = PurePosixPath(self.path).stem
        return " ".join([*named, *self.aliases, *([stem] if stem != self.title else [])][:MAX_LABELS])

    def item(self, number: int) -> SearchItem:
        """What its passages carry."""
        return SearchItem(
            kind=KIND,
            number=number,
            source_hash="",
            at=self.created_at,
            modified_at=self.modified_at,
            workspace=GLOBAL,
            type=type_of(self.frontmatter),
            thread=thread_of(self.frontmatter),
            folder=folder_of(self.path),
        )


def extract_note(path: str, content: FileContent, read_ns: int, *, whole: bool = True) -> NoteExtract:
    """Read a note. ``whole`` False: without links and tasks. Raises ``NotText``."""
    with heap.pause_full_collections(len(content.data)):
        return _extract_note(path, content, read_ns, whole=whole)


def _extract_note(path: str, content: FileContent, read_ns: int, *, whole: bool) -> NoteExtract:
    text = decode(content.data).text
    parsed = markdown.parse(text) if whole else markdown.parse_outline(text)
    modified = _format_mtime(content.stamp.mtime_ns)
    title = parsed.title or PurePosixPath(path).stem
    return NoteExtract(
        path=path,
        title=title,
        aliases=list(parsed.aliases),
        tags=list(parsed.tags),
        frontmatter=parsed.frontmatter,
        problem=parsed.frontmatter_error,
        hash=compute_digest(content.data),
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
    """What the frontmatter says in words, a line for each property, but for what a note is called and labelled: that is
    searched as such."""
    lines = []
    for name, value in frontmatter.items():
        values = value if isinstance(value, list) else [value]
        words = [str(each) for each in values if isinstance(each, str | int | float) and not isinstance(each, bool)]
        if words and name.lower() not in _NAMING_KEYS:
            lines.append(f"{name}: {', '.join(words)}")
    return "\n".join(lines)[:MAX_PROPERTIES]


_NAMING_KEYS = {"title", "alias", "aliases", "tag", "tags"}


def with_stamp(taken: NoteExtract, stamp: FileStamp, read_ns: int) -> NoteExtract:
    """A note that was read before it was written, now that it is."""
    modified = _format_mtime(stamp.mtime_ns)
    created = taken.created_at if taken.dated else modified
    return replace(taken, stamp=stamp, read_ns=read_ns, modified_at=modified, created_at=created)


def cut_passages(taken: NoteExtract, max_tokens: int) -> NoteExtract:
    """Cut a note's passages, and work out what their rows hold, here instead of in the transaction."""
    with heap.pause_full_collections(taken.stamp.size):
        for block in taken.blocks:
            for passage in block.cut(max_tokens, taken.labels):
                passage.columns()
                passage.grams  # noqa: B018  worked out once, here
    return taken


def compute_digest(data: bytes) -> str:
    """What a version is known by: 32 hex of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:32]


def etag_of(version: str) -> str:
    """What a caller sees of a digest."""
    return version[:ETAG_LENGTH]


def heading_marks(headings: Sequence[Heading]) -> list[HeadingBorder]:
    """Headings as borders of blocks."""
    return [HeadingBorder(heading.level, heading.text, heading.start) for heading in headings]


def folder_of(path: str) -> str:
    """The folder a note lies in; '' for the notes folder itself."""
    return path.rpartition("/")[0]


def type_of(frontmatter: dict[str, Any]) -> str:
    """What kind of note it says it is."""
    said = frontmatter.get("type")
    return said[:100] if isinstance(said, str) else ""


def thread_of(frontmatter: dict[str, Any]) -> str | None:
    """The line of work it says it belongs to."""
    said = frontmatter.get("thread")
    return said.strip()[:MAX_THREAD] or None if isinstance(said, str) else None


def path_key(path: str) -> str:
    """Equal for paths that are one file on some system."""
    return collision_key(path)


def _format_mtime(mtime_ns: int) -> str:
    """A file's time as it is stored; file systems hold years that calendars do not."""
    try:
        return clock.to_text(datetime.fromtimestamp(mtime_ns / 1e9, UTC))
    except (ValueError, OverflowError, OSError):
        return clock.to_text(datetime.fromtimestamp(0, UTC))


def _parse_date(said: str | None) -> str | None:
    """A date of the frontmatter as it is stored; None for what is none."""
    try:
        return clock.to_text(datetime.fromisoformat(said)) if said else None
    except (ValueError, OverflowError):
        return None
