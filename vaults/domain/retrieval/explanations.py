"""``explain``: how a question was read, every candidate it found, and what became of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from vaults.db.sql import Reader
from vaults.domain.retrieval import hybrid_search, search_hits
from vaults.domain.retrieval.hybrid_search import Answer, Ask
from vaults.domain.retrieval.search_hits import Shown
from vaults.index import passages
from vaults.search.filters import Filter
from vaults.search.item_groups import place_of
from vaults.search.passage_facts import Key
from vaults.search.question import Mode, Ranking
from vaults.search.stage_timings import Timings
from vaults.vault import Vault


@dataclass(frozen=True, slots=True)
class Place:
    """Where a channel has a passage: ``rank`` from 1, and its own score (bm25 with the sign turned; cosine)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage that was considered: of its item the one of that number, from 1. ``joint`` is both channels' score
    together, 0…1; ``signals`` what was added to it; ``score`` the sum, which orders candidates; ``item_score`` that of
    the whole item, which orders items. ``outcome``: returned, or why not."""

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
    keyword: Place | None = None
    semantic: Place | None = None
    rerank: float | None = None
    item_score: float | None = None
    item_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """How the question was read. ``terms`` are searched for, ``model`` is what was embedded, ``names`` are authors and
    entities it speaks of, ``required`` is what operators demand, ``too_common`` was left out of the word search,
    ``expanded`` was searched for beside it, where that is set up."""

    terms: list[str]
    model: str
    names: list[str]
    mode_used: Mode
    required: str | None = None
    too_common: list[str] = field(default_factory=list)
    phrases: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    expanded: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Explained:
    """Everything about one search. ``total`` counts candidates; ``returned`` are the ids the search gives back."""

    query: Reading
    candidates: list[Candidate]
    total: int
    returned: list[str]
    weights: dict[str, float]
    timings_ms: dict[str, float]
    warnings: list[str] = field(default_factory=list)


Fitting = Callable[[Answer], Awaitable[int]]


@dataclass(frozen=True, slots=True)
class _Found:
    """``ranks``: of each candidate, from 1. ``numbers``: which of its item each passage is, from 1. Its own number,
    which counts what everybody stored, is nobody's business."""

    ranking: Ranking
    rows: Mapping[int, Shown]
    ranks: Mapping[int, int]
    numbers: Mapping[int, int]


async def explain(vault: Vault, ask: Ask, most: int, fitting: Fitting) -> Explained:
    """The search ``ask`` with its reasons, and the first ``most`` of its candidates. It is run anew, so that there are
    timings. ``fitting``: how many of an answer's hits the search would return."""
    timings = Timings(vault.shared.observer)

    def pick(tx: Reader, ranking: Ranking) -> _Found:
        rows = _rows(tx, vault.name, ranking, most, ask.only)
        ranks = {passage: rank for rank, (passage, _) in enumerate(ranking.order, 1)}
        return _Found(ranking, rows, ranks, passages.numbers_in_item(tx, rows))

    found = await hybrid_search.ranked(vault, ask, pick, timings)
    answer = await hybrid_search.answer(vault, ask)
    kept = answer.shown[: await fitting(answer)]
    ids = [each.hit.id for each in kept]
    candidates = list(_candidates(found, ask, {each.item for each in kept}, most))
    settings = vault.shared.search
    return Explained(
        query=_reading(found.ranking, ask.only),
        candidates=candidates,
        total=len(found.ranking.order),
        returned=ids,
        weights={name: value for name, value in settings.model_dump().items() if isinstance(value, float)},
        timings_ms={name: round(seconds * 1000, 2) for name, seconds in timings.seconds.items()},
        warnings=answer.warnings,
    )


def _rows(tx: Reader, vault: str, ranking: Ranking, most: int, only: Filter) -> dict[int, Shown]:
    first = ranking.order[:most]
    return {shown.passage: shown for shown in search_hits.shown(tx, vault, ranking, first, only)}


def _reading(ranking: Ranking, only: Filter) -> Reading:
    meant = ranking.meant
    return Reading(
        terms=list(meant.query.terms),
        model=meant.told if ranking.mode != "keyword" else "",
        names=sorted(meant.names),
        mode_used=ranking.mode,
        required=meant.query.must,
        too_common=list(meant.common),
        phrases=list(meant.query.phrases),
        filters=only.asked(),
        expanded=list(ranking.expanded),
    )


def _candidates(found: _Found, ask: Ask, kept: set[Key], most: int) -> Iterator[Candidate]:
    ranking = found.ranking
    words = {passage: rank for rank, passage in enumerate(ranking.words.scores, 1)}
    meanings = {passage: rank for rank, passage in enumerate(ranking.meanings.scores, 1)}
    items = {passage: (rank, score) for rank, (passage, score) in enumerate(ranking.items, 1)}
    for rank, (passage, score) in enumerate(ranking.order[:most], 1):
        if (row := found.rows.get(passage)) is None:
            continue  # it went away since it was ranked
        keyword = Place(words[passage], round(ranking.words.scores[passage], 4)) if passage in words else None
        near = meanings.get(passage)
        semantic = Place(near, round(ranking.meanings.scores[passage], 4)) if near is not None else None
        item = items.get(passage)
        yield Candidate(
            rank=rank,
            id=row.hit.id,
            kind=row.item[0],
            title=row.hit.title,
            passage=found.numbers[passage],
            text=(row.hit.snippet or row.hit.content or "")[:200],
            joint=round(ranking.fused[passage], 4),
            signals={name: round(lift[passage], 4) for name, lift in ranking.lifts.items() if passage in lift},
            score=round(score, 4),
            outcome=_outcome(found, ask, kept, passage),
            keyword=keyword,
            semantic=semantic,
            rerank=ranking.opinions.get(passage),
            item_rank=item[0] if item else None,
            item_score=round(item[1], 4) if item else None,
        )


def _outcome(found: _Found, ask: Ask, kept: set[Key], passage: int) -> str:
    ranking, ranks = found.ranking, found.ranks
    of = next((each.of for each in ranking.repeats if each.item == passage), None)
    if of is not None:
        return f"dropped: repeats the text of candidate {ranks[of]}"
    place = place_of(passage, ranking.items, ranking.facts, ask.group_by)
    if place is None:
        return "dropped: it is what others like it are looked for"
    if place.best != passage:
        return f"counted for candidate {ranks[place.best]}, the best of its {ask.group_by}"
    if place.score / ranking.top < ask.min_score:
        return f"dropped: its score is below min_score {ask.min_score}"
    if place.rank > ask.limit:
        return f"dropped: place {place.rank}, beyond limit {ask.limit}"
    return "returned" if ranking.facts[passage].item in kept else "dropped: beyond max_tokens"
