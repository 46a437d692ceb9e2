"""Turns a note's blocks into its passages, touching only the rows of blocks that changed.

A passage of a note names its block: ``source_hash`` is the block's digest and the passage's place in it. Ordinals leave
gaps, so that inserting between two passages renumbers neither. The text around a passage is no column here, as it is
for turns of a conversation: a note's passage has its headings, which say what it is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

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


_to_stored = partial(tuple.__new__, StoredPassage)  # ``_make`` takes four times as long, and long notes have thousands


@dataclass(frozen=True, slots=True)
class NewPassage:
    """A passage to store, and the name of its place in its block."""

    source: str
    passage: Passage


@dataclass(frozen=True, slots=True)
class _NotePlan:
    """What becomes of one note's passages. ``fresh``: those of the blocks that changed, in order, each with its ordinal
    and, where one with its text is stored already, the number it keeps. ``before`` and ``after``: the rows around."""

    shared: Mapping[str, object]
    fresh: Sequence[tuple[NewPassage, int, int | None]]
    before: Sequence[int]
    after: Sequence[int]


@dataclass(slots=True)
class PassageUpdates:
    """Changes of the passages of some notes, gathered first and then written together, many to a statement.

    FTS5 writes what it gathered as a segment of its own at each statement that has a trigger: writing note by note took
    twice as long. Each note must come once, and none may be dropped, between two calls of ``write``."""

    max_tokens: int
    _gone: list[int] = field(default_factory=list)
    _plans: list[_NotePlan] = field(default_factory=list)

    def add(self, tx: Writer, item: SearchItem, labels: str, blocks: Sequence[IndexBlock]) -> None:
        """Make ``blocks`` the item's passages. ``labels`` are the words it is found by besides its text. What it shares
        with its other passages is written at once."""
        rows = tx.all(
            "SELECT seq, ordinal, source_hash, text_hash FROM passages WHERE kind = 'note' AND item = :item"
            " ORDER BY ordinal",
            {"item": item.number},
        )
        stored = list(map(_to_stored, rows))
        shared = item.columns() | {"kind": item.kind, "item": item.number, "sequence": sequence_of(item), "place": 0}
        if stored:
            _update_shared(tx, shared, stored, labels)
        first, last, changed = _difference(stored, blocks)
        fresh = [
            NewPassage(f"{block.digest}:{number}", passage)
            for block in changed
            for number, passage in enumerate(block.cut(self.max_tokens, labels))
        ]
        if first == last and not fresh:
            return
        left = {row.text_hash: row.seq for row in stored[first:last]}
        kept = [left.pop(each.passage.text_hash, None) for each in fresh]
        held = {seq for seq in kept if seq is not None}
        self._gone += [row.seq for row in stored[first:last] if row.seq not in held]
        ordinals = _ordinals(tx, stored, (first, last), len(fresh), held)
        before, after = stored[max(0, first - 2 * REACH) : first], stored[last : last + 2 * REACH]
        placed = list(zip(fresh, ordinals, kept, strict=True))
        self._plans.append(_NotePlan(shared, placed, [row.seq for row in before], [row.seq for row in after]))

    def write(self, tx: Writer) -> list[int]:
        """Write what was gathered; returns the numbers of passages that are new and still need a vector."""
        if self._gone:
            passages.delete_passages(tx, self._gone)
        numbers = iter(
            passages.reserve_numbers(tx, sum(kept is None for plan in self._plans for _, _, kept in plan.fresh))
        )
        placed = [_place(plan, numbers) for plan in self._plans]
        tx.many(
            "UPDATE passages SET ordinal = :ordinal, source_hash = :source WHERE seq = :seq",
            [each for part in placed for each in part.kept],
        )
        tx.many("UPDATE passages SET near = :near WHERE seq = :seq", [each for part in placed for each in part.near])
        rows = [row for part in placed for row in part.rows]
        new = [int(row["seq"]) for row in rows]
        passages.insert_rows(tx, new, rows)
        for row, grams in zip(rows, [grams for part in placed for grams in part.grams], strict=True):
            text_index.add_pairs(tx, row["seq"], grams)
        self._gone, self._plans = [], []
        return new


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


@dataclass(frozen=True, slots=True)
class _PlacedRows:
    """A plan as rows: new ones, changes of the ones that are kept, and of what stands around any of them."""

    rows: list[dict[str, Any]]
    grams: list[str]  # of the new ones
    kept: list[dict[str, Any]]
    near: list[dict[str, Any]]


def _place(plan: _NotePlan, numbers: Iterator[int]) -> _PlacedRows:
    """Give the new passages their numbers, and tell all, and the ``REACH`` rows on either side, their neighbours."""
    placed = [next(numbers) if kept is None else kept for _, _, kept in plan.fresh]
    line = [*plan.before, *placed, *plan.after]
    first, alone = len(plan.before), len(line) == 1
    found = _PlacedRows([], [], [], [])
    for place, (each, ordinal, kept) in enumerate(plan.fresh, first):
        if kept is not None:
            found.kept.append({"ordinal": ordinal, "source": each.source, "seq": kept})
            continue
        own = {"ordinal": ordinal, "source_hash": each.source, "seq": line[place]}
        near = None if alone else neighbour_numbers(line, place)
        found.grams.append(each.passage.grams)
        found.rows.append({**plan.shared, **each.passage.columns(), **own, "near": near})
    new = {row["seq"] for row in found.rows}
    found.near.extend(
        {"near": neighbour_numbers(line, place), "seq": line[place]}
        for place in range(max(0, first - REACH), min(len(line), first + len(placed) + REACH))
        if line[place] not in new
    )
    return found


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
