"""Finding entities that may be one thing under two names. Pure; takes some hundred milliseconds for thousands of names,
so call it on a worker thread."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import PurePosixPath

from vaults.domain.graph.entities.alias_ideas import make_acronyms
from vaults.domain.graph.entities.entity_lists import Entity
from vaults.index.stemming import make_name_stemmer
from vaults.markdown.link_resolution import fold_name, name_key

MIN_FUZZY = 90.0
"""Min similarity of two names, in per cent."""

MIN_COSINE = 0.92
"""Min cosine of two entities' vectors to count as the same thing; their names must also share a word."""

BASE_SCORE, SCORE_PER_REASON = 80.0, 10.0
"""Base score of a pair that is near in meaning, and bonus for each further reason."""

MAX_LENGTH = 120
"""Max characters of a name that is compared."""

MAX_GROUP = 400
"""Max names with a common start or end that are compared with each other."""

MAX_SAME = 20
"""Max entities sharing a name of which all pairs are returned."""

_GENERIC = frozenset(("index", "readme", "notes", "note", "overview", "todo", "home", "inbox", "untitled", "log"))
_ALIASES = "a name of both"
_PLAIN = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
_BRACKETS = re.compile(r"\s*\([^()]*\)\s*\Z")

NearNotes = Mapping[str, Sequence[tuple[str, float]]]
"""By path: notes near in meaning, with their cosines."""


@dataclass(frozen=True, slots=True)
class MergeCandidate:
    """``one`` may be merged into ``into``, or become an alias of it if it has no note. ``score``: 0 to 100."""

    one: Entity
    into: Entity
    score: float
    because: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, str]:
        """The keys it is dismissed by."""
        return order_keys(self.one.name, self.into.name)


def order_keys(one: str, other: str) -> tuple[str, str]:
    """The keys of two names, in order."""
    a, b = name_key(one), name_key(other)
    return min(a, b), max(a, b)


def find_duplicates(
    entities: Sequence[Entity], near: NearNotes, dismissed: frozenset[tuple[str, str]]
) -> list[MergeCandidate]:
    """Pairs that may be one thing, the likeliest first; at least one of each pair has a note."""
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(dict)
    named = [each for each in entities if fold_name(each.name) not in _GENERIC and len(each.name) <= MAX_LENGTH]
    for because, score, groups in _group_by_form(named):
        for group in groups:
            for a, b in combinations(sorted(set(group))[:MAX_SAME], 2):
                # Names that are equal by one form are equal by all weaker forms too: the first reason is enough.
                if not found[a, b] and (
                    because == _ALIASES or _find_numbers(named[a].name) == _find_numbers(named[b].name)
                ):
                    found[a, b][because] = score
    for pair, alike in _find_similar(named):
        if not found[pair]:
            found[pair]["spelled alike"] = alike
    for pair, cosine in _find_near(named, near):
        found[pair]["about the same"] = round(100 * (cosine - MIN_COSINE), 1) + BASE_SCORE
    several = (_to_candidate(named[a], named[b], reasons) for (a, b), reasons in found.items() if reasons)
    kept = [each for each in several if each is not None and each.keys not in dismissed]
    return sorted(kept, key=lambda each: (-each.score, each.one.name, each.into.name))


def _to_candidate(one: Entity, other: Entity, reasons: Mapping[str, float]) -> MergeCandidate | None:
    """Decide which entity of a pair is kept: the better known one. None if neither has a note."""
    if one.path is None and other.path is None:
        return None
    gone, into = sorted((one, other), key=lambda each: (each.path is not None, each.hub, each.mentions, each.name))
    score = min(100.0, max(reasons.values()) + SCORE_PER_REASON * (len(reasons) - 1))
    return MergeCandidate(gone, into, round(score, 1), tuple(sorted(reasons, key=lambda each: -reasons[each])))


_EntityGroups = Iterable[Sequence[int]]


def _group_by_form(entities: Sequence[Entity]) -> Iterator[tuple[str, float, _EntityGroups]]:
    """Groups of entities that share a form of their names, with the reason and score."""
    stemmed = _make_stemmer()
    forms: tuple[tuple[str, float, Callable[[str], str]], ...] = (
        ("the same name", 85.0, fold_name),
        ("the same but for signs and accents", 95.0, _collapse),
        ("forms of the same words", 92.0, stemmed),
    )
    for because, score, form in forms:
        yield because, score, _group_by_key((form(each.name), place) for place, each in enumerate(entities))
    yield "the same but for brackets", 75.0, list(_group_by_brackets(entities))
    yield _ALIASES, 90.0, _group_by_key(_iter_names(entities))
    yield "a short form of the other", 85.0, list(_group_by_initials(entities))


