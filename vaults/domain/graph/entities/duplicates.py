"""Entities that may be one thing under two names. Pure; takes some hundred milliseconds for thousands of names, so call
it on a thread."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

from vaults.domain.graph.entities.alias_ideas import acronyms
from vaults.domain.graph.entities.entity_lists import Entity
from vaults.markdown.link_resolution import folded, name_key

FUZZY = 90.0
"""Per cent of two names that must be alike."""

CLOSE = 0.92
"""Cosine of two entities' vectors that says the same thing is meant; names must have a word in common as well."""

LIKELY, MORE = 80.0, 10.0
"""Points of two that are about the same, and of a second reason."""

LONGEST = 120
"""Characters of a name that is compared."""

CROWD = 400
"""Names of one beginning, or one end, compared each with each."""

SAME = 20
"""Entities of one name among which all pairs are told."""

_GENERIC = frozenset(("index", "readme", "notes", "note", "overview", "todo", "home", "inbox", "untitled", "log"))
_ALIASES = "a name of both"
_PLAIN = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*\Z")

Near = Mapping[str, Sequence[tuple[str, float]]]
"""Paths of notes near in meaning to the one at a path, with their cosines."""


@dataclass(frozen=True, slots=True)
class Pair:
    """``one`` may be merged into ``into``; without a note it may become an alias of it. ``score``: 0 to 100."""

    one: Entity
    into: Entity
    score: float
    because: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, str]:
        """By which it is dismissed."""
        return keys_of(self.one.name, self.into.name)


def keys_of(one: str, other: str) -> tuple[str, str]:
    """The keys of two names, in order."""
    a, b = name_key(one), name_key(other)
    return min(a, b), max(a, b)


def pairs(entities: Sequence[Entity], near: Near, dismissed: frozenset[tuple[str, str]]) -> list[Pair]:
    """Pairs that may be one thing, the likeliest first; at least one of each has a note."""
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    named = [each for each in entities if folded(each.name) not in _GENERIC and len(each.name) <= LONGEST]
    for because, score, groups in _agreeing(named):
        for group in groups:
            for a, b in combinations(sorted(set(group))[:SAME], 2):
                # Whatever makes two names equal makes them equal in all weaker ways too.
                if not found[a, b] and (because == _ALIASES or _numbers(named[a].name) == _numbers(named[b].name)):
                    found[a, b][because] = score
    for pair, alike in _alike(named):
        if not found[pair]:
            found[pair]["spelled alike"] = alike
    for pair, cosine in _near(named, near):
        found[pair]["about the same"] = round(100 * (cosine - CLOSE), 1) + LIKELY
    several = (_pair(named[a], named[b], reasons) for (a, b), reasons in found.items() if reasons)
    kept = [each for each in several if each is not None and each.keys not in dismissed]
    return sorted(kept, key=lambda each: (-each.score, each.one.name, each.into.name))


def _pair(one: Entity, other: Entity, reasons: Mapping[str, float]) -> Pair | None:
    """The better known of two is the one that stays."""
    if one.path is None and other.path is None:
        return None
    gone, into = sorted((one, other), key=lambda each: (each.path is not None, each.hub, each.mentions, each.name))
    score = min(100.0, max(reasons.values()) + MORE * (len(reasons) - 1))
    return Pair(gone, into, round(score, 1), tuple(sorted(reasons, key=lambda each: -reasons[each])))


_Groups = Iterable[Sequence[int]]


def _agreeing(named: Sequence[Entity]) -> Iterator[tuple[str, float, _Groups]]:
    """Entities that share a form of their names."""
    stemmed = _stemmer()
    forms: tuple[tuple[str, float, Callable[[str], str]], ...] = (
        ("the same name", 85.0, folded),
        ("the same but for signs and accents", 95.0, _collapsed),
        ("forms of the same words", 92.0, stemmed),
    )
    for because, score, form in forms:
        yield because, score, _groups((form(each.name), place) for place, each in enumerate(named))
    yield "the same but for brackets", 75.0, list(_bracketed(named))
    yield _ALIASES, 90.0, _groups(_all_names(named))
    yield "a short form of the other", 85.0, list(_short_forms(named))


