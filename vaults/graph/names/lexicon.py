"""Names of notes as words, and where a text mentions one: as written, in another form of the word, joined or split, or
with a slip. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal, TypeAlias

from vaults.graph.names.common_words import is_everyday
from vaults.graph.note_graph import Graph
from vaults.index.stemming import make_name_stemmer
from vaults.markdown.link_resolution import fold_name

MatchKind: TypeAlias = Literal["exact", "stem", "collapsed", "fuzzy"]

MAX_NAME_WORDS = 8
"""Words of a name to look for in forms other than its own."""

MIN_WORD_LENGTH = 4
"""Least characters of a word that may hold a slip, and of a name that may be joined or split."""

MIN_SIMILARITY = 0.80
"""Similarity, 1 minus Levenshtein's distance over the longer length, from which two words may be the same."""

MAX_NAMES_PER_WORD = 40
"""Names to try for one word with a slip in it."""

MAX_WORDS = 4_000
"""Words of a text that are checked for slips."""

_WORD = re.compile(r"[^\W_]+")
_JOINT = re.compile(r"[ \t]{0,3}\n?[ \t]{0,3}|[ \t]?[-‐‑–_/][ \t]?|\.|['’]")


@dataclass(frozen=True, slots=True)
class TextWord:
    """A word of a text, folded, and where it stands. ``joined``: at most a blank or a hyphen separates it from the next
    one."""

    text: str
    start: int
    end: int
    joined: bool


@dataclass(frozen=True, slots=True)
class Sighting:
    """A place in a text that may name one of ``notes``. ``alike``: similarity to the name, below 1 only with slips;
    ``words``: how many words of the text it spans."""

    start: int
    end: int
    notes: tuple[int, ...]
    kind: MatchKind
    words: int
    alike: float = 1.0


WordKey: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """All names of a graph, indexed for each way to mention one."""

    stems: Mapping[WordKey, tuple[int, ...]] = field(default_factory=dict)  # stems of a name's words to notes
    reach: Mapping[str, int] = field(default_factory=dict)  # first stem to the most words a name with it has
    exact: Mapping[WordKey, frozenset[int]] = field(default_factory=dict)  # words of a name to notes
    whole: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # name written as one word to notes
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # first letter to words of names
    holders: Mapping[str, tuple[WordKey, ...]] = field(default_factory=dict)  # word to the names that hold it
    named: int = -1  # the change of the graph it knows


def compile_lexicon(graph: Graph) -> Lexicon:
    """Build the lexicon of a graph: 5,000 notes take some 60 ms."""
    stems: dict[WordKey, dict[int, None]] = defaultdict(dict)
    exact: dict[WordKey, set[int]] = defaultdict(set)
    whole: dict[str, dict[int, None]] = defaultdict(dict)
    holders: dict[str, dict[WordKey, None]] = defaultdict(dict)
    reach: dict[str, int] = defaultdict(int)
    stem = make_name_stemmer()
    for number, name in _iter_names(graph):
        key = tuple(_WORD.findall(fold_name(name)))
        if not 0 < len(key) <= MAX_NAME_WORDS:
            continue
        root = tuple(stem(key))
        stems[root][number] = None
        reach[root[0]] = max(reach[root[0]], len(root))
        exact[key].add(number)
        if len(together := "".join(key)) >= MIN_WORD_LENGTH and not together.isdigit():
            whole[together][number] = None
        for word in key:
            if len(word) >= MIN_WORD_LENGTH and not word.isdigit() and len(holders[word]) < MAX_NAMES_PER_WORD:
                holders[word][key] = None
    return Lexicon(
        stems={key: tuple(notes) for key, notes in stems.items()},
        reach=dict(reach),
        exact={key: frozenset(notes) for key, notes in exact.items()},
        whole={key: tuple(notes) for key, notes in whole.items()},
        words=_group_by_letter(holders),
        holders={word: tuple(keys) for word, keys in holders.items()},
        named=graph.named,
    )


