"""Updates the last passages of a sequence that is written as a whole, such as a transcript that grows.

Unlike ``passages.store``, which knows one item at a time, this knows all rows that follow, so that each is written once
with the text around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaults.db.sql import Reader, Writer
from vaults.index import embeddings, passages, text_index
from vaults.index.neighbours import (
    NO_SURROUNDINGS,
    PLAIN_PREFIXES,
    REACH,
    SequenceMember,
    neighbour_numbers,
    surroundings_of,
)
from vaults.index.shelves import shelf_of
from vaults.index.unspaced_scripts import to_pairs

PassageRow = dict[str, Any]
"""The values of ``passages.COLUMNS``."""

_AROUND = ("before", "after")
_STORED = ("seq", *passages.COLUMNS, *_AROUND)
_PAIRED = ("title", "body", "labels")


def replace_tail(tx: Writer, sequence: str, place: int, rows: Sequence[PassageRow]) -> list[int]:
    """Make ``rows`` the passages of a sequence from ``place`` on, in order; returns the numbers of those whose text is
    new. One whose text did not change keeps its number and its vector."""
    stored = _read_tail(tx, sequence, place)
    earlier = _read_before(tx, sequence, place)
    line = [*earlier, *(SequenceMember(0, row["body"]) for row in rows)]
    known = [stored.pop((row["item"], row["ordinal"]), None) for row in rows]
    fresh = iter(passages.reserve_numbers(tx, known.count(None)))
    numbers = [member.seq for member in earlier]
    numbers += [next(fresh) if each is None else int(each["seq"]) for each in known]
    added, new = list[tuple[int, PassageRow]](), list[int]()
    for number, (row, each) in enumerate(zip(rows, known, strict=True), len(earlier)):
        full = row | _text_around(sequence, line, number)
        if each is None:
            added.append((numbers[number], full | {"near": _near(numbers, number)}))
        else:
            _update(tx, each, full)
        if each is None or each["text_hash"] != row["text_hash"]:
            new.append(numbers[number])
    _insert(tx, added)
    if stored:
        kind = next(iter(stored.values()))["kind"]
        passages.delete_passages(tx, [each["seq"] for each in stored.values()], shelf_of(kind))
    first = max(0, len(earlier) - REACH)
    for number in range(first, len(earlier)):
        _write_columns(tx, numbers[number], _text_around(sequence, line, number))
    written = {number for number, _ in added}
    tx.many(
        "UPDATE passages SET near = :near WHERE seq = :seq AND near IS NOT :near",
        [
            {"seq": numbers[number], "near": _near(numbers, number)}
            for number in range(first, len(numbers))
            if numbers[number] not in written
        ],
    )
    return new


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


def _read_tail(tx: Reader, sequence: str, place: int) -> dict[tuple[int, int], dict[str, Any]]:
    rows = tx.all(
        f"SELECT {', '.join(_STORED)} FROM passages WHERE sequence = :sequence AND place >= :place",
        {"sequence": sequence, "place": place},
    )
    found = (dict(zip(_STORED, row, strict=True)) for row in rows)
    return {(each["item"], each["ordinal"]): each for each in found}


def _read_before(tx: Reader, sequence: str, place: int) -> list[SequenceMember]:
    """The last passages before a place, in order: those whose surroundings may change, and what stands before them."""
    rows = tx.all(
        "SELECT seq, body FROM passages WHERE sequence = :sequence AND place < :place"
        " ORDER BY place DESC, item DESC, ordinal DESC LIMIT :most",
        {"sequence": sequence, "place": place, "most": 2 * REACH},
    )
    return [SequenceMember(int(seq), body) for seq, body in reversed(rows)]


def _text_around(sequence: str, line: Sequence[SequenceMember], number: int) -> dict[str, str]:
    if sequence.startswith(PLAIN_PREFIXES):
        return dict.fromkeys(_AROUND, "")
    around = surroundings_of(line, number)
    return {"before": around.before, "after": around.after}


def _near(numbers: Sequence[int], number: int) -> str | None:
    near = neighbour_numbers(numbers, number)
    return None if near == NO_SURROUNDINGS.near else near


def _insert(tx: Writer, added: Sequence[tuple[int, PassageRow]]) -> None:
    """Write new rows under their numbers."""
    passages.insert_rows(tx, [number for number, _ in added], [row for _, row in added])
    for number, row in added:
        _add_pairs(tx, number, row)


def _update(tx: Writer, known: PassageRow, row: PassageRow) -> None:
    """Write what changed of a row: its words are indexed again only if they did."""
    seq = int(known["seq"])
    changed = {name: value for name, value in row.items() if known[name] != value}
    if changed.keys() & set(_PAIRED):
        text_index.drop_pairs(tx, [seq], shelf_of(row["kind"]))
    _write_columns(tx, seq, changed)
    if changed.keys() & set(_PAIRED):
        _add_pairs(tx, seq, row)
    if "text_hash" in changed:
        embeddings.drop(tx, [seq])


def _add_pairs(tx: Writer, seq: int, row: PassageRow) -> None:
    text_index.add_pairs(tx, seq, to_pairs(paired_text(row)), row["owner"], shelf_of(row["kind"]))


def paired_text(row: PassageRow) -> str:
    """The text of a row whose pairs of characters are indexed."""
    return "\n".join(row[name] for name in _PAIRED)


def _write_columns(tx: Writer, seq: int, values: PassageRow) -> None:
    """Change columns of a passage where they differ."""
    if values:
        sets = ", ".join(f"{name} = :{name}" for name in values)
        differs = " OR ".join(f"{name} IS NOT :{name}" for name in values)
        tx.run(f"UPDATE passages SET {sets} WHERE seq = :seq AND ({differs})", {**values, "seq": seq})
