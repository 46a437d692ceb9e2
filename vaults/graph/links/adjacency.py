"""How some notes are connected, read at once: what a search asks of the graph. Numbers are rows of their tables."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from vaults.db.sql import Reader

NumberPair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class NoteNames:
    """A note and all its names."""

    number: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeighbourNote:
    """A note linked with another."""

    path: str
    title: str


@dataclass(frozen=True, slots=True)
class LinkedNotes:
    """Notes that link to a note and notes it links to, the most central first, and how many there are of each."""

    backlinks: tuple[NeighbourNote, ...] = ()
    outlinks: tuple[NeighbourNote, ...] = ()
    backlinks_total: int = 0
    outlinks_total: int = 0


def read_linked_notes(tx: Reader, notes: Collection[int], most: int) -> dict[int, LinkedNotes]:
    """For each of ``notes``, ``most`` of the notes it is linked with, in either direction."""
    if not notes:
        return {}
    into = _rank_linked(tx, "l.meant", "l.note", notes, most)
    out = _rank_linked(tx, "l.note", "l.meant", notes, most)
    nothing: tuple[tuple[NeighbourNote, ...], int] = ((), 0)
    return {
        note: LinkedNotes(back[0], forth[0], back[1], forth[1])
        for note in notes
        for back, forth in [(into.get(note, nothing), out.get(note, nothing))]
    }


def _rank_linked(
    tx: Reader, own: str, other: str, notes: Collection[int], most: int
) -> dict[int, tuple[tuple[NeighbourNote, ...], int]]:
    """By note at the ``own`` end: the notes at the other end, and how many there are."""
    pairs = f"SELECT DISTINCT {own} AS own, {other} AS other FROM note_links l WHERE {own} IN ({_join_numbers(notes)})"
    rows = tx.all(
        "SELECT own, path, title, times FROM (SELECT p.own, n.path, n.title,"
        " COUNT(*) OVER (PARTITION BY p.own) AS times,"
        " ROW_NUMBER() OVER (PARTITION BY p.own ORDER BY COALESCE(s.hub, 0) DESC, n.path) AS place"
        f" FROM ({pairs}) p JOIN notes n ON n.seq = p.other LEFT JOIN note_scores s ON s.note = n.seq"
        " WHERE p.own <> p.other) r WHERE place <= :most ORDER BY own, place",
        {"most": most},
    )
    found: dict[int, list[NeighbourNote]] = defaultdict(list)
    times = {}
    for own_number, path, title, number in rows:
        found[int(own_number)].append(NeighbourNote(path, title))
        times[int(own_number)] = int(number)
    return {note: (tuple(several), times[note]) for note, several in found.items()}


def read_note_links(tx: Reader, some: Collection[int], others: Collection[int]) -> list[NumberPair]:
    """Links between ``some`` and ``others``, in either direction, each pair once: from, and to."""
    if not some or not others:
        return []
    one, other = _join_numbers(some), _join_numbers(others)
    rows = tx.all(
        f"SELECT note, meant FROM note_links WHERE meant IN ({other}) AND note IN ({one})"
        f" UNION SELECT note, meant FROM note_links WHERE meant IN ({one}) AND note IN ({other})"
    )
    return [(int(note), int(meant)) for note, meant in rows if note != meant]


def find_hubs(tx: Reader, notes: Collection[int], most: int) -> set[int]:
    """Those of ``notes`` that more than ``most`` notes link to; none is counted further than that."""
    if not notes:
        return set()
    sources = f"SELECT DISTINCT l.note FROM note_links l WHERE l.meant = n.seq LIMIT {int(most) + 1}"
    rows = tx.all(
        f"SELECT n.seq, (SELECT COUNT(*) FROM ({sources}) s) FROM notes n WHERE n.seq IN ({_join_numbers(notes)})"
    )
    return {int(note) for note, times in rows if int(times) > most}


def read_memory_links(tx: Reader, memories: Collection[int], notes: Collection[int]) -> list[NumberPair]:
    """Which of ``memories`` somebody linked to which of ``notes``. The caller has to know who may see a memory."""
    if not memories or not notes:
        return []
    rows = tx.all(
        "SELECT DISTINCT s.from_memory, n.seq FROM memory_subjects s JOIN notes n ON n.path = s.subject"
        f" WHERE s.kind = 'note' AND s.from_memory IN ({_join_numbers(memories)}) AND n.seq IN ({_join_numbers(notes)})"
    )
    return [(int(memory), int(note)) for memory, note in rows]


def read_note_names(tx: Reader, notes: Collection[int]) -> list[NoteNames]:
    """Title, file name and aliases of ``notes``."""
    if not notes:
        return []
    rows = tx.all(f"SELECT seq, title, path, aliases FROM notes WHERE seq IN ({_join_numbers(notes)})")
    return [
        NoteNames(int(number), (title, PurePosixPath(path).stem, *(json.loads(aliases) if aliases != "[]" else ())))
        for number, title, path, aliases in rows
    ]


def _join_numbers(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in sorted(numbers))
