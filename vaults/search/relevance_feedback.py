"""Pseudo-relevance feedback: further words for a query from the texts it found first. Pure, and off by default."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from vaults.search.stopwords import STOPWORDS

MAX_WORDS = 5
"""Words added at most."""

MAX_CHARACTERS = 4_000
"""Characters of a text that are read."""

_MAX_LOOKUPS = 64
"""Words whose rarity is looked up, most frequent first: each may cost a read of the database."""

_SHORTEST_TEXT = 20
"""Words a text counts as at least: the one word of a greeting is not all that a conversation is about."""

_WORD = re.compile(r"(?<!\w)([^\W\d_]\w{2,29})(?:['’](\w+))?(?!\w)")
"""A word of three to thirty characters that begins with a letter; then, as group 2, what follows an apostrophe."""


def find_feedback_words(
    terms: Sequence[str], texts: Sequence[str], rarity: Callable[[str], float], *, most: int = MAX_WORDS
) -> list[str]:
    """Up to ``most`` words typical of ``texts`` (the first results) that are not in the query, most telling first.

    A word weighs its share of each text, summed, times ``rarity(word)``: the relevance model RM1 of Lavrenko and Croft
    (Relevance-Based Language Models, SIGIR 2001) with a uniform prior over the first results, whose mix with the
    query's own words is RM3 (Abdul-Jaleel et al., UMass at TREC 2004), and idf in place of the background model, as
    term frequency times informativeness in Bo1 (Amati, 2003). ``rarity`` is an idf over the vault; a word for which it
    is 0 or less is never chosen.

    Left out: stop words, numbers, the query's words and plain inflections of them or of each other, and, if there are
    two texts or more, words that only one of them has: those say what that text is about, not the query.
    """
    shares: defaultdict[str, float] = defaultdict(float)
    holders: Counter[str] = Counter()
    for text in texts:
        # "Ann's" is about Ann, "didn't" about nothing.
        words = [word for word, tail in _WORD.findall(text[:MAX_CHARACTERS].lower()) if tail in ("", "s")]
        counts = Counter(word for word in words if word not in STOPWORDS)
        for word, count in counts.items():
            shares[word] += count / max(len(words), _SHORTEST_TEXT)
            holders[word] += 1
    own = {strip_inflection(term.lower()) for term in terms}
    common = min(2, len(texts))
    usable = [word for word in shares if holders[word] >= common and strip_inflection(word) not in own]
    usable.sort(key=lambda word: (-shares[word], word))
    weights = {word: shares[word] * rarity(word) for word in usable[:_MAX_LOOKUPS]}
    chosen: dict[str, str] = {}
    for word in sorted(weights, key=lambda word: (-weights[word], word)):
        if weights[word] > 0 and len(chosen) < most:
            chosen.setdefault(strip_inflection(word), word)
    return list(chosen.values())


def strip_inflection(word: str) -> str:
    """What plain English inflections of a word share (hike, hikes, hiked, hiking). For comparing only: no word."""
    stem = word
    for ending, put in (("ies", "y"), ("ied", "y"), ("s", ""), ("ing", ""), ("ed", "")):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 2 and not rest.endswith("s") and _has_vowel(rest + put):
            stem = rest + put
            break
    stem = stem.removesuffix("e")
    if len(stem) > 2 and stem[-1] == stem[-2]:
        stem = stem[:-1]
    return stem


def _has_vowel(stem: str) -> bool:
    return any(letter in "aeiouy" for letter in stem)
