"""Finds names in a text that no note has, by six patterns of how names are written; common words are left out."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, get_args

from vaults.graph.names.common_words import STANDARDS, STOP_WORDS, TECHNICAL_TERMS, is_everyday
from vaults.graph.names.gazetteer import is_whole_words
from vaults.graph.names.name_tokens import begins_sentence, split_pieces
from vaults.markdown.protected_spans import TextSpan, overlaps_any

NamePattern = Literal["proper-nouns", "single-caps", "camel-case", "acronyms", "quoted-terms", "ticket-refs"]

PATTERNS: tuple[NamePattern, ...] = get_args(NamePattern)

MAX_WORDS = 500
"""Words of a text above which nothing is looked for: long prose has more capitals than names."""

LONGEST_RUN = 6
"""Words of a name, at most."""

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»\n]{3,30}+)[\"”“»]")
_WORD = re.compile(r"[^\W_]+")
_BACK = 20


@dataclass(frozen=True, slots=True)
class ImplicitName:
    """A name in a text and the pattern that found it: ``text[start:end]`` is ``term``."""

    start: int
    end: int
    term: str
    pattern: NamePattern


@dataclass(frozen=True, slots=True)
class _TokenizedText:
    text: str
    cut: Sequence[str]
    places: Sequence[int]

    def starts(self, at: int) -> bool:
        """Whether a sentence begins at piece ``at``."""
        place = self.places[at]
        return begins_sentence(self.text[place - _BACK : place] if place >= _BACK else f"\n{self.text[:place]}")


def find_implicit_names(
    text: str, zones: Sequence[TextSpan], patterns: Collection[NamePattern] = PATTERNS
) -> list[ImplicitName]:
    """Names in a text by these patterns, in order and without overlap: the longer one counts. None in ``zones``, and
    none at all in prose of more than 500 words. Pure and linear."""
    cut = split_pieces(text)
    read = _TokenizedText(text, cut, [0, *accumulate(map(len, cut))])
    if _count_words(read, zones) > MAX_WORDS:
        return []
    named = [each for each in (*_find_by_words(read), *_find_quoted(text)) if each.pattern in patterns]
    taken, kept = bytearray(len(text)), []
    for each in sorted(named, key=lambda one: (one.start - one.end, one.start)):
        clear = not overlaps_any(zones, each.start, each.end) and not any(taken[each.start : each.end])
        if clear and is_whole_words(text, each.start, each.end):
            taken[each.start : each.end] = b"\1" * (each.end - each.start)
            kept.append(each)
    return sorted(kept, key=lambda one: one.start)


def _count_words(read: _TokenizedText, zones: Sequence[TextSpan]) -> int:
    inside = zip(read.cut, read.places, strict=False)
    return sum(each[0].isalnum() and not overlaps_any(zones, at, at + len(each)) for each, at in inside)


def _find_by_words(read: _TokenizedText) -> Iterator[ImplicitName]:
    """Names that the words themselves show, without quotes."""
    at, cut = 0, read.cut
    while at < len(cut):
        run = _count_capitalised(cut, at)
        if run > 1 and (name := _find_proper_noun(read, at, run)):
            yield name
        for each in range(at, at + 2 * run - 1, 2) if run else ():
            yield from _find_single_words(read, each)
        at += max(1, 2 * run - 1)


def _count_capitalised(cut: Sequence[str], at: int) -> int:
    """How many words with a capital follow each other, with one blank between."""
    count = 0
    while at + 2 * count < len(cut) and cut[at + 2 * count][0].isupper() and count < LONGEST_RUN:
        count += 1
        if at + 2 * count >= len(cut) or cut[at + 2 * count - 1] != " ":
            break
    return count


def _find_proper_noun(read: _TokenizedText, at: int, run: int) -> ImplicitName | None:
    words = [read.cut[at + 2 * each] for each in range(run)]
    skipped = 0
    while skipped < run and (words[skipped].casefold() in STOP_WORDS or (skipped == 0 and _is_starter(read, at))):
        skipped += 1
    rest = words[skipped:]
    titled = any(_is_capitalised(each) for each in rest)
    if len(rest) < 2 or not titled or all(is_everyday(each.casefold()) for each in rest):
        return None
    return _to_implicit_name(read, at + 2 * skipped, at + 2 * run - 1, "proper-nouns")


def _is_starter(read: _TokenizedText, at: int) -> bool:
    """Whether a word has its capital only because it begins a sentence."""
    return is_everyday(read.cut[at].casefold()) and read.starts(at)


def _find_single_words(read: _TokenizedText, at: int) -> Iterator[ImplicitName]:
    """The name that one word is by itself, if any."""
    word = read.cut[at]
    low = word.casefold()
    ticket = _is_ticket(read.cut, at)
    if ticket:
        yield _to_implicit_name(read, at, at + 3, "ticket-refs")
    elif low in TECHNICAL_TERMS or is_everyday(low):
        return
    elif _is_camel(word):
        yield _to_implicit_name(read, at, at + 1, "camel-case")
    elif word.isupper() and word.isalpha() and 3 <= len(word) <= 5:
        yield _to_implicit_name(read, at, at + 1, "acronyms")
    elif _is_capitalised(word) and len(word) > 2 and _follows_lowercase(read, at):
        yield _to_implicit_name(read, at, at + 1, "single-caps")


def _is_ticket(cut: Sequence[str], at: int) -> bool:
    word = cut[at]
    if not (word.isascii() and word.isupper() and word.isalpha() and 2 <= len(word) <= 10) or word in STANDARDS:
        return False
    number = cut[at + 2] if at + 2 < len(cut) and cut[at + 1] == "-" else ""
    return number.isascii() and number.isdigit() and len(number) <= 6


def _is_capitalised(word: str) -> bool:
    return word[0].isupper() and len(word) > 1 and word[1:].isalpha() and word[1:].islower()


def _is_camel(word: str) -> bool:
    return any(one.islower() and other.isupper() for one, other in pairwise(word))


def _follows_lowercase(read: _TokenizedText, at: int) -> bool:
    """Whether a lower-case word precedes it in the same sentence."""
    before = at - 1
    if before > 0 and read.cut[before] == " " and read.cut[before - 1] == ",":
        before -= 1
    return before > 0 and read.cut[before] in (" ", ",") and read.cut[before - 1][-1].islower()


def _find_quoted(text: str) -> Iterator[ImplicitName]:
    for match in _QUOTED.finditer(text):
        term = match[1]
        words = _WORD.findall(term)
        odd = term != term.strip() or term[-1] in ".,;:!?…" or not 1 <= len(words) <= 5
        if not odd and not all(is_everyday(each.casefold()) or each.isdigit() for each in words):
            yield ImplicitName(match.start(1), match.end(1), term, "quoted-terms")


def _to_implicit_name(read: _TokenizedText, first: int, after: int, pattern: NamePattern) -> ImplicitName:
    start, end = read.places[first], read.places[after]
    return ImplicitName(start, end, read.text[start:end], pattern)
