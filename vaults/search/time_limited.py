"""Search by word with a time limit, for vaults so big that a few common words could take seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vaults.db.sql import Reader
from vaults.index import text_index
from vaults.index.shelves import MAIN, shelves_of
from vaults.search.candidates import NO_CANDIDATES, SearchCandidates, find_by_word
from vaults.search.filters import SearchFilter
from vaults.search.query import Query
from vaults.search.question import InterpretedQuestion
from vaults.search.vocabulary import BIG_VAULT, VocabularyWord
from vaults.settings import SearchSettings

RAREST = 2
"""Rarest words to search for alone if all words took too long."""

TIMED_OUT_WARNING = "keyword search took too long in so big a vault and is left out"


def find_by_word_in_time(
    tx: Reader,
    meant: InterpretedQuestion,
    known: Mapping[str, VocabularyWord],
    limit: int,
    only: SearchFilter,
    settings: SearchSettings,
) -> tuple[SearchCandidates, str | None]:
    """What ``find_by_word`` finds, and a warning if that is not all. In a vault of more than ``BIG_VAULT`` passages it
    has ``keyword_ms``, and as long again for the rarest words alone."""
    if _count_passages(tx, meant, only) <= BIG_VAULT:
        return find_by_word(tx, meant.query, limit, only, settings), None
    attempts: list[tuple[Query, str | None]] = [(meant.query, None)]
    if (rarest := _keep_rarest(meant.query, known)) is not None:
        reduced = f"keyword search took too long in so big a vault: searched for {' and '.join(rarest.terms)} alone"
        attempts.append((rarest, reduced))
    for query, warning in attempts:
        try:
            with tx.within(settings.keyword_ms / 1000):
                return find_by_word(tx, query, limit, only, settings), warning
        except TimeoutError:
            continue
    return NO_CANDIDATES, TIMED_OUT_WARNING


def _count_passages(tx: Reader, meant: InterpretedQuestion, only: SearchFilter) -> int:
    """Shared passages that are searched."""
    others = [shelf for shelf in shelves_of(only.kinds) if shelf is not MAIN]
    return meant.passages + sum(text_index.read_size(tx, shelf.words[0])[0] for shelf in others)


def _keep_rarest(query: Query, known: Mapping[str, VocabularyWord]) -> Query | None:
    """The query with its rarest words only; None where that asks something else: operators require all words."""
    whole = [term for term in query.terms if term in known and term not in query.prefixes and known[term].share]
    if query.must is not None or not whole or (len(query.terms) <= RAREST and len(whole) == len(query.terms)):
        return None
    kept = sorted(whole, key=lambda term: known[term].share)[:RAREST]
    return replace(query, terms=tuple(kept), prefixes=frozenset(), phrases=(), unspaced=(), groups=())
