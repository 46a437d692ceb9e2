"""Reads links page by page, each with its ordinal, which identifies it within its note."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from vaults.db.sql import Reader, Row
from vaults.graph.names import note_names
from vaults.markdown.link import LinkKind


@dataclass(frozen=True, slots=True)
class ResolvedLink:
    """A link, the note it stands in, and the note it means."""

    note: int  # number of the note it stands in
    path: str
    ordinal: int
    line: int
    kind: LinkKind
    target: str
    key: str  # of the name it gives; '' for a link inside its note
    heading: str
    block: str
    alias: str
    embed: bool
    meant: int | None  # number of the note it means; None: none, or several
    leads: str | None  # path of that note


_FROM = (
    "SELECT s.seq, s.path, l.ordinal, l.line, l.kind, l.target, l.target_key, l.heading, l.block, l.alias, l.embed,"
    " l.meant, t.path FROM note_links l JOIN notes s ON s.seq = l.note LEFT JOIN notes t ON t.seq = l.meant"
)

LinkPosition = tuple[str, int]
"""Path and ordinal of the last link of the page before."""

FIRST_POSITION: LinkPosition = ("", -1)


def read_links_to(tx: Reader, note: int, after: LinkPosition, limit: int) -> list[ResolvedLink]:
    """Links of other notes that mean this one, by path and ordinal."""
    rows = tx.all(
        f"{_FROM} WHERE l.meant = :note AND l.note <> :note"
        " AND (s.path > :path OR s.path = :path AND l.ordinal > :place) ORDER BY s.path, l.ordinal LIMIT :limit",
        {"note": note, "path": after[0], "place": after[1], "limit": limit},
    )
    return [_to_link(row) for row in rows]


def count_links_to(tx: Reader, note: int) -> int:
    """How many links of other notes mean this one."""
    return int(tx.value("SELECT COUNT(*) FROM note_links WHERE meant = :note AND note <> :note", {"note": note}))


def read_links_from(tx: Reader, note: int, after: LinkPosition, limit: int) -> list[ResolvedLink]:
    """All links of a note, in order."""
    rows = tx.all(
        f"{_FROM} WHERE l.note = :note AND l.ordinal > :place ORDER BY l.ordinal LIMIT :limit",
        {"note": note, "place": after[1], "limit": limit},
    )
    return [_to_link(row) for row in rows]


def count_links_from(tx: Reader, note: int) -> int:
    """How many links a note has."""
    return int(tx.value("SELECT COUNT(*) FROM note_links WHERE note = :note", {"note": note}))


def read_links_naming(tx: Reader, key: str, after: LinkPosition, limit: int) -> list[ResolvedLink]:
    """Unresolved links by a name, by path and ordinal: no note goes by it, or several do."""
    rows = tx.all(
        f"{_FROM} WHERE l.target_key = :key AND l.meant IS NULL"
        " AND (s.path > :path OR s.path = :path AND l.ordinal > :place) ORDER BY s.path, l.ordinal LIMIT :limit",
        {"key": key, "path": after[0], "place": after[1], "limit": limit},
    )
    return [_to_link(row) for row in rows]


def count_links_naming(tx: Reader, key: str) -> int:
    """How many unresolved links give a name."""
    return int(tx.value("SELECT COUNT(*) FROM note_links WHERE target_key = :key AND meant IS NULL", {"key": key}))


def read_links_between(tx: Reader, pairs: Iterable[tuple[int, int]], each: int = 1) -> list[ResolvedLink]:
    """The first ``each`` links from one note to the other, for each pair, in order."""
    query = f"{_FROM} WHERE l.note = :source AND l.meant = :target ORDER BY l.ordinal LIMIT :each"
    return [
        _to_link(row)
        for source, target in pairs
        for row in tx.all(query, {"source": source, "target": target, "each": each})
    ]


def read_links_among(tx: Reader, notes: Collection[int], limit: int) -> list[ResolvedLink]:
    """The first link in each direction between any two of some notes, by numbers."""
    inside = ", ".join(map(str, sorted(notes)))
    rows = tx.all(
        f"{_FROM} JOIN (SELECT note, meant, MIN(ordinal) AS first FROM note_links WHERE note IN ({inside})"
        f" AND meant IN ({inside}) AND meant <> note GROUP BY note, meant ORDER BY note, meant LIMIT :limit) f"
        " ON l.note = f.note AND l.ordinal = f.first ORDER BY l.note, l.meant",
        {"limit": limit},
    )
    return [_to_link(row) for row in rows]


def count_links_among(tx: Reader, notes: Collection[int]) -> dict[tuple[int, int], int]:
    """How often some notes link to each other."""
    inside = frozenset(notes)
    rows = tx.all(
        "SELECT note, meant, COUNT(*) FROM note_links WHERE meant IS NOT NULL AND meant <> note GROUP BY note, meant"
    )
    return {(int(a), int(b)): int(many) for a, b, many in rows if a in inside and b in inside}


def find_fitting_paths(tx: Reader, key: str, most: int) -> list[str]:
    """Paths of notes that go by a name, for a link that means none or several of them."""
    return sorted(candidate.path for _, candidate in note_names.find_notes(tx, key))[:most] if key else []


def read_survival(tx: Reader, note: int) -> dict[int, int]:
    """By number of another note: how many edits of its note the oldest link between the two has outlived, in either
    direction. A link without a record of its addition counts from the first time its note was seen."""
    query = (
        "SELECT {other}, COALESCE(e.edits, 0), COALESCE(MAX(h.edit), 0)"
        " FROM note_links l JOIN notes n ON n.seq = l.note LEFT JOIN note_edits e ON e.path = n.path"
        " LEFT JOIN link_history h ON h.path = n.path AND h.target = l.target_key AND h.added = 1"
        " WHERE {where} AND l.meant <> l.note GROUP BY l.note, l.target_key, l.meant"
    )
    found: dict[int, int] = {}
    for other, where in (("l.meant", "l.note = :note AND l.meant IS NOT NULL"), ("l.note", "l.meant = :note")):
        for number, edits, came in tx.all(query.format(other=other, where=where), {"note": note}):
            found[int(number)] = max(found.get(int(number), 0), int(edits) - int(came))
    return found


def count_outlived_edits(tx: Reader, path: str, key: str) -> int:
    """How many edits of its note a link to a name has outlived since it was last added."""
    edits = int(tx.value("SELECT edits FROM note_edits WHERE path = :path", {"path": path}) or 0)
    came = tx.value(
        "SELECT MAX(edit) FROM link_history WHERE path = :path AND target = :target AND added = 1",
        {"path": path, "target": key},
    )
    return max(0, edits - int(came or 0))


def _to_link(row: Row) -> ResolvedLink:
    *others, embed, meant, leads = row
    return ResolvedLink(*[*others, bool(embed), meant, leads])
