"""What speaks for a hit being an answer: its cosine, and how much of the question its words hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from vaults.db.sql import Reader
from vaults.index.shelves import DOCUMENTS, MAIN, shelves_of
from vaults.index.text_index import count_shared, read_size
from vaults.search.candidate_texts import MAX_TEXT, CandidateTexts
from vaults.search.fts_expression import quote_words
from vaults.search.question import InterpretedQuestion, SearchRanking
from vaults.search.question_words import weigh_words
from vaults.search.relevance_scores import RelevanceEvidence

COUNTED = 1_000
"""Passages of documents that are counted for a word, at most."""


def weigh_evidence(
    ranking: SearchRanking, meant: InterpretedQuestion, texts: CandidateTexts
) -> dict[int, RelevanceEvidence]:
    """The evidence for each of the hits with these ``texts``. ``meant``: as ``know_shelves`` gives it."""
    words, facts = weigh_words(meant), ranking.facts
    named = [f"{facts[passage].author or ''}\n{facts[passage].entity or ''}" for passage in texts]
    parts = [(each.title, each.body, each.labels, name) for each, name in zip(texts.values(), named, strict=True)]
    held = words.find_in([*map(_join, parts), *(_join((each.before, each.after)) for each in texts.values())])
    own = dict(zip(texts, held[: len(texts)], strict=True))
    around = {passage: own[passage] | more for passage, more in zip(texts, held[len(texts) :], strict=True)}
    found = set[int]().union(*around.values())
    least = ranking.spans["semantic"][0] if "semantic" in ranking.spans else 0.0
    cosines, there = ranking.meanings.scores, max(meant.passages, len(ranking.facts))
    unknown, strange = words.unknown(found), words.strange(found)
    return {
        passage: RelevanceEvidence(
            cosine=max(0.0, cosines.get(passage, least)),
            own=words.share_of(own[passage]),
            around=words.share_of(around[passage]),
            unknown=unknown,
            strange=strange,
            words=len(words.words),
            passages=there,
            sequence=ranking.facts[passage].near is not None,
        )
        for passage in texts
    }


def know_shelves(tx: Reader, meant: InterpretedQuestion, kinds: Sequence[str]) -> InterpretedQuestion:
    """The question with the passages there are of these kinds, and the share of them that hold each word. The vault's
    vocabulary is of memories and notes: by it alone a question that documents answer is all unknown words."""
    shelves = shelves_of(kinds)
    documents = read_size(tx, DOCUMENTS.words[0])[0] if DOCUMENTS in shelves else 0
    if not documents:
        return meant
    main = meant.passages if MAIN in shelves else 0
    holding = {word: share * main + _count(tx, word) for word, share in meant.shares.items()}
    shares = {word: min(1.0, count / (main + documents)) for word, count in holding.items()}
    return replace(meant, passages=main + documents, shares=shares)


def _count(tx: Reader, word: str) -> int:
    return count_shared(tx, quote_words(word), COUNTED, DOCUMENTS)


def _join(parts: Sequence[str]) -> str:
    return "\n".join([part[:MAX_TEXT] for part in parts])
