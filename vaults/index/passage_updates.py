"""Making a note's blocks its passages, touching the rows of those that changed and no other.

A passage of a note names its block: ``source_hash`` is the block's digest and the passage's place in it. Ordinals leave
room, so that what is put in between two passages renumbers neither. The text around a passage is no column here, as it
is for turns of a conversation: a note's passage stands under its headings, which say what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vaults.db.sql import Writer
from vaults.index import embeddings, passages
from vaults.index.blocks import IndexBlock
from vaults.index.items import SearchItem
from vaults.index.neighbours import PLAIN_PREFIX, REACH, neighbour_numbers
from vaults.index.passages import Passage

ORDINAL_GAP = 1 << 20
"""Numbers between the ordinals of two passages, at first."""

_OWN_COLUMNS = {"modified_at", "source_hash"}
"""Columns that are the passage's own: when it was cut, and from what."""


class StoredPassage(NamedTuple):
    """A passage that is there."""

    seq: int
    ordinal: int
    source: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to be, and the name of its place in its block."""

    source: str
    passage: Passage


def update_passages(
    tx: Writer, item: SearchItem, labels: str, blocks: Sequence[IndexBlock], max_tokens: int
) -> list[int]:
    """Make ``blocks`` the item's passages; returns the numbers of those that are new and still need a vector.
    ``labels`` are the words it is found by beside its text."""
    held = [
        StoredPassage._make(row)
        for row in tx.all(
            "SELECT seq, ordinal, source_hash, text_hash FROM passages WHERE kind = 'note' AND item = ?"
            " ORDER BY ordinal",
            (item.number,),
        )
    ]
    shared = item.columns() | {"kind": item.kind, "item": item.number, "sequence": sequence_of(item), "place": 0}
    if held:
        _update_shared(tx, shared, held, labels)
    first, last, changed = _difference(held, blocks)
    fresh = [
        NewPassage(f"{block.digest}:{number}", passage)
        for block in changed
        for number, passage in enumerate(block.cut(max_tokens, labels))
    ]
    return _replace(tx, shared, held, (first, last), fresh)


def sequence_of(item: SearchItem) -> str:
    """What the passages of a note are in a row with: each other."""
    return f"{PLAIN_PREFIX}{item.number}"


def _update_shared(tx: Writer, shared: dict[str, object], held: Sequence[StoredPassage], labels: str) -> None:
    """Let passages that stay say what all of the item's say, where that changed."""
    names = [name for name in shared if name not in _OWN_COLUMNS]
    *row, said = tx.one(f"SELECT {', '.join(names)}, labels FROM passages WHERE seq = ?", (held[0].seq,)) or (None,)
    keys = {"kind": shared["kind"], "item": shared["item"]}
    if row != [shared[name] for name in names]:
        sets = ", ".join(f"{name} = :{name}" for name in names)
        tx.run(f"UPDATE passages SET {sets} WHERE kind = :kind AND item = :item", shared)
    if said != labels:
        tx.run("UPDATE passages SET labels = :labels WHERE kind = :kind AND item = :item", keys | {"labels": labels})
        # Pairs of characters are of labels, too.
        for seq, title, body in tx.all(
            "SELECT seq, title, body FROM passages WHERE kind = :kind AND item = :item", keys
        ):
            tx.run("DELETE FROM passages_pairs WHERE rowid = ?", (seq,))
            passages.index_pairs(tx, seq, Passage(title, body, labels))


def _difference(held: Sequence[StoredPassage], blocks: Sequence[IndexBlock]) -> tuple[int, int, Sequence[IndexBlock]]:
    """Which rows, ``held[first:last]``, give way to which blocks."""
    starts = [number for number, row in enumerate(held) if row.source.endswith(":0")]
    old = [held[start].source[:-2] for start in starts]
    new = [block.digest for block in blocks]
    starts.append(len(held))
    same = min(len(old), len(new))
    head = next((number for number in range(same) if old[number] != new[number]), same)
    same -= head
    tail = next((number for number in range(same) if old[-1 - number] != new[-1 - number]), same)
    return starts[head] if head < len(starts) else len(held), starts[len(old) - tail], blocks[head : len(new) - tail]


