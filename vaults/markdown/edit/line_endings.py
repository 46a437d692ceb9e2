"""Lines of a text with mixed endings: ``\\n``, ``\\r\\n`` and lone ``\\r`` side by side. Pure.

Nothing else ends a line: ``str.splitlines`` would also break at form feeds and U+2028, which Markdown does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

ENDING = re.compile(r"\r\n|\n|\r")
BLANK = " \t\r\n"
"""Characters of a blank line: a line of other white space, such as U+00A0, is text to Markdown."""


def count_endings(text: str, start: int = 0, end: int | None = None) -> int:
    """The number of line endings in ``text[start:end]``."""
    stop = len(text) if end is None else end
    count = text.count("\n", start, stop)
    returns = text.count("\r", start, stop)
    return count + returns - (text.count("\r\n", start, stop) if returns else 0)


def line_number_at(text: str, offset: int) -> int:
    """The number, from 1, of the line that holds ``offset``."""
    return 1 + count_endings(text, 0, offset)


def is_line_start(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] in "\r\n"


def skip_ending_after(text: str, offset: int) -> int:
    """``offset`` moved past a line ending that starts there."""
    found = ENDING.match(text, offset)
    return found.end() if found else offset


def skip_ending_before(text: str, offset: int) -> int:
    """``offset`` moved before a line ending that stops there."""
    if offset and text[offset - 1] == "\n":
        offset -= 1
    elif not offset or text[offset - 1] != "\r":
        return offset
    return offset - 1 if offset and text[offset - 1] == "\r" else offset


def line_start(text: str, offset: int) -> int:
    """The start of the line that holds ``offset``."""
    feed = text.rfind("\n", 0, offset) + 1
    return text.rfind("\r", feed, offset) + 1 or feed


def line_end(text: str, offset: int, stop: int) -> int:
    """The end of the line that holds ``offset``, without its ending."""
    found = ENDING.search(text, offset, stop)
    return found.start() if found else stop


def find_ending_near(text: str, offset: int) -> str:
    """The line ending in use at ``offset``: that of the line before it, else of the one after, else ``\\n``."""
    if "\r" not in text:
        return "\n"
    found = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset))
    if found < 0:
        after = ENDING.search(text, offset)
        return after[0] if after else "\n"
    return text[skip_ending_before(text, found + 1) : found + 1]


def to_lf(text: str) -> str:
    """``text`` with ``\\n`` for every line ending."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def to_original_offsets(text: str, offsets: Iterable[int]) -> list[int]:
    """Ascending offsets into ``to_lf(text)`` as offsets into ``text``. Linear."""
    pairs = (match.start() for match in re.finditer("\r\n", text))
    mapped, passed, pair = [], 0, next(pairs, None)
    for offset in offsets:
        while pair is not None and pair - passed < offset:
            passed, pair = passed + 1, next(pairs, None)
        mapped.append(offset + passed)
    return mapped
