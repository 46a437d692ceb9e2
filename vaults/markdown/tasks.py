"""Tasks: list items with a box."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from vaults.markdown.lines import LineCounter, iter_matches
from vaults.markdown.scan import Scan
from vaults.markdown.tags import TAG, drop_case_duplicates, is_tag

_TASK = re.compile(
    r"\n([ \t]*+(?:>[ \t]*+){0,999}+)(?:[-*+]|[0-9]{1,9}[.)])[ \t]++\[([^\n\0])\](?=[ \t\n])[ \t]*+([^\n]*+)"
)
_DUE = re.compile(r"(?:📅\ufe0f? *|[\[(]due:: *)([0-9]{4}-[0-9]{2}-[0-9]{2})\b")


class HeadingSpan(Protocol):
    """A heading, as far as tasks need one."""

    @property
    def text(self) -> str: ...

    @property
    def start(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Task:
    """A task and where it stands."""

    line: int
    start: int  # of its line
    end: int  # of its line, without the line ending
    indent: int  # columns before its mark, quote marks left out
    status: str  # the character in the box
    text: str  # all after the box, as written
    heading: str  # the one it is under, or ""
    due: str | None  # ``YYYY-MM-DD`` as written
    tags: tuple[str, ...]

    @property
    def done(self) -> bool:
        return self.status in "xX"


def find_tasks(scan: Scan, text: str, headings: Sequence[HeadingSpan]) -> Iterator[Task]:
    """The tasks of the note, in order."""
    counter = LineCounter(scan.lines)
    at, heading = 0, ""
    for match in iter_matches(_TASK, scan.visible):
        start, first, end = match.start(), match.start(3) - 1, match.end() - 1
        while at < len(headings) and headings[at].start < start:
            heading = headings[at].text
            at += 1
        words = scan.lines[first + 1 : end + 1].rstrip(" \t")
        due = _DUE.search(words)
        yield Task(
            line=counter.line(start),
            start=start,
            end=end - (text[end - 1 : end + 1] == "\r\n"),
            indent=len(match[1].rpartition(">")[2].expandtabs(4)),
            status=match[2],
            text=words,
            heading=heading,
            due=due[1] if due else None,
            tags=drop_case_duplicates(tag.strip("/") for tag in TAG.findall(match[3]) if is_tag(tag))
            if "#" in match[3]
            else (),
        )
