"""Cuts a text into passages a model can read whole. Pure, and linear in the text's length.

Tokens are estimated by *atoms*: up to six ASCII letters, two digits, or one other visible character. Over English
Markdown and source code this comes within 12 % of WordPiece, so a piece of 200 stays inside a window of 256 (231 at
most in 1,200 pieces); only random hexadecimal goes beyond. Everything between two atoms is white space, and only white
space between two pieces is dropped.

Each gap between atoms has a score: how good a place it is to cut. A piece ends at the best gap of its last half,
where ``score * (1 - 0.7 * (d / w)**2)`` prefers the gaps near its limit (d: tokens to the limit, w: half the limit).
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice
from operator import gt, sub

ATOM = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,2}|\S")
SPACED_ATOM = re.compile(rf"\s*(?:{ATOM.pattern})")  # with the white space before it
HANGUL = re.compile(r"[\uac00-\ud7a3]")
HANGUL_TOKENS = 3  # BERT's tokenizers split a syllable into its letters

HEADING = re.compile(r"[ ]{0,3}(#{1,6})(?:[ \t]|$)")
UNDERLINE = re.compile(r"[ ]{0,3}(?:(=+)|-+)[ \t]*$")
ITEM = re.compile(r"[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})(.*)$", re.DOTALL)

MARKS = frozenset("#=-*_+`~0123456789")
"""With one of these begins what the patterns above match, and a rule."""

HEADING_SCORES = (100.0, 90.0, 80.0, 70.0, 70.0, 70.0)
FENCE_SCORE = 80.0
RULE_SCORE = 60.0
BLANK_SCORE = 20.0
ITEM_SCORE = 5.0
SENTENCE_SCORE = 3.0
LINE_SCORE = 1.0
SPACE_SCORE = 0.1
INSIDE_SCORE = 0.01  # in the middle of a word: better than a piece too long
NEVER = -1.0

SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]")  # no space follows the wide ones
DECAY = 0.7


@dataclass(frozen=True, slots=True)
class TextPiece:
    """``text[start:end]`` of the text that was cut, in characters; neither begins nor ends with white space.
    ``tokens``: as ``estimate_tokens`` has them."""

    text: str
    start: int
    end: int
    tokens: int


def split_passages(text: str, max_tokens: int, count: Callable[[str], int] | None = None) -> list[TextPiece]:
    """Pieces of at most ``max_tokens``, in order, that together hold everything but white space between them.

    Cuts at headings, fences, rules, blank lines, items, sentences, lines, words: in this order of preference. A code
    fence stays whole unless it is too long alone. A text that fits is one piece; one without visible characters, none.
    ``count`` is an exact tokenizer: a piece it finds too long is cut again, down to single atoms.
    """
    if count is None:
        whole = text.strip()
        if whole and (tokens := _count_within(whole, max_tokens)):
            start = text.index(whole[0])  # most texts fit as they are: no need to find where their atoms are
            return [TextPiece(whole, start, start + len(whole), tokens)]
        return [
            TextPiece(text[start:end], start, end, cost)
            for start, end, cost in _spans(text, (0, len(text)), max_tokens)
        ]
    return [
        TextPiece(text[start:end], start, end, estimate_tokens(text[start:end]))
        for start, end in _counted_spans(text, max_tokens, count)
    ]


def _count_within(text: str, max_tokens: int) -> int:
    """The tokens of a text without Hangul that has ``max_tokens`` at most, else 0. Reads little more than it takes."""
    if len(text) > 8 * max_tokens:
        atoms = sum(1 for _ in islice(ATOM.finditer(text), max_tokens + 1))
    else:
        atoms = len(ATOM.findall(text))
    return atoms if atoms <= max_tokens and (text.isascii() or not HANGUL.search(text)) else 0


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has; too many rather than too few."""
    atoms = len(ATOM.findall(text))
    return atoms if text.isascii() else atoms + (HANGUL_TOKENS - 1) * len(HANGUL.findall(text))


