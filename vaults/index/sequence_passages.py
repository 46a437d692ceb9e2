"""Updates the last passages of a sequence that is written as a whole, such as a transcript that grows.

Unlike ``passages.store``, which knows one item at a time, this knows all rows that follow, so that each is written once
with the text around it, many to a statement. Nobody else can write meanwhile: of a book of four million characters, a
quarter of a second goes to FTS5 and half as much to the rows; what could be worked out before stands in them already.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings, passages, text_index
from vaults.index.neighbours import (
    PLAIN_PREFIXES,
    REACH,
    SequenceMember,
    all_neighbour_numbers,
    surroundings_of,
)
from vaults.index.shelves import shelf_of

PassageRow = dict[str, Any]
"""The values of ``passages.COLUMNS``, and under ``pairs`` the passage's pairs of characters."""

_AROUND = ("before", "after")
_WORDS = ("title", "body", "labels")
"""Columns of a passage's own words."""

_COMPARED = (*passages.COLUMNS, *passages.AROUND)
_STORED = ("seq", *_COMPARED)

_values_of, _words_of, _place_of = itemgetter(*_COMPARED), itemgetter(*_WORDS), itemgetter("item", "ordinal")


def replace_tail(tx: Writer, sequence: str, place: int, rows: Sequence[PassageRow]) -> list[int]:
    """Make ``rows`` the passages of a sequence from ``place`` on, in order; returns the numbers of those whose text is
    new. One whose text did not change keeps its number and its vector, also where another came before it. Only what
    changed is written."""
    stored = _read_tail(tx, sequence, place)
    earlier = _read_before(tx, sequence, place)
    known, gone = _match(stored, rows)
    fresh = iter(passages.reserve_numbers(tx, known.count(None)))
    numbers = [member.seq for member in earlier]
    numbers += [next(fresh) if each is None else int(each["seq"]) for each in known]
    near = all_neighbour_numbers(numbers)
    around = _text_around(sequence, [*(member.body for member in earlier), *(row["body"] for row in rows)])
    first = max(0, len(earlier) - REACH)
    _write_around(tx, [(numbers[at], around[at] | {"near": near[at]}) for at in range(first, len(earlier))])
    full = [row | around[at] | {"near": near[at], "seq": numbers[at]} for at, row in enumerate(rows, len(earlier))]
    if gone:
        passages.delete_passages(tx, [each["seq"] for each in gone], shelf_of(gone[0]["kind"]))
    _update(tx, [(was, row) for was, row in zip(known, full, strict=True) if was is not None])
    _insert(tx, [row for was, row in zip(known, full, strict=True) if was is None])
    return [
        row["seq"] for was, row in zip(known, full, strict=True) if was is None or was["text_hash"] != row["text_hash"]
    ]


def _match(
    stored: dict[tuple[int, int], PassageRow], rows: Sequence[PassageRow]
) -> tuple[list[PassageRow | None], list[PassageRow]]:
    """For each row the stored one it takes the place of, and the stored ones that are left: that of the same words in
    the same place, else of the same words or text in another, else of the same place."""
    found: list[PassageRow | None] = []
    for row in rows:
        same = stored.get(_place_of(row))
        is_same = same is not None and _words_of(same) == _words_of(row)
        found.append(stored.pop(_place_of(row)) if is_same else None)
    if stored and None in found:
        for alike in (_words_of, itemgetter("text_hash")):
            _match_moved(stored, rows, found, alike)
        found = [each or stored.pop(_place_of(row), None) for each, row in zip(found, rows, strict=True)]
    return found, list(stored.values())


def _match_moved(
    left: dict[tuple[int, int], PassageRow],
    rows: Sequence[PassageRow],
    found: list[PassageRow | None],
    alike: Callable[[PassageRow], object],
) -> None:
    """Have rows that found none take the first that is left and alike."""
    elsewhere = defaultdict[Any, list[PassageRow]](list)
    for each in reversed(left.values()):
        elsewhere[alike(each)].append(each)
    for at, row in enumerate(rows):
        if found[at] is None and (same := elsewhere.get(alike(row))):
            found[at] = left.pop(_place_of(same.pop()))


def drop_sequence(tx: Writer, sequence: str) -> None:
    """Remove all passages of a sequence from every index."""
    rows = tx.all("SELECT seq, kind FROM passages WHERE sequence = :sequence", {"sequence": sequence})
    if rows:
        passages.delete_passages(tx, [int(seq) for seq, _ in rows], shelf_of(rows[0][1]))


