"""Candidates for a query: one search, and in the same read transaction whatever else belongs into a pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaults.db.sql import Reader
from vaults.domain.memories import confidence_decay, corrections, indexing
from vaults.domain.packs import session_brief, standing_items
from vaults.domain.packs.pack import GatheredCandidates, PackCandidate, PackItem
from vaults.domain.packs.request import PackRequest
from vaults.domain.retrieval import hybrid_search, search_hits
from vaults.domain.retrieval.hybrid_search import SearchRequest
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.domain.text.sanitize import sanitize, to_one_line
from vaults.search.question import SearchRanking
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault

TOKENS_PER_ITEM = 50
"""Tokens of a short item: the search returns as many as the budget could hold of these."""

PER_ITEM = 2
"""Candidates per channel for each item: the weakest of a pack are not worth a search twice as deep."""

MIN_ITEMS, MAX_ITEMS = 12, 500
"""Min and max items searched for, whatever the budget."""

MAX_CORRECTED = 50
"""Max leading items whose open corrections are shown."""

PASSAGE_LENGTH = 1_200
"""Max characters of a note's passage: about 320 tokens."""


def limit_for(total: int) -> int:
    """Items worth searching for, for a pack of ``total`` tokens."""
    return min(MAX_ITEMS, max(MIN_ITEMS, total // TOKENS_PER_ITEM))


async def gather_candidates(
    vault: Vault, asked: PackRequest, limit: int, timings: StageTimings | None = None
) -> GatheredCandidates:
    """Everything that may go into the pack, with at most ``limit`` items of a search. Like search, it never fails for
    lack of a model."""
    if not asked.query.strip():
        return await session_brief.gather_brief(vault, asked)
    ask = SearchRequest(query=asked.query, only=asked.only, limit=limit, per_item=PER_ITEM)

    def pick(tx: Reader, ranking: SearchRanking) -> GatheredCandidates:
        return _collect(tx, vault, asked, ranking, limit)

    return await hybrid_search.rank_and_pick(vault, ask, pick, timings)


def _collect(tx: Reader, vault: Vault, asked: PackRequest, ranking: SearchRanking, limit: int) -> GatheredCandidates:
    state, checkpoint = standing_items.read_state(tx, asked.only.workspaces, asked.only.thread)
    rules = standing_items.read_rules(tx, replace(asked.only, thread=None, kinds=()), asked.total)
    known = {(piece.evidence.kind, piece.evidence.id) for piece in rules}
    ranked = search_hits.read_hits(tx, vault.name, ranking, ranking.items[:limit], asked.only, PASSAGE_LENGTH)
    shown = _apply_fading(tx, vault, [each for each in ranked if (each.item[0], each.hit.id) not in known])
    terms = ranking.meant.query.terms
    origins = _read_origins(tx, [each.item[1] for each in shown if each.item[0] == indexing.KIND])
    evidence = [_to_candidate(each, terms, origins) for each in shown]
    wrong = corrections.find_about(tx, asked.only.viewer, [each.hit.id for each in shown[:MAX_CORRECTED]])
    corrected = [replace(session_brief.from_correction(each), part="rules") for each in wrong]
    pieces = [replace(piece, rank=rank) for rank, piece in enumerate([*state, *corrected, *rules, *evidence])]
    keys = [piece.key for piece in pieces if piece.key is not None]
    bonds, titles = standing_items.read_links(tx, keys, asked.only.viewer)
    return GatheredCandidates(pieces, bonds, titles, checkpoint, list(ranking.warnings))


def _apply_fading(tx: Reader, vault: Vault, shown: Sequence[RankedHit]) -> list[RankedHit]:
    """The hits, best first, with memories nobody read for long weighted down."""
    numbers = [each.item[1] for each in shown if each.item[0] == indexing.KIND]
    weight = confidence_decay.rank_weights(tx, numbers, vault.shared.hygiene) if numbers else {}
    if not weight:
        return list(shown)
    counted = {(indexing.KIND, number): share for number, share in weight.items()}
    return sorted(shown, key=lambda each: -each.hit.score * counted.get(each.item, 1.0))


def find_main_storer(tx: Reader, seqs: Sequence[int]) -> str | None:
    """Who stored most of these memories."""
    some = ", ".join(str(int(seq)) for seq in seqs)
    row = tx.one(
        f"SELECT stored_by FROM memories WHERE seq IN ({some}) GROUP BY stored_by ORDER BY COUNT(*) DESC, 1 LIMIT 1"
    )
    return str(row[0]) if row else None


def merge_candidates(one: GatheredCandidates, more: GatheredCandidates) -> GatheredCandidates:
    """The candidates of two searches, by score."""
    found = {(piece.evidence.kind, piece.evidence.id): piece for piece in _with_scores(more)}
    found |= {(piece.evidence.kind, piece.evidence.id): piece for piece in _with_scores(one)}
    unscored = [piece for piece in one.pieces if piece.score is None]
    best = sorted(found.values(), key=lambda piece: -(piece.score or 0.0))
    pieces = [replace(piece, rank=rank) for rank, piece in enumerate([*unscored, *best])]
    bonds = list(dict.fromkeys([*one.bonds, *more.bonds]))
    return replace(one, pieces=pieces, bonds=bonds, titles={**more.titles, **one.titles})


def _with_scores(gathered: GatheredCandidates) -> list[PackCandidate]:
    return [piece for piece in gathered.pieces if piece.score is not None]


def _read_origins(tx: Reader, seqs: Sequence[int]) -> Mapping[int, tuple[str, str | None, int]]:
    """By ``seq`` of memory: who stored it, the commit it speaks of, and its length in characters."""
    some = ", ".join(str(int(seq)) for seq in seqs)
    rows = tx.all(f"SELECT seq, stored_by, anchor_commit, LENGTH(content) FROM memories WHERE seq IN ({some})")
    return {int(row[0]): (row[1], row[2], int(row[3])) for row in rows}


def _to_candidate(
    shown: RankedHit, words: tuple[str, ...], origins: Mapping[int, tuple[str, str | None, int]]
) -> PackCandidate:
    hit, (kind, number) = shown.hit, shown.item
    text = hit.content if hit.content is not None else hit.snippet or ""
    adversarial = bool(hit.flags)
    if kind != indexing.KIND:
        item = standing_items.from_note(hit.id, hit.title, hit.modified_at or hit.created_at, text, hit.section)
        return PackCandidate("passages", 0, replace(item, type=hit.type), hit.score, words)
    stored_by, anchor, length = origins.get(number, ("", None, 0))
    safe = sanitize(text, adversarial=adversarial)
    evidence = PackItem(
        id=hit.id,
        kind=kind,
        type=hit.type,
        title=standing_items.distinct_title(hit.title, safe.text),
        text=safe.text,
        author=to_one_line(hit.author, 60),
        at=hit.occurred_at or hit.created_at,
        stored_by=standing_items.storer_name(stored_by, hit.author),
        flags=list(safe.flags) or None,
    )
    whole = length // 4 if hit.content is None else 0
    return PackCandidate("memories", 0, evidence, hit.score, words, number, anchor, whole)
