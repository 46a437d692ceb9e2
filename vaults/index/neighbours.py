"""The text around a passage, searched as columns of its own: two passages before it and two after in its sequence.

What was said just before and after is the best evidence of what a short turn is about: on LoCoMo it moves recall at ten
from .62 to .75. It is updated when a neighbour comes, changes or goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaults.db.sql import Reader, Writer

REACH = 2
"""Passages on either side."""

NOTE_PREFIX, DOCUMENT_PREFIX = PLAIN_PREFIXES = ("note::", "document::")
"""Prefixes of the names of sequences whose passages carry no text of their neighbours."""

MAX_SIDE = 800
"""Max characters of either side, the nearest: a longer column would say as much as the text itself."""


@dataclass(frozen=True, slots=True)
class SequencePosition:
    """Where an item's passages are: ``place`` of the item in ``sequence``; ties are in order of ``item``."""

    sequence: str
    place: int
    item: int


@dataclass(frozen=True, slots=True)
class SequenceMember:
    """A passage of a sequence; ``seq`` is 0 while it has no row."""

    seq: int
    body: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is around a passage: its neighbours' numbers at -2, -1, +1, +2 (0: none), and the text of either side."""

    near: str
    before: str
    after: str


NO_SURROUNDINGS = Surroundings("0 0 0 0", "", "")


def read_around(tx: Reader, spot: SequencePosition) -> tuple[list[SequenceMember], list[SequenceMember]]:
    """The passages before and after an item in its sequence, ``REACH`` of each, in order."""
    at = {"sequence": spot.sequence, "place": spot.place, "item": spot.item, "reach": REACH}
    before = tx.all(
        "SELECT seq, body FROM passages WHERE sequence = :sequence AND (place, item) < (:place, :item)"
        " ORDER BY place DESC, item DESC, ordinal DESC LIMIT :reach",
        at,
    )
    after = tx.all(
        "SELECT seq, body FROM passages WHERE sequence = :sequence AND (place, item) > (:place, :item)"
        " ORDER BY place, item, ordinal LIMIT :reach",
        at,
    )
    return [SequenceMember(int(seq), body) for seq, body in reversed(before)], [
        SequenceMember(int(seq), body) for seq, body in after
    ]


def surroundings_of(row: Sequence[SequenceMember], number: int) -> Surroundings:
    """The surroundings of the member ``number`` of a row. Pure."""
    before = row[max(0, number - REACH) : number]
    after = row[number + 1 : number + 1 + REACH]
    return Surroundings(
        neighbour_numbers([member.seq for member in row], number),
        "\n".join(member.body for member in before)[-MAX_SIDE:],
        "\n".join(member.body for member in after)[:MAX_SIDE],
    )


def neighbour_numbers(row: Sequence[int], number: int) -> str:
    """The numbers at -2, -1, +1, +2 from the member ``number`` of a row; 0 where there is none. Pure."""
    before, after = row[max(0, number - REACH) : number], row[number + 1 : number + 1 + REACH]
    return " ".join(map(str, (*[0] * (REACH - len(before)), *before, *after, *[0] * (REACH - len(after)))))


def all_neighbour_numbers(row: Sequence[int]) -> list[str | None]:
    """``neighbour_numbers`` of every member of a row, as they are stored: None where there is no neighbour. Pure."""
    padded = ["0"] * REACH + list(map(str, row)) + ["0"] * REACH
    if len(row) == 1:
        return [None]
    return [" ".join(padded[at : at + REACH] + padded[at + REACH + 1 : at + 2 * REACH + 1]) for at in range(len(row))]


def refresh_surroundings(tx: Writer, spot: SequencePosition) -> None:
    """Update the surroundings of an item's passages and of its neighbours, where they changed. The item may have left
    the sequence, or joined it: what is there now counts."""
    before, after = read_around(tx, spot)
    own = [
        SequenceMember(int(seq), body)
        for seq, body in tx.all(
            "SELECT seq, body FROM passages WHERE sequence = :sequence AND place = :place AND item = :item"
            " ORDER BY ordinal",
            {"sequence": spot.sequence, "place": spot.place, "item": spot.item},
        )
    ]
    first, last = before[:1], after[-1:]
    outer = read_around_passages(tx, spot.sequence, first, last)
    row = [*outer[0], *before, *own, *after, *outer[1]]
    for number in range(len(outer[0]), len(row) - len(outer[1])):
        write_surroundings(tx, row[number].seq, surroundings_of(row, number))


def read_around_passages(
    tx: Reader, sequence: str, first: Sequence[SequenceMember], last: Sequence[SequenceMember]
) -> tuple[list[SequenceMember], list[SequenceMember]]:
    """The members before ``first`` and after ``last``, whose own surroundings stay as they are."""
    found: list[list[SequenceMember]] = [[], []]
    for side, (edge, sign, order) in enumerate(((first, "<", "DESC"), (last, ">", "ASC"))):
        if edge:
            rows = tx.all(
                "SELECT p.seq, p.body FROM passages p, passages e WHERE e.seq = :edge AND p.sequence = :sequence"
                f" AND (p.place, p.item, p.ordinal) {sign} (e.place, e.item, e.ordinal)"
                f" ORDER BY p.place {order}, p.item {order}, p.ordinal {order} LIMIT :reach",
                {"edge": edge[0].seq, "sequence": sequence, "reach": REACH},
            )
            found[side] = [SequenceMember(int(seq), body) for seq, body in rows]
    return found[0][::-1], found[1]


def write_surroundings(tx: Writer, seq: int, around: Surroundings) -> None:
    """Store a passage's surroundings, if they changed."""
    near = None if around == NO_SURROUNDINGS else around.near
    tx.run(
        "UPDATE passages SET near = :near WHERE seq = :seq AND near IS DISTINCT FROM :near",
        {"near": near, "seq": seq},
    )
    tx.run(
        "UPDATE passages SET before = :before, after = :after"
        " WHERE seq = :seq AND (before <> :before OR after <> :after)",
        {"before": around.before, "after": around.after, "seq": seq},
    )


def count_disagreeing(tx: Reader, without: str | None = None) -> int:
    """Passages whose stored surroundings are wrong, besides those of the sequence ``without``. Reads every sequence
    once."""
    alone = "sequence IS NULL AND (near IS NOT NULL OR before <> '' OR after <> '')"
    wrong = int(tx.value(f"SELECT COUNT(*) FROM passages WHERE {alone}"))
    sequences = "SELECT DISTINCT sequence FROM passages WHERE sequence IS NOT NULL AND sequence IS NOT :without"
    for (sequence,) in tx.all(sequences, {"without": without}):
        rows = tx.all(
            "SELECT seq, body, near, before, after FROM passages WHERE sequence = :sequence"
            " ORDER BY place, item, ordinal",
            {"sequence": sequence},
        )
        members = [SequenceMember(int(seq), body) for seq, body, *_ in rows]
        plain = sequence.startswith(PLAIN_PREFIXES)
        for number, (_, _, near, before, after) in enumerate(rows):
            around = surroundings_of(members, number)
            text = ("", "") if plain else (around.before, around.after)
            wrong += (near or NO_SURROUNDINGS.near, before, after) != (around.near, *text)
    return wrong
