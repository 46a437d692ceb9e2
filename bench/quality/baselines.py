"""What one has without a memory server: counting words as ``grep -i`` would, and SQLite's own ranking."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from bench.quality.sets import JudgedDocument, JudgedSet

_WORD = re.compile(r"\w+")
_OR = "SELECT rowid FROM texts WHERE texts MATCH :match ORDER BY bm25(texts), rowid"


def words_of(text: str) -> list[str]:
    """The distinct words of a question, in order."""
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def rank_by_scan(judged: JudgedSet, depth: int) -> dict[str, list[str]]:
    """The documents that hold most of the question's distinct words anywhere, ties in the order of the corpus."""
    lowered: dict[str, list[tuple[str, JudgedDocument]]] = defaultdict(list)
    for document in judged.documents:
        lowered[document.vault].append((document.text.lower(), document))
    ranked = {}
    for question in judged.questions:
        words = words_of(question.text)
        counted = [(sum(word in text for word in words), document) for text, document in lowered[question.vault]]
        best = sorted((pair for pair in counted if pair[0]), key=lambda pair: -pair[0])
        ranked[question.id] = to_result_names((document for _, document in best), depth, judged)
    return ranked


def rank_by_plain_bm25(judged: JudgedSet, depth: int) -> dict[str, list[str]]:
    """SQLite's full text index, by the words of the question."""
    texts = [(document.vault, document.text) for document in judged.documents]
    asked = [(question.vault, question.text) for question in judged.questions]
    return {
        question.id: to_result_names((judged.documents[number] for number in found), depth, judged)
        for question, found in zip(judged.questions, rank_by_bm25(texts, asked), strict=True)
    }


def rank_by_bm25(texts: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> Iterator[list[int]]:
    """The places of the matching texts for each question, best first. Both come as group and text.

    Every word of the question is joined by OR, all texts are in one table, the answers are cut down to the question's
    group. (A table for each group gives less: rare words are told apart less well.)"""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61')")
        rows = ({"number": number, "text": text} for number, (_, text) in enumerate(texts))
        database.executemany("INSERT INTO texts (rowid, text) VALUES (:number, :text)", rows)
        for group, text in asked:
            match = " OR ".join(f'"{word}"' for word in words_of(text))
            yield (
                [number for (number,) in database.execute(_OR, {"match": match}) if texts[number][0] == group]
                if match
                else []
            )
    finally:
        database.close()


def to_result_names(ranked: Iterable[JudgedDocument], depth: int, judged: JudgedSet) -> list[str]:
    """What is asked for of ranked documents: themselves, or their parents, each where its best one stands."""
    return list(islice(_distinct(ranked, judged), depth))


def _distinct(ranked: Iterable[JudgedDocument], judged: JudgedSet) -> Iterator[str]:
    seen = set()
    for document in ranked:
        name = document.parent if judged.task.by_parent and document.parent else document.id
        if name not in seen:
            seen.add(name)
            yield name
