"""Small vaults, made of a few texts each of a stored one: what most people have.

They are not stored: the evidence is worked out from the texts, their vectors and the question's, as a search would.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.quality.calibration_rows import OWN, AskedVault
from bench.quality.sets import JudgedSet
from vaults.search.query import parse_query
from vaults.search.question import InterpretedQuestion
from vaults.search.question_words import weigh_words
from vaults.search.relevance_scores import RelevanceEvidence
from vaults.search.word_forms import find_marks

if TYPE_CHECKING:
    import numpy as np

    from vaults.embed.service import EmbeddingService
    from vaults.vault import Vault

SIZES = (1, 5, 25, 250)
QUESTIONS = 160
"""Questions of a set that are asked of small vaults."""

OWN_SHARE = 0.5
"""What words count beside the cosine for the order of a few texts."""


@dataclass(frozen=True, slots=True)
class _Text:
    id: str
    parts: tuple[str, ...]
    vector: np.ndarray


@dataclass(slots=True)
class TextsOfVaults:
    """The texts of some vaults, by name."""

    known: dict[str, list[_Text]] = field(default_factory=dict)

    async def read(self, vault: Vault) -> None:
        """Add the memories of an open vault."""
        import numpy as np

        from vaults.index import embeddings

        rows = await vault.db.read(
            lambda tx: tx.all(
                "SELECT p.seq, m.external_id, p.title, p.body, p.labels, p.author, p.entity FROM passages p"
                " JOIN memories m ON m.seq = p.item WHERE p.kind = 'memory' AND m.external_id IS NOT NULL"
            )
        )
        model = vault.engines.embedder.identity
        assert model is not None
        index = await vault.engines.projection.current(model, await vault.db.read(embeddings.last_change))
        vectors = index.gather(np.array([row[0] for row in rows], np.int64))
        self.known[vault.name] = [
            _Text(str(row[1]), tuple(each or "" for each in row[2:]), vector)
            for row, vector in zip(rows, vectors, strict=True)
        ]


async def ask_few(
    judged: JudgedSet, texts: TextsOfVaults, foreign: Sequence[tuple[str, str]], embedder: EmbeddingService
) -> list[AskedVault]:
    """Rows of small vaults: with a text that answers, of texts none of which does, and ``foreign`` questions, given
    with their kind."""
    chance, rows = random.Random(11), list[AskedVault]()
    for question in chance.sample(judged.questions, min(QUESTIONS, len(judged.questions))):
        vector = await embedder.query(question.text)
        here = texts.known[question.vault]
        right = [text for text in here if text.id in question.relevant]
        others = [name for name in texts.known if name != question.vault]
        elsewhere = texts.known[chance.choice(others or [question.vault])]
        for size in SIZES:
            wrong = [text for text in chance.sample(here, size) if text.id not in question.relevant]
            other = [text for text in chance.sample(elsewhere, size) if text.id not in question.relevant]
            if right:
                some = [chance.choice(right), *wrong[: size - 1]]
                rows.append(_ask(judged.task.name, OWN, question.text, vector, some))
            if other:
                rows.append(_ask(judged.task.name, "other texts", question.text, vector, other))
    for kind, text in foreign:
        vector = await embedder.query(text)
        for size in SIZES[1:]:
            some = chance.sample(texts.known[chance.choice(list(texts.known))], size)
            rows.append(_ask(judged.task.name, kind, text, vector, some))
    return rows


def _ask(name: str, kind: str, text: str, vector: np.ndarray, some: Sequence[_Text]) -> AskedVault:
    query = parse_query(text)
    words = weigh_words(InterpretedQuestion(query, text, passages=len(some), shares=_read_shares(query.terms, some)))
    unknown, strange, hits = words.unknown(), words.strange(), []
    for each in some:
        own = words.share_in(each.parts)
        cosine = max(0.0, float(each.vector @ vector))
        hits.append(RelevanceEvidence(cosine, own, own, unknown, strange, len(words.words), len(some)))
    hits.sort(key=lambda hit: -(hit.cosine + OWN_SHARE * hit.own))
    return AskedVault(name, kind, "hybrid", len(some), text, tuple(hits[:10]))


def _read_shares(terms: Sequence[str], some: Sequence[_Text]) -> Mapping[str, float]:
    held: list[Any] = [{mark.term for part in each.parts for mark in find_marks(part, terms)} for each in some]
    numbers = {term: {mark.term for mark in find_marks(term, terms)} for term in terms}
    return {term: sum(bool(own & found) for found in held) / len(some) for term, own in numbers.items()}
