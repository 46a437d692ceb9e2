"""What the rows tell of notes that the graph does not: size, age, fields, and which links came lately."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from vaults.db.sql import Reader
from vaults.graph.names import note_names

SIZE, FIELDS, OUT, INTO = 2_000, 3, 3, 2
"""Bytes, fields of frontmatter, links to others and from others, with which a note counts as grown in each."""

MAX_ROWS = 20_000
"""Links that came lately which are looked at, newest first."""


@dataclass(frozen=True, slots=True)
class NoteMaturity:
    """What is known of a note."""

    size: int
    fields: int

    def parts(self, out: int, into: int) -> dict[str, float]:
        """How grown it is in each respect, 0 to 1."""
        grown = {"size": self.size / SIZE, "fields": self.fields / FIELDS, "out": out / OUT, "in": into / INTO}
        return {name: min(1.0, value) for name, value in grown.items()}


def read_all(tx: Reader) -> dict[int, NoteMaturity]:
    """Every note."""
    rows = tx.all("SELECT seq, size, frontmatter FROM notes")
    return {int(seq): NoteMaturity(int(size), _count_fields(said)) for seq, size, said in rows}


def _count_fields(said: str) -> int:
    return len(json.loads(said)) if len(said) > len("{}") else 0


def read_unchanged(tx: Reader, before: str) -> list[tuple[int, str]]:
    """Notes that were last changed before a moment, and when."""
    rows = tx.all("SELECT seq, modified_at FROM notes WHERE modified_at < ? ORDER BY modified_at", (before,))
    return [(int(seq), str(at)) for seq, at in rows]


def read_gained_links(tx: Reader, since: str) -> dict[int, set[str]]:
    """Which notes began to link to each since a moment, by their paths. A link whose name fits several notes counts for
    none."""
    rows = tx.all(
        "SELECT path, target FROM link_history WHERE at >= ? AND added = 1 ORDER BY seq DESC LIMIT ?",
        (since, MAX_ROWS),
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
    """Links as they are written, and those that mean no note."""
    rows = tx.all("SELECT note, COUNT(*), SUM(CASE WHEN meant IS NULL THEN 1 ELSE 0 END) FROM note_links GROUP BY note")
    kept = [(int(links), int(open_ended)) for note, links, open_ended in rows if note in inside]
    return {"links": sum(links for links, _ in kept), "without_note": sum(each for _, each in kept)}
