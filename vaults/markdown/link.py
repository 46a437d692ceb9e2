"""A link in a note."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

LinkKind = Literal["wiki", "markdown", "frontmatter"]

_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written, with offsets in the note. One that is only asked what it means has kind and target alone."""

    kind: LinkKind
    target: str  # what a rename replaces; empty in a link to the note itself
    line: int = 0  # from 1
    start: int = 0  # of all of it, an embed's ``!`` included
    end: int = 0
    target_start: int = 0
    target_end: int = 0
    heading: str = ""  # what follows ``#``
    block: str = ""  # what follows ``#^``
    alias: str = ""
    embed: bool = False

    @property
    def page(self) -> str:
        """The target as a name: a Markdown link's ``%20`` and backslashes decoded."""
        return unescape_target(self.target) if self.kind == "markdown" else self.target


def unescape_target(written: str) -> str:
    """A destination as a name: backslashes before punctuation removed, percent-encoding decoded as UTF-8."""
    if "\\" in written:
        written = _ESCAPE.sub(r"\1", written)
    return unquote(written) if "%" in written else written