def _iter_names(graph: Graph) -> Iterator[tuple[int, str]]:
    for number, node in graph.nodes.items():
        for name in node.names[:50]:
            yield number, name[:200]


def _group_by_letter(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for word in words:
        found[word[0]].append(word)
    return {letter: tuple(some) for letter, some in found.items()}


def split_words(text: str, zones: Sequence[tuple[int, int]] = ()) -> list[TextWord]:
    """The words of a text outside ``zones``, which are in order and do not overlap."""
    starts = [start for start, _ in zones]
    found: list[TextWord] = []
    matches = [
        match for match in _WORD.finditer(text) if not _is_within_zone(zones, starts, match.start(), match.end())
    ]
    for match, after in zip_longest(matches, matches[1:]):
        joined = after is not None and _is_joined(text, match.end(), after.start())
        found.append(TextWord(fold_name(match[0]), match.start(), match.end(), joined))
    return found


def _is_joined(text: str, start: int, end: int) -> bool:
    return end - start <= 7 and _JOINT.fullmatch(text, start, end) is not None


def _is_within_zone(zones: Sequence[tuple[int, int]], starts: Sequence[int], start: int, end: int) -> bool:
    at = bisect_right(starts, start) - 1
    return (at >= 0 and zones[at][1] > start) or (at + 1 < len(zones) and zones[at + 1][0] < end)


def find_sightings(lexicon: Lexicon, words: Sequence[TextWord], usual: Container[str] = ()) -> list[Sighting]:
    """Where a text names notes, in order and without overlap: the one of more words counts, then the one written more
    like the name. ``usual``: words that are no slips. Linear in the text."""
    stems = make_name_stemmer()([word.text for word in words])
    found = drop_overlapping([*_match_stems(lexicon, words, stems), *_match_joined(lexicon, words)])
    taken = [(each.start, each.end) for each in found]
    starts = [start for start, _ in taken]
    free = [
        place
        for place, each in enumerate(words[:MAX_WORDS])
        if not _is_within_zone(taken, starts, each.start, each.end)
    ]
    return drop_overlapping([*found, *_match_misspelled(lexicon, words, free, usual)])


def scan_text(lexicon: Lexicon, text: str, roots: dict[str, str]) -> tuple[set[str], set[int]]:
    """The words of a text, and the notes it names by a form of their name, without positions: a quick scan of some
    0.4 ms a note. ``roots``: a cache of stems, extended and reused from text to text."""
    words = _WORD.findall(fold_name(text))
    several = set(words)
    fresh = [word for word in several if word not in roots]
    roots.update(zip(fresh, make_name_stemmer()(fresh), strict=True))
    stems, place = [roots[word] for word in words], 0
    found: set[int] = set()
    while place < len(stems):
        for length in range(lexicon.reach.get(stems[place], 0), 0, -1):
            key = tuple(stems[place : place + length])
            if key in lexicon.stems:
                called = lexicon.exact.get(tuple(words[place : place + length]), frozenset())
                found.update(called or lexicon.stems[key])
                place += length - 1
                break
        place += 1
    return several, found


def drop_overlapping(found: Iterable[Sighting]) -> list[Sighting]:
    """The best of ``found`` such that no two overlap, in order."""
    kept: list[Sighting] = []
    taken: set[int] = set()
    for each in sorted(found, key=lambda each: (-each.words, _RANK[each.kind], -each.alike, each.start)):
        span = range(each.start, each.end)
        if taken.isdisjoint(span):
            taken.update(span)
            kept.append(each)
    return sorted(kept, key=lambda each: each.start)


_RANK: Mapping[MatchKind, int] = {"exact": 0, "collapsed": 1, "stem": 2, "fuzzy": 3}


def _match_stems(lexicon: Lexicon, words: Sequence[TextWord], stems: Sequence[str]) -> Iterator[Sighting]:
    """At each word the longest name that begins there, whatever form its words have."""
    for place, stem in enumerate(stems):
        for end in range(_find_end(words, place, lexicon.reach.get(stem, 0)), place, -1):
            notes = lexicon.stems.get(tuple(stems[place:end]))
            if notes:
                yield from _match_exact_or_stem(lexicon, words[place:end], notes)
                break


def _match_exact_or_stem(lexicon: Lexicon, words: Sequence[TextWord], notes: tuple[int, ...]) -> Iterator[Sighting]:
    """Notes with exactly this name, else those whose names are other forms of the words."""
    called = lexicon.exact.get(tuple(word.text for word in words), frozenset())
    same = tuple(note for note in notes if note in called)
    yield Sighting(words[0].start, words[-1].end, same or notes, "exact" if same else "stem", len(words))


def _find_end(words: Sequence[TextWord], place: int, most: int) -> int:
    """The place after the last of at most ``most`` words that follow each other closely (``TextWord.joined``)."""
    end = place
    while end < len(words) and end - place < most:
        end += 1
        if not words[end - 1].joined:
            break
    return end


_PIECES = 4
"""Most words of a text that may be one word in a name."""


def _match_joined(lexicon: Lexicon, words: Sequence[TextWord]) -> Iterator[Sighting]:
    """Names that the text joins or splits differently: turbopump, turbo-pump, turbo pump."""
    for place, first in enumerate(words):
        for end in range(place + 1, _find_end(words, place, _PIECES) + 1):
            joined = first.text if end == place + 1 else "".join(word.text for word in words[place:end])
            notes = lexicon.whole.get(joined)
            if notes:
                yield Sighting(first.start, words[end - 1].end, notes, "collapsed", end - place)


def _match_misspelled(
    lexicon: Lexicon, words: Sequence[TextWord], free: Sequence[int], usual: Container[str]
) -> Iterator[Sighting]:
    """Names whose words are each similar to one of the text, and at least one is not the same."""
    alike = _find_similar_words(lexicon, {words[place].text for place in free if words[place].text not in usual})
    open_places = set(free)
    for place in free:
        for known in alike.get(words[place].text, {}):
            for key in lexicon.holders[known]:
                found = _match_name(words, place - key.index(known), key, alike)
                if found is not None and open_places.issuperset(range(place - key.index(known), found[0])):
                    end, likeness = found
                    start = end - len(key)
                    notes = tuple(sorted(lexicon.exact[key]))
                    yield Sighting(
                        start=words[start].start,
                        end=words[end - 1].end,
                        notes=notes,
                        kind="fuzzy",
                        words=len(key),
                        alike=likeness,
                    )


def _find_similar_words(lexicon: Lexicon, words: Iterable[str]) -> dict[str, dict[str, float]]:
    """For each word that no name has: similar words of names with the same first letter, and how similar they are."""
    from rapidfuzz import process
    from rapidfuzz.distance import Levenshtein

    found: dict[str, dict[str, float]] = {}
    for word in words:
        if len(word) < MIN_WORD_LENGTH or word in lexicon.holders or word.isdigit() or is_everyday(word):
            continue
        near = process.extract(
            word,
            lexicon.words.get(word[0], ()),
            scorer=Levenshtein.normalized_similarity,
            score_cutoff=MIN_SIMILARITY,
            limit=_NEAR,
        )
        if near:
            found[word] = {known: likeness for known, likeness, _ in near}
    return found


_NEAR = 3
"""Words of names to try for one with a slip."""


def _match_name(
    words: Sequence[TextWord], start: int, key: WordKey, alike: Mapping[str, Mapping[str, float]]
) -> tuple[int, float] | None:
    """Where a name that begins at ``start`` ends, and its least similar word's similarity; None if it is not there, or
    without a slip."""
    if start < 0 or _find_end(words, start, len(key)) - start != len(key):
        return None
    least = 1.0
    for word, known in zip(words[start : start + len(key)], key, strict=True):
        likeness = 1.0 if word.text == known else alike.get(word.text, {}).get(known, 0.0)
        least = min(least, likeness)
    return (start + len(key), least) if MIN_SIMILARITY <= least < 1 else None
