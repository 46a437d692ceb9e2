"""Turns a note's blocks into its passages, touching only the rows of blocks that changed.

A passage of a note names its block: ``source_hash`` is the block's digest and the passage's place in it. Ordinals leave
gaps, so that inserting between two passages renumbers neither. The text around a passage is no column here, as it is
for turns of a conversation: a note's passage has its headings, which say what it is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from vaults.db.sql import Writer
from vaults.index import embeddings, passages, text_index
from vaults.index.blocks import IndexBlock
from vaults.index.items import SearchItem
from vaults.index.neighbours import NOTE_PREFIX, REACH, neighbour_numbers
from vaults.index.passages import Passage

ORDINAL_GAP = 1 << 20
"""Initial distance between the ordinals of two passages."""

_OWN_COLUMNS = {"modified_at", "source_hash"}
"""Columns that differ by passage: when it was cut, and from what."""


class StoredPassage(NamedTuple):
    """A passage as stored."""

    seq: int
    ordinal: int
    source: str
    text_hash: str


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to store, and the name of its place in its block."""

    source: str
    passage: Passage


def update_passages(
    tx: Writer, item: SearchItem, labels: str, blocks: Sequence[IndexBlock], max_tokens: int
) -> list[int]:
    """Make ``blocks`` the item's passages; returns the numbers of those that are new and still need a vector.
    ``labels`` are the words it is found by besides its text."""
    stored = [
        StoredPassage._make(row)
        for row in tx.all(
            "SELECT seq, ordinal, source_hash, text_hash FROM passages WHERE kind = 'note' AND item = :item"
            " ORDER BY ordinal",
            {"item": item.number},
        )
    ]
    shared = item.columns() | {"kind": item.kind, "item": item.number, "sequence": sequence_of(item), "place": 0}
    if stored:
        _update_shared(tx, shared, stored, labels)
    first, last, changed = _difference(stored, blocks)
    fresh = [
        NewPassage(f"{block.digest}:{number}", passage)
        for block in changed
        for number, passage in enumerate(block.cut(max_tokens, labels))
    ]
    return _replace(tx, shared, stored, (first, last), fresh)


def sequence_of(item: SearchItem) -> str:
    """The sequence of a note's passages: their own."""
    return f"{NOTE_PREFIX}{item.number}"


def _update_shared(tx: Writer, shared: dict[str, object], stored: Sequence[StoredPassage], labels: str) -> None:
    """Update the columns all passages of the item share, where they changed."""
    names = [name for name in shared if name not in _OWN_COLUMNS]
    *row, before = tx.one(
        f"SELECT {', '.join(names)}, labels FROM passages WHERE seq = :seq", {"seq": stored[0].seq}
    ) or (None,)
    keys = {"kind": shared["kind"], "item": shared["item"]}
    if row != [shared[name] for name in names]:
        sets = ", ".join(f"{name} = :{name}" for name in names)
        tx.run(f"UPDATE passages SET {sets} WHERE kind = :kind AND item = :item", shared)
    if before != labels:
        tx.run("UPDATE passages SET labels = :labels WHERE kind = :kind AND item = :item", keys | {"labels": labels})
        # Pairs of characters are taken from labels, too.
        for seq, title, body in tx.all(
            "SELECT seq, title, body FROM passages WHERE kind = :kind AND item = :item", keys
        ):
            text_index.drop_pairs(tx, [seq])
            text_index.add_pairs(tx, seq, Passage(title, body, labels).grams)


def _difference(stored: Sequence[StoredPassage], blocks: Sequence[IndexBlock]) -> tuple[int, int, Sequence[IndexBlock]]:
    """Which rows, ``stored[first:last]``, are replaced by which blocks."""
    starts = [number for number, row in enumerate(stored) if row.source.endswith(":0")]
    old = [stored[start].source[:-2] for start in starts]
    new = [block.digest for block in blocks]
    starts.append(len(stored))
    same = min(len(old), len(new))
    head = next((number for number in range(same) if old[number] != new[number]), same)
    same -= head
    tail = next((number for number in range(same) if old[-1 - number] != new[-1 - number]), same)
    return starts[head] if head < len(starts) else len(stored), starts[len(old) - tail], blocks[head : len(new) - tail]


