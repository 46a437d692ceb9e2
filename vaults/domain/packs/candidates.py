"""Candidates for a question: one search, and in the same read what else belongs into a pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaults.db.sql import Reader
from vaults.domain.memories import confidence_decay, corrections, indexing
from vaults.domain.packs import session_brief, standing_items
from vaults.domain.packs.pack import Evidence, Gathered, Piece
from vaults.domain.packs.request import Asked
from vaults.domain.retrieval import hybrid_search, search_hits
from vaults.domain.retrieval.hybrid_search import Ask
from vaults.domain.retrieval.search_hits import Shown
from vaults.domain.text.sanitize import disarm, one_line
from vaults.search.question import Ranking
from vaults.search.stage_timings import Timings
from vaults.vault import Vault

EACH = 50
"""Tokens a short item takes: what is searched for is as many of them as a budget could hold."""

PER_ITEM = 2
"""Candidates of a channel looked at for each: the weakest of a pack are not worth a search twice as deep."""

FEWEST, MOST = 12, 500
"""Items searched for, whatever the budget."""

CORRECTED = 50
"""Items, the best ones, of which open corrections are told."""

PASSAGE = 1_200
"""Characters shown of a note's passage: about 320 tokens."""


def limit_for(total: int) -> int:
    """Items worth looking for, for a pack of ``total`` tokens."""
    return min(MOST, max(FEWEST, total // EACH))


async def gather(vault: Vault, asked: Asked, limit: int, timings: Timings | None = None) -> Gathered:
    """Everything that may go into the pack, ``limit`` items of a search at most. Never fails for want of a model, as
    search does not."""
    if not asked.query.strip():
        return await session_brief.gather(vault, asked)
    ask = Ask(query=asked.query, only=asked.only, limit=limit, per_item=PER_ITEM)

    def pick(tx: Reader, ranking: Ranking) -> Gathered:
        return _found(tx, vault, asked, ranking, limit)

    return await hybrid_search.ranked(vault, ask, pick, timings)


def _found(tx: Reader, vault: Vault, asked: Asked, ranking: Ranking, limit: int) -> Gathered:
    state, checkpoint = standing_items.state(tx, asked.only.workspaces, asked.only.thread)
    rules = standing_items.rules(tx, replace(asked.only, thread=None, kinds=()), asked.total)
    known = {(piece.evidence.kind, piece.evidence.id) for piece in rules}
    ranked = search_hits.shown(tx, vault.name, ranking, ranking.items[:limit], asked.only, PASSAGE)
    shown = _faded(tx, vault, [each for each in ranked if (each.item[0], each.hit.id) not in known])
    terms = ranking.meant.query.terms
    behind = _behind(tx, [each.item[1] for each in shown if each.item[0] == indexing.KIND])
    evidence = [_piece(each, terms, behind) for each in shown]
    wrong = corrections.about(tx, asked.only.viewer, [each.hit.id for each in shown[:CORRECTED]])
    told = [replace(session_brief.corrected(each), part="rules") for each in wrong]
    pieces = [replace(piece, rank=rank) for rank, piece in enumerate([*state, *told, *rules, *evidence])]
    keys = [piece.key for piece in pieces if piece.key is not None]
    bonds, titles = standing_items.bonds(tx, keys, asked.only.viewer)
    return Gathered(pieces, bonds, titles, checkpoint, list(ranking.warnings))


def _faded(tx: Reader, vault: Vault, shown: Sequence[Shown]) -> list[Shown]:
    """Best first, where memories nobody read for long count for less."""
    numbers = [each.item[1] for each in shown if each.item[0] == indexing.KIND]
    weight = confidence_decay.weights(tx, numbers, vault.shared.hygiene) if numbers else {}
    if not weight:
        return list(shown)
    counted = {(indexing.KIND, number): share for number, share in weight.items()}
    return sorted(shown, key=lambda each: -each.hit.score * counted.get(each.item, 1.0))


def storer_of_most(tx: Reader, seqs: Sequence[int]) -> str | None:
    """Who stored most of some memories."""
    some = ", ".join(str(int(seq)) for seq in seqs)
    row = tx.one(
        f"SELECT stored_by FROM memories WHERE seq IN ({some}) GROUP BY stored_by ORDER BY COUNT(*) DESC, 1 LIMIT 1"
    )
    return str(row[0]) if row else None


def together(one: Gathered, more: Gathered) -> Gathered:
    """The candidates of two searches, by score."""
    found = {(piece.evidence.kind, piece.evidence.id): piece for piece in _scored(more)}
    found |= {(piece.evidence.kind, piece.evidence.id): piece for piece in _scored(one)}
    asked_or_not = [piece for piece in one.pieces if piece.score is None]
    best = sorted(found.values(), key=lambda piece: -(piece.score or 0.0))
    pieces = [replace(piece, rank=rank) for rank, piece in enumerate([*asked_or_not, *best])]
    bonds = list(dict.fromkeys([*one.bonds, *more.bonds]))
    return replace(one, pieces=pieces, bonds=bonds, titles={**more.titles, **one.titles})


def _scored(gathered: Gathered) -> list[Piece]:
    return [piece for piece in gathered.pieces if piece.score is not None]


def _behind(tx: Reader, seqs: Sequence[int]) -> Mapping[int, tuple[str, str | None, int]]:
    """Of memories: who stored them, the commit they speak of, and their length in characters."""
    some = ", ".join(str(int(seq)) for seq in seqs)
    rows = tx.all(f"SELECT seq, stored_by, anchor_commit, LENGTH(content) FROM memories WHERE seq IN ({some})")
    return {int(row[0]): (row[1], row[2], int(row[3])) for row in rows}


def _piece(shown: Shown, words: tuple[str, ...], behind: Mapping[int, tuple[str, str | None, int]]) -> Piece:
    hit, (kind, number) = shown.hit, shown.item
    text = hit.content if hit.content is not None else hit.snippet or ""
    orders = bool(hit.flags)
    if kind != indexing.KIND:
        noted = standing_items.noted(hit.id, hit.title, hit.modified_at or hit.created_at, text, hit.section)
        return Piece("passages", 0, replace(noted, type=hit.type), hit.score, words)
    stored_by, anchor, length = behind.get(number, ("", None, 0))
    told = disarm(text, adversarial=orders)
    evidence = Evidence(
        id=hit.id,
        kind=kind,
        type=hit.type,
        title=standing_items.own_title(hit.title, told.text),
        text=told.text,
        author=one_line(hit.author, 60),
        at=hit.occurred_at or hit.created_at,
        stored_by=standing_items.storer(stored_by, hit.author),
        flags=list(told.flags) or None,
    )
    whole = length // 4 if hit.content is None else 0
    return Piece("memories", 0, evidence, hit.score, words, number, anchor, whole)
