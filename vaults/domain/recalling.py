"""``recall`` and ``list``: ranked hits within a token budget, and plain pages."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from vaults.context import run_in
from vaults.db.sql import Reader
from vaults.domain.memory import COLUMNS, WIDTH, Memory, clean, from_row
from vaults.errors import InvalidArgument
from vaults.search import budget
from vaults.search.filters import MemoryFilter
from vaults.search.fusion import Fused
from vaults.search.pipeline import Mode, Question, Ranking, search
from vaults.search.snippets import LENGTH, snippet
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that answers the query. ``content`` is whole when short, else ``snippet`` holds the part that
    matched. ``score`` is 0…1 within this answer; ``signals`` are the channels' own figures."""

    id: str
    vault: str
    type: str
    title: str
    score: float
    author: str
    created_at: str
    applies_to: str
    workspace: str
    tags: list[str]
    signals: dict[str, float]
    content: str | None = None
    snippet: str | None = None
    external_id: str | None = None
    thread: str | None = None
    parent: str | None = None
    position: int | None = None
    occurred_at: str | None = None
    superseded_by: str | None = None
    archived_at: str | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """The answer. ``total`` counts the items found before limit and budget cut the list."""

    hits: list[Hit]
    total: int
    mode_used: Mode
    truncated: bool = False
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ask:
    """What to look for and how much of it to return."""

    query: str
    only: MemoryFilter
    mode: Mode = "hybrid"
    limit: int = 10
    min_score: float = 0.0
    max_tokens: int = 2000
    group_by: Literal["item", "parent"] = "item"


async def recall(vault: Vault, ask: Ask) -> Recalled:
    """The memories that answer ``ask``, best first."""
    await vault.adopt_model()
    question = Question(ask.query, ask.mode, ask.only, ask.limit, whole=ask.group_by == "parent")

    def pick(tx: Reader, ranking: Ranking) -> tuple[list[Hit], int, Ranking]:
        best = _best_per_item([hit for hit in ranking.fused if hit.score >= ask.min_score])
        wanted = best if ask.group_by == "parent" else best[: ask.limit]
        rows = _rows(tx, wanted, ask.only)
        hits = [_hit(vault.name, ranking, fused, *rows[fused.item]) for fused in wanted if fused.item in rows]
        if ask.group_by == "parent":
            hits = _best_per_parent(hits)
        return hits, len(hits) if ask.group_by == "parent" else len(best), ranking

    hits, total, ranking = await search(vault.engines, question, pick)
    kept = await fit(vault, hits[: ask.limit], ask.max_tokens)
    return Recalled(kept, total, ranking.mode, len(kept) < min(total, ask.limit), list(ranking.warnings))


async def fit(vault: Vault, hits: Sequence[Hit], max_tokens: int) -> list[Hit]:
    """As many of ``hits`` as fit, best first; at least one."""
    texts = [f"{hit.title}\n{hit.content or hit.snippet or ''}" for hit in hits]
    if budget.surely_within(texts, max_tokens):
        return list(hits)
    if budget.is_quick(texts):
        return list(hits[: budget.fitting(texts, max_tokens)])
    count = await run_in(vault.shared.pool, budget.fitting, texts, max_tokens)
    return list(hits[:count])


def _best_per_item(ranked: Sequence[Fused]) -> list[Fused]:
    best: dict[int, Fused] = {}
    for hit in ranked:
        best.setdefault(hit.item, hit)
    return list(best.values())


def _best_per_parent(hits: Sequence[Hit]) -> list[Hit]:
    best: dict[str, Hit] = {}
    for hit in hits:
        best.setdefault(hit.parent or hit.id, hit)
    return list(best.values())


