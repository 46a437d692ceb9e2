"""Sentences parsed for finding contradictions: words in order, what they speak of, whether they deny. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from vaults.domain.memories.contradictions import german, statement_words
from vaults.domain.memories.contradictions.statement_words import is_value, stem

SENTENCES, WORDS = 12, 60
"""Max sentences read of a text, and max words of a sentence: what is said first counts most."""

_END = re.compile(r"(?<=[.!?])\s+|\n+|;\s|\s[–—]\s")
_TOKEN = re.compile(r"[^\W_]+(?:(?:[./:_@+'%&-]+|(?<=\d),(?=\d))[^\W_]+)*[%+#]*|%|[:=](?=\s|$)", re.UNICODE)
_CODE = re.compile(r"(?ms)^ {0,3}```.*?(?:^ {0,3}```[^\n]*$|\Z)|\A\s*---\n.*?^---$")
_ASIDE = re.compile(r"\([^()\n]{0,200}\)")
_IDLE = re.compile(
    r"(?i)\b(?:not (?:only|just|least)|do(?:n't| not) forget(?: to)?|no (?:matter|doubt|problem|wonder)"
    r"|nicht (?:nur|zuletzt|vergessen)|kein (?:Problem|Wunder))\b"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP = (
    _words(
        "a an the this that these those we our us i my you your it its they their he she his her of and or but so "
        "also now then there here just do does did done be been being is are was were am will would shall should can "
        "could may might must have has had to in on at by for from with as per into any all always ever longer still "
        "very really please let decid decided agreed agree plan want need needs currently today anymore instead "
        "rather than only every which who when if because since until more most get gets : = about after before up "
        "out off over under too yet already again"
    )
    | german.STOP
)
"""Words, and stems, that carry no subject."""

_OPPOSITES = (
    "enable=activate disable=deactivate",
    "allow=permit forbid prohibit ban disallow deny",
    "allowed=permitted forbidden prohibited banned",
    "require=mandatory=obligatory optional",
    "true false",
    "sync async",
    "synchronous asynchronous",
    "synchronously asynchronously",
    "public private",
    "open closed",
    "accept reject",
    "include exclude",
    "safe unsafe",
    "possible impossible",
    "stable unstable",
    "encrypted unencrypted",
    "works fails broken",
    "work fail",
    "like dislike",
    "likes dislikes hates",
    "loves hates",
    "manual automatic",
    "manually automatically",
    "supported unsupported",
    "supports lacks",
    "ascending descending",
    "mutable immutable",
    "blocking nonblocking",
    "increase decrease",
    "increases decreases",
    "faster slower",
    "present absent",
    "visible hidden",
    "keep delete",
    "kept deleted",
    "secure insecure",
    "correct wrong",
    "valid invalid",
    "online offline",
    "success failure",
    "available unavailable",
    "inclusive exclusive",
    "stateless stateful",
    "signed unsigned",
    "compatible incompatible",
    "active inactive",
    *german.OPPOSITES,
)

OPPOSED = {
    stem(word): (stem(re.split("[ =]", group)[0]), rank > 0)
    for group in _OPPOSITES
    for rank, words in enumerate(group.split())
    for word in words.split("=")
}
"""For each stem: the one it is the opposite of, and whether it is the opposite. ``a=b c`` above: two words for one
thing, and its opposite."""

DENYING = statement_words.DENYING | german.DENYING
_AGAINST = _words("avoid avoids avoiding stop stops stopped quit refuse refuses") | german.AGAINST

_VERBS = (
    _words(
        "is are was were be has have had use uses used using run runs ran set sets take takes took keep keeps hold "
        "holds last lasts start starts end ends listen listens expire expires cost costs require requires allow "
        "allows must should can will may live lives work works write writes store stores deploy deploys host hosts "
        "retry retries return returns need needs begin begins happen happens prefer prefers like likes own owns lead "
        "leads manage manages maintain maintains support supports cache caches default defaults close closes rotate "
        "rotates allocate allocates contain contains accept accepts send sends read reads build builds ship ships pin "
        "pins target targets depend depends log logs wait waits fail fails stay stays go goes pay pays meet meets "
        "serve serves authenticate authenticates sit sits reside resides report reports measure measures limit limits "
        "format formats sign signs test tests block blocks refresh refreshes sync syncs back backs purge purges "
        "delete deletes remove removes scale scales cover covers become becomes leave leaves arrive arrives open "
        "opens moves equals means : ="
    )
    | german.VERBS
)
PAST = (
    _words(
        "was were had ran took went saw met wrote built bought made left came gave got found sent held began paid did "
        "spoke ate flew drove won lost said sold"
    )
    | german.PAST
)
_HISTORY = _words("formerly previously früher ehemals damals vormals")

_LABEL = re.compile(
    r"(?i)^[\s>*+-]*(?:decision|decided|note|fact|fyi|reminder|update|learn(?:ed|t)|found|discovered|entscheidung|"
    r"entschieden|hinweis|notiz|gelernt|merke)\b[^:\n]{0,80}:\s+(?=\S+\s+\S+\s+\S)"
)
"""Words that announce a statement."""

_NOW = re.compile(
    r"(?i)^(.{3,120}?)\b(?:was|were|war|waren)\b.{1,80}?[,;]?\s+(?:but |and |aber |und )?"
    r"(?:now|jetzt|inzwischen|nun)\s+"
    r"(?:it is |it's |is |are |ist |sind |er |sie |es )*"
)
"""``X was A, now it is B``: only B counts."""
_RECENT = re.compile(r"(?i)\b(?:now|jetzt|inzwischen|nun)\b")

_SCOPES = _words(
    "staging production prod dev development test tests testing qa ci local preview sandbox canary linux macos windows "
    "ios android frontend backend web mobile desktop client server internal external produktion entwicklung lokal"
)
"""Words in a heading that make another subject of the same words."""

TIMES = (
    _words(
        "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
        "september october november december hourly daily nightly weekly biweekly monthly quarterly yearly annually "
        "once twice one two three four five six seven eight nine ten eleven twelve twenty thirty sixty midnight noon "
        "morning evening mondays tuesdays wednesdays thursdays fridays saturdays sundays"
    )
    | german.TIMES
)
"""Words that are values, like figures."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is compared."""

    tokens: tuple[str, ...]  # in order, case-folded
    raw: tuple[str, ...]  # ``tokens`` as written
    verb: int | None  # where the first verb stands
    about: frozenset[str]  # stems of what it speaks of, without values
    denies: bool  # whether it says that something is not so
    text: str
    under: frozenset[str]  # what the heading above restricts it to

    @property
    def is_event(self) -> bool:
        """Whether it tells what happened once, not what is so."""
        if not _HISTORY.isdisjoint(self.tokens) or ("used", "to") in pairwise(self.tokens):
            return True
        if self.verb is None:
            return any(map(_is_past, self.tokens[1:]))
        if self.tokens[self.verb] in (":", "="):  # "Summary: refactored the parser"
            return any(map(_is_past, self.tokens[self.verb + 1 : self.verb + 2]))
        if self.tokens[self.verb] in _PRESENT:  # "the supported version is"
            return False
        return any(map(_is_past, self.tokens[1 : self.verb]))

    @property
    def is_exclaimed(self) -> bool:
        """Whether it asks or addresses somebody instead of stating something."""
        return self.text.rstrip().endswith(("!", "?"))


