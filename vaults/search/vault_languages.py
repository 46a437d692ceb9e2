"""The languages beside English that the passages of a vault are written in.

A passage is taken to be in a language when it holds two of that language's commonest words of grammar, one of either
half of its line here. That costs one look into the index of words for each language, needs no sample that could miss a
few notes among many, and no library: those that were tried take 25 to 120 MB and up to a second to load."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from vaults.db.sql import Reader
from vaults.index import text_index
from vaults.index.shelves import SHELVES, Shelf
from vaults.index.stemming import stem_as_indexed
from vaults.search import inflections
from vaults.search.fts_expression import quote_words
from vaults.search.word_forms import fold

COMMON_SHARE = 0.01
"""Share of the passages from which a language is one that words alone, with nothing to tell their language, may be
in."""

LEAST_SHARE = 0.0005
"""Share of the passages below which a language is taken for quotations, or for names that look like its words."""

_TELLING: Mapping[str, tuple[str, str]] = {
    "german": ("und nicht auf sich wird", "der ist eine werden"),
    "french": ("avec cette sont nous vous aux leur dans", "les une est qui que"),
    "spanish": ("está están pero también porque desde hasta muy sobre cuando que por", "el y"),
    "italian": ("della degli nella gli sono alla questo", "che una il di"),
    "portuguese": ("não uma pelo pela são você", "para que mais da"),
    "dutch": ("niet wordt een", "het van zijn voor"),
    "swedish": ("och från också", "att som det den är"),
    "danish": ("og ikke", "af efter noget hvad jeg"),
    "norwegian": ("og ikke", "av etter noe hva jeg"),
    "finnish": ("että ovat eivät mutta sekä myös joka", "ja on ei se"),
    "russian": ("и", "не на в что для с"),
    "polish": ("jest przez oraz który dla", "na w nie do"),
    "hungarian": ("hogy nem egy", "az és van meg"),
    "romanian": ("pentru sunt fost", "și nu din pe"),
    "turkish": ("ve bir", "bu için ile olarak"),
}
"""In the first half none that is an English word once accents, and what English takes for an ending, are cut off."""

LANGUAGES = frozenset(_TELLING)
"""The languages that are looked for."""

MAX_STEMS_READ = 1_000
"""Stems of one beginning that are compared with a word, at most."""

PASSAGES_READ = 50
"""Passages read for forms of a word where no list of stems is kept, at most."""

_WORD = re.compile(r"[^\W\d_]+")


def read_shares(tx: Reader) -> dict[str, float]:
    """The languages and their share of the passages, 0…1, counted no further than ``COMMON_SHARE``."""
    sizes = {shelf: text_index.read_size(tx, shelf.words[0])[0] for shelf in SHELVES}
    held = {shelf: rows for shelf, rows in sizes.items() if rows}
    rows = sum(held.values())
    shares = {language: _count(tx, held, language) / rows for language in _TELLING} if rows else {}
    return {language: share for language, share in shares.items() if share > LEAST_SHARE}


def own_languages(tx: Reader, viewer: str, among: Collection[str]) -> frozenset[str]:
    """The languages, of ``among``, that private passages of the viewer are in."""
    if not viewer or not text_index.has_private_rows(tx):
        return frozenset()
    return frozenset(each for each in among if each in _TELLING and text_index.is_own(tx, _expression(each), viewer))


def find_shared_forms(tx: Reader, word: str, language: str) -> list[tuple[str, ...]]:
    """Forms of ``word`` (``inflections.find_forms``) in shared passages: in all memories and notes, and in some
    passages of documents that hold a word which begins like it."""
    beginnings = inflections.first_letters(word, language)
    stems = {stem for letters in beginnings for stem in text_index.list_some_stems(tx, letters, MAX_STEMS_READ)}
    if beginnings:
        stems |= _stems_in(text_index.read_documents(tx, _beginning_with(beginnings), PASSAGES_READ), beginnings)
    return inflections.find_forms(word, language, sorted(stems))


def find_own_forms(tx: Reader, word: str, language: str, viewer: str) -> list[tuple[str, ...]]:
    """The same of the viewer's private passages: of some that hold a word which begins like it."""
    beginnings = inflections.first_letters(word, language)
    texts = text_index.read_own(tx, _beginning_with(beginnings), viewer, PASSAGES_READ) if beginnings else []
    return inflections.find_forms(word, language, sorted(_stems_in(texts, beginnings)))


def _beginning_with(letters: tuple[str, ...]) -> str:
    return " OR ".join(f"{quote_words(each)}*" for each in letters)


def _stems_in(texts: list[str], beginnings: tuple[str, ...]) -> set[str]:
    words = {fold(found) for text in texts for found in _WORD.findall(text)}
    return {stem_as_indexed(word) for word in words if word.startswith(beginnings)}


def _count(tx: Reader, held: Mapping[Shelf, int], language: str) -> int:
    expression = _expression(language)
    return sum(
        text_index.count_shared(tx, expression, int(rows * COMMON_SHARE) + 1, shelf) for shelf, rows in held.items()
    )


def _expression(language: str) -> str:
    """An FTS5 expression that passages in the language match."""
    return " AND ".join(f"({' OR '.join(map(quote_words, half.split()))})" for half in _TELLING[language])