def _rows(tx: Reader, ranked: Sequence[Fused], only: MemoryFilter) -> dict[int, tuple[Memory, str]]:
    """The memories of ``ranked`` with the body of the passage that was found. The filter is asked once more: a ranking
    may be older than what it ranks."""
    found: dict[int, tuple[Memory, str]] = {}
    where, params = only.where()
    for start in range(0, len(ranked), 500):
        some = ", ".join(str(hit.passage) for hit in ranked[start : start + 500])
        rows = tx.all(
            f"SELECT {COLUMNS}, p.body, m.seq FROM passages p JOIN memories m ON m.seq = p.item"
            f" WHERE p.seq IN ({some}) AND {where}",
            params,
        )
        found.update({int(row[WIDTH + 1]): (from_row(row), row[WIDTH]) for row in rows})
    return found


def _hit(vault: str, ranking: Ranking, fused: Fused, memory: Memory, body: str) -> Hit:
    short = len(memory.content) <= LENGTH
    signals = {"keyword": fused.keyword, "semantic": fused.semantic}
    return Hit(
        id=memory.id,
        vault=vault,
        type=memory.type,
        title=memory.title,
        score=round(fused.score, 4),
        author=memory.author,
        created_at=memory.created_at,
        applies_to=memory.applies_to,
        workspace=memory.workspace,
        tags=memory.tags,
        signals={name: round(value, 4) for name, value in signals.items() if value is not None},
        content=memory.content if short else None,
        snippet=None if short else snippet(body, ranking.query.terms),
        external_id=memory.external_id,
        thread=memory.thread,
        parent=memory.parent,
        position=memory.position,
        occurred_at=memory.occurred_at,
        superseded_by=memory.superseded_by,
        archived_at=memory.archived_at,
    )


Order = Literal["newest", "oldest", "updated", "parent"]

_ORDERS: dict[str, tuple[str, str]] = {
    "newest": ("m.seq", "DESC"),
    "oldest": ("m.seq", "ASC"),
    "updated": ("m.updated_at", "DESC"),
    "parent": ("COALESCE(m.parent, '')", "ASC"),
}


@dataclass(frozen=True, slots=True)
class Page:
    """One page of memories. ``cursor`` asks for the next; None: there is none."""

    memories: list[Memory]
    total: int
    cursor: str | None


async def listed(
    vault: Vault, only: MemoryFilter, order: Order, limit: int, cursor: str | None, max_tokens: int
) -> Page:
    """Memories that pass a filter, page by page. A page follows the last row of the one before, so rows that come or
    go in between neither repeat nor hide others. Raises ``InvalidArgument`` for a cursor of another listing."""
    column, direction = _ORDERS[order]
    where, params = only.where()
    after = _read_cursor(cursor, order) if cursor else None

    def read(tx: Reader) -> tuple[list[tuple[Any, ...]], int]:
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
        return rows, total

    rows, total = await vault.db.read(read)
    memories = [from_row(row) for row in rows[:limit]]
    texts = [f"{memory.title}\n{memory.content}" for memory in memories]
    count = len(texts)
    if not budget.surely_within(texts, max_tokens):
        count = await run_in(vault.shared.pool, budget.fitting, texts, max_tokens)
    last = rows[count - 1] if count < len(rows) else None
    return Page(memories[:count], total, _write_cursor(order, last[WIDTH + 1], last[WIDTH]) if last else None)


def _write_cursor(order: str, value: Any, seq: int) -> str:
    return base64.urlsafe_b64encode(json.dumps([order, value, seq]).encode()).decode().rstrip("=")


def _sortable(value: object) -> bool:
    if isinstance(value, str):
        return clean(value) == value
    return type(value) is int and abs(value) < 2**63


def _read_cursor(cursor: str, order: str) -> tuple[Any, int]:
    try:
        kept, value, seq = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if kept == order and type(seq) is int and abs(seq) < 2**63 and _sortable(value):
            return value, seq
    except (ValueError, binascii.Error, TypeError, RecursionError):
        pass
    raise InvalidArgument("cursor", "is not one this listing gave", hint="start again without a cursor")
