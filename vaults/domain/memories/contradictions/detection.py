"""Whether two statements contradict each other: about the same subject, one denies it or gives another value. Pure, and
without a model: vectors only bring near statements together, and what they say is read off the words. Rather silent
than wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from vaults.domain.memories.contradictions import assertions, german, value_comparison
from vaults.domain.memories.contradictions.sentences import (
    DENYING,
    OPPOSED,
    STOP,
    Sentence,
    is_figure_or_time,
    split_sentences,
)
from vaults.domain.memories.contradictions.statement_words import stem


@dataclass(frozen=True, slots=True)
class Statement:
    """A memory as it is compared. ``title`` is empty where it only repeats the content."""

    title: str
    content: str


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class StatementConflict:
    """What two statements contradict each other about: ``subject`` in a few words, and what each says of it; ``old``
    and ``new`` are None where one denies what the other says."""

    subject: str
    old: str | None
    new: str | None
    why: str = ""


def find_contradictions(new: Statement, others: Iterable[Statement]) -> Iterator[StatementConflict | None]:
    """Why ``new`` cannot hold together with each of the others. ``new`` is parsed once."""
    read = lru_cache(2)(_sentences)
    for old in others:
        titled = bool(new.title) and _title_words(new.title) == _title_words(old.title)
        yield _compare_all(read(new, titled), _sentences(old, titled))


def _compare_all(news: Sequence[Sentence], olds: Sequence[Sentence]) -> StatementConflict | None:
    new_tokens = {each.tokens for each in news}
    for old in olds:
        if old.tokens in new_tokens:
            continue
        for new in news:
            if found := _compare(new, old):
                return _as_written(found, new, old)
    return None


def _as_written(found: StatementConflict, new: Sentence, old: Sentence) -> StatementConflict:
    """The conflict with names spelled as in the sentences."""
    ours, theirs = (dict(zip(each.tokens, each.raw, strict=True)) for each in (new, old))

    def spelled(words: str, raw: Mapping[str, str]) -> str:
        return " ".join(raw.get(word, word) for word in words.split())

    subject = spelled(found.subject, ours)
    if found.old is None or found.new is None:
        return replace(found, subject=subject, why=f"{subject}: {found.why}")
    was, now = spelled(found.old, theirs), spelled(found.new, ours)
    said = f"it says {was}, this {now}"
    return StatementConflict(subject, was, now, f"{subject}: {said}" if subject else said)


def _sentences(statement: Statement, titled: bool) -> list[Sentence]:  # noqa: FBT001  a key of the cache
    if titled:  # what the title names is the subject of a content that is only a value
        found = split_sentences(statement.content)
        return split_sentences(f"{statement.title}: {statement.content}")[:1] + found
    return split_sentences(f"{statement.title}\n{statement.content}")


def _title_words(title: str) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"\w+", title.casefold()) if word not in STOP)


def _compare(new: Sentence, old: Sentence) -> StatementConflict | None:
    shared = new.about & old.about
    if not shared or new.under != old.under:
        return None
    if gone := _find_replacement(new, old) or _find_replacement(old, new):
        return gone
    if new.denies != old.denies:
        return _compare_denials(new, old, shared)
    if new.is_event or old.is_event or new.is_exclaimed or old.is_exclaimed:
        return None
    if assertions.is_one_of_many(new.tokens) or assertions.is_one_of_many(old.tokens):
        return None
    return _compare_frames(new, old) or _compare_assertions(new, old)


def _compare_assertions(new: Sentence, old: Sentence) -> StatementConflict | None:
    found = assertions.find_opposed_values(new, old)
    return StatementConflict(*found) if found else None


def _compare_denials(new: Sentence, old: Sentence, shared: Collection[str]) -> StatementConflict | None:
    """One says of the same what the other denies. A word that only one has is a detail; where each has words the other
    lacks, the subjects differ."""
    if len(shared) < 2 or not (new.about <= old.about or old.about <= new.about):
        return None
    if len(shared) / len(new.about | old.about) < 0.5:
        return None
    new_times, old_times = ({token for token in each.tokens if is_figure_or_time(token)} for each in (new, old))
    if new_times and old_times and new_times != old_times:
        return None
    small = new if new.about <= old.about else old
    subject = assertions.summarize_topic(
        [token for token in small.tokens if token not in DENYING and stem(token) not in OPPOSED]
    )
    was, now = ([token for token in each.tokens if stem(token) in OPPOSED] for each in (old, new))
    if len(was) == len(now) == 1 and was != now:
        return StatementConflict(subject, was[0], now[0])
    return StatementConflict(
        subject, None, None, "it denies what this says" if old.denies else "it says what this denies"
    )


_INSTEAD = frozenset({"instead of", "rather than", "in place of"})
_USING = _words("use uses using used with via through on prefer prefers chose choose is are")
_LEAVING = _words("replaced replace replaces dropped drop abandoned retired removed")
_MOVING = _words("moved migrated switched changed switch migrate move moving migrating switching")


def _find_replacement(one: Sentence, other: Sentence) -> StatementConflict | None:
    """The conflict if ``one`` says that something else replaced what ``other`` uses."""
    gone = _find_abandoned(one)
    if gone is None or other.denies or _find_abandoned(other) == gone:
        return None
    at = next((at for at, token in enumerate(other.tokens) if stem(token) == stem(gone)), None)
    if at is None or at == 0 or not _USING & set(other.tokens[max(0, at - 2) : at]):
        return None
    return StatementConflict(gone, None, None, "one goes by it, the other has given it up")


def _find_abandoned(sentence: Sentence) -> str | None:
    """What a sentence says is no longer used."""
    tokens = sentence.tokens
    for at in range(len(tokens) - 1):
        pair, last = " ".join(tokens[at : at + 2]), at + 2
        if pair in _INSTEAD or (tokens[at] in _MOVING and tokens[at + 1] in ("from", "off", "away")):
            rest = [token for token in tokens[last : last + 3] if token not in STOP]
            return rest[0] if rest else None
        if tokens[at] in _LEAVING:
            rest = [token for token in tokens[at + 1 : at + 4] if token not in STOP]
            return rest[0] if rest else None
    return None


_BINDING = (
    _words(
        "is are was were to in on at by with from called named via : = under after every until before than over through"
    )
    | german.BINDING
)
_CHOICES = tuple(
    map(
        _words,
        (
            "short long brief detailed concise verbose",
            "tabs spaces",
            "single double",
            "light dark",
            "formal informal",
            "uppercase lowercase",
            "kurze lange kurz lang knapp knappe ausführlich ausführliche ausführlichen kurzen",
            "du sie",
        ),
    )
)
"""Where one of these words holds, no other of its group can."""

_TAIL = _words("for as in on to when by with per") | german.TAIL
_ARTICLES = _words("a an the our we now currently still always us about around") | german.ARTICLES


@dataclass(frozen=True, slots=True)
class _Frame:
    """A sentence without articles."""

    tokens: list[str]
    some: frozenset[int]  # where an indefinite article stood
    names: frozenset[int]  # words written like a name, or like code
    verb: int  # where the first verb stands


def _frame(sentence: Sentence) -> _Frame | None:
    if sentence.verb is None:
        return None
    tokens: list[str] = []
    some, names, verb = set[int](), set[int](), 0
    for at, (token, raw) in enumerate(zip(sentence.tokens, sentence.raw, strict=True)):
        if token in _ARTICLES and at != sentence.verb:
            some |= {len(tokens)} if token in ("a", "an", "ein", "eine") else set()
            continue
        if at == sentence.verb:
            verb = len(tokens)
        if raw[:1].isupper() or re.search(r"[./_@-]", raw):
            names.add(len(tokens))
        tokens.append(token)
    return _Frame(tokens, frozenset(some), frozenset(names), verb)


def _compare_frames(new: Sentence, old: Sentence) -> StatementConflict | None:
    """The same frame with another value in one place, or with other figures in several."""
    ours, theirs = _frame(new), _frame(old)
    if ours is None or theirs is None:
        return None
    spots = _find_differences(ours, theirs)
    spot = next(
        (spot for spot in spots if not value_comparison.are_compatible(spot.ours.split(), spot.theirs.split())), None
    )
    if spot is None or any(spot.is_of_subject or spot.is_one_sided for spot in spots):
        return None
    if all(spot.is_figure for spot in spots) or (len(spots) == 1 and spot.is_choice):
        around = ours.tokens[: spots[0].start] + ours.tokens[spots[-1].end :]
        return StatementConflict(assertions.summarize_topic(around), spot.theirs, spot.ours)
    return None


def _find_differences(ours: _Frame, theirs: _Frame) -> list[_FrameDifference]:
    """Where two frames differ; nowhere if they differ too much to be about one thing."""
    longest = max(len(set(ours.tokens)), len(set(theirs.tokens)))
    if 2 * len(set(ours.tokens) & set(theirs.tokens)) < longest:
        return []
    codes = SequenceMatcher(None, ours.tokens, theirs.tokens, autojunk=False).get_opcodes()
    spots = [_FrameDifference(ours, theirs, *span) for tag, *span in codes if tag != "equal"]
    same = len(ours.tokens) - sum(spot.end - spot.start for spot in spots)
    if len(spots) > 3 or same < 2 or same < 0.5 * max(len(ours.tokens), len(theirs.tokens)):
        return []
    return spots


@dataclass(frozen=True, slots=True)
class _FrameDifference:
    """Where two frames differ: ``start`` to ``end`` of ``one``, ``there`` to ``until`` of ``other``."""

    one: _Frame
    other: _Frame
    start: int
    end: int
    there: int
    until: int

    @property
    def ours(self) -> str:
        return " ".join(self.one.tokens[self.start : self.end])

    @property
    def theirs(self) -> str:
        return " ".join(self.other.tokens[self.there : self.until])

    @property
    def is_of_subject(self) -> bool:
        """Whether it lies before the verb, or is the verb: then the sentences speak of different things."""
        return self.start <= self.one.verb or self.there <= self.other.verb

    @property
    def is_one_sided(self) -> bool:
        """Whether one sentence only says more."""
        return self.start == self.end or self.there == self.until

    @property
    def is_figure(self) -> bool:
        """Whether a figure stands against a figure, and little else."""
        sides = (self.one.tokens[self.start : self.end], self.other.tokens[self.there : self.until])
        return all(any(is_figure_or_time(token) for token in side) and len(side) <= 3 for side in sides)

    @property
    def is_choice(self) -> bool:
        """Whether one thing stands against another where there can be only one: between a verb and its purpose, or
        after a word that binds it to a place, a name, a role. One may be a cook and a climber: what is one of many is
        no choice."""
        changed = (*self.one.tokens[self.start : self.end], *self.other.tokens[self.there : self.until])
        if len(changed) > 4 or any(token in STOP for token in changed):
            return False
        if len(changed) == 2 and any(set(changed) <= choice for choice in _CHOICES):
            return True
        if self.start in self.one.some or self.there in self.other.some:
            return False
        tail = self.one.tokens[self.end :]
        if len(tail) >= 2 and tail[0] in _TAIL and any(token not in STOP for token in tail[1:]):
            return True
        binder = self.one.tokens[self.start - 1]
        if binder not in _BINDING or assertions.is_state(self.ours.split()) or assertions.is_state(self.theirs.split()):
            return False
        named = self.start in self.one.names and self.there in self.other.names
        named = named and (binder not in (":", "=") or assertions.is_setting_key(self.one.tokens[: self.start - 1]))
        subject = self.one.tokens[: self.one.verb + 2]  # what reads as the verb may be a noun: "the default branch"
        return named or any(token in assertions.SLOTS or stem(token) in assertions.SLOTS for token in subject)