def _groups(keyed: Iterable[tuple[str, int]]) -> _Groups:
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for key, place in keyed:
        if key:
            found[key][place] = None
    return [list(each) for each in found.values() if len(each) > 1]


def _bracketed(named: Sequence[Entity]) -> Iterator[Sequence[int]]:
    """Who is called as another is before its brackets. Two with brackets are told apart by them."""
    plain = defaultdict(list)
    for place, each in enumerate(named):
        plain[_collapsed(each.name)].append(place)
    for place, each in enumerate(named):
        if _BRACKETS.search(each.name):
            for other in plain.get(_collapsed(_BRACKETS.sub("", each.name)), ())[:SAME]:
                yield (place, other)


def _numbers(name: str) -> list[str]:
    return _DIGITS.findall(_BRACKETS.sub("", name))


def _all_names(named: Sequence[Entity]) -> Iterator[tuple[str, int]]:
    for place, each in enumerate(named):
        stem = PurePosixPath(each.path or "").stem
        for name in {folded(name) for name in (each.name, stem, *each.aliases)} - _GENERIC:
            yield name, place


def _short_forms(named: Sequence[Entity]) -> Iterator[Sequence[int]]:
    """Who is called by the initials of another."""
    called = defaultdict(list)
    for place, each in enumerate(named):
        if each.name.isupper() and 2 < len(each.name) <= 8:
            called[each.name].append(place)
    for place, each in enumerate(named):
        for short in acronyms(each.name) if called else ():
            for other in called.get(short, ())[:SAME]:
                yield (place, other)


def _collapsed(name: str) -> str:
    """Without blanks, signs and accents: turbo-pump is turbopump."""
    plain = _PLAIN.sub("", folded(name))
    if plain.isascii():
        return plain
    return "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))


def _stemmer() -> Callable[[str], str]:
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    return lambda name: " ".join(stemmer.stemWords(_PLAIN.sub(" ", folded(name)).split()))


def _alike(named: Sequence[Entity]) -> Iterator[tuple[tuple[int, int], float]]:
    """Names that differ by a slip. Two that differ in a number are two things; and of the rest only those are compared
    that begin or end alike."""
    from rapidfuzz import fuzz, process

    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    plain = [folded(each.name) for each in named]
    for place, name in enumerate(plain):
        letters = _PLAIN.sub("", name)
        if len(letters) >= 5:
            digits = ",".join(_DIGITS.findall(name))  # those in brackets too
            blocks["begins", letters[:3], digits].append(place)
            blocks["ends", letters[-3:], digits].append(place)
    for block in blocks.values():
        some = block[:CROWD]
        if len(some) < 2:
            continue
        names = [plain[place] for place in some]
        scores = process.cdist(names, names, scorer=fuzz.ratio, score_cutoff=FUZZY)
        for one, other in zip(*scores.nonzero(), strict=True):
            if one < other and names[one] != names[other]:
                yield _ordered(some[one], some[other]), round(float(scores[one, other]), 1)


def _near(named: Sequence[Entity], near: Near) -> Iterator[tuple[tuple[int, int], float]]:
    """Notes that are about the same and share a word of their names."""
    by_path = {each.path: place for place, each in enumerate(named) if each.path is not None}
    words = _stemmer()
    for path, others in near.items():
        place = by_path.get(path)
        for other_path, cosine in others if place is not None else ():
            other = by_path.get(other_path)
            if other is None or place is None or other == place or cosine < CLOSE:
                continue
            one_name, other_name = named[place].name, named[other].name
            common = set(words(one_name).split()) & set(words(other_name).split())
            if common and _numbers(one_name) == _numbers(other_name):
                yield _ordered(place, other), cosine


def _ordered(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)
