"""What ranking needs to know of a passage: read once for each candidate, by the word search or by number."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from vaults.db.sql import Reader, Row
from vaults.index.passages import ADVERSARIAL, QUESTION
from vaults.search.filters import SearchFilter

ItemKey: TypeAlias = tuple[str, int]
"""An item: its kind, and its number in the table of that kind."""

COLUMNS = "p.kind, p.item, p.traits, p.author, p.entity, p.thread, p.parent, p.at, p.near, p.title <> '', p.text_hash"
WIDTH = COLUMNS.count(", ") + 1


class PassageFacts(NamedTuple):
    """A candidate. A tuple, because a search makes a hundred and a frozen dataclass costs four times as much."""

    item: ItemKey
    traits: int
    author: str | None
    entity: str | None
    thread: str | None
    parent: str | None
    at: str
    near: tuple[int, ...] | None  # passages at -2, -1, +1, +2 of its sequence, 0 for a missing one; None: no sequence
    titled: bool  # it stands under a title or heading; not so a memory whose title was derived
    text_hash: str

    @property
    def asks(self) -> bool:
        """Whether the passage is itself a question."""
        return bool(self.traits & QUESTION)

    @property
    def adversarial(self) -> bool:
        """Whether the passage tries to give its reader orders."""
        return bool(self.traits & ADVERSARIAL)


def from_row(row: Row) -> PassageFacts:
    """The facts in a row that starts with ``COLUMNS``."""
    # By place, and without the constructor: naming them costs a seventh more, calling it twice as much.
    near = tuple(map(int, row[8].split())) if row[8] else None
    return tuple.__new__(PassageFacts, ((row[0], row[1]), *row[2:8], near, bool(row[9]), row[10]))


def read_facts(tx: Reader, passages: Collection[int], only: SearchFilter) -> dict[int, PassageFacts]:
    """The facts of those of ``passages`` that the filter lets through."""
    where, params = only.over_passages()
    # The numbers are bound: a statement that is the same each time is compiled once, which costs as much as it does.
    # The filter is a column: as a condition it would make SQLite walk one of the indexes that fit it.
    rows = tx.all(
        f"SELECT {COLUMNS}, p.seq, {where} FROM json_each(:among) n CROSS JOIN passages p ON p.seq = n.value",
        {**params, "among": json.dumps(list(map(int, passages)))},
    )
    return {row[WIDTH]: from_row(row) for row in rows if row[WIDTH + 1]}
