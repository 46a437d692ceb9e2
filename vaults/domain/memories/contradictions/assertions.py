"""What a sentence asserts: one value of a subject, in whatever order it is said. Pure.

"Package manager: pnpm", "we use pnpm as package manager" and "Paketmanager ist pnpm" give a value to a subject that has
one at a time. Only these are assertions; where there are several ("one of our customers is", "Tip:") there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from vaults.domain.memories.contradictions import german, value_comparison
from vaults.domain.memories.contradictions.sentences import DENYING, STOP, Sentence, is_figure_or_time
from vaults.domain.memories.contradictions.statement_words import is_value, stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.casefold().split())


SLOTS = (
    _words(
        "default branch port region language database name owner deadline timezone zone format limit version provider "
        "host framework library editor unit currency address contact lead maintainer license theme level mode protocol "
        "strategy policy channel manager city office day colour color primary encoding algorithm queue broker registry "
        "domain package backend store engine model tool runner approver reviewer"
    )
    | german.SLOTS
)
"""Subjects that have one value at a time."""

_COPULAS = _words("is are ist sind lautet heißt beträgt wird werden")
_USES = _words("use uses using nutzt nutzen verwendet verwenden benutzt benutzen setzt setzen")
_OWNS = _words("owns leads maintains manages verantwortet leitet betreut")
_INDEFINITE = _words("a an ein eine")
_STATE = re.compile(r"\w{2,}(?:[aei]ble|ed|ing|ful|ous|less|ive|lich|ig|bar|sam)")
_STATES = _words(
    "slow fast big small good bad new old ready done broken down up full empty ok fine stale flaky easy hard important "
    "great nice langsam schnell gut schlecht neu alt bereit fertig kaputt voll leer wichtig"
)
"""How a thing is, not which one: several of these can hold."""

_ENDS = _words("verwendet genutzt benutzt eingesetzt ein used now jetzt nun derzeit aktuell currently instead today")
"""Words that may follow a value and are not part of it."""

_BEFORE = _words(
    "for as in on to with per by at under über für als im zur zum beim mit bei auf unter am um from von because weil"
)
"""Words that end a value."""

_SEVERAL = _words(
    "one some another example examples tip todo issue issues idea ideas question bug customer customers client clients "
    "meeting call task tasks link links see source reference feature topic summary session step ticket einer eine "
    "eines kunde kunden fehler frage aufgabe aufgaben besprechung termin siehe beispiel idee schritt"
)
"""Subjects of which there are many."""

_GENERIC_SUBJECTS = _words(
    "listen run set live configur size number count version valu setting us we team project repo app currently "
    "lauscht läuft liegt liegen nutzt nutzen verwendet verwenden setzt setzen ein projekt beträgt lautet hold keep "
    "kept take be end start begin expire last anzahl current present actual defin"
)
"""Stems that say how a subject has its value, not which subject."""

_CANON = {"owner": "own", "owned": "own", "eigentümer": "verantwortlich", "zuständig": "verantwortlich"}

_NUMBERED = _words(
    "ticket issue bug chapter step adr error http run sprint phase code status exit rfc pr line page part floor "
    "kapitel schritt fehler seite zeile stufe"
)
"""Nouns whose figure is a name, not a value."""

_CONDITION = _words("if when unless wenn falls sobald whenever once answers returns")

_TOKEN = re.compile(r"[^\W_]+(?:(?:[./:_@+'%&-]+|(?<=\d),(?=\d))[^\W_]+)*[%+#]*|%|[:=](?=\s|$)|,", re.UNICODE)

MAX_VALUE_WORDS = 4
"""Max words of a value."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """A value given to a subject."""

    subject: frozenset[str]  # stems of the words
    topic: str  # the subject in words
    value: tuple[str, ...]  # words, case-folded
    only: bool  # whether there is one value, by the kind of subject or by what the sentence says


def find_opposed_values(new: Sentence, old: Sentence) -> tuple[str, str, str] | None:
    """The topic and the two values, old and new, where two sentences give one subject different values."""
    for read in (_assertion_by_place, _assertion_by_figure):
        ours, theirs = read(new), read(old)
        if ours is None or theirs is None or not _is_same(ours, theirs):
            continue
        if value_comparison.are_compatible(ours.value, theirs.value) or is_state(ours.value) or is_state(theirs.value):
            return None
        if ours.only or theirs.only or (_is_exact(ours) and _is_exact(theirs)):
            return ours.topic, " ".join(theirs.value), " ".join(ours.value)
    return None


def is_state(value: Sequence[str]) -> bool:
    """Whether a value says how something is."""
    last = value[-1]
    return last in _STATES or (
        _STATE.fullmatch(last) is not None and last not in value_comparison.YES | value_comparison.NO
    )


def _is_same(one: Assertion, other: Assertion) -> bool:
    return bool(one.subject) and one.subject == other.subject


def _is_exact(claim: Assertion) -> bool:
    """Whether the value is a figure, a time, or a yes or no."""
    return (
        any(is_figure_or_time(word) for word in claim.value)
        or claim.value[0] in value_comparison.YES | value_comparison.NO
    )


def _assertion_by_place(sentence: Sentence) -> Assertion | None:
    """The assertion of a sentence with its value in a fixed place: after a colon or a verb, or before one that says
    who."""
    tokens = [token.casefold() for token in _TOKEN.findall(sentence.text)]
    if DENYING & set(tokens) or _CONDITION & set(tokens):
        return None
    at = _find_binder(tokens)
    if at is None:
        return None
    left, right = tokens[:at], tokens[at + 1 :]
    if tokens[at] in _OWNS:
        return _make_assertion(["owner", *right], left, [], only=True)
    if tokens[at] in _COPULAS and right[0] in _INDEFINITE:  # one may be both a cook and a climber
        return None
    value, rest = _value(right)
    used = tokens[at] in _USES
    if "," in rest or (used and not _content(rest + left)):
        return None
    key = tokens[at] in (":", "=") and not rest and is_setting_key(left)
    return _make_assertion([*left, *rest], value, left, only=used or key)


def is_setting_key(left: Sequence[str]) -> bool:
    """Whether the words before a colon name a setting, not a speaker or something there are several of."""
    if not 2 <= len(left) <= 4 or any(map(is_figure_or_time, left)):
        return False
    return re.search(r"[^siu]s$", left[-1]) is None


def _find_binder(tokens: list[str]) -> int | None:
    """Where the subject ends and the value begins, or the other way round."""
    for kinds, until in (((":", "="), 9), (_OWNS, 4), (_USES, 10), (_COPULAS, 12)):
        for at, token in enumerate(tokens[1 : min(until, len(tokens) - 1)], 1):
            if token in kinds:
                return at
    return None


def _value(right: list[str]) -> tuple[list[str], list[str]]:
    """The words up to a preposition or a comma, and those after it."""
    while right and right[0] in value_comparison.IDLE - value_comparison.YES:
        right = right[1:]
    if right and right[0] in value_comparison.YES | value_comparison.NO:
        return right[:1], right[1:]
    at = next((at for at, token in enumerate(right) if at and token in _BEFORE), len(right))
    value, rest = right[:at], right[at:]
    while value and value[-1] in _ENDS:
        value.pop()
    return value, [token for token in rest if token not in _ENDS]


def _make_assertion(about: list[str], value: list[str], key: list[str], *, only: bool) -> Assertion | None:
    value = [word for word in value if word not in value_comparison.IDLE - value_comparison.YES]
    if (
        not 1 <= len(value) <= MAX_VALUE_WORDS
        or is_one_of_many(about)
        or {"and", "und", "or", "oder", ","} & set(value)
    ):
        return None
    subject = _content(about)
    slot = any(_is_slot(word) for word in key)
    return Assertion(subject, summarize_topic(about), tuple(value), (only and len(subject) > 0) or slot)


def is_one_of_many(tokens: Sequence[str]) -> bool:
    """Whether a sentence begins with something there are many of: "one of our customers is", "TODO:", "session 12"; not
    with a word that only precedes the subject, as in "session cookie"."""
    for at, token in enumerate(tokens[:4]):
        after = tokens[at + 1] if at + 1 < len(tokens) else ":"
        if token in _SEVERAL and (after in _AFTER or is_figure_or_time(after)):
            return True
    return False


_AFTER = _words(": = of is are ist sind with for on mit von für summary")


def _is_slot(word: str) -> bool:
    return word in SLOTS or stem(word) in SLOTS or any(word.endswith(slot) for slot in german.SLOTS)


def _content(words: list[str]) -> frozenset[str]:
    stems = (_CANON.get(word, stem(word)) for word in words if word not in STOP and word != ",")
    return frozenset(each for each in stems if each not in STOP and each not in _GENERIC_SUBJECTS)


def summarize_topic(words: Sequence[str]) -> str:
    """What the words are about, in at most six of them."""
    topic = [
        word
        for word in words
        if word not in STOP and stem(word) not in _GENERIC_SUBJECTS and word not in (",", ":", "=")
    ]
    return " ".join(topic[:6])


def _assertion_by_figure(sentence: Sentence) -> Assertion | None:
    """The assertion of a sentence whose value is its only figure, date or time, wherever it stands."""
    tokens = sentence.tokens
    if sentence.denies or _CONDITION & set(tokens):
        return None
    figures = [at for at, token in enumerate(tokens) if is_figure_or_time(token)]
    if not figures or figures[-1] - figures[0] > MAX_VALUE_WORDS or figures[0] == 0:
        return None
    if stem(tokens[figures[0] - 1]) in _NUMBERED or is_one_of_many(tokens):
        return None
    if sentence.verb is not None and figures[0] < sentence.verb:
        return None
    until = figures[-1] + 1
    if (
        until < len(tokens)
        and is_value(tokens[figures[-1]])
        and len(value_comparison.parse_value(tokens[figures[-1] : until + 1])) == 1
    ):
        until += 1  # its unit
    about = [*tokens[: figures[0]], *tokens[until:]]
    subject = _content([word for word in about if word not in (":", "=")])
    return Assertion(subject, summarize_topic(about), tokens[figures[0] : until], len(subject) >= 2)
