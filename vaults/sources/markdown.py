"""Any folder of Markdown, or a zip of one: each file is carried as the note it is, frontmatter included.

Fits an Obsidian vault, a Logseq graph, a folder of a repository, and what Notion and others export as Markdown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from vaults.errors import InvalidArgument
from vaults.files.paths import file_suffix, is_note
from vaults.markdown.encoding import NotText, decode
from vaults.sources.archive_member import UNREADABLE, ArchiveMember, explain
from vaults.sources.archives import Archive, open_archive
from vaults.sources.record_fields import clean_text
from vaults.sources.record_ids import to_external_id
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord

NOTE_BYTES = 16 << 20

_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def open_notes(path: Path, system: str) -> Iterator[SourceReading]:
    """The notes of a folder or zip, with external ids of ``system``. Raises ``InvalidArgument``."""
    with open_archive(path) as archive:
        total = sum(1 for member in archive.walk() if is_note(member.path))
        if not total:
            raise InvalidArgument("PATH", f"{path} holds no Markdown files")
        left: Counter[str] = Counter()
        yield SourceReading(total, _read(archive, system, left), left)


def _read(archive: Archive, system: str, left: Counter[str]) -> Iterator[SourceItem]:
    done = 0
    for member in archive.walk():
        if not is_note(member.path):
            left["symbolic links" if member.refused == "is a symbolic link" else _kind_of(member)] += 1
            continue
        done += 1
        yield _read_note(member, system, done)


def _kind_of(member: ArchiveMember) -> str:
    suffix = file_suffix(member.path)
    return f".{suffix} files" if suffix else "files that are no Markdown"


def _read_note(member: ArchiveMember, system: str, done: int) -> SourceItem:
    if member.refused:
        return UnreadableRecord(member.path, member.refused, done)
    try:
        content = decode_text(member.read(NOTE_BYTES))
    except NotText as failure:
        return UnreadableRecord(member.path, failure.reason, done)
    except UNREADABLE as failure:
        return UnreadableRecord(member.path, explain(failure), done)
    external_id = to_external_id(system, "note", member.path)
    fields = {"kind": "note", "external_id": external_id, "path": member.path, "content": content}
    if member.modified_at:
        fields["modified_at"] = member.modified_at
    return SourceRecord(member.path, fields, done)


def decode_text(data: bytes) -> str:
    """The text of a file without its byte order mark, line endings kept. Raises ``NotText``."""
    if not data.startswith(_UTF16):
        return decode(data).text
    try:
        return clean_text(data.decode("utf-16"))
    except UnicodeDecodeError:
        raise NotText("UTF-16, and damaged") from None


def _find(places: SearchPlaces) -> Iterable[Path]:
    """Obsidian keeps a folder of its own in each of its vaults."""
    nearby = (places.current, *(places.home / name for name in ("Documents", "Obsidian", "notes")))
    for folder in dict.fromkeys(nearby):
        inside = sorted(folder.iterdir()) if folder.is_dir() else []
        yield from (each for each in (folder, *inside) if (each / ".obsidian").is_dir())


SOURCE = Source(
    "markdown",
    "Markdown and Obsidian",
    "a folder of Markdown files, or a zip of one",
    _find,
    partial(open_notes, system="markdown"),
)