_PRESENT = _words("is are ist sind")


def _is_past(token: str) -> bool:
    return token in PAST or (token.endswith("ed") and stem(token) not in OPPOSED)


def split_sentences(text: str) -> list[Sentence]:
    """The first sentences of a text, without empty ones."""
    return list(islice(_parse_sentences(text), SENTENCES))


def _parse_sentences(text: str) -> Iterator[Sentence]:
    under: frozenset[str] = frozenset()
    for part in _END.split(_CODE.sub("\n", text[: SENTENCES * 400])):
        if part.count("|") >= 2:  # the rows of a table all look alike
            continue
        if part.startswith("#") or part.rstrip().endswith(":"):
            under = _SCOPES & set(_TOKEN.findall(part.casefold()))
            continue
        sentence = _strip_asides(part.replace("’", "'"))
        whole = _parse_sentence(sentence, under)
        if whole is None:
            continue
        yield whole
        if (
            whole.denies
            and ", " in sentence
            and (first := _parse_sentence(sentence.partition(", ")[0], under))
            and first.denies
        ):
            yield first  # "no longer X, we moved to Y" is about X


def _strip_asides(part: str) -> str:
    """A sentence without its label, asides, and what was true before."""
    text = _IDLE.sub(" ", part)
    if "(" in text:
        text = _ASIDE.sub(" ", text)
    if ":" in text:
        text = _LABEL.sub("", text)
    return _NOW.sub(r"\1 is ", text) if _RECENT.search(text) else text


def _parse_sentence(part: str, under: frozenset[str]) -> Sentence | None:
    raw = _TOKEN.findall(part)[:WORDS]
    while raw and raw[0] in (":", "="):
        raw = raw[1:]
    tokens = tuple(token.casefold() for token in raw)
    if not tokens:
        return None
    colon = next((at for at, token in enumerate(tokens[:9]) if token in (":", "=")), None)
    verb = colon or next((at for at, token in enumerate(tokens) if token in _VERBS and at > 0), None)
    roles = [_word_role(token) for token in tokens]
    about = frozenset(role.meant for role in roles if role.meant)
    denies = sum(role.denies for role in roles) % 2 == 1
    return Sentence(tokens=tokens, raw=tuple(raw), verb=verb, about=about, denies=denies, text=part, under=under)


class _WordRole(NamedTuple):
    """A word's role: the stem it stands for, empty if it carries no subject, and how often it denies."""

    meant: str
    denies: int


@lru_cache(8192)
def _word_role(token: str) -> _WordRole:
    meant, opposite = OPPOSED.get(stem(token), (stem(token), False))
    against = token in DENYING or token in _AGAINST
    idle = against or token in STOP or meant in STOP or is_figure_or_time(token)
    return _WordRole("" if idle else meant, opposite + against)


def is_figure_or_time(token: str) -> bool:
    """Whether a token is a value: a figure, a day, a rhythm."""
    return is_value(token) or token in TIMES
