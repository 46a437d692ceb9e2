"""Lines of a log in a store: where the newest one ends, and how another is begun."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from ops.change_log import bases
from ops.change_log.failures import broken_log
from ops.change_log.follower import LineEnd
from ops.change_log.names import LINE_FILE, LineListing, SegmentName, list_lines, log_key
from ops.change_log.segments import LogModel, hash_of, read_head, to_position
from ops.change_log.store import LogStore
from vaults.errors import InvalidArgument, NotFound

FORMAT = 1


class LineHead(LogModel):
    """What ``line.json`` says. It is only written: that it is there counts, and the hash of its bytes, which the first
    segment names. Those of earlier versions say also after which segment the line began."""

    format: int = FORMAT
    vault_id: str
    line: str


@dataclass(frozen=True, slots=True)
class StoredEnd:
    """The newest line in a store. ``segments_since_base``: how many a restore would have to go through."""

    end: LineEnd
    segments_since_base: int
    has_base: bool


def read_lines(store: LogStore, vault_id: str) -> list[LineListing]:
    """What a store holds of a log, oldest line first."""
    return list_lines((each.key for each in store.list_objects(log_key(vault_id))), vault_id)


def segment_key(vault_id: str, line: str, name: SegmentName) -> str:
    return f"{log_key(vault_id)}/{line}/{name}"


def line_key(vault_id: str, line: str) -> str:
    return f"{log_key(vault_id)}/{line}/{LINE_FILE}"


def read_end(store: LogStore, vault_id: str, lines: list[LineListing]) -> StoredEnd | None:
    """The end of the newest line; None where there is none to go on with."""
    if not lines:
        return None
    line = lines[-1]
    since = [each for each in line.segments if not line.bases or each.last > line.bases[-1].sequence]
    try:
        end = _end_of_segments(store, vault_id, line) if line.segments else _end_of_base(store, vault_id, line)
    except (InvalidArgument, NotFound):  # damaged: restoring tells of it, and another line begins with a whole base
        return None
    return StoredEnd(end, len(since), bool(line.bases)) if end is not None else None


def _end_of_segments(store: LogStore, vault_id: str, line: LineListing) -> LineEnd:
    name = line.segments[-1]
    data = store.get(segment_key(vault_id, line.name, name))
    head = read_head(data)
    if head.name != name or head.line != line.name:
        raise broken_log("holds a segment under another's name")
    return LineEnd(line.name, name.number + 1, hash_of(data), head.last, head.digest, to_position(head.wal))


def _end_of_base(store: LogStore, vault_id: str, line: LineListing) -> LineEnd | None:
    if not line.bases or not line.begun:
        return None
    manifest = bases.read_manifest(store, vault_id, line.name, line.bases[-1])
    previous = hash_of(store.get(line_key(vault_id, line.name)))
    return LineEnd(line.name, 0, previous, manifest.sequence, manifest.digest, to_position(manifest.wal))


def begin_line(store: LogStore, vault_id: str, lines: list[LineListing]) -> LineEnd:
    """Begin a line after those there are; the state it begins with gets the next sequence number."""
    number = lines[-1].number + 1 if lines else 1
    name = f"{number:06d}-{secrets.token_hex(4)}"
    data = LineHead(vault_id=vault_id, line=name).model_dump_json().encode()
    store.put(line_key(vault_id, name), data)
    sequence = max((each.last for each in lines), default=0) + 1
    return LineEnd(name, 0, hash_of(data), sequence, "", None)
