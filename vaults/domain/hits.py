"""From ranked passages to what a caller reads: the row behind each, the part that matched, the score and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.domain.memory import COLUMNS, WIDTH, Memory, from_row
from vaults.search.facts import Key
from vaults.search.filters import Filter
from vaults.search.question import Ranking
from vaults.search.snippets import LENGTH, snippet


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that answers the query. ``content`` is whole when short, else ``snippet`` holds the part that
    matched. ``score`` is 0…1 within this answer; ``signals`` are the channels' own figures and what was added."""

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
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit, the item it is of, and the passage that was found."""

    item: Key
    passage: int
    hit: Hit


def shown(tx: Reader, vault: str, ranking: Ranking, wanted: Sequence[tuple[int, float]], only: Filter) -> list[Shown]:
    """The hits of ``wanted``, passages with the score of their item, in that order. The filter is asked once more: a
    ranking may be older than what it ranks."""
    rows = _rows(tx, [passage for passage, _ in wanted], only)
    return [
        _shown(vault, ranking, passage, score / ranking.top, *rows[passage])
        for passage, score in wanted
        if passage in rows
    ]


def _rows(tx: Reader, passages: Sequence[int], only: Filter) -> dict[int, tuple[Memory, str]]:
    found: dict[int, tuple[Memory, str]] = {}
    where, params = only.over_passages()
    for start in range(0, len(passages), 500):
        some = ", ".join(map(str, passages[start : start + 500]))
        # The filter is a column here: as a condition it has SQLite walk one of the indexes it could use.
        rows = tx.all(
            f"SELECT {COLUMNS}, p.body, p.seq, p.kind = 'memory' AND {where}"
            f" FROM passages p CROSS JOIN memories m ON m.seq = p.item WHERE p.seq IN ({some})",
            params,
        )
        found.update({int(row[WIDTH + 1]): (from_row(row), row[WIDTH]) for row in rows if row[WIDTH + 2]})
    return found


def _shown(vault: str, ranking: Ranking, passage: int, score: float, memory: Memory, body: str) -> Shown:
    short = len(memory.content) <= LENGTH
    terms = ranking.meant.query.terms
    part = None if short else snippet(body, terms)
    facts = ranking.facts[passage]
    hit = Hit(
        id=memory.id,
        vault=vault,
        type=memory.type,
        title=memory.title,
        score=round(max(0.0, score), 4),
        author=memory.author,
        created_at=memory.created_at,
        applies_to=memory.applies_to,
        workspace=memory.workspace,
        tags=memory.tags,
        signals=signals(ranking, passage),
        content=memory.content if short else None,
        snippet=part,
        external_id=memory.external_id,
        thread=memory.thread,
        parent=memory.parent,
        position=memory.position,
        occurred_at=memory.occurred_at,
        superseded_by=memory.superseded_by,
        archived_at=memory.archived_at,
        flags=["adversarial"] if facts.adversarial else [],
    )
    return Shown(facts.item, passage, hit)


def signals(ranking: Ranking, passage: int) -> dict[str, float]:
    """Why a passage stands where it stands: each channel's score, each lift, the cross-encoder's opinion."""
    said = {
        "keyword": ranking.words.scores.get(passage),
        "semantic": ranking.meanings.scores.get(passage),
        **{name: lift.get(passage) for name, lift in ranking.lifts.items()},
        "rerank": ranking.opinions.get(passage),
    }
    return {name: round(value, 4) for name, value in said.items() if value is not None}
