"""Forms of a word in the languages of a vault, among the stems its index of words holds. Pure.

The index cuts every word by the rules of English (Porter) and drops accents, whatever its language: "Sicherungen" and
"Sicherung", "Haus" (cut to "hau") and "Häuser" stand there as different words. Here the words that a stem of the index
can have been cut from are stemmed once more, by the rules of their own language (Snowball), and compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vaults.index.stemming import stem_as_indexed, stem_by_language
from vaults.search.word_forms import fold

MIN_LETTERS = 3
"""Letters a word, and what stays of it as a stem, must have."""

MAX_LONGER = 8
"""Letters by which a form may be longer than the stem."""

MAX_SPELLINGS = 4
"""Words one stem can have been cut from, at most."""

_CUT = (
    "", "s", "e", "es", "ed", "ing", "y", "al", "er", "ate", "ated", "ation", "ations", "ion", "ions", "ent", "ement",
    "ment", "ance", "ence", "ant", "able", "ible", "ive", "iti", "ism", "ize", "ous", "ational",
)  # fmt: skip
"""Endings of English that the index cuts off words of other languages as well."""

_ACCENTED = {
    "french": "e:é es:és ee:ée ees:ées erent:èrent ames:âmes",
    "spanish": "cion:ción sion:sión ia:ía ias:ías ian:ían o:ó e:é ara:ará era:erá ira:irá iran:irán",
    "portuguese": "cao:ção coes:ções ao:ão oes:ões ia:ía avel:ável aveis:áveis ivel:ível",
    "italian": "ta:tà o:ò a:à",
    "polish": "ow:ów osc:ość ac:ać ic:ić a:ą e:ę aja:ają ami:ami",
    "hungarian": "nel:nél nal:nál rol:ról tol:től bol:ból ert:ért ra:rá ta:tá at:át et:ét ok:ók",
    "turkish": "lig:lığ lik:lık lari:ları si:sı i:ı",
}
"""Endings the index drops the accents of, and what they may have been."""


def first_letters(word: str, language: str) -> tuple[str, ...]:
    """What stems of the index begin with that can be forms of the word."""
    found: dict[str, None] = {}
    for spelling in _spellings(word, language):
        keys = _keys(spelling, language)
        short = min((*map(stem_as_indexed, (spelling, *keys)), *keys), key=len)
        common = _common_beginning(short, spelling)
        found[common[: max(MIN_LETTERS, len(common) - 1)]] = None
    return tuple(letters for letters in found if len(letters) >= MIN_LETTERS)


def find_forms(word: str, language: str, stems: Iterable[str]) -> list[tuple[str, ...]]:
    """For each of the ``stems`` of the index that is the stem of a form of ``word`` in ``language``: what it can have
    been cut from, the first to search for, all to mark in a text. Nearest in length first."""
    wanted = {key for spelling in _spellings(word, language) for key in _keys(spelling, language)}
    wanted = {key for key in wanted if len(key) >= MIN_LETTERS}
    longest = max(map(len, wanted), default=0) + MAX_LONGER
    likely = (stem for stem in stems if MIN_LETTERS <= len(stem) <= longest)
    found = [forms for stem in likely if (forms := _forms_of(stem, language, wanted))]
    return sorted(found, key=lambda forms: (abs(len(forms[0]) - len(word)), forms))


def _forms_of(stem: str, language: str, wanted: set[str]) -> tuple[str, ...]:
    doubled = (stem + stem[-1] + ending for ending in ("ing", "ed"))
    uncut = (form for form in (*(stem + ending for ending in _CUT), *doubled) if stem_as_indexed(form) == stem)
    return tuple(form for form in uncut if not wanted.isdisjoint(_keys(form, language)))[:MAX_SPELLINGS]


def _keys(word: str, language: str) -> set[str]:
    """The word's stem without accents, for each way its ending may have been accented."""
    return {fold(stem) for stem in stem_by_language([word, *_restore_accents(word, language)], language)}


def _restore_accents(word: str, language: str) -> Iterator[str]:
    for pair in _ACCENTED.get(language, "").split():
        bare, accented = pair.split(":")
        if word.endswith(bare):
            yield word[: -len(bare)] + accented


def _spellings(word: str, language: str) -> Sequence[str]:
    """The word as typed, without accents, and in German with its umlauts written out, or not."""
    typed = word.lower()
    found = {typed: None, fold(typed): None}
    if language == "german":
        for letter, pair in (("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("ß", "ss")):
            found |= dict.fromkeys([each.replace(letter, pair) for each in found])
            found |= dict.fromkeys([each.replace(pair, fold(letter)) for each in found])
    return tuple(found)


def _common_beginning(one: str, other: str) -> str:
    length = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
