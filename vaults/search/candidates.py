"""Candidates by word and by meaning, each with its facts, and only those the caller may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from vaults.db.sql import Reader
from vaults.index import text_index, unspaced_scripts
from vaults.index.shelves import shelves_of
from vaults.index.text_index import TextIndex, in_own_text
from vaults.search import passage_facts, private_text
from vaults.search.filters import SearchFilter
from vaults.search.fusion import sort_scores
from vaults.search.passage_facts import PassageFacts, read_facts
from vaults.search.query import Query
from vaults.settings import SearchSettings

if TYPE_CHECKING:
    import numpy as np

    from vaults.index.joined_vectors import JoinedVectors
    from vaults.index.vector_index import VectorIndex

TITLE, BODY, LABELS = 2.0, 1.0, 0.5
"""bm25 weights of the full-text columns; those of the text around a passage are settings."""

SPARE_PASSAGES = 8
"""Passages fetched beyond those wanted, to make up for the few that are archived, expired or private."""

OVERFETCH = (1, 4, 16)
"""Multiples of the wanted number of nearest passages to try before listing all that a filter lets through."""

Scores: TypeAlias = dict[int, float]
"""Passage to one channel's score, higher is better, best first."""


@dataclass(frozen=True, slots=True)
class SearchCandidates:
    """What one channel found: scores, best first, and the facts of each. ``full``: there may be more."""

    scores: Scores
    facts: dict[int, PassageFacts]
    full: bool


NO_CANDIDATES = SearchCandidates({}, {}, full=False)


def find_by_word(tx: Reader, query: Query, limit: int, only: SearchFilter, weights: SearchSettings) -> SearchCandidates:
    """The best ``limit`` passages by bm25 over the words, and over character pairs of scripts without spaces."""
    found = _find_by_words(tx, query, limit, only, weights)
    pairs = unspaced_scripts.match_expression(query.unspaced) if query.unspaced and query.must is None else None
    if pairs is None:
        return found
    asked = _FtsMatch(pairs, tuple(private_text.split_phrases(pairs)))
    more = _rank_shelves(tx, [TextIndex.of_pairs(shelf) for shelf in shelves_of(only.kinds)], asked, limit, only)
    scores = dict(found.scores)
    for passage, score in more.scores.items():
        scores[passage] = scores.get(passage, 0.0) + score
    return _to_best(scores, found.facts | more.facts, limit, full=found.full or more.full)


@dataclass(frozen=True, slots=True)
class _FtsMatch:
    """An FTS5 expression and the phrases in it that bm25 weighs. ``strict``: holding one of these is not enough.
    ``groups``: words in it that are forms of one."""

    match: str
    phrases: tuple[str, ...]
    strict: bool = False
    groups: tuple[tuple[str, ...], ...] = ()


def _find_by_words(
    tx: Reader, query: Query, limit: int, only: SearchFilter, weights: SearchSettings
) -> SearchCandidates:
    match = query.match
    if match is None:
        return NO_CANDIDATES
    phrases = private_text.split_phrases(match)
    if query.must is not None:
        match = f"({in_own_text(query.must)}) AND ({match})"
        phrases += map(in_own_text, private_text.split_phrases(query.must))
    columns = (TITLE, BODY, LABELS, float(weights.before), float(weights.after))
    indexes = [TextIndex.of_words(shelf, columns) for shelf in shelves_of(only.kinds)]
    return _rank_shelves(
        tx, indexes, _FtsMatch(match, tuple(phrases), query.must is not None, query.groups), limit, only
    )


def _rank_shelves(
    tx: Reader, indexes: Sequence[TextIndex], asked: _FtsMatch, limit: int, only: SearchFilter
) -> SearchCandidates:
    """Rank the passages of every shelf, and join the rankings. A word weighs by its rarity on its own shelf: the scores
    are brought to what they were if all stood on one."""
    if len(indexes) > 1:
        indexes = [index for index in indexes if text_index.has_rows(tx, index)]
    found = [(index, _rank_by_bm25(tx, index, asked, limit, only)) for index in indexes]
    held = [(index, each) for index, each in found if each.scores]
    if len(held) < 2:
        return held[0][1] if held else NO_CANDIDATES
    scales = private_text.compare_weights(tx, [index.shared for index, _ in held], asked.phrases)
    scores, facts = dict[int, float](), dict[int, PassageFacts]()
    for (_, each), scale in zip(held, scales, strict=True):
        scores |= {passage: score * scale for passage, score in each.scores.items()}
        facts |= each.facts
    return _to_best(scores, facts, limit, full=any(each.full for _, each in held))


def _rank_by_bm25(tx: Reader, index: TextIndex, asked: _FtsMatch, limit: int, only: SearchFilter) -> SearchCandidates:
    """Rank shared passages and the caller's private ones. These have an index of their own, because one caller's
    private text must not influence another's results."""
    found = _weighed_candidates(tx, index, asked, limit, only)
    own = (
        private_text.score_own(tx, index, asked.phrases, only.viewer)
        if private_text.has_private_passages(tx, index, only.viewer)
        else None
    )
    if own is None:
        return found
    mine = _own_candidates(tx, index, asked, own.scores, _CandidateScope(limit, only))
    if not mine:
        return found
    scores = {passage: score * own.scale for passage, score in found.scores.items()}
    scores |= {passage: own.scores[passage] for passage in mine}
    return _to_best(scores, found.facts | mine, limit, full=found.full or len(mine) >= limit)


@dataclass(frozen=True, slots=True)
class _CandidateScope:
    """How many passages, and which."""

    limit: int
    only: SearchFilter