def _replace(
    tx: Writer,
    shared: dict[str, object],
    stored: Sequence[StoredPassage],
    span: tuple[int, int],
    fresh: Sequence[NewPassage],
) -> list[int]:
    first, last = span
    gone = {row.text_hash: row for row in stored[first:last]}
    if not gone and not fresh:
        return []
    kept = {row.seq for each in fresh if (row := gone.get(each.passage.text_hash))}
    passages.delete_passages(tx, [row.seq for row in stored[first:last] if row.seq not in kept])
    numbers, new = _write(tx, shared, fresh, gone, _ordinals(tx, stored, span, len(fresh), kept))
    before, after = stored[max(0, first - 2 * REACH) : first], stored[last : last + 2 * REACH]
    line = [*(row.seq for row in before), *numbers, *(row.seq for row in after)]
    if len(line) > 1 or not new:  # a single new row has no neighbours to record
        _refresh_surroundings(tx, line, len(before), len(before) + len(numbers))
    return new


def _write(
    tx: Writer,
    shared: dict[str, object],
    fresh: Sequence[NewPassage],
    gone: dict[str, StoredPassage],
    ordinals: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Write rows for the new passages, reusing those of the same text; returns all their numbers, and the new ones."""
    numbers, new = [], []
    for each, ordinal in zip(fresh, ordinals, strict=True):
        row = gone.pop(each.passage.text_hash, None)
        if row is not None:
            tx.run(
                "UPDATE passages SET ordinal = :ordinal, source_hash = :source WHERE seq = :seq",
                {"ordinal": ordinal, "source": each.source, "seq": row.seq},
            )
            numbers.append(row.seq)
            continue
        columns = {"ordinal": ordinal, "source_hash": each.source}
        numbers.append(tx.insert(passages.INSERT, shared | each.passage.columns() | columns))
        text_index.add_pairs(tx, numbers[-1], each.passage.grams)
        new.append(numbers[-1])
    return numbers, new


def _ordinals(
    tx: Writer, stored: Sequence[StoredPassage], span: tuple[int, int], count: int, kept: set[int]
) -> Sequence[int]:
    """Ordinals between those of the rows around the span; where there is no room, all rows are renumbered."""
    first, last = span
    left = stored[first - 1].ordinal if first else 0
    if last == len(stored):
        numbers: Sequence[int] = range(left + ORDINAL_GAP, left + ORDINAL_GAP * (count + 1), ORDINAL_GAP)
    else:
        step = (stored[last].ordinal - left) // (count + 1)
        if step < 1:
            _renumber(tx, stored, span, count)
            return range(ORDINAL_GAP * (first + 1), ORDINAL_GAP * (first + count + 1), ORDINAL_GAP)
        numbers = range(left + step, left + step * (count + 1), step)
    # Out of the way, so that no two have one ordinal while they trade places.
    tx.many("UPDATE passages SET ordinal = -seq WHERE seq = :seq", [{"seq": seq} for seq in kept])
    return numbers


def _renumber(tx: Writer, stored: Sequence[StoredPassage], span: tuple[int, int], count: int) -> None:
    first, last = span
    rows = [row.seq for row in stored]
    tx.many("UPDATE passages SET ordinal = -seq WHERE seq = :seq", [{"seq": seq} for seq in rows])
    places = [*enumerate(rows[:first], 1), *enumerate(rows[last:], first + count + 1)]
    tx.many(
        "UPDATE passages SET ordinal = :ordinal WHERE seq = :seq",
        [{"ordinal": ORDINAL_GAP * place, "seq": seq} for place, seq in places],
    )


def _refresh_surroundings(tx: Writer, line: Sequence[int], first: int, last: int) -> None:
    """Store the neighbours of ``line[first:last]``, the new ones, and of the ``REACH`` rows on either side."""
    places = range(max(0, first - REACH), min(len(line), last + REACH))
    tx.many(
        "UPDATE passages SET near = :near WHERE seq = :seq",
        [{"near": neighbour_numbers(line, place), "seq": line[place]} for place in places],
    )


def embed_or_enqueue(
    tx: Writer, model: str | None, numbers: Sequence[int], kept: Mapping[str, bytes] = MappingProxyType({})
) -> bool:
    """Give passages the vectors the vault has for their texts, or those in ``kept`` by the hash of a text, and queue
    the others; returns whether any was queued."""
    if not numbers:
        return False
    if model is None:
        embeddings.enqueue(tx, numbers)
        return True
    some = ", ".join(map(str, numbers))
    rows = tx.all(f"SELECT seq, text_hash FROM passages WHERE seq IN ({some})")
    texts = {int(seq): text_hash for seq, text_hash in rows}
    known = embeddings.find_by_hash(tx, model, [each for each in dict.fromkeys(texts.values()) if each not in kept])
    known.update((each, kept[each]) for each in texts.values() if each in kept)
    embeddings.store(tx, model, [(seq, text, known[text]) for seq, text in texts.items() if text in known])
    missing = [seq for seq, text in texts.items() if text not in known]
    embeddings.enqueue(tx, missing)
    return bool(missing)
