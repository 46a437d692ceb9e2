"""Facts about notes that the graph does not hold: size, age, fields, and recently added links."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.graph.names import note_names

SIZE, FIELDS, OUT, INTO = 2_000, 3, 3, 2
"""Bytes, frontmatter fields, outgoing and incoming links with which a note counts as mature in each respect."""

MAX_ROWS = 20_000
"""Max recently added links that are examined, newest first."""


@dataclass(frozen=True, slots=True)
class NoteMaturity:
    """A note's size in bytes, and number of frontmatter fields."""

    size: int
    fields: int

    def parts(self, out: int, into: int) -> dict[str, float]:
        """How mature it is in each respect, 0 to 1."""
        grown = {"size": self.size / SIZE, "fields": self.fields / FIELDS, "out": out / OUT, "in": into / INTO}
        return {name: min(1.0, value) for name, value in grown.items()}


def read_all(tx: Reader) -> dict[int, NoteMaturity]:
    """The facts about every note, by number."""
    rows = tx.all("SELECT seq, size, frontmatter FROM notes")
    return {int(seq): NoteMaturity(int(size), _count_fields(text)) for seq, size, text in rows}


def _count_fields(frontmatter: str) -> int:
    return len(json.loads(frontmatter)) if len(frontmatter) > len("{}") else 0


def read_unchanged(tx: Reader, before: str) -> list[tuple[int, str]]:
    """Notes last changed before a moment, and when."""
    older = "SELECT seq, modified_at FROM notes WHERE modified_at < :before ORDER BY modified_at"
    rows = tx.all(older, {"before": before})
    return [(int(seq), str(at)) for seq, at in rows]


def read_last_changes(tx: Reader) -> dict[int, str]:
    """When each note was last changed, by number."""
    return {int(seq): str(at) for seq, at in tx.all("SELECT seq, modified_at FROM notes")}


def read_gained_links(tx: Reader, since: str) -> dict[int, set[str]]:
    """Paths of the notes that began to link to each note since a moment. A link whose name fits several notes counts
    for none."""
    rows = tx.all(
        "SELECT path, target FROM link_history WHERE at >= :since AND added = 1 ORDER BY seq DESC LIMIT :limit",
        {"since": since, "limit": MAX_ROWS},
    )
    by: dict[str, set[str]] = defaultdict(set)
    for path, target in rows:
        by[target].add(path)
    found: dict[int, set[str]] = defaultdict(set)
    for target, paths in by.items():
        numbers = [number for number, _ in note_names.find_notes(tx, target)]
        if len(numbers) == 1:
            found[numbers[0]] |= paths
    return found


def count_links(tx: Reader, inside: Collection[int]) -> dict[str, float]:
    """The number of links, and of those that lead to no note."""
    rows = tx.all("SELECT note, COUNT(*), SUM(CASE WHEN meant IS NULL THEN 1 ELSE 0 END) FROM note_links GROUP BY note")
    kept = [(int(links), int(open_ended)) for note, links, open_ended in rows if note in inside]
    return {"links": sum(links for links, _ in kept), "without_note": sum(each for _, each in kept)}