def _replace(
    tx: Writer,
    shared: dict[str, object],
    held: Sequence[StoredPassage],
    span: tuple[int, int],
    fresh: Sequence[NewPassage],
) -> list[int]:
    first, last = span
    gone = {row.text_hash: row for row in held[first:last]}
    if not gone and not fresh:
        return []
    kept = {row.seq for each in fresh if (row := gone.get(each.passage.text_hash))}
    passages.delete_passages(tx, [row.seq for row in held[first:last] if row.seq not in kept])
    numbers, new = _write(tx, shared, fresh, gone, _ordinals(tx, held, span, len(fresh), kept))
    before, after = held[max(0, first - 2 * REACH) : first], held[last : last + 2 * REACH]
    line = [*(row.seq for row in before), *numbers, *(row.seq for row in after)]
    if len(line) > 1 or not new:  # a new one that stands alone says so already
        _refresh_surroundings(tx, line, len(before), len(before) + len(numbers))
    return new


def _write(
    tx: Writer,
    shared: dict[str, object],
    fresh: Sequence[NewPassage],
    gone: dict[str, StoredPassage],
    ordinals: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Rows for the new passages, those of the same text taken over; all their numbers, and those of new rows."""
    numbers, new = [], []
    for each, ordinal in zip(fresh, ordinals, strict=True):
        row = gone.pop(each.passage.text_hash, None)
        if row is not None:
            where = (ordinal, each.source, row.seq)
            tx.run("UPDATE passages SET ordinal = ?, source_hash = ? WHERE seq = ?", where)
            numbers.append(row.seq)
            continue
        columns = {"ordinal": ordinal, "source_hash": each.source}
        numbers.append(tx.insert(passages.INSERT, shared | each.passage.columns() | columns))
        passages.index_pairs(tx, numbers[-1], each.passage)
        new.append(numbers[-1])
    return numbers, new


def _ordinals(
    tx: Writer, held: Sequence[StoredPassage], span: tuple[int, int], count: int, kept: set[int]
) -> Sequence[int]:
    """Numbers between those of the rows around the span; where there is no room all are numbered anew."""
    first, last = span
    left = held[first - 1].ordinal if first else 0
    if last == len(held):
        numbers: Sequence[int] = range(left + ORDINAL_GAP, left + ORDINAL_GAP * (count + 1), ORDINAL_GAP)
    else:
        step = (held[last].ordinal - left) // (count + 1)
        if step < 1:
            _renumber(tx, held, span, count)
            return range(ORDINAL_GAP * (first + 1), ORDINAL_GAP * (first + count + 1), ORDINAL_GAP)
        numbers = range(left + step, left + step * (count + 1), step)
    # Out of the way, so that no two bear one number while they trade places.
    tx.many("UPDATE passages SET ordinal = -seq WHERE seq = ?", [(seq,) for seq in kept])
    return numbers


def _renumber(tx: Writer, held: Sequence[StoredPassage], span: tuple[int, int], count: int) -> None:
    first, last = span
    rows = [row.seq for row in held]
    tx.many("UPDATE passages SET ordinal = -seq WHERE seq = ?", [(seq,) for seq in rows])
    places = [(ORDINAL_GAP * (number + 1), seq) for number, seq in enumerate(rows[:first])]
    places += [(ORDINAL_GAP * (number + count + first + 1), seq) for number, seq in enumerate(rows[last:])]
    tx.many("UPDATE passages SET ordinal = ? WHERE seq = ?", places)


def _refresh_surroundings(tx: Writer, line: Sequence[int], first: int, last: int) -> None:
    """Write down what stands around ``line[first:last]``, the new ones, and around the ``REACH`` on either side."""
    places = range(max(0, first - REACH), min(len(line), last + REACH))
    tx.many(
        "UPDATE passages SET near = ? WHERE seq = ?",
        [(neighbour_numbers(line, place), line[place]) for place in places],
    )


def embed_or_enqueue(tx: Writer, model: str | None, numbers: Sequence[int]) -> bool:
    """Give passages the vectors the vault has for their texts, and queue the others; whether any is owed."""
    if not numbers:
        return False
    if model is None:
        embeddings.enqueue(tx, numbers)
        return True
    some = ", ".join(map(str, numbers))
    texts = {int(row[0]): row[1] for row in tx.all(f"SELECT seq, text_hash FROM passages WHERE seq IN ({some})")}
    known = embeddings.find_by_hash(tx, model, list(dict.fromkeys(texts.values())))
    embeddings.store(tx, model, [(seq, text, known[text]) for seq, text in texts.items() if text in known])
    owed = [seq for seq, text in texts.items() if text not in known]
    embeddings.enqueue(tx, owed)
    return bool(owed)
