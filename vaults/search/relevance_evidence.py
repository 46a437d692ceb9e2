"""What speaks for a hit being an answer: its cosine, and how much of the question its words hold."""

from __future__ import annotations

from collections.abc import Sequence

from vaults.db.sql import Reader
from vaults.search.question import SearchRanking
from vaults.search.question_words import weigh_words
from vaults.search.relevance_scores import RelevanceEvidence


def read_evidence(tx: Reader, ranking: SearchRanking, passages: Sequence[int]) -> dict[int, RelevanceEvidence]:
    """The evidence for each of ``passages`` that is still there."""
    if not passages:
        return {}
    words = weigh_words(ranking.meant)
    numbers = ", ".join(map(str, passages))
    rows = tx.all(
        f"SELECT seq, title, body, labels, author, entity, before, after FROM passages WHERE seq IN ({numbers})"
    )
    least = ranking.spans["semantic"][0] if "semantic" in ranking.spans else 0.0
    cosines = ranking.meanings.scores
    unknown, strange = words.unknown, words.strange
    there = max(ranking.meant.passages, len(ranking.facts))

    def weigh(passage: int, texts: Sequence[str]) -> RelevanceEvidence:
        *own, before, after = texts
        found = words.find_in(own)
        return RelevanceEvidence(
            cosine=max(0.0, cosines.get(passage, least)),
            own=words.share_of(found),
            around=words.share_of(found | words.find_in((before, after))),
            unknown=unknown,
            strange=strange,
            words=len(words.words),
            passages=there,
            sequence=ranking.facts[passage].near is not None,
        )

    return {int(seq): weigh(int(seq), [each or "" for each in texts]) for seq, *texts in rows}
