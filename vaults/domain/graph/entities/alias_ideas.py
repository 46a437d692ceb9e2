"""Suggesting aliases for an entity: words that links show for it, and forms of its own name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from vaults.markdown.link_resolution import fold_name

AliasSource = Literal["used in links", "acronym", "in brackets", "without brackets", "plural", "singular", "initials"]

MAX_LENGTH, MAX_WORDS = 60, 6
"""Max characters and words of something that still looks like a name."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BRACKETS = re.compile(r"^(.{2,}?)\s*\(([^()]{2,40})\)\s*$")
_SMALL = frozenset(
    ("a", "an", "and", "at", "by", "de", "der", "die", "das", "du", "for", "from", "in", "la", "le", "of", "on", "or",
     "the", "to", "und", "van", "von", "with")
)  # fmt: skip
_POINTING = frozenset(
    ("here", "this", "that", "link", "note", "page", "see", "it", "more", "also", "above", "below", "source", "ref",
     "click", "read", "docs")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class AliasIdea:
    """An alias for the note at ``path``. ``used``: how often links already say it."""

    path: str
    alias: str
    because: AliasSource
    used: int = 0


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity and its names."""

    path: str
    title: str
    names: tuple[str, ...]
    category: str
    said: Mapping[str, int]  # words that links to it show, and how often


def find_alias_ideas(entity: NamedEntity, is_taken: Callable[[str], bool]) -> list[AliasIdea]:
    """Alias ideas, the most certain first, without names that it or another entity already has."""
    seen = {fold_name(each) for each in entity.names}
    found = []
    for alias, because, used in (*_iter_used(entity.said), *_iter_forms(entity)):
        form = fold_name(alias)
        if form not in seen and not is_taken(alias):
            seen.add(form)
            found.append(AliasIdea(entity.path, alias, because, used))
    return found


def _iter_used(shown: Mapping[str, int]) -> Iterator[tuple[str, AliasSource, int]]:
    spelled: dict[str, tuple[str, int]] = {}
    for alias, count in shown.items():
        plain = " ".join(alias.split())
        known, before = spelled.get(fold_name(plain), (plain, 0))
        spelled[fold_name(plain)] = known, before + count
    for alias, count in sorted(spelled.values(), key=lambda each: (-each[1], each[0])):
        if is_name_like(alias):
            yield alias, "used in links", count


def is_name_like(text: str) -> bool:
    """Whether the words a link shows may be a name: few, and not just pointing words ("here"), numbers or a path."""
    words = _WORD.findall(text)
    if not words or len(text) > MAX_LENGTH or len(words) > MAX_WORDS or " > " in text or "/" in text:
        return False
    telling = [word for word in words if fold_name(word) not in _SMALL | _POINTING and not word.isdigit()]
    return bool(telling) and len("".join(telling)) >= 2


def _iter_forms(entity: NamedEntity) -> Iterator[tuple[str, AliasSource, int]]:
    title = " ".join(entity.title.split())
    if len(title) > MAX_LENGTH * 2:
        return
    brackets = _BRACKETS.match(title)
    if brackets:
        yield brackets[2].strip(), "in brackets", 0
        yield brackets[1].strip(), "without brackets", 0
        title = brackets[1].strip()
    for short in make_acronyms(title):
        yield short, "initials" if entity.category == "person" else "acronym", 0
    if entity.category != "person" and not brackets:
        other = _switch_number(title)
        if other is not None:
            yield other


def make_acronyms(title: str) -> list[str]:
    """Acronyms of a name of several words: with words that are acronyms themselves kept whole, and without."""
    words = [word for word in _WORD.findall(title) if fold_name(word) not in _SMALL]
    if not 2 <= len(words) <= 7 or any(not word[0].isupper() for word in words):
        return []
    plain = "".join(word[0] for word in words)
    whole = "".join(word if word.isupper() and len(word) > 1 else word[0] for word in words)
    return [each for each in dict.fromkeys((whole, plain)) if 3 <= len(each) <= 8]


def _switch_number(title: str) -> tuple[str, AliasSource, int] | None:
    """Switch the last word between singular and plural, in English."""
    last = (_WORD.findall(title) or [""])[-1]
    if len(last) < 4 or not (last.isascii() and last.isalpha()) or last.isupper() or not title.endswith(last):
        return None
    one, several = _to_singular(last), _to_plural(last)
    if one is None and several is None:
        return None
    lead = title[: -len(last)]
    return (f"{lead}{one}", "singular", 0) if one else (f"{lead}{several}", "plural", 0)


def _to_singular(word: str) -> str | None:
    low = word.lower()
    if low.endswith("ies") and len(low) > 4:
        return word[:-3] + "y"
    if low.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if low.endswith("s") and not low.endswith(("ss", "us", "is", "ics")) else None


def _to_plural(word: str) -> str | None:
    low = word.lower()
    if low.endswith(("s", "ing", "ed", "ly")):
        return None
    if low.endswith("y") and low[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if low.endswith(("x", "sh", "ch")) else "s")
