"""What a link is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

LinkKind = Literal["wiki", "markdown", "frontmatter"]

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written. Offsets are of the note: ``start``/``end`` all of it (an embed's ``!`` included),
    ``target_start``/``target_end`` its ``target``, which a rename replaces; in a link to the note itself that is empty.
    ``heading`` or ``block``: what follows ``#`` or ``#^``. ``line`` counts from 1.
    """

    kind: LinkKind
    line: int
    start: int
    end: int
    target: str
    target_start: int
    target_end: int
    heading: str
    block: str
    alias: str
    embed: bool

    @property
    def page(self) -> str:
        """The target as a name: a Markdown link's ``%20`` and backslashes read."""
        return unescape_target(self.target) if self.kind == "markdown" else self.target


def unescape_target(written: str) -> str:
    """A destination as a name: backslashes before punctuation away, percent-encoding read where it is UTF-8."""
    if "\\" in written:
        written = _ESCAPE.sub(r"\1", written)
    return unquote(written) if "%" in written else written
