"""Candidates for a query: one search, and in the same read transaction whatever else belongs into a pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vaults.db.sql import Reader
from vaults.domain.memories import confidence_decay, corrections, indexing
from vaults.domain.packs import session_brief, standing_items
from vaults.domain.packs.no_content import LEFT_OUT, NOTHING_ANSWERS
from vaults.domain.packs.pack import GatheredCandidates, PackCandidate, PackItem
from vaults.domain.packs.request import PackRequest
from vaults.domain.retrieval import hybrid_search, search_hits
from vaults.domain.retrieval.hybrid_search import SearchRequest
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.domain.retrieval.section_reading import place_of, read_sections
from vaults.domain.text.sanitize import sanitize, to_one_line
from vaults.index.shelves import DOCUMENTS, MAIN
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

MAX_PARTS, PARTS_AFTER = 6, MIN_ITEMS
"""Max parts of documents in a pack, and how many memories and notes go before them."""

PASSAGE_LENGTH = 1_200
"""Max characters of a note's passage: about 320 tokens."""


MAX_WIDENED, MAX_WIDENED_PARTS = 2, 1
"""Memories and notes, and parts of documents, that may be widened to their sections, the best of each: with more of
them a pack held less of the evidence for its tokens."""


def limit_for(total: int) -> int:
    """Items worth searching for, for a pack of ``total`` tokens."""
    return min(MAX_ITEMS, max(MIN_ITEMS, total // TOKENS_PER_ITEM))


async def gather_candidates(
    vault: Vault, request: PackRequest, limit: int, timings: StageTimings | None = None
) -> GatheredCandidates:
    """Everything that may go into the pack, with at most ``limit`` items of a search. Like search, it never fails for
    lack of a model."""
    if not request.query.strip():
        return await session_brief.gather_brief(vault, request)
    only = replace(request.only, kinds=MAIN.kinds)
    ask = SearchRequest(query=request.query, only=only, limit=limit, per_item=PER_ITEM)

    def pick(tx: Reader, ranking: SearchRanking) -> tuple[GatheredCandidates, bool]:
        return _collect(tx, vault, request, ranking, limit), tx.one("SELECT 1 FROM documents LIMIT 1") is not None

    gathered, has_documents = await hybrid_search.rank_and_pick(vault, ask, pick, timings)
    return _leave_out_unlikely(await _add_documents(vault, request, gathered) if has_documents else gathered)


def _leave_out_unlikely(gathered: GatheredCandidates) -> GatheredCandidates:
    """With what is to be said of hits that are left out as unlikely: why the pack holds so little. Where one is likely
    to answer, those that are worth reading beside it stay."""
    if any(candidate.likely for candidate in _with_scores(gathered)):
        kept = [replace(each, likely=each.likely or each.beside) for each in gathered.candidates]
        gathered = replace(gathered, candidates=kept)
    found = _with_scores(gathered)
    unlikely = sum(not candidate.likely for candidate in found)
    if not unlikely:
        return gathered
    said = NOTHING_ANSWERS if unlikely == len(found) else f"{unlikely} {LEFT_OUT}"
    return replace(gathered, warnings=[said, *gathered.warnings])


async def _add_documents(vault: Vault, request: PackRequest, gathered: GatheredCandidates) -> GatheredCandidates:
    """The candidates with parts of documents among them, behind the best memories and notes: what somebody chose to
    keep goes before what was said on the way. Searched for apart, so that no memory loses its place to them."""
    only = replace(request.only, kinds=DOCUMENTS.kinds)
    ask = SearchRequest(query=request.query, only=only, limit=MAX_PARTS, per_item=PER_ITEM)

    def pick(tx: Reader, ranking: SearchRanking) -> list[PackCandidate]:
        first = ranking.items[:MAX_PARTS]
        found = search_hits.read_hits(tx, vault.name, ranking, first, only, length=PASSAGE_LENGTH)
        parts = [_from_part(each, ranking.meant.query.shown) for each in found]
        return _mark_unlikely(ranking, found, _add_sections(tx, found, parts, MAX_WIDENED_PARTS))

    parts = await hybrid_search.rank_and_pick(vault, ask, pick)
    unscored = sum(candidate.score is None for candidate in gathered.candidates)
    place = unscored + PARTS_AFTER
    order = [*gathered.candidates[:place], *parts, *gathered.candidates[place:]]
    return replace(gathered, candidates=[replace(each, rank=rank) for rank, each in enumerate(order)])


def _mark_unlikely(
    ranking: SearchRanking, shown: Sequence[RankedHit], candidates: Sequence[PackCandidate]
) -> list[PackCandidate]:
    return [
        replace(
            candidate,
            likely=ranking.relevance.is_likely(each.passage),
            beside=ranking.relevance.belongs_beside(each.passage),
        )
        for each, candidate in zip(shown, candidates, strict=True)
    ]


def _from_part(shown: RankedHit, words: tuple[str, ...]) -> PackCandidate:
    hit = shown.hit
    safe = sanitize(hit.snippet or "", adversarial=bool(hit.flags))
    item = PackItem(
        id=hit.id,
        kind=shown.item[0],
        type=hit.type,
        title=standing_items.distinct_title(hit.title, safe.text),
        text=safe.text,
        author=to_one_line(hit.author, 60) or None,
        at=hit.occurred_at or hit.modified_at or hit.created_at,
        section=to_one_line(shown.place or "", 60) or None,
        flags=list(safe.flags) or None,
    )
    return PackCandidate("passages", 0, item, hit.score, words, place=place_of(shown))


def _add_sections(
    tx: Reader, shown: Sequence[RankedHit], candidates: Sequence[PackCandidate], most: int
) -> list[PackCandidate]:
    """The candidates, the best of those that are shown in part with their sections."""
    cut = [each for each in shown if each.hit.content is None][:most]
    sections = read_sections(tx, [(each,) for each in cut]) if cut else {}
    return [
        replace(candidate, section=sections.get(each.passage))
        for each, candidate in zip(shown, candidates, strict=True)
    ]


def _collect(tx: Reader, vault: Vault, request: PackRequest, ranking: SearchRanking, limit: int) -> GatheredCandidates:
    state, checkpoint = standing_items.read_state(tx, request.only.workspaces, request.only.thread)
    rules = standing_items.read_rules(tx, replace(request.only, thread=None, kinds=()), request.total)
    known = {(candidate.item.kind, candidate.item.id) for candidate in rules}
    ranked = search_hits.read_hits(tx, vault.name, ranking, ranking.items[:limit], request.only, length=PASSAGE_LENGTH)
    shown = _apply_fading(tx, vault, [each for each in ranked if (each.item[0], each.hit.id) not in known])
    terms = ranking.meant.query.shown
    origins = _read_origins(tx, [each.item[1] for each in shown if each.item[0] == indexing.KIND])
    sections = _add_sections(tx, shown, [_to_candidate(each, terms, origins) for each in shown], MAX_WIDENED)
    found = _mark_unlikely(ranking, shown, sections)
    wrong = corrections.find_about(tx, request.only.viewer, [each.hit.id for each in shown[:MAX_CORRECTED]])
    corrected = [replace(session_brief.from_correction(each), part="rules") for each in wrong]
    candidates = [replace(candidate, rank=rank) for rank, candidate in enumerate([*state, *corrected, *rules, *found])]
    keys = [candidate.key for candidate in candidates if candidate.key is not None]
    links, titles = standing_items.read_links(tx, keys, request.only.viewer)
    return GatheredCandidates(candidates, links, titles, checkpoint, list(ranking.warnings))


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
    storer: str | None = tx.value(
        f"SELECT stored_by FROM memories WHERE seq IN ({some}) GROUP BY stored_by ORDER BY COUNT(*) DESC, 1 LIMIT 1"
    )
    return storer


def merge_candidates(one: GatheredCandidates, more: GatheredCandidates) -> GatheredCandidates:
    """The candidates of two searches, by score."""
    found = {(candidate.item.kind, candidate.item.id): candidate for candidate in _with_scores(more)}
    found |= {(candidate.item.kind, candidate.item.id): candidate for candidate in _with_scores(one)}
    unscored = [candidate for candidate in one.candidates if candidate.score is None]
    best = sorted(found.values(), key=lambda candidate: -(candidate.score or 0.0))
    candidates = [replace(candidate, rank=rank) for rank, candidate in enumerate([*unscored, *best])]
    links = list(dict.fromkeys([*one.links, *more.links]))
    return replace(one, candidates=candidates, links=links, titles={**more.titles, **one.titles})


def _with_scores(gathered: GatheredCandidates) -> list[PackCandidate]:
    return [candidate for candidate in gathered.candidates if candidate.score is not None]


def _read_origins(tx: Reader, seqs: Sequence[int]) -> Mapping[int, tuple[str, str | None, int]]:
    """By ``seq`` of memory: who stored it, the commit it speaks of, and its length in characters."""
    some = ", ".join(str(int(seq)) for seq in seqs)
    rows = tx.all(f"SELECT seq, stored_by, anchor_commit, LENGTH(content) FROM memories WHERE seq IN ({some})")
    return {int(seq): (stored_by, commit, int(length)) for seq, stored_by, commit, length in rows}


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
    item = PackItem(
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
    return PackCandidate(
        part="memories", rank=0, item=item, score=hit.score, words=words, key=number, anchor=anchor, whole=whole
    )
