"""What somebody said in a turn, in sentences, without anything that was put into it from elsewhere.

Programs add reminders, recalled memories, files and summaries to what a person types, and people paste pages and logs.
None of that was said by them, so none of it may become their decision or preference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_RAW_LENGTH = 60_000
"""Characters of a turn in which tags are looked for, half of them from its end."""

TEXT_LENGTH = 6_000
"""Characters of a turn that are read, half of them from its end: what is longer was pasted or is a document."""

SENTENCE_LENGTH = 400
"""Max characters of a sentence; longer ones are no statements. It also bounds what a pattern can cost."""

_SUMMARIES = ("this session is being continued from a previous conversation", "<conversation_summary", "# handoff")
"""How turns begin that repeat an earlier conversation, whose own turns say it better."""

_TAG = re.compile(r"<(\d{9}|[A-Za-z][\w:.-]{0,60})(?:\s[^<>\n]{0,300})?>")
_END_TAG = re.compile(r"</(\d{9}|[A-Za-z][\w:.-]{0,60})>")
_CODE, _BREAK = "```", "\n"
_MARKUP = re.compile(r"^(?:\s*[-*+]|\s*\d{1,2}[.)]|\s*#{1,6})\s+|\*\*|__")
_LEFT_OUT = re.compile(
    r"\s*(?:>|§|\+|\||\$ |<<<<<<<|=======|>>>>>>>|@@|\+\+\+|---|diff --git|at [\w.$]+\(|Traceback|File \""
    r"|From shared memory\.|strongroom session:|\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d)"
)
"""Lines that quote, draw a table, belong to a diff or a log, or are our own lines of a context pack."""

_END = re.compile(r"(?<=[.!?…])[\"'”)*]*\s+(?=\S)|\s+(?=[–—] )|(?<=;)\s+")
_QUOTED = re.compile(r"\"[^\"\n]{3,}\"|“[^”\n]{3,}”|„[^“”\n]{3,}[“”]|«[^»\n]{3,}»|(?<!\w)'[^'\n]{12,}'(?!\w)")
_WORD = re.compile(r"[^\W\d_]+(?:'[a-z]+)?|\d")
_QUOTES = "\"“„«'"
_IN_CODE = re.compile(r"`[^`\n]+`")


@dataclass(frozen=True)
class SpokenSentence:
    """A sentence as it was said. ``plain``: in lower case with quotations and code blanked, for patterns, so that
    nobody is taken at words they only cite."""

    text: str
    plain: str

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, and the digits of its numbers."""
        return frozenset(_WORD.findall(self.plain))

    @property
    def is_question(self) -> bool:
        """Whether it asks."""
        return self.text.rstrip(" \"'”)*").endswith("?")


def words_of(text: str) -> frozenset[str]:
    """The words of a line."""
    return frozenset(text.split())


def read_spoken(text: str) -> tuple[SpokenSentence, ...]:
    """The sentences of a turn that its speaker said themselves."""
    return tuple(_split(_own_words(text)))


def _own_words(text: str) -> str:
    start = text[:200].lstrip().casefold()
    if start.startswith(_SUMMARIES):
        return ""
    raw = _leave_out_middle(text, _RAW_LENGTH)
    whole = "\n".join(_outside_code(_outside_tags(raw))) if "<" in raw or _CODE in raw else raw
    return _leave_out_middle(whole, TEXT_LENGTH)


def _leave_out_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most // 2].rpartition(_BREAK)[0]}\n{text[-most // 2 :].partition(_BREAK)[2]}"


def _outside_tags(text: str) -> str:
    """Without what stands between a tag and its end. A nonce or ``data-…`` that is never closed takes the rest, one
    that was opened in what is not here takes what comes before its end."""
    kept, position, unclosed = list[str](), 0, set[str]()
    closed = set(_END_TAG.findall(text))
    while found := _TAG.search(text, position):
        name = found[1]
        end = text.find(f"</{name}>", found.end()) if name in closed and name not in unclosed else -1
        kept.append(text[position : found.start()])
        if end >= 0:
            position = end + len(name) + 3
        elif _is_ours(name):
            return "".join(kept)
        else:
            unclosed.add(name)
            kept.append(found[0])
            position = found.end()
    whole = "".join([*kept, text[position:]])
    orphans = [each.end() for each in _END_TAG.finditer(whole) if _is_ours(each[1])]
    return whole[orphans[-1] :] if orphans else whole


def _is_ours(name: str) -> bool:
    """Whether a tag is a fence of ours: the nonce of a pack, or the mark of an answer."""
    return name.isdigit() or name.startswith("data-")


def _outside_code(text: str) -> Iterator[str]:
    """Lines outside of blocks of code."""
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith(_CODE):
            inside = not inside or line.strip().count(_CODE) > 1
        elif not inside:
            yield line


def _split(text: str) -> Iterator[SpokenSentence]:
    for line in text.splitlines():
        if not line.strip() or _LEFT_OUT.match(line) or line.startswith(("    ", "\t")):
            continue
        shown = " ".join(_MARKUP.sub("", line).split())
        plain = _QUOTED.sub(_blank, shown) if any(mark in shown for mark in _QUOTES) else shown
        plain = (_IN_CODE.sub(_blank, plain) if "`" in plain else plain).replace("’", "'")
        start = 0
        for end in (*_END.finditer(plain), None):  # quotations are blanked first: they may hold sentences
            said = shown[start : end.start() if end else None].strip()
            if said and len(said) <= SENTENCE_LENGTH:
                yield SpokenSentence(said, plain[start : end.start() if end else None].strip().casefold())
            start = end.end() if end else start


def _blank(found: re.Match[str]) -> str:
    """As many characters, so that places stay where they are."""
    return f"{found[0][0]}{'·' * (len(found[0]) - 2)}{found[0][-1]}"
