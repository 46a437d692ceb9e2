"""What speaks for a hit being an answer: its cosine, and how much of the question its words hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vaults.db.sql import Reader
from vaults.index.shelves import DOCUMENTS, MAIN, shelves_of
from vaults.index.text_index import count_shared, read_size
from vaults.search.fts_expression import quote_words
from vaults.search.question import InterpretedQuestion, SearchRanking
from vaults.search.question_words import weigh_words
from vaults.search.relevance_scores import RelevanceEvidence

COUNTED = 1_000
"""Passages of documents that are counted for a word, at most."""


@dataclass(frozen=True, slots=True)
class HitText:
    """What is read of a hit: ``own``, its title, body, labels, author and entity; ``around``, what stands before and
    after."""

    own: tuple[str, ...]
    around: tuple[str, ...]


def read_texts(tx: Reader, passages: Sequence[int]) -> dict[int, HitText]:
    """The texts of each of ``passages`` that is still there."""
    numbers = ", ".join(map(str, passages))
    rows = tx.all(
        f"SELECT seq, title, body, labels, author, entity, before, after FROM passages WHERE seq IN ({numbers})"
    )
    return {int(seq): HitText(tuple(texts[:5]), tuple(texts[5:])) for seq, *texts in rows}


def weigh_evidence(
    ranking: SearchRanking, meant: InterpretedQuestion, texts: Mapping[int, HitText]
) -> dict[int, RelevanceEvidence]:
    """The evidence for each of the hits with these ``texts``. ``meant``: as ``know_shelves`` gives it."""
    words = weigh_words(meant)
    own = {passage: words.find_in(text.own) for passage, text in texts.items()}
    around = {passage: own[passage] | words.find_in(text.around) for passage, text in texts.items()}
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
