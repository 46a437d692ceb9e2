"""Parts within the limits: cleaned of what no text holds, without empty ones, and no more than a file may cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from vaults.formats.parsed_document import ParsedPart, ParseLimits

MAX_PARTS = 100_000
"""Max parts of a document."""

MAX_LINE = 500
"""Max characters of a heading, a title or a name."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xad\ud800-\udfff\ufffe\uffff]")


def clean_text(text: str) -> str:
    """Text without control characters and lone surrogates, which neither JSON nor a database takes, and without soft
    hyphens, which nobody sees: a word they stand in would be found by none of its spellings."""
    return _CONTROL.sub(_to_allowed, text) if _CONTROL.search(text) else text


def _to_allowed(found: re.Match[str]) -> str:
    return "\n" if found[0] == "\x0c" else ""


def clean_line(text: str | None) -> str | None:
    """Text in one line of bounded length; None for none."""
    line = " ".join(clean_text(text[: MAX_LINE * 4]).split())[:MAX_LINE] if text else ""
    return line or None


def take_parts(parts: Iterable[ParsedPart], limits: ParseLimits, warnings: list[str]) -> tuple[ParsedPart, ...]:
    """The parts that hold text, up to the limits; what is left off stands in ``warnings``. Reads no further than that,
    so a generator does no work that nobody takes."""
    taken: list[ParsedPart] = []
    room = limits.characters
    for part in parts:
        text = clean_text(part.text).strip("\n").rstrip()
        if not text.strip():
            continue
        if len(text) > room or len(taken) >= MAX_PARTS:
            last = taken[-1].locator if taken else None
            warnings.append(
                f"only the first {len(taken)} parts{f', up to {last},' if last else ''} were read: too long"
            )
            break
        room -= len(text)
        taken.append(replace(part, text=text, heading=clean_line(part.heading), author=clean_line(part.author)))
    return tuple(taken)
