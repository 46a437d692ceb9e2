"""What ``mem share export`` writes: a folder with a manifest and the memories as lines of JSON. As of mem 0.2.46."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from vaults.errors import InvalidArgument
from vaults.sources.mempack_memories import to_memory_lines
from vaults.sources.record_fields import cut_text, parse_json
from vaults.sources.source import SourceItem, SourceReading, SourceRecord, UnreadableRecord
from vaults.sources.sqlite_tables import RowRefused

MANIFEST, MEMORIES = "manifest.json", "memories.jsonl"
KNOWN_VERSION = 1
MAX_LINE = 1 << 20
MAX_MANIFEST = 1 << 16


def is_share_folder(folder: Path) -> bool:
    """Whether this is such a folder."""
    return all((folder / name).is_file() for name in (MANIFEST, MEMORIES))


@contextmanager
def open_share_folder(folder: Path) -> Iterator[SourceReading]:
    """The memories of such a folder. Raises ``InvalidArgument`` for a manifest of others."""
    try:
        with (folder / MANIFEST).open("rb") as file:
            manifest = parse_json(file.read(MAX_MANIFEST).decode("utf-8-sig", "replace"))
        lines = (folder / MEMORIES).open("rb")
    except OSError as failure:
        raise InvalidArgument("PATH", f"{folder} cannot be read: {failure.strerror}") from failure
    with lines:
        if not isinstance(manifest, dict) or not manifest.get("source_repo_id"):
            raise InvalidArgument("PATH", f"has a {MANIFEST} that is none of mem")
        if manifest.get("schema_version") != KNOWN_VERSION:
            raise InvalidArgument("PATH", f"is of another mem: only version {KNOWN_VERSION} of a share is known here")
        yield SourceReading((folder / MEMORIES).stat().st_size, _read(lines, manifest))


def _read(lines: BinaryIO, manifest: dict[str, Any]) -> Iterator[SourceItem]:
    done, number = 0, 0
    while raw := lines.readline(MAX_LINE + 1):
        done, number, place = done + len(raw), number + 1, f"{MEMORIES}, line {number + 1}"
        if len(raw) > MAX_LINE:
            while (rest := lines.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                done += len(rest)
            done += len(rest)
            yield UnreadableRecord(place, f"has more than {MAX_LINE >> 20} MB", done)
        elif raw.strip():
            text = raw.decode("utf-8", "replace")
            try:
                for fields in _to_lines(parse_json(text), manifest):
                    yield SourceRecord(place, fields, done)
            except RowRefused as refused:
                yield UnreadableRecord(place, str(refused), done, cut_text(text, 1000))


def _to_lines(record: Any, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not isinstance(record, dict):
        raise RowRefused("is no JSON object")
    row = {
        "id": record.get("source_id"),
        "repo_id": manifest["source_repo_id"],
        "workspace": manifest.get("workspace"),
        **{name: record.get(name) for name in ("thread_id", "title", "summary", "anchor_commit", "created_at")},
    }
    root = manifest.get("source_git_root")
    yield from to_memory_lines(row, record.get("tags"), record.get("entities"), root if isinstance(root, str) else None)
