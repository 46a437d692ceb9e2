"""``explain``: how a query was read, every candidate it found, and what became of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from vaults.db.sql import Reader
from vaults.domain.retrieval import hybrid_search, search_hits
from vaults.domain.retrieval.hybrid_search import SearchAnswer, SearchRequest
from vaults.domain.retrieval.search_hits import RankedHit
from vaults.index import passages
from vaults.search.filters import SearchFilter
from vaults.search.item_groups import find_place
from vaults.search.passage_facts import ItemKey
from vaults.search.question import SearchMode, SearchRanking
from vaults.search.relevance_scores import RelevanceEvidence
from vaults.search.relevance_threshold import RelevanceThreshold
from vaults.search.stage_timings import StageTimings
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class ChannelRank:
    """Where a channel has a passage: ``rank`` from 1, and its own score (bm25 with the sign turned; cosine)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A passage that was considered: of its item the one of that number, from 1. ``joint`` is both channels' score
    together, 0…1; ``signals`` what was added to it; ``score`` the sum, which orders candidates; ``item_score`` that of
    the whole item, which orders items. ``relevance`` is the score a hit is shown with, of the best items alone, and
    ``evidence`` what it was made of. ``outcome``: returned, or why not."""

    rank: int
    id: str
    kind: str
    title: str
    passage: int
    text: str
    joint: float
    signals: dict[str, float]
    score: float
    outcome: str
    keyword: ChannelRank | None = None
    semantic: ChannelRank | None = None
    rerank: float | None = None
    item_score: float | None = None
    item_rank: int | None = None
    relevance: float | None = None
    evidence: RelevanceEvidence | None = None


@dataclass(frozen=True, slots=True)
class QueryInterpretation:
    """How the question was read. ``terms`` are searched for, ``model`` is what was embedded, ``names`` are authors and
    entities it speaks of, ``required`` is what operators demand, ``too_common`` was left out of the word search,
    ``expanded`` was searched for beside it, where that is set up."""

    terms: list[str]
    model: str
    names: list[str]
    mode_used: SearchMode
    required: str | None = None
    too_common: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    expanded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SearchExplanation:
    """Everything about one search. ``total`` counts candidates; ``returned`` lists the ids the search returns."""

    query: QueryInterpretation
    candidates: list[ExplainedCandidate]
    total: int
    returned: list[str]
    weights: dict[str, float]
    threshold: RelevanceThreshold
    timings_ms: dict[str, float]
    warnings: list[str] = field(default_factory=list)


CountFitting = Callable[[SearchAnswer], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class _RankedRows:
    """A ranking with the rows behind it."""

    ranking: SearchRanking
    rows: Mapping[int, RankedHit]
    ranks: Mapping[int, int]  # of each candidate, from 1
    # of each passage within its item, from 1: its ``seq`` would reveal how much everybody stored
    numbers: Mapping[int, int]


async def explain(vault: Vault, request: SearchRequest, most: int, fitting: CountFitting) -> SearchExplanation:
    """The search ``request`` with its reasons, and its first ``most`` candidates. It is run anew, for the timings.
    ``fitting``: how many of an answer's hits the search would return."""
    timings = StageTimings(vault.shared.observer)

    def pick(tx: Reader, ranking: SearchRanking) -> _RankedRows:
        rows = _read_rows(tx, vault.name, ranking, most, request.only)
        ranks = {passage: rank for rank, (passage, _) in enumerate(ranking.order, 1)}
        return _RankedRows(ranking, rows, ranks, passages.numbers_in_item(tx, rows))

    found = await hybrid_search.rank_and_pick(vault, request, pick, timings)
    threshold = await read_vault_threshold(vault, request.only.now)
    answer = await hybrid_search.search_vault(vault, request)
    kept = answer.shown[: await fitting(answer)]
    ids = [each.hit.id for each in kept]
    candidates = list(_candidates(found, request, {each.item for each in kept}, most))
    settings = vault.shared.search
    return SearchExplanation(
        query=_interpretation(found.ranking, request.only),
        candidates=candidates,
        total=len(found.ranking.order),
        returned=ids,
        weights={name: value for name, value in settings.model_dump().items() if isinstance(value, float)},
        threshold=threshold,
        timings_ms={name: round(seconds * 1000, 2) for name, seconds in timings.seconds.items()},
        warnings=[*answer.doubts, *answer.warnings],
    )