def _counted_spans(text: str, max_tokens: int, count: Callable[[str], int]) -> Iterator[tuple[int, int]]:
    # Limits halve each time round, so a span is counted at most log2(max_tokens) times.
    todo = [(0, len(text), max_tokens)]
    while todo:
        start, end, limit = todo.pop()
        spans = [(first, last) for first, last, _ in _spans(text, (start, end), limit)]
        for index, (first, last) in enumerate(spans):
            if limit > 1 and count(text[first:last]) > max_tokens:
                todo.extend((begin, finish, limit) for begin, finish in reversed(spans[index + 1 :]))
                todo.append((first, last, limit // 2))
                break
            yield first, last


def _spans(text: str, within: tuple[int, int], limit: int) -> Iterator[tuple[int, int, int]]:
    """The pieces of ``text`` between two places: where each begins and ends, and its tokens."""
    atoms = _Atoms.of(text, *within)
    if not atoms.starts:
        return
    if atoms.cost[-1] <= limit:
        yield atoms.starts[0], atoms.ends[-1], atoms.cost[-1]
        return
    scores = _scores(text, atoms, limit)
    first, total = 0, len(atoms.starts)
    while first < total:
        after = _find_cut(scores, atoms.cost, first, limit)
        yield atoms.starts[first], atoms.ends[after - 1], atoms.cost[after] - atoms.cost[first]
        first = after


@dataclass(frozen=True, slots=True)
class _Atoms:
    """Where atoms begin and end; ``cost[i]`` is the tokens before atom i (one entry more than atoms)."""

    starts: array[int]
    ends: array[int]
    cost: array[int]

    @classmethod
    def of(cls, text: str, start: int, end: int) -> _Atoms:
        # By sums of lengths, without an object of a match for each: half the time. White space at the end would be
        # tried from each of its places.
        spaced = SPACED_ATOM.findall(text[start:end].rstrip())
        ends = array("q", accumulate(map(len, spaced), initial=start))
        del ends[0]
        starts = array("q", map(sub, ends, map(len, map(str.lstrip, spaced))))
        if text.isascii() or not HANGUL.search(text, start, end):
            return cls(starts, ends, array("q", range(len(starts) + 1)))
        tokens = (HANGUL_TOKENS if "\uac00" <= text[first] <= "\ud7a3" else 1 for first in starts)
        return cls(starts, ends, array("q", accumulate(tokens, initial=0)))


def _find_cut(scores: array[float], cost: array[int], first: int, limit: int) -> int:
    """The atom before which the piece that begins with ``first`` ends."""
    edge = cost[first] + limit
    last = max(bisect_right(cost, edge) - 1, first + 1)
    if last == len(scores):
        return last
    window = max(limit / 2, 1.0)
    begin = bisect_left(cost, edge - window, first + 1, last + 1)
    nearest_first = scores[begin : last + 1]
    nearest_first.reverse()
    best, best_score = 0, 0.0
    for score in set(nearest_first):  # of gaps that are equally good the nearest to the limit is the best
        gap = last - nearest_first.index(score)
        weighed = score * (1 - DECAY * ((edge - cost[gap]) / window) ** 2)
        if weighed > best_score or (weighed == best_score and gap > best > 0):
            best, best_score = gap, weighed
    # Before the window any gap will do, the last one first.
    return best or next((gap for gap in range(begin - 1, first, -1) if scores[gap] > 0), last)


def _scores(text: str, atoms: _Atoms, limit: int) -> array[float]:
    """For each atom, how good a cut before it is."""
    is_space = map(gt, islice(atoms.starts, 1, None), atoms.ends)
    scores = array("d", [INSIDE_SCORE, *map((INSIDE_SCORE, SPACE_SCORE).__getitem__, is_space)])
    for match in SENTENCE_END.finditer(text, atoms.starts[0], atoms.ends[-1]):
        gap = bisect_left(atoms.ends, match.end()) + 1
        if gap < len(scores):
            scores[gap] = SENTENCE_SCORE
    _score_lines(text, atoms, scores, limit)
    return scores


def _score_lines(text: str, atoms: _Atoms, scores: array[float], limit: int) -> None:
    atom, total = 0, len(scores)
    fence: _OpenFence | None = None
    blank, after, previous = False, 0.0, 0
    position, end = atoms.starts[0], atoms.ends[-1]
    for line in text[position:end].split("\n"):
        position += len(line) + 1
        begin = atom
        atom = bisect_left(atoms.starts, position, atom)
        if begin == atom:
            blank = True
            continue
        if line.lstrip(" \t>")[:1] not in MARKS:  # as most lines: plain text, which opens and closes nothing
            scores[begin] = max(scores[begin], after, BLANK_SCORE if blank else LINE_SCORE)
            after, blank, previous = 0.0, False, begin
            continue
        opening = None if fence else _OpenFence.opened(line, begin)
        underlines = fence is None and opening is None and not blank and begin > previous
        if underlines and UNDERLINE.match(line.rstrip("\r")):
            scores[previous] = max(scores[previous], _underline_score(line))
            scores[begin] = NEVER
        else:
            scores[begin] = max(scores[begin], after, _line_score(line, fence, opening, blank=blank))
        after, blank, previous = 0.0, False, begin
        if fence and fence.closed_by(line):
            _forbid_cuts(scores, atoms.cost, fence.begin, atom, limit)
            fence, after = None, FENCE_SCORE
        fence = fence or opening
    if fence:
        _forbid_cuts(scores, atoms.cost, fence.begin, total, limit)


def _line_score(line: str, fence: _OpenFence | None, opening: _OpenFence | None, *, blank: bool) -> float:
    """How good a cut before this line is; ``blank``: an empty line stands before it."""
    between = BLANK_SCORE if blank else LINE_SCORE
    if fence:
        return between
    if opening:
        return FENCE_SCORE
    if heading := HEADING.match(line):
        return HEADING_SCORES[len(heading[1]) - 1]
    if _is_rule(line):
        return RULE_SCORE
    return max(between, ITEM_SCORE) if ITEM.match(line) else between


def _is_rule(line: str) -> bool:
    marks = line.replace(" ", "").replace("\t", "").rstrip("\r")
    return len(marks) >= 3 and marks[0] in "-*_" and marks == marks[0] * len(marks)


def _underline_score(line: str) -> float:
    return HEADING_SCORES[0 if "=" in line else 1]


@dataclass(frozen=True, slots=True)
class _OpenFence:
    """An open code fence; ``begin`` is the atom it starts with."""

    mark: str
    begin: int

    @classmethod
    def opened(cls, line: str, begin: int) -> _OpenFence | None:
        match = FENCE.match(line)
        if match is None or (match[1][0] == "`" and "`" in match[2]):
            return None
        return cls(match[1], begin)

    def closed_by(self, line: str) -> bool:
        match = FENCE.match(line)
        return match is not None and match[1].startswith(self.mark) and not match[2].strip()


def _forbid_cuts(scores: array[float], cost: array[int], begin: int, end: int, limit: int) -> None:
    """Forbid cuts inside a fence, if it fits into one piece."""
    if cost[end] - cost[begin] <= limit:
        for index in range(begin + 1, end):
            scores[index] = NEVER
