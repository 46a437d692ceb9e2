"""Unified diffs in about linear time, for any texts.

``difflib`` alone is cubic on texts of equal lines. Here it only sees small gaps: what is common at both ends goes
first, then lines that occur once on either side anchor the rest (as in patience diff), and a gap that is still large is
shown as replaced.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

_LINE = re.compile(r"[^\n]*\n|[^\n]+")  # as git and patch see lines; str.splitlines knows ten more line ends
_SMALL_GAP = 4_096  # lines before times lines after
_ALL_GAPS = 400_000  # the same, summed over one diff
_LONGEST_LINE = 2_000  # characters shown
_UNFIT = re.compile(r"[\x00-\x1f\x7f]")

DiffSpan = tuple[int, int, int, int]  # lines a0..a1 become b0..b1


def unified_diff(before: str, after: str, path: str, context: int = 3, limit_lines: int = 400) -> str:
    """The change from one text to the other as a unified diff; empty when there is none.

    It applies cleanly unless it was cut: beyond ``limit_lines`` lines the rest is left out and a last line, which
    starts with a backslash, says how many; a line of more than 2,000 characters is shown shortened.
    """
    if before == after:
        return ""
    a, b = _LINE.findall(before), _LINE.findall(after)
    name = _UNFIT.sub("?", path)
    lines = [f"--- a/{name}\n", f"+++ b/{name}\n"]
    left_out = 0
    for hunk in _hunks(changed_spans(a, b), context):
        for line in _format_hunk(a, b, hunk, context):
            if len(lines) < limit_lines:
                lines.append(line)
            else:
                left_out += 1
    if left_out:
        lines.append(f"\\ {left_out} more lines of this diff are left out\n")
    return "".join(lines)


def changed_spans(a: Sequence[str], b: Sequence[str]) -> list[DiffSpan]:
    """Where the two differ: spans in order, of which no two touch."""
    start = _common_prefix(a, b)
    end = _common_prefix(a[start:][::-1], b[start:][::-1])
    spans: list[DiffSpan] = []
    for a0, a1, b0, b1 in _gaps(a, b, (start, len(a) - end, start, len(b) - end)):
        if a0 == a1 and b0 == b1:
            continue
        if spans and spans[-1][1] == a0 and spans[-1][3] == b0:
            spans[-1] = (spans[-1][0], a1, spans[-1][2], b1)
        else:
            spans.append((a0, a1, b0, b1))
    return spans


def _common_prefix(a: Sequence[str], b: Sequence[str]) -> int:
    """The number of equal lines at the start."""
    most = min(len(a), len(b))
    if a[:most] == b[:most]:
        return most
    return next(at for at in range(most) if a[at] != b[at])


def _gaps(a: Sequence[str], b: Sequence[str], span: DiffSpan) -> Iterator[DiffSpan]:
    """Differing spans between lines that occur once on either side."""
    a0, b0 = span[0], span[2]
    budget = _ALL_GAPS
    for at, bt in [*_anchors(a, b, span), (span[1], span[3])]:
        if at < a0 or bt < b0:
            continue  # taken by the common lines after an earlier anchor
        cells = (at - a0) * (bt - b0)
        budget -= cells if cells <= _SMALL_GAP else 0
        yield from _diff_lines(a, b, (a0, at, b0, bt)) if cells <= _SMALL_GAP and budget >= 0 else [(a0, at, b0, bt)]
        same = 0
        while at + same < span[1] and bt + same < span[3] and a[at + same] == b[bt + same]:
            same += 1
        a0, b0 = at + same, bt + same


def _anchors(a: Sequence[str], b: Sequence[str], span: DiffSpan) -> list[tuple[int, int]]:
    """The longest row of lines unique on both sides and in the same order on both."""
    a0, a1, b0, b1 = span
    once_a = {line for line, count in Counter(a[a0:a1]).items() if count == 1}
    once_b = {line for line, count in Counter(b[b0:b1]).items() if count == 1}
    where = {b[at]: at for at in range(b0, b1) if b[at] in once_b}
    pairs = [(at, where[a[at]]) for at in range(a0, a1) if a[at] in once_a and a[at] in where]
    ends: list[int] = []  # smallest last place in b of a row of each length
    last: list[int] = []  # and the pair it belongs to
    previous: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    row: list[tuple[int, int]] = []
    at = last[-1] if last else -1
    while at >= 0:
        row.append(pairs[at])
        at = previous[at]
    return row[::-1]


def _diff_lines(a: Sequence[str], b: Sequence[str], span: DiffSpan) -> Iterator[DiffSpan]:
    """A small gap, line by line."""
    a0, a1, b0, b1 = span
    matcher = difflib.SequenceMatcher(None, a[a0:a1], b[b0:b1], autojunk=False)
    for tag, i, j, k, m in matcher.get_opcodes():
        if tag != "equal":
            yield a0 + i, a0 + j, b0 + k, b0 + m


def _hunks(spans: Sequence[DiffSpan], context: int) -> Iterator[list[DiffSpan]]:
    """Groups changes that are close enough to share context."""
    hunk: list[DiffSpan] = []
    for span in spans:
        if hunk and span[0] - hunk[-1][1] > 2 * context:
            yield hunk
            hunk = []
        hunk.append(span)
    if hunk:
        yield hunk


def _format_hunk(a: Sequence[str], b: Sequence[str], hunk: Sequence[DiffSpan], context: int) -> Iterator[str]:
    first, last = hunk[0], hunk[-1]
    above = min(context, first[0])
    below = min(context, len(a) - last[1])
    a0, a1, b0, b1 = first[0] - above, last[1] + below, first[2] - above, last[3] + below
    yield f"@@ -{_format_range(a0, a1)} +{_format_range(b0, b1)} @@\n"
    at = a0
    for i, j, k, m in hunk:
        yield from _mark_lines(" ", a[at:i])
        yield from _mark_lines("-", a[i:j])
        yield from _mark_lines("+", b[k:m])
        at = j
    yield from _mark_lines(" ", a[at:a1])


def _format_range(start: int, end: int) -> str:
    """Lines count from one; an empty range names the line before it."""
    count = end - start
    return f"{start + 1 if count else start},{count}" if count != 1 else f"{start + 1}"


def _mark_lines(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        text = line.removesuffix("\n")
        if len(text) > _LONGEST_LINE:
            text = f"{text[:_LONGEST_LINE]} […{len(text) - _LONGEST_LINE} more characters]"
        yield f"{mark}{text}\n"
        if not line.endswith("\n"):
            yield "\\ No newline at end of file\n"
