"""``memory_list``: plain pages of memories, without a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from vaults.db.sql import Reader
from vaults.domain.memories import confidence_decay
from vaults.domain.memories.memory_model import COLUMNS, Memory, from_row
from vaults.domain.paging import cursors, token_budget
from vaults.search.filters import SearchFilter
from vaults.vault import Vault

MemoryOrder = Literal["newest", "oldest", "updated", "parent"]

_ORDERS: dict[str, tuple[str, str]] = {
    "newest": ("m.seq", "DESC"),
    "oldest": ("m.seq", "ASC"),
    "updated": ("m.updated_at", "DESC"),
    "parent": ("COALESCE(m.parent, '')", "ASC"),
}


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of memories. ``cursor`` asks for the next; None: this was the last."""

    memories: list[Memory]
    total: int
    cursor: str | None


async def list_memories(
    vault: Vault, only: SearchFilter, order: MemoryOrder, limit: int, cursor: str | None, max_tokens: int
) -> MemoryPage:
    """Memories that pass a filter, page by page. A page continues after the last row of the one before, so rows that
    come or go in between neither repeat nor hide others. Raises ``InvalidArgument`` for a cursor of another listing."""
    column, direction = _ORDERS[order]
    where, params = only.over_memories()
    after = cursors.decode(await cursors.unseal(vault, cursor), order) if cursor else None

    def read(tx: Reader) -> tuple[list[tuple[Any, ...]], list[Memory], int]:
        total = int(tx.value(f"SELECT COUNT(*) FROM memories m WHERE {where}", params))
        condition, bound = where, dict(params)
        if after is not None:
            sign = "<" if direction == "DESC" else ">"
            condition += f" AND ({column} {sign} :last OR ({column} = :last AND m.seq {sign} :seq))"
            bound |= {"last": after[0], "seq": after[1]}
        rows = tx.all(
            f"SELECT {COLUMNS}, m.seq, {column} FROM memories m WHERE {condition}"
            f" ORDER BY {column} {direction}, m.seq {direction} LIMIT :limit",
            {**bound, "limit": limit + 1},
        )
        found = [(int(seq), from_row(columns)) for *columns, seq, _ in rows[:limit]]
        return (
            rows,
            [memory for _, memory in confidence_decay.with_current_confidence(tx, found, vault.shared.hygiene)],
            total,
        )

    rows, memories, total = await vault.db.read(read)
    count = len(await token_budget.fit_rows(vault, memories, max_tokens))
    vault.shown_texts.note(only.viewer, ((memory.content, memory.id) for memory in memories[:count]))
    following = None
    if count < len(rows):
        *_, seq, value = rows[count - 1]
        following = await cursors.seal(vault, cursors.encode(order, value, seq))
    return MemoryPage(memories[:count], total, following)
