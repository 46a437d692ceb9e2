"""Undoing a change to a text in a later version of it, line by line. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from vaults.history.diffs import DiffSpan, changed_spans

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def revert_change(before: bytes, after: bytes, now: bytes) -> bytes | None:
    """``now`` as it would be without the change from ``before`` to ``after``. None where that is not certain: a line
    the change wrote was changed since, or it is unclear where a line it removed belongs."""
    if now == after:
        return before
    written, original, present = (_split_lines(each) for each in (after, before, now))
    back, since = changed_spans(written, original), changed_spans(written, present)
    if _have_shared_lines(back, since):
        return None
    result: list[str] = []
    at = shift = passed = 0
    for a0, a1, b0, b1 in back:
        while passed < len(since) and since[passed][1] <= a0:
            shift += _line_growth(since[passed])
            passed += 1
        result += [*present[at : a0 + shift], *original[b0:b1]]
        at = a1 + shift
    result += present[at:]
    if not all(line.endswith("\n") for line in result[:-1]):
        return None  # a last line without a line ending is no longer the last
    return "".join(result).encode("utf-8", "surrogateescape")


def _split_lines(data: bytes) -> list[str]:
    return _LINE.findall(data.decode("utf-8", "surrogateescape"))


def _have_shared_lines(back: Sequence[DiffSpan], since: Sequence[DiffSpan]) -> bool:
    starts, ends = [each[0] for each in since], [each[1] for each in since]
    return any(
        _share_lines(ours, theirs)
        for ours in back
        for theirs in since[bisect_left(ends, ours[0]) : bisect_right(starts, ours[1])]
    )


def _share_lines(ours: DiffSpan, theirs: DiffSpan) -> bool:
    """Whether two changes to one text concern the same lines. Where lines are put back between two others, both must
    be unchanged; lines that are removed or replaced only have to still be there."""
    a0, a1, c0, c1 = ours[0], ours[1], theirs[0], theirs[1]
    if a0 == a1:
        return c0 <= a0 <= c1
    if c0 == c1:
        return a0 < c0 < a1
    return a0 < c1 and c0 < a1


def _line_growth(span: DiffSpan) -> int:
    return (span[3] - span[2]) - (span[1] - span[0])
