"""Versions of notes as the journal stores them: whole and compressed, or as the difference from another version.

A long note grows by a line at a time. Storing it whole each time would cost more than the edit itself, and bloat the
vault's file; so for a long one only the part between the common start and end is stored, up to ``MAX_DEPTH`` times in
a row.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vaults.db.sql import Reader, Row, Writer
from vaults.domain.notes.index.extraction import compute_digest

LEVEL = 1
"""The zlib level: 60 to 100 MB/s, and a third of the size."""

LONG_BYTES = 32 * 1024
"""Bytes from which a version is stored as a difference."""

MAX_DEPTH = 32
"""Max differences in a row before a version is stored whole again: reading takes as many steps."""

_ENDS = struct.Struct("<QQ")
_STEPS = tuple(1 << bits for bits in (18, 14, 10, 7, 4, 2, 0))


@dataclass(frozen=True, slots=True)
class PackedVersion:
    """One version, ready to be stored."""

    hash: str
    size: int
    data: bytes
    base: str | None = None  # the version it is a difference from; None: whole
    depth: int = 0  # differences between it and a whole version


def to_version_name(data: bytes | None) -> str | None:
    """The digest a version is stored under; None for no file."""
    return compute_digest(data) if data is not None else None


def pack(
    pairs: list[tuple[bytes | None, bytes | None]], names: list[tuple[str | None, str | None]], held: Mapping[str, int]
) -> list[PackedVersion]:
    """Pack the versions before and after of files, except those stored already (``held``: name to depth). Blocking, and
    most of the cost of recording a change."""
    found: dict[str, PackedVersion] = {}
    for (before, after), (old, new) in zip(pairs, names, strict=True):
        if before is not None and old is not None and old not in held and old not in found:
            found[old] = PackedVersion(old, len(before), zlib.compress(before, LEVEL))
        if after is not None and new is not None and new not in held and new not in found:
            depth = held.get(old or "", found[old].depth if old in found else MAX_DEPTH)
            found[new] = _pack_one(new, after, old, before, depth)
    return list(found.values())


def _pack_one(name: str, data: bytes, base: str | None, before: bytes | None, depth: int) -> PackedVersion:
    if base is None or before is None or len(data) < LONG_BYTES or depth >= MAX_DEPTH:
        return PackedVersion(name, len(data), zlib.compress(data, LEVEL))
    first, last = _common_ends(before, data)
    middle = data[first : len(data) - last]
    if len(middle) * 2 > len(data):
        return PackedVersion(name, len(data), zlib.compress(data, LEVEL))
    return PackedVersion(name, len(data), _ENDS.pack(first, last) + zlib.compress(middle, LEVEL), base, depth + 1)


def _common_ends(one: bytes, other: bytes) -> tuple[int, int]:
    """The lengths of the common start and, in the rest, of the common end."""
    limit = min(len(one), len(other))
    first = 0
    for step in _STEPS:
        while first + step <= limit and one[first : first + step] == other[first : first + step]:
            first += step
    limit -= first
    last = 0
    for step in _STEPS:
        while last + step <= limit and _ends_alike(one, other, last, step):
            last += step
    return first, last


def _ends_alike(one: bytes, other: bytes, last: int, step: int) -> bool:
    return one[len(one) - last - step : len(one) - last] == other[len(other) - last - step : len(other) - last]


class VersionForgotten(Exception):
    """A version believed stored is gone, or too many steps from a whole one: pack all versions of the change anew."""


def store_versions(tx: Writer, found: list[PackedVersion], names: Iterable[str]) -> dict[str, int]:
    """Store versions, so that all of ``names`` are stored; returns the depth of each of ``found``. A version that is
    stored already stays as it is, unless its depth is at the limit and it now comes whole. Raises
    ``VersionForgotten``."""
    sought = {*names, *(each.base for each in found if each.base)} - {each.hash for each in found}
    if any(_read_depth(tx, name) is None for name in sought) or any(
        (_read_depth(tx, each.base) or 0) >= MAX_DEPTH for each in found if each.base in sought
    ):
        raise VersionForgotten
    depths: dict[str, int] = {}
    for each in found:
        depth = _read_depth(tx, each.hash)
        if depth is None or (depth >= MAX_DEPTH and each.base is None):
            depth = (_read_depth(tx, each.base) or 0) + 1 if each.base else 0
            tx.run(
                "INSERT INTO note_versions (hash, size, data, base, depth) VALUES (:hash, :size, :data, :base, :depth)"
                " ON CONFLICT (hash) DO UPDATE SET data = excluded.data, base = excluded.base, depth = excluded.depth",
                {"hash": each.hash, "size": each.size, "data": each.data, "base": each.base, "depth": depth},
            )
        depths[each.hash] = depth
    return depths


def _read_depth(tx: Reader, name: str | None) -> int | None:
    """How many steps a stored version is from a whole one; None if it is not stored."""
    found: int | None = tx.value("SELECT depth FROM note_versions WHERE hash = :hash", {"hash": name})
    return found


def read_version(tx: Reader, name: str | None) -> bytes | None:
    """The bytes of a version; None if there is none, or it is lost or damaged."""
    steps: list[bytes] = []
    base = name
    while base:
        row = tx.one("SELECT data, base FROM note_versions WHERE hash = :hash", {"hash": base})
        if row is None:
            return None
        data, base = row
        steps.append(data)
    if not steps:
        return None
    try:
        data = _assemble(steps)
    except (zlib.error, struct.error):
        return None
    return data if compute_digest(data) == name else None


def _assemble(steps: list[bytes]) -> bytes:
    """Build a version from its differences; the whole one is last in the list."""
    data = zlib.decompress(steps.pop())
    for step in reversed(steps):
        first, last = _ENDS.unpack_from(step)
        data = data[:first] + zlib.decompress(step[_ENDS.size :]) + data[len(data) - last :]
    return data


def count_damaged(tx: Reader) -> int:
    """How many stored versions are damaged. Reads each once: a difference is checked by its own checksum and length
    only, for its base is checked in its turn."""
    found, after = 0, ""
    while True:
        last, wrong = count_damaged_after(tx, after, 1)
        if last is None:
            return found
        found, after = found + wrong, last


def count_damaged_after(tx: Reader, after: str, limit: int) -> tuple[str | None, int]:
    """The last of the next versions by hash, None if there are none, and how many of them are damaged."""
    rows = tx.all(
        "SELECT hash, size, data, base FROM note_versions WHERE hash > :after ORDER BY hash LIMIT :limit",
        {"after": after, "limit": limit},
    )
    return (str(rows[-1][0]) if rows else None), sum(not _is_whole(tx, row) for row in rows)


def _is_whole(tx: Reader, row: Row) -> bool:
    name, size, data, base = row
    try:
        if base is not None:
            middle, ends = zlib.decompress(data[_ENDS.size :]), sum(_ENDS.unpack_from(data))
            return ends + len(middle) == int(size) and _read_depth(tx, base) is not None
        whole = zlib.decompress(data)
    except (zlib.error, struct.error):
        return False
    return len(whole) == int(size) and compute_digest(whole) == str(name)


def total_size(tx: Reader) -> int:
    """Bytes of all stored versions but those that stand in a file kept as a row."""
    kept = "SELECT 1 FROM note_files k WHERE k.version = note_versions.hash"
    return int(tx.value(f"SELECT COALESCE(SUM(LENGTH(data)), 0) FROM note_versions WHERE NOT EXISTS ({kept})"))


UNNAMED = (
    "NOT EXISTS (SELECT 1 FROM note_change_files f WHERE f.before = note_versions.hash)"
    " AND NOT EXISTS (SELECT 1 FROM note_change_files f WHERE f.after = note_versions.hash)"
    " AND NOT EXISTS (SELECT 1 FROM note_files k WHERE k.version = note_versions.hash)"
    " AND NOT EXISTS (SELECT 1 FROM note_versions v WHERE v.base = note_versions.hash)"
)
"""Of a row of ``note_versions``: no change, no file and no other version needs it."""


def delete_unreferenced(tx: Writer) -> None:
    """Delete versions that no change and no file names and no other version is based on."""
    while tx.run(f"DELETE FROM note_versions WHERE {UNNAMED}"):
        continue


def forget_unreferenced(tx: Writer, names: Iterable[str]) -> None:
    """``delete_unreferenced`` for these versions, and those they are based on."""
    left = list(names)
    while left:
        name = left.pop()
        base = tx.value("SELECT base FROM note_versions WHERE hash = :hash", {"hash": name})
        if tx.run(f"DELETE FROM note_versions WHERE hash = :hash AND {UNNAMED}", {"hash": name}) and base:
            left.append(base)
