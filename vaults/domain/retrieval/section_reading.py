"""Reads the sections that hits stand in: the whole memory, what a note has under the same heading, the parts of a
document under one heading or on one page, the whole turn of a transcript, the whole symbol of a program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, takewhile

from vaults.db.sql import Reader
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.domain.retrieval.sections import PARTS_APART, HitPlace, HitSection, find_section

PASSAGES_APART = 8
"""Passages of a note on either side that are read: each has up to 200 tokens, so these are more than is shown."""

_ROWS_OF_TABLE = re.compile(r"[ \t>]*\|")
_LIST_ITEM = re.compile(r"[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_SENTENCE_END = (".", "!", "?", "…", ":", "。", "！", "？", '"', "”", ")", "*", "_")


@dataclass(frozen=True, slots=True)
class SurroundingText:
    """The section around a match, and where in it the part of the match begins. ``parts``: likewise of a document's
    parts beside it, by their positions."""

    text: str
    own: int = 0
    parts: Mapping[int, int] = field(default_factory=dict)

    def start_of(self, position: int | None) -> int:
        """Where a part begins."""
        return self.own if position is None else self.parts.get(position, self.own)


def place_of(shown: RankedHit) -> HitPlace | None:
    """Where a hit stands in its document; None for what is no part of one."""
    hit, (kind, _) = shown.hit, shown.item
    if kind in ("memory", "note") or hit.parent is None or hit.position is None:
        return None
    return HitPlace(kind, f"{hit.vault}/{hit.parent}", hit.position, hit.section or shown.place or "")


def read_sections(tx: Reader, shown: Sequence[Sequence[RankedHit]]) -> dict[int, HitSection]:
    """For each group of neighbours, by the passage of its first, the section they stand in; nothing for what was
    deleted since, and where there is none but the match."""
    found: dict[int, HitSection] = {}
    for kind, read in _READERS:
        groups = [group for group in shown if group[0].item[0] == kind and group[0].hit.content is None]
        if not groups:
            continue
        texts = read(tx, [group[0].passage for group in groups])
        bodies = _read_bodies(tx, [each.passage for group in groups for each in group])
        for group in groups:
            read_text = texts.get(group[0].passage)
            if read_text is None or any(each.passage not in bodies for each in group):
                continue
            own = [(read_text.start_of(each.hit.position), bodies[each.passage]) for each in group]
            if (section := find_section(group[0].item[0], read_text.text, own)) is not None:
                found[group[0].passage] = section
    return found


def _read_bodies(tx: Reader, passages: Iterable[int]) -> dict[int, str]:
    return dict(tx.all(f"SELECT seq, body FROM passages WHERE seq IN ({_some(passages)})"))


def _some(numbers: Iterable[int]) -> str:
    return ", ".join(str(int(number)) for number in numbers)


def _read_memories(tx: Reader, passages: Iterable[int]) -> Mapping[int, SurroundingText]:
    rows = tx.all(
        "SELECT p.seq, m.content FROM passages p CROSS JOIN memories m ON m.seq = p.item"
        f" WHERE p.seq IN ({_some(passages)})"
    )
    return {seq: SurroundingText(text) for seq, text in rows}


def _read_notes(tx: Reader, passages: Iterable[int]) -> Mapping[int, SurroundingText]:
    """A note's passages side by side under one heading, as its text: what lay between them was white space."""
    found = {}
    for passage in passages:
        before, after = (_read_beside(tx, passage, *way) for way in (("<=", "DESC"), (">", "ASC")))
        if before:
            bodies = [*reversed(before), *after]
            own = len(_join_passages(bodies[: len(before)])) - len(before[0])
            found[passage] = SurroundingText(_join_passages(bodies), own)
    return found


def _read_beside(tx: Reader, passage: int, compared: str, order: str) -> list[str]:
    """The passages of a note from one on, up to the next heading. Their ordinals have gaps."""
    rows = tx.all(
        "SELECT p.title = o.title, p.body FROM passages o CROSS JOIN passages p ON p.kind = o.kind AND p.item = o.item"
        f" AND p.ordinal {compared} o.ordinal WHERE o.seq = :passage ORDER BY p.ordinal {order} LIMIT :apart",
        {"passage": passage, "apart": PASSAGES_APART},
    )
    return [body for _, body in takewhile(lambda row: row[0], rows)]


def _read_parts(tx: Reader, passages: Iterable[int], *, between: str) -> Mapping[int, SurroundingText]:
    """The parts side by side under one heading, or of one page; else the part alone. ``between``: what stands between
    two of them."""
    rows = tx.all(
        "SELECT o.seq, c.position, q.position, q.text FROM passages o CROSS JOIN document_parts c ON c.seq = o.item"
        " CROSS JOIN document_parts q ON q.document = c.document AND q.position BETWEEN c.position - :apart"
        f" AND c.position + :apart WHERE o.seq IN ({_some(passages)}) AND (q.position = c.position"
        " OR c.heading IS NOT NULL AND q.heading = c.heading"
        " OR c.heading IS NULL AND q.heading IS NULL AND q.locator = c.locator) ORDER BY o.seq, q.position",
        {"apart": PARTS_APART},
    )
    return {seq: _join_parts(some, between) for seq, some in _by_first(rows)}


def _read_turns(tx: Reader, passages: Iterable[int]) -> Mapping[int, SurroundingText]:
    rows = tx.all(
        "SELECT p.seq, q.text FROM passages p CROSS JOIN document_parts q ON q.seq = p.item"
        f" WHERE p.seq IN ({_some(passages)})"
    )
    return {seq: SurroundingText(text) for seq, text in rows}


_READERS: tuple[tuple[str, Callable[[Reader, Iterable[int]], Mapping[int, SurroundingText]]], ...] = (
    ("memory", _read_memories),
    ("note", _read_notes),
    ("document", partial(_read_parts, between="\n\n")),
    ("code", partial(_read_parts, between="")),
    ("transcript", _read_turns),
)

_Numbered = tuple[int, int, str]


def _by_first(rows: Iterable[tuple[int, int, int, str]]) -> Iterable[tuple[int, list[_Numbered]]]:
    for seq, some in groupby(rows, key=lambda row: int(row[0])):
        yield seq, [(own, number, text) for _, own, number, text in some]


def _join_parts(rows: Sequence[_Numbered], between: str) -> SurroundingText:
    """The texts without a gap around the one that matched."""
    texts = {number: text for _, number, text in rows}
    own = first = last = rows[0][0]
    while first - 1 in texts:
        first -= 1
    while last + 1 in texts:
        last += 1
    starts, joined = {}, ""
    for number in range(first, last + 1):
        joined += between if number > first else ""
        starts[number] = len(joined)
        joined += texts.get(number, "")
    return SurroundingText(joined, starts[own], starts)


def _join_passages(bodies: Sequence[str]) -> str:
    joined = bodies[0] if bodies else ""
    for body in bodies[1:]:
        joined += _separator(joined, body) + body
    return joined


def _separator(before: str, after: str) -> str:
    """What most likely stood between two passages: a line's end inside code, tables, lists and sentences, else an empty
    line."""
    last = before[before.rfind("\n") + 1 :]
    fences = before.count("```") + before.count("~~~")
    if fences % 2 or (_ROWS_OF_TABLE.match(last) and _ROWS_OF_TABLE.match(after)) or _LIST_ITEM.match(after):
        return "\n"
    return "\n\n" if last.endswith(_SENTENCE_END) or after.startswith(("#", "```", "~~~")) else "\n"
