"""A misspelled word's nearest neighbour in the vault's own vocabulary. Pure.

Vocabulary means Porter stems as FTS5's ``porter`` tokenizer stores them: words are compared by their stems."""

from __future__ import annotations

from collections.abc import Iterable

from vaults.index.stemming import stem_as_indexed
from vaults.search.word_forms import fold

MIN_LETTERS = 4
"""Letters a word and its stem need: among shorter ones everything is one slip from everything."""

MIN_FOREIGN = 6
"""Letters the stem of a word needs in a language whose words are not known here."""

_LONG = 8
"""Letters from which two slips are forgiven instead of one."""


_ENDINGS = ("ation", "ations", "ments", "ment", "ness", "ting", "ning", "ring", "able", "ible", "ally", "ance", "ence")
"""Endings that stemming cuts off. With a slip in one the stem comes out wrong, so the ending is mended first."""


def correct_word(word: str, vocabulary: Iterable[str]) -> str | None:
    """The stem in ``vocabulary`` that ``word``, which was found nowhere, was probably meant to be. None if nothing is
    near enough, the word is in the vocabulary, or it is not one to guess at (short, with digits or non-ASCII letters).
    One slip is a letter missing, added, changed, or two neighbours swapped."""
    from rapidfuzz.distance import OSA, JaroWinkler
    from rapidfuzz.process import extract_iter

    typed = word.lower()
    wanted = stem_as_indexed(typed) if _is_plain(typed) and len(typed) >= MIN_LETTERS else ""
    if len(wanted) < MIN_LETTERS:
        return None
    known = list(vocabulary)  # rapidfuzz compares a list three times faster than an iterator
    slips = 2 if len(wanted) >= _LONG else 1
    near = dict.fromkeys(_mend_ending(typed).intersection(known), 1)
    for found, distance, _ in extract_iter(wanted, known, scorer=OSA.distance, score_cutoff=slips):
        if _is_plain(found):
            near[found] = min(int(distance), near.get(found, slips))
    if not near or wanted in near:
        return None
    return min(near, key=lambda found: (near[found], -JaroWinkler.similarity(wanted, found), found))


def correct_foreign_word(word: str, vocabulary: Iterable[str]) -> str | None:
    """The same for a word of a language whose words are not known here: only one slip is forgiven, in a word of
    ``MIN_FOREIGN`` letters or more and before its ending, because the word may as well be right, and only missing in
    the vault."""
    from rapidfuzz.distance import OSA, JaroWinkler
    from rapidfuzz.process import extract_iter

    wanted = stem_as_indexed(fold(word.lower()))
    if len(wanted) < MIN_FOREIGN or not wanted.isalpha():
        return None
    known = list(vocabulary)
    near = [found for found, _, _ in extract_iter(wanted, known, scorer=OSA.distance, score_cutoff=1)]
    if wanted in near:
        return None
    likely = [found for found in near if found.isalpha() and found[: len(wanted) - 2] != wanted[: len(wanted) - 2]]
    return min(likely, key=lambda found: (-JaroWinkler.similarity(wanted, found), found), default=None)


def _mend_ending(typed: str) -> set[str]:
    """Stems of the word with an ending that is one slip away from what was typed: configuraton → configur."""
    from rapidfuzz.distance import OSA

    forms = {
        typed[:-length] + ending
        for ending in _ENDINGS
        for length in (len(ending) - 1, len(ending), len(ending) + 1)
        if len(typed) - length >= MIN_LETTERS and OSA.distance(typed[-length:], ending) == 1
    }
    return {stem_as_indexed(form) for form in forms}


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isalpha()