def _own_candidates(
    tx: Reader, index: TextIndex, asked: _FtsMatch, scores: Scores, wanted: _CandidateScope
) -> dict[int, PassageFacts]:
    """The best of the caller's own passages that the filter lets through; of a strict expression, only matches."""
    best = list(_keep_best(scores, len(scores)))
    if asked.strict:
        matching = text_index.find_private(tx, index, asked.match)
        best = [passage for passage in best if passage in matching]
    found: dict[int, PassageFacts] = {}
    for start in range(0, len(best), wanted.limit):
        known = passage_facts.read_facts(tx, best[start : start + wanted.limit], wanted.only)
        found |= {passage: known[passage] for passage in best[start : start + wanted.limit] if passage in known}
        if len(found) >= wanted.limit:
            break
    return found


def _to_best(scores: Scores, facts: dict[int, PassageFacts], limit: int, *, full: bool) -> SearchCandidates:
    """The best ``limit``, with their facts and no others: what has facts is lifted, and has to have a score."""
    best = _keep_best(scores, limit)
    return SearchCandidates(best, {passage: facts[passage] for passage in best}, full)


def _keep_best(scores: Scores, limit: int) -> Scores:
    return dict(sort_scores(scores)[:limit])


def _weighed_candidates(
    tx: Reader, index: TextIndex, asked: _FtsMatch, limit: int, only: SearchFilter
) -> SearchCandidates:
    """Shared passages, with the forms of a word weighed as one: of some more than are wanted, the best."""
    if not asked.groups:
        return _shared_candidates(tx, index, asked.match, limit, only)
    from vaults.search import word_groups

    found = _shared_candidates(tx, index, asked.match, limit * word_groups.WIDER, only)
    best = _keep_best(word_groups.weigh_as_one(tx, index, found.scores, asked.groups), limit)
    return SearchCandidates(best, {passage: found.facts[passage] for passage in best}, len(best) >= limit)


def _shared_candidates(tx: Reader, index: TextIndex, match: str, limit: int, only: SearchFilter) -> SearchCandidates:
    """Rank shared passages. The filter runs after ranking where it rarely rejects anything (a fraction of the cost),
    and before ranking where it is narrow, or where it rejected too much after all."""
    where, params = only.over_passages()
    params |= {"match": match, "limit": limit, "over": limit + SPARE_PASSAGES}
    if not only.is_narrow:
        rows = text_index.read_best_unfiltered(tx, index, passage_facts.COLUMNS, where, params)
        seen = [row for row in rows if row[passage_facts.WIDTH + 2]]
        if len(rows) < params["over"] or len(seen) >= limit:
            return _to_candidates(seen, limit)
    return _to_candidates(text_index.read_best(tx, index, passage_facts.COLUMNS, where, params), limit)


def _to_candidates(rows: list[Any], limit: int) -> SearchCandidates:
    ordered = sorted(rows, key=itemgetter(passage_facts.WIDTH + 1, passage_facts.WIDTH))[:limit]
    scores = {int(row[passage_facts.WIDTH]): -float(row[passage_facts.WIDTH + 1]) for row in ordered}
    return SearchCandidates(
        scores, {int(row[passage_facts.WIDTH]): passage_facts.from_row(row) for row in ordered}, len(ordered) >= limit
    )


FactsReader: TypeAlias = Callable[[Reader, Collection[int], SearchFilter], dict[int, PassageFacts]]
"""Reads the facts of those of some passages that a filter lets through, as ``read_facts`` does."""


@dataclass(frozen=True, slots=True)
class VectorQuery:
    """What to look for by meaning."""

    vector: np.ndarray
    limit: int
    only: SearchFilter
    must: str | None  # what operators require, as an FTS5 expression
    known: dict[int, PassageFacts]  # candidates whose facts are already read
    floor: float = -1.0  # the least cosine of interest
    read_facts: FactsReader = read_facts


def find_by_meaning(tx: Reader, index: VectorIndex | JoinedVectors, sought: VectorQuery) -> SearchCandidates:
    """The nearest passages by cosine. Where a filter rejects most of the nearest, or operators require something, all
    passages that qualify are listed first and only they are searched."""
    vector, limit, only, must = sought.vector, sought.limit, sought.only, sought.must
    for share in () if must is not None else OVERFETCH:
        over = limit * share + SPARE_PASSAGES
        near = index.search(vector, over)
        unread = [passage for passage, score in near if score >= sought.floor and passage not in sought.known]
        known = sought.known | sought.read_facts(tx, unread, only)
        if len(near) < over or near[-1][1] < sought.floor or sum(passage in known for passage, _ in near) >= limit:
            return _nearest_candidates(near, known, limit)
    near = index.search(vector, limit, allowed_passages(tx, only, must))
    return _nearest_candidates(near, passage_facts.read_facts(tx, [passage for passage, _ in near], only), limit)


def _nearest_candidates(near: list[tuple[int, float]], known: dict[int, PassageFacts], limit: int) -> SearchCandidates:
    scores = dict([pair for pair in near if pair[0] in known][:limit])
    return SearchCandidates(scores, {passage: known[passage] for passage in scores}, len(scores) >= limit)


def allowed_passages(tx: Reader, only: SearchFilter, must: str | None = None) -> np.ndarray:
    """Every passage the filter lets through, as int64 numbers for the vector index."""
    import numpy as np

    where, params = only.over_passages()
    if must is None:
        rows = tx.all(f"SELECT p.seq FROM passages p WHERE {where}", params)
    else:
        rows = [
            row for shelf in shelves_of(only.kinds) for row in text_index.find_passages(tx, shelf, must, where, params)
        ]
    return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
