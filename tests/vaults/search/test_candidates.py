"""Candidates by word: as many as were asked for, and every one of them with its facts and its score."""

from __future__ import annotations

from tests.blanks import empty_tables
from vaults.db.sql import Reader
from vaults.index import passages
from vaults.index.items import SearchItem
from vaults.search.candidates import find_by_word
from vaults.search.filters import SearchFilter
from vaults.search.query import parse_query
from vaults.settings import SearchSettings

NOW = "2026-01-01T00:00:00.000Z"


def _stored(texts: list[str], owners: list[str | None]) -> Reader:
    tx = empty_tables()
    for number, (text, owner) in enumerate(zip(texts, owners, strict=True), 1):
        item = SearchItem(
            kind="memory", number=number, source_hash="", at=NOW, modified_at=NOW, workspace="global", hidden=False,
            owner=owner, expires_at=None, type="fact", tier="hot", thread=None, applies_to="global", collection=None,
            folder=None, parent=None, author="ann",
        )  # fmt: skip
        passages.store(tx, item, passages.cut_passages("", text, [], 200))
    return tx


def test_words_and_characters_together_give_no_more_than_asked_for() -> None:
    tx = _stored([*["the harbour"] * 6, *["明日の港の予定表を見る"] * 6], [None] * 12)
    found = find_by_word(tx, parse_query("harbour 港の予定表"), 6, SearchFilter("ann", NOW), SearchSettings())
    assert (len(found.scores), found.facts.keys()) == (6, found.scores.keys())


def test_shared_and_private_passages_together_give_no_more_than_asked_for() -> None:
    tx = _stored(["the harbour"] * 12, [None, "ann"] * 6)
    found = find_by_word(tx, parse_query("harbour"), 4, SearchFilter("ann", NOW), SearchSettings())
    assert (len(found.scores), found.facts.keys()) == (4, found.scores.keys())