async def read_vault_threshold(vault: Vault, now: str) -> RelevanceThreshold:
    """From where a hit of the vault is likely to answer, as its searches take it, and why."""
    engines = vault.engines
    return await vault.db.read(lambda tx: engines.threshold.of(tx, engines.settings.likely, now))


def _read_rows(tx: Reader, vault: str, ranking: SearchRanking, most: int, only: SearchFilter) -> dict[int, RankedHit]:
    first = ranking.order[:most]
    return {shown.passage: shown for shown in search_hits.read_hits(tx, vault, ranking, first, only)}


def _interpretation(ranking: SearchRanking, only: SearchFilter) -> QueryInterpretation:
    meant = ranking.meant
    return QueryInterpretation(
        terms=list(meant.query.terms),
        model=meant.embedded_text if ranking.mode != "keyword" else "",
        names=sorted(meant.names),
        mode_used=ranking.mode,
        required=meant.query.must,
        too_common=list(meant.common),
        phrases=list(meant.query.phrases),
        filters=only.asked(),
        expanded=list(ranking.expanded),
    )


def _candidates(
    ranked: _RankedRows, request: SearchRequest, kept: set[ItemKey], most: int
) -> Iterator[ExplainedCandidate]:
    ranking, relevance = ranked.ranking, ranked.ranking.relevance
    words = {passage: rank for rank, passage in enumerate(ranking.words.scores, 1)}
    meanings = {passage: rank for rank, passage in enumerate(ranking.meanings.scores, 1)}
    items = {passage: (rank, score) for rank, (passage, score) in enumerate(ranking.items, 1)}
    for rank, (passage, score) in enumerate(ranking.order[:most], 1):
        if (row := ranked.rows.get(passage)) is None:
            continue  # deleted since it was ranked
        keyword = ChannelRank(words[passage], round(ranking.words.scores[passage], 4)) if passage in words else None
        near = meanings.get(passage)
        semantic = ChannelRank(near, round(ranking.meanings.scores[passage], 4)) if near is not None else None
        item = items.get(passage)
        yield ExplainedCandidate(
            rank=rank,
            id=row.hit.id,
            kind=row.item[0],
            title=row.hit.title,
            passage=ranked.numbers[passage],
            text=(row.hit.snippet or row.hit.content or "")[:200],
            joint=round(ranking.fused[passage], 4),
            signals={name: round(lift[passage], 4) for name, lift in ranking.lifts.items() if passage in lift},
            score=round(score, 4),
            outcome=_outcome(ranked, request, kept, passage),
            keyword=keyword,
            semantic=semantic,
            rerank=ranking.opinions.get(passage),
            item_rank=item[0] if item else None,
            item_score=round(item[1], 4) if item else None,
            relevance=round(relevance.scores[passage], 4) if passage in relevance.scores else None,
            evidence=_round_evidence(relevance.evidence.get(passage)),
        )


def _round_evidence(evidence: RelevanceEvidence | None) -> RelevanceEvidence | None:
    if evidence is None:
        return None
    shares = {name: round(getattr(evidence, name), 4) for name in ("cosine", "own", "around", "unknown", "strange")}
    return replace(evidence, **shares)


def _outcome(ranked: _RankedRows, request: SearchRequest, kept: set[ItemKey], passage: int) -> str:
    ranking, ranks = ranked.ranking, ranked.ranks
    of = next((each.of for each in ranking.repeats if each.item == passage), None)
    if of is not None:
        return f"dropped: repeats the text of candidate {ranks[of]}"
    place = find_place(passage, ranking.items, ranking.facts, request.group_by)
    if place is None:
        return "dropped: it is what others like it are looked for"
    if place.best != passage:
        return f"counted for candidate {ranks[place.best]}, the best of its {request.group_by}"
    if ranking.relevance.of(passage) < request.min_score:
        return f"dropped: its score is below min_score {request.min_score}"
    if place.rank > request.limit:
        return f"dropped: place {place.rank}, beyond limit {request.limit}"
    return "returned" if ranking.facts[passage].item in kept else "dropped: beyond max_tokens"
