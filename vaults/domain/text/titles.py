"""A title for a text that was given none."""

from __future__ import annotations

import re

TITLE_LENGTH = 80
"""Max characters of a title derived from the content."""


def derive_title(content: str) -> str:
    """The first line with words in it, without Markdown marks, cut at a word."""
    line = content.strip() if content.isprintable() and content[:1].isalnum() else _first_line(content)
    if len(line) <= TITLE_LENGTH:
        return line
    space = line.rfind(" ", 0, TITLE_LENGTH)
    return line[: space if space > TITLE_LENGTH // 2 else TITLE_LENGTH - 1].rstrip() + "…"


def _first_line(content: str) -> str:
    line = next((line for line in content.splitlines() if re.search(r"\w", line)), content.strip())
    return re.sub(r"^[\s#>*+\-]+", "", line).strip() or content.strip()[:TITLE_LENGTH]
