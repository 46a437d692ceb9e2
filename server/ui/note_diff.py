"""A change as two columns: what a note said before beside what it says since, with the words that changed marked.

Made of the unified diff that ``history`` answers with: a page knows no more of a change than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from vaults.history.diffs import changed_spans

MOST_WORDS = 8_000
"""Words that are compared in one change; of further lines the whole is marked."""

ALIKE = 0.4
"""The share of two lines that is the same at least, for them to count as one that was changed: else they only stand
beside each other."""

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_WORD = re.compile(r"\w+|\s+|[^\w\s]")

MarkedParts = Sequence[tuple[bool, str]]
"""Pieces of a line, each with whether it changed."""


@dataclass(frozen=True, slots=True)
class DiffCell:
    """A line on one side. ``number``: as its note counts."""

    number: int
    parts: MarkedParts


@dataclass(frozen=True, slots=True)
class DiffRow:
    """Two lines beside each other; None: that side has none. ``note`` is set where the row says something of the change
    itself, such as where it goes on."""

    before: DiffCell | None = None
    after: DiffCell | None = None
    note: str | None = None

    @property
    def is_same(self) -> bool:
        return self.before is not None and self.after is not None and self.before.parts == self.after.parts


def pair_lines(lines: Sequence[str]) -> list[DiffRow]:
    """The rows of a unified diff. Lines that are none of its hunks are left out, but for what git says in words."""
    pairer = _Pairer()
    return [row for line in (*lines, "") for row in pairer.take(line)]


class _Pairer:
    """Reads a diff line by line. It counts what a hunk says it holds, since a line of a note may look like a head."""

    def __init__(self) -> None:
        self._at = [0, 0]
        self._left = [0, 0]
        self._removed: list[str] = []
        self._added: list[str] = []
        self._notes: list[str] = []
        self._words = 0

    def take(self, line: str) -> Iterator[DiffRow]:
        inside = any(self._left)
        mark, text = line[:1], line[1:]
        if inside and mark == "-":
            if self._added:
                yield from self._flush()
            self._left[0] -= 1
            self._removed.append(text)
        elif inside and mark == "+":
            self._left[1] -= 1
            self._added.append(text)
        elif mark == "\\":
            self._notes.append(text.strip())  # it may stand between what was removed and what was added
        elif inside and mark:
            yield from self._flush()
            self._left = [each - 1 for each in self._left]
            yield DiffRow(self._cell(0, [(False, text)]), self._cell(1, [(False, text)]))
        else:
            yield from self._flush()
            if not inside and (hunk := _HUNK.match(line)) is not None:
                yield DiffRow(note=line)
                self._at = [int(hunk[1]), int(hunk[3])]
                self._left = [int(hunk[2] or 1), int(hunk[4] or 1)]

    def _flush(self) -> Iterator[DiffRow]:
        """What was removed beside what was added, in order."""
        for removed, added in zip_longest(self._removed, self._added):
            if removed is None or added is None:
                before = None if removed is None else self._cell(0, [(True, removed)])
                yield DiffRow(before, None if added is None else self._cell(1, [(True, added)]))
                continue
            before_parts, after_parts = self._compare(removed, added)
            yield DiffRow(self._cell(0, before_parts), self._cell(1, after_parts))
        yield from (DiffRow(note=each) for each in self._notes)
        self._removed, self._added, self._notes = [], [], []

    def _compare(self, removed: str, added: str) -> tuple[MarkedParts, MarkedParts]:
        old, new = _WORD.findall(removed), _WORD.findall(added)
        self._words += len(old) + len(new)
        if self._words > MOST_WORDS:
            return [(True, removed)], [(True, added)]
        return mark_words(old, new)

    def _cell(self, side: int, parts: MarkedParts) -> DiffCell:
        number = self._at[side]
        self._at[side] += 1
        return DiffCell(number, parts)


def mark_words(before: Sequence[str], after: Sequence[str]) -> tuple[MarkedParts, MarkedParts]:
    """Both lines, given word by word, in pieces, with the words that are not in the other marked."""
    spans = changed_spans(before, after)
    left = _mark(before, [(start, end) for start, end, _, _ in spans])
    right = _mark(after, [(start, end) for _, _, start, end in spans])
    same = sum(len(text) for changed, text in left if not changed)
    if same < ALIKE * max(sum(map(len, before)), sum(map(len, after))):
        return [(True, "".join(before))], [(True, "".join(after))]
    return left, right


def _mark(words: Sequence[str], spans: Iterable[tuple[int, int]]) -> list[tuple[bool, str]]:
    parts, at = [], 0
    for start, end in spans:
        parts += [(False, "".join(words[at:start])), (True, "".join(words[start:end]))]
        at = end
    parts.append((False, "".join(words[at:])))
    return [each for each in parts if each[1]]
