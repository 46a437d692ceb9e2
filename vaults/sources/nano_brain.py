"""nano-brain with SQLite: its home folder, or one of its databases. As of 2026.7.13, the last before PostgreSQL."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from vaults.errors import InvalidArgument
from vaults.markdown.frontmatter.yaml_reader import load_yaml
from vaults.sources.nano_brain_tables import NanoBrainRows
from vaults.sources.nano_brain_texts import is_log, to_log_memories, to_session_document
from vaults.sources.record_fields import clean_text, to_label
from vaults.sources.source import SearchPlaces, Source, SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_tables import Fields, open_tables
from vaults.sources.times import to_rfc3339

HOME = ".nano-brain"
MAX_FILE = 64 << 20
MEMORY, SESSIONS = "memory", "sessions"


@dataclass(frozen=True, slots=True)
class _NanoBrainFile:
    """A Markdown file of nano-brain. ``place``: below its collection's folder, with slashes."""

    path: Path
    collection: str
    place: str
    size: int


@contextmanager
def _open(path: Path) -> Iterator[SourceReading]:
    if not path.is_dir():
        with open_tables([path], NanoBrainRows(lambda *_: False).to_readings) as single:
            yield single
        return
    files = sorted(_find_texts(path), key=lambda each: (each.collection, each.place))
    databases = [each for folder in (path, path / "data") for each in sorted(folder.glob("*.sqlite")) if each.is_file()]
    if not files and not databases:
        raise InvalidArgument("PATH", f"{path} holds nothing of nano-brain")
    known = {(each.collection, each.place) for each in files}
    rows = NanoBrainRows(lambda collection, place: (collection, _to_place(collection, place)) in known)
    left: Counter[str] = Counter()
    _count_collections(path / "config.yml", left)
    read = sum(each.size for each in files)
    with ExitStack() as opened:
        tables: SourceReading | None = None
        refused: UnreadableRecord | None = None
        try:
            if databases:
                tables = opened.enter_context(open_tables(databases, rows.to_readings, left))
        except InvalidArgument as failure:
            refused = UnreadableRecord(databases[0].name, failure.message.removeprefix("Validation error: PATH "), read)
        yield SourceReading(read + (tables.total if tables else 0), _read(files, tables, refused), left)


def _to_place(collection: str, path: PurePosixPath) -> str:
    return "/".join(path.parts[-2:]) if collection == SESSIONS else path.name


def _find_texts(home: Path) -> Iterator[_NanoBrainFile]:
    """Its logs and sessions; links are not followed."""
    folders = [(home / MEMORY, MEMORY), (home / SESSIONS, SESSIONS)]
    for folder, collection in folders:
        for parent, names, leaves in os.walk(folder):
            names[:] = sorted(each for each in names if not each.startswith("."))
            for name in leaves:
                path = Path(parent) / name
                if name.endswith(".md") and path.is_file() and not path.is_symlink():
                    place = _to_place(collection, PurePosixPath(path.as_posix()))
                    yield _NanoBrainFile(path, collection, place, path.stat().st_size)
    path = home / "MEMORY.md"
    if path.is_file() and not path.is_symlink():
        yield _NanoBrainFile(path, MEMORY, path.name, path.stat().st_size)


def _count_collections(path: Path, left: Counter[str]) -> None:
    """Count the collections of a configuration: which folders were indexed, and how."""
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
        found = load_yaml(path.read_text(encoding="utf-8", errors="replace"), first_line=1).values.get("collections")
        if isinstance(found, dict) and found:
            left["collections in config.yml"] += len(found)


def _read(
    files: list[_NanoBrainFile], tables: SourceReading | None, refused: UnreadableRecord | None
) -> Iterator[SourceItem]:
    done = 0
    for file in files:
        done += file.size
        yield from _read_text(file, done)
    if refused is not None:
        yield refused
    for item in tables.items if tables else ():
        yield replace(item, done=done + item.done)


def _read_text(file: _NanoBrainFile, done: int) -> Iterator[SourceItem]:
    place = f"{file.collection}/{file.place}"
    if file.size > MAX_FILE:
        yield UnreadableRecord(place, f"has more than {MAX_FILE >> 20} MB", done)
        return
    try:
        text = clean_text(file.path.read_bytes().decode("utf-8-sig", "replace"))
        modified = to_rfc3339(file.path.stat().st_mtime)
    except OSError as failure:
        yield UnreadableRecord(place, f"cannot be read: {failure.strerror}", done)
        return
    if file.collection == SESSIONS:
        session = to_session_document(text, file.place)
        found = [] if session is None else [{**session, "modified_at": modified}]
    elif is_log(text) or not text.strip():
        found = list(to_log_memories(text, file.path.stem))
    else:
        found = [_to_note(file, text, modified)]
    for fields in found:
        yield SourceRecord(place, fields, done)


def _to_note(file: _NanoBrainFile, text: str, modified: str | None) -> Fields:
    """A file of memory that a person keeps, without entries."""
    fields = {"kind": "note", "external_id": to_label(f"nano-brain:note:{file.place}"), "content": text}
    return {**fields, "path": f"nano-brain/{file.place}", "modified_at": modified}


def _find(places: SearchPlaces) -> Iterator[Path]:
    home = places.home / HOME
    if any((home / each).exists() for each in (MEMORY, SESSIONS, "data", "MEMORY.md")):
        yield home
    early = places.home / ".cache" / "nano-brain"
    if early.is_dir() and any(early.glob("*.sqlite")):
        yield early


SOURCE = Source("nano-brain", "nano-brain", "the folder .nano-brain, or a .sqlite of it", _find, _open)