def _group_by_key(keyed: Iterable[tuple[str, int]]) -> _EntityGroups:
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for key, place in keyed:
        if key:
            found[key][place] = None
    return [list(each) for each in found.values() if len(each) > 1]


def _group_by_brackets(entities: Sequence[Entity]) -> Iterator[Sequence[int]]:
    """Pairs whose names differ only by brackets in one. Brackets in both are meant to distinguish them."""
    plain = defaultdict(list)
    for place, each in enumerate(entities):
        plain[_collapse(each.name)].append(place)
    for place, each in enumerate(entities):
        if _BRACKETS.search(each.name):
            for other in plain.get(_collapse(_BRACKETS.sub("", each.name)), ())[:MAX_SAME]:
                yield (place, other)


def _find_numbers(name: str) -> list[str]:
    return _DIGITS.findall(_BRACKETS.sub("", name))


def _iter_names(entities: Sequence[Entity]) -> Iterator[tuple[str, int]]:
    for place, each in enumerate(entities):
        stem = PurePosixPath(each.path or "").stem
        for name in {fold_name(name) for name in (each.name, stem, *each.aliases)} - _GENERIC:
            yield name, place


def _group_by_initials(entities: Sequence[Entity]) -> Iterator[Sequence[int]]:
    """Pairs of which one is named by the initials of the other."""
    called = defaultdict(list)
    for place, each in enumerate(entities):
        if each.name.isupper() and 2 < len(each.name) <= 8:
            called[each.name].append(place)
    for place, each in enumerate(entities):
        for short in make_acronyms(each.name) if called else ():
            for other in called.get(short, ())[:MAX_SAME]:
                yield (place, other)


def _collapse(name: str) -> str:
    """Remove spaces, punctuation and accents: turbo-pump becomes turbopump."""
    plain = _PLAIN.sub("", fold_name(name))
    if plain.isascii():
        return plain
    return "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))


def _make_stemmer() -> Callable[[str], str]:
    stem = make_name_stemmer()
    return lambda name: " ".join(stem(_PLAIN.sub(" ", fold_name(name)).split()))


def _find_similar(entities: Sequence[Entity]) -> Iterator[tuple[tuple[int, int], float]]:
    """Names that differ by a typo. Names with different numbers are different things; of the rest, only those with a
    common start or end are compared."""
    from rapidfuzz import fuzz, process

    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    plain = [fold_name(each.name) for each in entities]
    for place, name in enumerate(plain):
        letters = _PLAIN.sub("", name)
        if len(letters) >= 5:
            digits = ",".join(_DIGITS.findall(name))  # including those in brackets
            blocks["begins", letters[:3], digits].append(place)
            blocks["ends", letters[-3:], digits].append(place)
    for block in blocks.values():
        some = block[:MAX_GROUP]
        if len(some) < 2:
            continue
        names = [plain[place] for place in some]
        scores = process.cdist(names, names, scorer=fuzz.ratio, score_cutoff=MIN_FUZZY)
        for one, other in zip(*scores.nonzero(), strict=True):
            if one < other and names[one] != names[other]:
                yield _order_pair(some[one], some[other]), round(float(scores[one, other]), 1)


def _find_near(entities: Sequence[Entity], near: NearNotes) -> Iterator[tuple[tuple[int, int], float]]:
    """Notes near in meaning that share a word of their names."""
    by_path = {each.path: place for place, each in enumerate(entities) if each.path is not None}
    words = _make_stemmer()
    for path, others in near.items():
        place = by_path.get(path)
        for other_path, cosine in others if place is not None else ():
            other = by_path.get(other_path)
            if other is None or place is None or other == place or cosine < MIN_COSINE:
                continue
            one_name, other_name = entities[place].name, entities[other].name
            common = set(words(one_name).split()) & set(words(other_name).split())
            if common and _find_numbers(one_name) == _find_numbers(other_name):
                yield _order_pair(place, other), cosine


def _order_pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)