def put_into_collection(tx: Writer, sequence: str, collection: str) -> None:
    """Have all passages of a sequence say that they are of this collection."""
    tx.run(
        "UPDATE passages SET collection = :collection WHERE sequence = :sequence",
        {"collection": collection, "sequence": sequence},
    )


def drop_some(tx: Writer, sequence: str, most: int) -> bool:
    """Remove so many passages of a sequence from every index; returns whether there were as many. For a sequence that
    goes as a whole: the neighbours of what went are not updated."""
    rows = tx.all(
        "SELECT seq, kind FROM passages WHERE sequence = :sequence LIMIT :most", {"sequence": sequence, "most": most}
    )
    if rows:
        passages.delete_passages(tx, [int(seq) for seq, _ in rows], shelf_of(rows[0][1]))
    return len(rows) == most


def _read_tail(tx: Reader, sequence: str, place: int) -> dict[tuple[int, int], PassageRow]:
    """Stored rows in order, by item and ordinal."""
    rows = tx.all(
        f"SELECT {', '.join(_STORED)} FROM passages WHERE sequence = :sequence AND place >= :place"
        " ORDER BY place, item, ordinal",
        {"sequence": sequence, "place": place},
    )
    found = (dict(zip(_STORED, row, strict=True)) for row in rows)
    return {_place_of(each): each for each in found}


def _read_before(tx: Reader, sequence: str, place: int) -> list[SequenceMember]:
    """The last passages before a place, in order: those whose surroundings may change, and what stands before them."""
    rows = tx.all(
        "SELECT seq, body FROM passages WHERE sequence = :sequence AND place < :place"
        " ORDER BY place DESC, item DESC, ordinal DESC LIMIT :most",
        {"sequence": sequence, "place": place, "most": 2 * REACH},
    )
    return [SequenceMember(int(seq), body) for seq, body in reversed(rows)]


def _text_around(sequence: str, bodies: Sequence[str]) -> list[dict[str, str]]:
    """The columns of the text around each passage of a row."""
    if sequence.startswith(PLAIN_PREFIXES):
        return [dict.fromkeys(_AROUND, "")] * len(bodies)
    line = [SequenceMember(0, body) for body in bodies]
    around = (surroundings_of(line, number) for number in range(len(line)))
    return [{"before": each.before, "after": each.after} for each in around]


def _insert(tx: Writer, added: Sequence[PassageRow]) -> None:
    """Write new rows under their numbers."""
    passages.insert_rows(tx, [row["seq"] for row in added], added)
    _add_pairs(tx, added)


def _update(tx: Writer, pairs: Iterable[tuple[PassageRow, PassageRow]]) -> None:
    """Write what changed of rows: their words are indexed again only where they did. Rows that change the same columns
    are written together. One that moves makes room first, so that no two are ever in one place."""
    alike = defaultdict[tuple[str, ...], list[PassageRow]](list)
    moved, reworded, revectored = list[PassageRow](), list[PassageRow](), list[int]()
    for was, row in pairs:
        if _values_of(was) == _values_of(row):
            continue
        is_moved = _place_of(was) != _place_of(row)
        changed = [name for name in _COMPARED if was[name] != row[name] or (is_moved and name == "ordinal")]
        if "text_hash" in changed:
            revectored.append(row["seq"])
        alike[tuple(changed)].append(row)
        if is_moved:
            moved.append({"seq": row["seq"], "ordinal": -row["seq"]})
        if _words_of(was) != _words_of(row):
            reworded.append(row)
    if reworded:
        text_index.drop_pairs(tx, [row["seq"] for row in reworded], shelf_of(reworded[0]["kind"]))
    passages.update_rows(tx, ("ordinal",), moved)
    for columns, rows in alike.items():
        passages.update_rows(tx, columns, rows)
    _add_pairs(tx, reworded)
    embeddings.drop(tx, revectored)


def _add_pairs(tx: Writer, rows: Sequence[PassageRow]) -> None:
    for row in rows:
        text_index.add_pairs(tx, row["seq"], row["pairs"], row["owner"], shelf_of(row["kind"]))


def _write_around(tx: Writer, rows: Sequence[tuple[int, PassageRow]]) -> None:
    """Write the surroundings of passages where they differ."""
    for seq, values in rows:
        sets = ", ".join(f"{name} = :{name}" for name in values)
        differs = " OR ".join(f"{name} IS NOT :{name}" for name in values)
        tx.run(f"UPDATE passages SET {sets} WHERE seq = :seq AND ({differs})", {**values, "seq": seq})
