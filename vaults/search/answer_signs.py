"""What a question asks for, and whether a text offers it: a time, a number, a name, a reason. Pure.

Only English questions are told apart: in other languages none of this counts, and nothing else changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from vaults.search.joined_texts import JoinedTexts

AnswerKind: TypeAlias = Literal["time", "number", "name", "reason"]
KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

MAX_QUESTION, MAX_READ = 500, 800
"""Characters that are read of a question, and of a text."""

LONGEST_STAMP = 44

_ASKED: tuple[tuple[tuple[AnswerKind, ...], re.Pattern[str]], ...] = (
    (("time",), re.compile(r"\b(?:when|(?:what|which) (?:date|day|month|year|time)|how long ago|how recently)\b")),
    (("time", "number"), re.compile(r"\bhow (?:long|old)\b")),
    (("number",), re.compile(r"\bhow (?:many|much|often|far|tall|big|large|high)\b")),
    (("name",), re.compile(r"\b(?:who|whose|whom|where|(?:what|which) (?:country|city|state|place|town|name))\b")),
    (("reason",), re.compile(r"\b(?:why|(?:what|which) (?:made|inspired|motivated|prompted|caused|reasons?))\b")),
)
"""The first that fits counts."""

_WORDS = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d")
_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+")

_TIMES = frozenset(
    [
        "yesterday", "today", "tomorrow", "tonight", "ago", "last", "next", "week", "weeks", "weekend", "weekends",
        "month", "months", "year", "years", "day", "days", "monday", "tuesday", "wednesday", "thursday", "friday",
        "saturday", "sunday", "january", "february", "march", "april", "june", "july", "august", "september", "october",
        "november", "december", "morning", "recently", "since", "birthday", "christmas", "summer", "winter", "spring",
        "autumn", "fall", "soon",
    ]
)  # fmt: skip
_NUMBERS = frozenset(
    [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty",
        "thirty", "forty", "fifty", "hundred", "thousand", "million", "once", "twice", "couple", "several", "dozen",
        "first", "second", "third", "both", "few",
    ]
)  # fmt: skip
_REASONS = frozenset(
    [
        "because", "since", "reason", "reasons", "due", "therefore", "hence", "so", "thanks", "inspired", "motivated",
        "motivates", "motivate", "helps", "help", "cause", "caused", "makes", "wanted",
    ]
)  # fmt: skip


def find_asked(question: str) -> tuple[AnswerKind, ...]:
    """What a question asks for; nothing where its words do not tell."""
    text = question[:MAX_QUESTION].lower()
    return next((kinds for kinds, pattern in _ASKED if pattern.search(text)), ())


def drop_stamps(texts: Sequence[str]) -> tuple[str, ...]:
    """Texts without the date in brackets that a line of a conversation may begin with."""
    ends = [text.find("] ", 0, LONGEST_STAMP) if text[:1] == "[" else -1 for text in texts]
    return tuple([text[end + 2 :] if end > 0 else text for text, end in zip(texts, ends, strict=True)])


def words_of(question: str) -> frozenset[str]:
    """The words of a question, in lower case."""
    return frozenset(_WORDS.findall(question[:MAX_QUESTION].lower()))


def may_name_time(question: str) -> bool:
    """Whether it is worth reading a question for a time: it holds a digit. (A day without a year is of this year, which
    says little of what is remembered.)"""
    return _NUMBER.search(question[:MAX_QUESTION]) is not None


def find_offers(kind: AnswerKind, bodies: Sequence[str], joined: JoinedTexts, asked: frozenset[str]) -> list[bool]:
    """Which texts may hold such an answer: ``bodies`` as written, and ``joined``. ``asked``: the question's words,
    which are no answer, in lower case."""
    if kind == "name":
        return [any(match[0].lower() not in asked for match in _NAME.finditer(body[:MAX_READ])) for body in bodies]
    words, shape = _SIGNS[kind]
    telling = frozenset(word.encode() for word in words - asked)
    spelled, text = joined.ascii, joined.text
    spans = [(start, min(end, start + MAX_READ)) for start, end in zip(joined.starts, joined.ends, strict=False)]
    found = [not telling.isdisjoint(spelled[start:end].split()) for start, end in spans]
    if shape is None:
        return found
    digits = joined.digits.tolist()  # without one no shape fits, and looking for it costs more than the words
    return [
        said or (digit and shape.search(text, *span) is not None)
        for said, digit, span in zip(found, digits, spans, strict=True)
    ]


_SIGNS: Mapping[AnswerKind, tuple[frozenset[str], re.Pattern[str] | None]] = {
    "time": (_TIMES, _YEAR),
    "number": (_NUMBERS, _NUMBER),
    "reason": (_REASONS, None),
}
