"""The headings above a place, outermost first."""

from __future__ import annotations

SEPARATOR = " › "


class HeadingPath:
    """The path of headings while a document is read from its start."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def enter(self, level: int, text: str) -> None:
        """A heading of this level begins; those of its level or deeper end."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, " ".join(text.split())))

    @property
    def text(self) -> str | None:
        """The path as parts carry it; None above the first heading."""
        return SEPARATOR.join(text for _, text in self._open if text) or None

    @property
    def innermost(self) -> str:
        return self._open[-1][1] if self._open else ""
